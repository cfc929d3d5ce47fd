//! One call: attempts, and within an attempt the hops of its redirects.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client_kit::messages::{Messages, State};
use client_kit::protocol::{Call, Limits, Message};

use crate::breaker::{Breaker, End};
use crate::budget::Budget;
use crate::cancel::Token;
use crate::checkpoints::Checkpoints;
use crate::clock;
use crate::connection::Connection;
use crate::defects::{Defect, Defects};
use crate::exchange::{Answer, Terms, exchange};
use crate::failure::{Failure, Kind};
use crate::hedge;
use crate::limiter::{Limiter, Open};
use crate::listening::Listening;
use crate::look_up::{LookUp, Truth};
use crate::policy::{Patience, Policy};
use crate::pool::Pool;
use crate::redirect;
use crate::reporter::Reporter;
use crate::request::Request;
use crate::retry::{self, Ended};

/// One client object: what it keeps to, and its connections.
pub(crate) struct Client {
    pub(crate) policy: Policy,
    pub(crate) defects: Defects,
    pub(crate) checkpoints: Checkpoints,
    limiter: Limiter,
    budget: Budget,
    breaker: Breaker,
    pool: Mutex<Pool>,
    /// Connections of cancelled calls, which a good client does not have.
    abandoned: Mutex<Vec<Connection>>,
}

/// The requests of a call that may have reached a server.
#[derive(Default)]
pub(crate) struct History {
    /// In the whole call.
    pub(crate) sent: u32,
    /// In this attempt, before the current hop.
    hops: u32,
    /// All waits of the call.
    pub(crate) waited: Duration,
    /// Where the answer is a list of events, what the caller got of it.
    listening: Option<Listening>,
}

impl Client {
    pub(crate) fn new(limits: &Limits, defects: Defects, checkpoints: Checkpoints) -> Self {
        let policy = Policy::new(limits, &defects);
        let retries_earn = defects.has(Defect::CountsRetriesAsCalls);
        Self {
            limiter: Limiter::new(policy.in_flight, policy.queue),
            budget: Budget::new(policy.retry_share, retries_earn),
            breaker: Breaker::new(policy.breaker),
            policy,
            defects,
            checkpoints,
            pool: Mutex::default(),
            abandoned: Mutex::default(),
        }
    }

    /// Makes a call and reports it, once; how it ended, unless a process before this one
    /// had made it.
    pub(crate) fn call(
        &self,
        call: &Call,
        messages: &Messages,
        token: &Token,
    ) -> io::Result<Option<Ended>> {
        if let Some(report) = self.checkpoints.ended_before(call.id) {
            messages.send(&Message::Report(report.clone()))?;
            return Ok(None);
        }
        let mut reporter = Reporter::of(call, messages, &self.checkpoints);
        messages.progress(call.id, State::Pending)?;
        let patience = self.policy.patience(token);
        let ended = match self.enter(call, &patience) {
            // The place is kept to the end of the call.
            Ok((request, look_up, _open)) => {
                match self.interrupted(call, (&request, &look_up), &patience) {
                    Some(ended) => ended,
                    None => {
                        self.checkpoints.begins(call.id)?;
                        self.budget.earn();
                        self.make(call, (&request, &look_up), patience, &mut reporter)?
                    }
                }
            }
            Err(failure) => Err(failure),
        };
        reporter.end(&ended, &self.defects)?;
        Ok(Some(ended))
    }

    /// A call that can be sent, once its turn has come.
    fn enter(
        &self,
        call: &Call,
        patience: &Patience,
    ) -> Result<(Request, LookUp, Open<'_>), Failure> {
        let (mut request, look_up) = (Request::of(call)?, LookUp::of(call)?);
        if self.checkpoints.is_again() && self.defects.has(Defect::NewKeyAfterRestart) {
            request.change_keys("again");
        }
        Ok((request, look_up, self.limiter.enter(patience)?))
    }

    /// What is to be said of a call that was under way when the process before this one
    /// was killed; none: it can be made, as it may arrive twice or has not arrived.
    fn interrupted(
        &self,
        call: &Call,
        (request, look_up): (&Request, &LookUp),
        patience: &Patience,
    ) -> Option<Ended> {
        let repeatable = request.may_arrive_twice(&self.defects);
        if repeatable || !self.checkpoints.was_under_way(call.id) {
            return None;
        }
        let note = "this program was killed while the call was under way";
        let ended = Err(Failure::new(Kind::Killed, note));
        let mut history = History {
            sent: 1,
            ..History::default()
        };
        match self.truth(&ended, look_up, patience, &mut history) {
            Truth::Done(found) => Some(found),
            Truth::NotDone => None,
            Truth::Unknown | Truth::NotAsked => Some(ended),
        }
    }

    fn make(
        &self,
        call: &Call,
        asked: (&Request, &LookUp),
        patience: Patience,
        reporter: &mut Reporter<'_>,
    ) -> io::Result<Ended> {
        if call.resumable {
            return self.upload(asked.0, &patience, reporter);
        }
        if let Some(job) = &call.job {
            return self.job((call, job), asked, &patience, reporter);
        }
        let listening = call.stream.as_ref().map(Listening::to);
        self.attempts(asked, patience, listening, reporter)
    }

