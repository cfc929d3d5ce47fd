//! Which version of a crate this build is locked to.

/// The lock file as it was when this was compiled.
const LOCK: &str = include_str!("../../../Cargo.lock");

/// The locked version of a crate.
pub(crate) fn version(name: &str) -> &'static str {
    let package = format!("name = \"{name}\"");
    LOCK.lines()
        .skip_while(|line| *line != package)
        .nth(1)
        .and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        .unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_has_a_version_and_a_stranger_has_none() {
        assert!(version("hyper-util").starts_with("0.1."));
        assert_eq!(version("no-such-crate"), "unknown");
    }
}
