//! What is done with an accepted connection: its lane's entry, or request after
//! request the steps that are due.

use crate::connection::{Connection, Proof, Stop};
use crate::event::Lane;
use crate::interpreter::{After, run};
use crate::script::ConnectionAct;
use crate::transport::Transport;
use crate::wire::{Position, RequestPoint};

/// Does with a connection what its lane says, until it is over.
pub(crate) async fn live<T: Transport>(line: &mut Connection<T>, act: ConnectionAct, entry: usize) {
    // Why it stopped was told when it did.
    let _ = match act {
        ConnectionAct::Serve => serve(line).await,
        act => end_unserved(line, act, entry).await,
    };
}

async fn serve<T: Transport>(line: &mut Connection<T>) -> Result<(), Stop> {
    loop {
        line.next_request(true).await?;
        if exchange(line).await == After::Ended {
            return Ok(());
        }
        if line
            .exchange
            .as_ref()
            .is_some_and(|done| done.ends_connection)
        {
            return line.end_by_fin(None).await;
        }
    }
}

/// Chooses the step of the request that has begun, and runs its program.
async fn exchange<T: Transport>(line: &mut Connection<T>) -> After {
    let outcome = exchange_steps(line).await;
    match outcome {
        Ok(after) => after,
        Err(Stop::Gone) => After::Ended,
        Err(Stop::Malformed) => {
            line.refuse().await;
            After::Ended
        }
    }
}

async fn exchange_steps<T: Transport>(line: &mut Connection<T>) -> Result<After, Stop> {
    let server = line.server.clone();
    let step_of = |line: &Connection<T>| line.exchange.as_ref().and_then(|exchange| exchange.step);
    if step_of(line).is_none() {
        line.read_until(RequestPoint::Head(Position::All)).await?;
        let queue = line.exchange.as_ref().and_then(|exchange| exchange.queue);
        if queue.is_some_and(|queue| server.chooses_by_content(queue)) {
            read_whole(line).await?;
        }
    }
    if step_of(line).is_some_and(|step| server.through(step).is_some()) {
        read_whole(line).await?;
        line.go_on().await;
    }
    let is_head = line
        .exchange
        .as_ref()
        .is_some_and(|exchange| exchange.is_head);
    let step = step_of(line);
    let made = line.exchange.as_ref();
    let made = made.and_then(|exchange| exchange.program.clone());
    let program = made
        .as_deref()
        .unwrap_or_else(|| server.program(step, !is_head));
    if run(line, program, step).await == After::Ended {
        return Ok(After::Ended);
    }
    line.read_until(RequestPoint::Request).await?;
    Ok(After::Keep)
}

/// Reads a request that is decided about when all of it is there.
async fn read_whole<T: Transport>(line: &mut Connection<T>) -> Result<(), Stop> {
    line.let_continue().await?;
    line.read_until(RequestPoint::Request).await
}

/// Ends a connection without serving it; what arrives on it is counted.
async fn end_unserved<T: Transport>(
    line: &mut Connection<T>,
    act: ConnectionAct,
    entry: usize,
) -> Result<(), Stop> {
    let proof = Some(Proof {
        lane: Lane::Connections(entry),
        words: "",
    });
    if act == ConnectionAct::Hang {
        line.arriving().await?;
        return line.hang(proof).await;
    }
    line.next_request(false).await?;
    line.absorb_all();
    match act {
        ConnectionAct::Close => line.end_by_fin(proof).await,
        _ => line.end_by_reset(proof).await,
    }
}
