//! A manifest's file -> [`Manifest`], or all that is wrong with it.

mod build;
mod command;
mod policy;

use super::{Ability, Build, ErrorRule, Manifest, OperationName, Phase, Policy, Start};
use crate::apis::{APIS, Api};
use crate::document::decode::{Fields, Keys};
use crate::document::kind::{Kind, Rule};
use crate::document::{self, Diagnostic, Diagnostics, Node, Source, ids};

static KEYS: Keys = Keys::new(
    "a manifest",
    &[
        (
            "name",
            "the client's name, its column in the matrix",
            name_kind,
        ),
        ("title", "one line of what it is", Kind::text),
        ("start", "how it is started, `command` or `adapter`", || {
            Kind::Map(&START)
        }),
        ("programs", "the programs it needs in PATH", || {
            Kind::any_list(Kind::text())
        }),
        (
            "version",
            "a command that prints its version on one line",
            || Kind::any_list(Kind::text()),
        ),
        ("abilities", "what it can do", || {
            Kind::any_list(Kind::words(ABILITIES))
        }),
        (
            "api",
            "the API it speaks: what operations request, and the format of shapes",
            || Kind::words(APIS),
        ),
        ("operations", "the operations it can do", || {
            Kind::any_list(Kind::words(OPERATIONS))
        }),
        ("policy", "what its documentation promises", policy::kind),
        ("errors", "what its errors mean", || {
            Kind::list(Kind::Map(&ERROR))
        }),
        ("defects", "defects that can be switched on", || {
            Kind::any_list(Kind::text())
        }),
        (
            "soft_threads",
            "threads that keep house for the runtime, whose waits do not hold virtual time",
            || Kind::any_list(Kind::text()),
        ),
    ],
)
.rules(&[Rule::Needs(&[
    "name",
    "title",
    "start",
    "version",
    "abilities",
])]);

static START: Keys = Keys::new(
    "`start`",
    &[
        (
            "install",
            "what is fetched from its registry before, once",
            build::install_kind,
        ),
        ("build", "what is compiled before, once", build::build_kind),
        (
            "command",
            "a program that knows nothing of wirefault",
            command::kind,
        ),
        (
            "adapter",
            "a program that speaks the client protocol",
            command::line_kind,
        ),
    ],
)
.rules(&[Rule::OneOf(&["command", "adapter"])]);

static ERROR: Keys = Keys::new(
    "an entry of `errors`",
    &[
        ("type", "the error's type or class, exactly", Kind::text),
        ("code", "its code, exactly", Kind::text),
        ("errno", "its number, exactly", || {
            Kind::Number(0..=u64::from(u32::MAX))
        }),
        ("message", "a part of its message", Kind::text),
        (
            "phase",
            "`before` or `after` sending, or `refused` in an answer",
            || Kind::words(PHASES),
        ),
    ],
)
.rules(&[
    Rule::Needs(&["phase"]),
    Rule::AnyOf(&["type", "code", "errno", "message"]),
]);

const ABILITIES: &[(&str, Ability)] = &[
    ("literal", Ability::Literal),
    ("calls", Ability::Calls),
    ("at-once", Ability::AtOnce),
    ("cancels", Ability::Cancels),
    ("streams", Ability::Streams),
    ("tells-progress", Ability::TellsProgress),
    ("streams-body", Ability::StreamsBody),
    ("follows-redirects", Ability::FollowsRedirects),
    ("retries", Ability::Retries),
    ("reuses-connections", Ability::ReusesConnections),
    ("tries-every-address", Ability::TriesEveryAddress),
    ("resumes", Ability::Resumes),
    ("resumes-after-crash", Ability::ResumesAfterCrash),
    ("looks-up", Ability::LooksUp),
    ("job", Ability::Job),
    ("batch", Ability::Batch),
    ("tells-causes", Ability::TellsCauses),
    ("decodes-gzip", Ability::DecodesGzip),
    ("decodes-deflate", Ability::DecodesDeflate),
    ("decodes-br", Ability::DecodesBr),
    ("attempts", Ability::Attempts),
    ("connect", Ability::Connect),
    ("idle", Ability::Idle),
    ("total", Ability::Total),
    ("redirects", Ability::Redirects),
    ("layers", Ability::Layers),
    ("per-attempt", Ability::PerAttempt),
    ("backoff", Ability::Backoff),
    ("backoff-cap", Ability::BackoffCap),
    ("jitter", Ability::Jitter),
    ("retry-after-cap", Ability::RetryAfterCap),
    ("wait", Ability::Wait),
    ("retry-share", Ability::RetryShare),
    ("in-flight", Ability::InFlight),
    ("queue", Ability::Queue),
    ("breaker-failures", Ability::BreakerFailures),
    ("breaker-open", Ability::BreakerOpen),
    ("hedge-after", Ability::HedgeAfter),
    ("error-body", Ability::ErrorBody),
    ("poll-every", Ability::PollEvery),
];

