//! Which requests a route takes, in the one definition that serving, counting
//! and every prediction of both share.

use crate::script::{PathPattern, Route};

/// How closely a route describes a request that it takes: by the length of its
/// path, an exact path before a prefix, then one with a method before one
/// without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Closeness {
    path: (usize, bool),
    method: bool,
}

impl Route {
    /// Whether it takes a request with this method and request target.
    pub fn takes(&self, method: &str, target: &str) -> bool {
        self.closeness(method, target).is_some()
    }

    /// How closely it describes a request with this method and request target;
    /// none when it does not take it. Of routes the closest takes a request, of
    /// equals the first.
    pub fn closeness(&self, method: &str, target: &str) -> Option<Closeness> {
        let wanted = self.method.as_deref();
        let path = self.path.closeness(path_of(target))?;
        wanted
            .is_none_or(|wanted| wanted == method)
            .then_some(Closeness {
                path,
                method: wanted.is_some(),
            })
    }
}

impl PathPattern {
    /// How closely it describes a path that it takes.
    pub(crate) fn closeness(&self, path: &str) -> Option<(usize, bool)> {
        match self {
            Self::Any => Some((0, false)),
            Self::Exact(exact) => (exact == path).then_some((exact.len(), true)),
            Self::Prefix(prefix) => path
                .starts_with(prefix.as_str())
                .then_some((prefix.len(), false)),
        }
    }
}

/// The path of a request target (RFC 9112 section 3.2), without query.
pub fn path_of(target: &str) -> &str {
    let from_path = match target.split_once("://") {
        // Absolute form, as sent to a proxy.
        Some((scheme, rest)) if !scheme.contains(['/', '?']) => {
            rest.find(['/', '?']).map_or("/", |at| &rest[at..])
        }
        _ => target,
    };
    let path = from_path.split('?').next().unwrap_or(from_path);
    if path.is_empty() { "/" } else { path }
}
