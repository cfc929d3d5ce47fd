//! `header`: a header field of the requests that arrived.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::{Assertion, Entry, Parameters};
use crate::counter::Counter;
use crate::document::decode::Keys;
use crate::document::kind::Rule;
use crate::document::{Kind, Node};
use crate::expected::{counts, values};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::counts::listed;
use crate::judge::exchange::Exchange;
use crate::plan::Of;
use crate::scope::Scope;
use crate::secrets;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "header",
    summary: "a header field of the requests that arrived",
    example: "header: { counter: api, name: Idempotency-Key, is: same }",
    findings: &[
        FindingName::KeyChanged,
        FindingName::SecretLeaked,
        FindingName::WrongRequest,
    ],
    kind: || Kind::Map(&KEYS),
    decode,
};

/// Which field, in which requests, and what is expected of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderExpected {
    /// The requests.
    pub counter: Counter,
    /// The field.
    pub name: String,
    /// What is expected of it; none: it is shown.
    pub is: Option<Field>,
}

/// What is expected of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Field {
    /// It is in every request.
    Present,
    /// It is in none.
    Absent,
    /// It is in every request, the same over all attempts of a call.
    Same,
    /// It is in every request, and no two calls have the same.
    Distinct,
    /// It is in every request with this value.
    Equals(String),
}

static KEYS: Keys = Keys::new(
    "`header`",
    &[
        (
            "counter",
            "the requests, as `api` or `api POST /jobs`",
            counts::one,
        ),
        ("name", "the field's name", Kind::text),
        ("is", "`present`, `absent`, `same` or `distinct`", || {
            Kind::words(IS)
        }),
        ("equals", "the value it must have", Kind::any_text),
    ],
)
.rules(&[
    Rule::Needs(&["counter", "name"]),
    Rule::OneOfExpected(&["is", "equals"]),
]);

const IS: &[(&str, Is)] = &[
    ("present", Is::Present),
    ("absent", Is::Absent),
    ("same", Is::Same),
    ("distinct", Is::Distinct),
];

#[derive(Clone, Copy)]
enum Is {
    Present,
    Absent,
    Same,
    Distinct,
}

/// `{counter, name, is: same}` or `{counter, name, equals: text}`; at `info`
/// without the last.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    let fields = node.fields(&KEYS, scope.out)?;
    let counter = fields.need("counter", scope.out);
    let counter = counter.and_then(|node| counts::counter_of(node, scope));
    let name = fields.need("name", scope.out);
    let name = name.and_then(|node| node.text("a field's name", scope.out));
    let is = if values::shows(scope) {
        if let Some((_, key, _)) = fields.at_most_one_of(&["is", "equals"], scope.out)? {
            values::expects_nothing(&key.span, "`header`", scope);
            return None;
        }
        None
    } else {
        let (key, _, value) = fields.one_of(&["is", "equals"], scope.out)?;
        Some(if key == "equals" {
            Field::Equals(value.any_text("`equals`", scope.out)?.to_owned())
        } else {
            match value.word("what a field is", IS, scope.out)? {
                Is::Present => Field::Present,
                Is::Absent => Field::Absent,
                Is::Same => Field::Same,
                Is::Distinct => Field::Distinct,
            }
        })
    };
    Some(Assertion::Header(HeaderExpected {
        counter: counter?,
        name: name?.to_owned(),
        is,
    }))
}

