//! The keys of the document itself, and one case as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::document::decode::{Fields, Keys, brief, nearest, unknown_word};
use crate::document::kind::{ANY_TEXT, Kind, Rule};
use crate::document::{Diagnostics, Node, Value, ids};
use crate::expected::Words;
use crate::plan::{CaseName, Plan, Proves};
use crate::verdict::FindingName;

use super::columns::Row;
use super::{
    Known, batch, cancel, checks, columns, crash, expect, fleet, job, limits, needs, servers,
    tags::TAGS, work,
};
use crate::reading::Reading;
use crate::scope::Treatment;

/// The keys of a scenario.
pub(super) static KEYS: Keys = Keys::new(
    "a scenario",
    &[
        ("title", "what it says, in one line", title_kind),
        ("why", "why it matters", Kind::text),
        ("refs", "where the right behaviour is written down", || {
            Kind::list(Kind::text())
        }),
        ("tags", "words to select by", || {
            Kind::list(Kind::told(TAGS))
        }),
        ("servers", "the servers by name", servers::kind),
        ("call", "the one call to make", work::call_kind),
        ("calls", "the calls to make, in order", work::calls_kind),
        (
            "stream",
            "the one call to make, whose answer is a list of events",
            work::stream_kind,
        ),
        ("job", "work that is submitted and asked after", job::kind),
        ("batch", "work of many items", batch::kind),
        ("limits", "what the client is told to keep to", limits::kind),
        ("needs", "abilities that cannot be derived", needs::kind),
        ("deadline", "end of patience with the client", || {
            time_kind(DEADLINE)
        }),
        ("quiet", "silence that closes a cell", || time_kind(QUIET)),
        ("cap", "requests after which the client is stopped", || {
            Kind::Number(1..=MOST_REQUESTS).by_default(CAP)
        }),
        (
            "enough",
            "deliveries after which the client is stopped without a finding",
            || Kind::names(ANY_TEXT, 0..=usize::MAX, Kind::Number(1..=MOST_REQUESTS)),
        ),
        ("cancel", "a call that is cancelled, and when", cancel::kind),
        (
            "crash",
            "when the client is killed, to be started again",
            crash::kind,
        ),
        (
            "fleet",
            "how many processes of the client do this work at the same time",
            fleet::kind,
        ),
        (
            "sweep",
            "columns with their values; every combination is a case",
            columns::sweep_kind,
        ),
        (
            "table",
            "rows of columns; every row is a case",
            columns::table_kind,
        ),
        ("expect", "what must, should or may be seen", expect::kind),
        ("proves", "the defect that it catches", || {
            Kind::Map(&PROVES).as_written()
        }),
    ],
)
.rules(&[
    Rule::Needs(&["title", "why", "servers", "expect"]),
    Rule::OneOf(work::FORMS),
    Rule::AtMostOneOf(&["sweep", "table"]),
    Rule::AtMostOneOf(&["crash", "fleet"]),
])
.elsewhere(&[
    ("must", "`expect`"),
    ("should", "`expect`"),
    ("info", "`expect`"),
    ("method", "`call`"),
    ("url", "`call`"),
    ("headers", "`call`, or `respond` of a step"),
    ("body", "`call`, or `respond` of a step"),
    ("listen", "a server in `servers`"),
    ("connections", "a server in `servers`"),
    ("script", "a server in `servers`"),
    ("routes", "a server in `servers`"),
    ("attempts", "`limits`"),
    ("connect", "`limits`"),
    ("idle", "`limits`"),
    ("total", "`limits`"),
    ("redirects", "`limits`"),
    ("layers", "`limits`"),
    ("per_attempt", "`limits`"),
    ("backoff", "`limits`"),
    ("backoff_cap", "`limits`"),
    ("jitter", "`limits`"),
    ("retry_after_cap", "`limits`"),
    ("wait", "`limits`"),
    ("retry_share", "`limits`"),
    ("in_flight", "`limits`"),
    ("queue", "`limits`"),
    ("breaker_failures", "`limits`"),
    ("breaker_open", "`limits`"),
    ("hedge_after", "`limits`"),
    ("error_body", "`limits`"),
    ("poll_every", "`limits`"),
    ("submit", "`job`"),
    ("query", "`job`"),
    ("codes", "`job`"),
    ("items", "`batch`"),
    ("per_request", "`batch`"),
    ("send", "`batch`"),
    ("when", "`cancel`, `crash`, or a step"),
    ("later", "`cancel`"),
    ("restart_after", "`crash`"),
    ("defect", "`proves`"),
    ("finding", "`proves`"),
])
.not_yet(&["names", "language"]);

const DEADLINE: Duration = Duration::from_secs(30);
const QUIET: Duration = Duration::from_millis(300);
const CAP: u64 = 200;

