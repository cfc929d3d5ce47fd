//! Answers that begin before the request is there, with a plain socket.

mod support;

use std::io::Write;

use scripted_servers::event::What;
use scripted_servers::script::Step;
use scripted_servers::wire::{Position, RequestPoint, WireStep};
use support::*;

const ANSWER: &str = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n";

fn answer_after(point: RequestPoint) -> Vec<WireStep> {
    vec![
        WireStep::ReadUntil(point),
        WireStep::Send(bytes(ANSWER.as_bytes())),
        WireStep::AwaitAcknowledged,
        WireStep::Fired("early"),
    ]
}

#[test]
fn an_answer_at_a_point_comes_first_and_the_rest_of_the_request_is_read_behind_it() {
    let request = POST.as_bytes();
    let head = request.len() - 5;
    for (point, sent) in [
        (RequestPoint::Head(Position::Bytes(9)), 9),
        (RequestPoint::Head(Position::All), head),
        (RequestPoint::Body(Position::Half), head + 2),
        (RequestPoint::Body(Position::Last), head + 4),
    ] {
        let first = Step {
            inside_head: sent < head,
            ..program(answer_after(point))
        };
        let served = serve_steps(vec![first, Step::answer(200, "next")]);
        let mut client = served.send(&request[..sent]);
        let got = read_exactly(&mut client, ANSWER.len());
        assert_eq!(got, ANSWER.as_bytes(), "{point:?}");
        assert!(
            !served
                .record
                .events()
                .iter()
                .any(|event| matches!(event.what, What::Delivered { .. }))
        );
        // The connection goes on with the next request behind the rest.
        client.write_all(&request[sent..]).unwrap();
        client.write_all(GET.as_bytes()).unwrap();
        assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
        served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
        let happened = served.end();
        assert_eq!(happened.fired(), ["early"], "{point:?}");
        assert_eq!(happened.counts.delivered, 2);
    }
}

#[test]
fn a_request_that_is_never_finished_was_answered_and_not_delivered() {
    let served = serve_wire(answer_after(RequestPoint::Head(Position::All)));
    let mut client = served.send(&POST[..POST.len() - 1]);
    read_exactly(&mut client, ANSWER.len());
    served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
    drop(client);
    served.wait_for("its end", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert_eq!(happened.fired(), ["early"]);
    assert_eq!((happened.counts.head, happened.counts.delivered), (1, 0));
}

#[test]
fn a_client_that_reads_an_early_answer_and_leaves_in_the_middle_of_writing_was_answered() {
    let early = program(answer_after(RequestPoint::Body(Position::Bytes(1024))));
    let served = serve_steps(vec![Step::answer(200, "next"), early]);
    // On a kept connection, where the kernel of the client takes its time with
    // what it acknowledges.
    let mut client = served.send(GET);
    assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
    let head = "POST /x HTTP/1.1\r\nHost: test\r\nContent-Length: 16777216\r\n\r\n";
    client.write_all(head.as_bytes()).unwrap();
    // Until the kernels hold no more of it.
    client.set_nonblocking(true).unwrap();
    let piece = [b'x'; 64 * 1024];
    for _ in 0..128 {
        if client.write(&piece).is_err() {
            break;
        }
    }
    client.set_nonblocking(false).unwrap();
    read_exactly(&mut client, ANSWER.len());
    drop(client);
    served.wait_for("its end", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    let is_early =
        |what: &What| matches!(what, What::Fired { proof, .. } if proof.as_str() == "early");
    assert!(happened.events.iter().any(|event| is_early(&event.what)));
    assert_eq!(happened.counts.delivered, 1);
}
