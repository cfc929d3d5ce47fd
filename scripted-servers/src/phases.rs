//! The states that a port goes through, by the time since the work was handed
//! over, with the proof of each. What can be done with a port is in `port`.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use crate::event::{Lane, What};
use crate::port::Port;
use crate::script::{Phase, PortState};
use crate::state::Server;

/// A port on its way through its states.
pub(crate) struct Course {
    server: Arc<Server>,
    port: Port,
    phases: Vec<Phase>,
    /// Place of the phase that is in force.
    now: usize,
    /// Since when it has been so.
    since: Duration,
}

impl Course {
    /// The first phase is in force.
    pub(crate) fn new(server: Arc<Server>, port: Port, phases: Vec<Phase>) -> Self {
        let since = server.cell.clock.now();
        Self {
            server,
            port,
            phases,
            now: 0,
            since,
        }
    }

    /// Goes from state to state until the port is open. One that never opens
    /// goes on for ever. Dropped while it waits, it has left nothing undone.
    pub(crate) async fn run(&mut self) {
        if self.phases.len() > 1 {
            let handed_over = self.server.cell.handed_over().await;
            self.since = handed_over;
            self.tell_state(handed_over);
            let mut end = handed_over;
            while let Some(lasts) = self.phase().lasts {
                end = end.saturating_add(lasts);
                let clock = self.server.cell.clock.clone();
                let _busy = clock.sleep_until(end).await;
                self.change();
            }
        }
        if !self.is_open() {
            std::future::pending().await
        }
    }

    /// Whether the port is open.
    pub(crate) fn is_open(&self) -> bool {
        self.phase().state == PortState::Open
    }

    /// The socket of an open port, to accept from; none: the record is broken.
    pub(crate) fn into_listener(self) -> Option<(TcpListener, SocketAddr)> {
        let address = self.port.address();
        match self.port.into_listener() {
            Ok(listener) => Some((listener, address)),
            Err(error) => {
                broken(&self.server, "cannot be accepted from", &error);
                None
            }
        }
    }

    fn phase(&self) -> Phase {
        let open = Phase {
            state: PortState::Open,
            lasts: None,
        };
        self.phases.get(self.now).copied().unwrap_or(open)
    }

    /// From the phase in force to the next. What is refused is probed before the
    /// change, what is dropped is counted behind it, so that nothing escapes.
    fn change(&mut self) {
        let before = self.phase().state;
        if before == PortState::Refuse {
            self.prove();
        }
        let left = (self.now, self.since);
        self.now += 1;
        self.since = self.server.cell.clock.now();
        self.tell_state(self.since);
        if let Err(error) = self.port.enter(self.phase().state) {
            broken(&self.server, "cannot change its state", &error);
        }
        if before == PortState::Drop {
            self.count(left);
        }
    }

    /// Leaves the proof of the phase in force, at its end or that of the client.
    pub(crate) fn prove(&self) {
        match self.phase().state {
            PortState::Open => {}
            PortState::Refuse => {
                let refused = self.port.refuses();
                let after = true;
                self.server
                    .tell(None, None, What::Probed { refused, after });
            }
            PortState::Drop => self.count((self.now, self.since)),
        }
    }

    fn count(&self, (phase, since): (usize, Duration)) {
        let since_us = micros(since);
        let lane = Lane::Listen;
        match self.port.dropped() {
            Ok(syns) => {
                self.server.tell(None, None, What::Dropped { phase, syns });
                // The first state is the one that must be met.
                if phase == 0 && syns > 0 {
                    let proof = format!("SYNs dropped: {syns}");
                    let fired = What::Fired {
                        lane,
                        proof,
                        since_us,
                    };
                    self.server.tell(None, None, fired);
                }
            }
            Err(error) => {
                let reason = format!("the kernel does not tell what was dropped: {error}");
                let unproven = What::Unproven {
                    lane,
                    reason,
                    since_us,
                };
                self.server.tell(None, None, unproven);
            }
        }
    }

    fn tell_state(&self, since: Duration) {
        let what = What::Listening {
            phase: self.now,
            state: self.phase().state,
            since_us: micros(since),
        };
        self.server.tell(None, None, what);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn broken(server: &Server, how: &str, error: &io::Error) {
    let name = &server.name;
    server
        .cell
        .set_broken(format!("the port of {name:?} {how}: {error}"));
}