/// The words of the operations.
pub(crate) const OPERATIONS: &[(&str, OperationName)] = &[
    ("create", OperationName::Create),
    ("fetch", OperationName::Fetch),
    ("replace", OperationName::Replace),
    ("remove", OperationName::Remove),
    ("upload", OperationName::Upload),
];

const PHASES: &[(&str, Phase)] = &[
    ("before", Phase::Before),
    ("after", Phase::After),
    ("refused", Phase::Refused),
];

/// The longest name; it becomes part of a file's name.
const LONGEST_NAME: usize = 60;

/// A manifest as a whole.
pub(crate) fn kind() -> Kind {
    Kind::Map(&KEYS)
}

fn name_kind() -> Kind {
    Kind::fits(format!("[a-z0-9][a-z0-9.+-]{{0,{}}}", LONGEST_NAME - 1))
}

/// The keys that a manifest has on the outside.
pub fn keys() -> impl Iterator<Item = &'static str> {
    KEYS.known.iter().map(|(key, ..)| *key)
}

/// Reads a manifest.
pub fn decode(source: &Source) -> Result<Manifest, Vec<Diagnostic>> {
    let mut out = Diagnostics::new(source);
    let manifest = read(source, &mut out);
    let found = out.finish();
    match manifest {
        Some(manifest) if found.is_empty() => Ok(manifest),
        _ => Err(found),
    }
}

/// As [`decode`], with a collector that is looked at afterwards.
pub fn read(source: &Source, out: &mut Diagnostics) -> Option<Manifest> {
    document::parse(source, out).and_then(|node| manifest(source, &node, out))
}

/// The word of an ability.
pub(super) fn ability_word(ability: Ability) -> &'static str {
    let found = ABILITIES.iter().find(|(_, one)| *one == ability);
    found.map_or("", |(word, _)| word)
}

/// The word of an operation.
pub(super) fn operation_word(operation: OperationName) -> &'static str {
    let found = OPERATIONS.iter().find(|(_, one)| *one == operation);
    found.map_or("", |(word, _)| word)
}

/// Everything is read before anything fails, so that all mistakes are told.
fn manifest(source: &Source, node: &Node, out: &mut Diagnostics) -> Option<Manifest> {
    let fields = node.fields(&KEYS, out)?;
    let name = fields.need("name", out).and_then(|node| name(node, out));
    let title = fields
        .need("title", out)
        .and_then(|node| owned(node, "`title`", out));
    let start = fields.need("start", out).and_then(|node| start(node, out));
    let version = fields.need("version", out);
    let version = version.and_then(|node| texts(node, "`version`", out));
    let programs = optional(&fields, "programs", out, texts);
    let abilities = fields.need("abilities", out);
    let abilities =
        abilities.and_then(|node| words(node, "`abilities`", "an ability", ABILITIES, out));
    let api = fields
        .get("api")
        .map_or(Some(Api::default()), |node| node.word("an API", APIS, out));
    let operations = optional(&fields, "operations", out, |node, what, out| {
        operations(node, what, api.unwrap_or_default(), out)
    });
    // Without them nothing is documented, and no error is known for what it is.
    let policy = fields
        .get("policy")
        .map_or_else(|| Some(Policy::default()), |node| policy::policy(node, out));
    let errors = optional(&fields, "errors", out, |node, _, out| errors(node, out));
    let defects = optional(&fields, "defects", out, texts);
    let soft_threads = optional(&fields, "soft_threads", out, texts);
    if let (Some((.., Start::Command(command))), Some(abilities)) = (&start, &abilities) {
        command::abilities_agree(&fields, command, abilities, out);
    }
    let (install, build, start) = start?;
    Some(Manifest {
        name: name?,
        title: title?,
        file: source.path.clone(),
        install,
        build,
        start,
        programs: programs?,
        version: version?,
        abilities: abilities?.into_iter().collect(),
        api: api?,
        operations: super::operations_of(api?, operations?),
        policy: policy?,
        errors: errors?,
        defects: defects?.into_iter().collect(),
        soft_threads: soft_threads?,
    })
}

