//! What becomes of a connection that is idle after its answer.

use std::io::Write;
use std::time::Duration;

use scripted_servers::clock::RealClock;
use scripted_servers::event::What;
use scripted_servers::wire::{IdleEnd, WireStep};

use crate::ends::ended_as;
use crate::support::*;
use crate::{READ, millis, send};

#[test]
fn an_idle_connection_is_ended_after_its_time() {
    for (how, ended) in [(IdleEnd::Close, Ended::Fin), (IdleEnd::Reset, Ended::Reset)] {
        for time in [0, 60] {
            let served = serve_wire(vec![
                READ,
                send("answer"),
                WireStep::Fired("idle"),
                WireStep::EndWhenIdle(millis(time), how),
            ]);
            let began = RealClock::start();
            let mut client = served.send(GET);
            read_exactly(&mut client, 6);
            assert_eq!(read_to_end(&mut client), (vec![], ended_as(&ended)));
            assert!(began.now() >= millis(time), "{:?}", began.now());
            served.wait_for("the proof", |what| matches!(what, What::Fired { .. }));
            drop(client);
            let happened = served.end();
            assert_eq!(happened.fired().len(), 1);
            assert_eq!(happened.counts.delivered, 1);
        }
    }
}

#[test]
fn a_request_that_begins_before_the_idle_end_is_served_and_nothing_fired() {
    for how in [IdleEnd::Close, IdleEnd::Reset] {
        let served = serve_wire(vec![
            READ,
            send("answer"),
            WireStep::Fired("idle"),
            WireStep::EndWhenIdle(Duration::from_secs(600), how),
        ]);
        let mut client = served.send(GET);
        read_exactly(&mut client, 6);
        client.write_all(&GET.as_bytes()[..1]).unwrap();
        client.write_all(&GET.as_bytes()[1..]).unwrap();
        assert_eq!(read_exactly(&mut client, NEXT.len()), NEXT.as_bytes());
        let happened = served.end();
        assert!(happened.fired().is_empty());
        assert_eq!(happened.counts.delivered, 2);
    }
}

#[test]
fn a_client_that_closes_an_idle_connection_first_leaves_nothing_fired() {
    let served = serve_wire(vec![
        READ,
        send("answer"),
        WireStep::Fired("idle"),
        WireStep::EndWhenIdle(Duration::from_secs(600), IdleEnd::Reset),
    ]);
    let mut client = served.send(GET);
    read_exactly(&mut client, 6);
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    assert!(served.end().fired().is_empty());
}
