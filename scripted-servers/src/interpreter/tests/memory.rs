//! A transport in memory, a peer that plays a list of acts on it, and a clock
//! that jumps when nobody has anything to do.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::{Busy, Clock};
use crate::event::Ending;
use crate::transport::{Peer, Transport};

/// What the peer's kernel takes before its process reads, and what the own one
/// takes beyond that.
const WINDOW: usize = 100;
const ROOM: usize = 50;

/// One thing the peer does, after so many milliseconds.
#[derive(Clone, Debug)]
pub(super) enum Act {
    /// Sends the next so many bytes of what it has to say.
    Send(usize),
    /// Reads up to so many bytes.
    Read(usize),
    /// Reads everything that comes once all acts are played.
    ReadAll,
    /// Ends its direction and goes on reading.
    HalfClose,
    /// Closes its socket: RST when something is unread, else FIN.
    Close,
    /// Sends RST.
    Reset,
}

#[derive(Default)]
struct State {
    to_server: VecDeque<u8>,
    from_server: Vec<u8>,
    read: usize,
    reads_all: bool,
    peer_fin: bool,
    peer_gone: bool,
    peer_reset: bool,
    /// The RST did not come behind a FIN.
    reset_open: bool,
    /// What is not read is not acknowledged.
    late_acks: bool,
    /// What the peer does as soon as bytes come.
    on_bytes: Vec<Act>,
    /// What it does as soon as the server hears nothing.
    on_deaf: Vec<Act>,
    server_fin: bool,
    server_reset: bool,
    deaf: bool,
    unseen: bool,
    doubt: Option<&'static str>,
}

impl State {
    fn untaken(&self) -> usize {
        self.from_server.len() - self.read
    }
}

/// The server's end.
#[derive(Clone, Default)]
pub(super) struct Memory {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

impl Memory {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Plays the peer.
    pub(super) async fn play(self, says: Vec<u8>, acts: Vec<(u64, Act)>) {
        let mut says = VecDeque::from(says);
        for (after, act) in acts {
            sleep(Duration::from_millis(after)).await;
            self.act(act, &mut says);
            self.changed.notify_waiters();
        }
        // A reader has a speed, or an endless answer would never let time pass.
        while self.state().reads_all && !self.state().peer_gone {
            sleep(Duration::from_millis(10)).await;
            let mut state = self.state();
            state.read = state.from_server.len();
            drop(state);
            self.changed.notify_waiters();
        }
    }

    /// Does one thing as the peer.
    pub(super) fn act(&self, act: Act, says: &mut VecDeque<u8>) {
        let mut state = self.state();
        if state.peer_gone || state.server_reset {
            return;
        }
        match act {
            Act::Send(bytes) if !state.peer_fin && !state.deaf => {
                let bytes = bytes.min(says.len());
                state.to_server.extend(says.drain(..bytes));
            }
            Act::Send(_) => {}
            Act::Read(bytes) => state.read = (state.read + bytes).min(state.from_server.len()),
            Act::ReadAll => state.reads_all = true,
            Act::HalfClose => state.peer_fin = true,
            Act::Close => {
                state.peer_gone = true;
                state.peer_reset = state.untaken() > 0;
                state.reset_open = state.peer_reset && !state.peer_fin;
                state.peer_fin = true;
            }
            // A RST that is not heard is not sent again.
            Act::Reset if state.deaf => state.peer_gone = true,
            Act::Reset => {
                state.peer_gone = true;
                state.peer_reset = true;
                state.reset_open = !state.peer_fin;
            }
        }
    }

    /// The peer does this as soon as bytes come, before the server has its next
    /// turn.
    pub(super) fn on_bytes(&self, acts: Vec<Act>) {
        self.state().on_bytes = acts;
    }

    /// The peer does this as soon as the server hears nothing.
    pub(super) fn on_deaf(&self, acts: Vec<Act>) {
        self.state().on_deaf = acts;
    }

    /// The peer's kernel acknowledges what its process has read, and no FIN.
    pub(super) fn delay_acknowledgements(&self) {
        self.state().late_acks = true;
    }

    /// From here on nobody can tell whether the peer is there.
    pub(super) fn hide_peer(&self) {
        self.state().unseen = true;
    }

    /// From here on what is asked gets no answer.
    pub(super) fn doubt_all(&self, reason: &'static str) {
        self.state().doubt = Some(reason);
    }

    /// All that the server wrote.
    pub(super) fn written(&self) -> Vec<u8> {
        self.state().from_server.clone()
    }

    /// Whether the server ended the connection.
    pub(super) fn is_ended(&self) -> bool {
        let state = self.state();
        state.server_fin || state.server_reset
    }

