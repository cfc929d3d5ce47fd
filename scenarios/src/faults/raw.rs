//! `raw`: exact bytes instead of an answer.

mod answer;
mod reader;

use std::time::Duration;

use scripted_servers::wire::{Answer, WireProgram, WireStep};
use serde::{Deserialize, Serialize};

use reader::Read;

use super::common::program::Program;
use super::common::shown::{Arrives, Comes, Met, Period, retry_after};
use super::{Asker, Behaviour, Entry, Fault, Listed};
use crate::document::Node;
use crate::document::decode::Keys;
use crate::manifest::ErrorKind;
use crate::plan::StepPlan;
use crate::reading::Reading;
use crate::rendering::Rendering;
use crate::template::{Bindings, Template};

/// `raw: [{text: "HTTP/1.1 200 OK\r\n\r\n"}, {pause: 5ms}, {hex: "00ff"}]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// Each written on its own.
    pub parts: Vec<RawPart>,
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
}

pub(super) static ENTRY: Entry = Entry {
    listed: Listed {
        place: "step",
        word: "raw",
        summary: "exact bytes instead of an answer, each part written on its own",
        example: r#"raw: [ { text: "HTTP/1.1 200 OK\r\n" }, { pause: 5ms }, { hex: "0d 0a" } ]"#,
    },
    keys: None,
    parts: &[],
    decode: |node, reading| decode(node, reading).map(Fault::Raw),
};

static KEYS: Keys = Keys::new(
    "a part of `raw`",
    &[
        ("text", "text that is written as it stands"),
        ("hex", "bytes in hexadecimal"),
        ("pause", "how long nothing is written"),
    ],
);

/// Reads the parameters.
fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Raw> {
    let items = node.filled_list("`raw`", reading.out)?;
    let parts: Vec<_> = items.iter().map(|item| part(item, reading)).collect();
    let parts = parts.into_iter().collect::<Option<Vec<_>>>()?;
    if parts.iter().all(|part| matches!(part, RawPart::Pause(_))) {
        return node.wrong(
            "`raw`",
            "a list with at least one `text` or `hex`",
            reading.out,
        );
    }
    Some(Raw { parts })
}

fn part(node: &Node, reading: &mut Reading<'_>) -> Option<RawPart> {
    let fields = node.fields(&KEYS, reading.out)?;
    let (form, _, value) = fields.one_of(&["text", "hex", "pause"], reading.out)?;
    match form {
        "text" => reading.template(value, "`text`").map(RawPart::Text),
        "hex" => reading.hex(value).map(RawPart::Hex),
        _ => value.duration("`pause`", reading.out).map(RawPart::Pause),
    }
}

impl Behaviour for Raw {
    fn program(&self, step: &StepPlan, with: &Rendering<'_>) -> WireProgram {
        let mut program = Program::begin(step);
        let mut all = Vec::new();
        let interim = answer::interim_end(&self.bytes(with.bindings));
        let mut answer_from = 0;
        for part in &self.parts {
            let bytes = match part {
                RawPart::Text(text) => text.render(with.bindings).into_bytes(),
                RawPart::Hex(bytes) => bytes.clone(),
                RawPart::Pause(pause) => {
                    program.steps.push(WireStep::Wait(*pause));
                    continue;
                }
            };
            all.extend_from_slice(&bytes);
            program.steps.push(WireStep::Send(bytes.into()));
            if all.len() <= interim {
                answer_from = program.steps.len();
            }
        }
        WireProgram {
            steps: program.keep(),
            answer: Some(answer::answer(&all)),
            verbatim: true,
            answer_from,
            continues: step.continues,
            ..WireProgram::default()
        }
    }

    fn shows(&self, to: &Asker<'_>) -> Result<Met, String> {
        let mut bytes = Vec::new();
        let mut periods = Vec::new();
        for part in &self.parts {
            match part {
                RawPart::Text(text) => bytes.extend(text.render(to.names).into_bytes()),
                RawPart::Hex(hex) => bytes.extend(hex),
                RawPart::Pause(time) => periods.push(Period::Silent(Some(*time))),
            }
        }
        let mut met = match reader::read(&bytes) {
            Read::Malformed => Met::new(Arrives::Yes, Comes::Fails(vec![ErrorKind::Malformed])),
            Read::Unfinished => Met::silent(Arrives::Yes),
            Read::Unclear => {
                return Err("undocumented: what the client makes of these raw bytes".to_owned());
            }
            Read::Answer {
                status,
                headers,
                clean,
            } => Met::new(Arrives::Yes, comes(status, &headers, clean)),
        };
        met.periods.splice(0..0, periods);
        Ok(met)
    }

    fn words(&self) -> String {
        "raw".to_owned()
    }

    fn own_time(&self) -> Duration {
        let pauses = self.parts.iter().map(|part| match part {
            RawPart::Pause(pause) => *pause,
            RawPart::Text(_) | RawPart::Hex(_) => Duration::ZERO,
        });
        pauses.fold(Duration::ZERO, Duration::saturating_add)
    }

    fn texts(&self) -> Vec<&Template> {
        let texts = self.parts.iter().filter_map(|part| match part {
            RawPart::Text(text) => Some(text),
            RawPart::Hex(_) | RawPart::Pause(_) => None,
        });
        texts.collect()
    }

    /// Of raw bytes nobody says what they mean, so what was given is all.
    fn is_all_sent(&self, _: Option<&Answer>) -> bool {
        true
    }
}

impl Raw {
    fn bytes(&self, names: &Bindings) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in &self.parts {
            match part {
                RawPart::Text(text) => bytes.extend(text.render(names).into_bytes()),
                RawPart::Hex(hex) => bytes.extend(hex),
                RawPart::Pause(_) => {}
            }
        }
        bytes
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
