//! Counts as they are expected, and decoding them: maps from a counter, a server or an effect to what is
//! expected of it.

use serde::{Deserialize, Serialize};

use super::values;
use crate::counter::Counter;
use crate::document::decode::{brief, listed, nearest, unknown_word};
use crate::document::kind::{ANY_TEXT, FILLED, Kind};
use crate::document::{Key, Node, Span, ids};
use crate::expected::Expected;
use crate::scope::Scope;
use crate::target;

/// The highest count that makes sense anywhere.
const MOST: u64 = 1_000_000;

/// A counter and what is expected of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// What is counted.
    pub counter: Counter,
    /// How many.
    pub expected: Expected<u64>,
}

/// An effect and what is expected of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectCount {
    /// The effect.
    pub effect: String,
    /// How often.
    pub expected: Expected<u64>,
}

/// A server, perhaps with a pattern of its requests.
const COUNTER: &str = r"[^ ]+(?: (?:[A-Z-]+ )?/(?:[^ ]*[^ *]|(?:[^ ]*/)?\*)?)?";

/// Whether a server or an effect has such a name is told by the rest of the scenario.
const NAMED: &str = ANY_TEXT;

/// A counter that stands as a value.
pub fn one() -> Kind {
    Kind::fits(COUNTER)
}

/// Counts of requests, by counter; `by-policy` where that is `computed`.
pub fn of_requests(computed: bool) -> Kind {
    let by_policy = computed.then(|| Kind::word("by-policy"));
    let count = std::iter::once(count()).chain(by_policy).collect();
    Kind::names(COUNTER, FILLED, Kind::Either(count).expected())
}

/// What is expected of the requests of each counter.
pub(crate) fn of_counters(kind: Kind) -> Kind {
    Kind::names(COUNTER, FILLED, kind.expected())
}

/// Counts by server.
pub fn of_servers() -> Kind {
    Kind::names(NAMED, FILLED, count().expected())
}

/// Counts by effect.
pub fn of_effects() -> Kind {
    Kind::names(NAMED, FILLED, count().expected())
}

/// What is expected of one count.
pub(crate) fn one_count() -> Kind {
    count().expected()
}

fn count() -> Kind {
    Kind::matcher(Kind::Number(0..=MOST))
}

/// `{api: 1, "api POST /jobs": [0, 1]}`; `by-policy` where `computed`.
pub fn decode(
    node: &Node,
    what: &str,
    computed: bool,
    scope: &mut Scope<'_>,
) -> Option<Vec<Count>> {
    each(node, what, scope, &|key, value, scope| {
        let counter = counter(&key.text, &key.span, scope);
        let expected = number(value, what, computed, scope);
        Some(Count {
            counter: counter?,
            expected: expected?,
        })
    })
}

/// `{api: 1}`, servers only.
pub fn decode_of_servers(node: &Node, what: &str, scope: &mut Scope<'_>) -> Option<Vec<Count>> {
    each(node, what, scope, &|key, value, scope| {
        let server = server(&key.text, &key.span, scope);
        let expected = number(value, what, false, scope);
        server?;
        Some(Count {
            counter: Counter::server(&key.text),
            expected: expected?,
        })
    })
}

/// `{order: 1}`; with `by_key` the effect must have a business key.
pub fn decode_effects(
    node: &Node,
    what: &str,
    by_key: bool,
    scope: &mut Scope<'_>,
) -> Option<Vec<EffectCount>> {
    each(node, what, scope, &|key, value, scope| {
        let effect = effect(key, by_key, scope);
        let expected = number(value, what, false, scope);
        effect?;
        Some(EffectCount {
            effect: key.text.clone(),
            expected: expected?,
        })
    })
}

/// A count that stands as a value.
pub(crate) fn number_of(node: &Node, what: &str, scope: &mut Scope<'_>) -> Option<Expected<u64>> {
    number(node, what, false, scope)
}

/// The name of a server.
pub(crate) fn server_of(node: &Node, scope: &mut Scope<'_>) -> Option<String> {
    let name = node.text("the name of a server", scope.out)?;
    server(name, &node.span, scope)?;
    Some(name.to_owned())
}