    async fn until<R: Send>(&self, fact: impl Fn(&mut State) -> Option<R> + Send) -> R {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(found) = fact(&mut self.state()) {
                return found;
            }
            changed.await;
        }
    }
}

impl Transport for Memory {
    fn try_read(&mut self, into: &mut [u8], clock: &dyn Clock) -> io::Result<(usize, Duration)> {
        let mut state = self.state();
        let read = into.len().min(state.to_server.len());
        if read > 0 {
            for (place, byte) in state.to_server.drain(..read).enumerate() {
                into[place] = byte;
            }
            Ok((read, clock.now()))
        } else if state.peer_reset {
            Err(io::ErrorKind::ConnectionReset.into())
        } else if state.peer_fin {
            Ok((0, clock.now()))
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    fn seems_empty(&self) -> bool {
        self.state().to_server.is_empty() && self.ending().is_none()
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state();
        assert!(
            !state.server_fin && !state.server_reset,
            "written after the end"
        );
        if state.peer_gone {
            // The first bytes to a closed socket are answered by RST.
            state.peer_reset = true;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let room = (WINDOW + ROOM).saturating_sub(state.untaken());
        if room == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let written = bytes.len().min(room);
        state.from_server.extend_from_slice(&bytes[..written]);
        let acts = std::mem::take(&mut state.on_bytes);
        drop(state);
        for act in acts {
            self.act(act, &mut VecDeque::new());
            self.changed.notify_waiters();
        }
        Ok(written)
    }

    fn hold_back(&mut self) {}

    fn let_go(&mut self) {}

    async fn readable(&self) {
        let there = |state: &mut State| {
            let there = !state.to_server.is_empty() || state.peer_fin || state.peer_reset;
            there.then_some(())
        };
        self.until(there).await;
    }

    async fn writable(&self) {
        let room =
            |state: &mut State| (state.peer_gone || state.untaken() < WINDOW + ROOM).then_some(());
        self.until(room).await;
    }

    async fn ended(&self) -> Ending {
        self.until(|state| ending(state)).await
    }

    fn ending(&self) -> Option<Ending> {
        ending(&self.state())
    }

    fn was_reset_open(&self) -> bool {
        self.state().reset_open
    }

    fn unread(&self) -> u64 {
        self.state().to_server.len() as u64
    }

    fn unacknowledged(&self) -> u64 {
        let state = self.state();
        match state.late_acks {
            true => state.untaken() as u64 + u64::from(state.server_fin),
            false => state.untaken().saturating_sub(WINDOW) as u64,
        }
    }

    fn unsent(&self) -> u64 {
        self.state().untaken().saturating_sub(WINDOW) as u64
    }

    fn since_acknowledgement(&self) -> Option<Duration> {
        None
    }

    fn peer(&self) -> Peer {
        let state = self.state();
        if state.unseen {
            Peer::Unknown
        } else if state.peer_gone {
            Peer::Gone
        } else {
            Peer::Here {
                untaken: state.untaken() as u64,
            }
        }
    }

    fn coming(&self) -> Option<u64> {
        Some(0)
    }

    fn deafen(&mut self) {
        let mut state = self.state();
        state.deaf = true;
        let acts = std::mem::take(&mut state.on_deaf);
        drop(state);
        for act in acts {
            self.act(act, &mut VecDeque::new());
        }
    }

    fn hear(&mut self) {
        self.state().deaf = false;
    }

    fn finish(&mut self) -> bool {
        let mut state = self.state();
        state.server_fin = !state.peer_reset;
        state.server_fin
    }

    fn reset(&mut self) {
        self.state().server_reset = true;
    }

    fn close(&mut self) {}

    fn is_open(&self) -> bool {
        !self.state().server_reset
    }

    fn doubt(&self) -> Option<&str> {
        self.state().doubt
    }
}

fn ending(state: &State) -> Option<Ending> {
    if state.peer_reset {
        Some(Ending::Reset)
    } else if state.peer_fin {
        Some(Ending::Fin)
    } else {
        None
    }
}

/// Tokio's paused clock as a cell's clock.
pub(super) struct Jumping(Instant);

impl Jumping {
    pub(super) fn start() -> Arc<Self> {
        Arc::new(Self(Instant::now()))
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "tokio's paused time is this clock"
)]
async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

impl Clock for Jumping {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + self.now()
    }

    fn sleep_until(&self, at: Duration) -> Pin<Box<dyn Future<Output = Busy> + Send + '_>> {
        Box::pin(async move {
            sleep(at.saturating_sub(self.now())).await;
            Busy::uncounted()
        })
    }

    fn busy(&self) -> Busy {
        Busy::uncounted()
    }
}
