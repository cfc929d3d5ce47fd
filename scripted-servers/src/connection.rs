//! One connection: reads it, keeps its exchanges, and tells what arrived.
//!
//! All state of a connection lives here and is whole at every await, so that a
//! script can be dropped at any of them and what is left still be counted. What
//! is done with a request is decided by `interpreter` and `serve`.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::event::{Ending, Lane, StepId, What};
use crate::pending::Pending;
use crate::request::{Malformed, Milestone, Request};
use crate::state::Server;
use crate::transport::Transport;
use crate::wire::RequestPoint;

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

/// One request on a connection and what is done with it.
pub(crate) struct Exchange {
    pub(crate) number: u32,
    pub(crate) request: Request,
    /// Whether a script answers it; else it is only counted.
    pub(crate) scripted: bool,
    /// When its first byte arrived.
    pub(crate) began: Duration,
    pub(crate) queue: Option<usize>,
    pub(crate) step: Option<StepId>,
    pub(crate) malformed: bool,
    pub(crate) ends_connection: bool,
    pub(crate) is_head: bool,
    /// Bytes of the answer that the kernel took.
    pub(crate) sent: u64,
    /// Just before the last of them were handed over.
    pub(crate) handed: Duration,
    pub(crate) answered: bool,
}

/// The proof to leave once a fault is a fact.
#[derive(Clone, Copy)]
pub(crate) struct Proof {
    /// Whose fault it is.
    pub(crate) lane: Lane,
    /// What the maker of the program says of it.
    pub(crate) words: &'static str,
}

/// Something that takes time and proves a fault. If it is cut off, what it
/// would have proved is decided by what is known then.
#[derive(Clone, Copy)]
pub(crate) struct Underway {
    pub(crate) exchange: Option<u32>,
    pub(crate) proof: Proof,
    pub(crate) part: Part,
}

