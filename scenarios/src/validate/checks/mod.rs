//! What a whole case can not be: nothing required, a server that nobody
//! mentions, a fault that can not fire, a deadline that is too short, an
//! expectation that the script can not fulfil.
//!
//! Only what is certain is refused; where a redirect or exact bytes may lead
//! anywhere, nothing is said.

mod bounds;
mod claims;
mod findings;
mod moments;
mod reach;
mod times;

use scripted_servers::script::PortState;

use crate::document::decode::Fields;
use crate::document::{Key, Node, Span, Value, ids};
use crate::faults::Redirects;
use crate::plan::{Call, Plan, QueuePlan, ServerPlan, StepPlan};

use crate::reading::Reading;

/// Nobody knows whether a client tried an address of `localhost` that refuses,
/// so a port that can only be reached so need not be proved to have refused.
pub(super) fn require_what_can_be_known(
    servers: &mut [ServerPlan],
    calls: &[Call],
    reading: &Reading<'_>,
) {
    let by_localhost: Vec<usize> = servers
        .iter()
        .enumerate()
        .filter(|(_, server)| {
            let named = reading.mentioned.contains(&server.name);
            let refuses = server.listen.first() == PortState::Refuse;
            refuses && !named && reach::at_localhost(servers, calls, &server.name)
        })
        .map(|(place, _)| place)
        .collect();
    for place in by_localhost {
        servers[place].required.listen = false;
    }
}

/// Checks a case. `document` is its tree with the columns replaced.
pub(super) fn check(plan: &Plan, document: &Fields<'_>, reading: &mut Reading<'_>) {
    let view = View::new(plan, document);
    nothing_required(plan, document, reading);
    lists_without_an_end(&view, reading);
    reach::check(&view, reading);
    times::check(&view, reading);
    claims::check(&view, reading);
    moments::check(&view, reading);
}

/// A plan beside the tree that it was read from.
struct View<'a> {
    plan: &'a Plan,
    document: &'a Fields<'a>,
    servers: &'a [(Key, Node)],
}

struct QueueView<'a> {
    plan: &'a QueuePlan,
    key: &'a Key,
    node: &'a Node,
}

impl<'a> QueueView<'a> {
    fn steps(&self) -> impl Iterator<Item = (&'a StepPlan, &'a Node)> {
        let nodes = match &self.node.value {
            Value::List(items) => items.as_slice(),
            _ => &[],
        };
        self.plan.steps.iter().zip(nodes)
    }
}

struct StepView<'a> {
    plan: &'a StepPlan,
    node: &'a Node,
}

impl<'a> View<'a> {
    fn new(plan: &'a Plan, document: &'a Fields<'a>) -> Self {
        let servers = document.get("servers").map_or(&[][..], entries);
        Self {
            plan,
            document,
            servers,
        }
    }

    fn server_key(&self, name: &str) -> Option<&'a Key> {
        self.servers
            .iter()
            .map(|(key, _)| key)
            .find(|key| key.text == name)
    }

    /// Where `listen` of a server is written.
    fn listen(&self, name: &str) -> Option<&'a Span> {
        let (_, node) = self.servers.iter().find(|(key, _)| key.text == name)?;
        let mut lanes = entries(node).iter();
        let listen = lanes.find(|(key, _)| key.text == "listen");
        listen.map(|(_, node)| &node.span)
    }

    /// The queues of a server beside their nodes, which stand in the same order.
    fn queues(&self, server: &'a ServerPlan) -> impl Iterator<Item = QueueView<'a>> {
        let mut servers = self.servers.iter();
        let node = servers.find(|(key, _)| key.text == server.name);
        let lane = node.and_then(|(_, node)| {
            let mut lanes = entries(node).iter();
            lanes.find(|(key, _)| matches!(key.text.as_str(), "script" | "routes"))
        });
        let nodes = match lane {
            None => &[],
            Some(script) if script.0.text == "script" => std::slice::from_ref(script),
            Some((_, routes)) => entries(routes),
        };
        server
            .queues
            .iter()
            .zip(nodes)
            .map(|(plan, (key, node))| QueueView { plan, key, node })
    }

    fn each_step(&self, mut look: impl FnMut(StepView<'a>)) {
        for server in &self.plan.servers {
            for queue in self.queues(server) {
                for (plan, node) in queue.steps() {
                    look(StepView { plan, node });
                }
            }
        }
    }

    /// Whether an answer may send a client to a place that nobody can name.
    fn may_lead_anywhere(&self) -> bool {
        let anywhere = |step: &StepPlan| {
            let redirects = step.fault.behaviour().redirects();
            redirects == Redirects::Anywhere
        };
        self.plan.steps().any(anywhere)
    }

    /// Whether a used connection may end, after which clients send again without
    /// counting it as an attempt.
    fn has_stale_connections(&self) -> bool {
        self.plan
            .steps()
            .any(|step| step.then.is_some() || step.when.connection.is_some())
    }
}

fn entries(node: &Node) -> &[(Key, Node)] {
    match &node.value {
        Value::Map(entries) => entries,
        _ => &[],
    }
}

/// A list that ends too soon in good order lacks something only for those who know
/// how it should end.
fn lists_without_an_end(view: &View<'_>, reading: &mut Reading<'_>) {
    let knows = |call: &Call| {
        let stream = call.stream.as_ref();
        stream.is_some_and(|stream| stream.ends_with.is_some())
    };
    if view.plan.calls.iter().all(knows) {
        return;
    }
    view.each_step(|step| {
        if step.plan.fault.behaviour().ends_a_list_in_order() {
            let out = &mut *reading.out;
            let title = "this cut leaves a complete message";
            out.report(ids::CUT_OF_WHOLE, &step.node.span, title)
                .label("without a length, an orderly close is the end of the content")
                .help(
                    "write the work as `stream`, with `ends_with`, the data of the list's last \
                     event; or write another `framing`",
                );
        }
    });
}

fn nothing_required(plan: &Plan, document: &Fields<'_>, reading: &mut Reading<'_>) {
    let required = plan.cancel.is_some()
        || plan.crash.is_some()
        || plan.servers.iter().any(|server| {
            let steps = server.queues.iter().flat_map(|queue| &queue.steps);
            server.required.listen
                || server.required.connection.is_some()
                || steps.into_iter().any(|step| step.required)
        });
    let mut servers = plan.servers.iter();
    let unknowable = servers.any(|server| server.listen.first() == PortState::Refuse);
    if !required && let Some((key, _)) = document.entry("servers") {
        reading
            .out
            .report(
                ids::NOTHING_REQUIRED,
                &key.span,
                "nothing goes wrong in this scenario",
            )
            .label("no fault must fire")
            .help(if unknowable {
                "whether a client tried an address of `localhost` that refuses, nobody knows: \
                 use `listen: drop`, which is counted"
            } else {
                "add a fault, or take `required: false` away from the one there is"
            });
    }
}
