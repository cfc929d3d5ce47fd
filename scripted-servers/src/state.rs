//! What the connections of a cell share: its clock, its record, and the turns of
//! each server's steps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::clock::Clock;
use crate::event::{ServerEvent, StepId, What};
use crate::kernel::Peers;
use crate::models::{Asked, Models, Passage, Through};
use crate::record::Record;
use crate::request::{Head, Request};
use crate::script::{ConnectionAct, PathPattern, ServerScript, Step};
use crate::select::{self, Due, Facts};
use crate::wire::{Answer, KeySource, RequestPoint, SentEvents, WireProgram, WireStep};
use crate::works::Works;

/// A life of the client: from its start to its end, or to that of the last of its
/// processes. One that is killed and started again has several. Connections belong to
/// the life that opened them.
#[derive(Debug, Default)]
pub(crate) struct Life {
    /// When it ended; from then on its connections' scripts do nothing more.
    ended: OnceLock<Duration>,
    /// The client is being stopped for reasons that are not its own.
    stopping: AtomicBool,
}

impl Life {
    /// It ended at this time. From here on no script of its connections does anything.
    pub(crate) fn end(&self, at: Duration) {
        let _ = self.ended.set(at);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.ended.get().is_some()
    }

    /// Whether the client lived at this time, as far as is known now.
    pub(crate) fn lived_at(&self, time: Duration) -> bool {
        self.ended.get().is_none_or(|end| time <= *end)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}

/// What all servers of a cell share.
pub(crate) struct Cell {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) record: Arc<dyn Record>,
    pub(crate) peers: Arc<Peers>,
    /// The client's life that goes on, or the last one.
    life: Mutex<Arc<Life>>,
    /// The client has ended for good.
    over: AtomicBool,
    broken: OnceLock<String>,
    /// What the applications work on.
    pub(crate) works: Works,
    /// When the client was handed its work.
    handed_over: watch::Sender<Option<Duration>>,
}

impl Cell {
    pub(crate) fn new(clock: Arc<dyn Clock>, record: Arc<dyn Record>) -> Self {
        Self {
            clock,
            record,
            peers: Arc::new(Peers::new()),
            life: Mutex::default(),
            over: AtomicBool::new(false),
            broken: OnceLock::new(),
            works: Works::default(),
            handed_over: watch::Sender::new(None),
        }
    }

    /// The client was handed its work at this time. The first call counts.
    pub(crate) fn set_handed_over(&self, at: Duration) {
        self.handed_over.send_if_modified(|time| {
            let is_first = time.is_none();
            *time = Some(time.unwrap_or(at));
            is_first
        });
    }

    /// Waits until the client has been handed its work: when that was.
    pub(crate) async fn handed_over(&self) -> Duration {
        let mut times = self.handed_over.subscribe();
        let known = times.wait_for(Option::is_some).await;
        let at = known.ok().and_then(|time| *time);
        match at {
            Some(at) => at,
            // The sender is this cell's own, so it lives.
            None => std::future::pending().await,
        }
    }

    /// The life of the client that goes on, or has ended last.
    pub(crate) fn life(&self) -> Arc<Life> {
        let life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        life.clone()
    }

    /// All that is left of the life that has ended was counted: what comes from now on
    /// is of the next one.
    pub(crate) fn begin_life(&self) {
        let mut life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        *life = Arc::default();
    }

    /// The client ended at this time, for good.
    pub(crate) fn set_over(&self, at: Duration) {
        self.life().end(at);
        self.over.store(true, Ordering::Release);
    }

    /// Whether the client has ended for good.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// From here on the client's leaving proves nothing.
    pub(crate) fn set_stopping(&self) {
        self.life().stopping.store(true, Ordering::Release);
    }

    /// What the servers counted can not be trusted, for this reason. The first
    /// reason stays.
    pub(crate) fn set_broken(&self, reason: String) {
        if self.broken.set(reason).is_ok() {
            tracing::error!(reason = self.broken(), "the record is broken");
        }
    }

    /// Why what the servers counted can not be trusted, if that is so.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.get().map(String::as_str)
    }
}

/// One server while its cell runs.
pub(crate) struct Server {
    pub(crate) name: Arc<str>,
    pub(crate) cell: Arc<Cell>,
    script: ServerScript,
    turns: Mutex<Turns>,
    models: Models,
    keeps_heads: bool,
    keeps_content: bool,
    takes_inside_head: bool,
    not_found: [WireProgram; 2],
}

#[derive(Default)]
struct Turns {
    connections: u32,
    taken: Vec<Vec<u32>>,
    first_request: Option<Duration>,
}

impl Server {
    pub(crate) fn new(cell: Arc<Cell>, script: ServerScript) -> Self {
        let steps = || script.queues.iter().flat_map(|queue| &queue.steps);
        let looked_into = steps().any(|step| step.when.json.is_some() || step.through.is_some());
        Self {
            name: script.name.as_str().into(),
            cell,
            turns: Mutex::new(Turns {
                taken: script
                    .queues
                    .iter()
                    .map(|queue| vec![0; queue.steps.len()])
                    .collect(),
                ..Turns::default()
            }),
            keeps_heads: looked_into || steps().any(|step| has_key(step, is_in_head)),
            keeps_content: looked_into || steps().any(|step| has_key(step, is_in_content)),
            models: Models::new(&script.models),
            takes_inside_head: is_catch_all(&script) && steps().any(|step| step.inside_head),
            not_found: [not_found(true), not_found(false)],
            script,
        }
    }

