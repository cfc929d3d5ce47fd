//! `servers`: their lanes before and around the steps.

use std::net::Ipv4Addr;

use scripted_servers::script::{ConnectionAct, Listen, PathPattern, PortState, Route};

use crate::document::decode::{Fields, Keys, brief};
use crate::document::kind::{Kind, Rule};
use crate::document::{Key, Node, Span, Value, ids};
use crate::faults;
use crate::models::{self, ModelPlan};
use crate::plan::{LanesRequired, QueuePlan, ServerPlan};

use super::steps::{self, Place};
use super::{address, listen};
use crate::reading::names::is_name;
use crate::reading::{Reading, all_good, routes};

/// Servers of a scenario; each takes a port.
const MOST_SERVERS: usize = 100;

/// Routes of a server.
const MOST_ROUTES: usize = 100;

static KEYS: Keys = Keys::new(
    "a server",
    &[
        (
            "listen",
            "whether its port can be reached, and when: `open`, `refuse`, `drop` or `{phases: [..]}`",
            || listen::kind().by_default("open"),
        ),
        (
            "address",
            "its loopback address: 127.0.0.1 unless it is written, any 127.a.b.c, or \"::1\"",
            address::kind,
        ),
        (
            "port_of",
            "the server whose port number it has, at an address of its own",
            || Kind::fits(name_pattern()),
        ),
        (
            "connections",
            "what happens to accepted connections",
            || Kind::list(Kind::words(CONNECTIONS)),
        ),
        ("models", "what its application remembers", models::kind),
        ("script", "the steps that its requests take", steps::kind),
        ("routes", "steps by method and path", || {
            Kind::names(routes::pattern(), 1..=MOST_ROUTES, steps::kind())
        }),
    ],
)
.rules(&[Rule::AtMostOneOf(&["script", "routes"])])
.elsewhere(&[
    ("applies", "a step of `script`"),
    ("then", "a step of `script`"),
    ("status", "`respond` of a step of `script`"),
])
.owner(|key| {
    let is_behaviour = faults::WORDS.contains(&key);
    is_behaviour.then(|| "a step of `script`".to_owned())
})
.not_yet(&["tls", "protocol"]);

const CONNECTIONS: &[(&str, ConnectionAct)] = &[
    ("serve", ConnectionAct::Serve),
    ("reset", ConnectionAct::Reset),
    ("close", ConnectionAct::Close),
    ("hang", ConnectionAct::Hang),
];

/// The most characters of a server's name.
const LONGEST_NAME: usize = 40;

/// `servers`.
pub(super) fn kind() -> Kind {
    Kind::names(name_pattern(), 1..=MOST_SERVERS, Kind::Map(&KEYS))
}

fn name_pattern() -> String {
    format!("(?!(?:n|job)$)[a-z][a-z0-9_]{{0,{}}}", LONGEST_NAME - 1)
}

/// Reads `servers`, and makes their names known to the rest.
pub(super) fn servers(document: &Fields<'_>, reading: &mut Reading<'_>) -> Option<Vec<ServerPlan>> {
    let node = document.need("servers", reading.out)?;
    let entries = node.map("`servers`", reading.out)?;
    if entries.is_empty() {
        return node.wrong("`servers`", "a map with at least one server", reading.out);
    }
    let mut good = true;
    for (name, _) in entries.iter().take(MOST_SERVERS) {
        good &= server_name(name, reading);
    }
    at_most(MOST_SERVERS, entries, "servers", reading)?;
    let servers: Vec<_> = entries
        .iter()
        .map(|(name, node)| server(name, node, reading))
        .collect();
    let servers = servers.into_iter().collect::<Option<Vec<_>>>()?;
    address::check(&servers, entries, reading);
    good.then_some(servers)
}

/// Reports the first entry that is one too many. Entries are checked against
/// each other, so that their number decides how long that takes.
fn at_most(
    most: usize,
    entries: &[(Key, Node)],
    what: &str,
    reading: &mut Reading<'_>,
) -> Option<()> {
    let Some((key, _)) = entries.get(most) else {
        return Some(());
    };
    too_much(most, what, &key.span, reading);
    None
}

/// Reports that a scenario has more of something than it may.
pub(super) fn too_much(most: usize, what: &str, span: &Span, reading: &mut Reading<'_>) {
    reading
        .out
        .report(ids::TOO_MUCH_SCRIPT, span, format!("too many {what}"))
        .label(format!("more than {most} with this one"))
        .help("split the scenario; a step with `times` can be taken often");
}

fn server_name(name: &Key, reading: &mut Reading<'_>) -> bool {
    let is_column = reading.columns.contains(&name.text);
    let taken = is_column || matches!(name.text.as_str(), "n" | "job");
    let good = is_name(&name.text) && name.text.len() <= LONGEST_NAME && !taken;
    if !good {
        let label = match (is_column, taken) {
            (true, _) => "a column has this name, too",
            (false, true) => "this name is taken",
            _ => "not a name",
        };
        let title = format!("`{}` cannot be the name of a server", brief(&name.text));
        reading
            .out
            .report(ids::BAD_NAME, &name.span, title)
            .label(label)
            .help("a name is a lower-case word such as `api` or `dead_end`");
        if is_column {
            reading.out.last().beyond_schema();
        }
    }
    // A name in capitals is told once, and not again wherever it is used.
    reading.servers.push(name.text.to_lowercase());
    good
}

