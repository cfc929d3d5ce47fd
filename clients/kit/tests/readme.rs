//! The examples of the README are run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use client_kit::conformance::check;
use client_kit::protocol::{Control, Message, Work};

const README: &str = include_str!("../../README.md");

/// The code blocks in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    README
        .split(fence.as_str())
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
fn beside_kit(kit: &str, program: &str, content: &str) -> PathBuf {
    let kit = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(kit);
    let folder = std::env::temp_dir().join(format!("kit-readme-{}-{program}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(&kit, folder.join(kit.file_name().unwrap())).unwrap();
    std::fs::write(folder.join(program), content).unwrap();
    folder
}

#[expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]
fn conforms(runtime: &str, kit: &str, program: &str, content: &str) {
    let version = Command::new(runtime)
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if version.is_err() {
        let text = format!("SKIPPED: {runtime} is not in PATH, its example is not tested\n");
        std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
        return;
    }
    let folder = beside_kit(kit, program, content);
    let file = folder.join(program).to_str().unwrap().to_owned();
    let problems = check(&[runtime.to_owned(), file]).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn the_node_example_is_a_client() {
    let [example] = blocks("js")[..] else {
        panic!("one example in js is expected");
    };
    conforms("node", "node/kit.mjs", "my-client.mjs", example);
}

#[test]
fn the_python_example_is_a_client() {
    let [example] = blocks("python")[..] else {
        panic!("one example in python is expected");
    };
    conforms("python3", "python/kit.py", "my_client.py", example);
}

#[test]
fn the_lines_of_the_protocol_are_of_the_protocol() {
    let [work, messages, controls] = blocks("json")[..] else {
        panic!("three examples in json are expected");
    };
    let work: Work = serde_json::from_str(work).unwrap();
    assert_eq!(work.calls.len(), 1);
    let messages: Vec<Message> = messages
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(messages.len(), 6);
    let controls: Vec<Control> = controls
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(controls, [Control::Cancel { call: 1 }, Control::Finish {}]);
}