/// Operations by name; each must be one of the API.
fn operations(
    node: &Node,
    what: &str,
    api: Api,
    out: &mut Diagnostics,
) -> Option<Vec<OperationName>> {
    let known = |operation: &OperationName| api.request(*operation).is_some();
    let names = words(node, what, "an operation", OPERATIONS, out)?;
    let items = node.list(what, out)?;
    let mut absent = items.iter().zip(&names).filter(|(_, name)| !known(name));
    if let Some((item, _)) = absent.next() {
        let has = OPERATIONS.iter().filter(|(_, name)| known(name));
        let has: Vec<_> = has.map(|(word, _)| format!("`{word}`")).collect();
        out.report(
            ids::NO_SUCH_OPERATION,
            &item.span,
            "the API has no such operation",
        )
        .label("not in this API")
        .help(format!("it has {}", has.join(", ")));
        return None;
    }
    Some(names)
}

fn name(node: &Node, out: &mut Diagnostics) -> Option<String> {
    let name = node.text("`name`", out)?;
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.+".contains(c);
    let good = name.chars().all(letters)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= LONGEST_NAME;
    if !good {
        out.report(ids::BAD_NAME, &node.span, "this is no name for a client")
            .label("lower-case letters, digits, `-`, `.` and `+`, at most 60")
            .help("write a word such as `curl-retry-3`");
        return None;
    }
    Some(name.to_owned())
}

fn start(node: &Node, out: &mut Diagnostics) -> Option<(Option<Build>, Option<Build>, Start)> {
    let fields = node.fields(&START, out)?;
    // Each of the two stands for something only where it is there.
    let mut known = Vec::new();
    let install = fields
        .get("install")
        .map_or(Some(None), |node| build::install(node, out).map(Some));
    known.extend(fields.get("install").map(|_| "installed"));
    let build = fields
        .get("build")
        .map_or(Some(None), |node| build::build(node, &known, out).map(Some));
    known.extend(fields.get("build").map(|_| "built"));
    let start = match fields.one_of(&["command", "adapter"], out)? {
        ("command", _, node) => command::command(node, &known, out).map(Start::Command),
        (_, _, node) => command::adapter(node, &known, out).map(Start::Adapter),
    };
    Some((install?, build?, start?))
}

fn errors(node: &Node, out: &mut Diagnostics) -> Option<Vec<ErrorRule>> {
    // With an empty table every error would be an unknown one, and no claim of
    // the client could be false.
    let items = node.filled_list("`errors`", out)?;
    let rules: Vec<_> = items.iter().map(|item| error(item, out)).collect();
    rules.into_iter().collect()
}

fn error(node: &Node, out: &mut Diagnostics) -> Option<ErrorRule> {
    let fields = node.fields(&ERROR, out)?;
    let phase = fields.need("phase", out);
    let phase = phase.and_then(|node| node.word("`phase`", PHASES, out));
    let matched = ["type", "code", "errno", "message"];
    if matched.iter().all(|key| fields.get(key).is_none()) {
        out.report(ids::ONE_OF, &node.span, "this entry matches no error")
            .label("neither `type`, `code`, `errno` nor `message`")
            .help("say which error it is about, such as `code: ECONNRESET`");
        return None;
    }
    let mut text = |key: &'static str| {
        let node = fields.get(key);
        node.map_or(Some(None), |node| owned(node, key, out).map(Some))
    };
    let (kind, code, message) = (text("type"), text("code"), text("message"));
    let errno = fields.get("errno").map_or(Some(None), |node| {
        let number = node.number("`errno`", 0..=u64::from(u32::MAX), out)?;
        Some(i64::try_from(number).ok())
    });
    Some(ErrorRule {
        kind: kind?,
        code: code?,
        errno: errno?,
        message: message?,
        phase: phase?,
    })
}

fn owned(node: &Node, what: &str, out: &mut Diagnostics) -> Option<String> {
    node.text(what, out).map(str::to_owned)
}

/// A list of texts; an empty one is as good as none.
fn texts(node: &Node, what: &str, out: &mut Diagnostics) -> Option<Vec<String>> {
    let items = node.list(what, out)?;
    let items: Vec<_> = items.iter().map(|item| owned(item, what, out)).collect();
    items.into_iter().collect()
}

fn words<T: Copy>(
    node: &Node,
    what: &str,
    one: &str,
    known: &[(&'static str, T)],
    out: &mut Diagnostics,
) -> Option<Vec<T>> {
    let items = node.list(what, out)?;
    let items: Vec<_> = items
        .iter()
        .map(|item| item.word(one, known, out))
        .collect();
    items.into_iter().collect()
}

/// A key that may be missing; then its list is empty.
fn optional<T>(
    fields: &Fields<'_>,
    key: &'static str,
    out: &mut Diagnostics,
    read: impl Fn(&Node, &str, &mut Diagnostics) -> Option<Vec<T>>,
) -> Option<Vec<T>> {
    match fields.get(key) {
        None => Some(Vec::new()),
        Some(node) => read(node, &format!("`{key}`"), out),
    }
}
