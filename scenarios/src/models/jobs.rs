//! `jobs`: work is submitted, and asked after until it is done.

use std::time::Duration;

use scripted_servers::models::jobs::{Lasts, Stage};
use scripted_servers::models::{Rules, jobs};
use serde::{Deserialize, Serialize};

use super::{Declared, Entry, Listed, Model, Remembers};
use crate::document::decode::Keys;
use crate::document::kind::{Kind, Rule};
use crate::document::{Node, ids};
use crate::reading::{Reading, all_good, content, effects, routes};

/// `jobs: {effect: task, submit: .., query: .., code_header: .., stages: [..]}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Jobs(pub jobs::Rules);

pub(super) static ENTRY: Entry = Entry {
    listed: Listed {
        word: "jobs",
        summary: "work that is submitted and asked after, stage by stage",
        example: "tasks: { jobs: { effect: task, submit: \"POST /jobs\", query: \"GET /jobs/*\", \
                  code_header: X-Code, stages: [ { code: \"1\", queries: 2 }, { code: \"0\" } ] } }",
    },
    kind: || Kind::Map(&KEYS),
    decode: |node, reading| decode(node, reading).map(Model::Jobs),
};

static KEYS: Keys = Keys::new(
    "`jobs`",
    &[
        ("effect", "the effect of submitting", effects::kind),
        (
            "submit",
            "the route of requests that submit; they get `{\"job\": ID}`",
            routes::kind,
        ),
        (
            "query",
            "the route of requests that ask; `*` stands for the id",
            routes::with_id_kind,
        ),
        (
            "code_header",
            "the header field that tells the code of a stage",
            content::field_name,
        ),
        (
            "stages",
            "the stages of each job, in order; the last one stays",
            || Kind::List {
                of: Box::new(Kind::Map(&STAGE)),
                count: 1..=MOST_STAGES,
            },
        ),
    ],
)
.rules(&[Rule::Needs(&[
    "effect",
    "submit",
    "query",
    "code_header",
    "stages",
])]);

static STAGE: Keys = Keys::new(
    "a stage",
    &[
        ("code", "its code", || Kind::fits(r"[ -~]+")),
        ("queries", "it is over after so many queries", || {
            Kind::Number(1..=MOST_QUERIES)
        }),
        ("for", "it is over after this time", Kind::time),
        ("json", "the content of an answer in it", || Kind::Any),
    ],
)
.rules(&[
    Rule::Needs(&["code"]),
    Rule::AtMostOneOf(&["queries", "for"]),
]);

const MOST_STAGES: usize = 100;
const MOST_QUERIES: u64 = 1_000_000;

fn decode(node: &Node, reading: &mut Reading<'_>) -> Option<Jobs> {
    let fields = node.fields(&KEYS, reading.out)?;
    let effect = fields.need("effect", reading.out);
    let submit = fields.need("submit", reading.out);
    let query = fields.need("query", reading.out);
    let code_header = fields.need("code_header", reading.out);
    let stages = fields.need("stages", reading.out);
    let effect = effect.and_then(|node| reading.effect(node, "`effect`"));
    let submit = submit.and_then(|node| reading.route_of(node, "`submit`"));
    let query = query.and_then(|node| reading.route_with_id(node, "`query`"));
    let code_header = code_header.and_then(|node| reading.field_of(node, "`code_header`"));
    let stages = stages.and_then(|node| all_stages(node, reading));
    Some(Jobs(jobs::Rules {
        effect: effect?,
        submit: submit?,
        query: query?,
        code_header: code_header?,
        stages: stages?,
    }))
}

fn all_stages(node: &Node, reading: &mut Reading<'_>) -> Option<Vec<Stage>> {
    let items = node.filled_list("`stages`", reading.out)?;
    if let Some(item) = items.get(MOST_STAGES) {
        reading
            .out
            .report(ids::TOO_MUCH_SCRIPT, &item.span, "too many stages")
            .label(format!("more than {MOST_STAGES} with this one"))
            .help("a stage with `queries` or `for` lasts as long as it shall");
        return None;
    }
    let last = items.len().saturating_sub(1);
    let stages: Vec<_> = items
        .iter()
        .enumerate()
        .map(|(at, item)| stage(item, at == last, reading))
        .collect();
    stages.into_iter().collect()
}

fn stage(node: &Node, is_last: bool, reading: &mut Reading<'_>) -> Option<Stage> {
    let fields = node.fields(&STAGE, reading.out)?;
    let code = fields.need("code", reading.out);
    let code = code.and_then(|node| {
        let code = node.text("`code`", reading.out)?;
        let good = code.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if !good {
            reading
                .out
                .report(ids::BAD_FIELD, &node.span, "not the value of a header")
                .label("only plain characters can stand in it")
                .help("write digits and letters");
        }
        good.then(|| code.to_owned())
    });
    let json = fields.get("json").map(|node| reading.json_value(node));
    let form = fields.at_most_one_of(&["queries", "for"], reading.out)?;
    let lasts = match form {
        None => None,
        Some(("queries", _, node)) => {
            let count = node.number("`queries`", 1..=MOST_QUERIES, reading.out)?;
            Some(Lasts::Queries(u32::try_from(count).ok()?))
        }
        Some((_, _, node)) => Some(Lasts::For(node.duration("`for`", reading.out)?)),
    };
    match (form, lasts, is_last) {
        (Some((_, key, _)), _, true) => {
            reading
                .out
                .report(ids::CANNOT_FIRE, &key.span, "the last stage stays")
                .label("nothing comes behind it")
                .help("remove it, or add the stage that follows");
            None
        }
        (_, None, false) => {
            reading
                .out
                .report(ids::UNREACHABLE, &node.span, "this stage is never over")
                .label("only the last stage stays")
                .help("add `queries: N` or `for: TIME`");
            None
        }
        (_, lasts, _) => Some(Stage {
            code: code?,
            lasts,
            json: all_good(json)?,
        }),
    }
}

impl Remembers for Jobs {
    fn rules(&self) -> Rules {
        Rules::Jobs(self.0.clone())
    }

    fn effect(&self) -> Option<Declared<'_>> {
        Some(Declared {
            name: &self.0.effect,
            keyed: false,
            takes: Duration::ZERO,
        })
    }

    fn may_refuse(&self) -> bool {
        self.0.stages.len() > 1
    }

    fn unwalkable(&self) -> Option<&'static str> {
        Some("a step goes through `jobs`, and no policy says how often to ask")
    }
}
