//! Names of cells and of runs that are safe as names of folders.

use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

/// Longest slug in front of the hash.
const SLUG: usize = 80;

/// The id of a cell: a slug of the parts, for people, and a short hash over
/// them, since slugs can be equal where parts are not.
pub fn cell(parts: &[&str]) -> String {
    let joined = parts.join("-").to_lowercase();
    let mut slug = String::new();
    for symbol in joined.chars() {
        let symbol = if symbol.is_ascii_alphanumeric() {
            symbol
        } else {
            '-'
        };
        if symbol != '-' || !slug.ends_with('-') {
            slug.push(symbol);
        }
    }
    slug.truncate(SLUG);
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hex = hex(&hash.finalize());
    format!("{}-{}", slug.trim_matches('-'), &hex[..8])
}

/// The name of a run's folder: when it began, in UTC, and four digits that keep
/// two of the same second apart.
pub fn run(now: SystemTime, entropy: u32) -> String {
    let seconds = now
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!(
        "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z-{:04x}",
        entropy >> 16
    )
}

/// The day of a time, in UTC: `2026-01-31`.
pub fn date(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date of a day since 1970 (the civil calendar in eras of 400 years).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn a_run_is_named_by_its_time() {
        for (seconds, name) in [
            (0, "19700101T000000Z-0000"),
            (951_782_400, "20000229T000000Z-0000"),
            (1_796_000_461, "20261130T010101Z-0000"),
        ] {
            assert_eq!(run(UNIX_EPOCH + Duration::from_secs(seconds), 1), name);
        }
        assert!(run(UNIX_EPOCH, 0xabcd_0000).ends_with("-abcd"));
    }

    #[test]
    fn a_time_is_of_a_day() {
        let day = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(day(951_868_799), "2000-02-29");
        assert_eq!(day(951_868_800), "2000-03-01");
    }

    #[test]
    fn equal_slugs_get_different_ids() {
        assert_ne!(cell(&["a/b", "c"]), cell(&["a-b", "c"]));
        assert_ne!(cell(&["a", "b-c"]), cell(&["a-b", "c"]));
        assert!(cell(&["redirect/loop[hops=2]", "curl"]).starts_with("redirect-loop-hops-2-curl-"));
    }

    proptest! {
        #[test]
        fn an_id_is_a_safe_name(a in any::<String>(), b in any::<String>()) {
            let id = cell(&[&a, &b]);
            prop_assert!(id.len() <= SLUG + 9);
            prop_assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
        }
    }
}
