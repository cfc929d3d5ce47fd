//! What a connection is made of, as far as programs need it: bytes, and facts
//! about the socket beneath.
//!
//! Facts are asked without waiting. Only three things are waited for: bytes to
//! read, room to write, and the peer's end. A transport never waits for time.

use std::future::Future;
use std::io;
use std::time::Duration;

use crate::clock::Clock;
use crate::event::Ending;
pub(crate) use crate::kernel::Peer;

/// Bytes and socket facts of one connection.
pub(crate) trait Transport: Send + Sync + 'static {
    /// Reads what is there, without waiting: how many bytes (0: the peer's FIN)
    /// and when, on this clock, the last of them had arrived. `WouldBlock`:
    /// nothing is there.
    fn try_read(&mut self, into: &mut [u8], clock: &dyn Clock) -> io::Result<(usize, Duration)>;

    /// Whether nothing was there at the last look and nothing has announced
    /// itself since. Trying to read is then allowed, and likely in vain.
    fn seems_empty(&self) -> bool;

    /// Writes what the kernel takes, without waiting.
    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// From here on the last bytes written may wait for `finish`, so that they
    /// and the FIN arrive together. Not for long: if no `finish` comes they go.
    fn hold_back(&mut self);

    /// Undoes `hold_back`: no `finish` comes, and the last bytes go.
    fn let_go(&mut self);

    /// Waits until bytes, a FIN or a RST can be read.
    fn readable(&self) -> impl Future<Output = ()> + Send;

    /// Waits until bytes can be written, or the connection is broken.
    fn writable(&self) -> impl Future<Output = ()> + Send;

    /// Waits for the peer's FIN or RST, leaving unread what is unread.
    fn ended(&self) -> impl Future<Output = Ending> + Send;

    /// The peer's FIN or RST, if it has arrived.
    fn ending(&self) -> Option<Ending>;

    /// Whether the peer's RST came from a socket that had not sent FIN: it gave
    /// up with bytes unread, or of its own accord. A RST behind a FIN says that
    /// bytes came too late for anybody.
    fn was_reset_open(&self) -> bool;

    /// Bytes that have arrived and are not read.
    fn unread(&self) -> u64;

    /// Bytes written that the peer's kernel has not acknowledged; an own FIN
    /// counts as one.
    fn unacknowledged(&self) -> u64;

    /// Bytes written that have not left this kernel; an own FIN counts as one.
    fn unsent(&self) -> u64;

    /// The longest that it can be since the peer's kernel last acknowledged
    /// something, a FIN included; none where that is not known.
    fn since_acknowledgement(&self) -> Option<Duration>;

    /// The other end.
    fn peer(&self) -> Peer;

    /// Bytes that the other end has yet to get here, a FIN counts as one; none
    /// where that is not known.
    fn coming(&self) -> Option<u64>;

    /// From here on nothing arrives any more.
    fn deafen(&mut self);

    /// Undoes `deafen`.
    fn hear(&mut self);

    /// Sends FIN; whether it went out, as it can not once the peer has reset.
    fn finish(&mut self) -> bool;

    /// Sends RST, forgetting what is unsent, and gives the socket up.
    fn reset(&mut self);

    /// Gives the socket up.
    fn close(&mut self);

    /// Whether the socket has not been given up.
    fn is_open(&self) -> bool;

    /// The first thing that could not be known or done. From then on no answer
    /// here is a fact, and what was counted can not be trusted.
    fn doubt(&self) -> Option<&str>;
}
