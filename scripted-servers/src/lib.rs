//! Scripted HTTP servers that misbehave at exact points and count exactly
//! what arrived.
//!
//! The parts, in the order in which a request meets them: [`script`] says what
//! each server shall do, [`models`] what its application remembers, [`wire`] are
//! the programs an answer is made of, [`server`] listens and runs them, [`event`] is what it saw, [`record`] where
//! it puts that, and [`ledger`] counts it. [`clock`] is the only source of time.
//! This crate knows no scenario, no client and no verdict.
//!
//! A test of a client starts a server with a script, lets the client loose on
//! it, and reads the counts:
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//!
//! use scripted_servers::clock::RealClock;
//! use scripted_servers::ledger::Memory;
//! use scripted_servers::script::{Listen, ServerScript, Step};
//! use scripted_servers::server::Armed;
//! use scripted_servers::wire::{End, RequestPoint, WireProgram, WireStep};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let record = Memory::new();
//! let armed = Armed::arm(&[("api", Listen::Open)], RealClock::start(), record.clone())?;
//! let address = armed.addresses()["api"];
//!
//! // The first request is read whole and its connection reset; the second is
//! // answered.
//! let lost = WireProgram {
//!     steps: vec![
//!         WireStep::ReadUntil(RequestPoint::Request),
//!         WireStep::Fired("reset after the request"),
//!         WireStep::End(End::Reset),
//!     ],
//!     answer: None,
//!     ..WireProgram::default()
//! };
//! let script = vec![Step::new(lost), Step::answer(200, "ok")];
//! let running = armed.serve(vec![ServerScript::new("api").script(script)])?;
//!
//! // The client under test: it sends its POST again when the connection breaks.
//! let mut answer = String::new();
//! for _attempt in 0..2 {
//!     let mut client = TcpStream::connect(address)?;
//!     client.write_all(b"POST /orders HTTP/1.1\r\nHost: api\r\nContent-Length: 1\r\n\
//!                        Connection: close\r\n\r\n1")?;
//!     if client.read_to_string(&mut answer).is_ok() {
//!         break;
//!     }
//! }
//! assert!(answer.ends_with("ok"));
//!
//! running.client_ended();
//! running.close()?;
//! let counts = record.ledger().server("api");
//! assert_eq!((counts.connected, counts.delivered), (2, 2));
//! # Ok(())
//! # }
//! ```

mod accept;
mod cell;
pub mod clock;
mod connection;
pub mod digest;
pub mod event;
mod interpreter;
mod kernel;
pub mod ledger;
pub mod models;
mod pending;
mod phases;
mod port;
pub mod record;
mod request;
pub mod route;
pub mod script;
mod select;
mod serve;
pub mod server;
mod state;
mod tcp;
mod transport;
pub mod wire;
mod works;