    pub(crate) fn tell(&self, connection: Option<u32>, exchange: Option<u32>, what: What) {
        self.cell.record.record(ServerEvent {
            server: self.name.clone(),
            connection,
            exchange,
            what,
        });
    }

    /// The next accepted connection: its number, the place of its entry in the
    /// lane, and what is done with it.
    pub(crate) fn accepted(&self) -> (u32, usize, ConnectionAct) {
        let mut turns = self.turns();
        turns.connections += 1;
        let last = self.script.connections.len().saturating_sub(1);
        let place = (turns.connections as usize - 1).min(last);
        let act = self.script.connections.get(place).copied();
        (
            turns.connections,
            place,
            act.unwrap_or(ConnectionAct::Serve),
        )
    }

    /// A request began at this time.
    pub(crate) fn begun(&self, arrived: Duration) {
        self.turns().first_request.get_or_insert(arrived);
    }

    /// The queue that takes a request.
    pub(crate) fn route(&self, method: &str, target: &str) -> Option<usize> {
        select::route(&self.script.queues, method, target)
    }

    /// Whether heads are looked into after they were told.
    pub(crate) fn keeps_heads(&self) -> bool {
        self.keeps_heads
    }

    /// Whether content is looked into.
    pub(crate) fn keeps_content(&self) -> bool {
        self.keeps_content
    }

    /// Whether a step of this queue can only be chosen with the content there.
    pub(crate) fn chooses_by_content(&self, queue: usize) -> bool {
        let steps = self.script.queues.get(queue).map(|queue| &queue.steps);
        steps.is_some_and(|steps| steps.iter().any(|step| step.when.json.is_some()))
    }

    /// Takes the step that is due inside the head, at a request's first byte.
    pub(crate) fn take_inside_head(&self, reused: bool, began: Duration) -> Option<StepId> {
        self.takes_inside_head
            .then(|| self.take(0, began, reused, None, None))
            .flatten()
    }

    /// Takes the step of this queue that is due for a request with its head.
    pub(crate) fn take_step(
        &self,
        queue: usize,
        request: &Request,
        reused: bool,
        began: Duration,
    ) -> Option<StepId> {
        let content = self
            .chooses_by_content(queue)
            .then(|| request.json())
            .flatten();
        self.take(queue, began, reused, request.head(), content.as_ref())
    }

    fn take(
        &self,
        queue: usize,
        began: Duration,
        reused: bool,
        head: Option<&Head>,
        content: Option<&serde_json::Value>,
    ) -> Option<StepId> {
        let steps = &self.script.queues.get(queue)?.steps;
        let mut turns = self.turns();
        let first = turns.first_request.unwrap_or(began);
        let facts = Facts {
            reused,
            since_first: began.saturating_sub(first),
            head,
            content,
        };
        let taken = turns.taken.get_mut(queue)?;
        let Due::Step(step) = select::due(steps, taken, &facts) else {
            return None;
        };
        taken[step] = taken[step].saturating_add(1);
        Some(StepId { queue, step })
    }

    /// The models that a step's requests go through.
    pub(crate) fn through(&self, step: StepId) -> Option<&Through> {
        let queue = self.script.queues.get(step.queue)?;
        queue.steps.get(step.step)?.through.as_ref()
    }

    /// Asks models about a request that has arrived.
    pub(crate) fn ask(&self, through: &Through, asked: &Asked<'_>) -> Passage {
        self.models.ask(&through.models, asked)
    }

    /// A request that models let pass was answered, or never will be.
    pub(crate) fn release(&self, passage: &Passage) {
        self.models.release(passage);
    }

    /// The program of a step; without one, the answer to what no route expects.
    pub(crate) fn program(&self, step: Option<StepId>, answer_has_content: bool) -> &WireProgram {
        let scripted = step.and_then(|id| self.script.queues.get(id.queue)?.steps.get(id.step));
        match scripted {
            Some(step) => &step.program,
            None => &self.not_found[usize::from(!answer_has_content)],
        }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether every request comes to the same queue, so that the queue is known
/// before the head is.
fn is_catch_all(script: &ServerScript) -> bool {
    match script.queues.as_slice() {
        [queue] => queue.route.path == PathPattern::Any && queue.route.method.is_none(),
        _ => false,
    }
}

fn has_key(step: &Step, wanted: fn(&KeySource) -> bool) -> bool {
    step.program.steps.iter().any(|step| match step {
        WireStep::Effect(effect) | WireStep::Work(effect, _) => {
            effect.key.as_ref().is_some_and(wanted)
        }
        _ => false,
    })
}

fn is_in_head(key: &KeySource) -> bool {
    matches!(key, KeySource::Header(_) | KeySource::PathLast)
}

fn is_in_content(key: &KeySource) -> bool {
    matches!(key, KeySource::Json(_))
}

/// The answer to a request that no route expects; to HEAD without content.
fn not_found(with_content: bool) -> WireProgram {
    const CONTENT: &str = "no route expects this request\n";
    let content = if with_content { CONTENT } else { "" };
    let message = format!(
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{content}",
        CONTENT.len()
    );
    WireProgram {
        steps: vec![
            WireStep::ReadUntil(RequestPoint::Request),
            WireStep::Send(message.into_bytes().into()),
        ],
        answer: Some(Answer {
            status: Some(404),
            body_bytes: content.len() as u64,
            body_sha256: Some(crate::digest::sha256(content.as_bytes())),
            whole: true,
            events: SentEvents::default(),
        }),
        ..WireProgram::default()
    }
}
