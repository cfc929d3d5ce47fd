//! The same question as `sock_diag`, answered from `/proc/net/tcp`: slower, as
//! all sockets are listed, but there where netlink is not allowed.

use std::io;
use std::net::{IpAddr, SocketAddr};

use super::peers::Seen;

const LISTEN: &str = "0A";
const SYN_SENT: &str = "02";

/// The socket whose own address is `local` and which is connected to `remote`.
pub(super) fn look(local: SocketAddr, remote: SocketAddr) -> io::Result<Seen> {
    let table = if local.is_ipv4() {
        "/proc/net/tcp"
    } else {
        "/proc/net/tcp6"
    };
    Ok(find(&std::fs::read_to_string(table)?, local, remote))
}

/// Whether some socket tries to connect to this address. One of IPv6 can also
/// try an address of IPv4.
pub(super) fn is_sought(address: SocketAddr) -> io::Result<bool> {
    let (old, new) = match address.ip() {
        IpAddr::V4(v4) => (
            std::fs::read_to_string("/proc/net/tcp")?,
            SocketAddr::from((v4.to_ipv6_mapped(), address.port())),
        ),
        IpAddr::V6(_) => (String::new(), address),
    };
    let here = seeks(&old, address);
    // A machine without IPv6 has no such table, and nobody who seeks by it.
    let table = std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    Ok(here || seeks(&table, new))
}

fn seeks(table: &str, address: SocketAddr) -> bool {
    let remote = written(address);
    table.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().skip(2);
        fields.next() == Some(&remote) && fields.next() == Some(SYN_SENT)
    })
}

fn find(table: &str, local: SocketAddr, remote: SocketAddr) -> Seen {
    let (local, remote) = (written(local), written(remote));
    for line in table.lines() {
        let mut fields = line.split_ascii_whitespace().skip(1);
        if fields.next() != Some(&local) || fields.next() != Some(&remote) {
            continue;
        }
        if fields.next() == Some(LISTEN) {
            continue;
        }
        let hex = |number| u64::from_str_radix(number, 16).ok();
        let queues = fields
            .next()
            .and_then(|queues| queues.split_once(':'))
            .and_then(|(sent, received)| Some((hex(sent)?, hex(received)?)));
        // Timer, retransmits, owner and timeout stand between; then the inode.
        let inode = fields.nth(4).and_then(|inode| inode.parse::<u64>().ok());
        if let (Some((unsent, untaken)), Some(inode)) = (queues, inode) {
            return Seen::There {
                untaken,
                unsent,
                held: inode != 0,
            };
        }
    }
    Seen::Absent
}

/// An address as the table writes it: each four octets as one native number.
fn written(address: SocketAddr) -> String {
    let octets: Vec<u8> = match address.ip() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let words: String = octets
        .chunks_exact(4)
        .map(|four| {
            let word = u32::from_ne_bytes([four[0], four[1], four[2], four[3]]);
            format!("{word:08X}")
        })
        .collect();
    format!("{words}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0
   2: 0100007F:C350 0100007F:1F90 01 00000000:0000002A 00:00000000 00000000     0        0 103 1 0
   3: 0100007F:C351 0100007F:1F90 05 00000000:00000000 00:00000000 00000000     0        0 0 1 0
";

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn the_receive_queue_of_the_named_socket_is_read_and_no_other() {
        assert_eq!(
            find(TABLE, at(50000), at(8080)),
            Seen::There {
                untaken: 42,
                unsent: 0,
                held: true
            }
        );
    }

    #[test]
    fn a_socket_that_no_process_holds_has_no_inode() {
        assert_eq!(
            find(TABLE, at(50001), at(8080)),
            Seen::There {
                untaken: 0,
                unsent: 0,
                held: false
            }
        );
    }

    #[test]
    fn only_a_socket_that_is_not_connected_yet_seeks_an_address() {
        assert!(!seeks(TABLE, at(8080)));
        let seeking = TABLE.replace("0100007F:1F90 01 0", "0100007F:1F90 02 0");
        assert!(seeks(&seeking, at(8080)));
        assert!(!seeks(&seeking, at(8081)));
    }

    #[test]
    fn a_socket_that_is_not_listed_is_absent() {
        assert_eq!(find(TABLE, at(50002), at(8080)), Seen::Absent);
    }
}
