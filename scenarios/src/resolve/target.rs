//! Where the requests of a case lead: its calls and the URLs in its answers,
//! told by server and path without knowing real addresses.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::manifest::Manifest;
use crate::plan::{Call, Plan, Request, ServerPlan};
use crate::rendering::SMALL;
use crate::template::{AT_LOCALHOST, Bindings, Template};

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
    /// Where else it may go, where its host is several addresses.
    pub others: Vec<Target>,
    /// Header fields that the call gives.
    pub headers: Vec<(String, String)>,
    /// Bytes of content.
    pub content: u64,
}

impl Sent {
    /// Every place that it may go to.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.target).chain(&self.others)
    }
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
            let mut targets = may_lead_to(&plan.servers, url, None).into_iter();
            Some(Sent {
                method: method.clone(),
                target: targets.next()?,
                others: targets.collect(),
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
                others: Vec::new(),
                headers: Vec::new(),
                content,
            })
        }
    }
}

/// Where a URL may lead: one at `localhost` to each server that has its port at
/// an address of that name, any other where [`leads_to`] says.
pub fn may_lead_to(servers: &[ServerPlan], url: &Template, base: Option<&Target>) -> Vec<Target> {
    if !url.is_at_localhost() {
        return leads_to(servers, url, base).into_iter().collect();
    }
    let names = stand_ins(servers);
    let is_meant = |address: &SocketAddr| LOCALHOST.contains(&address.ip());
    let at = names.0.values().copied().filter(is_meant);
    let at: BTreeSet<SocketAddr> = at.collect();
    let url = url.render(&names);
    let Some(rest) = url.strip_prefix(AT_LOCALHOST) else {
        return Vec::new();
    };
    let split = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (port, path) = rest.split_at(split);
    let of_port = at.iter().filter(|one| one.port().to_string() == port);
    let targets = of_port.filter_map(|address| {
        let url = Template::text(format!("http://{address}{path}"));
        leads_to(servers, &url, None)
    });
    targets.collect()
}

/// The addresses of `localhost`.
pub const LOCALHOST: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];

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

/// What a call may ask besides its request: where the truth is known, or what became
/// of its job.
pub fn questions(call: &Call) -> impl Iterator<Item = (&str, &Template)> {
    let look_up = call.look_up.iter().map(|url| ("GET", url));
    let job = call.job.iter();
    look_up.chain(job.map(|job| (job.query.method.as_str(), &job.query.url)))
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
                let targets = may_lead_to(servers, url, None).into_iter();
                reached.extend(targets.map(|target| (Some(method.clone()), target)));
            }
            Request::Operation { .. } => return None,
        }
        for (method, url) in questions(call) {
            let targets = may_lead_to(servers, url, None).into_iter();
            reached.extend(targets.map(|target| (Some(method.to_owned()), target)));
        }
    }
    // Relative redirects can go on from where redirects lead.
    for _ in 0..HOPS {
        let from: Vec<Target> = reached.iter().map(|(_, target)| target.clone()).collect();
        let before = reached.len();
        for location in servers.iter().flat_map(locations) {
            let to = from.iter();
            let to = to.flat_map(|base| may_lead_to(servers, location, Some(base)));
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
    let port = |server: &ServerPlan| {
        let owner = server.port_of.as_ref().unwrap_or(&server.name);
        let place = servers.iter().position(|one| one.name == *owner);
        let number = place.and_then(|place| u16::try_from(place + 1).ok());
        number.unwrap_or(u16::MAX)
    };
    let bound = servers.iter().map(|server| {
        let address = SocketAddr::from((server.address, port(server)));
        (server.name.clone(), address)
    });
    Bindings(bound.collect())
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
    fn a_url_at_localhost_may_lead_to_every_address_of_that_name_with_its_port() {
        let servers = [
            server("api"),
            server("six").sharing("api", Ipv6Addr::LOCALHOST),
            server("two").sharing("api", Ipv4Addr::new(127, 0, 0, 2)),
            server("other").sharing("none", Ipv6Addr::LOCALHOST),
        ];
        for port in ["api", "six", "two"] {
            let url = Template(vec![
                text(AT_LOCALHOST),
                Piece::Port(port.to_owned()),
                text("/x?a#part"),
            ]);
            let to: Vec<_> = may_lead_to(&servers, &url, None)
                .into_iter()
                .map(|to| (to.server, to.path))
                .collect();
            let both = ["api", "six"].map(|name| (name.to_owned(), "/x?a".to_owned()));
            assert_eq!(to, both);
            assert_eq!(leads_to(&servers, &url, None), None, "none is certain");
        }
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
