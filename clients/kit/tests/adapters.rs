//! The kits of other languages keep to the protocol, asked by their programs.
//!
//! Where a runtime is not there, the test says so on stderr and proves nothing.

mod compiled;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use client_kit::conformance::{Plain, check};
use client_kit::protocol::{Call, Limits, Message, Shown, VERSION, Work};

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Whether a program is there. A test that is left out for want of one says so,
/// past the capture of test output.
#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
fn is_there(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        let mut stderr = std::io::stderr();
        writeln!(
            stderr,
            "SKIPPED: {program} is not in PATH, its kit is not tested"
        )
        .unwrap();
    }
    found
}

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
fn conforms(command: &[&str], file: &str) {
    if !is_there(command[0]) {
        return;
    }
    let mut command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    let file = clients().join(file);
    command.insert(command.len().min(2), file.to_str().unwrap().to_owned());
    let problems = check(&command).unwrap();
    assert_eq!(problems, Vec::<String>::new(), "{command:?}");
}

#[test]
fn node_fetch_keeps_to_the_protocol() {
    conforms(&["node", "--no-warnings"], "node/fetch.mjs");
}

#[test]
fn node_http_keeps_to_the_protocol() {
    conforms(&["node", "--no-warnings"], "node/http.mjs");
}

#[test]
fn the_node_wrapper_that_follows_keeps_to_the_protocol() {
    conforms(
        &["node", "--no-warnings", "follow"],
        "node/fetch-wrapper.mjs",
    );
}

#[test]
fn the_node_wrapper_that_does_not_follow_keeps_to_the_protocol() {
    conforms(
        &["node", "--no-warnings", "error"],
        "node/fetch-wrapper.mjs",
    );
}

#[test]
fn python_urllib_keeps_to_the_protocol() {
    conforms(&["python3", "-B"], "python/urllib_client.py");
}

#[test]
fn ruby_net_http_keeps_to_the_protocol() {
    conforms(&["ruby"], "ruby/net_http.rb");
}

#[test]
fn php_curl_keeps_to_the_protocol() {
    conforms(&["php"], "php/curl.php");
}

#[test]
fn the_compiled_clients_keep_to_the_protocol() {
    let java = ["JavaHttpClient", "UrlConnection"].map(compiled::java);
    for client in java.into_iter().chain([compiled::go()]).flatten() {
        let problems = check(&client.command).unwrap();
        assert_eq!(problems, Vec::<String>::new(), "{:?}", client.command);
    }
}

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
fn node(script: &str, url: &str) -> Child {
    let kit = clients().join("node/kit.mjs").canonicalize().unwrap();
    let script = format!(
        "import {{ run, headers }} from 'file://{}'\n{script}",
        kit.display()
    );
    let mut child = Command::new("node")
        .args(["--no-warnings", "--input-type=module", "--eval", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let work = Work {
        protocol: VERSION,
        calls: vec![Call {
            id: 1,
            operation: None,
            method: "GET".to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            body: None,
            stream_body: false,
            resumable: false,
            look_up: None,
            job: None,
            batch: None,
            stream: None,
            pause_ms: 0,
            group: 0,
            at_once: 1,
        }],
        limits: Limits::default(),
    };
    let work = serde_json::to_string(&work).unwrap();
    writeln!(child.stdin.as_mut().unwrap(), "{work}").unwrap();
    child
}

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
fn report(child: &mut Child) -> Shown {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let messages = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    messages
        .into_iter()
        .find_map(|message| match message {
            Message::Report(report) => Some(report.shown),
            _ => None,
        })
        .unwrap()
}

#[test]
fn a_request_that_a_node_program_still_has_in_hand_is_sent_after_its_report() {
    if !is_there("node") {
        return;
    }
    let server = Plain::start().unwrap();
    let script = "await run(async (call) => {
        setTimeout(() => fetch(call.url), 400)
        throw new Error('gave up')
    })";
    let mut child = node(script, &server.url());
    assert!(matches!(report(&mut child), Shown::Error(_)));
    writeln!(child.stdin.take().unwrap(), "{{\"finish\":{{}}}}").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_node_program_is_cancelled_and_says_so() {
    if !is_there("node") {
        return;
    }
    // A server that takes the request and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let script = "await run((call, _, signal) => fetch(call.url, { signal }))";
    let mut child = node(script, &url);
    let (taken, _) = silent.accept().unwrap();
    taken
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    writeln!(
        child.stdin.as_mut().unwrap(),
        "{{\"cancel\":{{\"call\":1}}}}"
    )
    .unwrap();
    assert_eq!(report(&mut child), Shown::Cancelled {});
    assert!(child.wait().unwrap().success());
}
