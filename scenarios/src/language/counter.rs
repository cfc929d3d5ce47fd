//! Counters: which requests an assertion counts. `api`, or `api POST /jobs`:
//! a server and a pattern as in `routes`.

use scripted_servers::script::{PathPattern, Route};
use serde::{Deserialize, Serialize};

/// Requests at one server, perhaps only those that fit a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counter {
    /// The server.
    pub server: String,
    /// Which of its requests; none: all.
    pub route: Option<Route>,
    /// As written.
    pub text: String,
}

impl Counter {
    /// All requests at a server.
    pub fn server(name: &str) -> Self {
        Self {
            server: name.to_owned(),
            route: None,
            text: name.to_owned(),
        }
    }

    /// Reads `api` or `api POST /jobs` or `api /jobs/*`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let server = words.next().filter(|name| !name.is_empty())?;
        let rest: Vec<&str> = words.collect();
        let route = match rest.as_slice() {
            [] => None,
            [path] => Some(route(None, path)?),
            [method, path] => Some(route(Some(method), path)?),
            _ => return None,
        };
        Some(Self {
            server: server.to_owned(),
            route,
            text: text.to_owned(),
        })
    }
}

/// A pattern as in `routes`.
fn route(method: Option<&str>, path: &str) -> Option<Route> {
    if !path.starts_with('/') || method.is_some_and(|method| !is_method(method)) {
        return None;
    }
    let path = match path.strip_suffix('*') {
        Some(prefix) if prefix.ends_with('/') => PathPattern::Prefix(prefix.to_owned()),
        Some(_) => return None,
        None => PathPattern::Exact(path.to_owned()),
    };
    let method = method.map(str::to_owned);
    Some(Route { method, path })
}

fn is_method(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|letter| letter.is_ascii_uppercase() || letter == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_a_server_and_perhaps_a_pattern() {
        assert_eq!(Counter::parse("api"), Some(Counter::server("api")));
        let jobs = Counter::parse("api POST /jobs/*").and_then(|counter| counter.route);
        let jobs = jobs.expect("a pattern");
        assert!(jobs.takes("POST", "/jobs/1?x=2"));
        // The absolute form, as it is sent to a proxy, is the same request.
        assert!(jobs.takes("POST", "http://api:80/jobs/1?x=2"));
        assert!(!jobs.takes("GET", "/jobs/1"));
        assert!(!jobs.takes("POST", "/job"));
        let end = Counter::parse("api /end").and_then(|counter| counter.route);
        assert!(end.expect("a pattern").takes("PUT", "/end?again"));
    }

    #[test]
    fn what_is_no_pattern_is_no_counter() {
        for wrong in [
            "",
            "api jobs",
            "api post /jobs",
            "api POST",
            "api GET /a b",
            "api /a*",
        ] {
            assert_eq!(Counter::parse(wrong), None, "{wrong}");
        }
    }
}
