//! `listen`: whether a server's port can be reached, and when.

use std::time::Duration;

use scripted_servers::script::{Listen, Phase, PortState};

use crate::document::decode::Keys;
use crate::document::{Node, Span, Value, ids};

use crate::reading::Reading;

static KEYS: Keys = Keys::new(
    "`listen`",
    &[(
        "phases",
        "states of the port, by the time since the client was handed its work",
    )],
);

static PHASE: Keys = Keys::new(
    "a phase",
    &[
        (
            "refuse",
            "the port refuses; `{for: 2s}`, or `always` in the last phase",
        ),
        (
            "drop",
            "the port drops every SYN; `{for: 2s}`, or `always` in the last phase",
        ),
        ("open", "the port accepts connections; `always`"),
    ],
);

static LASTS: Keys =
    Keys::new("the time of a phase", &[("for", "how long it lasts")]).not_yet(&["connects"]);

const WORDS: [(&str, Listen); 3] = [
    ("open", Listen::Open),
    ("refuse", Listen::Refuse),
    ("drop", Listen::Drop),
];

/// Reads `listen`.
pub(super) fn listen(node: &Node, reading: &mut Reading<'_>) -> Option<Listen> {
    if !matches!(node.value, Value::Map(_)) {
        let words = [0, 1, 2].map(|place| (WORDS[place].0, place));
        let place = node.word("a state of a port", &words, reading.out)?;
        return Some(WORDS[place].1.clone());
    }
    let fields = node.fields(&KEYS, reading.out)?;
    let node = fields.need("phases", reading.out)?;
    let items = node.filled_list("`phases`", reading.out)?;
    let phases: Vec<_> = items.iter().map(|item| phase(item, reading)).collect();
    let phases = phases.into_iter().collect::<Option<Vec<_>>>()?;
    check(&phases, items, &node.span, reading)?;
    Some(Listen::Phases(phases))
}

fn phase(node: &Node, reading: &mut Reading<'_>) -> Option<Phase> {
    let fields = node.fields(&PHASE, reading.out)?;
    let (word, _, lasts) = fields.one_of(&["refuse", "drop", "open"], reading.out)?;
    let state = match word {
        "refuse" => PortState::Refuse,
        "drop" => PortState::Drop,
        _ => PortState::Open,
    };
    if lasts.is_word("always") {
        return Some(Phase { state, lasts: None });
    }
    if !matches!(lasts.value, Value::Map(_)) {
        return lasts.wrong(
            "the time of a phase",
            "`{for: 2s}` or `always`",
            reading.out,
        );
    }
    let fields = lasts.fields(&LASTS, reading.out)?;
    if fields
        .entries()
        .iter()
        .any(|(key, _)| key.text == "connects")
    {
        return None;
    }
    let node = fields.need("for", reading.out)?;
    let time = node.duration("`for`", reading.out)?;
    if time.is_zero() {
        reading
            .out
            .report(ids::BAD_DURATION, &node.span, "a phase takes time")
            .label("no time at all")
            .help("write how long it lasts, or leave the phase out");
        return None;
    }
    Some(Phase {
        state,
        lasts: Some(time),
    })
}

/// Whether a port can go through these states.
fn check(phases: &[Phase], items: &[Node], whole: &Span, reading: &mut Reading<'_>) -> Option<()> {
    let mut bad = |span: &Span, title: &str, label: String, help: &str| {
        let out = &mut *reading.out;
        out.report(ids::BAD_PHASES, span, title)
            .label(label)
            .help(help);
        None
    };
    let word = |phase: &Phase| match phase.state {
        PortState::Refuse => "refuse",
        PortState::Drop => "drop",
        PortState::Open => "open",
    };
    let mut before: Option<&Phase> = None;
    for (phase, item) in phases.iter().zip(items) {
        if let Some(before) = before {
            if before.lasts.is_none() {
                let label = format!("`{}: always` stands before it", word(before));
                let help = "give the phase before a time, such as `{for: 2s}`, or remove this one";
                return bad(&item.span, "this phase never comes", label, help);
            }
            if !may_follow(before.state, phase.state) {
                let label = format!("`{}` cannot follow `{}`", word(phase), word(before));
                let help = "a port can refuse, then drop, then open, each once; \
                            one that was open stays open";
                return bad(&item.span, "a port cannot change so", label, help);
            }
        }
        before = Some(phase);
    }
    let last = before?;
    if last.lasts.is_some() {
        let help = format!(
            "write `{}: always`, or add a phase such as `open: always`",
            word(last)
        );
        let label = "nothing is said about the time behind it".to_owned();
        return bad(whole, "the last phase must last", label, &help);
    }
    if phases.len() == 1 {
        let help = format!("write `listen: {}`", word(last));
        let label = "a single one changes nothing".to_owned();
        return bad(whole, "phases are at least two", label, &help);
    }
    Some(())
}

fn may_follow(before: PortState, after: PortState) -> bool {
    let phase = |state, lasts| Phase { state, lasts };
    let some_time = Some(Duration::from_secs(1));
    Listen::Phases(vec![phase(before, some_time), phase(after, None)]).is_possible()
}
