//! Effects of the application, and when they are told.

use scripted_servers::event::What;
use scripted_servers::wire::{Effect, KeySource, WireStep};

use crate::support::*;
use crate::{READ, send};

#[test]
fn effects_are_told_with_the_key_they_name() {
    let effect = |name: &str, key| {
        WireStep::Effect(Effect {
            name: name.into(),
            key,
        })
    };
    let served = serve_wire(vec![
        READ,
        effect("header", Some(KeySource::Header("idempotency-key".into()))),
        effect("text", Some(KeySource::Json("/a/0".into()))),
        effect("number", Some(KeySource::Json("/b".into()))),
        effect("missing", Some(KeySource::Json("/c".into()))),
        effect("path", Some(KeySource::PathLast)),
        effect("none", None),
        send("done"),
    ]);
    let mut client = served.send(
        "POST /orders/77/?q=/x HTTP/1.1\r\nIdempotency-Key: k1\r\nContent-Length: 18\r\n\r\n{\"a\":[\"x\"],\"b\":12}",
    );
    read_exactly(&mut client, 4);
    let happened = served.end();
    let keys: Vec<(String, Option<String>)> = happened.counts.effects.into_keys().collect();
    let expected = [
        ("header", Some("k1")),
        ("missing", None),
        ("none", None),
        ("number", Some("12")),
        ("path", Some("77")),
        ("text", Some("x")),
    ];
    let expected: Vec<_> = expected
        .map(|(name, key)| (name.to_owned(), key.map(str::to_owned)))
        .into();
    assert_eq!(keys, expected);
}

#[test]
fn an_effect_behind_a_point_that_is_not_reached_is_not_told() {
    let served = serve_wire(vec![
        READ,
        WireStep::Effect(Effect {
            name: "order".into(),
            key: None,
        }),
        send("x"),
    ]);
    let client = served.send(&POST[..POST.len() - 1]);
    served.wait_for("the head", |what| matches!(what, What::Head { .. }));
    drop(client);
    let happened = served.end();
    assert_eq!(happened.counts.effects_named("order"), 0);
    assert_eq!((happened.counts.head, happened.counts.delivered), (1, 0));
}
