//! `limiter`: so many requests pass, others are denied.

use std::time::Duration;

use scripted_servers::models::Rules;
use scripted_servers::models::limiter::{self, Rule as Limit, Tells};
use serde::{Deserialize, Serialize};

use super::{Declared, Entry, Listed, Model, Remembers};
use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, ids};
use crate::faults::respond::{self, Respond};
use crate::reading::{Reading, all_good, content};

/// `limiter: {rule: {token_bucket: {burst: 60, refill: 1s}}, deny: {status: 429}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limiter {
    /// Which requests pass, and what is told.
    pub rules: limiter::Rules,
    /// What others get.
    pub deny: Box<Respond>,
}

pub(super) static ENTRY: Entry = Entry {
    listed: Listed {
        word: "limiter",
        summary: "so many requests pass, others are denied; what passes the step answers",
        example: "gate: { limiter: { rule: { token_bucket: { burst: 10, refill: 100ms } }, \
                  deny: { status: 429, retry_after: { seconds: 1 } } } }",
    },
    kind: || Kind::Map(&KEYS),
    decode: |node, reading| decode(node, reading).map(Model::Limiter),
};

static KEYS: Keys = Keys::new(
    "`limiter`",
    &[
        ("rule", "which requests pass", || Kind::Map(&RULE)),
        ("deny", "the answer that others get", respond::denial_kind),
        (
            "tells",
            "header fields of every answer that tell of the limit",
            || Kind::Map(&TELLS),
        ),
    ],
)
.rules(&[Rule::Needs(&["rule", "deny"])]);

const RULES: [&str; 3] = ["token_bucket", "fixed_window", "concurrency"];

static RULE: Keys = Keys::new(
    "the rule of a limiter",
    &[
        (
            "token_bucket",
            "`{burst, refill}`: each request takes a token, and so often one more comes",
            || Kind::Map(&TOKEN_BUCKET),
        ),
        (
            "fixed_window",
            "`{requests, window}`: so many in each window; the first begins with the first request",
            || Kind::Map(&FIXED_WINDOW),
        ),
        (
            "concurrency",
            "`{max}`: so many that are not answered yet",
            || Kind::Map(&CONCURRENCY),
        ),
    ],
)
.rules(&[Rule::OneOf(&RULES)]);

static TOKEN_BUCKET: Keys = Keys::new(
    "`token_bucket`",
    &[
        ("burst", "tokens in a full bucket", count),
        ("refill", "the time in which one token comes", span),
    ],
)
.rules(&[Rule::Needs(&["burst", "refill"])]);

static FIXED_WINDOW: Keys = Keys::new(
    "`fixed_window`",
    &[
        ("requests", "how many pass in a window", count),
        ("window", "how long a window is", span),
    ],
)
.rules(&[Rule::Needs(&["requests", "window"])]);

static CONCURRENCY: Keys = Keys::new(
    "`concurrency`",
    &[("max", "how many are open at the same time", count)],
)
.rules(&[Rule::Needs(&["max"])]);

static TELLS: Keys = Keys::new(
    "`tells`",
    &[
        (
            "limit",
            "the field that tells how many may pass at most",
            content::field_name,
        ),
        (
            "left",
            "the field that tells how many may pass now",
            content::field_name,
        ),
        (
            "reset",
            "the field that tells in how many seconds all may pass again",
            content::field_name,
        ),
    ],
)
.rules(&[Rule::AnyOf(&["limit", "left", "reset"])]);

const MOST: u64 = 1_000_000;
/// Times below this are of the network, not of a limit.
const SHORTEST: Duration = Duration::from_millis(3);

fn count() -> Kind {
    Kind::Number(1..=MOST)
}

fn span() -> Kind {
    Kind::time_from(SHORTEST)
}

fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Limiter> {
    let fields = node.fields(&KEYS, reading.out)?;
    let rule_node = fields.need("rule", reading.out);
    let deny = fields.need("deny", reading.out);
    let rule = rule_node.and_then(|node| rule(node, reading));
    let deny = deny.and_then(|node| respond::denial(node, reading));
    let tells = fields.get("tells").map(|node| tells(node, reading));
    Some(Limiter {
        rules: limiter::Rules {
            rule: rule?,
            tells: all_good(tells)?.unwrap_or_default(),
        },
        deny: Box::new(deny?),
    })
}

fn rule(node: &Node, reading: &mut Reading<'_>) -> Option<Limit> {
    let fields = node.fields(&RULE, reading.out)?;
    let (form, _, value) = fields.one_of(&RULES, reading.out)?;
    match form {
        "token_bucket" => {
            let (burst, refill) = pair(value, &TOKEN_BUCKET, ("burst", "refill"), reading)?;
            Some(Limit::TokenBucket { burst, refill })
        }
        "fixed_window" => {
            let keys = ("requests", "window");
            let (requests, window) = pair(value, &FIXED_WINDOW, keys, reading)?;
            Some(Limit::FixedWindow { requests, window })
        }
        _ => {
            let fields = value.fields(&CONCURRENCY, reading.out)?;
            let max = fields.need("max", reading.out)?;
            let max = number(max, "`max`", reading)?;
            Some(Limit::Concurrency { max })
        }
    }
}

/// A number and a time.
fn pair(
    node: &Node,
    keys: &'static Keys,
    (count, time): (&str, &str),
    reading: &mut Reading<'_>,
) -> Option<(u32, Duration)> {
    let fields = node.fields(keys, reading.out)?;
    let (count_node, time_node) = (
        fields.need(count, reading.out),
        fields.need(time, reading.out),
    );
    let count = count_node.and_then(|node| number(node, &format!("`{count}`"), reading));
    let node = time_node?;
    let span = node.duration(&format!("`{time}`"), reading.out)?;
    if span < SHORTEST {
        reading
            .out
            .report(ids::BAD_DURATION, &node.span, "too fast to be kept")
            .label("the shortest time of a limit is 3ms")
            .help("write 3ms or more");
        return None;
    }
    Some((count?, span))
}

fn number(node: &Node, what: &str, reading: &mut Reading<'_>) -> Option<u32> {
    let number = node.number(what, 1..=MOST, reading.out)?;
    u32::try_from(number).ok()
}

fn tells(node: &Node, reading: &mut Reading<'_>) -> Option<Tells> {
    let fields = node.fields(&TELLS, reading.out)?;
    if fields.entries().is_empty() {
        let needed = "a map with `limit`, `left` or `reset`";
        return node.wrong("`tells`", needed, reading.out);
    }
    let mut field = |key: &str| {
        let node = fields.get(key)?;
        Some(reading.field_of(node, &format!("`{key}`")))
    };
    let (limit, left, reset) = (field("limit"), field("left"), field("reset"));
    Some(Tells {
        limit: all_good(limit)?,
        left: all_good(left)?,
        reset: all_good(reset)?,
    })
}

impl Remembers for Limiter {
    fn rules(&self) -> Rules {
        Rules::Limiter(self.rules.clone())
    }

    fn effect(&self) -> Option<Declared<'_>> {
        None
    }

    fn answers(&self) -> bool {
        false
    }

    fn may_refuse(&self) -> bool {
        true
    }

    fn denial(&self) -> Option<&Respond> {
        Some(&self.deny)
    }

    fn unwalkable(&self) -> Option<&'static str> {
        Some("a step goes through a `limiter`, and the walk has no clock")
    }
}
