//! Where the requests of a case lead: its calls and the URLs in its answers,
//! told by server and path without knowing real addresses.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::manifest::Manifest;
use crate::plan::{Call, Plan, Request, ServerPlan};
use crate::rendering::SMALL;
use crate::template::{Bindings, Template};

/// A place that a request can go to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name of the server.
    pub server: String,
    /// Path with query, as it goes on the wire.
    pub path: String,
}

/// What a call sends, as far as the case and the manifest say.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// Method.
    pub method: String,
    /// Where to.
    pub target: Target,
    /// Header fields that the call gives.
    pub headers: Vec<(String, String)>,
    /// Bytes of content.
    pub content: u64,
}

/// What a call sends; none when its URL leads to no server of the case, or the
/// manifest does not know its operation.
pub fn of_call(plan: &Plan, manifest: &Manifest, call: &Call) -> Option<Sent> {
    match &call.request {
        Request::Literal {
            method,
            url,
            headers,
            body,
            ..
        } => {
            let names = stand_ins(&plan.servers);
            let headers = headers.iter();
            Some(Sent {
                method: method.clone(),
                target: leads_to(&plan.servers, url, None)?,
                headers: headers
                    .map(|(name, value)| (name.clone(), value.render(&names)))
                    .collect(),
                content: body.as_ref().map_or(0, |body| body.likely_length(&names)),
            })
        }
        Request::Operation {
            operation,
            at,
            size,
            ..
        } => {
            let bound = manifest.operations.get(operation)?;
            let content = if bound.content {
                size.unwrap_or(SMALL)
            } else {
                0
            };
            Some(Sent {
                method: bound.method.clone(),
                target: Target {
                    server: at.clone(),
                    path: bound.path.clone(),
                },
                headers: Vec::new(),
                content,
            })
        }
    }
}

/// Where a URL leads. A relative one (RFC 3986 section 4.2) starts from `base`.
pub fn leads_to(servers: &[ServerPlan], url: &Template, base: Option<&Target>) -> Option<Target> {
    let names = stand_ins(servers);
    let url = url.render(&names);
    let url = url.split('#').next().unwrap_or_default();
    if let Some(rest) = url.strip_prefix("http://") {
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(split);
        let address: SocketAddr = authority.parse().ok()?;
        let found = names.0.iter().find(|(_, bound)| **bound == address);
        let slash = if path.starts_with('/') { "" } else { "/" };
        return Some(Target {
            server: found?.0.clone(),
            path: format!("{slash}{path}"),
        });
    }
    let base = base?;
    let has_scheme = url.split(['/', '?']).next().unwrap_or("").contains(':');
    if has_scheme || url.starts_with("//") {
        return None;
    }
    Some(Target {
        server: base.server.clone(),
        path: resolve(&base.path, url),
    })
}

/// A path reference against the path it stands in.
fn resolve(base: &str, reference: &str) -> String {
    if reference.starts_with('/') {
        return reference.to_owned();
    }
    let path = base.split('?').next().unwrap_or(base);
    if reference.is_empty() {
        return base.to_owned();
    }
    if reference.starts_with('?') {
        return format!("{path}{reference}");
    }
    let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
    let mut segments: Vec<&str> = folder.split('/').skip(1).collect();
    segments.pop();
    for segment in reference.split('/') {
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            other => segments.push(other),
        }
    }
    format!("/{}", segments.join("/"))
}

