//! What the expectations of a scenario may refer to.

use crate::document::diagnostic::Diagnostics;
use crate::plan::{Call, Limits, ServerPlan};
use crate::verdict::Level;

/// What is done to the client, beside what servers do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Treatment {
    /// A call is cancelled.
    pub cancels: bool,
    /// It is killed and started again.
    pub crashes: bool,
    /// Several processes of it are at work.
    pub fleet: bool,
}

/// The rest of the case, for an assertion that is being decoded: it checks that
/// the servers, routes, effects and calls it names are there.
#[derive(Debug)]
pub struct Scope<'a> {
    /// The servers with their queues; effects stand in the steps.
    pub servers: &'a [ServerPlan],
    /// The calls.
    pub calls: &'a [Call],
    /// What the client is told to keep to.
    pub limits: &'a Limits,
    /// What is done to the client.
    pub treatment: Treatment,
    /// The level of the expectation; `{}` is allowed only at `info`.
    pub level: Level,
    /// Where mistakes go.
    pub out: &'a mut Diagnostics,
}

impl Scope<'_> {
    /// The server with this name.
    pub fn server(&self, name: &str) -> Option<&ServerPlan> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// Names of all effects, and whether any step or model gives them a business key.
    pub fn effects(&self) -> std::collections::BTreeMap<&str, bool> {
        let mut effects = std::collections::BTreeMap::new();
        for effect in self.servers.iter().flat_map(ServerPlan::effects) {
            *effects.entry(effect.name).or_insert(false) |= effect.keyed;
        }
        effects
    }
}
