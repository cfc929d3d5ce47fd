//! The servers of one cell, from arming to the closed ledger.
//!
//! The one place where a cell meets the crate of servers and the resolution of
//! a plan.

use std::sync::Arc;
use std::time::Duration;

use scenarios::manifest::Manifest;
use scenarios::plan::Plan;
use scenarios::resolve::{self, ResolvedCall};
use scenarios::template::Bindings;
use scripted_servers::clock::Clock;
use scripted_servers::record::Record;
use scripted_servers::server::{Armed, Place, Running, ServerError};

/// Servers that run.
pub(super) struct Stage {
    bindings: Bindings,
    running: Running,
}

/// Why servers do not run.
pub(super) enum Unset {
    /// The machine lacks what they need, such as IPv6.
    Lacking(String),
    /// Something of ours is wrong.
    Broken(String),
}

impl Stage {
    /// Arms the plan's servers and has them serve.
    pub(super) fn set(
        plan: &Plan,
        manifest: &Manifest,
        clock: Arc<dyn Clock>,
        record: Arc<dyn Record>,
    ) -> Result<Self, Unset> {
        let places: Vec<_> = plan
            .servers
            .iter()
            .map(|server| Place {
                name: server.name.clone(),
                listen: server.listen.clone(),
                address: server.address,
                port_of: server.port_of.clone(),
            })
            .collect();
        let armed = Armed::arm_at(&places, clock, record).map_err(|error| match error {
            ServerError::NoAddress { .. } => Unset::Lacking(error.to_string()),
            error => Unset::Broken(format!("the servers cannot be armed: {error}")),
        })?;
        let bindings = Bindings(armed.addresses());
        let scripts = resolve::server_scripts(plan, manifest, &bindings);
        let running = armed
            .serve(scripts)
            .map_err(|error| Unset::Broken(format!("the servers cannot serve: {error}")))?;
        Ok(Self { bindings, running })
    }

    /// The calls with the servers' addresses filled in.
    pub(super) fn calls(&self, plan: &Plan, manifest: &Manifest) -> Vec<ResolvedCall> {
        resolve::calls(plan, manifest, &self.bindings)
    }

    /// The client is handed its work at this time.
    pub(super) fn work_handed_over_at(&self, at: Duration) {
        self.running.work_handed_over_at(at);
    }

    /// The client is about to be killed because of what was counted.
    pub(super) fn stopping(&self) {
        self.running.stopping();
    }

    /// The client is gone since this time. Returns when nothing more can come
    /// from it.
    pub(super) fn client_ended(&self, at: Duration) {
        self.running.client_ended_at(at);
    }

    /// The client is gone since this time, and comes again. Returns when nothing more
    /// can come from the process that is gone.
    pub(super) fn client_crashed(&self, at: Duration) {
        self.running.client_crashed_at(at);
    }

    /// Closes the ledger.
    pub(super) fn close(self) -> Result<(), String> {
        self.running
            .close()
            .map_err(|error| format!("the servers cannot be closed: {error}"))
    }
}
