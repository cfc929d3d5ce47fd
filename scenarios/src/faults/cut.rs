//! `cut`: read the request up to a point, answer nothing, end the connection.

use scripted_servers::wire::{End, Position, RequestPoint, WireProgram};
use serde::{Deserialize, Serialize};

use super::Listed;
use crate::document::Node;
use crate::document::decode::Keys;
use crate::plan::StepPlan;
use crate::program::Program;
use crate::validate::Reading;

/// `cut: {after: request, with: reset}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// How far the request is read.
    pub after: RequestPoint,
    /// How the connection ends.
    pub with: End,
}

pub(super) const LISTED: Listed = Listed {
    place: "step",
    word: "cut",
    summary: "read the request up to a point, answer nothing, end the connection",
    example: "cut: { after: request, with: reset }",
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
            "how the connection ends: `reset`, `close` or `hang`",
        ),
    ],
);

/// Reads the parameters.
pub(super) fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Cut> {
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

impl Cut {
    pub(super) fn is_inside_head(&self) -> bool {
        matches!(self.after, RequestPoint::Head(position) if position != Position::All)
    }

    pub(super) fn program(&self, step: &StepPlan) -> WireProgram {
        let program = Program::begin(step, self.after);
        let proof = match self.with {
            End::Reset => "read up to the point, then RST",
            End::Close => "read up to the point, then FIN",
            End::Hang => "read up to the point, then silence",
        };
        WireProgram {
            steps: program.end(proof, self.with),
            answer: None,
            verbatim: false,
        }
    }
}