/// All heads that arrived, of incomplete requests too.
pub(super) fn judge(expected: &HeaderExpected, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    let heads: Vec<&Exchange> = case
        .facts
        .exchanges
        .iter()
        .filter(|one| one.head().is_some() && !one.is_other())
        .filter(|one| one.is_counted_by(&expected.counter) && one.is_of(of))
        .collect();
    let name = &expected.name;
    match &expected.is {
        None => {
            let told = Told::of(name, &heads);
            let show = |one: &&Exchange| {
                let value = one.header(name);
                value.map_or_else(|| "(absent)".to_owned(), |value| told.bare(value))
            };
            out.note(format!(
                "{name} at {}: {}",
                expected.counter.text,
                listed(heads.iter().map(show))
            ));
        }
        Some(Field::Present) => each(&heads, name, "present", |has| has.is_some(), &mut out),
        Some(Field::Equals(value)) => {
            let what = if secrets::is_secret(name) {
                "with the value that is written".to_owned()
            } else {
                format!("{value:?}")
            };
            each(
                &heads,
                name,
                &what,
                |has| has == Some(value.as_str()),
                &mut out,
            );
        }
        Some(Field::Absent) => heads
            .iter()
            .for_each(|one| absent(name, one, case, &mut out)),
        Some(Field::Same) => same(&heads, name, &mut out),
        Some(Field::Distinct) => distinct(&heads, name, &mut out),
    }
    out
}

fn each(
    heads: &[&Exchange],
    name: &str,
    what: &str,
    good: impl Fn(Option<&str>) -> bool,
    out: &mut Checked,
) {
    let told = Told::of(name, heads);
    for one in heads {
        if good(one.header(name)) {
            out.good();
        } else {
            out.wrong(Raised::new(
                FindingName::WrongRequest,
                format!("{name} {what}"),
                format!("{name} {}", told.words(one)),
                one.head().map(|head| head.mark.n),
            ));
        }
    }
}

/// A field that the call carries has leaked when it arrives at another origin
/// than the call's.
fn absent(name: &str, one: &Exchange, case: &Case<'_>, out: &mut Checked) {
    if one.header(name).is_none() {
        return out.good();
    }
    let call = one.call.and_then(|call| case.call(call));
    let sent = call.and_then(|call| call.sent.as_ref());
    let leaked = sent.is_some_and(|sent| {
        let carried = sent.headers.iter();
        sent.targets().all(|to| to.server != one.place.server)
            && carried
                .clone()
                .any(|(field, _)| field.eq_ignore_ascii_case(name))
    });
    let finding = if leaked {
        FindingName::SecretLeaked
    } else {
        FindingName::WrongRequest
    };
    out.wrong(
        Raised::new(
            finding,
            format!("{name} absent at {}", one.place.server),
            // The value may be a secret; it stays out of the finding.
            format!("{name} present"),
            one.head().map(|head| head.mark.n),
        )
        .in_any_case(leaked),
    );
}

/// One attempt alone has nothing to be compared with, but must carry it.
fn same(heads: &[&Exchange], name: &str, out: &mut Checked) {
    let mut calls: BTreeMap<Option<u32>, Vec<&Exchange>> = BTreeMap::new();
    for one in heads {
        calls.entry(one.call).or_default().push(one);
    }
    for (call, heads) in calls {
        let values: BTreeSet<Option<&str>> = heads.iter().map(|one| one.header(name)).collect();
        let call = call.unwrap_or_default();
        if values.len() == 1 && !values.contains(&None) {
            if heads.len() > 1 {
                out.good();
            }
            continue;
        }
        let told = Told::of(name, &heads);
        let seen = heads.iter().map(|one| told.words(one));
        out.wrong(Raised::new(
            FindingName::KeyChanged,
            format!("{name} present and the same in all attempts of call {call}"),
            listed(seen),
            heads
                .iter()
                .filter_map(|one| one.head())
                .map(|head| head.mark.n),
        ));
    }
}

fn distinct(heads: &[&Exchange], name: &str, out: &mut Checked) {
    each(heads, name, "present", |has| has.is_some(), out);
    let told = Told::of(name, heads);
    let mut values: BTreeMap<&str, Vec<&Exchange>> = BTreeMap::new();
    for one in heads {
        if let Some(value) = one.header(name) {
            values.entry(value).or_default().push(one);
        }
    }
    for (value, heads) in values {
        let calls: BTreeSet<Option<u32>> = heads.iter().map(|one| one.call).collect();
        if calls.len() > 1 {
            let calls = listed(calls.iter().flatten().map(u32::to_string));
            out.wrong(Raised::new(
                FindingName::WrongRequest,
                format!("{name} distinct between calls"),
                format!("{} in calls {calls}", told.value(value)),
                heads
                    .iter()
                    .filter_map(|one| one.head())
                    .map(|head| head.mark.n),
            ));
        }
    }
}

