//! Routes: a method and a path.

use scripted_servers::script::{PathPattern, Route};

use super::Reading;
use crate::document::decode::{brief, not_yet};
use crate::document::kind::Kind;
use crate::document::{Node, Span, ids};

/// Characters that a path is made of.
const PLAIN: &str = r#"[!"$-)+->@-~]"#;
const METHOD: &str = "(?!CONNECT )(?:[A-Z]+ )?";

/// A pattern of a route.
pub(crate) fn pattern() -> String {
    format!(r"{METHOD}/(?:{PLAIN}*|(?:{PLAIN}*/)?\*)")
}

/// A route.
pub(crate) fn kind() -> Kind {
    Kind::fits(pattern())
}

/// A route whose `*` stands for an id.
pub(crate) fn with_id_kind() -> Kind {
    Kind::fits(format!(r"{METHOD}/(?:{PLAIN}*/)?\*"))
}

impl Reading<'_> {
    /// A route that stands as a value.
    pub(crate) fn route_of(&mut self, node: &Node, what: &str) -> Option<Route> {
        let text = node.text(what, self.out)?;
        self.route(text, &node.span)
    }

    /// A route whose `*` stands for an id.
    pub(crate) fn route_with_id(&mut self, node: &Node, what: &str) -> Option<Route> {
        let route = self.route_of(node, what)?;
        if let PathPattern::Prefix(_) = route.path {
            return Some(route);
        }
        self.out
            .report(
                ids::BAD_ROUTE,
                &node.span,
                "this route has no place for an id",
            )
            .label("it takes one path only")
            .help("end it with `/*`, which stands for the id");
        None
    }

    /// `[METHOD ]/path` or `/path/*`.
    pub(crate) fn route(&mut self, pattern: &str, span: &Span) -> Option<Route> {
        let (method, path) = match pattern.split_once(' ') {
            Some((method, path)) => (Some(method), path),
            None => (None, pattern),
        };
        if method == Some("CONNECT") {
            not_yet(span, "CONNECT", self.out);
            return None;
        }
        let token =
            |method: &str| !method.is_empty() && method.chars().all(|c| c.is_ascii_uppercase());
        let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '*' | '?' | '#');
        let stem = path.strip_suffix('*').unwrap_or(path);
        let good = method.is_none_or(token)
            && path.starts_with('/')
            && stem.chars().all(plain)
            && (stem.len() == path.len() || stem.ends_with('/'));
        if !good {
            let title = format!("`{}` is not a route", brief(pattern));
            self.out
                .report(ids::BAD_ROUTE, span, title)
                .label("not a method and a path")
                .help("write \"/path\", \"POST /path\" or \"/path/*\"");
            return None;
        }
        let path = if stem.len() == path.len() {
            PathPattern::Exact(path.to_owned())
        } else {
            PathPattern::Prefix(stem.to_owned())
        };
        Some(Route {
            method: method.map(str::to_owned),
            path,
        })
    }
}
