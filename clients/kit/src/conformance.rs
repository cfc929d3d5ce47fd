//! Asks an adapter, in any language, whether it keeps to the protocol.
//!
//! It is given work against a small server of this process, and a closed port.
//! What it writes must be messages, one report a call, and it must end. How a
//! client behaves on a faulty wire is no matter of this module.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::protocol::{
    Body, Call, Control, Limits, Message, Report, Shown, ShownResponse, VERSION, Work,
};

mod server;

pub use server::{Plain, Seen};

/// How long an adapter may be silent, its start included.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at a process that should be ending.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Gives an adapter its test work and returns everything that is wrong with
/// what it did, in words. Empty: it conforms.
///
/// # Errors
/// The adapter cannot be started, or this machine gives no port.
pub fn check(command: &[String]) -> io::Result<Vec<String>> {
    let server = Plain::start()?;
    let file = scratch_file()?;
    let work = work(&server.url(), CLOSED, &file);
    let talk = talk(command, &work);
    std::fs::remove_file(&file)?;
    let talk = talk?;
    let mut problems = talk.problems;
    problems.extend(judge(&talk.messages, work.calls.len()));
    problems.extend(judge_requests(&server.seen()));
    Ok(problems)
}

/// Where nobody listens: an address and a port that nothing takes by chance, so
/// that another test's server is never met there.
const CLOSED: &str = "http://127.0.0.77:3";

/// The content of the second call.
const FILE_CONTENT: &[u8] = b"from a file";

fn scratch_file() -> io::Result<String> {
    static CHECKS: AtomicU32 = AtomicU32::new(0);
    let check = CHECKS.fetch_add(1, Ordering::Relaxed);
    let name = format!("client-kit-{}-{check}.body", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, FILE_CONTENT)?;
    path.into_os_string()
        .into_string()
        .map_err(|_| io::Error::other("the temporary folder's name is not UTF-8"))
}

fn work(open: &str, closed: &str, file: &str) -> Work {
    let call = |id, method: &str, url: String, body| Call {
        id,
        operation: None,
        method: method.to_owned(),
        url,
        headers: vec![("X-Probe".to_owned(), format!("call {id}"))],
        body,
        stream_body: false,
        resumable: false,
        look_up: None,
        job: None,
        batch: None,
        stream: None,
        pause_ms: 0,
        group: 0,
        at_once: 1,
    };
    Work {
        protocol: VERSION,
        calls: vec![
            call(1, "GET", format!("{open}/1"), None),
            call(
                2,
                "POST",
                format!("{open}/2"),
                Some(Body::File(file.to_owned())),
            ),
            call(
                3,
                "PUT",
                format!("{open}/3"),
                Some(Body::Text("grüezi".to_owned())),
            ),
            call(4, "GET", format!("{closed}/4"), None),
        ],
        limits: Limits::default(),
    }
}

/// What an adapter said, and what was wrong with how it said it.
#[derive(Default)]
struct Talk {
    messages: Vec<Message>,
    problems: Vec<String>,
}

fn talk(command: &[String], work: &Work) -> io::Result<Talk> {
    let (program, args) = command
        .split_first()
        .ok_or_else(|| io::Error::other("an adapter is a program and its arguments"))?;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take();
    let lines = child.stdout.take().map(follow);
    say(&mut stdin, &serde_json::to_string(work)?);
    let mut talk = Talk::default();
    if let Some(lines) = lines {
        listen(&lines, work.calls.len(), &mut stdin, &mut talk);
    }
    let end = end(&mut child)?;
    talk.problems.extend(end);
    Ok(talk)
}

/// A broken pipe shows in what the adapter does not say, so it is no error here.
fn say(stdin: &mut Option<ChildStdin>, line: &str) {
    if let Some(stdin) = stdin {
        let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
    }
}

fn follow(stdout: std::process::ChildStdout) -> Receiver<Vec<u8>> {
    let (tell, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        while matches!(stdout.read_until(b'\n', &mut line), Ok(1..)) {
            if tell.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });
    lines
}

fn listen(
    lines: &Receiver<Vec<u8>>,
    calls: usize,
    stdin: &mut Option<ChildStdin>,
    talk: &mut Talk,
) {
    let mut reports = 0;
    loop {
        let line = match lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let said = talk.messages.len();
                talk.problems.push(format!(
                    "silent for {PATIENCE:?} after {said} messages and {reports} reports"
                ));
                return;
            }
        };
        match read(&line) {
            Ok(message) => {
                reports += usize::from(matches!(message, Message::Report(_)));
                talk.messages.push(message);
            }
            Err(problem) => talk.problems.push(problem),
        }
        if reports == calls {
            if let Ok(finish) = serde_json::to_string(&Control::Finish {}) {
                say(stdin, &finish);
            }
            *stdin = None;
        }
    }
}

fn read(line: &[u8]) -> Result<Message, String> {
    let shown = String::from_utf8_lossy(line);
    if !line.ends_with(b"\n") {
        return Err(format!("the last line does not end: {shown:?}"));
    }
    serde_json::from_slice(line).map_err(|error| format!("not a message: {shown:?}: {error}"))
}

fn end(child: &mut Child) -> io::Result<Option<String>> {
    let looks = PATIENCE.as_millis() / LOOK_AGAIN.as_millis();
    for _ in 0..looks {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(None),
            Some(status) => return Ok(Some(format!("ended with {status}"))),
            None => std::thread::park_timeout(LOOK_AGAIN),
        }
    }
    child.kill()?;
    child.wait()?;
    Ok(Some(format!(
        "still running {PATIENCE:?} after its last word"
    )))
}

