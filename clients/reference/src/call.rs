//! One call: attempts, and within an attempt the hops of its redirects.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client_kit::messages::{Messages, State};
use client_kit::protocol::{Call, Limits, Message, Report};

use crate::cancel::Token;
use crate::connection::Connection;
use crate::defects::{Defect, Defects};
use crate::exchange::{Answer, Terms, exchange};
use crate::failure::{Failure, Kind};
use crate::listening::Listening;
use crate::look_up::{LookUp, Truth};
use crate::policy::{Patience, Policy};
use crate::pool::Pool;
use crate::redirect;
use crate::report;
use crate::request::Request;
use crate::retry::{self, Ended};

/// One client object: what it keeps to, and its connections.
pub(crate) struct Client {
    pub(crate) policy: Policy,
    pub(crate) defects: Defects,
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
    /// Where the answer is a list of events, what the caller got of it.
    listening: Option<Listening>,
}

impl Client {
    pub(crate) fn new(limits: &Limits, defects: Defects) -> Self {
        Self {
            policy: Policy::new(limits, &defects),
            defects,
            pool: Mutex::default(),
            abandoned: Mutex::default(),
        }
    }

    /// Makes a call and reports it, once.
    pub(crate) fn call(&self, call: &Call, messages: &Messages, token: &Token) -> io::Result<()> {
        let mut reporter = Reporter {
            call: call.id,
            messages,
            reported: false,
            earlier_sent: false,
            events: None,
        };
        messages.progress(call.id, State::Pending)?;
        let requests = Request::of(call).and_then(|request| Ok((request, LookUp::of(call)?)));
        let ended = match requests {
            Ok((request, _)) if call.resumable => self.upload(&request, token, &mut reporter)?,
            Ok((request, look_up)) => {
                let listening = call.stream.as_ref().map(Listening::to);
                let asked = (&request, &look_up);
                self.attempts(asked, token, listening, &mut reporter)?
            }
            Err(failure) => Err(failure),
        };
        reporter.end(&ended, &self.defects)
    }

    fn attempts(
        &self,
        (request, look_up): (&Request, &LookUp),
        token: &Token,
        listening: Option<Listening>,
        reporter: &mut Reporter<'_>,
    ) -> io::Result<Ended> {
        let mut patience = self.policy.patience(token);
        let repeatable = request.may_arrive_twice(&self.defects);
        let mut history = History {
            listening,
            ..History::default()
        };
        let mut again = None;
        reporter.messages.progress(reporter.call, State::Working)?;
        let mut done = 0_u32;
        loop {
            done = done.saturating_add(1);
            let ended = self.attempt(again.as_ref().unwrap_or(request), &patience, &mut history);
            let ended = self.listened(ended, &history);
            let begun = ended.as_ref().is_err_and(|failure| failure.answered);
            if begun && self.defects.has(Defect::AnnouncesSuccessEarly) {
                reporter
                    .messages
                    .progress(reporter.call, State::Succeeded)?;
            }
            reporter.events = history.listening.as_ref().map(Listening::ids);
            let wait = self.wait(repeatable, &ended, done, &patience);
            let wait = match wait.filter(|_| self.may_begin_again(&history)) {
                Some(wait) => wait,
                None => match self.truth(&ended, look_up, &patience, &mut history) {
                    Truth::Done(found) => return Ok(found),
                    Truth::NotDone if done < self.policy.attempts => Duration::ZERO,
                    Truth::NotDone | Truth::Unknown => return Ok(ended),
                },
            };
            if self.defects.has(Defect::ReportsBeforeTheRetry) {
                reporter.end(&ended, &self.defects)?;
            }
            again = Some(request.again(done, &self.defects));
            reporter.earlier_sent = history.sent > 0;
            reporter.messages.progress(reporter.call, State::Retrying)?;
            self.sleep(wait, &patience);
            if self.defects.has(Defect::TotalForEachAttempt) {
                patience = self.policy.patience(token);
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

    /// Whether nothing was given to the caller that another answer would repeat.
    fn may_begin_again(&self, history: &History) -> bool {
        let begun = history.listening.as_ref();
        !begun.is_some_and(Listening::has_begun) || self.defects.has(Defect::StartsListsAgain)
    }

    /// Waits between two attempts.
    pub(crate) fn sleep(&self, wait: Duration, patience: &Patience) {
        if self.defects.has(Defect::SleepsThroughCancel) {
            crate::clock::sleep(wait);
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

    /// How long to wait before a request is sent again; none: it is not.
    pub(crate) fn wait(
        &self,
        repeatable: bool,
        ended: &Ended,
        done: u32,
        patience: &Patience,
    ) -> Option<Duration> {
        retry::decide(repeatable, ended, done, &self.defects)
            .filter(|wait| done < self.policy.attempts && patience.allows(*wait))
    }

    /// Sends the request and follows redirects.
    pub(crate) fn attempt(
        &self,
        request: &Request,
        patience: &Patience,
        history: &mut History,
    ) -> Ended {
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
        let sent = self.send_once(request, patience, history.listening.as_mut());
        let (sent_before, hops_before) = (history.sent, history.hops);
        if sent.as_ref().map_or_else(|failure| failure.sent, |_| true) {
            history.sent += 1;
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
        if cancelled && self.defects.has(Defect::ReadsOnAfterCancel) {
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

/// Reports a call.
pub(crate) struct Reporter<'a> {
    pub(crate) call: u32,
    pub(crate) messages: &'a Messages,
    reported: bool,
    /// Whether an attempt before the last one was sent.
    pub(crate) earlier_sent: bool,
    /// Of a list of events, those that the caller was given.
    events: Option<Vec<String>>,
}

impl Reporter<'_> {
    /// Says how the call ended. Only the first time: what comes after a report
    /// nobody is told.
    fn end(&mut self, ended: &Ended, defects: &Defects) -> io::Result<()> {
        if std::mem::replace(&mut self.reported, true) {
            return Ok(());
        }
        let good = ended
            .as_ref()
            .is_ok_and(|answer| matches!(answer.status, 200..=299));
        let state = if good {
            State::Succeeded
        } else {
            State::Failed
        };
        self.messages.progress(self.call, state)?;
        let claim = report::claim(ended, self.earlier_sent);
        let shown = report::shown(ended, defects);
        self.messages.send(&Message::Report(Report {
            call: self.call,
            shown,
            claim,
            events: self.events.clone(),
        }))
    }
}
