//! How a client is started: command lines with placeholders.

use std::collections::BTreeMap;

use super::{ABILITIES, owned, texts};
use crate::document::decode::{Fields, Keys, brief, listed, nearest};
use crate::document::kind::{Kind, Rule};
use crate::document::{Diagnostics, Node, ids};
use crate::manifest::{Ability, CommandLine, ContentFrom, StatusFrom};

static COMMAND: Keys = Keys::new(
    "`command`",
    &[
        ("args", "program and arguments", line_kind),
        ("header", "arguments for each header field", line_kind),
        ("body", "arguments for a call with content", line_kind),
        ("limits", "arguments for each limit", || Kind::Map(&LIMITS)),
        ("status", "where the status is shown", || {
            Kind::words(STATUS).by_default("nowhere")
        }),
        ("content", "where the content is shown", || {
            Kind::words(CONTENT).by_default("nowhere")
        }),
        ("exits", "what exit codes mean", || {
            Kind::names(EXIT, 0..=usize::MAX, Kind::text())
        }),
    ],
)
.rules(&[Rule::Needs(&["args"])]);

/// The limits that a command can be told; each is an ability too. Those about several
/// calls are not among them, as a command makes one.
static LIMITS: Keys = Keys::new(
    "`limits`",
    &[
        ("attempts", "sends of a call, the first included", line_kind),
        ("connect", "timeout of connecting", line_kind),
        ("idle", "timeout without a byte", line_kind),
        ("per_attempt", "timeout of one attempt", line_kind),
        (
            "total",
            "timeout of a call, all attempts together",
            line_kind,
        ),
        ("redirects", "redirect hops followed", line_kind),
        ("backoff", "the first wait between attempts", line_kind),
        ("backoff_cap", "the longest such wait", line_kind),
        (
            "retry_after_cap",
            "the longest Retry-After that is waited for",
            line_kind,
        ),
        ("wait", "all waits of a call together", line_kind),
        (
            "hedge_after",
            "wait for an answer before a second copy is sent",
            line_kind,
        ),
        (
            "error_body",
            "bytes of an answer without success that are read",
            line_kind,
        ),
    ],
);

const STATUS: &[(&str, StatusFrom)] = &[
    ("nowhere", StatusFrom::Nowhere),
    ("stdout-last-word", StatusFrom::StdoutLastWord),
];

const CONTENT: &[(&str, ContentFrom)] = &[
    ("nowhere", ContentFrom::Nowhere),
    ("output", ContentFrom::Output),
    ("stdout", ContentFrom::Stdout),
];

const IN_ARGS: &[&str] = &["method", "url", "body_file", "output"];
const IN_HEADER: &[&str] = &["name", "value"];
const IN_BODY: &[&str] = &["body_file"];
const IN_LIMIT: &[&str] = &["value", "value_minus_one", "seconds"];
const IN_START: &[&str] = &["here", "wirefault"];

/// What a program does that a limit about several calls is for.
const SEVERAL: &str = "makes several calls";

/// An exit code from 1 to 255.
const EXIT: &str = r"\+?0*(?:[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])";

/// `start.command`.
pub(super) fn kind() -> Kind {
    Kind::Map(&COMMAND)
}

/// A command line or a part of one.
pub(super) fn line_kind() -> Kind {
    Kind::list(Kind::text())
}

