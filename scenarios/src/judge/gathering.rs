//! Facts in the making: one pass over the evidence, entry by entry, of which
//! nothing is kept but what it tells.
//!
//! A cell may have a million requests, and its evidence is far larger than what
//! there is to know of them.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::sync::Arc;

use scripted_servers::event::{Lane, ServerEvent, What};

use super::attribution;
use super::exchange::{Ended, Exchange, Place};
use super::facts::{ByClient, EffectFact, EndFact, Facts, ServerFacts};
use super::lifetime::{self, Undated};
use super::mark::Mark;
use super::packed::{ServerName, Shared};
use super::places::Places;
use super::told::Pool;
use crate::evidence::{ClientEvent, Entry, Event};
use crate::manifest::Manifest;
use crate::plan::Plan;

/// What is known so far.
pub(super) struct Gathering<'p> {
    plan: &'p Plan,
    facts: Facts,
    /// Of the client, who is told of in the order of time.
    client: Vec<(Mark, u32, ClientEvent)>,
    servers: Vec<(ServerName, ServerFacts)>,
    by_name: HashMap<Arc<str>, usize>,
    pool: Pool,
    texts: Shared<str>,
    exchanges: Vec<Exchange>,
    places: Places,
    /// Ends of connections, by their server, and the exchange that each names.
    ends: Vec<(u32, Option<u32>, EndFact)>,
    /// Faults of which it is not told since when they happened.
    undated: Vec<Undated>,
}

/// One event with what is said of it.
struct Told<'e> {
    mark: Mark,
    event: &'e ServerEvent,
    /// Place of the server.
    server: usize,
    connection: u32,
}

impl<'p> Gathering<'p> {
    /// Nothing yet.
    pub(super) fn new(plan: &'p Plan) -> Self {
        let fields = plan.expect.iter();
        let fields = fields.flat_map(|one| one.assertion.fields());
        let fields = fields.chain([attribution::CALL_HEADER]).map(str::to_owned);
        let mut new = Self {
            plan,
            facts: Facts::default(),
            client: Vec::new(),
            servers: Vec::new(),
            by_name: HashMap::new(),
            pool: Pool::keeping(fields.collect()),
            texts: Shared::default(),
            exchanges: Vec::new(),
            places: Places::default(),
            ends: Vec::new(),
            undated: Vec::new(),
        };
        for server in &plan.servers {
            new.server(&server.name.as_str().into());
        }
        new
    }

    /// Takes in the next entry.
    pub(super) fn push(&mut self, entry: &Entry) {
        let mark = Mark {
            at_us: entry.at_us,
            n: entry.n,
        };
        let last = &mut self.facts.client.last_us;
        *last = mark.at_us.max(*last);
        self.facts.any = true;
        match &entry.event {
            Event::Client(event) => self.client.push((mark, entry.process, event.clone())),
            Event::Server(event) => {
                let server = self.server(&event.server);
                self.take(&Told {
                    mark,
                    event,
                    server,
                    connection: event.connection.unwrap_or(0),
                });
            }
        }
    }

    /// The place of a server.
    fn server(&mut self, name: &Arc<str>) -> usize {
        if let Some(place) = self.by_name.get(name) {
            return *place;
        }
        let place = self.servers.len();
        self.servers
            .push((ServerName::new(name), ServerFacts::default()));
        self.by_name.insert(name.clone(), place);
        place
    }

    fn take(&mut self, told: &Told<'_>) {
        let Told {
            mark,
            event,
            connection,
            ..
        } = *told;
        let server = &mut self.servers[told.server].1;
        match &event.what {
            What::Armed { address, .. } => server.armed = Some(*address),
            What::Probed { refused, after } => server.probes.push((*after, *refused, mark)),
            What::ProbedDrop { dropped } => server.drop_probes.push(*dropped),
            What::Accepted { .. } => server.accepted.push((connection, mark)),
            What::Listening { .. } | What::Dropped { .. } => {}
            What::Fired { lane, since_us, .. } => self.fired(told, *lane, *since_us),
            What::Unproven { lane, reason, .. } => {
                let key = (event.server.to_string(), *lane);
                let unproven = &mut self.facts.unproven;
                unproven.entry(key).or_insert_with(|| reason.clone());
            }
            What::PeerEnded { .. } | What::Ended { .. } => self.ended(told),
            What::Closed { taken, .. } => {
                let taken = taken.map(|taken| (connection, (taken, mark.n)));
                server.taken.extend(taken);
            }
            _ => self.of_exchange(told),
        }
    }

    fn fired(&mut self, told: &Told<'_>, lane: Lane, since_us: u64) {
        if since_us == 0 {
            let place = self.place(told);
            let mark = told.mark;
            return self.undated.push(Undated { lane, place, mark });
        }
        let mark = told.mark.since(since_us);
        self.facts.proofs_of(&told.event.server, lane).push(mark);
    }

    fn ended(&mut self, told: &Told<'_>) {
        let mark = told.mark;
        let (how, at_us, by_client) = match told.event.what {
            What::PeerEnded {
                how,
                arrived_us,
                alive_us,
            } => {
                let by_client = ByClient {
                    noticed_us: mark.at_us,
                    told: arrived_us.is_some(),
                    alive_us,
                };
                (how, arrived_us.unwrap_or(mark.at_us), Some(by_client))
            }
            What::Ended { how } => (how, mark.at_us, None),
            _ => return,
        };
        let end = EndFact {
            connection: told.connection,
            mark: Mark { at_us, ..mark },
            how,
            by_client,
        };
        let server = told.server as u32;
        self.ends.push((server, told.event.exchange, end));
    }

