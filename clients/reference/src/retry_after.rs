//! Reads Retry-After (RFC 9110 section 10.2.3).

use std::time::{Duration, SystemTime};

use crate::defects::{Defect, Defects};

/// What a client waits that takes zero for "nothing was said".
const A_CLIENTS_OWN: Duration = Duration::from_secs(3);

/// How long the server asks to wait; none: it says nothing that makes sense.
pub(crate) fn asked(value: &str, now: SystemTime, defects: &Defects) -> Option<Duration> {
    if defects.has(Defect::IgnoresRetryAfter) {
        return None;
    }
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number holds are still a wait, and a long one.
        let wait = Duration::from_secs(value.parse().unwrap_or(u64::MAX));
        if wait.is_zero() && defects.has(Defect::ZeroMeansDefault) {
            return Some(A_CLIENTS_OWN);
        }
        if defects.has(Defect::ReadsSecondsAsMilliseconds) {
            return Some(wait / 1000);
        }
        return Some(wait);
    }
    if defects.has(Defect::IgnoresRetryAfterDate) {
        return None;
    }
    let date = httpdate::parse_http_date(value).ok()?;
    // A date that has passed asks for nothing more.
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
    }

    fn read(value: &str, defect: Option<Defect>) -> Option<Duration> {
        let defects = defect.map_or_else(Defects::default, |on| Defects::default().with(on));
        asked(value, now(), &defects)
    }

    fn date(seconds: i64) -> String {
        let offset = Duration::from_secs(seconds.unsigned_abs());
        let date = if seconds < 0 {
            now() - offset
        } else {
            now() + offset
        };
        httpdate::fmt_http_date(date)
    }

    #[test]
    fn seconds_and_dates_are_read() {
        assert_eq!(read("0", None), Some(Duration::ZERO));
        assert_eq!(read("120", None), Some(Duration::from_secs(120)));
        assert_eq!(read(&date(2), None), Some(Duration::from_secs(2)));
        assert_eq!(read(&date(-2), None), Some(Duration::ZERO));
        assert!(read("99999999999999999999", None) > Some(Duration::from_secs(86_400)));
    }

    #[test]
    fn what_makes_no_sense_is_passed_over() {
        for value in ["", "soon", "0.5", "-1", "+1", "1 s", "Tue, 99 Foo 2026"] {
            assert_eq!(read(value, None), None, "{value:?}");
        }
    }

    #[test]
    fn each_defect_misreads_in_its_way() {
        assert_eq!(read("2", Some(Defect::IgnoresRetryAfter)), None);
        assert_eq!(read(&date(2), Some(Defect::IgnoresRetryAfter)), None);
        assert_eq!(read(&date(2), Some(Defect::IgnoresRetryAfterDate)), None);
        let two = Some(Duration::from_secs(2));
        assert_eq!(read("2", Some(Defect::IgnoresRetryAfterDate)), two);
        assert_eq!(
            read("0", Some(Defect::ZeroMeansDefault)),
            Some(A_CLIENTS_OWN)
        );
        assert_eq!(read("2", Some(Defect::ZeroMeansDefault)), two);
    }

    proptest::proptest! {
        #[test]
        fn no_value_makes_it_panic(value: String) {
            let _ = read(&value, None);
        }
    }
}
