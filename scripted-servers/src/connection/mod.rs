//! One connection: reads it, keeps its exchanges, and tells what arrived.
//!
//! All state of a connection lives here and is whole at every await, so that a
//! script can be dropped at any of them and what is left still be counted. What
//! is done with a request is decided by `interpreter` and `serve`.

mod arrival;
mod drain;
mod exchange;
mod passage;
mod taken;

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::event::{Ending, What};
use crate::pending::Pending;
use crate::state::{Life, Server};
use crate::transport::{Peer, Transport};
use crate::wire::RequestPoint;
pub(crate) use drain::{drain, read_out};
pub(crate) use exchange::{Exchange, Part, Proof, Underway};

const READ_AT_ONCE: usize = 64 * 1024;

thread_local! {
    /// Where reads of all connections of a thread first go.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_AT_ONCE]);
}

/// Why a program can not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The peer has ended the connection.
    Gone,
    /// What it sent can not be understood.
    Malformed,
}

/// One connection of a server.
pub(crate) struct Connection<T> {
    pub(crate) transport: T,
    pub(crate) server: Arc<Server>,
    /// The client's life that opened it.
    pub(crate) life: Arc<Life>,
    pub(crate) number: u32,
    pub(crate) exchange: Option<Exchange>,
    pub(crate) pending: Pending,
    pub(crate) underway: Option<Underway>,
    /// Why what the current exchange would prove is not proved.
    doubt: Option<&'static str>,
    exchanges: u32,
    received: u64,
    sent: u64,
    /// When the socket was last seen without unread bytes.
    empty_at: Duration,
    /// When the last bytes read had arrived.
    heard_at: Duration,
    /// Just before the last bytes were handed to the kernel.
    handed_at: Duration,
    /// When a look at the socket last showed that the peer had not ended it.
    alive_at: Duration,
    peer_ended: bool,
    /// FIN was sent.
    pub(crate) own_fin: bool,
    taken: taken::Known,
    /// Bytes read from here on come out of a dead client's kernel.
    draining: bool,
    /// What is read now is what the client left; a request that begins in it
    /// would have been served if the server had got its turn in time.
    closing: bool,
}

impl<T: Transport> Connection<T> {
    pub(crate) fn new(transport: T, server: Arc<Server>, number: u32) -> Self {
        Self {
            transport,
            life: server.cell.life(),
            server,
            number,
            exchange: None,
            pending: Pending::default(),
            underway: None,
            doubt: None,
            exchanges: 0,
            received: 0,
            sent: 0,
            empty_at: Duration::ZERO,
            heard_at: Duration::ZERO,
            handed_at: Duration::ZERO,
            alive_at: Duration::ZERO,
            peer_ended: false,
            own_fin: false,
            taken: taken::Known::default(),
            draining: false,
            closing: false,
        }
    }

    pub(crate) fn now(&self) -> Duration {
        self.server.cell.clock.now()
    }

    /// Tells an event of the current exchange, or of none.
    pub(crate) fn tell(&self, what: What) {
        let exchange = self.exchange.as_ref().map(|exchange| exchange.number);
        self.tell_of(exchange, what);
    }

    /// Tells an event of a named exchange.
    pub(crate) fn tell_of(&self, exchange: Option<u32>, what: What) {
        self.server.tell(Some(self.number), exchange, what);
    }

