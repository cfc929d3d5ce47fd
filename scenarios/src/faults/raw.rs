//! `raw`: exact bytes instead of an answer.

mod answer;
mod reader;

use std::time::Duration;

use scripted_servers::wire::{Answer, End, WireProgram, WireStep};
use serde::{Deserialize, Serialize};

use reader::Read;

use super::common::program::Program;
use super::common::shown::{Arrives, Comes, Met, Period, end_in_words, retry_after};
use super::{Asker, Behaviour, Entry, Fault, Listed};
use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, Span, Value, ids};
use crate::manifest::ErrorKind;
use crate::plan::StepPlan;
use crate::reading::{Reading, content, points};
use crate::rendering::Rendering;
use crate::template::{Bindings, Template};

/// `raw: [{text: "HTTP/1.1 200 OK\r\n\r\n"}, {pause: 5ms}, {hex: "00ff"}]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// Each written on its own.
    pub parts: Vec<RawPart>,
    /// How the connection ends behind them; none: it stays.
    pub end: Option<End>,
}

/// One write, or a pause between two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RawPart {
    /// This text.
    Text(Template),
    /// These bytes.
    Hex(Vec<u8>),
    /// Nothing for so long.
    Pause(Duration),
    /// Text or bytes so often, in one write.
    Repeated(Box<RawPart>, u32),
}

pub(super) static ENTRY: Entry = Entry {
    listed: Listed {
        place: "step",
        word: "raw",
        summary: "exact bytes instead of an answer, part by part; the connection stays open unless `end` or `then` ends it",
        example: r#"raw: [ { text: "HTTP/1.1 200 OK\r\n" }, { pause: 5ms }, { hex: "0d 0a" } ]"#,
    },
    kind: || Kind::list(Kind::Map(&KEYS)),
    parts: &[
        Listed {
            place: "raw",
            word: "times",
            summary: "a part again and again, in one write: very many or very long headers",
            example: r#"raw: [ { text: "HTTP/1.1 200 OK\r\n" }, { text: "X-A: 1\r\n", times: 10000 } ]"#,
        },
        Listed {
            place: "raw",
            word: "end",
            summary: "behind the last byte the connection ends: `reset`, `close`, `half-close` or `hang`",
            example: r#"raw: [ { text: "<html>an answer of HTTP/0.9</html>" }, { end: close } ]"#,
        },
    ],
    decode: |node, reading| decode(node, reading).map(Fault::Raw),
};

/// Most bytes of one `raw`.
const MOST: u64 = 16 << 20;

/// The most times that a part is written.
const MOST_TIMES: u64 = 1_000_000;

static KEYS: Keys = Keys::new(
    "a part of `raw`",
    &[
        ("text", "text that is written as it stands", Kind::any_text),
        ("hex", "bytes in hexadecimal", content::hex),
        ("pause", "how long nothing is written", Kind::time),
        (
            "times",
            "with `text` or `hex`: how often, in one write",
            || Kind::Number(1..=MOST_TIMES),
        ),
        (
            "end",
            "as the last part: how the connection ends: `reset`, `close`, `half-close` or `hang`",
            points::end,
        ),
    ],
)
.rules(&[
    Rule::OneOf(FORMS),
    Rule::AtMostOneOf(&["times", "pause", "end"]),
]);

const FORMS: &[&str] = &["text", "hex", "pause", "end"];

/// Reads the parameters.
fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Raw> {
    let items = node.filled_list("`raw`", reading.out)?;
    let (items, end) = match items.split_last() {
        Some((last, before)) if is_end(last) => (before, Some(end(last, reading)?)),
        _ => (items, None),
    };
    let parts: Vec<_> = items.iter().map(|item| part(item, reading)).collect();
    let parts = parts.into_iter().collect::<Option<Vec<_>>>()?;
    if parts.iter().all(|part| matches!(part, RawPart::Pause(_))) {
        node.wrong::<()>(
            "`raw`",
            "a list with at least one `text` or `hex`",
            reading.out,
        );
        reading.out.last().beyond_schema();
        return None;
    }
    let raw = Raw { parts, end };
    let bytes = raw.parts.iter().map(RawPart::length);
    let bytes = bytes.fold(0, u64::saturating_add);
    if bytes > MOST {
        reading
            .out
            .report(ids::TOO_MUCH_CONTENT, &node.span, "too many raw bytes")
            .label(format!(
                "these are {bytes} bytes, and at most 16MiB are sent"
            ))
            .help("write a smaller number of `times`");
        return None;
    }
    reading.hold(bytes, &node.span);
    Some(raw)
}

fn is_end(node: &Node) -> bool {
    matches!(&node.value, Value::Map(keys) if keys.iter().any(|(key, _)| key.text == "end"))
}

fn end(node: &Node, reading: &mut Reading<'_>) -> Option<End> {
    let fields = node.fields(&KEYS, reading.out)?;
    let (_, _, value) = fields.one_of(FORMS, reading.out)?;
    let end = reading.end(value)?;
    let Some((key, _)) = fields.entry("times") else {
        return Some(end);
    };
    without_bytes(&key.span, "a connection ends once", "remove it", reading);
    None
}

fn without_bytes(at: &Span, why: &str, help: &str, reading: &mut Reading<'_>) {
    reading
        .out
        .report(ids::KEY_WITHOUT, at, "`times` needs `text` or `hex`")
        .label(why)
        .help(help);
}

