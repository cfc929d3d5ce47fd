//! `address` and `port_of`: where a server is.

use std::net::{IpAddr, Ipv4Addr};

use crate::document::decode::brief;
use crate::document::kind::Kind;
use crate::document::{Key, Node, Value, ids};
use crate::plan::ServerPlan;

use crate::reading::Reading;

/// How an address is written.
pub(super) fn kind() -> Kind {
    const OCTET: &str = "(?:0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])";
    let edges = r"(?!127\.0\.0\.0$|127\.255\.255\.255$)";
    Kind::fits(format!(r"::1|{edges}127\.{OCTET}\.{OCTET}\.{OCTET}"))
}

/// Reads a literal loopback address.
pub(super) fn address(node: &Node, reading: &mut Reading<'_>) -> Option<IpAddr> {
    let text = node.text("`address`", reading.out)?;
    let good = match text.parse() {
        Ok(IpAddr::V4(v4)) => is_host(v4),
        // In one way only, as everything is written.
        Ok(IpAddr::V6(_)) => text == "::1",
        Err(_) => false,
    };
    if good {
        return text.parse().ok();
    }
    let help = if text == "localhost" {
        "`localhost` is both 127.0.0.1 and ::1: write a server for each, one with `port_of` the \
         other, and \"http://localhost:{api.port}/\" as the URL"
    } else {
        "write 127.0.0.1, another address from 127.0.0.1 to 127.255.255.254, or \"::1\""
    };
    reading
        .out
        .report(
            ids::BAD_ADDRESS,
            &node.span,
            format!("`{}` is no address for a server", brief(text)),
        )
        .label("not a loopback address")
        .help(help);
    None
}

/// Whether a host of 127.0.0.0/8 can have it.
fn is_host(address: Ipv4Addr) -> bool {
    let ends = [
        Ipv4Addr::new(127, 0, 0, 0),
        Ipv4Addr::new(127, 255, 255, 255),
    ];
    address.is_loopback() && !ends.contains(&address)
}

/// Reads the name of the server whose port number this one shall have.
pub(super) fn port_of(node: &Node, own: &Key, reading: &mut Reading<'_>) -> Option<String> {
    let name = node.text("`port_of`", reading.out)?;
    if !reading.known_server(name, &node.span) {
        return None;
    }
    if name == own.text {
        bad(node, "this is the server itself", reading);
        return None;
    }
    Some(name.to_owned())
}

/// Checks that servers which shall have one port number can have it.
pub(super) fn check(servers: &[ServerPlan], nodes: &[(Key, Node)], reading: &mut Reading<'_>) {
    for (place, (server, (_, node))) in servers.iter().zip(nodes).enumerate() {
        let Some(other) = &server.port_of else {
            continue;
        };
        let Value::Map(keys) = &node.value else {
            continue;
        };
        let Some((_, written)) = keys.iter().find(|(key, _)| key.text == "port_of") else {
            continue;
        };
        let leader = servers.iter().find(|one| one.name == *other);
        if leader.is_some_and(|leader| leader.port_of.is_some()) {
            let label = format!("`{other}` has the port of another server itself");
            bad(written, &label, reading);
            continue;
        }
        let taken = servers.iter().enumerate().find(|(at, one)| {
            let shares = one.name == *other || (one.port_of == server.port_of && *at < place);
            shares && one.address == server.address
        });
        if let Some((_, taken)) = taken {
            let label = format!("`{}` has this port at {}", taken.name, server.address);
            bad(written, &label, reading);
        }
    }
}

fn bad(node: &Node, label: &str, reading: &mut Reading<'_>) {
    reading
        .out
        .report(
            ids::PORT_OF,
            &node.span,
            "this server cannot have that port",
        )
        .label(label)
        .help(
            "name a server with a port of its own, and give each of them another `address`, \
             such as \"::1\"",
        );
}
