//! Facts: what the evidence of one cell says, sorted out by who did what.
//!
//! Nothing here judges. Whatever has an order is sorted by the time at which it
//! arrived or happened; the numbers of the entries are kept as proof only. So
//! the order in which independent events were written down changes nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use scripted_servers::event::{Ending, Lane, ServerEvent, Taken, What};

use super::attribution;
use super::client::ClientFacts;
pub(crate) use super::exchange::{Delivered, Exchange, Head, Place};
use super::lifetime;
use crate::evidence::{Entry, Event};
use crate::manifest::Manifest;
use crate::plan::Plan;

/// When something happened, and the number of the entry that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// Microseconds since the cell began. For bytes: when they arrived.
    pub at_us: u64,
    /// Number of the entry.
    pub n: u64,
}

impl Mark {
    /// The same entry, at the time since when what it says was so; 0: unknown.
    fn since(self, since_us: u64) -> Self {
        let at_us = if since_us == 0 { self.at_us } else { since_us };
        Self { at_us, ..self }
    }
}

/// All facts of one cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    /// Servers by name; all of the Plan's are there.
    pub servers: BTreeMap<String, ServerFacts>,
    /// Exchanges by the time at which they began.
    pub exchanges: Vec<Exchange>,
    /// What the application did, by time.
    pub effects: Vec<EffectFact>,
    /// What it did only after the client's exit, which does not count.
    pub late_effects: Vec<EffectFact>,
    /// Which faults happened, with the entries that say so, and when.
    pub fired: BTreeMap<(String, Lane), Vec<Mark>>,
    /// Of which faults it can not be known whether they happened, and why.
    pub unproven: BTreeMap<(String, Lane), String>,
    /// The client's side.
    pub client: ClientFacts,
}

/// What is known of one server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ServerFacts {
    /// Where it was.
    pub armed: Option<SocketAddr>,
    /// The harness's own attempts to connect: whether after the client's end,
    /// whether refused, and when.
    pub probes: Vec<(bool, bool, Mark)>,
    /// Whether the harness's own attempts to connect to a port that drops were
    /// dropped and counted.
    pub drop_probes: Vec<bool>,
    /// Accepted connections with their numbers.
    pub accepted: Vec<(u32, Mark)>,
    /// How much of what was sent on a connection its client has taken, and the
    /// entry that says so.
    pub taken: BTreeMap<u32, (Taken, u64)>,
    /// Ends of connections, of either direction.
    pub ends: Vec<EndFact>,
}

/// One direction of a connection ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EndFact {
    /// Which connection.
    pub connection: u32,
    /// When; of a client's end, the time at which it arrived where that is known.
    pub mark: Mark,
    /// How.
    pub how: Ending,
    /// Of the client's end, how exactly that is known.
    pub by_client: Option<ByClient>,
}

/// How exactly the time of a client's end is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ByClient {
    /// When the server noticed it.
    pub noticed_us: u64,
    /// Whether the kernel told when it arrived.
    pub told: bool,
    /// The last sign of life before it.
    pub alive_us: u64,
}

impl EndFact {
    /// Not before this.
    pub(crate) fn earliest_us(&self) -> u64 {
        let untold = self.by_client.filter(|by| !by.told);
        untold.map_or(self.mark.at_us, |by| by.alive_us)
    }

    /// Not after this.
    pub(crate) fn latest_us(&self) -> u64 {
        let untold = self.by_client.filter(|by| !by.told);
        untold.map_or(self.mark.at_us, |by| by.noticed_us)
    }
}

/// The application did something.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EffectFact {
    /// When it was through.
    pub mark: Mark,
    /// When the application began to work on it; the same where that took no time.
    pub began_us: u64,
    /// What.
    pub name: String,
    /// For whom.
    pub key: Option<String>,
    /// In which exchange.
    pub place: Place,
    /// For which call.
    pub call: Option<u32>,
}

