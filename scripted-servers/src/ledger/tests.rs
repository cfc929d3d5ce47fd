use super::*;

fn event(connection: u32, exchange: u32, what: What) -> ServerEvent {
    ServerEvent {
        server: "api".into(),
        connection: Some(connection),
        exchange: Some(exchange),
        what,
    }
}

fn head(queue: Option<usize>) -> What {
    What::Head {
        arrived_us: 1,
        method: "GET".into(),
        target: "/".into(),
        headers: Vec::new(),
        queue,
        step: None,
    }
}

fn delivered(drained: bool) -> What {
    What::Delivered {
        arrived_us: 1,
        body_bytes: 0,
        body_sha256: None,
        drained,
    }
}

fn effect(name: &str, key: Option<&str>) -> What {
    What::Effect {
        name: name.into(),
        key: key.map(str::to_owned),
        since_us: 0,
        began_us: None,
    }
}

#[test]
fn what_no_route_expects_and_what_was_drained_is_not_delivered() {
    let events = [
        event(1, 1, head(Some(0))),
        event(1, 1, delivered(false)),
        event(1, 2, head(None)),
        event(1, 2, delivered(false)),
        event(2, 1, head(Some(0))),
        event(2, 1, delivered(true)),
        event(3, 1, head(None)),
    ];
    let counts = events.iter().collect::<Ledger>().server("api");
    assert_eq!((counts.head, counts.delivered), (4, 1));
    assert_eq!((counts.other, counts.drained), (1, 1));
}

#[test]
fn effects_are_counted_by_name_and_key() {
    let events = [
        event(1, 1, effect("order", Some("7"))),
        event(1, 2, effect("order", Some("7"))),
        event(1, 3, effect("order", None)),
        event(1, 4, effect("mail", Some("7"))),
    ];
    let counts = events.iter().collect::<Ledger>().server("api");
    assert_eq!(
        counts.effects[&("order".to_owned(), Some("7".to_owned()))],
        2
    );
    assert_eq!(counts.effects_named("order"), 3);
    assert_eq!(counts.effects_named("mail"), 1);
}

#[test]
fn a_server_where_nothing_happened_has_counted_nothing() {
    assert_eq!(Ledger::default().server("api"), Counts::default());
}