    fn of_exchange(&mut self, told: &Told<'_>) {
        let number = told.event.exchange.unwrap_or(0);
        let line = (told.server as u32, told.connection);
        let exchanges = &self.exchanges;
        let found = self.places.find_or(line, number, exchanges.len());
        if found == self.exchanges.len() {
            let place = self.place(told);
            self.exchanges.push(Exchange::new(place));
        }
        let what = &told.event.what;
        if let What::Effect {
            name,
            key,
            since_us,
            began_us,
        } = what
        {
            let mark = told.mark.since(*since_us);
            let key = key.as_deref();
            self.facts.effects.push(EffectFact {
                mark,
                began_us: began_us.unwrap_or(mark.at_us),
                name: self.texts.share(name, |text| text.into()),
                key: key.map(|key| self.texts.share(key, |text| text.into())),
                place: self.exchanges[found].place.clone(),
                call: None,
            });
        }
        self.exchanges[found].take(told.mark, what, &mut self.pool);
    }

    fn place(&self, told: &Told<'_>) -> Place {
        Place {
            server: self.servers[told.server].0.clone(),
            connection: told.connection,
            exchange: told.event.exchange.unwrap_or(0),
        }
    }

    /// What all of it says together.
    pub(super) fn finish(mut self, manifest: &Manifest) -> Facts {
        self.client.sort_by_key(|(mark, ..)| mark.at_us);
        for (mark, process, event) in std::mem::take(&mut self.client) {
            self.facts.client.take(mark, process, &event);
        }
        self.place_ends();
        self.place_sent();
        self.attribute(manifest);
        self.places = Places::default();
        let mut facts = self.facts;
        facts.exchanges = self.exchanges;
        facts.exchanges.sort_unstable_by(|one, other| {
            let began = one.began().at_us.cmp(&other.began().at_us);
            began.then_with(|| one.place.cmp(&other.place))
        });
        facts.effects.sort_unstable_by(|one, other| {
            let key = |effect: &EffectFact| (effect.mark.at_us, effect.mark.n);
            let (one_at, one_n) = key(one);
            let (other_at, other_n) = key(other);
            (one_at, &one.place, &one.name, one_n).cmp(&(
                other_at,
                &other.place,
                &other.name,
                other_n,
            ))
        });
        for (name, mut server) in self.servers {
            server.accepted.sort_unstable_by_key(|(_, mark)| *mark);
            facts.servers.insert(name.to_string(), server);
        }
        lifetime::settle(self.plan, &mut facts, self.undated);
        facts.fired.values_mut().for_each(|marks| marks.sort());
        attribution::number(&mut facts.exchanges);
        facts
    }

    /// Gives each end of a connection to the exchange it hit: the one it names,
    /// else the last one on that connection.
    fn place_ends(&mut self) {
        let mut ends = std::mem::take(&mut self.ends);
        // As they were noticed.
        let noticed = |end: &EndFact| (end.noticed_us(), end.mark.n);
        ends.sort_unstable_by_key(|(_, _, end)| noticed(end));
        for (server, _, end) in &ends {
            self.servers[*server as usize].1.ends.push(*end);
        }
        let happened = |end: &EndFact| (end.mark.at_us, end.by_client.is_some());
        ends.sort_unstable_by_key(|(_, _, end)| (happened(end), noticed(end)));
        for (server, number, end) in ends {
            let line = (server, end.connection);
            let hit = match number {
                Some(number) => self.places.find(line, number),
                None => self.places.last(line),
            };
            if let Some(hit) = hit {
                self.exchanges[hit].end(Ended {
                    mark: end.mark,
                    how: end.how,
                    noticed: end.by_client.map(|by| (by.noticed_us, by.told)),
                });
            }
        }
    }

    /// Tells each exchange how much was sent on its connection before it.
    fn place_sent(&mut self) {
        for line in self.places.lines() {
            let mut before = 0_u64;
            for place in line {
                let exchange = &mut self.exchanges[place];
                exchange.sent_before = before;
                before = before.saturating_add(exchange.sent_bytes);
            }
        }
    }

    /// Gives each exchange and each effect its call.
    fn attribute(&mut self, manifest: &Manifest) {
        let calls = attribution::Calls::new(self.plan, manifest, &self.facts.client);
        for exchange in &mut self.exchanges {
            exchange.call = calls.of(exchange);
        }
        for effect in &mut self.facts.effects {
            let Place {
                server,
                connection,
                exchange,
            } = &effect.place;
            let server = self.by_name.get(&**server).copied().unwrap_or_default();
            let line = (server as u32, *connection);
            let found = self.places.find(line, *exchange);
            effect.call = found.and_then(|found| {
                let exchange = &self.exchanges[found];
                let item = effect.key.as_ref().and_then(|key| key.parse().ok());
                let mut shared = attribution::calls_of(exchange).skip(1);
                let of_item = item.filter(|item| shared.any(|id| id == *item));
                of_item.or(exchange.call)
            });
        }
    }
}

/// Sorts out the evidence of one cell. Servers tell in the order of time; an
/// entry of the client may stand behind what happened later.
pub(crate) fn gather(
    plan: &Plan,
    manifest: &Manifest,
    entries: impl IntoIterator<Item: Borrow<Entry>>,
) -> Facts {
    let mut gathering = Gathering::new(plan);
    for entry in entries {
        gathering.push(entry.borrow());
    }
    gathering.finish(manifest)
}
