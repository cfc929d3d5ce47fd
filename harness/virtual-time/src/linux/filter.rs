//! The seccomp filter of a traced program: it stops timed waits, reads of the
//! clocks that did not go through the vDSO, and the setting of timers; all else
//! runs at full speed.
//!
//! It only builds the filter; installing it is for [`crate::linux::sys`].

use libc::sock_filter;

use crate::linux::calls::{FUTEX_OPERATION, FUTEX_WAITS, LOOKED_AT, Stop, TIMEOUT_OPTIONS};

/// What the tracer is told with a stop in a call of another calling convention,
/// whose numbers mean other calls.
pub(crate) const FOREIGN: u32 = 1;

/// AUDIT_ARCH_X86_64: the machine, 64 bits, little-endian.
const NATIVE: u32 = 0xc000_003e;

/// The bit by which calls of x32 differ.
const X32: u32 = 0x4000_0000;

const TRACE: sock_filter = answer(libc::SECCOMP_RET_TRACE);
const ALLOW: sock_filter = answer(libc::SECCOMP_RET_ALLOW);

const fn answer(value: u32) -> sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, value, 0, 0)
}

/// A jump skips that many instructions, by whether its condition holds.
const fn instruction(code: u32, k: u32, holds: u8, else_: u8) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: holds,
        jf: else_,
        k,
    }
}

const fn load(offset: u32) -> sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

const fn equals(value: u32, holds: u8, else_: u8) -> sock_filter {
    instruction(
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        value,
        holds,
        else_,
    )
}

/// The sign bit of the lower half of an argument.
const fn is_negative(holds: u8, else_: u8) -> sock_filter {
    instruction(
        libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K,
        1 << 31,
        holds,
        else_,
    )
}

/// Where the parts of `struct seccomp_data` lie.
const fn low(argument: u8) -> sock_filter {
    load(16 + argument as u32 * 8)
}

const fn high(argument: u8) -> sock_filter {
    load(20 + argument as u32 * 8)
}

/// Jumps over `further` instructions and one more when the loaded value is one
/// of these, and goes on when it is none.
fn any_of(values: &[u32], further: u8) -> Vec<sock_filter> {
    let left = |index: usize| u8::try_from(values.len() - 1 - index).unwrap_or(u8::MAX);
    let jump = |(index, value): (usize, &u32)| equals(*value, left(index) + 1 + further, 0);
    values.iter().enumerate().map(jump).collect()
}

/// What follows when the number is that of the call. Ends on every way.
fn body(stop: Stop) -> Vec<sock_filter> {
    match stop {
        Stop::Always => vec![TRACE],
        Stop::Pointer(argument) => vec![
            low(argument),
            equals(0, 0, 2),
            high(argument),
            equals(0, 1, 0),
            TRACE,
            ALLOW,
        ],
        Stop::Positive(argument) => {
            vec![
                low(argument),
                equals(0, 2, 0),
                is_negative(1, 0),
                TRACE,
                ALLOW,
            ]
        }
        Stop::Futex => futex(),
        Stop::Clock => clock(),
        Stop::SocketTimeout => socket_timeout(),
        Stop::Refuse => vec![answer(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32)],
    }
}

fn futex() -> Vec<sock_filter> {
    let mut body = vec![
        low(3),
        equals(0, 0, 3),
        high(3),
        equals(0, 0, 1),
        ALLOW,
        low(1),
    ];
    body.push(instruction(
        libc::BPF_ALU | libc::BPF_AND | libc::BPF_K,
        FUTEX_OPERATION,
        0,
        0,
    ));
    body.extend(any_of(&FUTEX_WAITS, 0));
    body.extend([ALLOW, TRACE]);
    body
}

fn clock() -> Vec<sock_filter> {
    let cpu_time = [
        libc::CLOCK_PROCESS_CPUTIME_ID as u32,
        libc::CLOCK_THREAD_CPUTIME_ID as u32,
    ];
    // Numbers below zero name the CPU clocks of other processes.
    let mut body = vec![low(0)];
    body.extend(any_of(&cpu_time, 1));
    body.extend([is_negative(1, 0), TRACE, ALLOW]);
    body
}

fn socket_timeout() -> Vec<sock_filter> {
    let socket_level = libc::SOL_SOCKET as u32;
    let mut body = vec![low(1), equals(socket_level, 1, 0), ALLOW, low(2)];
    body.extend(any_of(&TIMEOUT_OPTIONS, 0));
    body.extend([ALLOW, TRACE]);
    body
}

