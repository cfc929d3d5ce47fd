//! A batch: many items, several in a request where the client is told so. What was taken
//! is kept, what may be taken later is sent again, alone, and what was refused goes to the
//! dead letters: it is reported at once and holds up nobody.

use std::io;

use client_kit::digest::BodyDigest;
use client_kit::messages::{Messages, State};
use client_kit::protocol::{Batch, Body, Call, Message};
use client_kit::session::Controls;
use serde_json::Value;

use crate::call::{Client, History};
use crate::cancel::Token;
use crate::codec::Fields;
use crate::defects::Defect;
use crate::exchange::Answer;
use crate::failure::{Failure, Kind};
use crate::policy::Patience;
use crate::reporter::Reporter;
use crate::request::Request;
use crate::retry::{self, Ended};

/// Whom is told, and who may cancel.
type With<'a> = (&'a Messages, &'a Controls);

/// What became of the items of one request.
#[derive(Default)]
struct Met<'c> {
    /// Those that are to be sent again.
    again: Vec<&'c Call>,
    /// Whether one of them is a dead letter.
    refused: bool,
}

impl Client {
    /// Sends all items of a batch, and reports each.
    pub(crate) fn batch(&self, items: &[Call], batch: &Batch, with: With<'_>) -> io::Result<()> {
        let mut open = self.left_open(items, batch, with.0)?;
        let mut round = 0;
        while !open.is_empty() {
            round += 1;
            if round > 1 {
                self.sleep_before(round - 1, open[0], with.1);
            }
            let size = batch.per_request.max(1) as usize;
            let mut again = Vec::new();
            let mut blocked = false;
            for part in open.chunks(size) {
                if blocked {
                    leave(self, part, with.0)?;
                    continue;
                }
                let met = match &batch.into {
                    None => self.alone(part, with)?,
                    Some(into) => self.together(part, into, round, with)?,
                };
                again.extend(met.again);
                blocked = met.refused && self.defects.has(Defect::PoisonBlocksTheRest);
            }
            open = again;
        }
        Ok(())
    }

    /// The items of which nothing was told before this process; of those that are sent
    /// alone their calls know it.
    fn left_open<'c>(
        &self,
        items: &'c [Call],
        batch: &Batch,
        messages: &Messages,
    ) -> io::Result<Vec<&'c Call>> {
        let mut open = Vec::new();
        for item in items {
            match self.checkpoints.ended_before(item.id) {
                Some(report) if batch.into.is_some() => {
                    messages.send(&Message::Report(report.clone()))?;
                }
                _ => open.push(item),
            }
        }
        Ok(open)
    }

    fn sleep_before(&self, retry: u32, first: &Call, controls: &Controls) {
        let token = Token::of(first.id, controls);
        let patience = self.policy.patience(&token);
        let wait = retry::backoff(retry, &self.policy);
        self.sleep(wait, &patience, &mut History::default());
    }

    /// Items that are sent alone are calls like any others.
    fn alone<'c>(&self, part: &[&'c Call], (messages, controls): With<'_>) -> io::Result<Met<'c>> {
        let mut met = Met::default();
        for call in part {
            let token = Token::of(call.id, controls);
            let ended = self.call(call, messages, &token)?;
            let answer = ended.and_then(Result::ok);
            met.refused |= answer.is_some_and(|answer| matches!(answer.status, 400..=499));
        }
        Ok(met)
    }

    /// Items that share a request.
    fn together<'c>(
        &self,
        part: &[&'c Call],
        into: &str,
        round: u32,
        (messages, controls): With<'_>,
    ) -> io::Result<Met<'c>> {
        let Some(first) = part.first() else {
            return Ok(Met::default());
        };
        for call in part {
            let states: &[State] = match round {
                1 => &[State::Pending, State::Working],
                _ => &[State::Retrying],
            };
            for state in states {
                messages.progress(call.id, *state)?;
            }
        }
        let patience = self.policy.patience(&Token::of(first.id, controls));
        let ended = merged(part, into).and_then(|request| self.sent(&request, &patience));
        let (statuses, ended) = told(ended, part.len());
        if let Some(statuses) = statuses {
            return self.each(part, &statuses, round, messages);
        }
        for call in part {
            Reporter::of(call, messages, &self.checkpoints).end(&ended, &self.defects)?;
        }
        Ok(Met::default())
    }

    /// Sends a request, again where that is safe.
    fn sent(&self, request: &Request, patience: &Patience) -> Ended {
        let repeatable = request.may_arrive_twice(&self.defects);
        let mut history = History::default();
        let mut done = 0_u32;
        loop {
            done = done.saturating_add(1);
            let ended = self.attempt(request, patience, &mut history);
            let Some(wait) = self.wait(repeatable, &ended, done, &history, patience) else {
                return ended;
            };
            self.sleep(wait, patience, &mut history);
        }
    }

    /// Takes what was said of each item.
    fn each<'c>(
        &self,
        part: &[&'c Call],
        statuses: &[u16],
        round: u32,
        messages: &Messages,
    ) -> io::Result<Met<'c>> {
        let is_left = self.policy.layers.retry(round).is_some();
        let whatever = self.defects.has(Defect::ResendsRefusedItems);
        let comes_again = |status: u16| {
            let later = retry::is_not_now(status) || whatever;
            is_left && later && !matches!(status, 200..=299)
        };
        if self.defects.has(Defect::ResendsTheWholeBatch)
            && statuses.iter().any(|status| comes_again(*status))
        {
            return Ok(Met {
                again: part.to_vec(),
                refused: false,
            });
        }
        let mut met = Met::default();
        for (call, status) in part.iter().zip(statuses) {
            if comes_again(*status) {
                met.again.push(call);
                continue;
            }
            let ended = verdict(*status);
            met.refused |= ended.is_err();
            Reporter::of(call, messages, &self.checkpoints).end(&ended, &self.defects)?;
        }
        Ok(met)
    }
}

