//! What stands behind an answer's content, byte by byte, with a plain socket.

mod support;

use std::io::Write;

use scripted_servers::event::What;
use scripted_servers::script::Step;
use scripted_servers::wire::{Answer, RequestPoint, WireProgram, WireStep};
use support::*;

const ALL: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1";

fn surplus() -> Served {
    let first = Step::new(WireProgram {
        steps: vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::Send(bytes(ALL)),
            WireStep::AwaitAcknowledged,
            WireStep::Fired("surplus"),
        ],
        answer: Some(Answer {
            status: Some(200),
            body_bytes: 2,
            body_sha256: None,
            whole: true,
            events: scripted_servers::wire::SentEvents::default(),
        }),
        proves_content: true,
        ..WireProgram::default()
    });
    serve_steps(vec![first, Step::answer(200, "next")])
}

#[test]
fn surplus_goes_out_and_the_connection_is_kept() {
    let served = surplus();
    let mut client = served.send(GET);
    assert_eq!(read_exactly(&mut client, ALL.len()), ALL);
    served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
    client.write_all(GET.as_bytes()).unwrap();
    assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
    assert_eq!(served.end().fired(), ["surplus"]);
}

#[test]
fn an_answer_to_head_has_nothing_behind_it_and_proves_nothing() {
    let served = surplus();
    let mut client = served.send(format!("HEAD / HTTP/1.1\r\nHost: api\r\n\r\n{GET}"));
    let all = [&ALL[..38], NEXT.as_bytes()].concat();
    assert_eq!(read_exactly(&mut client, all.len()), all);
    drop(client);
    served.wait_for("its end", |what| matches!(what, What::Closed { .. }));
    assert!(served.end().fired().is_empty());
}