/// How values of a field are told: as they are, or, where they are secrets, by
/// a number each, which tells only whether two are the same.
struct Told<'n> {
    name: &'n str,
    /// The secrets, with their numbers.
    secrets: HashMap<&'n str, usize>,
}

impl<'n> Told<'n> {
    fn of(name: &'n str, heads: &[&'n Exchange]) -> Self {
        let mut secrets = HashMap::new();
        if secrets::is_secret(name) {
            for value in heads.iter().filter_map(|one| one.header(name)) {
                let next = secrets.len() + 1;
                secrets.entry(value).or_insert(next);
            }
        }
        Self { name, secrets }
    }

    fn secret(&self, value: &str) -> Option<String> {
        let number = self.secrets.get(value)?;
        Some(format!("{} {number}", secrets::REDACTED))
    }

    fn bare(&self, value: &str) -> String {
        self.secret(value).unwrap_or_else(|| value.to_owned())
    }

    fn value(&self, value: &str) -> String {
        self.secret(value).unwrap_or_else(|| format!("{value:?}"))
    }

    fn words(&self, one: &Exchange) -> String {
        let value = one.header(self.name);
        value.map_or_else(|| "absent".to_owned(), |value| self.value(value))
    }
}

impl Parameters for HeaderExpected {
    fn fields(&self) -> Vec<&str> {
        vec![&self.name]
    }

