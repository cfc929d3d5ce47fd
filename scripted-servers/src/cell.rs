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
    let (over, is_over) = watch::channel(false);
    // Every task holds a sender; when all are gone, all tasks have ended.
    let (alive, mut all_ended) = mpsc::channel::<()>(1);
    for attended in attended {
        let task = Task {
            cell: cell.clone(),
            is_over: is_over.clone(),
            _alive: alive.clone(),
        };
        tokio::spawn(attend(attended, task));
    }
    drop(alive);
    while let Some(Command::ClientEnded(reply)) = commands.recv().await {
        over.send_replace(true);
        let _ = all_ended.recv().await;
        cell.settle_works();
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

/// Leads a port through its states, and accepts once it is open.
async fn attend(attended: Attended, mut task: Task) {
    let Attended {
        server,
        port,
        phases,
    } = attended;
    let mut course = Course::new(server.clone(), port, phases);
    tokio::select! {
        biased;
        () = task.over() => course.prove(),
        () = course.run() => {}
    }
    if !course.is_open() {
        return;
    }
    if let Some((listener, address)) = course.into_listener() {
        accept(server, listener, address, task).await;
    }
}

async fn accept(server: Arc<Server>, listener: TcpListener, address: SocketAddr, mut task: Task) {
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
        () = task.over() => {}
        () = live(&mut line, act, entry) => {
            read_out(&mut line).await;
            return;
        }
    }
    drain(&mut line, act).await;
}
