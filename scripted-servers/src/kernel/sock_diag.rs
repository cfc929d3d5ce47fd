//! Asks the kernel's `sock_diag` about one TCP socket by its addresses.
//!
//! The messages are laid out by hand (`linux/inet_diag.h`): a request of 72
//! bytes, an answer of at least 88.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use super::peers::Seen;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const LISTEN: u8 = 10;
const HEADER: usize = 16;
const REQUEST: usize = HEADER + 56;

/// An open netlink socket of the `sock_diag` family.
pub(super) struct SockDiag {
    socket: OwnedFd,
    sequence: u32,
}

impl SockDiag {
    /// Opens it. It sees the network namespace of the calling thread.
    pub(super) fn open() -> io::Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            Some(netlink::SOCK_DIAG),
        )?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// The socket whose own address is `local` and which is connected to
    /// `remote`.
    pub(super) fn look(&mut self, local: SocketAddr, remote: SocketAddr) -> io::Result<Seen> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = request(self.sequence, local, remote);
        send(&self.socket, &request, SendFlags::empty())?;
        // The kernel answers within `send`; an answer to an earlier question
        // that was given up is skipped.
        for _ in 0..8 {
            let mut answer = [0_u8; 4096];
            let (_, length) = recv(&self.socket, &mut answer, RecvFlags::empty())?;
            if let Some(seen) = read(&answer[..length], self.sequence, local.port())? {
                return Ok(seen);
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

fn request(sequence: u32, local: SocketAddr, remote: SocketAddr) -> [u8; REQUEST] {
    let mut message = [0_u8; REQUEST];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        message[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(&(REQUEST as u32).to_ne_bytes());
    put(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(&NLM_F_REQUEST.to_ne_bytes());
    put(&sequence.to_ne_bytes());
    put(&0_u32.to_ne_bytes());
    let family = if local.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    put(&[family.as_raw() as u8, libc::IPPROTO_TCP as u8, 0, 0]);
    put(&u32::MAX.to_ne_bytes());
    put(&local.port().to_be_bytes());
    put(&remote.port().to_be_bytes());
    put(&octets(local.ip()));
    put(&octets(remote.ip()));
    put(&0_u32.to_ne_bytes());
    put(&u64::MAX.to_ne_bytes());
    message
}

fn octets(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => {
            let mut padded = [0; 16];
            padded[..4].copy_from_slice(&address.octets());
            padded
        }
        IpAddr::V6(address) => address.octets(),
    }
}

/// Reads an answer; none: it belongs to another question.
fn read(answer: &[u8], sequence: u32, port: u16) -> io::Result<Option<Seen>> {
    let word = |at: usize| -> io::Result<u32> {
        let bytes = answer.get(at..at + 4).and_then(|four| four.try_into().ok());
        bytes
            .map(u32::from_ne_bytes)
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    };
    let kind = (word(4)? & 0xffff) as u16;
    if word(8)? != sequence {
        return Ok(None);
    }
    if kind == NLMSG_ERROR {
        let code = (word(HEADER)? as i32).wrapping_neg();
        return match code {
            libc::ENOENT => Ok(Some(Seen::Absent)),
            code => Err(io::Error::from_raw_os_error(code)),
        };
    }
    if kind != SOCK_DIAG_BY_FAMILY {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let state = (word(HEADER)?.to_ne_bytes())[1];
    let own = (word(HEADER + 4)?).to_ne_bytes();
    if state == LISTEN || u16::from_be_bytes([own[0], own[1]]) != port {
        return Ok(Some(Seen::Absent));
    }
    Ok(Some(Seen::There {
        untaken: word(HEADER + 56)?.into(),
        unsent: word(HEADER + 60)?.into(),
        held: word(HEADER + 68)? != 0,
    }))
}
