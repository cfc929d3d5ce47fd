//! What the wire programs of all behaviours have in common.

use scripted_servers::wire::{End, WireStep};

use crate::plan::StepPlan;

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
    /// Reads the request up to the step's point, counts the effect and waits the
    /// step's delay.
    pub(in crate::faults) fn begin(step: &'s StepPlan) -> Self {
        let mut steps = vec![WireStep::ReadUntil(step.request_point())];
        steps.extend(step.applies.clone().map(WireStep::Effect));
        if !step.delay.is_zero() {
            steps.push(WireStep::Wait(step.delay));
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
            End::Hang => "the bytes before it were acknowledged, then silence",
        };
        self.end(proof, end)
    }

    /// All bytes were sent; the connection stays, or ends when it stays idle.
    pub(in crate::faults) fn keep(mut self) -> Vec<WireStep> {
        if self.step.is_fault() {
            self.steps.push(WireStep::AwaitAcknowledged);
        }
        if let Some((how, after)) = self.step.then {
            self.steps
                .push(WireStep::Fired("the idle connection was ended"));
            self.steps.push(WireStep::EndWhenIdle(after, how));
        } else if self.step.is_fault() {
            self.steps
                .push(WireStep::Fired("all its bytes were acknowledged"));
        }
        self.steps
    }
}
