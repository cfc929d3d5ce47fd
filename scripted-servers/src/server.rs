//! Servers as a whole: armed before any client, served on a thread of their own,
//! and closed so that nothing that arrived is left uncounted.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::cell::{self, Attended, Command};
use crate::clock::Clock;
use crate::event::{ServerEvent, What};
use crate::port::Port;
use crate::record::Record;
use crate::script::{Listen, PortState, ServerScript};
use crate::state::{Cell, Server};

/// Ports that are tried until one is free at every address that shall have it.
const TRIES: usize = 100;
/// The servers' thread answers well within this, as draining is bounded.
const PATIENCE: Duration = Duration::from_secs(20);

/// What can go wrong with servers that is not the client's doing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// No port could be had.
    #[error("server {name:?} could not be armed")]
    Arm {
        /// Which.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// This machine does not have the address, as one without IPv6.
    #[error("server {name:?} cannot have the address {address}, which this machine lacks")]
    NoAddress {
        /// Which.
        name: String,
        /// The address.
        address: IpAddr,
    },
    /// A port can not go through these states.
    #[error("the port of {0:?} cannot go through these states")]
    Phases(String),
    /// A server shall have the port of one that is not there, or that itself
    /// shall have the port of another.
    #[error("{0:?} cannot have the port of that server")]
    PortOf(String),
    /// Two servers have one name.
    #[error("two servers are named {0:?}")]
    SameName(String),
    /// A script that does not belong to an armed server.
    #[error("the script of {0:?} does not belong to a server that was armed so")]
    NotArmed(String),
    /// The servers' thread could not be started.
    #[error("the servers' thread could not be started")]
    Start(#[source] io::Error),
    /// The servers' thread does not answer.
    #[error("the servers did not close their ledger within {} s", PATIENCE.as_secs())]
    Stuck,
    /// Something of ours went wrong, such as a connection that could not be
    /// accepted; the counts can not be trusted.
    #[error("what the servers counted can not be trusted: {0}")]
    Broken(String),
}

/// Where a server shall be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The server's name.
    pub name: String,
    /// Whether its port can be reached, and when.
    pub listen: Listen,
    /// A loopback address.
    pub address: IpAddr,
    /// The server whose port number it shall have, at another address.
    pub port_of: Option<String>,
}

impl Place {
    /// A port of its own at 127.0.0.1.
    pub fn new(name: impl Into<String>, listen: Listen) -> Self {
        Self {
            name: name.into(),
            listen,
            address: Ipv4Addr::LOCALHOST.into(),
            port_of: None,
        }
    }
}

/// Servers whose ports are as the scripts want them, before any client is
/// started. Connections wait in their accept queues.
pub struct Armed {
    servers: Vec<ArmedServer>,
    clock: Arc<dyn Clock>,
    record: Arc<dyn Record>,
}

struct ArmedServer {
    name: String,
    listen: Listen,
    port: Port,
}

impl Armed {
    /// Takes a port of 127.0.0.1 for each server.
    pub fn arm<N: AsRef<str>>(
        servers: &[(N, Listen)],
        clock: Arc<dyn Clock>,
        record: Arc<dyn Record>,
    ) -> Result<Self, ServerError> {
        let places = servers.iter();
        let places = places.map(|(name, listen)| Place::new(name.as_ref(), listen.clone()));
        Self::arm_at(&places.collect::<Vec<_>>(), clock, record)
    }

    /// Takes a port for each server. One that refuses is bound and not listened
    /// to, so that the port stays reserved; that it does refuse, or drop, is
    /// probed.
    pub fn arm_at(
        places: &[Place],
        clock: Arc<dyn Clock>,
        record: Arc<dyn Record>,
    ) -> Result<Self, ServerError> {
        let mut names = BTreeSet::new();
        for place in places {
            if !names.insert(&place.name) {
                return Err(ServerError::SameName(place.name.clone()));
            }
            if !place.listen.is_possible() {
                return Err(ServerError::Phases(place.name.clone()));
            }
        }
        let mut ports = take_ports(places)?;
        let mut armed = Vec::with_capacity(places.len());
        for place in places {
            let port = ports.remove(&place.name);
            let port = port.ok_or_else(|| ServerError::PortOf(place.name.clone()))?;
            let server = ArmedServer {
                name: place.name.clone(),
                listen: place.listen.clone(),
                port,
            };
            let server = server.arm(&*record).map_err(|source| ServerError::Arm {
                name: place.name.clone(),
                source,
            })?;
            armed.push(server);
        }
        Ok(Self {
            servers: armed,
            clock,
            record,
        })
    }

