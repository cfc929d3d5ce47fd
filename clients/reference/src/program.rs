//! The reference client as a program that speaks the client protocol.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use client_kit::messages::Messages;
use client_kit::protocol::{Call, Work};
use client_kit::session::{Controls, Session};

use crate::call::Client;
use crate::cancel::Token;
use crate::checkpoints::Checkpoints;
use crate::defects::{self, Defect, Defects};

const HELP: &str = "\
The reference client of wirefault. Started by wirefault; it reads its work from stdin.

  --defect NAME        switch a defect on; may be given repeatedly
  --checkpoints FILE   keep in this file what is done, and go on with what it holds
  --version            print the version
  --help               print this

Defects:
";

/// What the arguments ask for.
enum Asked {
    Work(Defects, Option<PathBuf>),
    Print(String),
    Wrong(String),
}

/// Runs the client with its arguments, the program's name left out.
pub fn main(args: impl IntoIterator<Item = String>) -> ExitCode {
    match asked(args.into_iter()) {
        Asked::Work(defects, checkpoints) => serve(&defects, checkpoints.as_deref()),
        Asked::Print(text) => {
            say(&mut io::stdout(), &text);
            ExitCode::SUCCESS
        }
        Asked::Wrong(text) => {
            say(&mut io::stderr(), &text);
            ExitCode::from(2)
        }
    }
}

/// Makes all calls of the work, group after group, with one client object.
///
/// # Errors
/// Nobody reads the messages any more.
pub fn run(
    work: &Work,
    defects: &Defects,
    messages: &Messages,
    controls: &Controls,
) -> io::Result<()> {
    run_on(Checkpoints::default(), work, defects, (messages, controls))
}

/// As [`run`], going on where the process before this one was killed.
///
/// # Errors
/// Nobody reads the messages any more, or checkpoints cannot be written.
pub fn run_on(
    mut checkpoints: Checkpoints,
    work: &Work,
    defects: &Defects,
    (messages, controls): (&Messages, &Controls),
) -> io::Result<()> {
    if defects.has(Defect::ForgetsWhatWasDone) {
        checkpoints.forget();
    }
    let client = Client::new(&work.limits, defects.clone(), checkpoints);
    for group in work.groups() {
        if let Some(batch) = group.first().and_then(|call| call.batch.as_ref()) {
            client.batch(group, batch, (messages, controls))?;
            continue;
        }
        let at_once = group.first().map_or(1, |call| call.at_once as usize);
        let at_once = if defects.has(Defect::IgnoresAtOnce) {
            group.len()
        } else {
            at_once
        };
        make(group, at_once, &client, (messages, controls))?;
    }
    client.read_on();
    Ok(())
}

/// Makes the calls of a group, so many at the same time.
fn make(
    group: &[Call],
    at_once: usize,
    client: &Client,
    (messages, controls): (&Messages, &Controls),
) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    // Whoever is free takes the next one.
    let work_off = || {
        while let Some(call) = group.get(next.fetch_add(1, Ordering::Relaxed)) {
            let token = Token::of(call.id, controls);
            token.sleep(Duration::from_millis(call.pause_ms));
            // It was reported.
            drop(client.call(call, messages, &token)?);
        }
        Ok(())
    };
    if at_once <= 1 {
        return work_off();
    }
    thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work_off)).collect();
        let mut ended = workers.into_iter().map(|worker| worker.join());
        ended.try_for_each(|ended| ended.unwrap_or_else(|_| Err(io::Error::other("a call broke"))))
    })
}

fn asked(mut args: impl Iterator<Item = String>) -> Asked {
    let mut on = Defects::default();
    let mut checkpoints = None;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--defect" => {
                let Some(name) = args.next() else {
                    return Asked::Wrong(format!(
                        "--defect wants a name; there are:\n{}",
                        defects::help()
                    ));
                };
                let Some(defect) = defects::named(&name) else {
                    return Asked::Wrong(format!(
                        "no defect is called {name:?}; there are:\n{}",
                        defects::help()
                    ));
                };
                on = on.with(defect);
            }
            "--checkpoints" => match args.next() {
                Some(file) => checkpoints = Some(file.into()),
                None => return Asked::Wrong("--checkpoints wants a file\n".to_owned()),
            },
            "--version" => {
                return Asked::Print(
                    concat!("reference-client ", env!("CARGO_PKG_VERSION"), "\n").to_owned(),
                );
            }
            "--help" => return Asked::Print(format!("{HELP}{}", defects::help())),
            other => {
                return Asked::Wrong(format!(
                    "{other:?} is no argument; there are --defect NAME, --checkpoints FILE, --version and \
                     --help\n"
                ));
            }
        }
    }
    Asked::Work(on, checkpoints)
}

fn serve(defects: &Defects, checkpoints: Option<&Path>) -> ExitCode {
    let checkpoints = checkpoints.map_or_else(|| Ok(Checkpoints::default()), Checkpoints::in_file);
    let checkpoints = match checkpoints {
        Ok(checkpoints) => checkpoints,
        Err(error) => {
            say(
                &mut io::stderr(),
                &format!("no checkpoints can be kept: {error}\n"),
            );
            return ExitCode::from(2);
        }
    };
    let session = match Session::open() {
        Ok(session) => session,
        Err(error) => {
            say(&mut io::stderr(), &format!("{error}\n"));
            return ExitCode::from(2);
        }
    };
    let Session {
        work,
        messages,
        controls,
    } = &session;
    match run_on(checkpoints, work, defects, (messages, controls)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(
                &mut io::stderr(),
                &format!("a message cannot be written: {error}\n"),
            );
            ExitCode::FAILURE
        }
    }
}

/// When even this cannot be written there is nobody left to tell.
fn say(out: &mut impl Write, text: &str) {
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