fn part(node: &Node, reading: &mut Reading<'_>) -> Option<RawPart> {
    let fields = node.fields(&KEYS, reading.out)?;
    let (form, key, value) = fields.one_of(FORMS, reading.out)?;
    let part = match form {
        "end" => {
            reading
                .out
                .report(ids::KEY_WITHOUT, &key.span, "`end` is the last part")
                .label("nothing can be written behind the end of the connection")
                .help("make it the last item of the list")
                .beyond_schema();
            return None;
        }
        "text" => reading.template(value, "`text`").map(RawPart::Text),
        "hex" => reading.hex(value).map(RawPart::Hex),
        _ => value.duration("`pause`", reading.out).map(RawPart::Pause),
    }?;
    let Some((key, times)) = fields.entry("times") else {
        return Some(part);
    };
    if matches!(part, RawPart::Pause(_)) {
        let why = "a pause is written with its whole length";
        without_bytes(
            &key.span,
            why,
            "remove it, and write a longer pause",
            reading,
        );
        return None;
    }
    let times = times.number("`times`", 1..=MOST_TIMES, reading.out)?;
    let times = u32::try_from(times).ok()?;
    Some(RawPart::Repeated(Box::new(part), times))
}

impl RawPart {
    /// Its bytes; none: a pause.
    fn bytes(&self, names: &Bindings) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.render(names).into_bytes()),
            Self::Hex(bytes) => Some(bytes.clone()),
            Self::Pause(_) => None,
            Self::Repeated(part, times) => Some(part.bytes(names)?.repeat(*times as usize)),
        }
    }

    /// About how many bytes it writes; addresses are short.
    fn length(&self) -> u64 {
        match self {
            Self::Repeated(part, times) => part.length().saturating_mul(u64::from(*times)),
            part => {
                let bytes = part.bytes(&Bindings::default());
                bytes.map_or(0, |bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX))
            }
        }
    }

    fn pause(&self) -> Option<Duration> {
        match self {
            Self::Pause(time) => Some(*time),
            _ => None,
        }
    }

    fn text(&self) -> Option<&Template> {
        match self {
            Self::Text(text) => Some(text),
            Self::Repeated(part, _) => part.text(),
            Self::Hex(_) | Self::Pause(_) => None,
        }
    }
}

impl Behaviour for Raw {
    fn program(&self, step: &StepPlan, with: &Rendering<'_>) -> WireProgram {
        let mut program = Program::begin(step);
        let mut all = Vec::new();
        let interim = answer::interim_end(&self.bytes(with.bindings));
        let mut answer_from = 0;
        for part in &self.parts {
            let Some(bytes) = part.bytes(with.bindings) else {
                let pause = part.pause().unwrap_or_default();
                program.steps.push(WireStep::Wait(pause));
                continue;
            };
            all.extend_from_slice(&bytes);
            program.steps.push(WireStep::Send(bytes.into()));
            if all.len() <= interim {
                answer_from = program.steps.len();
            }
        }
        let steps = match self.end {
            Some(end) => program.cut(end),
            None => program.keep(with),
        };
        WireProgram {
            steps,
            answer: Some(answer::answer(
                &all,
                self.ends_in_order() || step.is_closed_behind(),
            )),
            verbatim: true,
            answer_from,
            continues: step.continues,
            ..WireProgram::default()
        }
    }

    fn shows(&self, to: &Asker<'_>) -> Result<Met, String> {
        let bytes = self.bytes(to.names);
        let pauses = self.parts.iter().filter_map(RawPart::pause);
        let periods = pauses.map(|time| Period::Silent(Some(time)));
        let mut met = match reader::read(&bytes, self.ends_in_order()) {
            Read::Malformed => Met::new(Arrives::Yes, Comes::Fails(vec![ErrorKind::Malformed])),
            Read::Unfinished => match self.end {
                None | Some(End::Hang) => Met::silent(Arrives::Yes),
                Some(End::Close | End::HalfClose | End::Reset) => {
                    Met::new(Arrives::Yes, Comes::Fails(vec![ErrorKind::Truncated]))
                }
            },
            Read::Unclear => {
                return Err("undocumented: what the client makes of these raw bytes".to_owned());
            }
            Read::Answer {
                status,
                headers,
                clean,
            } => Met::new(
                Arrives::Yes,
                comes(status, &headers, clean && self.end.is_none()),
            ),
        };
        met.periods.splice(0..0, periods);
        Ok(met)
    }

    fn words(&self) -> String {
        match self.end {
            Some(end) => format!("raw, then {}", end_in_words(end)),
            None => "raw".to_owned(),
        }
    }

    fn ends_connection(&self) -> bool {
        self.end.is_some()
    }

    fn own_time(&self) -> Duration {
        let pauses = self.parts.iter().filter_map(RawPart::pause);
        pauses.fold(Duration::ZERO, Duration::saturating_add)
    }

    fn texts(&self) -> Vec<&Template> {
        self.parts.iter().filter_map(RawPart::text).collect()
    }

    /// Of raw bytes nobody says what they mean, so what was given is all.
    fn is_all_sent(&self, _: Option<&Answer>) -> bool {
        true
    }
}

impl Raw {
    /// Whether FIN tells the end of content that has no other.
    fn ends_in_order(&self) -> bool {
        matches!(self.end, Some(End::Close | End::HalfClose))
    }

    fn bytes(&self, names: &Bindings) -> Vec<u8> {
        let parts = self.parts.iter();
        parts
            .filter_map(|part| part.bytes(names))
            .flatten()
            .collect()
    }
}

fn comes(status: u16, headers: &[(String, String)], clean: bool) -> Comes {
    let field = |name: &str| {
        let mut headers = headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    };
    Comes::Answer {
        status,
        // Rendered with stand-in addresses, which lead back to the servers they
        // stand for.
        location: field("location").map(Template::text),
        retry_after: field("retry-after").map(retry_after),
        kept: clean.then_some(None),
    }
}
