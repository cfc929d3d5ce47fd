//! What the tracer needs from all that takes part in a cell without being
//! traced: the scripted servers and whoever waits on their behalf.

use std::net::SocketAddr;

use crate::timeline::Timeline;

/// All participants of a cell together. Times are nanoseconds since the cell
/// began.
///
/// The gap between "the kernel has data for me" and "I am busy" is closed by
/// looking at the states of the threads in [`Voter::tids`]: a thread that was
/// woken is not asleep. So a vote is needed only over work that really sleeps,
/// or that is done by threads which are not listed.
pub trait Voter: Send + Sync {
    /// The time that they all share.
    fn timeline(&self) -> &Timeline;

    /// Whether nobody is busy.
    fn is_quiet(&self) -> bool;

    /// How many votes there have been so far. One more says that the servers have got
    /// on with something, however busy they were at every look.
    fn votes(&self) -> u64;

    /// The earliest time that somebody waits for.
    fn next_deadline(&self) -> Option<u64>;

    /// Wakes all who wait for a time up to `now`, after it has counted each of
    /// them as busy. Tells how many.
    fn advance_to(&self, now: u64) -> usize;

    /// Has `look` see each connection that is served: its descriptor in this
    /// process, which is not closed meanwhile, its own address and its peer's.
    fn sockets(&self, look: &mut dyn FnMut(i32, SocketAddr, SocketAddr));

    /// Kernel ids of the threads that run server code. Each is at work unless it
    /// sleeps in a call that waits for arrivals: one that waits for a lock goes on
    /// when its holder gets a processor, whatever the time.
    fn tids(&self) -> Vec<i32>;
}