/// Reports items that a careless client does not send any more.
fn leave(client: &Client, part: &[&Call], messages: &Messages) -> io::Result<()> {
    let note = "an item before it was refused";
    let ended = Err(Failure::new(Kind::Unusable, note));
    for call in part {
        Reporter::of(call, messages, &client.checkpoints).end(&ended, &client.defects)?;
    }
    Ok(())
}

/// The request of several items.
fn merged(part: &[&Call], into: &str) -> Result<Request, Failure> {
    let unusable = |note: &str| Failure::new(Kind::Unusable, note);
    let first = part.first().ok_or_else(|| unusable("no items"))?;
    let mut list = Vec::new();
    for call in part {
        let body = call.body.as_ref();
        let content = body.and_then(|body| body.load().ok());
        let content = content.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        list.push(content.ok_or_else(|| unusable("an item is no JSON"))?);
    }
    let content = serde_json::json!({ into: list });
    let mut request = Request::of(&Call {
        body: Some(Body::Text(content.to_string())),
        ..(*first).clone()
    })?;
    let ids: Vec<String> = part.iter().map(|call| call.id.to_string()).collect();
    request.is_of(&ids.join(","));
    Ok(request)
}

/// What an answer says of each item; none: nobody speaks of the single items, and all of
/// them ended like this.
fn told(ended: Ended, items: usize) -> (Option<Vec<u16>>, Ended) {
    let answer = match ended {
        Ok(answer) if matches!(answer.status, 200..=299) => answer,
        other => return (None, other),
    };
    match statuses(&answer).filter(|statuses| statuses.len() == items) {
        Some(statuses) => (Some(statuses), Ok(answer)),
        None => {
            let note = "the answer does not say of each item what became of it";
            (None, Err(Failure::new(Kind::Malformed, note)))
        }
    }
}

fn statuses(answer: &Answer) -> Option<Vec<u16>> {
    let content: Value = serde_json::from_slice(&answer.kept).ok()?;
    let items = content.get("items")?.as_array()?;
    let status = |item: &Value| u16::try_from(item.get("status")?.as_u64()?).ok();
    items.iter().map(status).collect()
}

/// How an item ended of which this was said.
fn verdict(status: u16) -> Ended {
    if !matches!(status, 200..=299) {
        let note = format!("the item was refused with {status}");
        return Err(Failure::new(Kind::ItemRefused, note));
    }
    Ok(Answer {
        status,
        fields: Fields::default(),
        content: BodyDigest::new(),
        kept: Vec::new(),
        whole: false,
        reusable: false,
    })
}
