//! The client's side of the facts: its reports, its end, and its mistakes in
//! the protocol.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use super::mark::Mark;
use super::run_delay::RunDelay;
use crate::evidence::{ClientEvent, Report, Told};
use crate::verdict::EndedBy;

/// What is known of the client.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClientFacts {
    /// When the work was handed over.
    pub work: Option<Mark>,
    /// The final report of each call, by the call's number.
    pub reports: BTreeMap<u32, (Mark, Report)>,
    /// Calls of which more than one report came, with the entry.
    pub reported_again: Vec<(u32, u64)>,
    /// Why the client can not do this work.
    pub unsupported: Option<String>,
    /// Lines on stdout that are not of the protocol: entry, line, reason.
    pub garbage: Vec<(u64, String, String)>,
    /// What broke in the harness.
    pub harness_errors: Vec<String>,
    /// What it said of each call meanwhile, by the call's number.
    pub progress: BTreeMap<u32, Vec<(Mark, String)>>,
    /// When it was told to cancel a call, and which.
    pub cancel_sent: Option<(u32, Mark)>,
    /// When it was ordered to be killed, to be started again.
    pub crash_ordered: Option<Mark>,
    /// How the process ended that was killed so.
    pub crashed: Option<Exit>,
    /// When the one was started that took its place.
    pub restarted: Option<Mark>,
    /// Calls that both of them reported.
    pub repeated: BTreeSet<u32>,
    /// When it was told to finish.
    pub finish_sent: Option<Mark>,
    /// Processes it had left behind.
    pub swept: u32,
    /// How its process ended; of several, the one that ended last.
    pub exited: Option<Exit>,
    /// How each of its processes ended, by their numbers.
    pub exits: BTreeMap<u32, Exit>,
    /// For how long it was ready to run but not running.
    pub run_delay: RunDelay,
    /// Why its virtual time was not true.
    pub time_doubts: Vec<Told>,
    /// Why it ran in real time where virtual time was asked for.
    pub time_refused: Option<String>,
    /// What ended the cell; none: the record breaks off.
    pub ended_by: Option<(EndedBy, Mark)>,
    /// The time of the last entry.
    pub last_us: u64,
}

/// How the process under test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    /// When.
    pub mark: Mark,
    /// Exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Signal.
    pub signal: Option<i32>,
    /// Whether the harness killed it.
    pub killed: bool,
}

impl Exit {
    /// In words.
    pub(crate) fn words(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "an unknown end".to_owned(),
        }
    }
}

impl ClientFacts {
    pub(super) fn take(&mut self, mark: Mark, process: u32, event: &ClientEvent) {
        match event {
            ClientEvent::Work => {
                self.work.get_or_insert(mark);
            }
            ClientEvent::Report(report) => {
                self.run_delay.heard(process, mark.at_us);
                match self.reports.entry(report.call) {
                    Slot::Vacant(slot) => {
                        slot.insert((mark, report.clone()));
                    }
                    // What a process knows of the one before it, it may say again.
                    Slot::Occupied(said)
                        if self
                            .restarted
                            .is_some_and(|at| said.get().0.at_us < at.at_us)
                            && self.repeated.insert(report.call) => {}
                    Slot::Occupied(_) => self.reported_again.push((report.call, mark.n)),
                }
            }
            ClientEvent::Unsupported { reason } => {
                self.unsupported.get_or_insert_with(|| reason.clone());
            }
            ClientEvent::Garbage { line, reason } => {
                self.garbage.push((mark.n, line.clone(), reason.clone()));
            }
            ClientEvent::HarnessError { reason } => self.harness_errors.push(reason.clone()),
            ClientEvent::CancelSent { call } => {
                self.cancel_sent.get_or_insert((*call, mark));
            }
            ClientEvent::FinishSent => {
                self.finish_sent.get_or_insert(mark);
            }
            ClientEvent::Exited {
                code,
                signal,
                killed,
            } => {
                let exit = Exit {
                    mark,
                    code: *code,
                    signal: *signal,
                    killed: *killed,
                };
                if *killed && self.crash_ordered.is_some() && self.crashed.is_none() {
                    self.crashed = Some(exit);
                    return;
                }
                self.exits.entry(process).or_insert(exit);
                let last = self.exits.values().max_by_key(|exit| exit.mark.at_us);
                self.exited = last.copied();
            }
            ClientEvent::Swept { count } => self.swept = self.swept.saturating_add(*count),
            ClientEvent::RunDelay { micros } => {
                self.run_delay.take(process, mark.at_us, *micros);
            }
            ClientEvent::End { ended_by } => {
                self.ended_by.get_or_insert((*ended_by, mark));
            }
            ClientEvent::Progress { call, state } => {
                let said = self.progress.entry(*call).or_default();
                said.push((mark, state.clone()));
            }
            ClientEvent::VirtualTime(told) => {
                self.time_doubts.clone_from(&told.doubts);
                self.time_refused.clone_from(&told.refused);
            }
            ClientEvent::CrashOrdered => {
                self.crash_ordered.get_or_insert(mark);
            }
            ClientEvent::Spawned { .. } if self.crashed.is_some() => {
                self.restarted.get_or_insert(mark);
            }
            ClientEvent::Spawned { .. } => {}
        }
    }

    /// The last report of all.
    pub(crate) fn last_report(&self) -> Option<Mark> {
        let reports = self.reports.values().map(|(mark, _)| *mark);
        reports.max_by_key(|mark| mark.at_us)
    }

    /// What it left behind, and how it died once everything was said: nothing
    /// that a report of a call would show.
    pub(super) fn notes(&self, all_reported: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let by_itself = |exit: &&Exit| !exit.killed && all_reported && exit.code.is_none();
        if let Some(exit) = self.exits.values().find(by_itself) {
            notes.push(format!(
                "after its reports the program died: {}",
                exit.words()
            ));
        }
        if self.swept > 0 {
            notes.push(format!("processes the client left behind: {}", self.swept));
        }
        if let Some(why) = &self.time_refused {
            notes.push(format!("ran in real time: {why}"));
        }
        notes
    }

    /// When the harness made it end: told it to, or killed it.
    pub(crate) fn made_to_end(&self) -> Option<Mark> {
        let killed = self.exits.values().filter(|exit| exit.killed);
        let killed = killed.map(|exit| exit.mark);
        killed.chain(self.finish_sent).min()
    }

    /// From the end of a process that was killed to the start of the one in its place,
    /// in microseconds: whatever came then is of a dead client.
    pub(super) fn dead(&self) -> Option<(u64, u64)> {
        let restarted = self.restarted.map_or(u64::MAX, |mark| mark.at_us);
        self.crashed.map(|exit| (exit.mark.at_us, restarted))
    }

    /// What ended the cell, if the record says so.
    pub(crate) fn end(&self) -> Option<EndedBy> {
        self.ended_by.map(|(ended_by, _)| ended_by)
    }
}
