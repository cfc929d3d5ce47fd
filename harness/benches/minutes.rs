//! What minutes of waiting cost really, in virtual time: a client that waits for a
//! Retry-After of 60 s, and one that polls for five minutes, in several runtimes.
//!
//! Prints the median of each, and ends with an error when one costs more than it may
//! or its times are not true.

#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has failed"
)]

#[path = "../tests/workbench/mod.rs"]
mod workbench;

use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use workbench::Workbench;

/// Turns of each.
const TURNS: usize = 20;

const WHAT: [&str; 2] = ["retry", "poll"];

/// A client: what builds it, how it is started, which of its threads do not hold
/// time, and what the two may cost.
struct Client {
    name: &'static str,
    build: Option<&'static [&'static str]>,
    start: &'static [&'static str],
    soft_threads: &'static str,
    may_cost: [Duration; 2],
}

const MAY_COST: [Duration; 2] = [Duration::from_millis(500), Duration::from_millis(1000)];

const CLIENTS: [Client; 5] = [
    Client {
        name: "curl",
        build: None,
        start: &["sh", "{bench}/curl.sh"],
        soft_threads: "",
        may_cost: MAY_COST,
    },
    Client {
        name: "node",
        build: None,
        start: &["node", "{bench}/client.mjs"],
        soft_threads: "",
        may_cost: MAY_COST,
    },
    Client {
        name: "python3",
        build: None,
        start: &["python3", "-B", "{bench}/client.py"],
        soft_threads: "",
        may_cost: MAY_COST,
    },
    Client {
        name: "go",
        build: Some(&["go", "build", "-o", "client", "client.go"]),
        start: &["{bench}/client"],
        soft_threads: "",
        may_cost: MAY_COST,
    },
    Client {
        name: "java",
        build: Some(&["javac", "Client.java"]),
        start: &[
            "java",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-cp",
            "{bench}",
            "Client",
        ],
        // As clients/java has it.
        soft_threads: "VM Thread, VM Periodic Tas, Monitor Deflati, C1 CompilerThre, Sweeper thread",
        may_cost: [Duration::from_secs(3), Duration::from_secs(3)],
    },
];

const CURL: &str = r#"# See client.mjs.
if [ "$1" = retry ]; then exec curl -sS --retry 1 "$2"; fi
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do curl -sS "$2"; sleep 15; done
"#;

fn main() -> ExitCode {
    let bench = Workbench::new();
    bench.write("curl.sh", CURL);
    bench.write("client.mjs", include_str!("minutes/client.mjs"));
    bench.write("client.py", include_str!("minutes/client.py"));
    bench.write("client.go", include_str!("minutes/client.go"));
    bench.write("Client.java", include_str!("minutes/Client.java"));
    bench.write("retry.yaml", include_str!("minutes/retry.yaml"));
    bench.write("poll.yaml", include_str!("minutes/poll.yaml"));
    let mut well = true;
    for client in CLIENTS {
        if !is_there(&client, &bench) {
            println!("{}: skipped, it is not installed here", client.name);
            continue;
        }
        for (what, most) in WHAT.into_iter().zip(client.may_cost) {
            let cost = cost(&client, what, &bench);
            println!("{}, {what}: {cost:?} (at most {most:?})", client.name);
            well &= cost <= most;
        }
    }
    ExitCode::from(u8::from(!well))
}

/// Builds it where that is needed.
fn is_there(client: &Client, bench: &Workbench) -> bool {
    let Some([program, args @ ..]) = client.build else {
        return asked_well(Command::new(client.name).arg("--version"));
    };
    asked_well(Command::new(program).args(args).current_dir(bench.path()))
}

fn asked_well(command: &mut Command) -> bool {
    let done = command.stdout(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

/// The median of what it costs really.
fn cost(client: &Client, what: &str, bench: &Workbench) -> Duration {
    let name = format!("{}-{what}", client.name);
    bench.write(
        &format!("clients/{name}/{name}.yaml"),
        &manifest(client, what, bench),
    );
    let out = format!("out-{name}");
    let turns = TURNS.to_string();
    let scenario = format!("{what}.yaml");
    let args = [
        "run", &scenario, "--client", &name, "--time", "virtual", "--repeat", &turns, "--jobs",
        "1", "--out", &out,
    ];
    bench.run(&args).ends_with(0);
    let cells = std::fs::read_dir(bench.path().join(&out).join("cells")).unwrap();
    let mut costs: Vec<_> = cells.map(|cell| real(&cell.unwrap().path())).collect();
    costs.sort();
    costs[costs.len() / 2]
}

fn manifest(client: &Client, what: &str, bench: &Workbench) -> String {
    let here = bench.path().to_str().unwrap();
    let start = client
        .start
        .iter()
        .map(|word| word.replace("{bench}", here));
    let words: Vec<String> = start.map(|word| format!("{word:?}")).collect();
    format!(
        "name: {name}-{what}\ntitle: {name}\nversion: [echo, here]\nabilities: [literal]\n\
         start: {{ command: {{ args: [{words}, {what}, \"{{url}}\"] }} }}\n\
         soft_threads: [{soft}]\n",
        name = client.name,
        words = words.join(", "),
        soft = client.soft_threads,
    )
}

/// The end of a cell by its clock, without what that jumped over.
fn real(cell: &std::path::Path) -> Duration {
    let events = std::fs::read_to_string(cell.join("events.jsonl")).unwrap();
    let (mut end, mut jumped) = (0, 0);
    for line in events.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        end = entry["at_us"].as_u64().unwrap();
        let told = entry.pointer("/event/client/virtual_time/jumped_us");
        jumped = told.and_then(serde_json::Value::as_u64).unwrap_or(jumped);
    }
    Duration::from_micros(end - jumped)
}
