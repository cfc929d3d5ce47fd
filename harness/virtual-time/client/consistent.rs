//! A program that reads the clocks all the time, in many threads and processes:
//! time never goes back, and all agree on it.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use crate::raw::{clock, fork, wait};

/// Readings in one loop.
const READINGS: u32 = 200_000;

/// What one reading may be apart from the next; more is a jump that was torn.
const APART: Duration = Duration::from_millis(500);

pub(crate) fn all() -> ExitCode {
    let all_well = loops() && threads() && children();
    println!(
        "{}",
        if all_well {
            "consistent"
        } else {
            "inconsistent"
        }
    );
    ExitCode::from(u8::from(!all_well))
}

/// Clocks only go forward, and both at the same rate.
fn loops() -> bool {
    let (mut mono, mut wall) = (Instant::now(), SystemTime::now());
    let mut well = true;
    for reading in 0..READINGS {
        let (mono_now, wall_now) = (Instant::now(), SystemTime::now());
        well &= mono_now >= mono && wall_now >= wall;
        well &= mono_now - mono < APART;
        (mono, wall) = (mono_now, wall_now);
        if reading % 20_000 == 0 {
            std::thread::sleep(Duration::from_secs(60));
            well &= mono.elapsed().as_secs() == 60;
            well &= clock(libc::CLOCK_MONOTONIC_RAW) > Duration::ZERO;
            (mono, wall) = (Instant::now(), SystemTime::now());
        }
    }
    well
}

/// Fifty threads sleep a second longer each, and see that.
fn threads() -> bool {
    let began = Instant::now();
    let sleepers: Vec<_> = (1..=50)
        .map(|seconds| {
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(seconds));
                let passed = began.elapsed();
                (seconds * 1000..seconds * 1000 + 500).contains(&(passed.as_millis() as u64))
            })
        })
        .collect();
    let each: Vec<bool> = sleepers
        .into_iter()
        .map(|one| one.join().unwrap())
        .collect();
    each.iter().all(|well| *well) && began.elapsed().as_secs() == 50
}

/// Twenty children do the same.
fn children() -> bool {
    let (began, wall) = (Instant::now(), SystemTime::now());
    let children: Vec<i32> = (1..=20)
        .map(|seconds| {
            fork(|| {
                std::thread::sleep(Duration::from_secs(seconds));
                let (mono, wall) = (began.elapsed(), wall.elapsed().unwrap());
                let well =
                    (seconds * 1000..seconds * 1000 + 500).contains(&(mono.as_millis() as u64));
                well && mono.abs_diff(wall) < Duration::from_millis(50)
            })
        })
        .collect();
    children.into_iter().all(wait) && began.elapsed().as_secs() == 20
}
