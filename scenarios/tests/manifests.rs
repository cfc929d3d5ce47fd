//! Every mistake that a manifest can have, with the message a person sees; and
//! a manifest without any.

use std::path::PathBuf;

use scenarios::document::{Source, Unreadable, render};
use scenarios::manifest::{
    Ability, ErrorKind, ErrorRule, Lack, Manifest, OperationName, Phase, Policy, Start, StatusFrom,
    decode,
};

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("tests/manifests").into_iter();
    let mut files: Vec<_> = entries
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no manifest with a mistake");
    files
}

fn read(text: &str) -> Result<Manifest, String> {
    let source = Source {
        path: "client.yaml".to_owned(),
        text: text.to_owned(),
    };
    decode(&source).map_err(|found| render(&found, &source, false))
}

const CURL: &str = r#"
name: curl
title: curl, as it comes
start:
  command:
    args: [curl, -sS, -o, "{output}", -w, "%{http_code}", -X, "{method}", "{url}"]
    header: [-H, "{name}: {value}"]
    body: [--data-binary, "@{body_file}"]
    limits: { connect: [--connect-timeout, "{seconds}"], total: [--max-time, "{seconds}"], attempts: [--retry, "{value_minus_one}"], redirects: [-L, --max-redirs, "{value}"] }
    status: stdout-last-word
    content: output
    exits: { 7: CURLE_COULDNT_CONNECT, 28: CURLE_OPERATION_TIMEDOUT }
programs: [curl]
version: [curl, --version]
abilities: [literal, follows-redirects, retries, connect, total, attempts, redirects]
operations: [create, fetch, replace, remove, upload]
policy:
  source: https://curl.se/docs/manpage.html
  redirects: 0
  rules:
    - { status: [408, 429, "500-504"], method: [GET], connection: reused, retry_after: true, attempts: 3, wait: { at_least: [1s, 2s], at_most: [1s, 2s], retry_after: true }, source: https://example.test }
    - { error: [refused, reset, closed, truncated, malformed, connect-timeout, idle-timeout, total-timeout, too-many-redirects], attempts: unlimited }
    - { status: ["100-599"], attempts: 1 }
errors:
  - { code: CURLE_COULDNT_CONNECT, phase: before }
  - { code: CURLE_OPERATION_TIMEDOUT, message: "Connection timed out", phase: before }
  - { type: Timeout, errno: 110, phase: after }
defects: []
"#;

#[test]
fn a_command_is_read_whole() {
    let manifest = read(CURL).expect("no mistake");
    assert_eq!(manifest.name, "curl");
    assert_eq!(manifest.file, "client.yaml");
    let Start::Command(command) = &manifest.start else {
        panic!("a command");
    };
    assert_eq!(command.args[5], "%{http_code}");
    assert_eq!(command.limits["attempts"], ["--retry", "{value_minus_one}"]);
    assert_eq!(command.status, StatusFrom::StdoutLastWord);
    assert_eq!(command.exits[&7], "CURLE_COULDNT_CONNECT");
    let upload = &manifest.operations[&OperationName::Upload];
    assert_eq!(
        (upload.method.as_str(), upload.path.as_str()),
        ("PUT", "/files/1")
    );
    let rules = &manifest.policy.rules;
    assert_eq!(manifest.policy.redirects, Some(0));
    assert_eq!((rules[0].status[2].from, rules[0].status[2].to), (500, 504));
    assert_eq!(
        (rules[0].reused, rules[0].retry_after),
        (Some(true), Some(true))
    );
    assert_eq!(rules[0].wait.at_least.len(), 2);
    assert_eq!(rules[1].attempts, u32::MAX);
    assert_eq!(rules[1].error.last(), Some(&ErrorKind::TooManyRedirects));
    let last = ErrorRule {
        kind: Some("Timeout".to_owned()),
        code: None,
        errno: Some(110),
        message: None,
        phase: Phase::After,
    };
    assert_eq!(manifest.errors[2], last);
    assert!(!manifest.abilities.contains(&Ability::Idle));
}

#[test]
fn an_adapter_needs_no_command() {
    let manifest = read(
        r#"
name: node-fetch
title: Node's fetch
start: { adapter: [node, "{here}/fetch.mjs"] }
version: [node, --version]
abilities: [literal, calls]
policy: { source: "https://example.test", rules: [] }
defects: [one]
"#,
    )
    .expect("no mistake");
    let adapter = vec!["node".to_owned(), "{here}/fetch.mjs".to_owned()];
    assert_eq!(manifest.start, Start::Adapter(adapter));
    assert!(manifest.programs.is_empty());
    assert!(manifest.defects.contains("one"));
}

#[test]
fn an_adapter_may_leave_out_what_it_documents_and_what_its_errors_mean() {
    let manifest = read(
        r#"
name: mine
title: A first try
start: { adapter: [mine] }
version: [mine, --version]
abilities: [literal]
"#,
    )
    .expect("no mistake");
    assert_eq!(manifest.policy, Policy::default());
    assert_eq!(manifest.policy.redirects, None);
    assert!(manifest.errors.is_empty());
}

#[test]
fn a_manifest_survives_writing_and_reading() {
    let manifest = read(CURL).expect("no mistake");
    let text = serde_json::to_string(&manifest).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Manifest>(&text).expect("read"),
        manifest
    );
}

#[test]
fn what_a_client_lacks_is_named() {
    assert_eq!(
        Lack::Ability(Ability::FollowsRedirects).to_string(),
        "follows-redirects"
    );
    let operation = Lack::Operation(OperationName::Upload);
    assert_eq!(operation.to_string(), "operation upload");
    assert_eq!(
        Lack::OtherAnswers.to_string(),
        "answers but those of its API"
    );
}

#[test]
fn every_mistake_is_explained() {
    for file in files() {
        let (source, found) = match Source::read(&file) {
            Ok(source) => match decode(&source) {
                Ok(_) => panic!("{} has no mistake", file.display()),
                Err(found) => (source, found),
            },
            Err(Unreadable::Rejected(source, found)) => (source, found),
            Err(Unreadable::Io(error)) => panic!("{}: {error}", file.display()),
        };
        let name = file.file_stem().expect("a name").to_string_lossy();
        insta::assert_snapshot!(name.into_owned(), render(&found, &source, false));
    }
}
