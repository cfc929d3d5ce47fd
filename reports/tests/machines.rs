//! The formats for machines: JSON and JUnit, and the list of formats.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod samples;

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;
use reports::formats::{self, View};
use reports::record::RunRecord;

const VIEW: View = View {
    width: 80,
    color: false,
    all: false,
};

fn render(word: &str, record: &RunRecord) -> String {
    let format = formats::find(word).unwrap();
    String::from_utf8((format.render)(record, &VIEW)).unwrap()
}

/// Names of the test cases with the element inside each, or what is not well
/// formed.
fn cases(xml: &str) -> Result<Vec<(String, String)>, String> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    let mut cases: Vec<(String, String)> = Vec::new();
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Eof => return Ok(cases),
            Event::Start(tag) | Event::Empty(tag) => {
                let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
                for attribute in tag.attributes() {
                    let attribute = attribute.map_err(|error| error.to_string())?;
                    let value = attribute.unescape_value().map_err(|e| e.to_string())?;
                    check_characters(&value)?;
                    if name == "testcase" && attribute.key.as_ref() == b"name" {
                        cases.push((value.into_owned(), "pass".to_owned()));
                    }
                }
                if let ("failure" | "error" | "skipped", Some(case)) =
                    (name.as_str(), cases.last_mut())
                {
                    case.1 = name;
                }
            }
            Event::Text(text) => check_characters(&text.decode().map_err(|e| e.to_string())?)?,
            _ => {}
        }
    }
}

/// The characters that XML 1.0 allows (section 2.2).
fn check_characters(text: &str) -> Result<(), String> {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    match text.chars().find(|c| !allowed(*c)) {
        Some(bad) => Err(format!("U+{:04X} in {text:?}", u32::from(bad))),
        None => Ok(()),
    }
}

#[test]
fn the_json_report_is_the_record_and_reads_back_as_it() {
    let record = samples::eventful();
    let json = render("json", &record);
    let back: RunRecord = serde_json::from_str(&json).unwrap();
    assert_eq!(back, record);
}

#[test]
fn a_cell_in_json_has_the_fields_that_were_agreed() {
    let mut record = samples::eventful();
    record.cells.drain(..2);
    record.cells.truncate(1);
    record.stale.clear();
    record.missing.clear();
    insta::assert_snapshot!(render("json", &record));
}

#[test]
fn junit_of_one_of_everything() {
    insta::assert_snapshot!(render("junit", &samples::eventful()));
}

#[test]
fn junit_says_what_each_cell_is() {
    let cases = cases(&render("junit", &samples::eventful())).unwrap();
    let kind = |name: &str| {
        let found = cases.iter().find(|(case, _)| case == name);
        found.unwrap_or_else(|| panic!("no case {name}")).1.clone()
    };
    let redirect = "redirect/307-to-a-closed-port";
    assert_eq!(kind(&format!("{redirect} [reference]")), "pass");
    assert_eq!(
        kind(&format!("{redirect} [node-fetch-retry-follow]")),
        "failure"
    );
    assert_eq!(kind(&format!("{redirect} [python-urllib]")), "skipped");
    assert_eq!(kind(&format!("{redirect} [go-http]")), "skipped");
    let sweep = |after| format!("cuts/reset-mid-body[after={after},with=reset]");
    assert_eq!(kind(&format!("{} [curl]", sweep("half"))), "failure");
    assert_eq!(
        kind(&format!("{} [node-fetch-retry-follow]", sweep("last"))),
        "failure"
    );
    assert_eq!(
        kind(&format!("{} [node-fetch-retry-follow]", sweep("0"))),
        "skipped"
    );
    assert_eq!(kind("refused/always [reference]"), "error");
    assert_eq!(kind("refused/always [curl]"), "skipped");
    assert_eq!(kind("refused/always [node-fetch-retry-follow]"), "error");
    assert_eq!(kind("refused/always [python-urllib] repeat 2"), "failure");
    assert_eq!(
        kind("redirect/renamed-since [curl-retry] (baseline entry)"),
        "failure"
    );
    assert_eq!(kind("redirect/loop [curl] repeat 2"), "error");
}

#[test]
fn junit_never_gives_one_name_to_two_cases() {
    let mut names: Vec<String> = cases(&render("junit", &samples::eventful()))
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn hostile_text_leaves_junit_well_formed() {
    let xml = render("junit", &samples::hostile());
    assert_eq!(cases(&xml).unwrap().len(), 1, "{xml}");
    assert!(!xml.contains("<script>"), "{xml}");
}

proptest! {
    #[test]
    fn junit_is_well_formed_for_any_text(text in any::<String>(), other in "\\PC*|[\\x00-\\x1f<>&\\]\"']{0,40}") {
        let mut record = samples::hostile();
        let cell = &mut record.cells[0];
        cell.client.clone_from(&text);
        cell.columns[0].1.clone_from(&other);
        cell.stderr = Some(text.clone());
        cell.judged.reason = Some(other.clone());
        cell.judged.findings[0].observed = format!("{text}]]>{other}");
        cell.judged.findings[0].expected = other;
        cell.judged.findings[0].assertion = text;
        let xml = render("junit", &record);
        let cases = cases(&xml).map_err(|error| TestCaseError::fail(format!("{error}: {xml}")))?;
        prop_assert_eq!(cases.len(), 1);
    }
}

#[test]
fn every_format_has_its_own_word_and_its_file() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/formats");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| name != "mod")
        .collect();
    files.sort();
    let mut words: Vec<String> = formats::ALL.iter().map(|f| f.word.to_owned()).collect();
    words.sort();
    assert_eq!(words, files);
}
