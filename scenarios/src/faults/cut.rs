//! `cut`: read the request up to a point, answer nothing, end the connection.

use scripted_servers::wire::{End, Position, RequestPoint, WireProgram};
use serde::{Deserialize, Serialize};

use super::common::program::Program;
use super::common::shown::{
    Arrives, Comes, Met, TOO_MUCH_FOR_KERNEL, WHOLE_IN_KERNEL, closed, end_in_words,
};
use super::{Asker, Behaviour, Entry, Fault, Listed, Redirects};
use crate::document::Node;
use crate::document::decode::Keys;
use crate::manifest::ErrorKind;
use crate::plan::StepPlan;
use crate::reading::Reading;
use crate::rendering::Rendering;

/// `cut: {after: request, with: reset}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// How far the request is read.
    pub after: RequestPoint,
    /// How the connection ends.
    pub with: End,
}

pub(super) static ENTRY: Entry = Entry {
    listed: Listed {
        place: "step",
        word: "cut",
        summary: "read the request up to a point, answer nothing, end the connection",
        example: "cut: { after: request, with: reset }",
    },
    keys: Some(&KEYS),
    parts: &[],
    decode: |node, reading| decode(node, reading).map(Fault::Cut),
};

static KEYS: Keys = Keys::new(
    "`cut`",
    &[
        (
            "after",
            "how far the request is read: `request`, `{head: N}` or `{body: N}`",
        ),
        (
            "with",
            "how the connection ends: `reset`, `close`, `half-close` or `hang`",
        ),
    ],
);

/// Reads the parameters.
fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Cut> {
    let fields = node.fields(&KEYS, reading.out)?;
    let after = fields.need("after", reading.out);
    let with = fields.need("with", reading.out);
    let after = after.and_then(|node| reading.request_point(node));
    let with = with.and_then(|node| reading.end(node));
    Some(Cut {
        after: after?,
        with: with?,
    })
}

impl Behaviour for Cut {
    fn program(&self, step: &StepPlan, _: &Rendering<'_>) -> WireProgram {
        let program = Program::begin(step);
        let proof = match self.with {
            End::Reset => "read up to the point, then RST",
            End::Close | End::HalfClose => "read up to the point, then FIN",
            End::Hang => "read up to the point, then silence",
        };
        WireProgram {
            steps: program.end(proof, self.with),
            answer: None,
            continues: step.continues,
            ..WireProgram::default()
        }
    }

    fn shows(&self, to: &Asker<'_>) -> Result<Met, String> {
        let arrives = match arrives(self.after, to.content) {
            Arrives::No if self.reads_on() => Arrives::Perhaps,
            arrives => arrives,
        };
        Ok(match self.with {
            End::Reset => Met::new(arrives, Comes::Fails(vec![ErrorKind::Reset])),
            End::Close if arrives == Arrives::Yes => {
                Met::new(arrives, Comes::Fails(vec![ErrorKind::Closed]))
            }
            End::Close => Met::new(arrives, Comes::Fails(closed(to.content))),
            // All is read, but a client may stop where it sees the FIN.
            End::HalfClose => Met::new(arrives, Comes::Fails(vec![ErrorKind::Closed])),
            End::Hang => Met::silent(arrives),
        })
    }

    fn words(&self) -> String {
        format!("cut with {}", end_in_words(self.with))
    }

    fn request_point(&self) -> RequestPoint {
        self.after
    }

    fn answers(&self) -> bool {
        false
    }

    fn reads_on(&self) -> bool {
        self.with == End::HalfClose
    }

    fn ends_connection(&self) -> bool {
        true
    }

    fn may_succeed(&self) -> bool {
        false
    }

    fn may_hang(&self) -> bool {
        self.with == End::Hang
    }

    fn redirects(&self) -> Redirects {
        Redirects::Never
    }
}

/// Whether a request arrives as a whole that is read up to a point.
fn arrives(point: RequestPoint, content: u64) -> Arrives {
    let to_come = match point {
        RequestPoint::Request => return Arrives::Yes,
        RequestPoint::Head(_) => content,
        RequestPoint::Body(position) => content.saturating_sub(place(position, content)),
    };
    match to_come {
        0 => Arrives::Yes,
        _ if content <= WHOLE_IN_KERNEL => Arrives::Yes,
        TOO_MUCH_FOR_KERNEL.. => Arrives::No,
        _ => Arrives::Perhaps,
    }
}

fn place(position: Position, content: u64) -> u64 {
    match position {
        Position::Bytes(bytes) => bytes,
        Position::Half => content / 2,
        Position::Last => content.saturating_sub(1),
        Position::All => content,
    }
}
