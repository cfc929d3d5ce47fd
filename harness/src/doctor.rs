//! The kernel features that exact counting needs, each tried for real on
//! loopback. Nothing is changed outside this process.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netlink, sockopt};

/// No step on loopback takes longer, on any machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// One feature.
#[derive(Clone, Debug)]
pub struct Fact {
    /// What it is.
    pub name: &'static str,
    /// What does not work without it.
    pub needed_for: &'static str,
    /// How it was seen to be there, or why not.
    pub found: std::result::Result<String, String>,
}

/// A feature and how it is tried.
type Trial = (&'static str, &'static str, fn() -> Result<String>);

/// All features.
const TRIALS: [Trial; 6] = [
    ("loopback", "all servers", loopback),
    ("refused ports", "`listen: refuse`", refused),
    ("SO_LINGER", "resets at exact bytes", linger),
    (
        "FIONREAD",
        "counting what sits unread when a client dies",
        unread,
    ),
    ("sock_diag", "seeing what the client has read", sock_diag),
    (
        "/proc/PID/schedstat",
        "telling a slow client from a starved one",
        schedstat,
    ),
];

/// Tries them all.
pub fn kernel() -> Vec<Fact> {
    TRIALS
        .iter()
        .map(|(name, needed_for, trial)| Fact {
            name,
            needed_for,
            found: trial().map_err(|error| error.to_string()),
        })
        .collect()
}

/// Both ends of a connection, the accepted one first.
fn pair() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect_timeout(&listener.local_addr()?, PATIENCE)?;
    let (server, _) = listener.accept()?;
    for end in [&client, &server] {
        end.set_read_timeout(Some(PATIENCE))?;
    }
    Ok((server, client))
}

fn loopback() -> Result<String> {
    let (mut server, mut client) = pair()?;
    client.write_all(b"x")?;
    server.read_exact(&mut [0])?;
    Ok("a byte went over 127.0.0.1".to_owned())
}

fn refused() -> Result<String> {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    let any = std::net::SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    rustix::net::bind(&socket, &any)?;
    let bound = rustix::net::getsockname(&socket)?;
    let address = std::net::SocketAddr::try_from(bound)?;
    match TcpStream::connect_timeout(&address, PATIENCE) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            Ok("a bound port without a listener refuses".to_owned())
        }
        Err(error) => Err(error),
        Ok(_) => Err(Error::other("a port without a listener took a connection")),
    }
}

fn linger() -> Result<String> {
    let (server, mut client) = pair()?;
    sockopt::set_socket_linger(&server, Some(Duration::ZERO))?;
    drop(server);
    match client.read(&mut [0]) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {
            Ok("closing with no linger sends RST".to_owned())
        }
        Err(error) => Err(error),
        Ok(_) => Err(Error::other("the peer saw FIN where RST was sent")),
    }
}

fn unread() -> Result<String> {
    let (server, mut client) = pair()?;
    client.write_all(b"unread")?;
    // Waits until they are there, and leaves them there.
    server.peek(&mut [0])?;
    let count = rustix::io::ioctl_fionread(&server)?;
    match count {
        6 => Ok("6 of 6 unread bytes counted".to_owned()),
        other => Err(Error::other(format!("{other} of 6 unread bytes counted"))),
    }
}

/// Asks for all IPv4 TCP sockets; any answer but an error will do.
fn sock_diag() -> Result<String> {
    const BY_FAMILY: u16 = 20;
    const REQUEST_AND_DUMP: u16 = 0x301;
    const ERROR: u16 = 2;
    let socket = rustix::net::socket(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        Some(netlink::SOCK_DIAG),
    )?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
    let mut request = Vec::new();
    request.extend(72_u32.to_ne_bytes());
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_AND_DUMP.to_ne_bytes());
    request.extend([0; 8]);
    // Family, protocol, no extensions, all states; then no address.
    request.extend([libc::AF_INET as u8, libc::IPPROTO_TCP as u8, 0, 0]);
    request.extend(u32::MAX.to_ne_bytes());
    request.resize(72, 0);
    rustix::net::send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0; 4096];
    let (got, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    if got < 16 || kind == ERROR {
        return Err(Error::other("the kernel answers with an error"));
    }
    Ok("the kernel tells about TCP sockets".to_owned())
}

fn schedstat() -> Result<String> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let numbers: Vec<u64> = text.split_whitespace().flat_map(str::parse).collect();
    match numbers.as_slice() {
        [_, _, ..] => Ok("time on and off the processor is told".to_owned()),
        _ => Err(Error::other(format!("not understood: {}", text.trim()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_that_runs_the_tests_has_all_features() {
        for fact in kernel() {
            assert!(fact.found.is_ok(), "{fact:?}");
        }
    }
}
