//! What must come out the same on a busy machine: four threads of normal priority
//! want a processor for themselves while these tests run.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

mod needs;
mod support;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use harness::run::run_cells;
use scenarios::verdict::FindingName;
use support::cells::{adapter, job, options, plan};
use support::wirefault;
use tempfile::TempDir;

/// Threads that spin until this is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn on_all_processors() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..4 {
            let over = over.clone();
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(over)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn shipped_scenarios_come_out_the_same_in_all_repeats() {
    let _load = Load::on_all_processors();
    let run = TempDir::new().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let out = Command::new(wirefault())
        .current_dir(root)
        .args(["run", "request/*", "response/reset*", "keep-alive/*"])
        .args(["--client", "reference", "--client", "curl"])
        .args(["--repeat", "4", "--out"])
        .arg(run.path())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&out.stdout);
    // Anything that differs, from repeat to repeat or from the baseline, would
    // end otherwise.
    assert_eq!(out.status.code(), Some(0), "{shown}");
    assert!(shown.contains("Nothing."), "{shown}");
}

/// Its promise is rejected by the first answer; its second attempt goes out
/// 150 ms later, and then the program ends by itself.
const LATE_RETRY: &str = r#"
const lines = require('node:readline').createInterface({ input: process.stdin });
lines.once('line', (line) => {
  lines.close();
  process.stdin.unref?.();
  const [call] = JSON.parse(line).calls;
  const attempt = () => fetch(call.url).then((answer) => answer.text());
  const work = attempt().then(() => {
    setTimeout(() => attempt().catch(() => {}), 150);
    throw new Error('gave up');
  });
  work.catch((error) => {
    const shown = { error: [{ type: error.name, message: error.message }] };
    console.log(JSON.stringify({ report: { call: call.id, shown } }));
  });
});
"#;

#[test]
fn a_retry_that_goes_out_after_the_report_is_seen_in_twenty_of_twenty() {
    if !needs::is_there("node", "a retry after the report, twenty times") {
        return;
    }
    let _load = Load::on_all_processors();
    let run = TempDir::new().unwrap();
    let program = run.path().join("late-retry.cjs");
    std::fs::write(&program, LATE_RETRY).unwrap();
    let client = adapter(&["node", &program.to_string_lossy()]);
    let jobs = (0..20)
        .map(|n| job(&format!("cell-{n}"), plan(), client.clone()))
        .collect();
    let done = run_cells(jobs, &options(run.path()), &mut |_| {}).unwrap();
    assert_eq!(done.len(), 20);
    for done in done {
        let verdict = &done.verdict;
        assert_eq!(
            verdict.delivered.get("api"),
            Some(&2),
            "{}: {verdict:?}",
            done.id
        );
        let name = FindingName::DeliveredAfterClaim;
        assert!(
            verdict.findings.iter().any(|finding| finding.name == name),
            "{}: {verdict:?}",
            done.id
        );
    }
}
