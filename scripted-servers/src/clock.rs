//! The one source of time and of waiting for a cell.
//!
//! Three things suffice: reading the time, waiting for a time, and saying that
//! real work is under way. A virtual clock can then stand in for the real one:
//! it may jump only while nobody is busy.

use std::any::Any;
use std::future::Future;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// A clock of one cell. Times are durations since the cell began.
pub trait Clock: Send + Sync + 'static {
    /// Time since the cell began.
    fn now(&self) -> Duration;

    /// The wall clock's time, for dates in answers.
    fn wall(&self) -> SystemTime;

    /// Waits until `at`. When it resolves, the clock already counts the caller
    /// as busy, and hands back the guard that ends it.
    fn sleep_until(&self, at: Duration) -> Pin<Box<dyn Future<Output = Busy> + Send + '_>>;

    /// A guard to hold over real work. Not for waiting on a socket.
    fn busy(&self) -> Busy;

    /// Waits so long in real time, and counts as work: for the kernel, whose own
    /// timers know no other time.
    fn wait_for_kernel(&self, real: Duration) -> Pin<Box<dyn Future<Output = Busy> + Send + '_>> {
        self.sleep_until(self.now() + real)
    }

    /// What this clock showed, so much real time before it showed `now`. The
    /// kernel tells how old things are, and knows of no other time.
    fn before(&self, now: Duration, real: Duration) -> Duration {
        now.saturating_sub(real)
    }

    /// The same for an age that is known by the ticks of the kernel's timer only.
    /// Of what is noticed as soon as it is there, so since the last jump.
    fn shortly_before(&self, now: Duration, real: Duration) -> Duration {
        now.saturating_sub(real)
    }

    /// This thread takes part from now on, until what comes back is dropped: the
    /// clock does not jump while it runs.
    fn take_part(&self) -> Part {
        Part::default()
    }

    /// Looks at this connection from `own` to `peer` as well, until what comes back
    /// is dropped, which is to be before the socket is closed: the clock does not
    /// jump while anything is on its way.
    fn watch(&self, _socket: BorrowedFd<'_>, _own: SocketAddr, _peer: SocketAddr) -> Part {
        Part::default()
    }
}

/// A thread's or a connection's part in a clock.
#[derive(Default)]
#[must_use]
pub struct Part {
    _part: Option<Box<dyn Any + Send + Sync>>,
}

impl Part {
    /// A part that ends when this is dropped.
    pub fn new(part: impl Any + Send + Sync) -> Self {
        Self {
            _part: Some(Box::new(part)),
        }
    }
}

/// Held while real work is done. Dropping it says that the work is over.
#[must_use]
pub struct Busy(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Busy {
    /// A guard that runs `done` when it is dropped.
    pub fn new(done: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(done)))
    }

    /// A guard that nobody counts.
    pub const fn uncounted() -> Self {
        Self(None)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done();
        }
    }
}

/// The clock on the wall.
pub struct RealClock {
    began: Instant,
    /// The same moment as a number, as the time is read several times for each
    /// request.
    began_nanos: u64,
}

impl RealClock {
    /// A clock that begins now.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads real time"
    )]
    pub fn start() -> Arc<dyn Clock> {
        Arc::new(Self {
            began: Instant::now(),
            began_nanos: monotonic_nanos(),
        })
    }
}

/// The kernel's monotonic clock, which `Instant` reads as well.
fn monotonic_nanos() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Neither is ever negative.
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Clock for RealClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(monotonic_nanos().saturating_sub(self.began_nanos))
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that really sleeps"
    )]
    fn sleep_until(&self, at: Duration) -> Pin<Box<dyn Future<Output = Busy> + Send + '_>> {
        let at = tokio::time::Instant::from_std(self.began + at);
        Box::pin(async move {
            tokio::time::sleep_until(at).await;
            Busy::uncounted()
        })
    }

    fn busy(&self) -> Busy {
        Busy::uncounted()
    }
}
