//! From a plan and a manifest to a program with its arguments and its work.

use std::io;
use std::path::Path;

use client_kit::protocol::{self, Body};
use scenarios::manifest::{CommandLine, Manifest, OperationName, Start};
use scenarios::plan::{Jitter, Limits};
use scenarios::resolve::{ResolvedCall, ResolvedJob};
use scripted_servers::models::events::Cursor;

use super::folder::CellFolder;
use super::talk::Talk;
use crate::client::command::{self, CommandCall, fill};
use crate::client::protocol::{Conversation, work_line};
use crate::launch::Stdin;
use crate::run::CellJob;

/// The longest content that stands in the work itself; longer content, and
/// content that is no text, goes into a file.
const LONGEST_TEXT: usize = 32 * 1024;

/// What the client is started with, and how it is spoken with.
pub(super) struct Assignment {
    pub(super) args: Vec<String>,
    pub(super) talk: Talk,
    pub(super) stdin: Stdin,
    pub(super) can_finish: bool,
}

/// A process's place in its cell.
#[derive(Clone, Copy)]
pub(super) struct Desk<'a> {
    pub(super) folder: &'a CellFolder,
    /// Its number, from 1.
    pub(super) process: u32,
}

/// The assignment of a process of the client, which makes these calls.
pub(super) fn assign(
    job: &CellJob,
    wirefault: &Path,
    desk: Desk<'_>,
    calls: Vec<ResolvedCall>,
) -> Result<Assignment, String> {
    let manifest = &job.client.manifest;
    let limits = &job.plan.limits;
    match &manifest.start {
        Start::Adapter(args) => {
            let mut args = adapter(args, manifest, wirefault)?;
            for defect in &job.client.defects {
                args.extend(["--defect".to_owned(), defect.clone()]);
            }
            by_protocol(args, calls, limits, desk)
        }
        Start::Command(line) => by_command(line, manifest, wirefault, calls, limits, desk),
    }
    .map_err(|error| format!("the work cannot be handed over: {error}"))
}

fn adapter(args: &[String], manifest: &Manifest, wirefault: &Path) -> Result<Vec<String>, String> {
    // The client works in the cell's folder, so its own must be given whole.
    let file = std::path::absolute(&manifest.file)
        .map_err(|error| format!("the manifest's folder is unknown: {error}"))?;
    let here = file.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let wirefault = wirefault.to_string_lossy();
    let known = [("wirefault", &*wirefault), ("here", &*here)];
    Ok(args.iter().map(|arg| fill(arg, &known)).collect())
}

fn by_protocol(
    args: Vec<String>,
    calls: Vec<ResolvedCall>,
    limits: &Limits,
    desk: Desk<'_>,
) -> io::Result<Assignment> {
    let conversation = Conversation::about(calls.iter().map(|call| call.id));
    let calls: io::Result<Vec<_>> = calls.into_iter().map(|call| in_work(call, desk)).collect();
    let work = protocol::Work {
        protocol: protocol::VERSION,
        calls: calls?,
        limits: in_milliseconds(limits),
    };
    Ok(Assignment {
        args,
        talk: Talk::Protocol {
            work: work_line(&work)?,
            conversation,
        },
        stdin: Stdin::Piped,
        can_finish: true,
    })
}

fn in_work(call: ResolvedCall, desk: Desk<'_>) -> io::Result<protocol::Call> {
    let (folder, process) = (desk.folder, desk.process);
    let body = call
        .body
        .map(|body| content(body, &folder.body(process, call.id)));
    let job = call
        .job
        .map(|job| in_job(job, &folder.query_body(process, call.id)));
    Ok(protocol::Call {
        id: call.id,
        operation: call.operation.and_then(word),
        method: call.method,
        url: call.url,
        headers: call.headers,
        body: body.transpose()?,
        stream_body: call.stream_body,
        resumable: call.resumable,
        look_up: call.look_up,
        job: job.transpose()?,
        batch: call.batch.map(|batch| protocol::Batch {
            per_request: batch.per_request,
            into: batch.into,
        }),
        stream: call.stream.map(|stream| protocol::Stream {
            ends_with: stream.ends_with,
            cursor: stream.cursor.map(|cursor| match cursor {
                Cursor::LastEventId => protocol::Cursor::LastEventId,
                Cursor::Query(name) => protocol::Cursor::Query(name),
            }),
        }),
        pause_ms: milliseconds(call.pause),
        group: call.group,
        at_once: call.at_once,
    })
}

