//! What the wire shows of a request once models have decided about it.

use std::sync::Arc;

use scripted_servers::models::{Passage, Rules, Says, Through};
use scripted_servers::wire::{WireProgram, WireStep};

use crate::faults::{Answered, ByModel};
use crate::models::ModelPlan;
use crate::plan::{ServerPlan, StepPlan};
use crate::rendering::Rendering;

/// What a server is told of a model.
pub(super) fn rules(model: &ModelPlan) -> (String, Rules) {
    (model.name.clone(), model.model.remembers().rules())
}

/// The models of a step, with the program for each of their decisions.
pub(super) fn through(
    step: &StepPlan,
    server: &ServerPlan,
    with: &Rendering<'_>,
) -> Option<Through> {
    if !step.goes_through_models() {
        return None;
    }
    let (plan, models) = (step.clone(), server.models.clone());
    let (bindings, api, to, seed) = (with.bindings.clone(), with.api, with.to, with.seed);
    let program = move |passage: &Passage| {
        let with = Rendering {
            bindings: &bindings,
            api,
            to,
            seed,
        };
        program(&plan, &models, passage, &with)
    };
    Some(Through {
        models: step.through.clone(),
        program: Arc::new(program),
    })
}

fn program(
    step: &StepPlan,
    models: &[ModelPlan],
    passage: &Passage,
    with: &Rendering<'_>,
) -> WireProgram {
    let shown = decided(step, models, passage);
    let mut program = shown.fault.program(&shown, with);
    if let Some(answer) = &mut program.answer {
        answer.events.left_out = left_out(passage);
    }
    match step.is_fault() {
        true => program,
        false => proved_by_refusal(program, passage.is_refused()),
    }
}

/// The events that a model left out, as the client says that it has them.
fn left_out(passage: &Passage) -> Vec<String> {
    match passage.end().map(|(_, decision)| &decision.says) {
        Some(Says::Lists(list)) => list.left_out.clone(),
        _ => Vec::new(),
    }
}

/// The step as it is for a request about which models have decided.
fn decided(step: &StepPlan, models: &[ModelPlan], passage: &Passage) -> StepPlan {
    let fields: Vec<(String, String)> = passage.fields().cloned().collect();
    let mut shown = step.clone();
    let mut answered = None;
    if let Some((name, decision)) = passage.end() {
        answered = match &decision.says {
            Says::Passes => None,
            Says::Answers(reply) => Some(Answered::Reply(reply)),
            Says::Lists(list) => Some(Answered::List(&list.events)),
            Says::Denies => {
                let mut models = models.iter();
                let model = models.find(|model| model.name == name);
                let denial = model.and_then(|one| one.model.remembers().denial());
                denial.map(Answered::Denial)
            }
        };
        // What the step applies it applies to what passes.
        shown.applies = None;
        shown.takes = decision.takes;
    }
    let given = ByModel {
        fields: &fields,
        answered,
    };
    if let Some(fault) = shown.fault.behaviour().with_answer(&given) {
        shown.fault = fault;
    }
    shown
}

/// The wire is left alone, so that only a refusal can be what had to happen.
fn proved_by_refusal(mut program: WireProgram, refused: bool) -> WireProgram {
    let is_proof = |step: &WireStep| matches!(step, WireStep::Fired(_));
    program.steps.retain(|step| !is_proof(step));
    if refused {
        program.steps.push(WireStep::AwaitAcknowledged);
        program.steps.push(WireStep::Fired(
            "a model refused, and all its bytes were acknowledged",
        ));
    }
    program
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use scripted_servers::models::{Decided, Decision, Reply};
    use scripted_servers::wire::End;

    use super::*;
    use crate::apis::Api;
    use crate::manifest::OperationName;
    use crate::template::Bindings;
    use crate::testing::{cut, respond, step};

    fn passage(decided: Decided, status: u16) -> Passage {
        let reply = Reply {
            status,
            content: b"of the model".to_vec(),
            media: "text/plain",
        };
        let decision = Decision {
            decided,
            says: Says::Answers(reply),
            fields: vec![("X-Left".to_owned(), "3".to_owned())],
            effects: Vec::new(),
            takes: Duration::ZERO,
        };
        Passage(vec![("store".to_owned(), decision)])
    }

    fn shown(step: &StepPlan, passage: &Passage) -> (String, bool) {
        let with = Rendering {
            bindings: &Bindings::default(),
            api: Api::PlainJson,
            to: OperationName::Create,
            seed: 0,
        };
        let program = program(step, &[], passage, &with);
        let sent = program.steps.iter().filter_map(|step| match step {
            WireStep::Send(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        });
        let is_proof = |step: &WireStep| matches!(step, WireStep::Fired(_));
        (sent.collect(), program.steps.iter().any(is_proof))
    }

    #[test]
    fn a_step_that_leaves_the_answer_open_shows_that_of_the_model() {
        let open = step(crate::faults::Fault::by_model());
        let (text, proof) = shown(&open, &passage(Decided::Ran, 200));
        assert_eq!(
            text,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Left: 3\r\n\
             Content-Length: 12\r\n\r\nof the model"
        );
        assert!(!proof, "nothing was refused");
        let (text, proof) = shown(&open, &passage(Decided::Conflict, 422));
        assert!(text.starts_with("HTTP/1.1 422 "), "{text}");
        assert!(proof);
    }

    #[test]
    fn a_stage_before_the_last_is_proved_although_it_is_a_success() {
        let open = step(crate::faults::Fault::by_model());
        let stage = |number| Decided::Stage { number, of: 2 };
        assert!(shown(&open, &passage(stage(1), 200)).1);
        assert!(!shown(&open, &passage(stage(2), 200)).1);
    }

    #[test]
    fn a_status_of_the_step_stands_for_a_success_and_not_for_a_refusal() {
        let (text, _) = shown(&respond(201), &passage(Decided::Ran, 200));
        assert!(text.starts_with("HTTP/1.1 201 "), "{text}");
        let (text, _) = shown(&respond(201), &passage(Decided::Busy, 409));
        assert!(text.starts_with("HTTP/1.1 409 "), "{text}");
    }

    #[test]
    fn a_failure_of_the_step_hides_what_the_model_answers() {
        for decided in [Decided::Ran, Decided::Conflict] {
            let (text, proof) = shown(&respond(503), &passage(decided, 200));
            assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
            assert!(!text.contains("of the model"), "{text}");
            assert!(proof, "the wire is its own fault");
        }
    }

    #[test]
    fn a_cut_loses_the_answer_whatever_the_model_decides() {
        let (text, proof) = shown(&cut(End::Reset), &passage(Decided::Stored, 200));
        assert_eq!((text.as_str(), proof), ("", true));
    }
}