    /// Reads once, without waiting; whether bytes came.
    pub(crate) fn read_once(&mut self, limit: usize) -> Result<bool, Stop> {
        let called = self.now();
        let clock = self.server.cell.clock.clone();
        let outcome = SCRATCH.with_borrow_mut(|scratch| {
            let limit = limit.min(scratch.len());
            let (read, arrived) = self.transport.try_read(&mut scratch[..limit], &*clock)?;
            // Whatever becomes of the wall clock, that much is known.
            let latest = if arrived > called {
                clock.now()
            } else {
                called
            };
            let arrived = arrived.min(latest).max(self.empty_at);
            if read < limit {
                self.empty_at = called;
            }
            self.received += read as u64;
            if read > 0 {
                self.heard_at = arrived;
            }
            self.pending.push(&scratch[..read], arrived);
            Ok::<usize, io::Error>(read)
        });
        match outcome {
            Ok(0) => {
                self.peer_has_ended(Ending::Fin);
                Err(Stop::Gone)
            }
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.empty_at = called;
                Ok(false)
            }
            Err(_) => {
                self.peer_has_ended(Ending::Reset);
                Err(Stop::Gone)
            }
        }
    }

    /// A script goes no further once the client has ended: what is left to be
    /// told is decided by times, and not by who gets a turn first.
    pub(crate) async fn go_on(&self) {
        if self.life.is_over() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for bytes and reads them once.
    pub(crate) async fn read_more(&mut self, limit: usize) -> Result<(), Stop> {
        loop {
            // What is unread once the client has ended is counted by those who
            // close the ledger.
            self.go_on().await;
            if !self.transport.seems_empty() && self.read_once(limit)? {
                return Ok(());
            }
            self.transport.readable().await;
        }
    }

    /// Waits until bytes can be read, and reads none.
    pub(crate) async fn arriving(&mut self) -> Result<(), Stop> {
        while self.transport.unread() == 0 {
            if let Some(how) = self.transport.ending() {
                self.peer_has_ended(how);
                return Err(Stop::Gone);
            }
            self.transport.readable().await;
        }
        Ok(())
    }

    /// Bytes read so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Waits for the first byte of the next request and begins its exchange.
    pub(crate) async fn next_request(&mut self, scripted: bool) -> Result<(), Stop> {
        self.release();
        self.exchange = None;
        loop {
            if let Some(arrived) = self.pending.next_request() {
                self.begin(arrived, scripted);
                return Ok(());
            }
            self.read_more(usize::MAX).await?;
        }
    }

    /// Reads until the current request has reached the point.
    pub(crate) async fn read_until(&mut self, point: RequestPoint) -> Result<(), Stop> {
        loop {
            let Some(exchange) = &self.exchange else {
                return Ok(());
            };
            if exchange.malformed {
                return Err(Stop::Malformed);
            }
            if exchange.request.reached(point) {
                self.has_reached(point);
                return Ok(());
            }
            let limit = exchange.request.bytes_to(point);
            if self.pending.is_empty() {
                self.read_more(limit).await?;
            }
            self.absorb();
        }
    }

    /// A point was reached; one that was missed puts in doubt what follows.
    pub(crate) fn has_reached(&mut self, point: RequestPoint) {
        let exchange = self.exchange.as_ref();
        if let Some(reason) = exchange.and_then(|exchange| exchange.request.missed(point)) {
            self.doubt(reason);
        }
    }

    /// From here on nothing is proved in the current exchange, for this reason.
    pub(crate) fn doubt(&mut self, reason: &'static str) {
        self.doubt.get_or_insert(reason);
    }

    /// Leaves a proof of what happened or began at a time, if the client still
    /// lived then; where the facts are in doubt, it tells of that instead.
    pub(crate) fn fired(
        &self,
        exchange: Option<u32>,
        proof: Option<Proof>,
        fact: &str,
        since: Duration,
    ) {
        self.trust_or_break();
        let Some(Proof { lane, words }) = proof else {
            return;
        };
        if !self.life.lived_at(since) || self.transport.doubt().is_some() {
            return;
        }
        let since_us = micros(since);
        let what = match (self.doubt, words, fact) {
            (Some(reason), ..) => What::Unproven {
                lane,
                reason: reason.to_owned(),
                since_us,
            },
            (None, words, fact) => What::Fired {
                lane,
                proof: in_words(words, fact),
                since_us,
            },
        };
        self.tell_of(exchange, what);
    }

    /// What rests on a fact that could not be known breaks the record.
    fn trust_or_break(&self) {
        if let Some(reason) = self.transport.doubt() {
            self.server.cell.set_broken(reason.to_owned());
        }
    }

    /// Accounts for bytes that the kernel took.
    pub(crate) fn has_sent(&mut self, bytes: usize, handed: Duration, is_interim: bool) {
        self.sent += bytes as u64;
        self.handed_at = handed;
        if let Some(exchange) = &mut self.exchange {
            exchange.sent += bytes as u64;
            exchange.interim += if is_interim { bytes as u64 } else { 0 };
            exchange.handed = handed;
        }
    }

    /// Tells, once, that the peer has ended its direction.
    pub(crate) fn peer_has_ended(&mut self, how: Ending) {
        if !self.peer_ended {
            self.peer_ended = true;
            self.look_what_is_taken();
            let arrived = match how {
                Ending::Fin => self.fin_arrived(),
                Ending::Reset => None,
            };
            self.tell(What::PeerEnded {
                how,
                arrived_us: arrived.map(micros),
                alive_us: micros(self.alive_at.max(self.heard_at).max(self.handed_at)),
            });
        }
    }

    /// When the peer's FIN arrived at the earliest. It is the last that the
    /// peer's kernel has acknowledged, unless something was written since.
    fn fin_arrived(&self) -> Option<Duration> {
        let now = self.now();
        let ago = self.transport.since_acknowledgement()?;
        let early = self.server.cell.clock.shortly_before(now, ago);
        let is_last = self.handed_at < early && self.transport.peer() == Peer::Gone;
        (is_last && !self.draining).then(|| early.max(self.heard_at))
    }
}

/// A proof: what the maker of the program says, and what was seen.
fn in_words(words: &str, fact: &str) -> String {
    match (words, fact) {
        ("", fact) => fact.to_owned(),
        (words, "") => words.to_owned(),
        (words, fact) => format!("{words}: {fact}"),
    }
}

/// A time as events tell it.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
