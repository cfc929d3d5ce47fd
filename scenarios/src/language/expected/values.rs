//! Decoding what is expected of a value: a matcher, `by-policy`, or `{}` at
//! the level `info`, where nothing is expected and the value is shown.

use std::time::Duration;

use super::Expected;
use crate::document::{Diagnostics, Kind, Node, Span, ids};
use crate::matcher::Matcher;
use crate::policy;
use crate::scope::Scope;
use crate::verdict::Level;

/// How close the bounds of a wait may be: closer ones would test the machine.
const CLOSEST: Duration = Duration::from_millis(20);

/// A range of time.
pub fn time() -> Kind {
    Kind::Range(Box::new(Kind::time())).expected()
}

/// Whether the level only shows values.
pub fn shows(scope: &Scope<'_>) -> bool {
    scope.level == Level::Info
}

/// Whether this is `{}` where that shows the value.
pub fn is_shown(node: &Node, scope: &Scope<'_>) -> bool {
    shows(scope) && node.is_empty_map()
}

/// Reports an expectation where none is written.
pub fn expects_nothing(span: &Span, what: &str, scope: &mut Scope<'_>) {
    scope
        .out
        .report(
            ids::WRONG_KIND,
            span,
            format!("{what} expects nothing at the level `info`"),
        )
        .label("nobody would hold the client to this")
        .help("write `{}` to show the value, or move it to `must` or `should`");
}

/// None, and a mistake, at the level `info`.
pub fn must_expect(node: &Node, what: &str, scope: &mut Scope<'_>) -> Option<()> {
    if shows(scope) {
        expects_nothing(&node.span, what, scope);
        return None;
    }
    Some(())
}

/// A matcher of anything that `item` reads; `by-policy` where `computed`.
pub fn expected<T: PartialOrd>(
    node: &Node,
    what: &str,
    computed: bool,
    scope: &mut Scope<'_>,
    item: &dyn Fn(&Node, &mut Diagnostics) -> Option<T>,
) -> Option<Expected<T>> {
    if is_shown(node, scope) {
        return Some(Expected::Shown);
    }
    must_expect(node, what, scope)?;
    if by_policy(node, what, computed, scope)? {
        return Some(Expected::ByPolicy);
    }
    let matcher = node.matcher(what, scope.out, item)?;
    Some(Expected::Fits(matcher))
}

/// A range of time; `by-policy` where `computed`.
pub fn range_of_time(
    node: &Node,
    what: &str,
    computed: bool,
    scope: &mut Scope<'_>,
) -> Option<Expected<Duration>> {
    if is_shown(node, scope) {
        return Some(Expected::Shown);
    }
    must_expect(node, what, scope)?;
    if by_policy(node, what, computed, scope)? {
        return Some(Expected::ByPolicy);
    }
    let range = node.range_of_time(what, scope.out)?;
    if let Matcher::Range {
        at_least: Some(low),
        at_most: Some(high),
    } = &range
        && *high < *low + CLOSEST
    {
        scope
            .out
            .report(
                ids::BAD_RANGE,
                &node.span,
                format!("the bounds of {what} are too close"),
            )
            .label("less than 20ms apart")
            .help("leave at least 20ms between them; clocks and schedulers need that much")
            .beyond_schema();
        return None;
    }
    Some(Expected::Fits(range))
}

/// Whether this is `by-policy`; a mistake where that can not be computed.
fn by_policy(node: &Node, what: &str, computed: bool, scope: &mut Scope<'_>) -> Option<bool> {
    if !node.is_word("by-policy") {
        return Some(false);
    }
    let (servers, calls, limits) = (scope.servers, scope.calls, scope.limits);
    let treatment = scope.treatment;
    if computed && let Some(why) = policy::not_computable(servers, calls, limits, treatment) {
        scope
            .out
            .report(
                ids::NOT_COMPUTABLE,
                &node.span,
                "no policy can be computed for this scenario",
            )
            .label(why)
            .help("write the count or the outcome that is right for every client");
        return None;
    }
    if computed {
        return Some(true);
    }
    scope
        .out
        .report(
            ids::UNKNOWN_WORD,
            &node.span,
            format!("{what} can not be `by-policy`"),
        )
        .label("no policy says this")
        .help("`by-policy` works for `delivered`, `outcome` and `gap`");
    None
}

/// A list with at least one entry, all of them read before one fails.
pub fn list<T>(
    node: &Node,
    what: &str,
    out: &mut Diagnostics,
    item: &dyn Fn(&Node, &mut Diagnostics) -> Option<T>,
) -> Option<Vec<T>> {
    let items = node.filled_list(what, out)?;
    let items: Vec<_> = items.iter().map(|one| item(one, out)).collect();
    items.into_iter().collect()
}

/// The same, for entries that need the rest of the case.
pub fn list_in<T>(
    node: &Node,
    what: &str,
    scope: &mut Scope<'_>,
    item: &dyn Fn(&Node, &mut Scope<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let items = node.filled_list(what, scope.out)?;
    let items: Vec<_> = items.iter().map(|one| item(one, scope)).collect();
    items.into_iter().collect()
}
