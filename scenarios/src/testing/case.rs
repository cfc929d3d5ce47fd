//! Plans with their servers, steps and calls, and a manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use scripted_servers::script::{ConnectionAct, Listen, PathPattern, Route, Times, When};
use scripted_servers::wire::{Effect, End, RequestPoint};

use crate::assertions::Assertion;
use crate::faults::Fault;
use crate::faults::cut::Cut;
use crate::faults::respond::Respond;
use crate::manifest::{Ability, ErrorRule, Manifest, Phase};
use crate::plan::{
    BodyAs, Call, CaseName, Content, Expectation, LanesRequired, Limits, Of, Plan, QueuePlan,
    Request, ServerPlan, StepPlan,
};
use crate::template::{Piece, Template};
use crate::verdict::Level;

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
        fleet: 1,
        limits: Limits::default(),
        needs: BTreeSet::new(),
        deadline: Duration::from_secs(30),
        quiet: Duration::from_millis(300),
        cap: 200,
        enough: BTreeMap::new(),
        cancel: None,
        crash: None,
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
            stream: None,
            look_up: None,
            job: None,
            batch: None,
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

    /// So many processes, each with the calls that there are.
    pub(crate) fn fleet(mut self, fleet: u32) -> Self {
        self.calls = crate::validate::of_each_process(self.calls, fleet);
        self.fleet = fleet;
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
        models: Vec::new(),
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
