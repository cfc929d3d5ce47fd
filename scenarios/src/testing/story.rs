//! Evidence, told as a story.

use scripted_servers::digest::sha256;
use scripted_servers::event::{Ending, Lane, ServerEvent, StepId, Taken, What};
use scripted_servers::script::ConnectionAct;
use scripted_servers::wire::{Answer, SentEvents};

use crate::assertions::Assertion;
use crate::evidence::{ClientEvent, Entry, ErrorLink, Event, Report, Shown, ShownResponse};
use crate::judge::case::Case;
use crate::judge::checked::Checked;
use crate::judge::gathering::gather;
use crate::manifest::Manifest;
use crate::plan::{Of, Plan};
use crate::verdict::{CellVerdict, EndedBy};

use super::manifest;

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
            process: 1,
            event,
        });
        self
    }

    /// What was told last is of this process of a fleet.
    pub(crate) fn of_process(mut self, process: u32) -> Self {
        self.entries.last_mut().unwrap().process = process;
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
            events: SentEvents::default(),
        };
        self.server(at, place, What::Answering { answer })
    }

    /// The beginning of an answer with these events, sent whole and perhaps.
    pub(crate) fn listing(self, at: u64, place: (&str, u32, u32), ids: [&[&str]; 3]) -> Self {
        let [whole, perhaps, left_out] =
            ids.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
        let answer = Answer {
            status: Some(200),
            body_bytes: 0,
            body_sha256: None,
            whole: false,
            events: SentEvents {
                whole,
                perhaps,
                left_out,
            },
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
            events: None,
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
        // Facts hold what the expectations of the case ask for.
        let plan = &plan.clone().must(assertion.clone());
        let facts = gather(plan, manifest, &self.entries);
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