/// The whole filter.
pub(crate) fn program() -> Vec<sock_filter> {
    let foreign = answer(libc::SECCOMP_RET_TRACE | FOREIGN);
    let mut program = vec![load(4), equals(NATIVE, 1, 0), foreign, load(0)];
    let at_least_x32 = instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, X32, 0, 1);
    program.extend([at_least_x32, foreign]);
    for (nr, stop) in LOOKED_AT {
        let body = body(*stop);
        // Numbers and bodies are far below what these types hold.
        let nr = u32::try_from(*nr).unwrap_or(u32::MAX);
        let length = u8::try_from(body.len()).unwrap_or(u8::MAX);
        program.push(equals(nr, 0, length));
        program.extend(body);
    }
    program.push(ALLOW);
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::calls;

    /// Runs the filter as the kernel would.
    fn answer_to(nr: u64, args: [u64; 6], arch: u32) -> u32 {
        let mut data = vec![];
        data.extend((nr as u32).to_le_bytes());
        data.extend(arch.to_le_bytes());
        data.extend([0; 8]);
        data.extend(args.iter().flat_map(|arg| arg.to_le_bytes()));
        let (program, mut at, mut value) = (program(), 0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let mut jump = |holds: bool| at += usize::from(if holds { jt } else { jf });
            match u32::from(code) {
                0x20 => value = u32::from_le_bytes(data[k as usize..][..4].try_into().unwrap()),
                0x15 => jump(value == k),
                0x35 => jump(value >= k),
                0x45 => jump(value & k != 0),
                0x54 => value &= k,
                0x06 => return k,
                other => panic!("no such instruction: {other:#x}"),
            }
            at += 1;
        }
    }

    fn stops(nr: u64, args: [u64; 6]) -> bool {
        answer_to(nr, args, NATIVE) == libc::SECCOMP_RET_TRACE
    }

    #[test]
    fn waits_with_a_timeout_stop_and_others_pass() {
        assert!(stops(calls::POLL, [1, 1, 60_000, 0, 0, 0]));
        assert!(!stops(calls::POLL, [1, 1, 0, 0, 0, 0]));
        assert!(!stops(calls::POLL, [1, 1, u64::from(u32::MAX), 0, 0, 0]));
        assert!(!stops(calls::POLL, [1, 1, u64::MAX, 0, 0, 0]));
        assert!(stops(calls::PPOLL, [1, 1, 1 << 32, 0, 0, 0]));
        assert!(!stops(calls::PPOLL, [1, 1, 0, 0, 0, 0]));
        assert!(!stops(calls::READ, [1; 6]));
    }

    #[test]
    fn only_futex_waits_with_a_timeout_stop() {
        for wait in [0, 6, 9, 11, 13, 128, 9 | 128 | 256] {
            assert!(stops(calls::FUTEX, [1, wait, 0, 0x7000, 0, 0]), "{wait}");
            assert!(stops(calls::FUTEX, [1, wait, 0, 1 << 40, 0, 0]), "{wait}");
            assert!(!stops(calls::FUTEX, [1, wait, 0, 0, 0, 0]), "{wait}");
        }
        for other in [1, 3, 4, 5, 7, 10, 12, 129] {
            assert!(!stops(calls::FUTEX, [1, other, 0, 0x7000, 0, 0]), "{other}");
        }
    }

    #[test]
    fn clocks_of_cpu_time_pass() {
        for (clock, stopped) in [
            (0, true),
            (1, true),
            (2, false),
            (3, false),
            (11, true),
            (-6, false),
        ] {
            assert_eq!(
                stops(
                    calls::CLOCK_GETTIME,
                    [i64::from(clock) as u64, 1, 0, 0, 0, 0]
                ),
                stopped
            );
        }
    }

    #[test]
    fn only_timeouts_of_sockets_stop_setsockopt() {
        for (level, option, stopped) in [
            (1, 20, true),
            (1, 21, true),
            (1, 66, true),
            (1, 67, true),
            (1, 2, false),
            (6, 20, false),
        ] {
            assert_eq!(
                stops(calls::SETSOCKOPT, [3, level, option, 0, 0, 0]),
                stopped
            );
        }
    }

    #[test]
    fn io_uring_is_refused_and_foreign_calls_are_told() {
        let refused = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
        assert_eq!(answer_to(calls::IO_URING_SETUP, [0; 6], NATIVE), refused);
        let told = libc::SECCOMP_RET_TRACE | FOREIGN;
        assert_eq!(answer_to(0, [0; 6], 0x4000_0003), told);
        assert_eq!(answer_to(u64::from(X32), [0; 6], NATIVE), told);
    }

    #[test]
    fn the_filter_and_the_sweep_agree_on_what_a_timed_wait_is() {
        for (nr, stop) in LOOKED_AT {
            for args in [[0; 6], [1; 6], [9; 6], [u64::MAX; 6], [1 << 32; 6]] {
                let call = calls::Call { nr: *nr, args };
                let waits = !matches!(stop, Stop::Clock | Stop::SocketTimeout | Stop::Refuse)
                    && (!matches!(stop, Stop::Always) || call.is_timed_wait());
                if waits {
                    assert_eq!(call.is_timed_wait(), stops(*nr, args), "{call:?}");
                }
            }
        }
    }
}
