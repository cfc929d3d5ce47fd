//! Servers as a whole: armed before any client, served on a thread of their own,
//! and closed so that nothing that arrived is left uncounted.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::mpsc::UnboundedSender;

use crate::cell::{self, Command, Open};
use crate::clock::Clock;
use crate::event::{ServerEvent, What};
use crate::kernel;
use crate::record::Record;
use crate::script::{Listen, ServerScript};
use crate::state::{Cell, Server};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;
/// Bytes of receive buffer asked for. A fixed size keeps the kernel from growing
/// it, so that little of a large request that is not read is pulled in.
const RECEIVE_BUFFER: usize = 64 * 1024;
const PROBE: Duration = Duration::from_secs(1);
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
    socket: Socket,
    address: SocketAddr,
}

impl Armed {
    /// Takes a port of the loopback address for each server. One that refuses is
    /// bound and not listened to, so that the port stays reserved; that it does
    /// refuse is probed.
    pub fn arm<N: AsRef<str>>(
        servers: &[(N, Listen)],
        clock: Arc<dyn Clock>,
        record: Arc<dyn Record>,
    ) -> Result<Self, ServerError> {
        let mut names = BTreeSet::new();
        let mut armed = Vec::with_capacity(servers.len());
        for (name, listen) in servers {
            let name = name.as_ref();
            if !names.insert(name) {
                return Err(ServerError::SameName(name.to_owned()));
            }
            let server = ArmedServer::arm(name, *listen).map_err(|source| ServerError::Arm {
                name: name.to_owned(),
                source,
            })?;
            server.tell(
                &*record,
                What::Armed {
                    address: server.address,
                    listen: *listen,
                },
            );
            server.probe(&*record, false);
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
        let of = |server: &ArmedServer| (server.name.clone(), server.address);
        self.servers.iter().map(of).collect()
    }

    /// Begins to serve, on a thread of the cell's own. A server without a script
    /// expects no request.
    pub fn serve(self, scripts: Vec<ServerScript>) -> Result<Running, ServerError> {
        let cell = Arc::new(Cell::new(self.clock, self.record));
        let mut scripts = by_name(&self.servers, scripts)?;
        let (mut open, mut refusing) = (Vec::new(), Vec::new());
        for server in self.servers {
            if server.listen == Listen::Refuse {
                refusing.push(server);
                continue;
            }
            let script = scripts.remove(&server.name);
            let script = script.unwrap_or_else(|| ServerScript::new(&server.name));
            open.push(Open {
                server: Arc::new(Server::new(cell.clone(), script)),
                listener: server.socket.into(),
                address: server.address,
            });
        }
        let (commands, thread) = cell::start(cell.clone(), open).map_err(ServerError::Start)?;
        Ok(Running {
            cell,
            refusing,
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

impl ArmedServer {
    fn arm(name: &str, listen: Listen) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
        let address = socket
            .local_addr()?
            .as_socket()
            .ok_or(io::ErrorKind::AddrNotAvailable)?;
        if listen == Listen::Open {
            // Accepted sockets inherit all of these.
            socket.set_nonblocking(true)?;
            socket.set_tcp_nodelay(true)?;
            socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
            if let Err(error) = kernel::stamp_arrivals(socket.as_fd()) {
                tracing::debug!(%error, "arrival times will be as coarse as the kernel's timer");
            }
            socket.listen(BACKLOG)?;
        }
        Ok(Self {
            name: name.to_owned(),
            listen,
            socket,
            address,
        })
    }

    fn tell(&self, record: &dyn Record, what: What) {
        record.record(ServerEvent {
            server: self.name.as_str().into(),
            connection: None,
            exchange: None,
            what,
        });
    }

    /// Tries to connect to a port that must refuse.
    fn probe(&self, record: &dyn Record, after: bool) {
        if self.listen == Listen::Refuse {
            let attempt = TcpStream::connect_timeout(&self.address, PROBE);
            let refused =
                attempt.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            self.tell(record, What::Probed { refused, after });
        }
    }
}

/// Servers that serve. Dropped, they stop without closing their ledger.
pub struct Running {
    cell: Arc<Cell>,
    refusing: Vec<ArmedServer>,
    commands: UnboundedSender<Command>,
    thread: Option<JoinHandle<()>>,
    is_over: AtomicBool,
    is_stuck: AtomicBool,
}

impl Running {
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
    /// own times (`arrived_us`, `since_us`) show that it came later. Returns
    /// when nothing more can come, within a few seconds at most.
    pub fn client_ended_at(&self, at: Duration) {
        if self.is_over.swap(true, Ordering::AcqRel) {
            return;
        }
        self.cell.set_over(at);
        let (reply, done) = mpsc::sync_channel(1);
        let told = self.commands.send(Command::ClientEnded(reply));
        if told.is_err() || done.recv_timeout(PATIENCE).is_err() {
            self.is_stuck.store(true, Ordering::Release);
        }
    }

    /// Closes the ledger, if [`Running::client_ended`] has not, probes the ports
    /// that must refuse once more, and ends the servers' thread.
    pub fn close(mut self) -> Result<(), ServerError> {
        self.client_ended();
        for server in &self.refusing {
            server.probe(&*self.cell.record, true);
        }
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
