//! Helpers: the program of a step, and what it would write and do.

#![expect(clippy::expect_used, reason = "helpers of tests may fail the test")]

use std::collections::BTreeMap;

use scenarios::apis::Api;
use scenarios::faults::Fault;
use scenarios::faults::respond::Respond;
use scenarios::manifest::OperationName;
use scenarios::plan::{Content, StepPlan};
use scenarios::rendering::Rendering;
use scenarios::template::{Bindings, Template};
use scripted_servers::wire::{WireProgram, WireStep};

pub(crate) fn step(fault: Fault) -> StepPlan {
    StepPlan {
        required: true,
        ..StepPlan::new(fault)
    }
}

pub(crate) fn program(step: &StepPlan) -> WireProgram {
    let address = "127.0.0.1:8080".parse().expect("an address");
    let bindings = Bindings(BTreeMap::from([("api".to_owned(), address)]));
    let with = Rendering {
        bindings: &bindings,
        api: Api::PlainJson,
        to: OperationName::Create,
        seed: 1,
    };
    step.fault.program(step, &with)
}

pub(crate) fn of(respond: Respond) -> WireProgram {
    program(&step(Fault::Respond(respond)))
}

pub(crate) fn text(text: &str) -> Option<Content> {
    Some(Content::Text(Template::text(text)))
}

/// All bytes that a program writes before anything endless; a date as dots.
pub(crate) fn bytes(program: &WireProgram) -> Vec<u8> {
    let mut bytes = Vec::new();
    for step in &program.steps {
        match step {
            WireStep::Send(part) | WireStep::Drip { bytes: part, .. } => {
                bytes.extend_from_slice(part);
            }
            WireStep::SendDated { before, after, .. } => {
                bytes.extend_from_slice(before);
                bytes.extend_from_slice(&[b'.'; 29]);
                bytes.extend_from_slice(after);
            }
            _ => {}
        }
    }
    bytes
}

pub(crate) fn shown(program: &WireProgram) -> String {
    String::from_utf8(bytes(program)).expect("text")
}

/// The steps behind the request, without the bytes.
pub(crate) fn acts(program: &WireProgram) -> Vec<String> {
    program
        .steps
        .iter()
        .map(|step| match step {
            WireStep::Send(part) => format!("send {}", part.len()),
            WireStep::SendDated { .. } => "send dated".to_owned(),
            WireStep::Drip { bytes, size, .. } => format!("drip {} by {size}", bytes.len()),
            WireStep::Endless { unit, every } => {
                format!("endless {} {:?}", unit.len(), every.map(|(units, _)| units))
            }
            WireStep::Fired(_) => "fired".to_owned(),
            step => format!("{step:?}"),
        })
        .collect()
}