    pub(crate) fn attempts(
        &self,
        (request, look_up): (&Request, &LookUp),
        mut patience: Patience,
        listening: Option<Listening>,
        reporter: &mut Reporter<'_>,
    ) -> io::Result<Ended> {
        let token = patience.token.clone();
        let repeatable = request.may_arrive_twice(&self.defects);
        let mut history = History {
            listening,
            ..History::default()
        };
        let mut again = None;
        let mut before = None;
        reporter.messages.progress(reporter.call, State::Working)?;
        let mut done = 0_u32;
        loop {
            done = done.saturating_add(1);
            let ended = self.attempt(again.as_ref().unwrap_or(request), &patience, &mut history);
            let ended = self.listened(ended, &history);
            if is_held_back(&ended) {
                // What came before it says more of the call.
                return Ok(before.unwrap_or(ended));
            }
            let begun = ended.as_ref().is_err_and(|failure| failure.answered);
            if begun && self.defects.has(Defect::AnnouncesSuccessEarly) {
                reporter
                    .messages
                    .progress(reporter.call, State::Succeeded)?;
            }
            reporter.events = history.listening.as_ref().map(Listening::ids);
            let wait = if self.may_begin_again(&history) {
                self.wait(repeatable, &ended, done, &history, &patience)
            } else {
                None
            };
            let wait = match wait {
                Some(wait) => wait,
                None => match self.truth(&ended, look_up, &patience, &mut history) {
                    Truth::Done(found) => return Ok(found),
                    Truth::NotDone if self.policy.layers.retry(done).is_some() => Duration::ZERO,
                    Truth::Unknown => {
                        reporter.held = true;
                        return Ok(ended);
                    }
                    Truth::NotDone | Truth::NotAsked => return Ok(ended),
                },
            };
            if self.defects.has(Defect::ReportsBeforeTheRetry) {
                reporter.end(&ended, &self.defects)?;
            }
            before = Some(ended);
            let next = request.again(done, &self.defects);
            again = Some(match &history.listening {
                Some(listening) => listening.rest(next, &self.defects),
                None => next,
            });
            reporter.earlier_sent = history.sent > 0;
            reporter.messages.progress(reporter.call, State::Retrying)?;
            self.sleep(wait, &patience, &mut history);
            if self.defects.has(Defect::TotalForEachAttempt) {
                patience = self.policy.patience(&token);
            }
            if token.is_cancelled() && self.defects.has(Defect::RetriesWhatWasCancelled) {
                // Whoever takes a cancel for a failure asks nobody any more.
                patience = self.policy.patience(&Token::default());
            }
        }
    }

    /// An answer whose list of events lacks its last one is no whole answer, however
    /// the connection ended.
    fn listened(&self, ended: Ended, history: &History) -> Ended {
        let answer = ended?;
        let whole = history.listening.as_ref().is_none_or(Listening::is_whole);
        let good = matches!(answer.status, 200..=299);
        if whole || !good || self.defects.has(Defect::AcceptsListWithoutItsEnd) {
            return Ok(answer);
        }
        Err(Failure {
            answered: true,
            ..Failure::new(Kind::Truncated, "the list ended before its last event")
        })
    }

    /// Whether another answer gives the caller nothing that it has.
    fn may_begin_again(&self, history: &History) -> bool {
        let begun = history.listening.as_ref();
        begun.is_none_or(Listening::may_go_on) || self.defects.has(Defect::StartsListsAgain)
    }

    /// Waits between two attempts.
    pub(crate) fn sleep(&self, wait: Duration, patience: &Patience, history: &mut History) {
        history.waited = history.waited.saturating_add(wait);
        if self.defects.has(Defect::SleepsThroughCancel) {
            clock::sleep(wait);
        } else {
            patience.token.sleep(wait);
        }
    }

    /// Reads what is still coming for calls that were cancelled: nothing, in a
    /// good client.
    pub(crate) fn read_on(&self) {
        let patience = self.policy.patience(&Token::default());
        let mut abandoned = self
            .abandoned
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for mut connection in abandoned.drain(..) {
            while connection.receive(&patience, None, usize::MAX).is_ok() {
                connection.use_up(usize::MAX);
            }
        }
    }

    /// How long to wait before a request is sent again; none: it is not. What the
    /// retry costs is paid.
    pub(crate) fn wait(
        &self,
        repeatable: bool,
        ended: &Ended,
        done: u32,
        history: &History,
        patience: &Patience,
    ) -> Option<Duration> {
        let retry = self.policy.layers.retry(done)?;
        let wait = retry::decide(repeatable, ended, retry, &self.policy, &self.defects)?;
        let waited = if self.defects.has(Defect::ForgetsEarlierWaits) {
            Duration::ZERO
        } else {
            history.waited
        };
        let within = self.policy.wait.is_none_or(|most| waited + wait <= most);
        (within && patience.allows(wait) && self.budget.spend()).then_some(wait)
    }

