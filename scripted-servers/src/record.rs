//! Where events go.

use crate::event::ServerEvent;

/// Takes events in the order in which they happen. Implementors read the clock
/// and number the events; they must not block for long, as servers call this
/// from their own thread.
pub trait Record: Send + Sync + 'static {
    /// Takes one event.
    fn record(&self, event: ServerEvent);

    /// The servers' thread is about to wait: whatever is buffered goes out now,
    /// so that a killed run leaves its record.
    fn flush(&self) {}
}