/// `start.adapter`.
pub(super) fn adapter(
    node: &Node,
    made: &[&'static str],
    out: &mut Diagnostics,
) -> Option<Vec<String>> {
    line(node, "`adapter`", &[IN_START, made].concat(), out)
}

/// `start.command`.
pub(super) fn command(
    node: &Node,
    made: &[&'static str],
    out: &mut Diagnostics,
) -> Option<CommandLine> {
    let fields = node.fields(&COMMAND, out)?;
    let args = fields.need("args", out);
    let args = args.and_then(|node| line(node, "`args`", &[IN_ARGS, IN_START, made].concat(), out));
    let header = part(&fields, "header", IN_HEADER, out);
    let body = part(&fields, "body", IN_BODY, out);
    let limits = fields
        .get("limits")
        .map_or(Some(BTreeMap::new()), |node| limits(node, out));
    let status = fields
        .get("status")
        .map_or(Some(StatusFrom::Nowhere), |node| {
            node.word("`status`", STATUS, out)
        });
    let content = fields
        .get("content")
        .map_or(Some(ContentFrom::Nowhere), |node| {
            node.word("`content`", CONTENT, out)
        });
    let exits = fields
        .get("exits")
        .map_or(Some(BTreeMap::new()), |node| exits(node, out));
    let command = CommandLine {
        args: args?,
        header: header?,
        body: body?,
        limits: limits?,
        status: status?,
        content: content?,
        exits: exits?,
    };
    let writes = |name: &str| command.args.iter().any(|arg| arg.contains(name));
    if command.content == ContentFrom::Output && !writes("{output}") {
        let span = fields.get("content").map_or(&node.span, |node| &node.span);
        out.report(
            ids::NO_SUCH_PLACEHOLDER,
            span,
            "nothing is written to `{output}`",
        )
        .label("the content is looked for in that file")
        .help("add `{output}` to `args`, as in `[curl, -o, \"{output}\"]`");
        return None;
    }
    Some(command)
}

/// A limit that the command can be told is an ability, and the other way round.
pub(super) fn abilities_agree(
    fields: &Fields<'_>,
    command: &CommandLine,
    abilities: &[Ability],
    out: &mut Diagnostics,
) {
    let beyond = [
        (Ability::Cancels, "`cancels`", "reads its stdin meanwhile"),
        (Ability::Streams, "`streams`", "tells which events came"),
        (Ability::Job, "`job`", "asks again"),
        (Ability::Batch, "`batch`", "makes several calls"),
        (Ability::PollEvery, "`poll-every`", "asks again"),
        (Ability::Layers, "`layers`", "reads their names"),
        (Ability::Jitter, "`jitter`", "reads a word"),
        (Ability::RetryShare, "`retry-share`", SEVERAL),
        (Ability::InFlight, "`in-flight`", SEVERAL),
        (Ability::Queue, "`queue`", SEVERAL),
        (Ability::BreakerFailures, "`breaker-failures`", SEVERAL),
        (Ability::BreakerOpen, "`breaker-open`", SEVERAL),
    ];
    for (ability, word, does) in beyond {
        if abilities.contains(&ability)
            && let Some(node) = fields.get("abilities")
        {
            let title = format!("a command can not have the ability {word}");
            out.report(ids::ABILITY_MISMATCH, &node.span, title)
                .label(format!("it needs a program that {does}"))
                .help(format!("remove {word}, or write an adapter"));
        }
    }
    for (word, ..) in LIMITS.known {
        // Abilities are values, which have hyphens.
        let name = word.replace('_', "-");
        let ability = ABILITIES.iter().find(|(other, _)| *other == name);
        let able = ability.is_some_and(|(_, ability)| abilities.contains(ability));
        let told = command.limits.contains_key(*word);
        let (key, title, help) = match (able, told) {
            (true, false) => (
                "abilities",
                format!("the command can not be told the limit `{word}`"),
                format!("add `{word}` to the command's `limits`, or remove the ability"),
            ),
            (false, true) => (
                "abilities",
                format!("the ability `{name}` is missing"),
                format!("add `{name}`: the command's `limits` can set it"),
            ),
            _ => continue,
        };
        if let Some(node) = fields.get(key) {
            out.report(ids::ABILITY_MISMATCH, &node.span, title)
                .label("abilities and `limits` disagree")
                .help(help);
        }
    }
}

fn part(
    fields: &Fields<'_>,
    key: &'static str,
    known: &[&'static str],
    out: &mut Diagnostics,
) -> Option<Vec<String>> {
    let node = fields.get(key);
    node.map_or(Some(Vec::new()), |node| {
        line(node, &format!("`{key}`"), known, out)
    })
}

fn limits(node: &Node, out: &mut Diagnostics) -> Option<BTreeMap<String, Vec<String>>> {
    let fields = node.fields(&LIMITS, out)?;
    let mut limits = BTreeMap::new();
    for (word, ..) in LIMITS.known {
        if let Some(node) = fields.get(word) {
            let args = line(node, &format!("`{word}`"), IN_LIMIT, out)?;
            limits.insert((*word).to_owned(), args);
        }
    }
    Some(limits)
}

fn exits(node: &Node, out: &mut Diagnostics) -> Option<BTreeMap<i32, String>> {
    let entries = node.map("`exits`", out)?;
    let mut exits = BTreeMap::new();
    for (key, value) in entries {
        let code = key
            .text
            .parse()
            .ok()
            .filter(|code| (1..=255).contains(code));
        if code.is_none() {
            let text = brief(&key.text);
            out.report(
                ids::BAD_NUMBER,
                &key.span,
                format!("`{text}` is no exit code"),
            )
            .label("a number from 1 to 255")
            .help("0 is not listed: it always means that an answer was shown");
        }
        let meaning = owned(value, "what an exit code means", out);
        if let (Some(code), Some(meaning)) = (code, meaning) {
            exits.insert(code, meaning);
        }
    }
    Some(exits)
}

/// A command line, or a part of one, with the placeholders that it may have.
pub(super) fn line(
    node: &Node,
    what: &str,
    known: &[&'static str],
    out: &mut Diagnostics,
) -> Option<Vec<String>> {
    let items = node.filled_list(what, out)?;
    for item in items {
        placeholders(item, known, out);
    }
    texts(node, what, out)
}

fn placeholders(node: &Node, known: &[&'static str], out: &mut Diagnostics) {
    let crate::document::Value::Scalar(scalar) = &node.value else {
        return;
    };
    for name in names(&scalar.text) {
        if known.contains(&name) {
            continue;
        }
        let near = nearest(name, known.iter().copied());
        let help = match near {
            Some(near) => format!("did you mean `{{{near}}}`?"),
            None if known.is_empty() => "nothing is filled in here".to_owned(),
            None => format!("known here are {}", listed(known.iter().copied())),
        };
        let name = brief(name);
        out.report(
            ids::NO_SUCH_PLACEHOLDER,
            &node.span,
            format!("`{{{name}}}` stands for nothing here"),
        )
        .label("it would reach the program as it stands")
        .help(help);
    }
}

/// The names in braces. `%{name}` and `${name}` are the program's own.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let opens = text.match_indices('{').map(|(at, _)| at);
    opens.filter_map(|at| {
        let own = at > 0 && matches!(text.as_bytes()[at - 1], b'%' | b'$');
        let rest = &text[at + 1..];
        let name = &rest[..rest.find('}')?];
        let word = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        (word && !own).then_some(name)
    })
}
