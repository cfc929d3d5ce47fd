//! Clients without an adapter: a command that makes one call and tells how it
//! went by its exit code and what it prints.
//!
//! A command is a list of arguments and never goes through a shell.
//! Placeholders are put in after it was split, each in one pass, so no value
//! can become a second argument or another placeholder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use client_kit::protocol::{ErrorLink, Report, Shown, ShownResponse};
use scenarios::apis::Api;
use scenarios::evidence::ClientEvent;
use scenarios::manifest::{Ability, CommandLine, ContentFrom, Manifest, Policy, Start, StatusFrom};
use scenarios::plan::Limits;

use crate::client::protocol::harmless_start;
use crate::run::Client;

mod seen;

pub(crate) use seen::Seen;

/// The exit code that says "I can not do this".
pub(crate) const UNSUPPORTED: i32 = 127;

/// Bytes of an `{output}` file that are read; as many as a client may write.
const LARGEST_OUTPUT: u64 = 1 << 30;

/// Characters kept of the line that a command explains itself with.
const LONGEST_MESSAGE: usize = 1000;

/// Why a command line is no client.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// A quote is open at its end.
    #[error("a quote is not closed in the command `{0}`; close it, or quote the other way round")]
    OpenQuote(String),
    /// Nothing in it.
    #[error("the command is empty; write it like 'curl -sS --retry 3 {{url}}'")]
    Empty,
    /// It has no place for the URL.
    #[error(
        "the command `{0}` has no {{url}} in it, so it cannot be told where to send; \
         write {{url}} where the URL belongs, as in 'curl -sS --retry 3 {{url}}'"
    )]
    NoUrl(String),
}

/// A client made of a command line: exit code 0 means that an answer was shown,
/// any other an error that no table explains.
pub fn client(line: &str) -> Result<Client, CommandError> {
    let args = shlex::split(line).ok_or_else(|| CommandError::OpenQuote(line.to_owned()))?;
    let program = args.first().ok_or(CommandError::Empty)?.clone();
    if !args.iter().any(|arg| arg.contains("{url}")) {
        return Err(CommandError::NoUrl(line.to_owned()));
    }
    let manifest = Manifest {
        install: None,
        name: "command".to_owned(),
        title: line.to_owned(),
        file: "--command".to_owned(),
        build: None,
        start: Start::Command(CommandLine {
            args,
            ..CommandLine::default()
        }),
        programs: vec![program],
        version: Vec::new(),
        // Who names a command takes it to be able to do the scenario's work.
        abilities: BTreeSet::from([
            Ability::Literal,
            Ability::FollowsRedirects,
            Ability::Retries,
        ]),
        api: Api::default(),
        operations: BTreeMap::new(),
        policy: Policy::default(),
        errors: Vec::new(),
        defects: BTreeSet::new(),
        soft_threads: Vec::new(),
    };
    Ok(Client {
        manifest,
        version: String::new(),
        defects: Vec::new(),
    })
}

/// The call that a command makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandCall<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    pub(crate) headers: &'a [(String, String)],
    /// The file with its content, and whether it has any.
    pub(crate) body_file: &'a Path,
    pub(crate) has_body: bool,
    /// Where the answer's content goes.
    pub(crate) output: &'a Path,
}

/// The finished arguments.
pub(crate) fn arguments(
    line: &CommandLine,
    call: &CommandCall<'_>,
    limits: &Limits,
) -> Vec<String> {
    let body_file = call.body_file.to_string_lossy();
    let output = call.output.to_string_lossy();
    let known = [
        ("method", call.method),
        ("url", call.url),
        ("body_file", &body_file),
        ("output", &output),
    ];
    let mut args: Vec<String> = line.args.iter().map(|arg| fill(arg, &known)).collect();
    for (name, value) in call.headers {
        let field = [("name", name.as_str()), ("value", value.as_str())];
        args.extend(line.header.iter().map(|arg| fill(arg, &field)));
    }
    if call.has_body {
        args.extend(line.body.iter().map(|arg| fill(arg, &known)));
    }
    for (name, values) in limit_values(limits) {
        let values: Vec<_> = values
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let template = line.limits.get(name).into_iter().flatten();
        args.extend(template.map(|arg| fill(arg, &values)));
    }
    args
}

