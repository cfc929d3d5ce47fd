//! Facts: what the evidence of one cell says, sorted out by who did what.
//!
//! Nothing here judges. Whatever has an order is sorted by the time at which it
//! arrived or happened; the numbers of the entries are kept as proof only. So
//! the order in which independent events were written down changes nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use scripted_servers::event::{Ending, Lane, ServerEvent, StepId, What};
use scripted_servers::script::Listen;
use scripted_servers::wire::Answer;

use super::attribution;
use super::client::ClientFacts;
use crate::evidence::{Entry, Event};
use crate::manifest::Manifest;
use crate::plan::Plan;

/// When something happened, and the number of the entry that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Microseconds since the cell began. For bytes: when they arrived.
    pub at_us: u64,
    /// Number of the entry.
    pub n: u64,
}

/// All facts of one cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Servers by name; all of the Plan's are there.
    pub servers: BTreeMap<String, ServerFacts>,
    /// Exchanges by the time at which they began.
    pub exchanges: Vec<Exchange>,
    /// What the application did, by time.
    pub effects: Vec<EffectFact>,
    /// Which faults happened, with the entries that say so.
    pub fired: BTreeMap<(String, Lane), Vec<u64>>,
    /// The client's side.
    pub client: ClientFacts,
}

/// What is known of one server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerFacts {
    /// Where it listened, and how.
    pub armed: Option<(SocketAddr, Listen)>,
    /// The harness's own attempts to connect: whether after the client's end,
    /// whether refused, and the entry.
    pub probes: Vec<(bool, bool, u64)>,
    /// Accepted connections with their numbers.
    pub accepted: Vec<(u32, Mark)>,
}

/// Where an exchange took place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Server.
    pub server: String,
    /// Connection at that server.
    pub connection: u32,
    /// Exchange on that connection.
    pub exchange: u32,
}

/// One request and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Where.
    pub place: Place,
    /// The call it belongs to; none only when there is no call at all.
    pub call: Option<u32>,
    /// Which attempt of its call at its server, from 1; 0 for a request that no
    /// route expects.
    pub attempt: u32,
    /// Its first byte.
    pub started: Option<Mark>,
    /// Its complete head.
    pub head: Option<Head>,
    /// The step it took.
    pub step: Option<StepId>,
    /// Its last byte.
    pub delivered: Option<Delivered>,
    /// Why its head can not be understood.
    pub malformed: Option<(Mark, String)>,
    /// First byte of the answer, and what it is.
    pub answer: Option<(Mark, Answer)>,
    /// Last byte of the answer, or of what a cut leaves of it.
    pub answered: Option<Mark>,
    /// The first end of its connection, by either side.
    pub ended: Option<(Mark, Ending)>,
}

/// A complete head.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// When its last byte arrived.
    pub mark: Mark,
    /// Method as sent.
    pub method: String,
    /// Request target as sent.
    pub target: String,
    /// Header fields as sent.
    pub headers: Vec<(String, String)>,
    /// The queue that takes it; none: no route expects it.
    pub queue: Option<usize>,
}

/// A complete request.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivered {
    /// When its last byte arrived.
    pub mark: Mark,
    /// True when only draining completed it.
    pub drained: bool,
}

/// The application did something.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectFact {
    /// When.
    pub mark: Mark,
    /// What.
    pub name: String,
    /// For whom.
    pub key: Option<String>,
    /// In which exchange.
    pub place: Place,
    /// For which call.
    pub call: Option<u32>,
}

impl Exchange {
    fn new(place: Place) -> Self {
        Self {
            place,
            call: None,
            attempt: 0,
            started: None,
            head: None,
            step: None,
            delivered: None,
            malformed: None,
            answer: None,
            answered: None,
            ended: None,
        }
    }

