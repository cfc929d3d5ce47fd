use client_kit::protocol::{Report, Shown, ShownResponse};
use proptest::prelude::*;

use super::*;

const REPORT: &str = r#"{"report":{"call":1,"shown":{"response":{"status":200}}}}"#;

fn hear(text: &str) -> Vec<ClientEvent> {
    Conversation::about([1]).hear(text.as_bytes())
}

fn garbage(text: &str) -> (String, String) {
    match &hear(text)[..] {
        [ClientEvent::Garbage { line, reason }] => (line.clone(), reason.clone()),
        other => panic!("expected one line of garbage, got {other:?}"),
    }
}

#[test]
fn a_report_is_understood_and_completes_the_conversation() {
    let mut conversation = Conversation::about([1]);
    assert!(!conversation.is_complete());
    let events = conversation.hear(format!("{REPORT}\n").as_bytes());
    let shown = Shown::Response(ShownResponse {
        status: Some(200),
        ..ShownResponse::default()
    });
    let report = Report {
        call: 1,
        shown,
        claim: None,
        events: None,
    };
    assert_eq!(events, [ClientEvent::Report(report)]);
    assert!(conversation.is_complete());
}

#[test]
fn a_report_in_pieces_is_understood_when_its_line_ends() {
    let mut conversation = Conversation::about([1]);
    let (one, two) = REPORT.split_at(10);
    assert_eq!(conversation.hear(one.as_bytes()), []);
    assert_eq!(conversation.hear(two.as_bytes()), []);
    assert_eq!(conversation.hear(b"\r\n").len(), 1);
}

#[test]
fn a_last_line_without_an_end_counts() {
    let mut conversation = Conversation::about([1]);
    assert_eq!(conversation.hear(REPORT.as_bytes()), []);
    assert!(matches!(conversation.end(), Some(ClientEvent::Report(_))));
    assert_eq!(conversation.end(), None);
}

#[test]
fn a_second_report_of_a_call_is_garbage() {
    let events = hear(&format!("{REPORT}\n{REPORT}\n"));
    assert!(
        matches!(&events[..], [ClientEvent::Report(_), ClientEvent::Garbage { reason, .. }]
            if reason == "a second report of call 1"),
        "{events:?}"
    );
}

#[test]
fn a_report_or_progress_of_an_unknown_call_is_garbage() {
    let (_, reason) = garbage("{\"report\":{\"call\":7,\"shown\":{\"cancelled\":{}}}}\n");
    assert_eq!(reason, "the work has no call 7");
    let (_, reason) = garbage("{\"progress\":{\"call\":0,\"state\":\"working\"}}\n");
    assert_eq!(reason, "the work has no call 0");
}

#[test]
fn what_is_json_but_no_message_is_told_from_what_is_no_json() {
    assert!(
        garbage("{\"repotr\":{}}\n")
            .1
            .starts_with("no message of the protocol: unknown")
    );
    assert!(garbage("hello\n").1.starts_with("not JSON: "));
}

#[test]
fn terminal_escapes_nulls_and_direction_marks_are_written_out() {
    let (line, _) = garbage("\u{1b}[31mred\u{0}\u{202e}\n");
    assert_eq!(line, "\\u{1b}[31mred\\u{0}\\u{202e}");
}

#[test]
fn invalid_utf8_is_garbage() {
    let mut conversation = Conversation::about([1]);
    let events = conversation.hear(b"\xff\xfe{}\n");
    assert!(
        matches!(&events[..], [ClientEvent::Garbage { reason, .. }] if reason == "not UTF-8"),
        "{events:?}"
    );
}

#[test]
fn a_line_over_a_mebibyte_is_cut_and_the_next_line_is_read() {
    let mut conversation = Conversation::about([1]);
    let long = "é".repeat(LONGEST_LINE);
    let mut events = Vec::new();
    for piece in long.as_bytes().chunks(65_536) {
        events.extend(conversation.hear(piece));
    }
    events.extend(conversation.hear(format!("\n{REPORT}\n").as_bytes()));
    match &events[..] {
        [
            ClientEvent::Garbage { line, reason },
            ClientEvent::Report(_),
        ] => {
            assert_eq!(line.chars().count(), KEPT);
            assert!(reason.starts_with("longer than 1 MiB"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_report_of_a_mebibyte_is_still_a_report() {
    let padding = " ".repeat(LONGEST_LINE - REPORT.len());
    let events = hear(&format!("{padding}{REPORT}\n"));
    assert!(matches!(&events[..], [ClientEvent::Report(_)]));
}

#[test]
fn garbage_without_end_is_kept_up_to_a_number_and_says_so() {
    let events = hear(&"x\n".repeat(MOST_GARBAGE * 3));
    assert_eq!(events.len(), MOST_GARBAGE);
    assert!(
        matches!(events.last(), Some(ClientEvent::Garbage { reason, .. })
            if reason.ends_with("further lines like this are not kept"))
    );
}

#[test]
fn json_nested_deeply_is_garbage_and_nothing_worse() {
    let deep = "[".repeat(100_000);
    assert!(garbage(&format!("{deep}\n")).0.starts_with("[["));
    let deep = "{\"progress\":{\"call\":1,\"state\":\"\",\"more\":".repeat(10_000);
    assert!(garbage(&format!("{deep}\n")).0.starts_with("{\"progress\""));
}

#[test]
fn unsupported_completes_the_conversation() {
    let mut conversation = Conversation::about([1]);
    let events = conversation.hear(b"{\"unsupported\":{\"reason\":\"no streams\"}}\n");
    let reason = "no streams".to_owned();
    assert_eq!(events, [ClientEvent::Unsupported { reason }]);
    assert!(conversation.is_complete());
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_give_the_same_events(
        bytes in proptest::collection::vec(
            prop_oneof![Just(b'\n'), Just(b'{'), Just(b'"'), any::<u8>()], 0..400),
        size in 1usize..50,
    ) {
        let mut whole = Conversation::about([1]);
        let mut all = whole.hear(&bytes);
        all.extend(whole.end());
        let mut pieces = Conversation::about([1]);
        let mut piecewise = Vec::new();
        for piece in bytes.chunks(size) {
            piecewise.extend(pieces.hear(piece));
        }
        piecewise.extend(pieces.end());
        prop_assert_eq!(all, piecewise);
    }
}

#[test]
fn a_process_in_the_place_of_a_killed_one_may_say_again_what_that_had_reported() {
    let report =
        |call: u32| format!("{{\"report\":{{\"call\":{call},\"shown\":{{\"held\":{{}}}}}}}}\n");
    let mut first = Conversation::about([1, 2]);
    first.hear(report(1).as_bytes());
    let mut second = first.again();
    assert!(!second.is_complete() && second.is_open(2) && !second.is_open(1));
    for call in [1, 2] {
        let said = second.hear(report(call).as_bytes());
        assert!(matches!(said[..], [ClientEvent::Report(_)]), "{said:?}");
    }
    assert!(second.is_complete());
    let twice = second.hear(report(1).as_bytes());
    assert!(
        matches!(twice[..], [ClientEvent::Garbage { .. }]),
        "{twice:?}"
    );
}
