//! A server that ends its own direction and goes on reading, with a plain socket.

mod support;

use std::io::{Read, Write};

use scripted_servers::event::{Ending, What};
use scripted_servers::wire::{End, Position, RequestPoint, WireStep};
use support::*;

fn half_close_after(point: RequestPoint, answer: &str) -> Vec<WireStep> {
    let mut steps = vec![WireStep::ReadUntil(point)];
    if !answer.is_empty() {
        steps.push(WireStep::Send(bytes(answer.as_bytes())));
        steps.push(WireStep::AwaitAcknowledged);
    }
    steps.push(WireStep::Fired("half-closed"));
    steps.push(WireStep::End(End::HalfClose));
    steps
}

#[test]
fn what_comes_behind_the_fin_is_read_and_counted_to_the_clients_end() {
    const LONG: usize = 4 << 20;
    let head = RequestPoint::Head(Position::All);
    let served = serve_wire(half_close_after(head, ""));
    let mut client = served.send(format!(
        "POST / HTTP/1.1\r\nHost: api\r\nContent-Length: {LONG}\r\n\r\n"
    ));
    // The FIN comes first, with nothing before it.
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
    // More than both kernels hold: only a server that reads takes it all.
    client.write_all(&vec![b'x'; LONG]).unwrap();
    client.write_all(GET.as_bytes()).unwrap();
    drop(client);
    served.wait_for("its end", |what| matches!(what, What::Closed { .. }));
    let happened = served.end();
    assert_eq!(happened.fired(), ["half-closed: FIN acknowledged"]);
    assert_eq!(happened.counts.delivered, 2);
    assert!(happened.any(|what| matches!(
        what,
        What::Delivered { body_bytes, drained: false, .. } if *body_bytes == LONG as u64
    )));
    assert!(happened.any(|what| *what == What::Ended { how: Ending::Fin }));
    assert!(!happened.any(|what| *what == What::Ended { how: Ending::Reset }));
}

#[test]
fn the_bytes_before_a_half_close_arrive_with_it_and_the_client_may_still_send() {
    let steps = half_close_after(RequestPoint::Request, "HTTP/1.1 200 OK\r\nContent-Len");
    let served = serve_wire(steps);
    let mut client = served.send(POST);
    let (all, ended) = read_to_end(&mut client);
    assert_eq!(all, b"HTTP/1.1 200 OK\r\nContent-Len");
    assert_eq!(ended, Ended::Fin);
    client.write_all(GET.as_bytes()).unwrap();
    served.wait_for(
        "the second head",
        |what| matches!(what, What::Head { method, .. } if method == "GET"),
    );
    // Nobody answers it, and nobody resets it.
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
    let happened = served.end();
    assert_eq!(happened.fired(), ["half-closed: FIN acknowledged"]);
    assert!(!happened.any(|what| *what == What::Ended { how: Ending::Reset }));
}