fn server(name: &Key, node: &Node, reading: &mut Reading<'_>) -> Option<ServerPlan> {
    let fields = node.fields(&KEYS, reading.out)?;
    let listen = match fields.get("listen") {
        None => Some(Listen::Open),
        Some(node) => listen::listen(node, reading),
    };
    let connections = match fields.get("connections") {
        None => Some(vec![ConnectionAct::Serve]),
        Some(node) => connections(node, reading),
    };
    let address = match fields.get("address") {
        None => Some(Ipv4Addr::LOCALHOST.into()),
        Some(node) => address::address(node, reading),
    };
    let port_of = fields.get("port_of");
    let port_of = all_good(port_of.map(|node| address::port_of(node, name, reading)));
    reading.used_models.clear();
    reading.models = match fields.get("models") {
        None => Vec::new(),
        Some(node) => models::decode(node, reading)?,
    };
    let queues = queues(&fields, name, reading);
    let models = std::mem::take(&mut reading.models);
    unused_models(&fields, &models, reading);
    let (listen, connections, mut queues) = (listen?, connections?, queues?);
    let (address, port_of) = (address?, port_of?);
    let served = connections.contains(&ConnectionAct::Serve);
    let opens = listen.ever_opens();
    if queues.is_empty() && opens && served {
        reading
            .out
            .report(
                ids::NO_SCRIPT,
                &name.span,
                format!("the server `{}` has no steps", name.text),
            )
            .label("it would not know what to answer")
            .help("add `script:` with a step such as `respond: {status: 200}`");
        return None;
    }
    // Nothing behind a port that never opens can fire.
    for step in queues.iter_mut().flat_map(|queue| &mut queue.steps) {
        step.required &= opens && served;
    }
    unreachable_lanes(&fields, (&listen, served), reading);
    let first = connections
        .iter()
        .position(|act| *act != ConnectionAct::Serve);
    Some(ServerPlan {
        name: name.text.clone(),
        line: reading.out.line(&name.span),
        address,
        port_of,
        required: LanesRequired {
            listen: listen.first() != PortState::Open,
            connection: first.filter(|_| opens),
        },
        listen,
        connections,
        models,
        queues,
    })
}

/// A model that no step of any case goes through.
fn unused_models(fields: &Fields<'_>, models: &[ModelPlan], reading: &mut Reading<'_>) {
    let entries = fields.get("models").and_then(|node| match &node.value {
        Value::Map(entries) => Some(entries),
        _ => None,
    });
    for (key, _) in entries.into_iter().flatten() {
        let is_there = models.iter().any(|model| model.name == key.text);
        if !is_there || reading.used_models.contains(&key.text) {
            continue;
        }
        reading
            .in_every_case
            .report(
                ids::UNUSED_MODEL,
                &key.span,
                format!("no step goes through `{}`", brief(&key.text)),
            )
            .label("nobody asks it")
            .help(format!(
                "add `through: [{}]` to a step, or remove it",
                brief(&key.text)
            ));
    }
}

fn connections(node: &Node, reading: &mut Reading<'_>) -> Option<Vec<ConnectionAct>> {
    let items = node.filled_list("`connections`", reading.out)?;
    let acts: Vec<_> = items
        .iter()
        .map(|item| {
            if reading.later(item, &["tls-hang", "tls-reset", "tls-close"]) {
                return None;
            }
            item.word("what happens to a connection", CONNECTIONS, reading.out)
        })
        .collect();
    acts.into_iter().collect()
}

fn queues(fields: &Fields<'_>, name: &Key, reading: &mut Reading<'_>) -> Option<Vec<QueuePlan>> {
    match fields.at_most_one_of(&["script", "routes"], reading.out)? {
        None => Some(Vec::new()),
        Some(("script", key, node)) => {
            let route = Route {
                method: None,
                path: PathPattern::Any,
            };
            let steps = steps::steps(node, &Place::new(&name.text, &key.text, &route), reading)?;
            Some(vec![QueuePlan {
                pattern: key.text.clone(),
                route,
                steps,
            }])
        }
        Some((_, _, node)) => routes(node, name, reading),
    }
}

fn routes(node: &Node, name: &Key, reading: &mut Reading<'_>) -> Option<Vec<QueuePlan>> {
    let entries = node.map("`routes`", reading.out)?;
    if entries.is_empty() {
        return node.wrong("`routes`", "a map with at least one route", reading.out);
    }
    at_most(MOST_ROUTES, entries, "routes of a server", reading)?;
    let queues: Vec<_> = entries
        .iter()
        .map(|(pattern, steps)| {
            let route = reading.route(&pattern.text, &pattern.span);
            let any = Route {
                method: None,
                path: PathPattern::Any,
            };
            let place = Place::new(&name.text, &pattern.text, route.as_ref().unwrap_or(&any));
            let steps = steps::steps(steps, &place, reading)?;
            Some(QueuePlan {
                pattern: pattern.text.clone(),
                route: route?,
                steps,
            })
        })
        .collect();
    queues.into_iter().collect()
}

/// What stands behind a lane that lets nothing through, unless another case
/// opens it.
fn unreachable_lanes(
    fields: &Fields<'_>,
    (listen, served): (&Listen, bool),
    reading: &mut Reading<'_>,
) {
    let closed = !listen.ever_opens();
    for key in ["connections", "script", "routes"] {
        let Some((key, _)) = fields.entry(key) else {
            continue;
        };
        let why = match (closed, served, key.text.as_str()) {
            (true, ..) if *listen == Listen::Refuse => "the port refuses every connection",
            (true, ..) => "the port never accepts a connection",
            (false, false, "script" | "routes") => "no connection is served",
            _ => continue,
        };
        reading
            .in_every_case
            .report(
                ids::UNREACHABLE,
                &key.span,
                format!("`{}` is never reached", key.text),
            )
            .label(why)
            .help("remove it, or open the way to it");
    }
}
