//! The Rust kit: what a program under test needs to speak with wirefault.
//!
//! [`protocol`] are the lines that go over stdin and stdout. The harness uses
//! the same types, so there is one definition of the protocol. [`session`]
//! reads the work and the control lines, [`messages`] writes the answers,
//! [`body`] loads what is to be sent, [`digest`] describes what came back, [`events`] reads a list of events,
//! [`chain`] describes what went wrong. [`conformance`] asks any adapter, in
//! any language, whether it keeps to the protocol. The kit sends no request.

pub mod body;
pub mod chain;
pub mod conformance;
pub mod digest;
pub mod errno;
pub mod events;
pub mod messages;
pub mod protocol;
pub mod session;
