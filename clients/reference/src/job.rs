//! A job: work that is submitted once, and asked after until a code ends it. Whatever
//! becomes of a query, the work goes on, and is paid for: to submit it again makes a
//! second one, and to give up loses what came of the first.

use std::io;

use client_kit::protocol::{Call, Codes, Job};

use crate::call::{Client, History};
use crate::defects::Defect;
use crate::exchange::Answer;
use crate::failure::{Failure, Kind};
use crate::look_up::LookUp;
use crate::policy::Patience;
use crate::polls::Schedule;
use crate::reporter::Reporter;
use crate::request::Request;
use crate::retry::Ended;

/// What a query says of its job.
enum Met {
    /// It is over.
    End(Ended),
    /// It goes on.
    GoesOn,
    /// Nothing: the query failed, or somebody before the API answered it.
    Nothing(Ended),
}

impl Client {
    /// Submits a job and asks after it.
    pub(crate) fn job(
        &self,
        (call, job): (&Call, &Job),
        asked: (&Request, &LookUp),
        patience: &Patience,
        reporter: &mut Reporter<'_>,
    ) -> io::Result<Ended> {
        loop {
            let submitted = self.attempts(asked, patience.clone(), None, reporter)?;
            let answer = match submitted {
                Ok(answer) if matches!(answer.status, 200..=299) => answer,
                other => return Ok(other),
            };
            let Some(id) = id(&answer) else {
                let note = "the answer to the submit names no job";
                return Ok(Err(Failure::new(Kind::Malformed, note)));
            };
            // No refusal of a query says that the job was not begun.
            reporter.earlier_sent = true;
            if let Some(ended) = self.follow((call, job), &id, patience)? {
                return Ok(ended);
            }
        }
    }

    /// Asks after a job until it is over; none: it shall be submitted again, which only
    /// a careless client does.
    fn follow(
        &self,
        (call, job): (&Call, &Job),
        id: &str,
        patience: &Patience,
    ) -> io::Result<Option<Ended>> {
        let query = match Request::of(&query(call, job, id)) {
            Ok(query) => query,
            Err(failure) => return Ok(Some(Err(failure))),
        };
        let mut patience = patience.clone();
        if self.defects.has(Defect::PollsWithoutABudget) {
            patience.deadline = None;
        }
        let mut schedule = Schedule::new(&self.policy.polls);
        let mut history = History::default();
        loop {
            let wait = schedule.next();
            if !patience.allows(wait) {
                let note = format!("{id} was not done in time, and may be done later");
                return Ok(Some(Err(Failure::new(Kind::TotalTimeout, note))));
            }
            self.sleep(wait, &patience, &mut history);
            let ended = self.attempt(&query, &patience, &mut history);
            match self.met(ended, &job.codes) {
                Met::End(ended) => return Ok(Some(ended)),
                Met::Nothing(_) if self.defects.has(Defect::ResubmitsWhenAQueryFails) => {
                    return Ok(None);
                }
                Met::Nothing(ended) if self.defects.has(Defect::GivesUpAtABare502) => {
                    return Ok(Some(ended));
                }
                Met::GoesOn | Met::Nothing(_) => {}
            }
        }
    }

    fn met(&self, ended: Ended, codes: &Codes) -> Met {
        let answer = match ended {
            Ok(answer) => answer,
            Err(failure) => return of_failure(failure),
        };
        if matches!(answer.status, 200..=299) && self.defects.has(Defect::TakesWorkingForDone) {
            return Met::End(Ok(answer));
        }
        let Some(code) = answer.fields.get(&codes.header) else {
            return of_another(answer);
        };
        let done = if self.defects.has(Defect::KnowsOneDoneCode) {
            codes.done.get(..1).unwrap_or_default()
        } else {
            &codes.done
        };
        let unlisted = !fits(code, &codes.working);
        if fits(code, done) {
            Met::End(Ok(answer))
        } else if fits(code, &codes.refused) && !self.defects.has(Defect::PollsAfterATerminalCode)
            || unlisted && self.defects.has(Defect::GivesUpAtAProviderFault)
        {
            Met::End(Err(refused(code, &answer)))
        } else {
            Met::GoesOn
        }
    }
}

/// The call that asks after a job.
fn query(call: &Call, job: &Job, id: &str) -> Call {
    let fill = |text: &String| text.replace("{job}", id);
    let headers = job.headers.iter();
    Call {
        method: job.method.clone(),
        url: fill(&job.url),
        headers: headers
            .map(|(name, value)| (name.clone(), fill(value)))
            .collect(),
        body: job.body.clone(),
        stream_body: false,
        ..call.clone()
    }
}

/// The id in the answer to a submit.
fn id(answer: &Answer) -> Option<String> {
    let content: serde_json::Value = serde_json::from_slice(&answer.kept).ok()?;
    let id = content.get("job")?.as_str()?;
    (!id.is_empty()).then(|| id.to_owned())
}

/// Failures that end a job are those of the whole call.
fn of_failure(failure: Failure) -> Met {
    match failure.kind {
        Kind::Cancelled | Kind::TotalTimeout | Kind::Unusable => Met::End(Err(failure)),
        _ => Met::Nothing(Err(failure)),
    }
}

/// An answer without a code: only one that says that the query itself is wrong is
/// worth no other query.
fn of_another(answer: Answer) -> Met {
    match answer.status {
        408 | 425 | 429 => Met::Nothing(Ok(answer)),
        400..=499 => Met::End(Ok(answer)),
        _ => Met::Nothing(Ok(answer)),
    }
}

fn fits(code: &str, entries: &[String]) -> bool {
    entries.iter().any(|entry| match entry.strip_suffix('*') {
        Some(begin) => code.starts_with(begin),
        None => code == entry,
    })
}

fn refused(code: &str, answer: &Answer) -> Failure {
    let note = format!("the job ended with code {code}: {}", answer.content.start());
    Failure::new(Kind::JobRefused, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_fits_its_code_or_all_that_begin_so() {
        let fits = |code| fits(code, &["20000000".to_owned(), "4500*".to_owned()]);
        assert!(fits("20000000") && fits("45000001") && fits("4500"));
        assert!(!fits("200000001") && !fits("2000000") && !fits("45"));
    }
}
