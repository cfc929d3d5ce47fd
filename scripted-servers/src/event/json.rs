//! Writes events as JSON, fast: the same text that serde writes.
//!
//! A run writes several events for each request, and doing that through serde
//! took a third of a server's time. The events of plain requests are written
//! here by hand; all others go through serde.

use std::io::Write;

use super::{ServerEvent, What};
use crate::wire::Answer;

impl ServerEvent {
    /// Appends this event as JSON, as serde would write it.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"server\":");
        text(out, &self.server);
        if let Some(connection) = self.connection {
            out.extend_from_slice(b",\"connection\":");
            number(out, connection.into());
        }
        if let Some(exchange) = self.exchange {
            out.extend_from_slice(b",\"exchange\":");
            number(out, exchange.into());
        }
        out.extend_from_slice(b",\"what\":");
        what(out, &self.what);
        out.push(b'}');
    }
}

fn what(out: &mut Vec<u8>, what: &What) {
    match what {
        What::Started { arrived_us, reused } => {
            out.extend_from_slice(b"{\"started\":{\"arrived_us\":");
            number(out, *arrived_us);
            if *reused {
                out.extend_from_slice(b",\"reused\":true");
            }
        }
        What::Head {
            arrived_us,
            method,
            target,
            headers,
            queue,
            step,
        } => {
            out.extend_from_slice(b"{\"head\":{\"arrived_us\":");
            number(out, *arrived_us);
            out.extend_from_slice(b",\"method\":");
            text(out, method);
            out.extend_from_slice(b",\"target\":");
            text(out, target);
            out.extend_from_slice(b",\"headers\":[");
            for (place, (name, value)) in headers.iter().enumerate() {
                out.extend_from_slice(if place == 0 { b"[" } else { b",[" });
                text(out, name);
                out.push(b',');
                text(out, value);
                out.push(b']');
            }
            out.extend_from_slice(b"],\"queue\":");
            match queue {
                Some(queue) => number(out, *queue as u64),
                None => out.extend_from_slice(b"null"),
            }
            if let Some(step) = step {
                out.extend_from_slice(b",\"step\":{\"queue\":");
                number(out, step.queue as u64);
                out.extend_from_slice(b",\"step\":");
                number(out, step.step as u64);
                out.push(b'}');
            }
        }
        What::Delivered {
            arrived_us,
            body_bytes,
            body_sha256,
            drained,
        } => {
            out.extend_from_slice(b"{\"delivered\":{\"arrived_us\":");
            number(out, *arrived_us);
            out.extend_from_slice(b",\"body_bytes\":");
            number(out, *body_bytes);
            if let Some(digest) = body_sha256 {
                out.extend_from_slice(b",\"body_sha256\":");
                text(out, digest);
            }
            if *drained {
                out.extend_from_slice(b",\"drained\":true");
            }
        }
        What::Answering { answer } => {
            out.extend_from_slice(b"{\"answering\":{\"answer\":{");
            answer_fields(out, answer);
            out.push(b'}');
        }
        What::Answered { bytes, handed_us } => {
            out.extend_from_slice(b"{\"answered\":{\"bytes\":");
            number(out, *bytes);
            out.extend_from_slice(b",\"handed_us\":");
            number(out, *handed_us);
        }
        other => return by_serde(out, other),
    }
    out.extend_from_slice(b"}}");
}

fn answer_fields(out: &mut Vec<u8>, answer: &Answer) {
    out.extend_from_slice(b"\"status\":");
    match answer.status {
        Some(status) => number(out, status.into()),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"body_bytes\":");
    number(out, answer.body_bytes);
    out.extend_from_slice(b",\"body_sha256\":");
    match &answer.body_sha256 {
        Some(digest) => text(out, digest),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"whole\":");
    truth(out, answer.whole);
    if !answer.events.is_empty() {
        out.extend_from_slice(b",\"events\":");
        by_serde(out, &answer.events);
    }
}

