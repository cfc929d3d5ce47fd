//! The thread on which a cell's servers run: accepts, gives each connection a
//! task, and at the end sees to it that all of them are drained.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread::JoinHandle;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;

use crate::accept::{Accepted, Listener};
use crate::connection::{Connection, drain, read_out};
use crate::event::What;
use crate::phases::Course;
use crate::port::Port;
use crate::script::{ConnectionAct, Phase};
use crate::serve::live;
use crate::state::{Cell, Server};
use crate::tcp::Tcp;

/// What the thread is told.
pub(crate) enum Command {
    /// The client is gone: drain everything, then reply.
    ClientEnded(SyncSender<()>),
    /// The client is gone, and comes again: drain everything, then reply and go on.
    ClientCrashed(SyncSender<()>),
    /// End.
    Stop,
}

/// A server with its port, and the states that the port goes through.
pub(crate) struct Attended {
    pub(crate) server: Arc<Server>,
    pub(crate) port: Port,
    pub(crate) phases: Vec<Phase>,
}

/// Starts the thread.
pub(crate) fn start(
    cell: Arc<Cell>,
    attended: Vec<Attended>,
) -> io::Result<(UnboundedSender<Command>, JoinHandle<()>)> {
    let record = cell.record.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || record.flush())
        .build()?;
    let (sender, commands) = mpsc::unbounded_channel();
    // A thread that has not had its first turn takes no part yet.
    let starting = cell.clock.busy();
    let thread = std::thread::Builder::new()
        .name("scripted-servers".into())
        .spawn(move || {
            let _part = cell.clock.take_part();
            drop(starting);
            runtime.block_on(run(cell, attended, commands));
        })?;
    Ok((sender, thread))
}

async fn run(cell: Arc<Cell>, attended: Vec<Attended>, mut commands: UnboundedReceiver<Command>) {
    let mut ports = Vec::with_capacity(attended.len());
    for attended in attended {
        let (port, lives) = mpsc::unbounded_channel();
        ports.push(port);
        tokio::spawn(attend(attended, lives));
    }
    let mut life = Life::begin(&cell, &ports);
    while let Some(command) = commands.recv().await {
        let reply = match command {
            Command::ClientEnded(reply) => {
                life.end(Over::ForGood).await;
                cell.settle_works();
                reply
            }
            Command::ClientCrashed(reply) => {
                life.end(Over::ForNow).await;
                cell.begin_life();
                life = Life::begin(&cell, &ports);
                reply
            }
            Command::Stop => return,
        };
        let _ = reply.send(());
    }
}

/// Whether a life of the client is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    /// It goes on.
    No,
    /// It is, and another one follows.
    ForNow,
    /// It was the last.
    ForGood,
}

/// The tasks of one life of the client.
struct Life {
    over: watch::Sender<Over>,
    /// Every task holds a sender; when all are gone, all tasks have ended.
    ended: mpsc::Receiver<()>,
}

impl Life {
    /// Gives each port its task.
    fn begin(cell: &Arc<Cell>, ports: &[UnboundedSender<Task>]) -> Self {
        let (over, is_over) = watch::channel(Over::No);
        let (alive, ended) = mpsc::channel(1);
        let task = Task {
            cell: cell.clone(),
            is_over,
            _alive: alive,
        };
        for port in ports {
            // A port that is gone has broken the record, or never opens.
            let _ = port.send(task.clone());
        }
        Self { over, ended }
    }

    /// Has all its tasks end, and waits for that.
    async fn end(&mut self, how: Over) {
        self.over.send_replace(how);
        let _ = self.ended.recv().await;
    }
}

/// What every task of the cell holds while it lives.
#[derive(Clone)]
struct Task {
    cell: Arc<Cell>,
    is_over: watch::Receiver<Over>,
    _alive: mpsc::Sender<()>,
}

impl Task {
    async fn over(&mut self) -> Over {
        // The sender outlives all tasks; if it did not, the cell would be over.
        let over = self.is_over.wait_for(|over| *over != Over::No).await;
        over.map_or(Over::ForGood, |over| *over)
    }

    /// Its part in the life that is over is done: the one in the next life.
    async fn again(self, lives: &mut UnboundedReceiver<Self>) -> Option<Self> {
        drop(self);
        lives.recv().await
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.cell
                .set_broken("a part of the servers panicked".to_owned());
        }
    }
}

/// Leads a port through its states, and accepts once it is open.
async fn attend(attended: Attended, mut lives: UnboundedReceiver<Task>) {
    let Attended {
        server,
        port,
        phases,
    } = attended;
    let mut course = Course::new(server.clone(), port, phases);
    let Some(mut task) = lives.recv().await else {
        return;
    };
    let is_through = {
        let run = course.run();
        tokio::pin!(run);
        loop {
            tokio::select! {
                biased;
                over = task.over() => {
                    if over == Over::ForGood {
                        break false;
                    }
                    // It goes on, whoever comes.
                    let Some(next) = task.again(&mut lives).await else {
                        return;
                    };
                    task = next;
                }
                () = &mut run => break true,
            }
        }
    };
    if !is_through {
        course.prove();
    }
    if !course.is_open() {
        return;
    }
    if let Some((listener, address)) = course.into_listener() {
        accept(server, listener, address, (task, lives)).await;
    }
}

async fn accept(
    server: Arc<Server>,
    listener: TcpListener,
    address: SocketAddr,
    (mut task, mut lives): (Task, UnboundedReceiver<Task>),
) {
    let cell = task.cell.clone();
    let mut listener = Listener::new(listener, server.name.clone(), cell);
    while let Some(open) = listener {
        let over = loop {
            tokio::select! {
                biased;
                over = task.over() => break over,
                accepted = open.next() => serve(&server, accepted, address, &task),
            }
        };
        // What still waits to be accepted came while the client lived.
        let Some(waiting) = open.into_waiting() else {
            return;
        };
        while let Some(accepted) = waiting.next().await {
            serve(&server, accepted, address, &task);
        }
        if over == Over::ForGood {
            return;
        }
        listener = waiting.into_listener();
        let Some(next) = task.again(&mut lives).await else {
            return;
        };
        task = next;
    }
}

fn serve(server: &Arc<Server>, (stream, peer): Accepted, own: SocketAddr, task: &Task) {
    let (number, entry, act) = server.accepted();
    server.tell(Some(number), None, What::Accepted { peer, act });
    let transport = Tcp::new(
        stream,
        own,
        peer,
        server.cell.peers.clone(),
        &*server.cell.clock,
    );
    let line = Connection::new(transport, server.clone(), number);
    tokio::spawn(connection(line, act, entry, task.clone()));
}

async fn connection(mut line: Connection<Tcp>, act: ConnectionAct, entry: usize, mut task: Task) {
    tokio::select! {
        biased;
        _ = task.over() => {}
        () = live(&mut line, act, entry) => {
            read_out(&mut line).await;
            return;
        }
    }
    drain(&mut line, act).await;
}