    /// One attempt, if the server may be asked at all.
    pub(crate) fn attempt(
        &self,
        request: &Request,
        patience: &Patience,
        history: &mut History,
    ) -> Ended {
        let Some(pass) = self.breaker.admit(clock::now()) else {
            let note = "the server has failed too often, and is left alone";
            return Err(Failure {
                sent_before: history.sent,
                ..Failure::new(Kind::BreakerOpen, note)
            });
        };
        let ended = if self.defects.has(Defect::SharesAbortTimer) {
            self.hops(request, patience, history)
        } else {
            self.hops(request, &self.policy.of_attempt(patience), history)
        };
        self.breaker.ended(&pass, health(&ended), clock::now());
        ended
    }

    /// Sends the request and follows redirects.
    fn hops(&self, request: &Request, patience: &Patience, history: &mut History) -> Ended {
        if patience.token.is_cancelled() && !self.defects.has(Defect::SleepsThroughCancel) {
            return Err(Failure::cancelled());
        }
        let mut request = request.clone();
        history.hops = 0;
        let mut hop = 0;
        loop {
            let answer = self.send(&request, patience, history)?;
            let next = redirect::next(&request, answer.status, &answer.fields, &self.defects)
                .filter(|_| self.policy.redirects > 0);
            let Some(next) = next else {
                return Ok(answer);
            };
            if hop == self.policy.redirects {
                let note = format!(
                    "more than {hop} redirects; the next one leads to {}",
                    next.url
                );
                return Err(Failure::new(Kind::TooManyRedirects, note));
            }
            if self.defects.has(Defect::TrustsConnectErrorAfterRedirect) {
                // It judges the call by its last connection alone.
                *history = History {
                    listening: history.listening.take(),
                    ..History::default()
                };
            }
            request = next;
            hop += 1;
        }
    }

    /// Sends one request on a kept or a new connection.
    fn send(
        &self,
        request: &Request,
        patience: &Patience,
        history: &mut History,
    ) -> Result<Answer, Failure> {
        if self.defects.has(Defect::SendsTwice) {
            // The copy counts for nothing; nobody knows that it was sent.
            let _ = self.send_once(request, patience, None);
        }
        let hedged = self.policy.hedge_after.filter(|_| {
            let twice = request.may_arrive_twice(&self.defects);
            history.listening.is_none() && (twice || self.defects.has(Defect::HedgesPosts))
        });
        let (sent, copies) = match hedged {
            None => {
                let listening = history.listening.as_mut();
                (self.send_once(request, patience, listening), 1)
            }
            Some(after) => {
                let raced = hedge::race(after, &patience.token, |token| {
                    self.send_once(request, &patience.with(token), None)
                });
                (raced.ended.map_err(worst), raced.copies)
            }
        };
        let (sent_before, hops_before) = (history.sent, history.hops);
        if sent.as_ref().map_or_else(|failure| failure.sent, |_| true) {
            history.sent += copies;
            history.hops += 1;
        }
        sent.map_err(|failure| Failure {
            sent_before,
            hops_before,
            ..failure
        })
    }

    fn send_once(
        &self,
        request: &Request,
        patience: &Patience,
        listening: Option<&mut Listening>,
    ) -> Result<Answer, Failure> {
        let origin = &request.url.origin;
        let kept = self.pool().take(origin, &self.defects);
        let mut connection = match kept {
            Some(connection) => connection,
            None => Connection::open(origin, patience, &self.defects)?,
        };
        let terms = Terms {
            policy: &self.policy,
            patience,
            defects: &self.defects,
        };
        let answer = exchange(&mut connection, request, terms, listening);
        let cancelled = matches!(&answer, Err(failure) if failure.kind == Kind::Cancelled);
        let reads_on = self.defects.has(Defect::ReadsOnAfterCancel)
            || self.defects.has(Defect::KeepsTheSlowerCopy);
        if cancelled && reads_on {
            let mut abandoned = self.abandoned.lock();
            let abandoned = abandoned.as_mut().map_err(|_| ());
            if let Ok(abandoned) = abandoned {
                abandoned.push(connection);
            }
            return answer;
        }
        let answer = answer?;
        if answer.reusable || self.defects.has(Defect::ReusesPoisonedConnection) {
            self.pool().put(origin.clone(), connection);
        }
        Ok(answer)
    }

    /// The connections, for a moment: calls may be made at the same time.
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the client itself sent nothing, for the server's sake.
fn is_held_back(ended: &Ended) -> bool {
    matches!(ended, Err(failure) if failure.kind == Kind::BreakerOpen)
}

/// What an attempt says of the server.
fn health(ended: &Ended) -> End {
    match ended {
        Ok(answer) if matches!(answer.status, 500..=599) => End::Bad,
        Ok(_) => End::Good,
        Err(failure) if failure.kind == Kind::Cancelled => End::Unknown,
        Err(_) => End::Bad,
    }
}

/// Of the failures of several copies one that was sent, as that speaks for the call.
fn worst(failures: Vec<Failure>) -> Failure {
    let worst = failures.into_iter().max_by_key(|failure| failure.sent);
    worst.unwrap_or_else(|| Failure::new(Kind::Closed, "no copy told how it ended"))
}
