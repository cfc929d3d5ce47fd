//! What a step shows to a request: whether the request arrives, how long the
//! answer takes, and what comes in the end.

use std::time::Duration;

use scripted_servers::script::ConnectionAct;
use scripted_servers::wire::Continue;

use crate::faults::Asker;
use crate::faults::shown::{Arrives, Comes, Idle, Met, Period, WHOLE_IN_KERNEL, closed};
use crate::manifest::ErrorKind;
use crate::plan::{Plan, StepPlan};
use crate::target;

/// What a request meets on a connection that is not served.
pub(super) fn unserved(act: ConnectionAct, content: u64) -> Met {
    let arrives = if content <= WHOLE_IN_KERNEL {
        Arrives::Yes
    } else {
        Arrives::Perhaps
    };
    match act {
        ConnectionAct::Reset => Met::new(arrives, Comes::Fails(vec![ErrorKind::Reset])),
        ConnectionAct::Close => Met::new(arrives, Comes::Fails(closed(content))),
        ConnectionAct::Hang | ConnectionAct::Serve => Met::silent(arrives),
    }
}

/// What a step shows to a request with so much content.
pub(super) fn step(plan: &Plan, step: &StepPlan, content: u64) -> Result<Met, String> {
    if step.continues != Continue::Sent && content > 0 {
        return Err(
            "undocumented: whether and how long the client waits for 100 (Continue)".to_owned(),
        );
    }
    let names = &target::stand_ins(&plan.servers);
    let mut met = step.fault.behaviour().shows(&Asker { content, names })?;
    // A client may stop sending where it sees the answer.
    if step.answers_early() && content > 0 && met.arrives == Arrives::Yes {
        met.arrives = Arrives::Perhaps;
    }
    if !step.wait().is_zero() {
        met.periods.insert(0, Period::Silent(Some(step.wait())));
    }
    if let Some(slow) = step.slow_read
        && slow.time_for(content) > Duration::ZERO
    {
        if plan.limits.idle.is_some() || plan.limits.total.is_some() {
            return Err(
                "undocumented: what the client's limits make of content that is read slowly"
                    .to_owned(),
            );
        }
        met.periods
            .insert(0, Period::Busy(Some(slow.time_for(content))));
    }
    if met.comes == Comes::Nothing && step.then.is_some() {
        return Err(
            "undocumented: what the client makes of a part of an answer and what follows it"
                .to_owned(),
        );
    }
    if let (Comes::Answer { kept, .. }, Some(then)) = (&mut met.comes, &step.then)
        && kept.is_some()
    {
        *kept = Some(Some(Idle {
            after: then.after,
            speaks: then.sends.is_some(),
        }));
    }
    Ok(met)
}