fn truth(out: &mut Vec<u8>, truth: bool) {
    out.extend_from_slice(if truth { b"true" } else { b"false" });
}

fn text(out: &mut Vec<u8>, text: &str) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    // Every byte is looked at, so that the compiler may look at many at once.
    if text
        .bytes()
        .fold(true, |plain, byte| plain & is_plain(byte))
    {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        by_serde(out, text);
    }
}

/// Two digits at a time, as most numbers here are times and long.
fn number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    while number >= 10 {
        start -= 2;
        let two = (number % 100) as u8;
        digits[start] = b'0' + two / 10;
        digits[start + 1] = b'0' + two % 10;
        number /= 100;
    }
    if number > 0 || start == digits.len() {
        start -= 1;
        digits[start] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

fn by_serde(out: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        // Cannot happen: no value here has a key that is not a string, and a
        // vector takes every byte. An unreadable line would be worse than null.
        out.truncate(before);
        let _ = out.write_all(b"null");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::{Ending, StepId};
    use crate::models::Decided;
    use crate::wire::SentEvents;

    fn any_what() -> impl Strategy<Value = What> {
        let maybe_text = || proptest::option::of(any::<String>());
        let fields = proptest::collection::vec((any::<String>(), any::<String>()), 0..4);
        prop_oneof![
            (any::<u64>(), any::<bool>())
                .prop_map(|(arrived_us, reused)| What::Started { arrived_us, reused }),
            (
                any::<u64>(),
                any::<String>(),
                any::<String>(),
                fields,
                any::<Option<usize>>(),
                any::<Option<(usize, usize)>>()
            )
                .prop_map(|(arrived_us, method, target, headers, queue, step)| {
                    What::Head {
                        arrived_us,
                        method,
                        target,
                        headers,
                        queue,
                        step: step.map(|(queue, step)| StepId { queue, step }),
                    }
                }),
            any::<(usize, usize)>().prop_map(|(queue, step)| What::Taken {
                step: StepId { queue, step }
            }),
            (any::<(u64, u64, bool)>(), maybe_text()).prop_map(
                |((arrived_us, body_bytes, drained), body_sha256)| What::Delivered {
                    arrived_us,
                    body_bytes,
                    body_sha256,
                    drained
                }
            ),
            (
                any::<(Option<u16>, u64, bool)>(),
                maybe_text(),
                any::<(Vec<String>, Vec<String>, Vec<String>)>()
            )
                .prop_map(|((status, body_bytes, whole), body_sha256, ids)| {
                    What::Answering {
                        answer: Answer {
                            status,
                            body_bytes,
                            body_sha256,
                            whole,
                            events: SentEvents {
                                whole: ids.0,
                                perhaps: ids.1,
                                left_out: ids.2,
                            },
                        },
                    }
                }),
            any::<(u64, u64)>().prop_map(|(bytes, handed_us)| What::Answered { bytes, handed_us }),
            any::<String>().prop_map(|reason| What::Malformed { reason }),
            (any::<String>(), any::<u64>()).prop_map(|(name, since_us)| What::Model {
                name,
                decided: Decided::Stage { number: 1, of: 2 },
                since_us
            }),
            Just(What::Ended { how: Ending::Reset }),
        ]
    }

    proptest! {
        #[test]
        fn the_text_is_that_of_serde(
            server in any::<String>(),
            connection in any::<Option<u32>>(),
            exchange in any::<Option<u32>>(),
            what in any_what(),
        ) {
            let event = ServerEvent { server: server.as_str().into(), connection, exchange, what };
            let mut written = Vec::new();
            event.write_json(&mut written);
            let written = String::from_utf8(written).unwrap();
            prop_assert_eq!(&written, &serde_json::to_string(&event).unwrap());
            prop_assert_eq!(serde_json::from_str::<ServerEvent>(&written).unwrap(), event);
        }
    }
}
