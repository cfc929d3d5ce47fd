//! Requests for the tests of models.

use std::time::Duration;

use super::{Asked, Decided, Decision, Machine, Says};

/// A request to come.
#[derive(Clone, Debug)]
pub(super) struct Request {
    at: Duration,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    content: Option<String>,
}

/// `POST /orders`, so many milliseconds after the beginning.
pub(super) fn request(at: u64, line: &str) -> Request {
    let (method, target) = line.split_once(' ').unwrap_or((line, "/"));
    Request {
        at: Duration::from_millis(at),
        method: method.to_owned(),
        target: target.to_owned(),
        headers: Vec::new(),
        content: None,
    }
}

impl Request {
    pub(super) fn field(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn content(mut self, content: &str) -> Self {
        self.content = Some(content.to_owned());
        self
    }

    pub(super) fn ask(&self, machine: &mut dyn Machine) -> Decision {
        let digest = self.content.as_ref();
        let digest = digest.map(|content| crate::digest::sha256(content.as_bytes()));
        let json = self.content.as_ref();
        let json = json.and_then(|content| serde_json::from_str(content).ok());
        machine.ask(&Asked {
            at: self.at,
            method: &self.method,
            target: &self.target,
            headers: &self.headers,
            digest: digest.as_deref(),
            json: json.as_ref(),
        })
    }

    pub(super) fn decided(&self, machine: &mut dyn Machine) -> Decided {
        self.ask(machine).decided
    }
}

/// Status and content of an answer.
pub(super) fn answered(decision: &Decision) -> (u16, String) {
    match &decision.says {
        Says::Answers(reply) => (
            reply.status,
            String::from_utf8_lossy(&reply.content).into_owned(),
        ),
        other => panic!("no answer: {other:?}"),
    }
}
