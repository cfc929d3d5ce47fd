//! The list of behaviours against the folder, and its examples.

use scenarios::faults::{self};

#[test]
fn the_list_of_behaviours_is_the_folder() {
    let mut files: Vec<_> = std::fs::read_dir("src/faults")
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "mod")
        .collect();
    files.sort();
    let mut words: Vec<_> = faults::behaviours().map(|listed| listed.word).collect();
    words.sort_unstable();
    assert_eq!(files, words);
}

#[test]
fn every_example_in_the_list_is_a_scenario() {
    for listed in faults::all() {
        let example = listed.example;
        let server = match listed.place {
            "step" if example.contains("applies") => format!("script: [ {{ {example} }} ]"),
            "step" | "respond" | "cut" | "raw" => {
                format!("script: [ {{ applies: x, {example} }} ]")
            }
            "then" => {
                format!("script: [ {{ applies: x, respond: {{ status: 200 }}, {example} }} ]")
            }
            "connections" if example.contains("serve") => {
                format!("{example}, script: [ {{ applies: x, respond: {{ status: 200 }} }} ]")
            }
            _ => example.to_owned(),
        };
        let source = scenarios::document::Source {
            path: listed.word.to_owned(),
            text: format!(
                "title: t\nwhy: w\nservers: {{ api: {{ {server} }}, \
                 other: {{ script: [ {{ applies: x, respond: {{ status: 200 }} }} ] }} }}\n\
                 calls: [ {{ method: PUT, url: \"{{api}}/1\", body: {{ bytes: 1MiB }} }}, {{ url: \"{{other}}/2\" }} ]\n\
                 expect: {{ must: [ {{ honest: true }} ] }}\n"
            ),
        };
        let known = scenarios::validate::Known::default();
        if let Err(found) = scenarios::validate::scenario(&source, "a/b", 1, &known) {
            panic!("{}", scenarios::document::render(&found, &source, false));
        }
    }
}
