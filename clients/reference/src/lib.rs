//! The reference client: a small real HTTP/1.1 client over blocking sockets.
//!
//! It is what scenarios are proved with: as it comes it is careful and tells
//! the truth, and each of its [`defects`] makes it careless in one named way.
//! From the outside in: [`program`] speaks the client protocol, `call` makes one
//! call of as many attempts as `policy` and the table in `retry` allow, `redirect`
//! finds the next hop, `listening` hands a list of events to its caller, `upload` goes
//! on where it broke off, `job` asks after what was submitted, `batch` sends many items,
//! `pool` keeps connections, `exchange` sends one request and reads one answer over a
//! `connection`, and `codec` knows the bytes. The codec is its own: were it the servers'
//! parser, both could be wrong together.
//!
//! Each part of the policy is a file: `layers` counts who sends again, `backoff` how
//! long is waited, `cause` whether that helps, `polls` how long before a job is asked
//! after, `budget` what all calls may send again together, `limiter` how many are open,
//! `breaker` when the server is left alone, `hedge` sends a second copy, and `cancel`
//! knows whether the caller still wants a call. `checkpoints` keeps what a process has to
//! know that takes the place of one that was killed.

mod backoff;
mod batch;
mod breaker;
mod budget;
mod call;
mod cancel;
mod cause;
pub mod checkpoints;
mod clock;
mod codec;
mod connection;
pub mod defects;
mod exchange;
mod failure;
mod hedge;
mod job;
mod layers;
mod limiter;
mod listening;
mod look_up;
mod policy;
mod polls;
mod pool;
pub mod program;
mod redirect;
mod report;
mod reporter;
mod request;
mod retry;
mod retry_after;
mod signal;
mod upload;
mod url;

pub use program::main;
pub use report::codes;