/// The most requests that are counted before a client is stopped.
const MOST_REQUESTS: u64 = 2_000_000;

/// The most characters of a title.
const LONGEST_TITLE: usize = 100;

fn title_kind() -> Kind {
    let most = LONGEST_TITLE - 2;
    Kind::fits(format!(r"\s*\S(?:[^\n]{{0,{most}}}\S)?\s*"))
}

fn time_kind(default: Duration) -> Kind {
    Kind::time_from(Duration::from_nanos(1)).by_default(default.words())
}

/// Reads one case. `written` is the document before columns were replaced.
pub(super) fn plan(
    tree: &Node,
    written: &Fields<'_>,
    row: &Row,
    (case, seed): (CaseName, u64),
    known: &Known,
    reading: &mut Reading<'_>,
) -> Option<Plan> {
    let before = reading.out.reports();
    let document = tree.fields(&KEYS, reading.out)?;
    let title = title(&document, reading.out);
    let why = need_text(&document, "why", reading.out);
    let refs = refs(&document, reading.out);
    let tags = tags(&document, reading.out);
    let servers = servers::servers(&document, reading);
    let calls = work::calls(&document, reading);
    let limits = limits::limits(&document, reading.out);
    // The rest is read even where these failed, so that all mistakes are told.
    let written_needs = needs::needs(&document, reading.out);
    let deadline = time(&document, "deadline", DEADLINE, reading.out);
    let quiet = time(&document, "quiet", QUIET, reading.out);
    let cap = match document.get("cap") {
        None => Some(CAP),
        Some(node) => node.number("`cap`", 1..=MOST_REQUESTS, reading.out),
    };
    let enough = enough(&document, cap, reading);
    let proves = proves(&document, written, row, known, reading.out);
    let (mut servers, calls, limits) = (servers?, calls?, limits?);
    limits::check(&document, (&limits, &calls), reading.out);
    let (fleet, calls) = fleet::fleet(&document, calls, reading)?;
    let cancel = cancel::cancel(&document, (&servers, &calls, &limits), reading);
    let crash = crash::crash(&document, (&servers, &calls, &limits), reading);
    let treatment = Treatment {
        crashes: document.get("crash").is_some(),
        cancels: document.get("cancel").is_some(),
        fleet: document.get("fleet").is_some(),
    };
    let expect = expect::expect(&document, (&servers, &calls, &limits, treatment), reading);
    checks::require_what_can_be_known(&mut servers, &calls, reading);
    let needs = needs::all_needs(
        &document,
        written_needs?,
        (&servers, &calls, &limits),
        treatment,
        reading.out,
    );
    let plan = Plan {
        case,
        file: reading.source.path.clone(),
        title: title?,
        why: why?,
        refs: refs?,
        tags: tags?,
        seed,
        servers,
        calls,
        fleet,
        limits,
        needs,
        deadline: deadline?,
        quiet: quiet?,
        cap: cap?,
        enough: enough?,
        cancel: cancel?,
        crash: crash?,
        expect: expect?,
        proves: proves?,
    };
    // What is wrong with a case as a whole is told of one that can be read.
    if reading.out.reports() == before {
        checks::check(&plan, &document, reading);
    }
    Some(plan)
}

fn need_text(document: &Fields<'_>, key: &str, out: &mut Diagnostics) -> Option<String> {
    let node = document.need(key, out)?;
    let text = node.text(&format!("`{key}`"), out)?;
    Some(text.trim().to_owned())
}

fn title(document: &Fields<'_>, out: &mut Diagnostics) -> Option<String> {
    let title = need_text(document, "title", out)?;
    let node = document.get("title")?;
    if title.chars().count() > LONGEST_TITLE || title.contains('\n') {
        out.report(ids::TOO_LONG, &node.span, "the title is too long")
            .label(format!(
                "one line of at most {LONGEST_TITLE} characters is needed"
            ))
            .help("say the rest in `why`");
        return None;
    }
    Some(title)
}

fn refs(document: &Fields<'_>, out: &mut Diagnostics) -> Option<Vec<String>> {
    let Some(node) = document.get("refs") else {
        return Some(Vec::new());
    };
    let items = node.filled_list("`refs`", out)?;
    let texts: Vec<_> = items
        .iter()
        .map(|item| item.text("a reference", out).map(str::to_owned))
        .collect();
    texts.into_iter().collect()
}

fn tags(document: &Fields<'_>, out: &mut Diagnostics) -> Option<BTreeSet<String>> {
    let Some(node) = document.get("tags") else {
        return Some(BTreeSet::new());
    };
    let words: Vec<_> = TAGS.iter().map(|(word, _)| (*word, *word)).collect();
    let items = node.filled_list("`tags`", out)?;
    let tags: Vec<_> = items
        .iter()
        .map(|item| item.word("a tag", &words, out))
        .collect();
    tags.into_iter().map(|tag| tag.map(str::to_owned)).collect()
}

