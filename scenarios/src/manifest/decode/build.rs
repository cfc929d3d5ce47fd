//! How a client is installed and compiled before it is started.

use super::command;
use crate::document::decode::{Keys, brief};
use crate::document::kind::{Kind, Known, Rule};
use crate::document::{Diagnostics, Node, ids};
use crate::manifest::Build;

static INSTALL: Keys = Keys::new("`install`", STEPS).rules(NEEDED);
static BUILD: Keys = Keys::new("`build`", STEPS).rules(NEEDED);

const STEPS: &[Known] = &[
    ("sources", "files beside the manifest", || {
        Kind::list(Kind::fits(SOURCE))
    }),
    (
        "run",
        "program and arguments, run in a folder with the sources",
        command::line_kind,
    ),
];
const NEEDED: &[Rule] = &[Rule::Needs(&["sources", "run"])];

/// A file beside the manifest or in a folder there.
const SOURCE: &str = "(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*/)*[A-Za-z0-9_][A-Za-z0-9_.+-]*";

/// `start.install`.
pub(super) fn install_kind() -> Kind {
    Kind::Map(&INSTALL)
}

/// `start.build`.
pub(super) fn build_kind() -> Kind {
    Kind::Map(&BUILD)
}

/// `start.install`.
pub(super) fn install(node: &Node, out: &mut Diagnostics) -> Option<Build> {
    steps(node, &INSTALL, &[], out)
}

/// `start.build`, which may use what was installed.
pub(super) fn build(node: &Node, known: &[&'static str], out: &mut Diagnostics) -> Option<Build> {
    steps(node, &BUILD, known, out)
}

fn steps(
    node: &Node,
    keys: &'static Keys,
    known: &[&'static str],
    out: &mut Diagnostics,
) -> Option<Build> {
    let fields = node.fields(keys, out)?;
    let sources = fields.need("sources", out).and_then(|node| {
        let items = node.filled_list("`sources`", out)?;
        let sources: Vec<_> = items.iter().map(|item| source(item, out)).collect();
        sources.into_iter().collect()
    });
    let run = fields
        .need("run", out)
        .and_then(|node| command::line(node, "`run`", known, out));
    Some(Build {
        sources: sources?,
        run: run?,
    })
}

/// What lies elsewhere would not be found by others, and may change unseen.
fn source(node: &Node, out: &mut Diagnostics) -> Option<String> {
    let text = node.text("a source", out)?;
    let letters = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    let part = |part: &str| {
        part.chars().all(letters)
            && part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    };
    if text.split('/').all(part) {
        return Some(text.to_owned());
    }
    out.report(
        ids::BAD_NAME,
        &node.span,
        format!("`{}` is no file beside the manifest", brief(text)),
    )
    .label("letters, digits, `_`, `.`, `+` and `-`, and `/` between folders")
    .help("write its name from the manifest's folder on, as in `kit.go`");
    None
}