    /// Where each server is, by name.
    pub fn addresses(&self) -> BTreeMap<String, SocketAddr> {
        let of = |server: &ArmedServer| (server.name.clone(), server.port.address());
        self.servers.iter().map(of).collect()
    }

    /// Begins to serve, on a thread of the cell's own. A server without a script
    /// expects no request.
    pub fn serve(self, scripts: Vec<ServerScript>) -> Result<Running, ServerError> {
        let cell = Arc::new(Cell::new(self.clock, self.record));
        let mut scripts = by_name(&self.servers, scripts)?;
        let mut attended = Vec::with_capacity(self.servers.len());
        for server in self.servers {
            let script = scripts.remove(&server.name);
            let script = script.unwrap_or_else(|| ServerScript {
                listen: server.listen.clone(),
                ..ServerScript::new(&server.name)
            });
            attended.push(Attended {
                phases: server.listen.phases(),
                server: Arc::new(Server::new(cell.clone(), script)),
                port: server.port,
            });
        }
        let (commands, thread) = cell::start(cell.clone(), attended).map_err(ServerError::Start)?;
        Ok(Running {
            cell,
            commands,
            thread: Some(thread),
            is_over: AtomicBool::new(false),
            is_stuck: AtomicBool::new(false),
        })
    }
}

fn by_name(
    servers: &[ArmedServer],
    scripts: Vec<ServerScript>,
) -> Result<BTreeMap<String, ServerScript>, ServerError> {
    let mut named = BTreeMap::new();
    for script in scripts {
        let name = script.name.clone();
        let is_armed = |server: &ArmedServer| server.name == name && server.listen == script.listen;
        if !servers.iter().any(is_armed) {
            return Err(ServerError::NotArmed(name));
        }
        if named.insert(name.clone(), script).is_some() {
            return Err(ServerError::SameName(name));
        }
    }
    Ok(named)
}

/// Binds all ports, by the names of their servers. Those that shall have one
/// number are bound together, so that it is free at each of their addresses.
fn take_ports(places: &[Place]) -> Result<BTreeMap<String, Port>, ServerError> {
    let mut taken = BTreeMap::new();
    for first in places.iter().filter(|place| place.port_of.is_none()) {
        let with = |place: &&Place| place.port_of.as_ref() == Some(&first.name);
        let group: Vec<&Place> = places.iter().filter(with).collect();
        taken.extend(take_number(first, &group)?);
    }
    Ok(taken)
}

fn take_number(first: &Place, group: &[&Place]) -> Result<Vec<(String, Port)>, ServerError> {
    let mut tries = 0;
    'number: loop {
        tries += 1;
        let mut taken = vec![bind(first, 0)?];
        let number = taken[0].1.address().port();
        for place in group {
            match bind(place, number) {
                Ok(port) => taken.push(port),
                Err(ServerError::Arm { source, .. })
                    if source.kind() == io::ErrorKind::AddrInUse && tries < TRIES =>
                {
                    continue 'number;
                }
                Err(error) => return Err(error),
            }
        }
        return Ok(taken);
    }
}

fn bind(place: &Place, number: u16) -> Result<(String, Port), ServerError> {
    let name = place.name.clone();
    match Port::bind((place.address, number).into()) {
        Ok(port) => Ok((name, port)),
        Err(error) if is_lacking(&error) => Err(ServerError::NoAddress {
            name,
            address: place.address,
        }),
        Err(source) => Err(ServerError::Arm { name, source }),
    }
}

/// Whether the machine lacks the address, or its whole family.
fn is_lacking(error: &io::Error) -> bool {
    const LACKING: [i32; 2] = [libc::EADDRNOTAVAIL, libc::EAFNOSUPPORT];
    error
        .raw_os_error()
        .is_some_and(|code| LACKING.contains(&code))
}

