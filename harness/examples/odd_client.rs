//! A client under test with every bad habit, one at a time: the tests and the
//! benchmark start it as `odd_client HABIT`.
//!
//! It speaks the protocol by hand, so that it can also break it.

#![expect(
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a client under test is not part of the harness: it prints and waits as it likes"
)]

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::process::{Command, ExitCode};
use std::time::Duration;

use client_kit::protocol::{Call, Message, Report, Shown, ShownResponse, Work};

type Done = Result<ExitCode, Box<dyn std::error::Error>>;

fn main() -> Done {
    let habit = std::env::args().nth(1).unwrap_or_default();
    match habit.as_str() {
        "good" => good(),
        "good-then-exit" => good_then_exit(),
        "report-only" => report_only(),
        "late-request" => late_request(),
        "late-by-three-seconds" => late_by_three_seconds(),
        "deaf-to-finish" => deaf_to_finish(),
        "works-after-report" => works_after_report(),
        "for-ever" => for_ever(),
        "garbage" => print("this is not the protocol\n".as_bytes()),
        "escapes" => print(b"\x1b]0;owned\x07\x1b[2J::error::x\0\n"),
        "not-utf8" => print(b"\xff\xfe\n"),
        "megabyte-line" => print(&[vec![b'x'; 3 << 20], b"\n".to_vec()].concat()),
        "floods" => floods(),
        "complains" => complains(),
        "nothing" | "exits-early" => Ok(ExitCode::SUCCESS),
        "never-reads" => sleep_for_ever(),
        "reports-twice" => reports_twice(),
        "exit-127" => exit_127(),
        "says-unsupported" => print(b"{\"unsupported\":{\"reason\":\"no streams\"}}\n"),
        "idle" => sleep_for_ever(),
        "leaves-a-child" => leaves_a_child(),
        "aborts" => std::process::abort(),
        other => Err(format!("no such habit: {other}").into()),
    }
}

/// One call, its report, then waiting for `finish`.
fn good() -> Done {
    for call in work()?.calls {
        request(&call)?;
        report(&call)?;
    }
    wait_for_finish()
}

fn good_then_exit() -> Done {
    for call in work()?.calls {
        request(&call)?;
        report(&call)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report_only() -> Done {
    for call in work()?.calls {
        report(&call)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A second request goes out after the report, while the program still lives.
fn late_request() -> Done {
    for call in work()?.calls {
        request(&call)?;
        report(&call)?;
        std::thread::sleep(Duration::from_millis(100));
        request(&call)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Keeps a processor busy for twice the quiet time after its report, as the
/// compiler of a runtime does, and then ends by itself.
fn works_after_report() -> Done {
    good_then_exit()?;
    let begun = std::time::Instant::now();
    while begun.elapsed() < Duration::from_millis(700) {
        std::hint::spin_loop();
    }
    Ok(ExitCode::SUCCESS)
}

/// As above, so late that the program was told to finish meanwhile, which it
/// does once its request is through.
fn late_by_three_seconds() -> Done {
    for call in work()?.calls {
        request(&call)?;
        report(&call)?;
        std::thread::sleep(Duration::from_secs(3));
        request(&call)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn deaf_to_finish() -> Done {
    for call in work()?.calls {
        request(&call)?;
        report(&call)?;
    }
    sleep_for_ever()
}

/// Sends the same request again and again, and never reports.
fn for_ever() -> Done {
    let work = work()?;
    for call in work.calls.iter().cycle() {
        request(call)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn floods() -> Done {
    let block = [b'x'; 65_536];
    let mut out = std::io::stdout().lock();
    loop {
        out.write_all(&block)?;
    }
}

fn complains() -> Done {
    for line in 0..40_000 {
        eprintln!("complaint {line}");
    }
    good_then_exit()
}

fn reports_twice() -> Done {
    for call in work()?.calls {
        request(&call)?;
        report(&call)?;
        report(&call)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn exit_127() -> Done {
    eprintln!("needs a newer kernel");
    Ok(ExitCode::from(127))
}

fn leaves_a_child() -> Done {
    let script = "trap '' TERM HUP; echo $$ > ../pid; while :; do sleep 1; done";
    Command::new("setsid").args(["sh", "-c", script]).spawn()?;
    // Made before it is written to.
    while std::fs::read("../pid").unwrap_or_default().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    good_then_exit()
}

fn sleep_for_ever() -> Done {
    loop {
        std::thread::sleep(Duration::from_secs(60));
    }
}

fn print(bytes: &[u8]) -> Done {
    std::io::stdout().lock().write_all(bytes)?;
    Ok(ExitCode::SUCCESS)
}

fn work() -> Result<Work, Box<dyn std::error::Error>> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn wait_for_finish() -> Done {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(ExitCode::SUCCESS)
}

/// One GET over a connection of its own.
fn request(call: &Call) -> std::io::Result<()> {
    let address = call.url.trim_start_matches("http://");
    let address = address.split('/').next().unwrap_or_default();
    let mut stream = TcpStream::connect(address)?;
    let head = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    let mut answer = [0; 4096];
    let _ = stream.read(&mut answer)?;
    Ok(())
}

fn report(call: &Call) -> Result<(), Box<dyn std::error::Error>> {
    let message = Message::Report(Report {
        call: call.id,
        shown: Shown::Response(ShownResponse {
            status: Some(200),
            ..ShownResponse::default()
        }),
        claim: None,
        events: None,
    });
    println!("{}", serde_json::to_string(&message)?);
    Ok(())
}
