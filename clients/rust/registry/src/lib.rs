//! What the programs here share: telling which version was locked.

use std::process::ExitCode;

/// The lock file as it was when this was compiled.
const LOCK: &str = include_str!("../Cargo.lock");

/// Prints these crates with their locked versions on one line.
pub fn print_versions(crates: &[&str]) -> ExitCode {
    let all: Vec<String> = crates.iter().map(|name| version(name)).collect();
    println!("{}", all.join(", "));
    ExitCode::SUCCESS
}

fn version(name: &str) -> String {
    let package = format!("name = \"{name}\"");
    let version = LOCK
        .lines()
        .skip_while(|line| *line != package)
        .nth(1)
        .and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    format!("{name} {}", version.unwrap_or("unknown"))
}
