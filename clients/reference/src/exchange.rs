//! One request and its answer on one connection.

use client_kit::digest::BodyDigest;

use crate::clock;
use crate::codec::{Body, Coding, Fields, Head, Lenience, Malformed, Shortfall};
use crate::connection::{Connection, Sent, Stop};
use crate::defects::{Defect, Defects};
use crate::failure::{CANCELLED, EndedBy, Failure, Kind};
use crate::listening::Listening;
use crate::policy::{Patience, Policy};
use crate::request::Request;

/// An answer as far as it was read.
pub(crate) struct Answer {
    /// Status code.
    pub(crate) status: u16,
    /// Header fields.
    pub(crate) fields: Fields,
    /// What its content was.
    pub(crate) content: BodyDigest,
    /// Its first bytes, for those who understand them.
    pub(crate) kept: Vec<u8>,
    /// Whether that was all of it.
    pub(crate) whole: bool,
    /// Whether the connection can serve another request.
    pub(crate) reusable: bool,
}

/// What an exchange keeps to.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// The client's policy.
    pub(crate) policy: &'a Policy,
    /// The call's limits of time.
    pub(crate) patience: &'a Patience,
    /// What is wrong with the client.
    pub(crate) defects: &'a Defects,
}

/// Sends the request and reads the answer.
pub(crate) fn exchange(
    connection: &mut Connection,
    request: &Request,
    terms: Terms<'_>,
    listening: Option<&mut Listening>,
) -> Result<Answer, Failure> {
    let mut exchange = Exchange {
        reused: connection.used,
        connection,
        terms,
        listening,
        sent: false,
        answered: false,
    };
    exchange.connection.used = true;
    let failure = match exchange.run(request) {
        Ok(answer) => return Ok(answer),
        Err(failure) => failure,
    };
    Err(Failure {
        sent: exchange.sent && failure.sent,
        answered: exchange.answered,
        reused: exchange.reused,
        ..failure
    })
}

struct Exchange<'a> {
    connection: &'a mut Connection,
    terms: Terms<'a>,
    /// Who gets the content of a good answer as it comes.
    listening: Option<&'a mut Listening>,
    reused: bool,
    sent: bool,
    answered: bool,
}

