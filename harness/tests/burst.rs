//! Much at once: a thousand calls of one client, fifty processes of it, and a thousand
//! times two requests under one key in the same instant. Each within a minute, and with
//! no more memory in the harness than is stated here.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use scripted_servers::clock::RealClock;
use support::wirefault;

/// The most that the harness may hold at any time, in KiB.
const MOST_KIB: u64 = 500 * 1024;

const LONGEST: Duration = Duration::from_secs(60);

const CALLS: &str = r#"title: A thousand calls of one client
why: None is lost and none is made twice.
servers:
  api:
    script:
      - times: 200
        respond: { status: 503 }
      - respond: { status: 200 }
calls: [{ url: "{api}/item/{n}", repeat: 1000, at_once: 100 }]
limits: { attempts: 10, backoff: 200ms, jitter: full }
cap: 3000
deadline: 60s
expect:
  must:
    - delivered: { api: 1200 }
    - outcome: success
    - honest: true
"#;

const FLEET: &str = r#"title: Fifty processes of one client
why: Each has its part of the script.
servers:
  api:
    script:
      - times: 50
        respond: { status: 503 }
      - respond: { status: 200 }
calls: [{ url: "{api}/item/{n}", repeat: 4 }]
fleet: 50
limits: { attempts: 10, backoff: 200ms, jitter: full }
cap: 1000
deadline: 60s
expect:
  must:
    - delivered: { api: 250 }
    - outcome: success
    - honest: true
"#;

/// Pair after pair, each under a key of its own; the second one is told that the first
/// is at work.
fn pairs() -> String {
    let mut text = r#"title: Two under one key in the same instant
why: A key is claimed by one of them, and the work is done once.
servers:
  api:
    models:
      store: { idempotency: { header: Idempotency-Key, effect: order, takes: 20ms } }
    script: [{ through: [store], required: true }]
limits: { attempts: 10, backoff: 50ms, jitter: none }
cap: 5000
deadline: 10m
expect:
  must:
    - applied: { order: 250 }
    - running: { order: 1 }
    - in_flight: { api: 2 }
    - outcome: success
    - honest: true
calls:
"#
    .to_owned();
    for key in 1..=250 {
        text.push_str(&format!(
            "  - {{ method: POST, url: \"{{api}}/orders?call={{n}}\", headers: {{ Idempotency-Key: k-{key} }}, \
             body: {{ json: {{ order: {key} }} }}, repeat: 2, at_once: 2 }}\n"
        ));
    }
    text
}

#[test]
fn a_burst_passes_in_a_minute_and_in_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = pairs();
    let runs = [
        ("calls", CALLS),
        ("fleet", FLEET),
        ("pairs-1", &pairs),
        ("pairs-2", &pairs),
        ("pairs-3", &pairs),
        ("pairs-4", &pairs),
    ];
    for (name, scenario) in runs {
        let file = folder.path().join(format!("{name}.yaml"));
        std::fs::write(&file, scenario).unwrap();
        let clock = RealClock::start();
        let mut child = Command::new(wirefault())
            .args(["run", file.to_str().unwrap(), "--client", "reference"])
            .args(["--out", name])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let (code, peak) = wait(&mut child);
        let took = clock.now();
        println!("{name}: {} MiB at most, {took:?}", peak / 1024);
        assert_eq!(code, Some(0), "{name}: the run does not pass");
        assert!(peak <= MOST_KIB, "{name}: {peak} KiB");
        assert!(took <= LONGEST, "{name}: {took:?}");
    }
}

/// Waits for the end of a program, and asks the kernel how much it held.
#[expect(unsafe_code, reason = "nothing else tells of a program that has ended")]
fn wait(child: &mut Child) -> (Option<i32>, u64) {
    let pid = i32::try_from(child.id()).unwrap();
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both point to values that live through the call.
    let ended = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut used) };
    assert_eq!(ended, pid, "{}", std::io::Error::last_os_error());
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    (code, u64::try_from(used.ru_maxrss).unwrap())
}