fn in_job(job: ResolvedJob, file: &Path) -> io::Result<protocol::Job> {
    let body = job.body.map(|body| content(body, file));
    Ok(protocol::Job {
        method: job.method,
        url: job.url,
        headers: job.headers,
        body: body.transpose()?,
        codes: protocol::Codes {
            header: job.codes.header,
            done: job.codes.done,
            working: job.codes.working,
            refused: job.codes.refused,
        },
    })
}

/// Content as the work has it; what is too much for it goes into the file.
fn content(body: Vec<u8>, file: &Path) -> io::Result<Body> {
    match String::from_utf8(body) {
        Ok(text) if text.len() <= LONGEST_TEXT => Ok(Body::Text(text)),
        other => {
            let bytes = other.map_or_else(|error| error.into_bytes(), String::into_bytes);
            std::fs::write(file, bytes)?;
            Ok(Body::File(file.to_string_lossy().into_owned()))
        }
    }
}

/// The operation as the protocol names it.
fn word(operation: OperationName) -> Option<String> {
    let value = serde_json::to_value(operation).ok()?;
    value.as_str().map(str::to_owned)
}

fn in_milliseconds(limits: &Limits) -> protocol::Limits {
    let layers = limits.layers.iter().map(|layer| protocol::Layer {
        name: layer.name.clone(),
        retries: layer.retries,
    });
    let polls = limits.poll_every.iter().map(|polls| protocol::Polls {
        every_ms: milliseconds(polls.every),
        for_ms: polls.lasts.map(milliseconds),
    });
    protocol::Limits {
        attempts: limits.attempts,
        layers: layers.collect(),
        connect_ms: limits.connect.map(milliseconds),
        idle_ms: limits.idle.map(milliseconds),
        per_attempt_ms: limits.per_attempt.map(milliseconds),
        total_ms: limits.total.map(milliseconds),
        redirects: limits.redirects,
        backoff_ms: limits.backoff.map(milliseconds),
        backoff_cap_ms: limits.backoff_cap.map(milliseconds),
        jitter: limits.jitter.map(jitter),
        retry_after_cap_ms: limits.retry_after_cap.map(milliseconds),
        wait_ms: limits.wait.map(milliseconds),
        retry_share: limits.retry_share,
        in_flight: limits.in_flight,
        queue: limits.queue,
        breaker_failures: limits.breaker_failures,
        breaker_open_ms: limits.breaker_open.map(milliseconds),
        hedge_after_ms: limits.hedge_after.map(milliseconds),
        error_body: limits.error_body,
        poll_every: polls.collect(),
    }
}

fn jitter(jitter: Jitter) -> protocol::Jitter {
    match jitter {
        Jitter::Full => protocol::Jitter::Full,
        Jitter::Equal => protocol::Jitter::Equal,
        Jitter::None => protocol::Jitter::None,
    }
}

fn milliseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn by_command(
    line: &CommandLine,
    manifest: &Manifest,
    wirefault: &Path,
    calls: Vec<ResolvedCall>,
    limits: &Limits,
    desk: Desk<'_>,
) -> io::Result<Assignment> {
    let [call] = &calls[..] else {
        let count = calls.len();
        return Err(io::Error::other(format!(
            "a command makes one call, and the work has {count}"
        )));
    };
    let Desk { folder, process } = desk;
    let (body_file, output) = (folder.body(process, call.id), folder.output(process));
    std::fs::write(&body_file, call.body.as_deref().unwrap_or_default())?;
    let mut line = line.clone();
    line.args = adapter(&line.args, manifest, wirefault).map_err(io::Error::other)?;
    let filled = CommandCall {
        method: &call.method,
        url: &call.url,
        headers: &call.headers,
        body_file: &body_file,
        has_body: call.body.is_some(),
        output: &output,
    };
    Ok(Assignment {
        args: command::arguments(&line, &filled, limits),
        talk: Talk::Command {
            call: call.id,
            line,
            output,
        },
        stdin: Stdin::Nothing,
        can_finish: false,
    })
}