impl Exchange<'_> {
    fn run(&mut self, request: &Request) -> Result<Answer, Failure> {
        let wire = request.encode();
        let (early, whole_request) = self.send(&wire)?;
        let head = match early {
            Some(head) => head,
            None => self.head()?,
        };
        if self.terms.defects.has(Defect::HidesBadGateway)
            && matches!(head.status, 502..=504)
            && head.fields.is_empty()
        {
            return Err(Failure::new(Kind::Refused, "the gateway did not connect"));
        }
        if self.terms.defects.has(Defect::HidesMisdirection) && matches!(head.status, 407 | 421) {
            return Err(Failure::new(Kind::Unreachable, "the fetch failed"));
        }
        let lenience = Lenience {
            conflicting: self.terms.defects.has(Defect::AcceptsConflictingLengths),
            unreadable: self.terms.defects.has(Defect::IgnoresUnreadableLength),
        };
        let body = head.body(&request.method, lenience).map_err(malformed)?;
        let mut answer = self.content(head, body)?;
        answer.reusable &= whole_request && self.connection.arrived().is_empty();
        Ok(answer)
    }

    /// Sends the request. An answer that comes before the request is out ends
    /// the sending, since nobody may be reading the rest; the connection is then
    /// of no further use.
    fn send(&mut self, wire: &[u8]) -> Result<(Option<Head>, bool), Failure> {
        let mut rest = wire;
        loop {
            let sent = self.connection.send(&mut rest, self.terms.patience);
            self.sent |= rest.len() < wire.len();
            match sent.map_err(|stop| self.stopped(stop))? {
                Sent::All => return Ok((None, true)),
                Sent::Broken => return Ok((None, false)),
                Sent::PeerSpoke => {
                    match self
                        .connection
                        .receive(self.terms.patience, None, usize::MAX)
                    {
                        Ok(()) => {
                            if let Some(head) = self.final_head()? {
                                return Ok((Some(head), false));
                            }
                        }
                        Err(stop) => return Err(self.stopped(stop)),
                    }
                }
            }
        }
    }

    fn head(&mut self) -> Result<Head, Failure> {
        loop {
            if let Some(head) = self.final_head()? {
                return Ok(head);
            }
            self.connection
                .receive(self.terms.patience, None, usize::MAX)
                .map_err(|stop| self.stopped(stop))?;
        }
    }

    /// The final head, if it has arrived; interim ones before it are skipped.
    fn final_head(&mut self) -> Result<Option<Head>, Failure> {
        loop {
            self.answered |= !self.connection.arrived().is_empty();
            let Some((head, used)) = Head::parse(self.connection.arrived()).map_err(malformed)?
            else {
                return Ok(None);
            };
            self.connection.use_up(used);
            if head.status == 101 {
                let what = "101 without a request to switch protocols";
                return Err(malformed(Malformed(what.to_owned())));
            }
            if !head.is_interim() || self.terms.defects.has(Defect::TakesInterimAsFinal) {
                return Ok(Some(head));
            }
        }
    }

    fn content(&mut self, head: Head, mut body: Body) -> Result<Answer, Failure> {
        let limit = self
            .terms
            .policy
            .error_body
            .filter(|_| !matches!(head.status, 200..=299));
        let enough = limit.map(|limit| clock::now() + limit.time);
        let mut coding = Coding::of(&head.fields);
        let mut content = BodyDigest::new();
        let mut kept = Vec::new();
        let mut listening = self.listening.take();
        listening = listening.filter(|_| matches!(head.status, 200..=299));
        if let Some(listening) = &mut listening {
            listening.begin();
        }
        let whole = loop {
            // Framing only ever adds bytes, so that as many bytes of the wire as
            // are still wanted never hold more content than that.
            let wanted = limit.map(|limit| limit.bytes.saturating_sub(content.bytes()));
            let wanted = wanted.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
            let arrived = self.connection.arrived();
            let arrived = arrived.get(..wanted).unwrap_or(arrived);
            let used = body.take(arrived, &mut |data| {
                coding.take(data, &mut |plain| {
                    content.add(plain);
                    keep(&mut kept, plain);
                    if let Some(listening) = &mut listening {
                        listening.hear(plain);
                    }
                });
            });
            let used = used.map_err(malformed)?;
            self.connection.use_up(used);
            if body.is_complete() {
                break true;
            }
            if limit.is_some_and(|limit| content.bytes() >= limit.bytes) {
                break false;
            }
            if used > 0 {
                continue;
            }
            match self.connection.receive(self.terms.patience, enough, wanted) {
                Ok(()) => {}
                Err(Stop::Enough) => break false,
                Err(stop) if self.is_the_end(&stop, body.shortfall()) => break true,
                Err(stop) => return Err(self.cut(stop, &head, &body, &content)),
            }
        };
        let decoded = coding.end(&mut |plain| {
            content.add(plain);
            keep(&mut kept, plain);
        });
        if whole && !self.terms.defects.has(Defect::AcceptsBrokenCoding) {
            decoded.map_err(malformed)?;
        }
        Ok(Answer {
            status: head.status,
            reusable: whole
                && body.is_complete()
                && (head.keeps_connection()
                    || self.terms.defects.has(Defect::KeepsEveryConnection)),
            fields: head.fields,
            content,
            kept,
            whole,
        })
    }

    /// Whether content that stops like this is whole.
    fn is_the_end(&self, stop: &Stop, shortfall: Shortfall) -> bool {
        let accepts = |defect| self.terms.defects.has(defect);
        match (stop, shortfall) {
            (Stop::Closed, Shortfall::Nothing) => true,
            (Stop::Broken(_), Shortfall::Nothing) => accepts(Defect::AcceptsResetAsEnd),
            (Stop::Closed | Stop::Broken(_), Shortfall::Bytes(_)) => {
                accepts(Defect::AcceptsShortBody)
            }
            (Stop::Closed | Stop::Broken(_), Shortfall::LastChunk) => {
                accepts(Defect::AcceptsMissingLastChunk)
            }
            _ => false,
        }
    }

    fn cut(&self, stop: Stop, head: &Head, body: &Body, content: &BodyDigest) -> Failure {
        let mut failure = self.stopped(stop);
        let lacks = match body.shortfall() {
            Shortfall::Nothing => "its end".to_owned(),
            Shortfall::Bytes(bytes) => format!("{bytes} bytes"),
            Shortfall::LastChunk => "the last chunk".to_owned(),
            Shortfall::InsideChunk => "the rest of a chunk".to_owned(),
        };
        failure.note = format!(
            "{}: status {}, {} bytes of content came, {lacks} did not; it began {:?}",
            failure.note,
            head.status,
            content.bytes(),
            content.start(),
        );
        failure
    }

    fn stopped(&self, stop: Stop) -> Failure {
        let begun = self.answered;
        let (ended_by, kind, note, cause) = match stop {
            Stop::Closed if begun => {
                let note = "the connection was closed inside the answer";
                (Some(EndedBy::Close), Kind::Truncated, note, None)
            }
            Stop::Closed => {
                let note = "the connection was closed before an answer";
                (Some(EndedBy::Close), Kind::Closed, note, None)
            }
            Stop::Broken(error) if begun => {
                let note = "the connection was reset inside the answer";
                (Some(EndedBy::Reset), Kind::Truncated, note, Some(error))
            }
            Stop::Broken(error) => {
                let note = "the connection was reset before an answer";
                (Some(EndedBy::Reset), Kind::Reset, note, Some(error))
            }
            Stop::Idle if begun => (None, Kind::IdleTimeout, "the answer went silent", None),
            Stop::Idle => (None, Kind::IdleTimeout, "no answer in time", None),
            Stop::Cancelled => (None, Kind::Cancelled, CANCELLED, None),
            Stop::Attempt => (
                None,
                Kind::AttemptTimeout,
                "the attempt took too long",
                None,
            ),
            Stop::Total | Stop::Enough => {
                (None, Kind::TotalTimeout, "the call took too long", None)
            }
        };
        Failure {
            ended_by,
            cause,
            ..Failure::new(kind, note)
        }
    }
}

/// Keeps what an answer of an API may need to be understood.
fn keep(kept: &mut Vec<u8>, plain: &[u8]) {
    const MOST: usize = 64 * 1024;
    let room = MOST.saturating_sub(kept.len());
    kept.extend_from_slice(plain.get(..room).unwrap_or(plain));
}

fn malformed(what: Malformed) -> Failure {
    Failure::new(Kind::Malformed, format!("the answer is malformed: {what}"))
}
