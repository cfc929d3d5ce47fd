//! Counts what arrived, from events; and a record that keeps events in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::{ServerEvent, What};
use crate::record::Record;

/// What arrived at one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections accepted.
    pub connected: u64,
    /// Requests of which a first byte arrived.
    pub started: u64,
    /// Requests whose head arrived.
    pub head: u64,
    /// Requests that arrived whole while the client lived and that a route
    /// expects.
    pub delivered: u64,
    /// Requests that arrived whole and that no route expects.
    pub other: u64,
    /// Requests that only became whole by draining a dead client's kernel.
    pub drained: u64,
    /// Effects by name and business key.
    pub effects: BTreeMap<(String, Option<String>), u64>,
}

impl Counts {
    /// Effects of this name, all keys together.
    pub fn effects_named(&self, name: &str) -> u64 {
        let named = |((effect, _), count): (&(String, _), &u64)| (effect == name).then_some(*count);
        self.effects.iter().filter_map(named).sum()
    }
}

/// Counts of several servers, built up event by event.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    servers: BTreeMap<String, Counts>,
    /// Exchanges whose request no route expects and that is not whole yet.
    unexpected: std::collections::BTreeSet<(String, u32, u32)>,
}

impl Ledger {
    /// Counts one event.
    pub fn add(&mut self, event: &ServerEvent) {
        let exchange = (
            event.server.to_string(),
            event.connection.unwrap_or_default(),
            event.exchange.unwrap_or_default(),
        );
        let counts = self.servers.entry(event.server.to_string()).or_default();
        match &event.what {
            What::Accepted { .. } => counts.connected += 1,
            What::Started { .. } => counts.started += 1,
            What::Head { queue, .. } => {
                counts.head += 1;
                if queue.is_none() {
                    self.unexpected.insert(exchange);
                }
            }
            What::Delivered { drained, .. } => {
                let is_other = self.unexpected.remove(&exchange);
                match (drained, is_other) {
                    (true, _) => counts.drained += 1,
                    (false, true) => counts.other += 1,
                    (false, false) => counts.delivered += 1,
                }
            }
            What::Effect { name, key, .. } => {
                *counts
                    .effects
                    .entry((name.clone(), key.clone()))
                    .or_default() += 1;
            }
            _ => {}
        }
    }

    /// The counts of one server; all zero when nothing happened there.
    pub fn server(&self, name: &str) -> Counts {
        self.servers.get(name).cloned().unwrap_or_default()
    }
}

impl<'a> FromIterator<&'a ServerEvent> for Ledger {
    fn from_iter<I: IntoIterator<Item = &'a ServerEvent>>(events: I) -> Self {
        let mut ledger = Self::default();
        for event in events {
            ledger.add(event);
        }
        ledger
    }
}

/// A record that keeps all events in memory.
#[derive(Default)]
pub struct Memory {
    events: Mutex<Vec<ServerEvent>>,
}

impl Memory {
    /// An empty one, ready to be shared with servers.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The events so far.
    pub fn events(&self) -> Vec<ServerEvent> {
        self.locked().clone()
    }

    /// The counts so far.
    pub fn ledger(&self) -> Ledger {
        self.locked().iter().collect()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<ServerEvent>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record for Memory {
    fn record(&self, event: ServerEvent) {
        self.locked().push(event);
    }
}

#[cfg(test)]
mod tests;