fn judge(messages: &[Message], calls: usize) -> Vec<String> {
    let mut problems = Vec::new();
    let reports: Vec<&Report> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Report(report) => Some(report),
            Message::Unsupported { reason } => {
                problems.push(format!("cannot do a plain GET, POST or PUT: {reason}"));
                None
            }
            Message::Progress(_) => None,
        })
        .collect();
    for call in 1..=calls {
        let mine: Vec<_> = reports
            .iter()
            .filter(|report| usize::try_from(report.call) == Ok(call))
            .collect();
        match mine.as_slice() {
            [report] if call == calls => problems.extend(judge_refused(report)),
            [report] => problems.extend(judge_answer(report)),
            others => problems.push(format!("call {call} has {} reports", others.len())),
        }
    }
    problems
}

fn judge_answer(report: &Report) -> Option<String> {
    let mut digest = crate::digest::BodyDigest::new();
    digest.add(server::CONTENT);
    let whole = digest.whole(200);
    let call = report.call;
    match &report.shown {
        Shown::Response(shown) if *shown == whole => None,
        Shown::Response(ShownResponse {
            status: Some(200),
            body_bytes: None,
            ..
        }) => Some(format!(
            "call {call}: no length of the body; report length and digest of a whole body"
        )),
        other => Some(format!("call {call}: expected {whole:?}, got {other:?}")),
    }
}

fn judge_refused(report: &Report) -> Option<String> {
    let call = report.call;
    match &report.shown {
        Shown::Error(chain)
            if chain.iter().any(|link| {
                // Runtimes without codes have a class for each failure, and functions
                // that throw nothing have codes without a class.
                let says = link.kind.as_deref().map(|kind| kind.contains("Connect"));
                let (code, number) = (link.code.is_some(), link.errno.is_some());
                says.is_some_and(|says| says || code || number) || code && number
            }) =>
        {
            None
        }
        Shown::Error(chain) => Some(format!(
            "call {call}: a refused port, but no link of the chain has two of type, code and number, or a type such as ConnectException: {chain:?}"
        )),
        other => Some(format!(
            "call {call}: a refused port is an error, got {other:?}"
        )),
    }
}

fn judge_requests(seen: &[Seen]) -> Vec<String> {
    let wanted = [
        ("GET", "/1", &b""[..]),
        ("POST", "/2", FILE_CONTENT),
        ("PUT", "/3", "grüezi".as_bytes()),
    ];
    let mut problems = Vec::new();
    if seen.len() != wanted.len() {
        problems.push(format!(
            "{} requests arrived, expected {}",
            seen.len(),
            wanted.len()
        ));
    }
    for (seen, (method, path, body)) in seen.iter().zip(wanted) {
        if (seen.method.as_str(), seen.target.as_str()) != (method, path) {
            problems.push(format!(
                "{} {} arrived where {method} {path} was due",
                seen.method, seen.target
            ));
        }
        if seen.body != body {
            problems.push(format!("{method} {path}: another body than given"));
        }
        let probe = format!("call {}", &path[1..]);
        if seen.header("x-probe") != Some(probe.as_str()) {
            problems.push(format!("{method} {path}: header X-Probe is not as given"));
        }
        if seen.header("wirefault-call") != Some(&path[1..]) {
            problems.push(format!("{method} {path}: no header Wirefault-Call"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_program_that_says_nothing_is_told_what_is_missing() {
        let problems = check(&shell("read work; exit 0")).unwrap();
        assert!(
            problems.contains(&"call 1 has 0 reports".to_owned()),
            "{problems:?}"
        );
        assert!(problems.contains(&"0 requests arrived, expected 3".to_owned()));
    }

    #[test]
    fn garbage_a_torn_line_and_an_exit_code_are_named() {
        let problems = check(&shell("read work; echo hello; printf '{}'; exit 3")).unwrap();
        let has = |part: &str| problems.iter().any(|problem| problem.contains(part));
        assert!(has("not a message: \"hello"), "{problems:?}");
        assert!(has("the last line does not end"), "{problems:?}");
        assert!(has("ended with exit status: 3"), "{problems:?}");
    }

    #[test]
    fn a_refusal_is_told_by_a_code_or_by_a_class_and_not_by_a_text_alone() {
        let judged = |kind: &str, code: Option<&str>| {
            let link = crate::protocol::ErrorLink {
                kind: Some(kind.to_owned()),
                code: code.map(str::to_owned),
                message: Some("connection refused".to_owned()),
                ..Default::default()
            };
            judge_refused(&Report {
                call: 4,
                shown: Shown::Error(vec![link]),
                claim: None,
                events: None,
            })
        };
        assert_eq!(judged("Error", Some("ECONNREFUSED")), None);
        assert_eq!(judged("java.net.ConnectException", None), None);
        assert!(judged("java.io.IOException", None).is_some());
    }

    #[test]
    fn two_reports_of_one_call_are_named() {
        let report = r#"{"report":{"call":1,"shown":{"cancelled":{}}}}"#;
        let problems = check(&shell(&format!(
            "read work; echo '{report}'; echo '{report}'"
        )))
        .unwrap();
        assert!(
            problems.contains(&"call 1 has 2 reports".to_owned()),
            "{problems:?}"
        );
    }
}
