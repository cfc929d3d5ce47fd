//! `jobs`: work is submitted, and asked after until it is done.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Asked, Decided, Decision, Reply, Says};
use crate::script::Route;

/// What the jobs keep to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The effect of submitting.
    pub effect: String,
    /// Requests that submit.
    pub submit: Route,
    /// Requests that ask; the job's id stands in the place of its `*`.
    pub query: Route,
    /// The header field that tells the code of a stage.
    pub code_header: String,
    /// The stages of each job, in order; the last one stays.
    pub stages: Vec<Stage>,
}

/// A stage of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its code.
    pub code: String,
    /// When it is over; none: it stays.
    pub lasts: Option<Lasts>,
    /// The content of an answer in it; none: empty.
    pub json: Option<serde_json::Value>,
}

/// When a stage is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lasts {
    /// After so many queries.
    Queries(u32),
    /// After this time.
    For(Duration),
}

pub(super) struct Machine {
    rules: Rules,
    /// By number; ids count from 1.
    jobs: Vec<Job>,
}

struct Job {
    stage: usize,
    /// When the stage began.
    began: Duration,
    /// Queries in the stage.
    queries: u32,
}

impl Machine {
    pub(super) fn new(rules: Rules) -> Self {
        let jobs = Vec::new();
        Self { rules, jobs }
    }

    fn submit(&mut self, at: Duration) -> Decision {
        self.jobs.push(Job {
            stage: 0,
            began: at,
            queries: 0,
        });
        let id = format!("job-{}", self.jobs.len());
        let reply = Reply::json(200, &serde_json::json!({ "job": id }));
        let decision = Decision::new(Decided::Submitted, Says::Answers(reply));
        decision.applies(&self.rules.effect, None)
    }

    fn query(&mut self, id: &str, at: Duration) -> Option<Decision> {
        let number: usize = id.strip_prefix("job-")?.parse().ok()?;
        let job = self.jobs.get_mut(number.checked_sub(1)?)?;
        job.catch_up(&self.rules.stages, at);
        job.queries = job.queries.saturating_add(1);
        let stage = self.rules.stages.get(job.stage)?;
        let reply = match &stage.json {
            Some(json) => Reply::json(200, json),
            None => Reply {
                content: Vec::new(),
                ..Reply::json(200, &serde_json::Value::Null)
            },
        };
        let decided = Decided::Stage {
            number: job.stage + 1,
            of: self.rules.stages.len(),
        };
        let code = (self.rules.code_header.clone(), stage.code.clone());
        Some(Decision {
            fields: vec![code],
            ..Decision::new(decided, Says::Answers(reply))
        })
    }
}

impl Job {
    /// Goes on to the stage that is due.
    fn catch_up(&mut self, stages: &[Stage], at: Duration) {
        while self.stage + 1 < stages.len() {
            let ended = match stages[self.stage].lasts {
                Some(Lasts::Queries(queries)) if self.queries >= queries => at,
                Some(Lasts::For(time)) if at >= self.began + time => self.began + time,
                _ => return,
            };
            self.stage += 1;
            self.queries = 0;
            self.began = ended;
        }
    }
}

impl super::Machine for Machine {
    fn ask(&mut self, asked: &Asked<'_>) -> Decision {
        if asked.is_on(&self.rules.submit) {
            return self.submit(asked.at);
        }
        if !asked.is_on(&self.rules.query) {
            return Decision::passed();
        }
        let id = asked.named_by(&self.rules.query);
        let known = self.query(id, asked.at);
        known.unwrap_or_else(|| Decision::refused(Decided::Missing, 404))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::models::testing::{answered, request};
    use crate::script::PathPattern;

    fn stage(code: &str, lasts: Lasts) -> Stage {
        Stage {
            code: code.to_owned(),
            lasts: Some(lasts),
            json: None,
        }
    }

    fn jobs(stages: Vec<Stage>) -> Machine {
        Machine::new(Rules {
            effect: "task".to_owned(),
            submit: Route {
                method: Some("POST".to_owned()),
                path: PathPattern::Exact("/jobs".to_owned()),
            },
            query: Route {
                method: None,
                path: PathPattern::Prefix("/jobs/".to_owned()),
            },
            code_header: "X-Code".to_owned(),
            stages,
        })
    }

    fn code(jobs: &mut Machine, at: u64) -> String {
        let decision = request(at, "GET /jobs/job-1").ask(jobs);
        decision.fields[0].1.clone()
    }

    #[test]
    fn a_stage_lasts_so_many_queries_or_so_long_and_the_last_one_stays() {
        let mut jobs = jobs(vec![
            stage("a", Lasts::Queries(2)),
            stage("b", Lasts::For(Duration::from_millis(100))),
            stage("c", Lasts::Queries(1)),
        ]);
        let submitted = request(0, "POST /jobs").ask(&mut jobs);
        assert_eq!(answered(&submitted).1, r#"{"job":"job-1"}"#);
        assert!(!submitted.effects.is_empty());
        let times = [10, 20, 30, 129, 130, 500, 501];
        let codes = times.map(|at| code(&mut jobs, at)).concat();
        assert_eq!(codes, "aabbccc");
    }

    #[test]
    fn every_stage_but_the_last_refuses() {
        let mut jobs = jobs(vec![
            stage("a", Lasts::Queries(1)),
            stage("b", Lasts::Queries(1)),
        ]);
        request(0, "POST /jobs").ask(&mut jobs);
        let refused = [1, 2, 3].map(|at| {
            let query = request(at, "GET /jobs/job-1");
            query.decided(&mut jobs).refuses()
        });
        assert_eq!(refused, [true, false, false]);
    }

    #[test]
    fn a_job_that_nobody_submitted_is_missing() {
        let mut jobs = jobs(vec![stage("a", Lasts::Queries(1))]);
        request(0, "POST /jobs").ask(&mut jobs);
        for id in ["job-0", "job-2", "1", "", "job-1/x"] {
            let query = request(1, &format!("GET /jobs/{id}"));
            assert_eq!(answered(&query.ask(&mut jobs)).0, 404, "{id}");
        }
    }

    proptest! {
        #[test]
        fn stages_are_shown_in_order_and_none_longer_than_it_lasts(
            queries in proptest::collection::vec(1_u32..4, 1..5),
            asked in 1_usize..30,
        ) {
            let stages = queries.iter().enumerate();
            let stages = stages.map(|(at, count)| stage(&at.to_string(), Lasts::Queries(*count)));
            let mut jobs = jobs(stages.collect());
            request(0, "POST /jobs").ask(&mut jobs);
            let last = queries.len() - 1;
            let counted = queries[..last].iter().enumerate();
            let mut expected = counted.flat_map(|(at, count)| vec![at; *count as usize]);
            for at in 1..=asked {
                let expected = expected.next().unwrap_or(last).to_string();
                prop_assert_eq!(code(&mut jobs, at as u64), expected);
            }
        }
    }
}
