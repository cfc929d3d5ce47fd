//! Cases, manifests and evidence for the tests of this crate.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use scripted_servers::digest::sha256;
use scripted_servers::event::{Ending, Lane, ServerEvent, StepId, Taken, What};
use scripted_servers::script::{ConnectionAct, Listen, PathPattern, Route, Times, When};
use scripted_servers::wire::{Answer, Effect, End, RequestPoint};

use crate::assertions::Assertion;
use crate::counter::Counter;
use crate::evidence::{ClientEvent, Entry, ErrorLink, Event, Report, Shown, ShownResponse};
use crate::expected::Expected;
use crate::expected::counts::{Count, EffectCount};
use crate::faults::Fault;
use crate::faults::cut::Cut;
use crate::faults::respond::Respond;
use crate::judge::case::Case;
use crate::judge::checked::Checked;
use crate::judge::facts::Facts;
use crate::manifest::{Ability, ErrorRule, Manifest, Phase};
use crate::matcher::Matcher;
use crate::plan::{
    BodyAs, Call, CaseName, Content, Expectation, LanesRequired, Limits, Of, Plan, QueuePlan,
    Request, ServerPlan, StepPlan,
};
use crate::template::{Piece, Template};
use crate::verdict::{CellVerdict, EndedBy, FindingName, Level};

pub(crate) fn plan(servers: impl IntoIterator<Item = ServerPlan>) -> Plan {
    Plan {
        case: CaseName {
            scenario: "area/name".to_owned(),
            columns: Vec::new(),
        },
        file: "area/name.yaml".to_owned(),
        title: "A title".to_owned(),
        why: "A reason".to_owned(),
        refs: Vec::new(),
        tags: BTreeSet::new(),
        seed: 1,
        servers: servers.into_iter().collect(),
        calls: Vec::new(),
        limits: Limits::default(),
        needs: BTreeSet::new(),
        deadline: Duration::from_secs(30),
        quiet: Duration::from_millis(300),
        cap: 200,
        enough: BTreeMap::new(),
        expect: Vec::new(),
        proves: None,
    }
}

impl Plan {
    pub(crate) fn call(mut self, method: &str, server: &str, path: &str) -> Self {
        let id = u32::try_from(self.calls.len()).unwrap() + 1;
        self.calls.push(Call {
            id,
            line: 40 + id,
            pause: Duration::ZERO,
            group: 0,
            at_once: 1,
            request: Request::Literal {
                method: method.to_owned(),
                url: url(server, path),
                headers: Vec::new(),
                body: None,
                body_as: BodyAs::Buffer,
            },
        });
        self
    }

    /// The last call with another body.
    pub(crate) fn sending(mut self, bytes: u64) -> Self {
        let call = self.calls.last_mut().unwrap();
        if let Request::Literal { body, .. } = &mut call.request {
            *body = Some(Content::Bytes(bytes));
        }
        self
    }

    /// The last call with this text as its body.
    pub(crate) fn giving(mut self, text: &str) -> Self {
        let call = self.calls.last_mut().unwrap();
        if let Request::Literal { body, .. } = &mut call.request {
            *body = Some(Content::Text(Template::text(text)));
        }
        self
    }

    /// The last call with a header field.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        let call = self.calls.last_mut().unwrap();
        if let Request::Literal { headers, .. } = &mut call.request {
            headers.push((name.to_owned(), Template::text(value)));
        }
        self
    }

    /// The last call after a pause.
    pub(crate) fn after(mut self, pause: u64) -> Self {
        self.calls.last_mut().unwrap().pause = Duration::from_millis(pause);
        self
    }

    /// All calls beside each other, so many at the same time.
    pub(crate) fn at_once(mut self, at_once: u32) -> Self {
        for call in &mut self.calls {
            (call.group, call.at_once) = (1, at_once);
        }
        self
    }

    pub(crate) fn must(self, assertion: Assertion) -> Self {
        self.expects(Level::Must, assertion)
    }

    pub(crate) fn expects(mut self, level: Level, assertion: Assertion) -> Self {
        let line = 60 + u32::try_from(self.expect.len()).unwrap();
        self.expect.push(Expectation {
            level,
            axis: assertion.axis(),
            of: Of::default(),
            text: format!("{assertion:?}"),
            assertion,
            line,
        });
        self
    }

    pub(crate) fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

pub(crate) fn url(server: &str, path: &str) -> Template {
    Template(vec![
        Piece::Url(server.to_owned()),
        Piece::Text(path.to_owned()),
    ])
}

/// A server with one queue that takes any path.
pub(crate) fn server(name: &str) -> ServerPlan {
    ServerPlan {
        name: name.to_owned(),
        line: 3,
        address: std::net::Ipv4Addr::LOCALHOST.into(),
        port_of: None,
        listen: Listen::Open,
        connections: vec![ConnectionAct::Serve],
        queues: vec![QueuePlan {
            pattern: "script".to_owned(),
            route: Route {
                method: None,
                path: PathPattern::Any,
            },
            steps: Vec::new(),
        }],
        required: LanesRequired::default(),
    }
}