fn time(
    document: &Fields<'_>,
    key: &str,
    default: Duration,
    out: &mut Diagnostics,
) -> Option<Duration> {
    let Some(node) = document.get(key) else {
        return Some(default);
    };
    let time = node.duration(&format!("`{key}`"), out)?;
    if time.is_zero() {
        out.report(
            ids::BAD_DURATION,
            &node.span,
            format!("`{key}` must not be zero"),
        )
        .label("no time at all")
        .help(format!("the default is {default:?}"));
        return None;
    }
    Some(time)
}

fn enough(
    document: &Fields<'_>,
    cap: Option<u64>,
    reading: &mut Reading<'_>,
) -> Option<BTreeMap<String, u64>> {
    let mut enough = BTreeMap::new();
    let Some(node) = document.get("enough") else {
        return Some(enough);
    };
    let mut good = true;
    for (server, count) in node.map("`enough`", reading.out)? {
        let known = reading.known_server(&server.text, &server.span);
        let number = count.number("a count of deliveries", 1..=MOST_REQUESTS, reading.out);
        if let (Some(number), Some(cap)) = (number, cap)
            && number > cap
        {
            reading
                .out
                .report(ids::ABOVE_CAP, &count.span, "`enough` is above `cap`")
                .label("the client would be stopped by the cap before")
                .help("raise `cap` or lower this");
        }
        match (known, number) {
            (true, Some(count)) => {
                enough.insert(server.text.clone(), count);
            }
            _ => good = false,
        }
    }
    good.then_some(enough)
}

static PROVES: Keys = Keys::new(
    "`proves`",
    &[
        ("defect", "the defect of the reference client", Kind::text),
        ("finding", "the finding it is caught by", || {
            Kind::Word(
                expect::FINDINGS
                    .iter()
                    .map(|name| (name.word(), String::new()))
                    .collect(),
            )
        }),
        ("when", "the columns' values in which it is caught", || {
            Kind::names(ANY_TEXT, 0..=usize::MAX, Kind::Any)
        }),
    ],
)
.rules(&[Rule::Needs(&["defect", "finding"])]);

fn proves(
    document: &Fields<'_>,
    written: &Fields<'_>,
    row: &Row,
    known: &Known,
    out: &mut Diagnostics,
) -> Option<Option<Proves>> {
    if document.get("proves").is_none() {
        return Some(None);
    }
    let node = written.get("proves")?;
    let fields = node.fields(&PROVES, out)?;
    let defect = fields
        .need("defect", out)
        .and_then(|node| defect(node, known, out));
    let finding = fields
        .need("finding", out)
        .and_then(|node| finding(node, out));
    let applies = match fields.get("when") {
        None => Some(true),
        Some(node) => row_fits(node, row, out),
    };
    let (defect, finding) = (defect?, finding?);
    Some(applies?.then_some(Proves { defect, finding }))
}

fn defect(node: &Node, known: &Known, out: &mut Diagnostics) -> Option<String> {
    let defect = node.text("a defect", out)?;
    if known.defects.contains(defect) {
        return Some(defect.to_owned());
    }
    let help = match nearest(defect, known.defects.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "write a name of the reference client's list of defects".to_owned(),
    };
    out.report(
        ids::UNKNOWN_DEFECT,
        &node.span,
        format!("the reference client has no defect `{}`", brief(defect)),
    )
    .label("not in its list")
    .help(help);
    None
}

fn finding(node: &Node, out: &mut Diagnostics) -> Option<FindingName> {
    let words: Vec<String> = super::expect::FINDINGS
        .iter()
        .map(|name| name.word())
        .collect();
    let word = node.text("a finding", out)?;
    let found = super::expect::FINDINGS
        .iter()
        .find(|name| name.word() == word);
    if found.is_none() {
        let words = words.iter().map(String::as_str);
        unknown_word(&node.span, word, "a finding", words, out);
    }
    found.copied()
}

/// Whether a row has one of the values that `proves.when` lists of each column.
fn row_fits(node: &Node, row: &Row, out: &mut Diagnostics) -> Option<bool> {
    let mut fits = true;
    for (column, values) in node.map("`proves.when`", out)? {
        let Some(value) = row.get(&column.text) else {
            let columns = row.0.iter().map(|(name, _)| name.as_str());
            unknown_word(&column.span, &column.text, "a column", columns, out);
            out.last().beyond_schema();
            return None;
        };
        let items = match &values.value {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(values),
        };
        fits &= items.iter().any(|item| item.flow() == value.flow());
    }
    Some(fits)
}