/// What takes time.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// Doing this; it counts as fired from its beginning.
    Doing(&'static str),
    /// Waiting for an acknowledgement; it counts if that has come. The words say
    /// of what.
    Acknowledgement(&'static str),
}

/// One connection of a server.
pub(crate) struct Connection<T> {
    pub(crate) transport: T,
    pub(crate) server: Arc<Server>,
    pub(crate) number: u32,
    pub(crate) exchange: Option<Exchange>,
    pub(crate) pending: Pending,
    pub(crate) underway: Option<Underway>,
    exchanges: u32,
    received: u64,
    sent: u64,
    /// When the socket was last seen without unread bytes.
    empty_at: Duration,
    /// The last wait for bytes was really waited.
    waited: bool,
    peer_ended: bool,
    closed: bool,
    /// Bytes read from here on come out of a dead client's kernel.
    draining: bool,
}

impl<T: Transport> Connection<T> {
    pub(crate) fn new(transport: T, server: Arc<Server>, number: u32) -> Self {
        Self {
            transport,
            server,
            number,
            exchange: None,
            pending: Pending::default(),
            underway: None,
            exchanges: 0,
            received: 0,
            sent: 0,
            empty_at: Duration::ZERO,
            waited: false,
            peer_ended: false,
            closed: false,
            draining: false,
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
        let outcome = SCRATCH.with_borrow_mut(|scratch| {
            let limit = limit.min(scratch.len());
            let (read, age) = self.transport.try_read(&mut scratch[..limit])?;
            let arrived = called.saturating_sub(age).max(self.empty_at);
            if read < limit {
                self.empty_at = called;
            }
            self.received += read as u64;
            self.pending.push(&scratch[..read], arrived);
            Ok::<usize, io::Error>(read)
        });
        match outcome {
            Ok(0) => {
                self.peer_has_ended(Ending::Fin, self.waited.then_some(called));
                Err(Stop::Gone)
            }
            Ok(_) => {
                self.waited = false;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.empty_at = called;
                Ok(false)
            }
            Err(_) => {
                self.peer_has_ended(Ending::Reset, self.waited.then_some(called));
                Err(Stop::Gone)
            }
        }
    }

    /// Waits for bytes and reads them once.
    async fn read_more(&mut self, limit: usize) -> Result<(), Stop> {
        loop {
            if self.server.cell.is_over() {
                // What is unread now is counted by those who close the ledger.
                std::future::pending::<()>().await;
            }
            if !self.transport.seems_empty() && self.read_once(limit)? {
                return Ok(());
            }
            self.transport.readable().await;
            self.waited = true;
        }
    }

    /// Waits until bytes can be read, and reads none.
    pub(crate) async fn arriving(&mut self) -> Result<(), Stop> {
        while self.transport.unread() == 0 {
            if let Some(how) = self.transport.ending() {
                self.peer_has_ended(how, self.waited.then(|| self.now()));
                return Err(Stop::Gone);
            }
            self.transport.readable().await;
            self.waited = true;
        }
        Ok(())
    }

    /// A wait for bytes was really waited, so that what it brings came just now.
    pub(crate) fn was_waiting(&mut self) {
        self.waited = true;
    }

    /// Bytes read so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Waits for the first byte of the next request and begins its exchange.
    pub(crate) async fn next_request(&mut self, scripted: bool) -> Result<(), Stop> {
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
                return Ok(());
            }
            let limit = exchange.request.bytes_to(point);
            if self.pending.is_empty() {
                self.read_more(limit).await?;
            }
            self.absorb();
        }
    }

    fn begin(&mut self, arrived: Duration, scripted: bool) {
        self.exchanges += 1;
        let reused = self.exchanges > 1;
        self.server.begun(arrived);
        self.exchange = Some(Exchange {
            number: self.exchanges,
            request: Request::default(),
            scripted,
            began: arrived,
            queue: None,
            step: None,
            malformed: false,
            ends_connection: false,
            is_head: false,
            sent: 0,
            handed: arrived,
            answered: false,
        });
        self.tell(What::Started {
            arrived_us: micros(arrived),
            reused,
        });
        if scripted && let Some(step) = self.server.take_inside_head(reused, arrived) {
            self.took(step);
        }
    }

    fn took(&mut self, step: StepId) {
        if let Some(exchange) = &mut self.exchange {
            exchange.step = Some(step);
            self.tell(What::Taken { step });
        }
    }

    /// Feeds the current request from what is pending, up to its next milestone.
    pub(crate) fn absorb(&mut self) {
        while let Some(exchange) = &mut self.exchange
            && !exchange.malformed
            && !exchange.request.is_complete()
            && let Some((bytes, arrived)) = self.pending.front()
        {
            match exchange.request.feed(bytes) {
                Ok((used, milestone)) => {
                    self.pending.consume(used);
                    match milestone {
                        Milestone::None => continue,
                        Milestone::Head => self.has_head(arrived),
                        Milestone::Complete => self.has_arrived(arrived),
                    }
                    return;
                }
                Err(Malformed(reason)) => {
                    exchange.malformed = true;
                    self.tell(What::Malformed { reason });
                }
            }
        }
    }

    /// Feeds the current request all that is pending, as far as it goes.
    pub(crate) fn absorb_all(&mut self) {
        while !self.pending.is_empty()
            && let Some(exchange) = &self.exchange
            && !exchange.malformed
            && !exchange.request.is_complete()
        {
            self.absorb();
        }
    }

    fn has_head(&mut self, arrived: Duration) {
        let server = self.server.clone();
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        let Some(head) = exchange.request.head() else {
            return;
        };
        exchange.queue = server.route(&head.method, &head.target);
        exchange.ends_connection = head.ends_connection();
        exchange.is_head = head.method == "HEAD";
        if server.keeps_content() {
            exchange.request.keep_content();
        }
        let step = match exchange.queue {
            Some(queue) if exchange.awaits_step() && !server.chooses_by_content(queue) => {
                exchange.choose(&server, queue)
            }
            _ => None,
        };
        let head = if server.keeps_heads() {
            exchange.request.head().cloned()
        } else {
            exchange.request.take_head()
        };
        let (head, queue) = (head.unwrap_or_default(), exchange.queue);
        self.tell(What::Head {
            arrived_us: micros(arrived),
            method: head.method,
            target: head.target,
            headers: head.headers,
            queue,
        });
        if let Some(step) = step {
            self.took(step);
        }
        self.has_arrived(arrived);
    }

    /// Tells the delivery of a request that has just become complete.
    fn has_arrived(&mut self, arrived: Duration) {
        let server = self.server.clone();
        let Some(exchange) = &mut self.exchange else {
            return;
        };
        if !exchange.request.is_complete() {
            return;
        }
        let step = match exchange.queue {
            Some(queue) if exchange.awaits_step() => exchange.choose(&server, queue),
            _ => None,
        };
        let delivered = What::Delivered {
            arrived_us: micros(arrived),
            body_bytes: exchange.request.content_bytes(),
            body_sha256: exchange.request.take_digest(),
            drained: self.draining,
        };
        if let Some(step) = step {
            self.took(step);
        }
        self.tell(delivered);
    }

    /// Reads exactly what has arrived by now and counts it: the rest of the
    /// current request, and requests behind it, which no script answers.
    pub(crate) fn count_arrived(&mut self) {
        let mut left = self.transport.unread();
        while left > 0 {
            let limit = usize::try_from(left).unwrap_or(usize::MAX);
            let before = self.received;
            if !self.read_once(limit).unwrap_or(false) {
                break;
            }
            left = left.saturating_sub(self.received - before);
            self.count_pending();
        }
        self.count_pending();
    }

    /// Counts what was read.
    pub(crate) fn count_pending(&mut self) {
        loop {
            let exchange = self.exchange.as_ref();
            if exchange.is_some_and(|exchange| exchange.malformed) {
                self.pending.clear();
                return;
            }
            if exchange.is_none_or(|exchange| exchange.request.is_complete()) {
                let Some(arrived) = self.pending.next_request() else {
                    return;
                };
                self.begin(arrived, false);
            }
            if self.pending.is_empty() {
                return;
            }
            self.absorb();
        }
    }

    /// Accounts for bytes that the kernel took.
    pub(crate) fn has_sent(&mut self, bytes: usize, handed: Duration) {
        self.sent += bytes as u64;
        if let Some(exchange) = &mut self.exchange {
            exchange.sent += bytes as u64;
            exchange.handed = handed;
        }
    }

    /// Tells, once, that the peer has ended its direction.
    pub(crate) fn peer_has_ended(&mut self, how: Ending, arrived: Option<Duration>) {
        if !self.peer_ended {
            self.peer_ended = true;
            self.tell(What::PeerEnded {
                how,
                arrived_us: arrived.filter(|_| !self.draining).map(micros),
            });
        }
    }

    /// From here on everything read is drained out of a dead client's kernel.
    pub(crate) fn set_draining(&mut self) {
        self.draining = true;
    }

    /// Counts what is left, gives the socket up, and tells that nothing more
    /// can come.
    pub(crate) fn close(&mut self) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.count_arrived();
        if let Some(how) = self.transport.ending() {
            self.peer_has_ended(how, None);
        }
        self.transport.close();
        self.tell_of(
            None,
            What::Closed {
                received: self.received,
                sent: self.sent,
            },
        );
    }
}

impl Exchange {
    fn awaits_step(&self) -> bool {
        self.scripted && self.step.is_none()
    }

    fn choose(&self, server: &Server, queue: usize) -> Option<StepId> {
        server.take_step(queue, &self.request, self.number > 1, self.began)
    }
}

/// A time as events tell it.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