    /// When it began, and the entry that says so: the earliest that is known.
    pub fn began(&self) -> Mark {
        let head = self.head.as_ref().map(|head| head.mark);
        let delivered = self.delivered.as_ref().map(|delivered| delivered.mark);
        let known = [self.started, head, delivered, self.answered];
        let malformed = self.malformed.as_ref().map(|(mark, _)| *mark);
        let known = known.into_iter().flatten().chain(malformed);
        known.min().unwrap_or(Mark { at_us: 0, n: 0 })
    }

    /// Whether it is a request that no route expects.
    pub fn is_other(&self) -> bool {
        self.malformed.is_some() || self.head.as_ref().is_some_and(|head| head.queue.is_none())
    }

    /// The last byte, when the request is complete, expected by a route, and
    /// not only drained: this is what `delivered` counts.
    pub fn delivery(&self) -> Option<Mark> {
        let delivered = self.delivered.as_ref()?;
        (!delivered.drained && !self.is_other()).then_some(delivered.mark)
    }

    /// The value of a header field; none when it was not sent.
    pub fn header(&self, name: &str) -> Option<&str> {
        let fields = &self.head.as_ref()?.headers;
        let found = fields
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Status of the answer that was begun.
    pub fn status(&self) -> Option<u16> {
        self.answer.as_ref().and_then(|(_, answer)| answer.status)
    }

    /// Whether a whole answer with this kind of status was sent to its end.
    pub fn whole_answer(&self, status: impl Fn(u16) -> bool) -> bool {
        let whole = |(_, answer): &(Mark, Answer)| {
            answer.whole && answer.status.is_some_and(&status) && self.answered.is_some()
        };
        self.answer.as_ref().is_some_and(whole)
    }

    /// When the attempt was over, as the client can have seen it: the last byte
    /// of a whole answer, else the end of the connection by either side.
    pub fn over(&self) -> Option<Mark> {
        let whole = self.answer.as_ref().is_some_and(|(_, answer)| answer.whole);
        let ended = self.ended.map(|(mark, _)| mark);
        match (whole, self.answered) {
            (true, Some(answered)) => Some(answered),
            _ => ended.or(self.answered),
        }
    }

    /// Numbers of the entries that tell its story, for a finding.
    pub fn proof(&self) -> Vec<u64> {
        let head = self.head.as_ref().map(|head| head.mark);
        let delivered = self.delivered.as_ref().map(|delivered| delivered.mark);
        let marks = [self.started, head, delivered];
        marks.into_iter().flatten().map(|mark| mark.n).collect()
    }
}

impl Facts {
    /// Sorts out the evidence of one cell.
    pub fn of(plan: &Plan, manifest: &Manifest, entries: &[Entry]) -> Self {
        let mut entries: Vec<&Entry> = entries.iter().collect();
        entries.sort_by_key(|entry| entry.at_us);
        let mut facts = Self::default();
        for server in &plan.servers {
            facts.servers.entry(server.name.clone()).or_default();
        }
        let mut exchanges = BTreeMap::new();
        let mut ends = Vec::new();
        for entry in &entries {
            let mark = Mark {
                at_us: entry.at_us,
                n: entry.n,
            };
            match &entry.event {
                Event::Client(event) => facts.client.take(mark, event),
                Event::Server(event) => {
                    facts.take(mark, event, &mut exchanges, &mut ends);
                }
            }
        }
        facts.client.seen_until(&entries);
        facts.exchanges = exchanges.into_values().collect();
        facts.place_ends(ends);
        facts
            .exchanges
            .sort_by_key(|one| (one.began().at_us, one.place.clone()));
        facts
            .effects
            .sort_by_key(|one| (one.mark.at_us, one.place.clone(), one.name.clone()));
        attribution::attribute(plan, manifest, &mut facts);
        facts
    }

