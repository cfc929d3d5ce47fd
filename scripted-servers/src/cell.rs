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
use crate::connection::{Connection, drain};
use crate::event::What;
use crate::script::ConnectionAct;
use crate::serve::live;
use crate::state::{Cell, Server};
use crate::tcp::Tcp;

/// What the thread is told.
pub(crate) enum Command {
    /// The client is gone: drain everything, then reply.
    ClientEnded(SyncSender<()>),
    /// End.
    Stop,
}

/// A server that listens.
pub(crate) struct Open {
    pub(crate) server: Arc<Server>,
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
}

/// Starts the thread.
pub(crate) fn start(
    cell: Arc<Cell>,
    open: Vec<Open>,
) -> io::Result<(UnboundedSender<Command>, JoinHandle<()>)> {
    let record = cell.record.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || record.flush())
        .build()?;
    let (sender, commands) = mpsc::unbounded_channel();
    let thread = std::thread::Builder::new()
        .name("scripted-servers".into())
        .spawn(move || runtime.block_on(run(cell, open, commands)))?;
    Ok((sender, thread))
}

async fn run(cell: Arc<Cell>, open: Vec<Open>, mut commands: UnboundedReceiver<Command>) {
    let (over, is_over) = watch::channel(false);
    // Every task holds a sender; when all are gone, all tasks have ended.
    let (alive, mut all_ended) = mpsc::channel::<()>(1);
    for open in open {
        let task = Task {
            cell: cell.clone(),
            is_over: is_over.clone(),
            _alive: alive.clone(),
        };
        tokio::spawn(accept(open, task));
    }
    drop(alive);
    while let Some(Command::ClientEnded(reply)) = commands.recv().await {
        over.send_replace(true);
        let _ = all_ended.recv().await;
        let _ = reply.send(());
    }
}

/// What every task of the cell holds while it lives.
#[derive(Clone)]
struct Task {
    cell: Arc<Cell>,
    is_over: watch::Receiver<bool>,
    _alive: mpsc::Sender<()>,
}

impl Task {
    async fn over(&mut self) {
        // The sender outlives all tasks; if it did not, the cell would be over.
        let _ = self.is_over.wait_for(|over| *over).await;
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

async fn accept(open: Open, mut task: Task) {
    let Open {
        server,
        listener,
        address,
    } = open;
    let cell = task.cell.clone();
    let Some(listener) = Listener::new(listener, server.name.clone(), cell) else {
        return;
    };
    loop {
        tokio::select! {
            biased;
            () = task.over() => break,
            accepted = listener.next() => serve(&server, accepted, address, &task),
        }
    }
    // What still waits to be accepted came while the client lived.
    let Some(waiting) = listener.into_waiting() else {
        return;
    };
    while let Some(accepted) = waiting.next().await {
        serve(&server, accepted, address, &task);
    }
}

fn serve(server: &Arc<Server>, (stream, peer): Accepted, own: SocketAddr, task: &Task) {
    let (number, entry, act) = server.accepted();
    server.tell(Some(number), None, What::Accepted { peer, act });
    let transport = Tcp::new(stream, own, peer, server.cell.peers.clone());
    let line = Connection::new(transport, server.clone(), number);
    tokio::spawn(connection(line, act, entry, task.clone()));
}

async fn connection(mut line: Connection<Tcp>, act: ConnectionAct, entry: usize, mut task: Task) {
    tokio::select! {
        biased;
        () = task.over() => {}
        () = live(&mut line, act, entry) => {
            line.close();
            return;
        }
    }
    drain(&mut line, act).await;
}
