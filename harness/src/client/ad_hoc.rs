//! A client that is nothing but a command line: `run --command '[NAME=]ARGS'`.

use std::path::Path;

use scenarios::apis::Api;
use scenarios::manifest::{Ability, CommandLine, Manifest, OperationName, Start, operations_of};

use crate::client::known::Known;
use crate::failure::Failure;

/// The client of a command line. Where a known client is a command of the same
/// program, its table of exit codes and errors is taken over, since they are
/// facts of the program. `cwd` is the current folder.
///
/// # Errors
/// When the text has no words, an open quotation, or no place for the URL.
pub fn client(text: &str, known: &[Known], cwd: &Path) -> Result<Manifest, Failure> {
    let (name, text) = named(text);
    let args = shlex::split(text).ok_or_else(|| {
        Failure::usage(format!("--command: a quotation in `{text}` is not closed"))
    })?;
    let Some(program) = args.first().cloned() else {
        return Err(Failure::usage("--command: there is no program in it"));
    };
    if !args.iter().any(|arg| arg.contains("{url}")) {
        return Err(Failure::usage(format!(
            "--command: `{{url}}` must stand where the address goes, as in `{program} {{url}}`"
        )));
    }
    let same = known
        .iter()
        .find_map(|client| match &client.manifest.start {
            Start::Command(line) if line.args.first() == Some(&program) => {
                Some((line.exits.clone(), client.manifest.errors.clone()))
            }
            _ => None,
        });
    let (exits, errors) = same.unwrap_or_default();
    let operations = operations_of(Api::PlainJson, operations(&args));
    let word = Path::new(&program).file_name().unwrap_or_default();
    Ok(Manifest {
        name: match name {
            Some(name) => format!("command:{name}"),
            None => format!("command:{}", word.to_string_lossy()),
        },
        title: text.to_owned(),
        // Its folder is the current one, for programs named by a path.
        file: cwd.join("--command").display().to_string(),
        start: Start::Command(CommandLine {
            args,
            exits,
            ..CommandLine::default()
        }),
        programs: vec![program],
        abilities: [
            Ability::Literal,
            Ability::FollowsRedirects,
            Ability::Retries,
            Ability::ReusesConnections,
        ]
        .into(),
        operations,
        errors,
        ..Manifest::none()
    })
}

/// The name in front of a command line, if there is one. What could be a name
/// and is followed by `=` is no program that anybody has.
fn named(text: &str) -> (Option<&str>, &str) {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.+".contains(c);
    let is_name = |name: &str| !name.is_empty() && name.len() <= 60 && name.chars().all(letters);
    match text.split_once('=') {
        Some((name, rest)) if is_name(name) => (Some(name), rest),
        _ => (None, text),
    }
}

/// What a command line can do follows from what it leaves open: a method, a
/// place for content.
fn operations(args: &[String]) -> Vec<OperationName> {
    use OperationName::{Create, Fetch, Remove, Replace, Upload};
    let open = |placeholder| args.iter().any(|arg| arg.contains(placeholder));
    match (open("{method}"), open("{body_file}")) {
        (true, true) => vec![Create, Fetch, Replace, Remove, Upload],
        (true, false) => vec![Fetch, Remove],
        (false, _) => vec![Fetch],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does_but_no_shell_runs() {
        let manifest = client("curl -H 'a: b; rm -rf /' {url}", &[], Path::new("/")).unwrap();
        let Start::Command(line) = &manifest.start else {
            panic!("{manifest:?}")
        };
        assert_eq!(line.args, ["curl", "-H", "a: b; rm -rf /", "{url}"]);
        assert_eq!(manifest.name, "command:curl");
    }

    #[test]
    fn a_command_can_do_what_it_leaves_open() {
        let can = |text| {
            let manifest = client(text, &[], Path::new("/")).unwrap();
            manifest.operations.keys().copied().collect::<Vec<_>>()
        };
        assert_eq!(can("curl {url}"), [OperationName::Fetch]);
        assert_eq!(
            can("curl -X {method} {url}"),
            [OperationName::Fetch, OperationName::Remove]
        );
        assert_eq!(can("curl -X {method} -d @{body_file} {url}").len(), 5);
    }

    #[test]
    fn a_command_can_have_a_name_in_front() {
        let name = |text| client(text, &[], Path::new("/")).unwrap().name;
        assert_eq!(name("patient=curl --retry 3 {url}"), "command:patient");
        assert_eq!(name("curl -H a=b {url}"), "command:curl");
        assert_eq!(name("/usr/bin/curl --x=y {url}"), "command:curl");
    }

    #[test]
    fn a_command_that_cannot_work_is_refused_with_what_to_write() {
        for (text, said) in [
            ("curl 'x", "quotation"),
            ("", "no program"),
            ("curl -sS", "{url}"),
        ] {
            let failure = client(text, &[], Path::new("/")).unwrap_err();
            assert!(failure.message.contains(said), "{}", failure.message);
        }
    }
}