    fn take(
        &mut self,
        mark: Mark,
        event: &ServerEvent,
        exchanges: &mut BTreeMap<Place, Exchange>,
        ends: &mut Vec<ConnectionEnd>,
    ) {
        let server = self.servers.entry(event.server.to_string()).or_default();
        let connection = event.connection.unwrap_or(0);
        match &event.what {
            What::Armed { address, listen } => server.armed = Some((*address, *listen)),
            What::Probed { refused, after } => server.probes.push((*after, *refused, mark.n)),
            What::Accepted { .. } => server.accepted.push((connection, mark)),
            What::Fired { lane, .. } => {
                let key = (event.server.to_string(), *lane);
                self.fired.entry(key).or_default().push(mark.n);
            }
            What::PeerEnded { how, arrived_us } => {
                let at_us = arrived_us.unwrap_or(mark.at_us);
                ends.push(ConnectionEnd::new(event, Mark { at_us, ..mark }, *how));
            }
            What::Ended { how } => ends.push(ConnectionEnd::new(event, mark, *how)),
            What::Closed { .. } => {}
            what => {
                let place = Place {
                    server: event.server.to_string(),
                    connection,
                    exchange: event.exchange.unwrap_or(0),
                };
                if let What::Effect { name, key } = what {
                    self.effects.push(EffectFact {
                        mark,
                        name: name.clone(),
                        key: key.clone(),
                        place: place.clone(),
                        call: None,
                    });
                }
                let new = || Exchange::new(place.clone());
                exchanges
                    .entry(place.clone())
                    .or_insert_with(new)
                    .take(mark, what);
            }
        }
    }

    /// Gives each end of a connection to the exchange it hit: the one it names,
    /// else the last one on that connection.
    fn place_ends(&mut self, mut ends: Vec<ConnectionEnd>) {
        ends.sort_by_key(|end| end.mark.at_us);
        for end in ends {
            let here = |one: &&mut Exchange| {
                one.place.server == end.server && one.place.connection == end.connection
            };
            let hit = match end.exchange {
                Some(number) => self
                    .exchanges
                    .iter_mut()
                    .filter(here)
                    .find(|one| one.place.exchange == number),
                None => self
                    .exchanges
                    .iter_mut()
                    .filter(here)
                    .max_by_key(|one| one.place.exchange),
            };
            if let Some(exchange) = hit {
                exchange.ended.get_or_insert((end.mark, end.how));
            }
        }
    }
}

impl Exchange {
    fn take(&mut self, mark: Mark, what: &What) {
        let arrived = |at_us: &u64| Mark {
            at_us: *at_us,
            n: mark.n,
        };
        match what {
            What::Started { arrived_us, .. } => {
                self.started.get_or_insert(arrived(arrived_us));
            }
            What::Head {
                arrived_us,
                method,
                target,
                headers,
                queue,
            } => {
                self.head.get_or_insert_with(|| Head {
                    mark: arrived(arrived_us),
                    method: method.clone(),
                    target: target.clone(),
                    headers: headers.clone(),
                    queue: *queue,
                });
            }
            What::Taken { step } => {
                self.step.get_or_insert(*step);
            }
            What::Delivered {
                arrived_us,
                drained,
                ..
            } => {
                self.delivered.get_or_insert(Delivered {
                    mark: arrived(arrived_us),
                    drained: *drained,
                });
            }
            What::Malformed { reason } => {
                self.malformed.get_or_insert((mark, reason.clone()));
            }
            What::Answering { answer } => {
                self.answer.get_or_insert((mark, answer.clone()));
            }
            // The time before the last bytes went out: a client can not have
            // acted on the whole answer earlier, so no wait is seen too short.
            What::Answered { handed_us, .. } => {
                let at_us = if *handed_us == 0 {
                    mark.at_us
                } else {
                    *handed_us
                };
                self.answered.get_or_insert(Mark { at_us, ..mark });
            }
            _ => {}
        }
    }
}

/// An end of a connection that has not found its exchange yet.
struct ConnectionEnd {
    server: String,
    connection: u32,
    exchange: Option<u32>,
    mark: Mark,
    how: Ending,
}

impl ConnectionEnd {
    fn new(event: &ServerEvent, mark: Mark, how: Ending) -> Self {
        Self {
            server: event.server.to_string(),
            connection: event.connection.unwrap_or(0),
            exchange: event.exchange,
            mark,
            how,
        }
    }
}
