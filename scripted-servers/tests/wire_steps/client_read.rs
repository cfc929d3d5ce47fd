//! How much of what was sent the client has read.

use scripted_servers::event::{Taken, What};
use scripted_servers::wire::{End, WireStep};

use crate::support::*;
use crate::{READ, millis, send};

/// What is known to be taken of the first connection.
fn taken(happened: &Happened) -> Option<Taken> {
    happened.events.iter().find_map(|event| match &event.what {
        What::Closed { taken, .. } => *taken,
        _ => None,
    })
}

#[test]
fn what_a_client_has_read_is_known_to_the_byte_when_it_leaves_nothing_unread() {
    for (end, ends) in [(None, 0), (Some(End::Close), 1), (Some(End::Reset), 1)] {
        let steps = [READ, send("answer"), WireStep::AwaitAcknowledged];
        let steps = steps.into_iter().chain([WireStep::Fired("answered")]);
        let served = serve_wire(steps.chain(end.map(WireStep::End)).collect());
        let mut client = served.send(GET);
        assert_eq!(read_exactly(&mut client, 6), b"answer");
        served.wait_for("its end", |what| {
            ends == 0 || matches!(what, What::Ended { .. })
        });
        drop(client);
        served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
        let exact = Taken {
            at_least: 6,
            at_most: 6,
        };
        assert_eq!(taken(&served.end()), Some(exact), "{end:?}");
    }
}

#[test]
fn what_a_client_leaves_unread_when_it_resets_is_between_bounds() {
    let served = serve_wire(vec![READ, send("12345"), WireStep::AwaitAcknowledged]);
    let mut client = served.send(GET);
    assert_eq!(read_exactly(&mut client, 2), b"12");
    client.peek(&mut [0; 3]).unwrap();
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let Taken { at_least, at_most } = taken(&served.end()).unwrap();
    assert!(at_least <= 2 && at_most == 5, "{at_least} to {at_most}");
}

#[test]
fn of_an_endless_answer_at_least_what_was_read_at_some_look_is_known_to_be_taken() {
    let every = Some((200, millis(5)));
    let unit = bytes(b"0123456789");
    let served = serve_wire(vec![
        READ,
        WireStep::Fired("endless"),
        WireStep::Endless { unit, every },
    ]);
    let mut client = served.send(GET);
    let read = read_exactly(&mut client, 20_000).len() as u64;
    // The server looks before it sends, so one more piece makes it look.
    client.peek(&mut [0; 1]).unwrap();
    drop(client);
    served.wait_for("the end of it", |what| matches!(what, What::Closed { .. }));
    let Taken { at_least, at_most } = taken(&served.end()).unwrap();
    assert!(at_least + 6000 >= read, "{at_least} of {read}");
    assert!(at_most >= read, "{at_most} of {read}");
}
