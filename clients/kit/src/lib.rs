//! The Rust kit: what a program under test needs to speak with wirefault.
//!
//! [`protocol`] are the lines that go over stdin and stdout. The harness uses
//! the same types, so there is one definition of the protocol.

pub mod protocol;