impl ServerPlan {
    pub(crate) fn refusing(self) -> Self {
        self.closed(Listen::Refuse)
    }

    /// At another address, with the port of another server.
    pub(crate) fn sharing(mut self, port_of: &str, address: impl Into<std::net::IpAddr>) -> Self {
        self.address = address.into();
        self.port_of = Some(port_of.to_owned());
        self
    }

    /// With a port that never opens.
    pub(crate) fn closed(mut self, listen: Listen) -> Self {
        self.listen = listen;
        self.queues.clear();
        self.required.listen = true;
        self
    }

    pub(crate) fn connections(mut self, acts: &[ConnectionAct]) -> Self {
        self.connections = acts.to_vec();
        self
    }

    pub(crate) fn step(mut self, step: StepPlan) -> Self {
        let steps = &mut self.queues.last_mut().unwrap().steps;
        let line = 10 + u32::try_from(steps.len()).unwrap();
        steps.push(StepPlan { line, ..step });
        self
    }

    /// From here on steps belong to this route; the first one takes the place
    /// of the script.
    pub(crate) fn route(mut self, method: Option<&str>, path: &str) -> Self {
        if self.queues.len() == 1 && self.queues[0].steps.is_empty() {
            self.queues.clear();
        }
        self.queues.push(QueuePlan {
            pattern: path.to_owned(),
            route: Route {
                method: method.map(str::to_owned),
                path: PathPattern::Exact(path.to_owned()),
            },
            steps: Vec::new(),
        });
        self
    }
}

pub(crate) fn step(fault: Fault) -> StepPlan {
    StepPlan::new(fault)
}

impl StepPlan {
    pub(crate) fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    pub(crate) fn applies(self, name: &str) -> Self {
        let effect = Effect {
            name: name.to_owned(),
            key: None,
        };
        Self {
            applies: Some(effect),
            ..self
        }
    }

    pub(crate) fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    pub(crate) fn times(self, times: Times) -> Self {
        Self { times, ..self }
    }

    /// Changes the answer of the step.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Respond)) -> Self {
        if let Fault::Respond(respond) = &mut self.fault {
            change(respond);
        }
        self
    }
}

pub(crate) fn respond(status: u16) -> StepPlan {
    step(Fault::Respond(Respond {
        status,
        ..Respond::plain()
    }))
}

pub(crate) fn redirect(status: u16, to: Template) -> StepPlan {
    respond(status).with(|respond| respond.headers.push(("Location".to_owned(), to)))
}

pub(crate) fn cut(with: End) -> StepPlan {
    cut_after(RequestPoint::Request, with)
}

pub(crate) fn cut_after(after: RequestPoint, with: End) -> StepPlan {
    step(Fault::Cut(Cut { after, with }))
}

/// A client that can do everything and promises nothing; `ECONNREFUSED` is from
/// before sending, `ECONNRESET` from after.
pub(crate) fn manifest() -> Manifest {
    let rule = |code: &str, phase| ErrorRule {
        kind: None,
        code: Some(code.to_owned()),
        errno: None,
        message: None,
        phase,
    };
    Manifest {
        name: "good".to_owned(),
        title: "A good client".to_owned(),
        file: "good.yaml".to_owned(),
        abilities: BTreeSet::from([
            Ability::Literal,
            Ability::Calls,
            Ability::ReusesConnections,
            Ability::FollowsRedirects,
        ]),
        errors: vec![
            rule("ECONNREFUSED", Phase::Before),
            rule("ECONNRESET", Phase::After),
        ],
        ..Manifest::none()
    }
}

pub(crate) fn exactly<T>(value: T) -> Expected<T> {
    Expected::Fits(Matcher::OneOf(vec![value]))
}

pub(crate) fn between<T>(at_least: Option<T>, at_most: Option<T>) -> Expected<T> {
    Expected::Fits(Matcher::Range { at_least, at_most })
}

pub(crate) fn count(counter: &str, expected: Expected<u64>) -> Count {
    Count {
        counter: Counter::parse(counter).unwrap(),
        expected,
    }
}

pub(crate) fn delivered(counter: &str, number: u64) -> Assertion {
    Assertion::Delivered(vec![count(counter, exactly(number))])
}

pub(crate) fn effect(name: &str, expected: Expected<u64>) -> EffectCount {
    EffectCount {
        effect: name.to_owned(),
        expected,
    }
}

/// Evidence in the making. Times are milliseconds.
#[derive(Clone, Default)]
pub(crate) struct Story {
    pub(crate) entries: Vec<Entry>,
}