impl ArmedServer {
    /// Brings the port into its first state, and probes it.
    fn arm(mut self, record: &dyn Record) -> io::Result<Self> {
        let first = self.listen.first();
        self.port.enter(first)?;
        self.tell(
            record,
            What::Armed {
                address: self.port.address(),
                listen: self.listen.clone(),
            },
        );
        match first {
            PortState::Open => {}
            PortState::Refuse => {
                let refused = self.port.refuses();
                let after = false;
                self.tell(record, What::Probed { refused, after });
            }
            PortState::Drop => {
                let dropped = self.port.drops()?;
                self.tell(record, What::ProbedDrop { dropped });
            }
        }
        Ok(self)
    }

    fn tell(&self, record: &dyn Record, what: What) {
        record.record(ServerEvent {
            server: self.name.as_str().into(),
            connection: None,
            exchange: None,
            what,
        });
    }
}

/// Servers that serve. Dropped, they stop without closing their ledger.
pub struct Running {
    cell: Arc<Cell>,
    commands: UnboundedSender<Command>,
    thread: Option<JoinHandle<()>>,
    is_over: AtomicBool,
    is_stuck: AtomicBool,
}

impl Running {
    /// To be called when the client is handed its work, with the time of that:
    /// the phases of ports begin. Only the first call counts; without one every
    /// port stays in its first state.
    pub fn work_handed_over_at(&self, at: Duration) {
        self.cell.set_handed_over(at);
    }

    /// To be called before the client is killed because of what the servers
    /// have counted. A wait that its end then cuts off did not happen as
    /// scripted, and does not count as fired.
    pub fn stopping(&self) {
        self.cell.set_stopping();
    }

    /// As [`Running::client_ended_at`], for a client that has ended just now.
    pub fn client_ended(&self) {
        self.client_ended_at(self.cell.clock.now());
    }

    /// To be called as soon as the client's process is gone, with the time at
    /// which it ended. Scripts stop. What had arrived by that time is counted
    /// as delivered, read or not, accept queues included; it takes its step, and
    /// the effects that wait for nothing but its arrival are told. What arrived
    /// later is flagged as drained and takes no step, and nothing that happens
    /// later is told as an effect or as fired. So the counts say what was true
    /// when the client ended, whoever got a turn first.
    ///
    /// What was told between that time and this call stays as it is told; its
    /// own times (`arrived_us`, `since_us`) show that it came later. What was
    /// dropped is told, and ports that must refuse are probed again. Returns
    /// when nothing more can come, within a few seconds at most.
    pub fn client_ended_at(&self, at: Duration) {
        if self.is_over.swap(true, Ordering::AcqRel) {
            return;
        }
        self.cell.set_over(at);
        self.order(Command::ClientEnded);
    }

    /// Tells the servers' thread, and waits until it has done so.
    fn order(&self, command: impl FnOnce(mpsc::SyncSender<()>) -> Command) {
        let (reply, done) = mpsc::sync_channel(1);
        let told = self.commands.send(command(reply));
        if told.is_err() || done.recv_timeout(PATIENCE).is_err() {
            self.is_stuck.store(true, Ordering::Release);
        }
    }

    /// To be called as soon as the client's process is gone, where another one is going
    /// to take its place, with the time at which it ended. As
    /// [`Running::client_ended_at`] for all connections that there are; but scripts,
    /// models and ports stay as they are, effects that take time go on, and whoever
    /// connects from now on is served. Returns when nothing more can come from the
    /// process that is gone.
    pub fn client_crashed_at(&self, at: Duration) {
        self.cell.life().end(at);
        self.order(Command::ClientCrashed);
    }

    /// Closes the ledger, if [`Running::client_ended`] has not, and ends the
    /// servers' thread.
    pub fn close(mut self) -> Result<(), ServerError> {
        self.client_ended();
        let ended = self.stop();
        if let Some(reason) = self.cell.broken() {
            return Err(ServerError::Broken(reason.to_owned()));
        }
        if ended.is_err() {
            let reason = "the servers' thread panicked".to_owned();
            return Err(ServerError::Broken(reason));
        }
        if self.is_stuck.load(Ordering::Acquire) {
            return Err(ServerError::Stuck);
        }
        self.cell.record.flush();
        Ok(())
    }

    /// Ends the thread, unless it does not answer any more.
    fn stop(&mut self) -> std::thread::Result<()> {
        let _ = self.commands.send(Command::Stop);
        match self.thread.take() {
            Some(thread) if !self.is_stuck.load(Ordering::Acquire) || thread.is_finished() => {
                thread.join()
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.cell.set_over(self.cell.clock.now());
        let _ = self.stop();
    }
}
