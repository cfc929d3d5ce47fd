//! Timeouts of sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::{EAGAIN, MINUTE, is, timed, usize_of};
use crate::raw::{call, timeval, to};

pub(super) fn sockets() {
    let timed_out = |result: std::io::Result<usize>| {
        is(
            result.map_err(|error| error.kind()),
            Err(ErrorKind::WouldBlock),
        )
    };
    let (mut ours, _theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(MINUTE)).unwrap();
    ours.set_write_timeout(Some(MINUTE)).unwrap();
    timed("SO_RCVTIMEO", 60.0, || timed_out(ours.read(&mut [0])));
    timed("SO_RCVTIMEO again", 60.0, || timed_out(ours.read(&mut [0])));
    // The first time some bytes went, which is what it then tells.
    timed("SO_SNDTIMEO", 60.0, || {
        let bytes = vec![0; 1 << 22];
        ours.set_nonblocking(true).unwrap();
        while ours.write(&bytes).is_ok() {}
        ours.set_nonblocking(false).unwrap();
        timed_out(ours.write(&bytes))
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    timed("SO_RCVTIMEO of accept", 60.0, || {
        let (level, option) = (libc::SOL_SOCKET as usize, libc::SO_RCVTIMEO as usize);
        let time = timeval(MINUTE);
        let listener = usize_of(listener.as_raw_fd());
        is(
            call(
                libc::SYS_setsockopt,
                &[listener, level, option, to(&time), 16],
            ),
            0,
        )?;
        is(call(libc::SYS_accept, &[listener, 0, 0]), EAGAIN)
    });
    timed("SO_RCVTIMEO that starts anew with each read", 80.0, || {
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.set_read_timeout(Some(MINUTE)).unwrap();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(20));
            server.write_all(b"x").unwrap();
            server
        });
        is(client.read(&mut [0]).ok(), Some(1))?;
        let _server = other.join().unwrap();
        timed_out(client.read(&mut [0]))
    });
}
