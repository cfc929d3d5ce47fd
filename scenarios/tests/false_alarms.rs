//! A bound on what chance spreads is wrong now and then. How often, is computed here
//! from the scenario itself: less than once in a million runs.

#![allow(
    clippy::expect_used,
    reason = "a scenario that cannot be read fails the test"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use scenarios::assertions::Assertion;
use scenarios::document::Source;
use scenarios::expected::Expected;
use scenarios::matcher::Matcher;
use scenarios::plan::{Jitter, Plan};
use scenarios::validate::{Known, scenario};

fn shipped(name: &str) -> Plan {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("suite/{name}.yaml"));
    let source = Source::read(&path).expect("a readable file");
    let known = Known {
        defects: BTreeSet::from(["returns-in-step".to_owned()]),
    };
    let mut plans = scenario(&source, name, 1, &known).expect("a good scenario");
    plans.remove(0)
}

/// The chance that of so many, which choose a time in `all` evenly and each by itself,
/// more than `most` lie in some stretch of length `per`.
///
/// Such a stretch begins with one of them; of the others each lies in it with the
/// chance `per / all` at most, so their number is binomial. The sum over all that may
/// be the first is an upper bound.
fn chance(number: u32, per: Duration, all: Duration, most: u64) -> f64 {
    let others = number - 1;
    let inside = per.as_secs_f64() / all.as_secs_f64();
    let exactly = |count: u32| {
        let ways = (0..count).fold(1.0, |ways, at| {
            ways * f64::from(others - at) / f64::from(at + 1)
        });
        let rest = i32::try_from(others - count).expect("few");
        ways * inside.powi(i32::try_from(count).expect("few")) * (1.0 - inside).powi(rest)
    };
    let least = u32::try_from(most).expect("few");
    f64::from(number) * (least..=others).map(exactly).sum::<f64>()
}

#[test]
fn the_chance_of_one_even_choice_of_two_is_known() {
    let second = Duration::from_secs(1);
    // Two of two in the same quarter: at most twice a quarter.
    assert!((chance(2, second / 4, second, 1) - 0.5).abs() < 1e-9);
    assert!(chance(2, second / 4, second, 2).abs() < 1e-9);
}

#[test]
fn a_fleet_that_chance_spreads_is_accused_less_than_once_in_ten_million_runs() {
    let plan = shipped("fleet/they-must-not-return-in-step");
    let rates = plan.expect.iter().filter_map(|one| match &one.assertion {
        Assertion::Rate(rate) => Some(rate),
        _ => None,
    });
    let rates: Vec<_> = rates.collect();
    let [rate] = rates[..] else {
        panic!("one rate, not {}", rates.len());
    };
    let Expected::Fits(Matcher::Range { at_most, .. }) = &rate.peak else {
        panic!("a range");
    };
    let most = at_most.expect("an upper bound");
    assert_eq!(plan.limits.jitter, Some(Jitter::Full));
    let waits = plan.limits.backoff.expect("a backoff");
    assert_eq!(plan.limits.backoff_cap, Some(waits), "all waits are alike");
    let chance = chance(plan.fleet, rate.per, waits, most);
    assert!(chance < 1e-7, "{chance}");
    assert!(plan.why.contains("less than once in ten"), "{}", plan.why);
    // In step, all come in one stretch.
    assert!(u64::from(plan.fleet) > most);
}
