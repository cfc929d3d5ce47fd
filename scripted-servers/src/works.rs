//! Effects that take time. The application works on them whatever becomes of the
//! connection that brought them, so they belong to the cell.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::connection::micros;
use crate::event::{ServerEvent, What};
use crate::state::Cell;

/// One effect that is being worked on.
pub(crate) struct Work {
    pub(crate) server: Arc<str>,
    pub(crate) connection: u32,
    pub(crate) exchange: Option<u32>,
    pub(crate) name: String,
    pub(crate) key: Option<String>,
    pub(crate) began: Duration,
    pub(crate) ends: Duration,
}

/// All effects of a cell that are being worked on.
#[derive(Default)]
pub(crate) struct Works(Mutex<Open>);

#[derive(Default)]
struct Open {
    begun: u64,
    works: BTreeMap<u64, Work>,
}

impl Works {
    fn begin(&self, work: Work) -> u64 {
        let mut open = self.open();
        open.begun += 1;
        let number = open.begun;
        open.works.insert(number, work);
        number
    }

    /// Takes one out; whoever gets it tells its effect.
    fn end(&self, number: u64) -> Option<Work> {
        self.open().works.remove(&number)
    }

    fn end_all(&self) -> Vec<Work> {
        let works = std::mem::take(&mut self.open().works);
        works.into_values().collect()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cell {
    /// The application begins to work; the effect is told when it is through.
    pub(crate) fn begin_work(self: &Arc<Self>, work: Work) {
        let ends = work.ends;
        let number = self.works.begin(work);
        if self.is_over() {
            return;
        }
        let cell = self.clone();
        tokio::spawn(async move {
            let _busy = cell.clock.sleep_until(ends).await;
            if let Some(work) = cell.works.end(number) {
                cell.tell_effect_of(work);
            }
        });
    }

    /// The client has ended, and no more work begins: what is not through will
    /// be, so its effect is told now, with the time of its end.
    pub(crate) fn settle_works(&self) {
        let mut works = self.works.end_all();
        works.sort_by_key(|work| work.ends);
        for work in works {
            self.tell_effect_of(work);
        }
    }

    fn tell_effect_of(&self, work: Work) {
        self.record.record(ServerEvent {
            server: work.server,
            connection: Some(work.connection),
            exchange: work.exchange,
            what: What::Effect {
                name: work.name,
                key: work.key,
                since_us: micros(work.ends),
                began_us: Some(micros(work.began)),
            },
        });
    }
}
