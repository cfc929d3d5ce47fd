//! Facts: what the evidence of one cell says, sorted out by who did what.
//!
//! Nothing here judges. Whatever has an order is sorted by the time at which it
//! arrived or happened; the numbers of the entries are kept as proof only. So
//! the order in which independent events were written down changes nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use scripted_servers::event::{Ending, Lane, Taken};

use super::client::ClientFacts;
use super::exchange::{Exchange, Place};
use super::mark::Mark;

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
    /// Whether there is any evidence.
    pub any: bool,
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
    /// When the server noticed or made it.
    pub(super) fn noticed_us(&self) -> u64 {
        self.by_client.map_or(self.mark.at_us, |by| by.noticed_us)
    }

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
    pub name: Arc<str>,
    /// For whom.
    pub key: Option<Arc<str>>,
    /// In which exchange.
    pub place: Place,
    /// For which call.
    pub call: Option<u32>,
}

impl Facts {
    /// The proofs of one fault.
    pub(super) fn proofs_of(&mut self, server: &str, lane: Lane) -> &mut Vec<Mark> {
        self.fired.entry((server.to_owned(), lane)).or_default()
    }

    /// How much of the answer in an exchange the client's process has taken, and
    /// the entry that says so; none where nothing is known.
    pub(crate) fn read(&self, exchange: &Exchange) -> Option<(Taken, u64)> {
        let server = self.servers.get(&*exchange.place.server)?;
        let (taken, n) = server.taken.get(&exchange.place.connection)?;
        Some((exchange.share_of(*taken), *n))
    }
}
