//! Models, as far as a walk can follow them.

use crate::scope::Treatment;
use scripted_servers::models::{idempotency, limiter};
use scripted_servers::wire::End;

use super::*;
use crate::faults::Fault;
use crate::faults::respond::Respond;
use crate::models::{Idempotency, Limiter, Model, ModelPlan};
use crate::policy::not_computable;
use crate::testing::{cut, step};

fn store(takes: u64) -> Model {
    Model::Idempotency(Idempotency(idempotency::Rules {
        header: "Idempotency-Key".to_owned(),
        effect: "order".to_owned(),
        busy: 409,
        conflict: 422,
        takes: ms(takes),
    }))
}

/// A first answer that is lost, then whatever the model answers.
fn with(model: Model) -> Plan {
    let mut case = one([cut(End::Reset), step(Fault::by_model())]);
    let server = &mut case.servers[0];
    server.models.push(ModelPlan {
        name: "it".to_owned(),
        line: 4,
        model,
    });
    for step in &mut server.queues[0].steps {
        step.through.push("it".to_owned());
    }
    case
}

fn why_not(case: &Plan) -> Option<&'static str> {
    not_computable(
        &case.servers,
        &case.calls,
        &case.limits,
        Treatment::default(),
    )
}

#[test]
fn what_a_store_answers_is_taken_for_a_success() {
    let case = with(store(0));
    assert_eq!(why_not(&case), None);
    let prediction = predict(&case, &client([on_errors(&[ErrorKind::Reset], 3)]));
    assert_eq!(exact(&prediction, "api"), 2);
}

#[test]
fn no_walk_follows_a_limit_work_that_takes_time_or_a_key_of_several_calls() {
    let limiter = Model::Limiter(Limiter {
        rules: limiter::Rules {
            rule: limiter::Rule::Concurrency { max: 1 },
            tells: limiter::Tells::default(),
        },
        deny: Box::new(Respond {
            status: 429,
            ..Respond::plain()
        }),
    });
    assert!(why_not(&with(limiter)).is_some());
    assert!(why_not(&with(store(1))).is_some());
    let keyed = |case: Plan| case.with_header("idempotency-key", "k");
    let alone = keyed(with(store(0)));
    assert_eq!(why_not(&alone), None);
    assert!(why_not(&keyed(alone.call("GET", "api", "/y"))).is_some());
}

#[test]
fn no_walk_says_how_often_the_truth_is_asked_for() {
    let mut case = with(store(0));
    case.calls[0].look_up = Some(crate::testing::url("api", "/orders/1"));
    assert!(why_not(&case).is_some());
}
