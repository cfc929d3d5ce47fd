//! What minutes of waiting cost really, in virtual time: a client that waits for a
//! Retry-After of 60 s, one that polls for five minutes, and one with a limit of four
//! minutes in an answer that takes five, in several runtimes.
//!
//! Prints the median of each, and ends with an error when one costs more than it may
//! or its times are not true. To be run beside spinning processes as well: its times
//! must be as true then, where cells go before other programs (see DESIGN.md).

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

const WHAT: [&str; 3] = ["retry", "poll", "limit"];

/// When the limit is to end the call, as the server sees it.
const LIMIT: Duration = Duration::from_secs(240);

/// A client: what builds it, how it is started, which of its threads do not hold
/// time, what the three may cost, and how exact its limit is to be.
struct Client {
    name: &'static str,
    build: Option<&'static [&'static str]>,
    start: &'static [&'static str],
    soft_threads: &'static str,
    may_cost: [Duration; 3],
    exact_to: Duration,
}

const MAY_COST: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_millis(1000),
    Duration::from_millis(3000),
];

const EXACT_TO: Duration = Duration::from_millis(100);

const CLIENTS: [Client; 5] = [
    Client {
        name: "curl",
        build: None,
        start: &["sh", "{bench}/curl.sh"],
        soft_threads: "",
        may_cost: MAY_COST,
        exact_to: EXACT_TO,
    },
    Client {
        name: "node",
        build: None,
        start: &["node", "{bench}/client.mjs"],
        soft_threads: "",
        may_cost: MAY_COST,
        exact_to: EXACT_TO,
    },
    Client {
        name: "python3",
        build: None,
        start: &["python3", "-B", "{bench}/client.py"],
        soft_threads: "",
        may_cost: MAY_COST,
        exact_to: EXACT_TO,
    },
    Client {
        name: "go",
        build: Some(&["go", "build", "-o", "client", "client.go"]),
        start: &["{bench}/client"],
        soft_threads: "",
        may_cost: MAY_COST,
        exact_to: EXACT_TO,
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
        may_cost: [Duration::from_secs(3); 3],
        exact_to: Duration::from_millis(500),
    },
];

const CURL: &str = r#"# See client.mjs.
if [ "$1" = retry ]; then exec curl -sS --retry 1 "$2"; fi
if [ "$1" = limit ]; then exec curl -sS --max-time 240 "$2"; fi
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
    bench.write("limit.yaml", include_str!("minutes/limit.yaml"));
    let mut well = true;
    for client in CLIENTS {
        if !is_there(&client, &bench) {
            println!("{}: skipped, it is not installed here", client.name);
            continue;
        }
        for (what, most) in WHAT.into_iter().zip(client.may_cost) {
            let cells = run(&client, what, &bench);
            let cost = median(cells.iter().map(|cell| cell.cost).collect());
            println!("{}, {what}: {cost:?} (at most {most:?})", client.name);
            well &= cost <= most;
            if what == "limit" {
                well &= is_exact(&client, &cells);
            }
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

/// Whether every limit ended its call at its time.
fn is_exact(client: &Client, cells: &[Cell]) -> bool {
    let ended: Vec<Duration> = cells.iter().filter_map(|cell| cell.ended).collect();
    let (least, most) = (ended.iter().min().unwrap(), ended.iter().max().unwrap());
    let within = client.exact_to;
    println!(
        "{}, limit of {LIMIT:?}: {least:?} to {most:?}, {} of {TURNS} (within {within:?})",
        client.name,
        ended.len()
    );
    ended.len() == TURNS && *least >= LIMIT - within && *most <= LIMIT + within
}

/// Runs the cells of a client.
fn run(client: &Client, what: &str, bench: &Workbench) -> Vec<Cell> {
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
    cells.map(|cell| Cell::of(&cell.unwrap().path())).collect()
}

fn median(mut costs: Vec<Duration>) -> Duration {
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

/// What the evidence of a cell tells.
struct Cell {
    /// Its end by its clock, without what that jumped over.
    cost: Duration,
    /// When the client left the first connection, after its request had arrived.
    ended: Option<Duration>,
}

impl Cell {
    fn of(folder: &std::path::Path) -> Self {
        let events = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
        let (mut end, mut jumped, mut arrived, mut left) = (0, 0, None, None);
        for line in events.lines() {
            let entry: serde_json::Value = serde_json::from_str(line).unwrap();
            let number = |path| entry.pointer(path).and_then(serde_json::Value::as_u64);
            end = entry["at_us"].as_u64().unwrap();
            let told = number("/event/client/virtual_time/jumped_us");
            jumped = told.unwrap_or(jumped);
            arrived = arrived.or(number("/event/server/what/delivered/arrived_us"));
            if entry.pointer("/event/server/what/peer_ended").is_some() {
                left = left.or(Some(end));
            }
        }
        let ended = left.zip(arrived).map(|(left, arrived)| left - arrived);
        Self {
            cost: Duration::from_micros(end - jumped),
            ended: ended.map(Duration::from_micros),
        }
    }
}