/// The limits that are set, by name, each with the values of its placeholders.
/// Durations are milliseconds in `{value}`.
fn limit_values(limits: &Limits) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let count = |name, value: Option<u64>| {
        let value = value?;
        let values = vec![
            ("value", value.to_string()),
            ("value_minus_one", value.saturating_sub(1).to_string()),
        ];
        Some((name, values))
    };
    let time = |name, value: Option<Duration>| {
        let value = value?;
        let values = vec![
            ("value", value.as_millis().to_string()),
            ("seconds", value.as_secs_f64().to_string()),
        ];
        Some((name, values))
    };
    [
        count("attempts", limits.attempts.map(u64::from)),
        time("connect", limits.connect),
        time("idle", limits.idle),
        time("per_attempt", limits.per_attempt),
        time("total", limits.total),
        count("redirects", limits.redirects.map(u64::from)),
        time("backoff", limits.backoff),
        time("backoff_cap", limits.backoff_cap),
        time("retry_after_cap", limits.retry_after_cap),
        time("wait", limits.wait),
        time("hedge_after", limits.hedge_after),
        count("error_body", limits.error_body),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Puts values in the place of `{names}`. What a value holds is not looked at
/// again, and braces around other words stay.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        let known = values.iter().find_map(|(name, value)| {
            let after = rest[1..].strip_prefix(name)?.strip_prefix('}')?;
            Some((value, after))
        });
        if let Some((value, after)) = known {
            filled.push_str(value);
            rest = after;
        } else {
            filled.push('{');
            rest = &rest[1..];
        }
    }
    filled.push_str(rest);
    filled
}

/// What an ended command has shown its caller; none when a signal ended it.
pub(crate) fn shown(
    line: &CommandLine,
    call: u32,
    code: Option<i32>,
    stdout: &Seen,
    stderr: &Seen,
    output: &Path,
) -> Option<ClientEvent> {
    let code = code?;
    let known = line.exits.get(&code);
    if code == UNSUPPORTED && known.is_none() {
        return Some(ClientEvent::Unsupported {
            reason: unsupported(stderr),
        });
    }
    let shown = if code == 0 {
        Shown::Response(response(line, stdout, output))
    } else {
        Shown::Error(vec![ErrorLink {
            kind: Some("exit".to_owned()),
            code: known.cloned(),
            errno: Some(i64::from(code)),
            message: stderr
                .last_line()
                .map(|line| harmless_start(&line, LONGEST_MESSAGE)),
            at: None,
        }])
    };
    Some(ClientEvent::Report(Report {
        call,
        shown,
        claim: None,
        events: None,
    }))
}

/// Why a program that ended with [`UNSUPPORTED`] can not do the work.
pub(crate) fn unsupported(stderr: &Seen) -> String {
    stderr.last_line().map_or_else(
        || format!("exit code {UNSUPPORTED}"),
        |line| harmless_start(&line, LONGEST_MESSAGE),
    )
}

fn response(line: &CommandLine, stdout: &Seen, output: &Path) -> ShownResponse {
    let status = match line.status {
        StatusFrom::Nowhere => None,
        StatusFrom::StdoutLastWord => stdout
            .last_word()
            .and_then(|word| word.parse().ok())
            .filter(|status| (100..1000).contains(status)),
    };
    let from_file;
    let content = match line.content {
        ContentFrom::Nowhere => None,
        ContentFrom::Stdout => Some(stdout),
        ContentFrom::Output => {
            from_file = read_output(output);
            Some(&from_file)
        }
    };
    ShownResponse {
        status,
        body_bytes: content.map(Seen::bytes),
        body_sha256: content.map(Seen::sha256),
        body_start: content.map(Seen::start),
    }
}

/// What is in the output file. A program that had nothing to write need not
/// have made it; one that made something else than a file has shown nothing.
fn read_output(path: &Path) -> Seen {
    let mut seen = Seen::default();
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|data| data.is_file());
    if let (true, Ok(file)) = (is_file, File::open(path)) {
        let mut file = file.take(LARGEST_OUTPUT);
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = file.read(&mut chunk) {
            seen.take(&chunk[..length]);
        }
    }
    seen
}

#[cfg(test)]
mod tests;
