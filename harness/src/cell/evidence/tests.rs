use std::net::SocketAddr;

use scripted_servers::clock::RealClock;
use scripted_servers::script::ConnectionAct;
use tempfile::TempDir;

use super::*;

fn log(folder: &TempDir, cap: u64, enough: &[(&str, u64)]) -> EvidenceLog {
    let enough = enough.iter();
    let plan = Plan {
        cap,
        enough: enough
            .map(|(server, count)| ((*server).to_owned(), *count))
            .collect(),
        ..crate::samples::plan()
    };
    let path = folder.path().join("events.jsonl");
    EvidenceLog::create(&path, RealClock::start(), plan).unwrap()
}

fn event(connection: u32, what: What) -> ServerEvent {
    ServerEvent {
        server: "api".into(),
        connection: Some(connection),
        exchange: Some(1),
        what,
    }
}

fn accepted(connection: u32) -> ServerEvent {
    let what = What::Accepted {
        peer: SocketAddr::from(([127, 0, 0, 1], 4711)),
        act: ConnectionAct::Serve,
    };
    event(connection, what)
}

fn head(connection: u32, queue: Option<usize>) -> ServerEvent {
    let what = What::Head {
        arrived_us: 0,
        method: "GET".to_owned(),
        target: "/".to_owned(),
        headers: Vec::new(),
        queue,
        step: None,
    };
    event(connection, what)
}

fn delivered(connection: u32, drained: bool) -> ServerEvent {
    let what = What::Delivered {
        arrived_us: 0,
        body_bytes: 0,
        body_sha256: None,
        drained,
    };
    event(connection, what)
}

fn limit(log: &EvidenceLog) -> Option<EndedBy> {
    log.signals().borrow().limit
}

#[test]
fn what_was_recorded_is_read_back_in_order_with_numbers_from_one() {
    let folder = TempDir::new().unwrap();
    let log = log(&folder, 200, &[]);
    log.record(accepted(1));
    log.client(ClientEvent::Work);
    assert_eq!(log.finish(), None);
    let entries = read(&folder.path().join("events.jsonl")).unwrap();
    let clients = Event::Client(ClientEvent::Work);
    assert_eq!(entries[0].event, Event::Server(accepted(1)));
    assert_eq!(entries[1].event, clients);
    let numbers: Vec<u64> = entries.iter().map(|entry| entry.n).collect();
    assert_eq!(numbers, [1, 2]);
    assert!(entries[0].at_us <= entries[1].at_us);
}

#[test]
fn a_servers_event_reaches_the_file_when_its_thread_is_about_to_wait() {
    let folder = TempDir::new().unwrap();
    let log = log(&folder, 200, &[]);
    let path = folder.path().join("events.jsonl");
    log.record(accepted(1));
    assert_eq!(read(&path).unwrap(), []);
    log.flush();
    assert_eq!(read(&path).unwrap().len(), 1);
}

#[test]
fn a_torn_last_line_is_dropped_and_a_torn_middle_one_is_not() {
    let folder = TempDir::new().unwrap();
    let log = log(&folder, 200, &[]);
    log.client(ClientEvent::Work);
    log.client(ClientEvent::FinishSent);
    let path = folder.path().join("events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 5]).unwrap();
    assert_eq!(read(&path).unwrap().len(), 1);
    std::fs::write(&path, format!("{}\n{text}", &text[..20])).unwrap();
    assert!(matches!(read(&path), Err(ReadError::Line { line: 1, .. })));
}

#[test]
fn the_cap_is_reached_by_the_first_request_beyond_it() {
    let folder = TempDir::new().unwrap();
    let log = log(&folder, 2, &[]);
    let started = What::Started {
        arrived_us: 0,
        reused: false,
    };
    log.record(event(1, started.clone()));
    log.record(event(1, started.clone()));
    assert_eq!(limit(&log), None);
    log.record(event(1, started));
    assert_eq!(limit(&log), Some(EndedBy::Cap));
}

#[test]
fn connections_without_a_request_reach_the_cap_too() {
    let folder = TempDir::new().unwrap();
    let log = log(&folder, 1, &[]);
    assert!(!log.signals().borrow().contact);
    log.record(accepted(1));
    assert!(log.signals().borrow().contact);
    assert_eq!(limit(&log), None);
    log.record(accepted(2));
    assert_eq!(limit(&log), Some(EndedBy::Cap));
}

#[test]
fn enough_counts_deliveries_on_routes_while_the_client_lives() {
    let folder = TempDir::new().unwrap();
    let log = log(&folder, 200, &[("api", 1)]);
    log.record(head(1, None));
    log.record(delivered(1, false));
    log.record(head(2, Some(0)));
    log.record(delivered(2, true));
    assert_eq!(limit(&log), None);
    // The same connection, now with a request that a route expects.
    log.record(head(1, Some(0)));
    log.record(delivered(1, false));
    assert_eq!(limit(&log), Some(EndedBy::Enough));
}

#[test]
fn our_own_probes_are_no_traffic() {
    let folder = TempDir::new().unwrap();
    let log = log(&folder, 200, &[]);
    let probed = What::Probed {
        refused: true,
        after: false,
    };
    log.record(event(1, probed));
    assert_eq!(log.last_traffic(), None);
    log.record(accepted(1));
    assert!(log.last_traffic().is_some());
}

#[test]
fn a_time_that_is_over_is_kept_and_one_to_come_is_not_believed() {
    let folder = TempDir::new().unwrap();
    let log = log(&folder, 200, &[]);
    log.client(ClientEvent::Work);
    log.client_at(Duration::ZERO, ClientEvent::FinishSent);
    log.client_at(Duration::from_secs(3600), ClientEvent::FinishSent);
    log.finish();
    let entries = read(&folder.path().join("events.jsonl")).unwrap();
    assert_eq!(entries[1].at_us, 0);
    assert!(entries[2].at_us < 3_600_000_000);
}

#[test]
fn the_file_holds_the_text_that_serde_would_write() {
    let folder = TempDir::new().unwrap();
    let log = log(&folder, 200, &[]);
    log.record(accepted(1));
    log.record(head(1, Some(3)));
    let quoted = What::Head {
        arrived_us: 7,
        method: "G\"T".to_owned(),
        target: "/\u{1}\u{e9}".to_owned(),
        headers: vec![("a".to_owned(), "b\\c".to_owned())],
        queue: None,
        step: None,
    };
    log.record(event(2, quoted.clone()));
    log.record(delivered(1, false));
    log.client(ClientEvent::Work);
    log.finish();
    let entries = read(&folder.path().join("events.jsonl")).unwrap();
    let events: Vec<Event> = entries.iter().map(|entry| entry.event.clone()).collect();
    assert_eq!(events[2], Event::Server(event(2, quoted)));
    let expected: String = entries
        .iter()
        .map(|entry| serde_json::to_string(entry).unwrap() + "\n")
        .collect();
    let written = std::fs::read_to_string(folder.path().join("events.jsonl")).unwrap();
    assert_eq!(written, expected);
}
