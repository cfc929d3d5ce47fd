use std::path::PathBuf;

use super::*;

fn seen(text: &str) -> Seen {
    let mut seen = Seen::default();
    seen.take(text.as_bytes());
    seen
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn args_of(line: &CommandLine, headers: &[(String, String)], limits: &Limits) -> Vec<String> {
    let call = CommandCall {
        method: "POST",
        url: "http://127.0.0.1:1/a b?{output}",
        headers,
        body_file: &PathBuf::from("/cell/body"),
        has_body: true,
        output: &PathBuf::from("/cell/output"),
    };
    arguments(line, &call, limits)
}

#[test]
fn a_command_line_is_split_like_a_shell_does_but_never_run_by_one() {
    let client = client("curl -H 'a: $(id)' \"{url}\"; rm x").unwrap();
    let Start::Command(line) = client.manifest.start else {
        panic!("not a command");
    };
    assert_eq!(
        line.args,
        words(&["curl", "-H", "a: $(id)", "{url};", "rm", "x"])
    );
    assert_eq!(client.manifest.name, "command");
    assert_eq!(client.manifest.programs, ["curl"]);
}

#[test]
fn a_command_line_that_cannot_work_is_explained() {
    assert_eq!(client("  "), Err(CommandError::Empty));
    let open = client("curl '{url}").unwrap_err();
    assert!(open.to_string().contains("a quote is not closed"), "{open}");
    let nowhere = client("curl http://a").unwrap_err();
    assert!(
        nowhere.to_string().contains("write {url} where"),
        "{nowhere}"
    );
}

#[test]
fn a_value_stays_one_argument_and_its_braces_are_not_filled_again() {
    let line = CommandLine {
        args: words(&["get", "{method}", "<{url}>", "{unknown}{", "{output}"]),
        ..CommandLine::default()
    };
    assert_eq!(
        args_of(&line, &[], &Limits::default()),
        words(&[
            "get",
            "POST",
            "<http://127.0.0.1:1/a b?{output}>",
            "{unknown}{",
            "/cell/output"
        ])
    );
}

#[test]
fn headers_body_and_the_limits_that_are_set_are_added() {
    let limit = |args: &[&str]| words(args);
    let line = CommandLine {
        args: words(&["curl"]),
        header: words(&["-H", "{name}: {value}"]),
        body: words(&["--data-binary", "@{body_file}"]),
        limits: BTreeMap::from([
            (
                "attempts".to_owned(),
                limit(&["--retry", "{value_minus_one}"]),
            ),
            ("total".to_owned(), limit(&["-m", "{seconds}", "{value}"])),
            (
                "connect".to_owned(),
                limit(&["--connect-timeout", "{seconds}"]),
            ),
        ]),
        ..CommandLine::default()
    };
    let limits = Limits {
        attempts: Some(3),
        total: Some(Duration::from_millis(1500)),
        ..Limits::default()
    };
    let headers = [("A".to_owned(), "{name}".to_owned())];
    assert_eq!(
        args_of(&line, &headers, &limits),
        words(&[
            "curl",
            "-H",
            "A: {name}",
            "--data-binary",
            "@/cell/body",
            "--retry",
            "2",
            "-m",
            "1.5",
            "1500"
        ])
    );
}

#[test]
fn exit_code_zero_shows_status_and_content() {
    let folder = tempfile::TempDir::new().unwrap();
    let output = folder.path().join("output");
    std::fs::write(&output, "abc").unwrap();
    let line = CommandLine {
        status: StatusFrom::StdoutLastWord,
        content: ContentFrom::Output,
        ..CommandLine::default()
    };
    let event = shown(&line, 1, Some(0), &seen("x\n503\n"), &seen(""), &output);
    let response = ShownResponse {
        status: Some(503),
        body_bytes: Some(3),
        body_sha256: Some(
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
        ),
        body_start: Some("abc".to_owned()),
    };
    let report = Report {
        call: 1,
        shown: Shown::Response(response),
        claim: None,
        events: None,
    };
    assert_eq!(event, Some(ClientEvent::Report(report)));
}

#[test]
fn an_answer_without_content_need_not_leave_a_file_and_a_link_is_not_followed() {
    let folder = tempfile::TempDir::new().unwrap();
    assert_eq!(read_output(&folder.path().join("none")).bytes(), 0);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
    assert_eq!(read_output(&link).bytes(), 0);
}

#[test]
fn a_status_of_zeroes_is_none() {
    let line = CommandLine {
        status: StatusFrom::StdoutLastWord,
        ..CommandLine::default()
    };
    assert_eq!(response(&line, &seen("000"), Path::new("")).status, None);
    assert_eq!(response(&line, &seen("done"), Path::new("")).status, None);
    assert_eq!(response(&line, &seen(""), Path::new("")).status, None);
}

#[test]
fn another_exit_code_is_an_error_with_its_name_and_the_last_line_of_stderr() {
    let line = CommandLine {
        exits: BTreeMap::from([(7, "CURLE_COULDNT_CONNECT".to_owned())]),
        ..CommandLine::default()
    };
    let stderr = seen("curl: first\ncurl: (7) \u{1b}[1mrefused\n\n");
    let link = |code: i32| {
        let event = shown(&line, 1, Some(code), &seen(""), &stderr, Path::new(""));
        match event {
            Some(ClientEvent::Report(Report {
                shown: Shown::Error(chain),
                ..
            })) => chain[0].clone(),
            other => panic!("{other:?}"),
        }
    };
    let known = link(7);
    assert_eq!(known.kind.as_deref(), Some("exit"));
    assert_eq!(known.code.as_deref(), Some("CURLE_COULDNT_CONNECT"));
    assert_eq!(known.errno, Some(7));
    assert_eq!(
        known.message.as_deref(),
        Some("curl: (7) \\u{1b}[1mrefused")
    );
    assert_eq!(link(9).code, None);
}

#[test]
fn exit_code_127_is_unsupported_and_a_signal_shows_nothing() {
    let line = CommandLine::default();
    let shown = |code| {
        shown(
            &line,
            1,
            code,
            &seen(""),
            &seen("no http3\n"),
            Path::new(""),
        )
    };
    let reason = "no http3".to_owned();
    assert_eq!(shown(Some(127)), Some(ClientEvent::Unsupported { reason }));
    assert_eq!(shown(None), None);
}

#[test]
fn the_end_of_a_long_stream_is_kept() {
    let mut long = seen(&"x".repeat(100_000));
    long.take(b"\n200");
    assert_eq!(long.last_word().as_deref(), Some("200"));
    assert_eq!(long.bytes(), 100_004);
    assert_eq!(long.start().len(), START_KEPT);
}

const START_KEPT: usize = 256;
