//! Jobs for tests that run whole cells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use harness::run::{CellDone, CellJob, Client, RunOptions, run_cells};
use scenarios::evidence::{ClientEvent, Entry, Event};
use scenarios::faults::Fault;
use scenarios::faults::respond::Respond;
use scenarios::manifest::{Ability, Manifest, Policy, Start};
use scenarios::plan::{
    BodyAs, Call, CaseName, Content, LanesRequired, Limits, Plan, QueuePlan, Request, ServerPlan,
    StepPlan,
};
use scenarios::template::{Piece, Template};
use scripted_servers::event::What;
use scripted_servers::script::{Listen, PathPattern, Route, Times};
use tempfile::TempDir;

use super::wirefault;

/// One call to one server that answers 200 as often as it is asked.
pub(crate) fn plan() -> Plan {
    Plan {
        case: CaseName {
            scenario: "test/one-call".to_owned(),
            columns: Vec::new(),
        },
        file: "one-call.yaml".to_owned(),
        title: "One call".to_owned(),
        why: "To have one.".to_owned(),
        refs: Vec::new(),
        tags: BTreeSet::new(),
        seed: 1,
        servers: vec![server()],
        calls: vec![call(1)],
        fleet: 1,
        limits: Limits::default(),
        needs: BTreeSet::from([Ability::Literal]),
        deadline: Duration::from_secs(20),
        quiet: Duration::from_millis(300),
        cap: 200,
        enough: BTreeMap::new(),
        cancel: None,
        crash: None,
        expect: Vec::new(),
        proves: None,
    }
}

pub(crate) fn call(id: u32) -> Call {
    Call {
        id,
        line: 1,
        pause: Duration::ZERO,
        group: 0,
        at_once: 1,
        look_up: None,
        job: None,
        batch: None,
        stream: None,
        request: Request::Literal {
            method: "GET".to_owned(),
            url: Template(vec![
                Piece::Url("api".to_owned()),
                Piece::Text("/x".to_owned()),
            ]),
            headers: Vec::new(),
            body: None,
            body_as: BodyAs::Buffer,
        },
    }
}

fn server() -> ServerPlan {
    let respond = Respond {
        body: Some(Content::Text(Template::text("ok"))),
        ..Respond::plain()
    };
    let step = StepPlan {
        times: Times::Always,
        ..StepPlan::new(Fault::Respond(respond))
    };
    ServerPlan {
        name: "api".to_owned(),
        line: 1,
        address: std::net::Ipv4Addr::LOCALHOST.into(),
        port_of: None,
        listen: Listen::Open,
        connections: Vec::new(),
        models: Vec::new(),
        queues: vec![QueuePlan {
            pattern: "script".to_owned(),
            route: Route {
                method: None,
                path: PathPattern::Any,
            },
            steps: vec![step],
        }],
        required: LanesRequired::default(),
    }
}

/// An adapter that is started like this.
pub(crate) fn adapter(args: &[&str]) -> Client {
    Client {
        manifest: Manifest {
            install: None,
            name: "test".to_owned(),
            title: "A client of a test".to_owned(),
            file: "test.yaml".to_owned(),
            build: None,
            start: Start::Adapter(args.iter().map(|arg| (*arg).to_owned()).collect()),
            programs: Vec::new(),
            version: Vec::new(),
            abilities: BTreeSet::from([Ability::Literal, Ability::Calls]),
            api: scenarios::apis::Api::default(),
            operations: BTreeMap::new(),
            policy: Policy::default(),
            errors: Vec::new(),
            defects: BTreeSet::new(),
            soft_threads: Vec::new(),
        },
        version: "1".to_owned(),
        defects: Vec::new(),
    }
}

/// The example `odd_client`.
pub(crate) fn odd_client() -> PathBuf {
    let path = wirefault().with_file_name("examples").join("odd_client");
    assert!(
        path.exists(),
        "no {}: `cargo test -p harness` builds it, `--test NAME` alone does not",
        path.display()
    );
    path
}

/// The client with one bad habit.
pub(crate) fn odd(habit: &str) -> Client {
    adapter(&[&odd_client().to_string_lossy(), habit])
}

pub(crate) fn job(id: &str, plan: Plan, client: Client) -> CellJob {
    CellJob {
        id: id.to_owned(),
        plan: Arc::new(plan),
        client: Arc::new(client),
        repeat: 1,
    }
}

pub(crate) fn options(folder: &Path) -> RunOptions {
    let mut options = RunOptions::new(folder.to_owned()).unwrap();
    options.wirefault = wirefault();
    options
}

/// A cell that was run, with its folder.
pub(crate) struct Ran {
    pub(crate) done: CellDone,
    pub(crate) entries: Vec<Entry>,
    pub(crate) folder: PathBuf,
    _run: TempDir,
}

impl Ran {
    /// What the harness saw of the client, in order.
    pub(crate) fn client(&self) -> Vec<&ClientEvent> {
        let client = |entry: &'_ Entry| matches!(entry.event, Event::Client(_));
        self.entries
            .iter()
            .filter(|entry| client(entry))
            .filter_map(|entry| match &entry.event {
                Event::Client(event) => Some(event),
                Event::Server(_) => None,
            })
            .collect()
    }

    /// Requests that arrived.
    pub(crate) fn delivered(&self) -> usize {
        self.entries
            .iter()
            .filter(|entry| {
                matches!(&entry.event, Event::Server(event)
                    if matches!(event.what, What::Delivered { .. }))
            })
            .count()
    }

    /// Exit code, signal, and whether we killed it.
    pub(crate) fn exited(&self) -> (Option<i32>, Option<i32>, bool) {
        self.client()
            .into_iter()
            .find_map(|event| match event {
                ClientEvent::Exited {
                    code,
                    signal,
                    killed,
                } => Some((*code, *signal, *killed)),
                _ => None,
            })
            .unwrap()
    }

    /// The reasons of all garbage.
    pub(crate) fn garbage(&self) -> Vec<(String, String)> {
        self.client()
            .into_iter()
            .filter_map(|event| match event {
                ClientEvent::Garbage { line, reason } => Some((line.clone(), reason.clone())),
                _ => None,
            })
            .collect()
    }
}

/// Runs one cell.
pub(crate) fn run_one(plan: Plan, client: Client) -> Ran {
    let run = TempDir::new().unwrap();
    let jobs = vec![job("cell", plan, client)];
    let mut done = run_cells(jobs, &options(run.path()), &mut |_| {}).unwrap();
    let folder = run.path().join("cells/cell");
    Ran {
        done: done.remove(0),
        entries: harness::cell::evidence::read(&folder.join("events.jsonl")).unwrap(),
        folder,
        _run: run,
    }
}