/// The methods (none: any) and paths with which requests can reach a server, by
/// the calls and by redirects; none when an operation may go anywhere there.
pub fn reached(
    servers: &[ServerPlan],
    calls: &[Call],
    server: &str,
) -> Option<BTreeSet<(Option<String>, String)>> {
    let mut reached: BTreeSet<(Option<String>, Target)> = BTreeSet::new();
    for call in calls {
        match &call.request {
            Request::Literal { method, url, .. } => {
                let target = leads_to(servers, url, None);
                reached.extend(target.map(|target| (Some(method.clone()), target)));
            }
            Request::Operation { .. } => return None,
        }
    }
    // Relative redirects can go on from where redirects lead.
    for _ in 0..HOPS {
        let from: Vec<Target> = reached.iter().map(|(_, target)| target.clone()).collect();
        let before = reached.len();
        for location in servers.iter().flat_map(locations) {
            let to = from.iter();
            let to = to.filter_map(|base| leads_to(servers, location, Some(base)));
            reached.extend(to.map(|target| (None, target)));
        }
        if reached.len() == before || reached.len() > MOST_TARGETS {
            break;
        }
    }
    let here = reached
        .into_iter()
        .filter(|(_, target)| target.server == server);
    Some(here.map(|(method, target)| (method, target.path)).collect())
}

/// Redirects that are followed when targets are collected.
const HOPS: usize = 10;

/// Targets that are collected; a relative redirect can make ever longer ones.
const MOST_TARGETS: usize = 1000;

/// The URLs that a server's answers redirect to.
fn locations(server: &ServerPlan) -> impl Iterator<Item = &Template> {
    let steps = server.queues.iter().flat_map(|queue| &queue.steps);
    let headers = steps.flat_map(|step| step.fault.behaviour().headers());
    headers
        .filter(|(name, _)| name.eq_ignore_ascii_case("location"))
        .map(|(_, url)| url)
}

/// An address for each server that stands for its name.
pub fn stand_ins(servers: &[ServerPlan]) -> Bindings {
    let port = |place: usize| u16::try_from(place + 1).unwrap_or(u16::MAX);
    let servers = servers.iter().enumerate();
    let address = |place| SocketAddr::from((Ipv4Addr::LOCALHOST, port(place)));
    Bindings(
        servers
            .map(|(place, server)| (server.name.clone(), address(place)))
            .collect(),
    )
}

/// Whether a method is safe (RFC 9110 section 9.2.1): asking twice changes
/// nothing.
pub fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}

/// Whether a method is idempotent (RFC 9110 section 9.2.2): twice is as once.
pub fn is_idempotent(method: &str) -> bool {
    is_safe(method) || matches!(method, "PUT" | "DELETE")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Piece;
    use crate::testing::{plan, server};

    fn to(url: Vec<Piece>, base: Option<&str>) -> Option<(String, String)> {
        let plan = plan([server("api"), server("dead")]);
        let base = base.map(|path| Target {
            server: "api".to_owned(),
            path: path.to_owned(),
        });
        leads_to(&plan.servers, &Template(url), base.as_ref())
            .map(|found| (found.server, found.path))
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    #[test]
    fn a_url_leads_to_the_server_it_names() {
        let found = to(
            vec![Piece::Url("dead".to_owned()), text("/x?a=1#part")],
            None,
        );
        assert_eq!(found, Some(("dead".to_owned(), "/x?a=1".to_owned())));
        let found = to(
            vec![
                text("http://"),
                Piece::Host("dead".to_owned()),
                text(":"),
                Piece::Port("dead".to_owned()),
            ],
            None,
        );
        assert_eq!(found, Some(("dead".to_owned(), "/".to_owned())));
    }

    #[test]
    fn a_relative_reference_starts_from_its_base() {
        let at = |reference: &str| to(vec![text(reference)], Some("/a/b?q=1")).map(|to| to.1);
        assert_eq!(at("/again").as_deref(), Some("/again"));
        assert_eq!(at("c").as_deref(), Some("/a/c"));
        assert_eq!(at("../c").as_deref(), Some("/c"));
        assert_eq!(at("?x").as_deref(), Some("/a/b?x"));
        assert_eq!(
            to(vec![text("c")], Some("/b")).map(|to| to.1).as_deref(),
            Some("/c")
        );
    }

    #[test]
    fn a_url_to_elsewhere_leads_nowhere() {
        assert_eq!(to(vec![text("http://example.test/")], Some("/")), None);
        assert_eq!(to(vec![text("//example.test/")], Some("/")), None);
        assert_eq!(to(vec![text("mailto:x")], Some("/")), None);
    }
}
