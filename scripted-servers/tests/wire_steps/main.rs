//! Every wire step, byte by byte, with a plain socket: what came, when, and how
//! it ended.

mod client_read;
mod effects;
mod ends;
mod idle;
mod no_answer;
mod sending;
mod slow_read;
#[path = "../support/mod.rs"]
mod support;
mod waiting;
mod works;

use std::time::Duration;

use scripted_servers::wire::{RequestPoint, WireStep};
use support::bytes;

const READ: WireStep = WireStep::ReadUntil(RequestPoint::Request);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn send(text: &str) -> WireStep {
    WireStep::Send(bytes(text.as_bytes()))
}
