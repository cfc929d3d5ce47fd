//! What the wire programs of all behaviours have in common.

use std::time::Duration;

use scripted_servers::wire::{End, WireStep};

use crate::plan::{SlowRead, StepPlan, Then};
use crate::rendering::Rendering;

/// The wire steps of one step of a scenario, in the making.
///
/// A fault has one `Fired`, behind all that makes it true; what a client ends
/// before that, in a delay, a drip or a stall, the interpreter counts as fired.
/// A plain step has none, since nothing about it could happen.
pub(in crate::faults) struct Program<'s> {
    step: &'s StepPlan,
    pub(in crate::faults) steps: Vec<WireStep>,
}

impl<'s> Program<'s> {
    /// Reads the request up to the step's point, begins the effect and waits until
    /// the act is due.
    pub(in crate::faults) fn begin(step: &'s StepPlan) -> Self {
        let point = step.request_point();
        let mut steps = vec![match step.slow_read {
            None => WireStep::ReadUntil(point),
            Some(SlowRead { bytes, every }) => WireStep::ReadSlowly {
                point,
                bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
                every,
            },
        }];
        steps.extend(step.applies.clone().map(|effect| match step.takes {
            Duration::ZERO => WireStep::Effect(effect),
            takes => WireStep::Work(effect, takes),
        }));
        if !step.wait().is_zero() {
            steps.push(WireStep::Wait(step.wait()));
        }
        Self { step, steps }
    }

    /// The connection ends, which is the fault.
    pub(in crate::faults) fn end(mut self, proof: &'static str, end: End) -> Vec<WireStep> {
        self.steps.push(WireStep::Fired(proof));
        self.steps.push(WireStep::End(end));
        self.steps
    }

    /// The connection ends behind what was sent, which is the fault.
    pub(in crate::faults) fn cut(mut self, end: End) -> Vec<WireStep> {
        self.steps.push(WireStep::AwaitAcknowledged);
        // RST throws away what the client has not read yet, so that it would
        // see one error or another by chance.
        if end == End::Reset {
            self.steps.push(WireStep::AwaitTaken);
        }
        let proof = match end {
            End::Reset => "the bytes before it were taken, then RST",
            End::Close | End::HalfClose => "the bytes before it were acknowledged, then FIN",
            End::Hang => "the bytes before it, then silence",
        };
        self.end(proof, end)
    }

    /// All bytes were sent; the connection stays, or something becomes of it when
    /// it stays idle.
    pub(in crate::faults) fn keep(mut self, with: &Rendering<'_>) -> Vec<WireStep> {
        if self.step.is_fault() {
            self.steps.push(WireStep::AwaitAcknowledged);
        }
        if let Some(then) = &self.step.then {
            self.idle(then, with);
        } else if self.step.is_fault() {
            self.steps
                .push(WireStep::Fired("all its bytes were acknowledged"));
        }
        self.steps
    }

    fn idle(&mut self, then: &Then, with: &Rendering<'_>) {
        let mut left = then.after;
        let mut proof = "the idle connection was ended";
        if let Some(sends) = &then.sends {
            let bytes = sends.render(with).bytes;
            self.steps.push(WireStep::SendWhenIdle(left, bytes.into()));
            left = Duration::ZERO;
            proof = match then.end {
                Some(_) => {
                    "bytes that nobody asked for were sent, then the idle connection was ended"
                }
                None => "bytes that nobody asked for reached the idle client",
            };
        }
        self.steps.push(WireStep::Fired(proof));
        let end = then.end.map(|how| WireStep::EndWhenIdle(left, how));
        self.steps.extend(end);
    }
}