/// A map from counters to something else than a count.
pub(crate) fn each_counter<T>(
    node: &Node,
    what: &str,
    scope: &mut Scope<'_>,
    value: &dyn Fn(&Node, &mut Scope<'_>) -> Option<T>,
) -> Option<Vec<(Counter, T)>> {
    each(node, what, scope, &|key, node, scope| {
        let counter = counter(&key.text, &key.span, scope);
        let value = value(node, scope);
        Some((counter?, value?))
    })
}

/// A counter that stands as a value.
pub fn counter_of(node: &Node, scope: &mut Scope<'_>) -> Option<Counter> {
    let text = node.text("a counter", scope.out)?;
    counter(text, &node.span, scope)
}

fn each<T>(
    node: &Node,
    what: &str,
    scope: &mut Scope<'_>,
    one: &dyn Fn(&Key, &Node, &mut Scope<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let entries = node.map(what, scope.out)?;
    if entries.is_empty() {
        scope
            .out
            .report(
                ids::EMPTY_LIST,
                &node.span,
                format!("{what} counts nothing"),
            )
            .label("nothing in it")
            .help("name what is counted: `{api: 1}`");
        return None;
    }
    let counts: Vec<_> = entries
        .iter()
        .map(|(key, value)| one(key, value, scope))
        .collect();
    counts.into_iter().collect()
}

fn number(node: &Node, what: &str, computed: bool, scope: &mut Scope<'_>) -> Option<Expected<u64>> {
    values::expected(node, what, computed, scope, &|node, out| {
        node.number("a count", 0..=MOST, out)
    })
}

fn counter(text: &str, span: &Span, scope: &mut Scope<'_>) -> Option<Counter> {
    let Some(counter) = Counter::parse(text) else {
        let text = brief(text);
        scope
            .out
            .report(ids::BAD_COUNTER, span, format!("`{text}` is no counter"))
            .label("neither a server nor a server with a pattern")
            .help("write `api`, \"api /jobs/*\" or \"api POST /jobs\"");
        return None;
    };
    server(&counter.server, span, scope)?;
    let Some(route) = &counter.route else {
        return Some(counter);
    };
    let Some(reached) = target::reached(scope.servers, scope.calls, &counter.server) else {
        return Some(counter);
    };
    let fits = |(method, path): &(Option<String>, String)| {
        let method = method.as_deref().or(route.method.as_deref());
        route.takes(method.unwrap_or("GET"), path)
    };
    if reached.iter().any(fits) {
        return Some(counter);
    }
    let paths = reached.iter().map(|(_, path)| path.as_str());
    scope
        .out
        .report(
            ids::NO_SUCH_REQUEST,
            span,
            format!("no request here fits `{}`", brief(text)),
        )
        .label("this counts nothing")
        .help(format!(
            "requests to `{}` go to {}",
            counter.server,
            listed(paths)
        ));
    None
}

fn server(name: &str, span: &Span, scope: &mut Scope<'_>) -> Option<()> {
    if scope.server(name).is_some() {
        return Some(());
    }
    let names = scope.servers.iter().map(|server| server.name.as_str());
    let help = match nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the servers are {}", listed(names)),
    };
    let title = format!("there is no server `{}`", brief(name));
    scope
        .out
        .report(ids::UNKNOWN_SERVER, span, title)
        .label("not under `servers`")
        .help(help);
    None
}

fn effect(key: &Key, by_key: bool, scope: &mut Scope<'_>) -> Option<()> {
    let effects = scope.effects();
    let names: Vec<String> = effects.keys().map(|name| (*name).to_owned()).collect();
    let found = effects.get(key.text.as_str()).copied();
    match found {
        Some(false) if by_key => {
            let text = brief(&key.text);
            scope
                .out
                .report(
                    ids::NO_BUSINESS_KEY,
                    &key.span,
                    format!("no step gives `{text}` a business key"),
                )
                .label("this can not be told apart by key")
                .help("add `key:` to a step that applies it, or count with `applied`");
            None
        }
        Some(_) => Some(()),
        None if names.is_empty() => {
            let text = brief(&key.text);
            scope
                .out
                .report(ids::UNKNOWN_WORD, &key.span, "no step applies anything")
                .label("nothing can be counted")
                .help(format!("add `applies: {text}` to a step"))
                .beyond_schema();
            None
        }
        None => {
            let names = names.iter().map(String::as_str);
            unknown_word(
                &key.span,
                &key.text,
                "an effect of any step",
                names,
                scope.out,
            );
            scope.out.last().beyond_schema();
            None
        }
    }
}