impl Story {
    /// The work is handed over at 0 ms.
    pub(crate) fn new() -> Self {
        Self::default().client(0, ClientEvent::Work)
    }

    fn push(mut self, at: u64, event: Event) -> Self {
        let n = self.entries.len() as u64 + 1;
        self.entries.push(Entry {
            n,
            at_us: at * 1000,
            event,
        });
        self
    }

    pub(crate) fn client(self, at: u64, event: ClientEvent) -> Self {
        self.push(at, Event::Client(event))
    }

    pub(crate) fn server(self, at: u64, place: (&str, u32, u32), what: What) -> Self {
        let (server, connection, exchange) = place;
        self.push(
            at,
            Event::Server(ServerEvent {
                server: server.into(),
                connection: (connection > 0).then_some(connection),
                exchange: (exchange > 0).then_some(exchange),
                what,
            }),
        )
    }

    pub(crate) fn accepted(self, at: u64, server: &str, connection: u32) -> Self {
        let accepted = What::Accepted {
            peer: ([127, 0, 0, 1], 40000).into(),
            act: ConnectionAct::Serve,
        };
        self.server(at, (server, connection, 0), accepted)
    }

    /// A request by itself on a connection of its own.
    pub(crate) fn request(self, at: u64, server: &str, connection: u32, line: &str) -> Self {
        self.accepted(at, server, connection)
            .on(at, (server, connection, 1), line, &[])
    }

    /// A complete request with these fields.
    pub(crate) fn on(
        self,
        at: u64,
        place: (&str, u32, u32),
        line: &str,
        headers: &[(&str, &str)],
    ) -> Self {
        self.head(at, place, line, headers, Some(0)).server(
            at,
            place,
            What::Delivered {
                arrived_us: at * 1000,
                body_bytes: 0,
                body_sha256: None,
                drained: false,
            },
        )
    }

    /// A complete request with content, on a connection of its own.
    pub(crate) fn carrying(
        self,
        at: u64,
        server: &str,
        connection: u32,
        line: &str,
        content: &str,
    ) -> Self {
        let place = (server, connection, 1);
        let delivered = What::Delivered {
            arrived_us: at * 1000,
            body_bytes: content.len() as u64,
            body_sha256: (!content.is_empty()).then(|| sha256(content.as_bytes())),
            drained: false,
        };
        self.accepted(at, server, connection)
            .head(at, place, line, &[], Some(0))
            .server(at, place, delivered)
    }

    /// A request of which only the head arrived.
    pub(crate) fn head(
        self,
        at: u64,
        place: (&str, u32, u32),
        line: &str,
        headers: &[(&str, &str)],
        queue: Option<usize>,
    ) -> Self {
        let (method, target) = line.split_once(' ').unwrap();
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        self.server(
            at,
            place,
            What::Started {
                arrived_us: at * 1000,
                reused: place.2 > 1,
            },
        )
        .server(
            at,
            place,
            What::Head {
                arrived_us: at * 1000,
                method: method.to_owned(),
                target: target.to_owned(),
                headers: headers.iter().map(own).collect(),
                queue,
                step: None,
            },
        )
    }

    pub(crate) fn drained(self, at: u64, place: (&str, u32, u32), line: &str) -> Self {
        self.head(at, place, line, &[], Some(0)).server(
            at,
            place,
            What::Delivered {
                arrived_us: at * 1000,
                body_bytes: 0,
                body_sha256: None,
                drained: true,
            },
        )
    }

    pub(crate) fn took(self, at: u64, place: (&str, u32, u32), step: usize) -> Self {
        let step = StepId { queue: 0, step };
        self.server(at, place, What::Taken { step })
    }

    pub(crate) fn fired(self, at: u64, server: &str, step: usize) -> Self {
        let lane = Lane::Step(StepId { queue: 0, step });
        let proof = "seen".to_owned();
        let fired = What::Fired {
            lane,
            proof,
            since_us: 0,
        };
        self.server(at, (server, 1, 1), fired)
    }

    pub(crate) fn effect(
        self,
        at: u64,
        place: (&str, u32, u32),
        name: &str,
        key: Option<&str>,
    ) -> Self {
        let what = What::Effect {
            name: name.to_owned(),
            key: key.map(str::to_owned),
            since_us: 0,
            began_us: None,
        };
        self.server(at, place, what)
    }

    /// An effect that was worked on from one time to another.
    pub(crate) fn run(
        self,
        (began, ends): (u64, u64),
        place: (&str, u32, u32),
        name: &str,
        key: Option<&str>,
    ) -> Self {
        let what = What::Effect {
            name: name.to_owned(),
            key: key.map(str::to_owned),
            since_us: ends * 1000,
            began_us: Some(began * 1000),
        };
        self.server(ends, place, what)
    }