impl Facts {
    /// Sorts out the evidence of one cell.
    pub(crate) fn of(plan: &Plan, manifest: &Manifest, entries: &[Entry]) -> Self {
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
        facts.place_taken();
        facts
            .exchanges
            .sort_by_key(|one| (one.began().at_us, one.place.clone()));
        facts
            .effects
            .sort_by_key(|one| (one.mark.at_us, one.place.clone(), one.name.clone()));
        lifetime::settle(plan, &mut facts, &entries);
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
            What::Armed { address, .. } => server.armed = Some(*address),
            What::Probed { refused, after } => server.probes.push((*after, *refused, mark)),
            What::ProbedDrop { dropped } => server.drop_probes.push(*dropped),
            What::Accepted { .. } => server.accepted.push((connection, mark)),
            What::Fired { lane, since_us, .. } => {
                let key = (event.server.to_string(), *lane);
                let since = mark.since(*since_us);
                self.fired.entry(key).or_default().push(since);
            }
            What::Unproven { lane, reason, .. } => {
                let key = (event.server.to_string(), *lane);
                self.unproven.entry(key).or_insert_with(|| reason.clone());
            }
            What::PeerEnded {
                how,
                arrived_us,
                alive_us,
            } => {
                let at_us = arrived_us.unwrap_or(mark.at_us);
                let end = ConnectionEnd::new(event, Mark { at_us, ..mark }, *how);
                let noticed = Some((mark.at_us, arrived_us.is_some()));
                server.ends.push(EndFact {
                    connection,
                    mark: Mark { at_us, ..mark },
                    how: *how,
                    by_client: Some(ByClient {
                        noticed_us: mark.at_us,
                        told: arrived_us.is_some(),
                        alive_us: *alive_us,
                    }),
                });
                ends.push(ConnectionEnd { noticed, ..end });
            }
            What::Listening { .. } | What::Dropped { .. } => {}
            What::Ended { how } => {
                server.ends.push(EndFact {
                    connection,
                    mark,
                    how: *how,
                    by_client: None,
                });
                ends.push(ConnectionEnd::new(event, mark, *how));
            }
            What::Closed { taken, .. } => {
                let taken = taken.map(|taken| (connection, (taken, mark.n)));
                server.taken.extend(taken);
            }
            what => {
                let place = Place {
                    server: event.server.to_string(),
                    connection,
                    exchange: event.exchange.unwrap_or(0),
                };
                if let What::Effect {
                    name,
                    key,
                    since_us,
                    began_us,
                } = what
                {
                    let mark = mark.since(*since_us);
                    self.effects.push(EffectFact {
                        mark,
                        began_us: began_us.unwrap_or(mark.at_us),
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

    /// Shares out what was taken on a connection: bytes are taken in the order in
    /// which they were sent.
    fn place_taken(&mut self) {
        let mut before: BTreeMap<(String, u32), u64> = BTreeMap::new();
        self.exchanges
            .sort_by(|one, other| one.place.cmp(&other.place));
        for exchange in &mut self.exchanges {
            let Place {
                server, connection, ..
            } = &exchange.place;
            let taken = self
                .servers
                .get(server)
                .and_then(|server| server.taken.get(connection));
            let begins = before.entry((server.clone(), *connection)).or_default();
            let own = |bytes: u64| bytes.saturating_sub(*begins).min(exchange.sent_bytes);
            exchange.read = taken.map(|(taken, n)| {
                let (at_least, at_most) = (own(taken.at_least), own(taken.at_most));
                (Taken { at_least, at_most }, *n)
            });
            *begins += exchange.sent_bytes;
        }
    }

    /// Gives each end of a connection to the exchange it hit: the one it names,
    /// else the last one on that connection.
    fn place_ends(&mut self, mut ends: Vec<ConnectionEnd>) {
        ends.sort_by_key(|end| (end.mark.at_us, end.by_client));
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
            if let Some(exchange) = hit
                && exchange.ended.is_none()
            {
                exchange.ended = Some((end.mark, end.how));
                exchange.noticed = end.noticed;
            }
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
    by_client: bool,
    noticed: Option<(u64, bool)>,
}

impl ConnectionEnd {
    fn new(event: &ServerEvent, mark: Mark, how: Ending) -> Self {
        Self {
            by_client: matches!(event.what, What::PeerEnded { .. }),
            server: event.server.to_string(),
            connection: event.connection.unwrap_or(0),
            exchange: event.exchange,
            mark,
            how,
            noticed: None,
        }
    }
}