    /// How it is told in findings; none: as it is written, which gives no
    /// secret away.
    fn told(&self) -> Option<String> {
        let equals = matches!(self.is, Some(Field::Equals(_)));
        (equals && secrets::is_secret(&self.name)).then(|| {
            format!(
                "header: {{counter: {}, name: {}, equals: {}}}",
                self.counter.text,
                self.name,
                secrets::REDACTED
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::testing::{Story, plan, respond, server};
    use crate::verdict::Level;

    fn case() -> Plan {
        plan([
            server("api").step(respond(503)),
            server("other").step(respond(200)),
        ])
        .call("POST", "api", "/x")
        .with_header("Authorization", "Bearer s")
        .call("POST", "api", "/y")
    }

    fn check(counter: &str, is: Field, story: &Story, of: &Of) -> Checked {
        let expected = HeaderExpected {
            counter: Counter::server(counter),
            name: "Idempotency-Key".to_owned(),
            is: Some(is),
        };
        story.check_of(&case(), &Assertion::Header(expected), of)
    }

    /// Two attempts of the first call and one of the second, with these keys.
    fn story(keys: [Option<&str>; 3]) -> Story {
        let keys: Vec<Vec<(&str, &str)>> = keys
            .iter()
            .map(|key| {
                key.map(|key| ("idempotency-key", key))
                    .into_iter()
                    .collect()
            })
            .collect();
        Story::new()
            .on(5, ("api", 1, 1), "POST /x", &keys[0])
            .on(6, ("api", 2, 1), "POST /x", &keys[1])
            .shows(7, 1, 503, "")
            .on(8, ("api", 3, 1), "POST /y", &keys[2])
            .shows(9, 2, 503, "")
    }

    fn names(is: Field, keys: [Option<&str>; 3]) -> Vec<FindingName> {
        let checked = check("api", is, &story(keys), &Of::default());
        if checked.raised.is_empty() {
            checked.assert_good();
        }
        checked.names()
    }

    #[test]
    fn present_and_equals_hold_for_every_request() {
        let (a, b) = (Some("a"), Some("b"));
        let equals = || Field::Equals("a".to_owned());
        assert_eq!(names(Field::Present, [a, b, a]), []);
        assert_eq!(
            names(Field::Present, [a, None, a]),
            [FindingName::WrongRequest]
        );
        assert_eq!(names(equals(), [a, a, a]), []);
        assert_eq!(names(equals(), [a, a, b]), [FindingName::WrongRequest]);
        assert_eq!(names(Field::Absent, [None, None, None]), []);
        assert_eq!(
            names(Field::Absent, [None, None, a]),
            [FindingName::WrongRequest]
        );
    }

    #[test]
    fn same_looks_along_the_attempts_of_a_call() {
        let (a, b) = (Some("a"), Some("b"));
        assert_eq!(names(Field::Same, [a, a, b]), []);
        assert_eq!(names(Field::Same, [a, b, b]), [FindingName::KeyChanged]);
        assert_eq!(names(Field::Same, [a, None, b]), [FindingName::KeyChanged]);
        assert_eq!(names(Field::Same, [a, a, None]), [FindingName::KeyChanged]);
    }

    #[test]
    fn distinct_looks_across_calls() {
        let (a, b) = (Some("a"), Some("b"));
        assert_eq!(names(Field::Distinct, [a, a, b]), []);
        assert_eq!(
            names(Field::Distinct, [a, a, a]),
            [FindingName::WrongRequest]
        );
    }

    #[test]
    fn one_attempt_alone_can_not_be_compared() {
        let of = crate::testing::of_call(2);
        let story = story([Some("a"), Some("b"), Some("c")]);
        check("api", Field::Same, &story, &of).assert_nothing();
        let attempt = Of {
            attempt: Some(2),
            ..crate::testing::of_call(1)
        };
        let second = check("api", Field::Equals("b".to_owned()), &story, &attempt);
        second.assert_good();
    }

    #[test]
    fn no_way_to_ask_for_a_secret_tells_its_value() {
        let ways = [
            None,
            Some(Field::Equals("top-1".to_owned())),
            Some(Field::Same),
            Some(Field::Distinct),
        ];
        for name in ["X-Api-Key", "cookie", "Authorization"] {
            let story = Story::new()
                .on(5, ("api", 1, 1), "POST /x", &[(name, "top-1")])
                .on(6, ("api", 2, 1), "POST /x", &[(name, "top-2")])
                .on(
                    7,
                    ("api", 3, 1),
                    "POST /y",
                    &[(name, "top-1"), ("Wirefault-Call", "2")],
                )
                .shows(9, 1, 200, "")
                .shows(9, 2, 200, "")
                .exit(10, 0);
            for is in ways.clone() {
                let level = if is.is_some() {
                    Level::Must
                } else {
                    Level::Info
                };
                let expected = Assertion::Header(HeaderExpected {
                    counter: Counter::server("api"),
                    name: name.to_owned(),
                    is,
                });
                let cell = story.judge(&case().expects(level, expected));
                let told = serde_json::to_string(&cell).unwrap();
                assert!(!told.contains("top-"), "{told}");
                assert!(told.contains("[redacted]"), "{told}");
            }
        }
    }

    #[test]
    fn a_field_of_the_call_at_another_origin_is_a_leak_and_its_value_is_not_told() {
        let expected = |counter: &str| {
            Assertion::Header(HeaderExpected {
                counter: Counter::server(counter),
                name: "Authorization".to_owned(),
                is: Some(Field::Absent),
            })
        };
        let secret = [("authorization", "Bearer s"), ("wirefault-call", "1")];
        let story = Story::new()
            .on(5, ("api", 1, 1), "POST /x", &secret)
            .on(6, ("other", 1, 1), "POST /x", &secret)
            .shows(7, 1, 200, "");
        let leaked = story.check(&case(), &expected("other"));
        assert_eq!(leaked.names(), [FindingName::SecretLeaked]);
        assert!(leaked.raised[0].in_any_case);
        assert!(!leaked.raised[0].observed.contains("Bearer"));
        let own = story.check(&case(), &expected("api"));
        assert_eq!(own.names(), [FindingName::WrongRequest]);
    }
}