    /// A whole answer, sent to its end.
    pub(crate) fn answer(self, at: u64, place: (&str, u32, u32), status: u16, body: &str) -> Self {
        self.answering(at, place, status, body, true).server(
            at,
            place,
            What::Answered {
                bytes: 100,
                handed_us: at * 1000,
            },
        )
    }

    pub(crate) fn answering(
        self,
        at: u64,
        place: (&str, u32, u32),
        status: u16,
        body: &str,
        whole: bool,
    ) -> Self {
        let answer = Answer {
            status: Some(status),
            body_bytes: body.len() as u64,
            body_sha256: Some(sha256(body.as_bytes())),
            whole,
        };
        self.server(at, place, What::Answering { answer })
    }

    /// An answer of so many bytes on the wire, of which so many were taken.
    pub(crate) fn sends(self, at: u64, place: (&str, u32, u32), bytes: u64) -> Self {
        let handed_us = at * 1000;
        self.answering(at, place, 200, "", true).server(
            at,
            place,
            What::Answered { bytes, handed_us },
        )
    }

    /// Nothing more can come on a connection, and so much of it was taken.
    pub(crate) fn closed(self, at: u64, server: &str, connection: u32, taken: (u64, u64)) -> Self {
        let (at_least, at_most) = taken;
        let closed = What::Closed {
            received: 0,
            sent: at_most,
            taken: Some(Taken { at_least, at_most }),
        };
        self.server(at, (server, connection, 0), closed)
    }

    pub(crate) fn ended(self, at: u64, place: (&str, u32, u32), how: Ending) -> Self {
        self.server(at, place, What::Ended { how })
    }

    pub(crate) fn report(self, at: u64, call: u32, shown: Shown) -> Self {
        let report = Report {
            call,
            shown,
            claim: None,
        };
        self.client(at, ClientEvent::Report(report))
    }

    pub(crate) fn shows(self, at: u64, call: u32, status: u16, body: &str) -> Self {
        let response = ShownResponse {
            status: Some(status),
            body_bytes: Some(body.len() as u64),
            body_sha256: Some(sha256(body.as_bytes())),
            body_start: Some(body.to_owned()),
        };
        self.report(at, call, Shown::Response(response))
    }

    pub(crate) fn fails(self, at: u64, call: u32, code: &str) -> Self {
        let link = ErrorLink {
            kind: Some("Error".to_owned()),
            code: Some(code.to_owned()),
            message: Some(format!("it was {code}")),
            ..ErrorLink::default()
        };
        self.report(at, call, Shown::Error(vec![link]))
    }

    pub(crate) fn exit(self, at: u64, code: i32) -> Self {
        let exited = ClientEvent::Exited {
            code: Some(code),
            signal: None,
            killed: false,
        };
        self.client(at, exited).end(at, EndedBy::Exit)
    }

    pub(crate) fn end(self, at: u64, ended_by: EndedBy) -> Self {
        self.client(at, ClientEvent::End { ended_by })
    }

    /// Looks at one assertion alone.
    pub(crate) fn check(&self, plan: &Plan, assertion: &Assertion) -> Checked {
        self.check_of(plan, assertion, &Of::default())
    }

    pub(crate) fn check_of(&self, plan: &Plan, assertion: &Assertion, of: &Of) -> Checked {
        self.check_with(plan, &manifest(), assertion, of)
    }

    pub(crate) fn check_with(
        &self,
        plan: &Plan,
        manifest: &Manifest,
        assertion: &Assertion,
        of: &Of,
    ) -> Checked {
        let facts = Facts::of(plan, manifest, &self.entries);
        let checked = assertion.judge(of, &Case::new(plan, manifest, &facts));
        // What no scenario may name in `proves` must not come either.
        let mut raised = checked.raised.iter();
        let unlisted = raised.find(|raised| !assertion.findings().contains(&raised.name));
        assert!(unlisted.is_none(), "not in its list: {unlisted:?}");
        checked
    }

    pub(crate) fn judge(&self, plan: &Plan) -> CellVerdict {
        crate::judge::judge(plan, &manifest(), &self.entries)
    }
}

impl Checked {
    /// The names of what is wrong.
    pub(crate) fn names(&self) -> Vec<FindingName> {
        self.raised.iter().map(|raised| raised.name).collect()
    }

    /// That something was looked at and nothing is wrong.
    pub(crate) fn assert_good(&self) {
        assert_eq!(self.raised, Vec::new());
        assert_eq!(self.doubts, Vec::<String>::new());
        assert!(self.judged > 0, "nothing was judged");
    }

    /// That there was nothing to look at.
    pub(crate) fn assert_nothing(&self) {
        assert_eq!(self.raised, Vec::new());
        assert_eq!(self.judged, 0);
    }
}

pub(crate) fn of_call(call: u32) -> Of {
    Of {
        call: Some(call),
        ..Of::default()
    }
}
