//! Wire programs on a transport in memory and a clock that jumps.

mod client_end;
mod ends;
mod memory;
mod proofs;
mod properties;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::connection::{Connection, drain, read_out};
use crate::event::What;
use crate::ledger;
use crate::script::{ConnectionAct, ServerScript, Step};
use crate::serve::live;
use crate::state::{Cell, Server};
use crate::wire::{Effect, End, IdleEnd, RequestPoint, WireProgram, WireStep};
use memory::{Act, Jumping, Memory};

const REQUEST: &[u8] = b"POST /orders/7 HTTP/1.1\r\nHost: api\r\nContent-Length: 40\r\n\r\n\
    0123456789012345678901234567890123456789";
/// A cell ends after this, in jumped time.
const DEADLINE: Duration = Duration::from_secs(30);

/// What came of one program against one peer.
struct Outcome {
    written: Vec<u8>,
    ended_by_server: bool,
    /// When the connection was over by itself; none: the cell had to end it.
    over_at: Option<Duration>,
    events: Vec<What>,
}

/// A cell with one server, and one connection to it.
struct Scene {
    record: Arc<ledger::Memory>,
    clock: Arc<Jumping>,
    cell: Arc<Cell>,
    memory: Memory,
    line: Connection<Memory>,
}

fn scene(step: Step) -> Scene {
    let (record, clock) = (ledger::Memory::new(), Jumping::start());
    let cell = Arc::new(Cell::new(clock.clone(), record.clone()));
    let script = ServerScript::new("api").script(vec![step]);
    let server = Arc::new(Server::new(cell.clone(), script));
    let memory = Memory::default();
    Scene {
        line: Connection::new(memory.clone(), server, 1),
        record,
        clock,
        cell,
        memory,
    }
}

fn in_jumping_time<R>(future: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

fn play(steps: Vec<WireStep>, inside_head: bool, acts: Vec<(u64, Act)>) -> Outcome {
    let program = WireProgram {
        steps,
        answer: None,
        ..WireProgram::default()
    };
    let step = Step {
        inside_head,
        ..Step::new(program)
    };
    in_jumping_time(async {
        let Scene {
            record,
            clock,
            cell,
            memory,
            mut line,
        } = scene(step);
        tokio::spawn(memory.clone().play(REQUEST.to_vec(), acts));
        let over = tokio::select! {
            () = live(&mut line, ConnectionAct::Serve, 0) => true,
            _busy = clock.sleep_until(DEADLINE) => false,
        };
        let over_at = over.then(|| clock.now());
        if over {
            read_out(&mut line).await;
        } else {
            let before = clock.now();
            cell.set_over(before);
            drain(&mut line, ConnectionAct::Serve).await;
            assert!(
                clock.now() - before < Duration::from_secs(2),
                "draining took long"
            );
        }
        cell.settle_works();
        let events = record
            .events()
            .into_iter()
            .map(|event| event.what)
            .collect();
        Outcome {
            written: memory.written(),
            ended_by_server: memory.is_ended(),
            over_at,
            events,
        }
    })
}

fn fired_events(events: &[What]) -> usize {
    events
        .iter()
        .filter(|what| matches!(what, What::Fired { .. }))
        .count()
}
