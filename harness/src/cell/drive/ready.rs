//! When a program is ready for its work: it has loaded what it needs, and waits.
//!
//! Where several are to begin together, none may begin while another still loads. A
//! program that waits for its work does nothing on a processor, and wants nothing
//! there; one that is found so twice has begun to wait.

use std::time::Duration;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// A program that never rests is given its work all the same.
const LONGEST: Duration = Duration::from_secs(20);

/// Looks at one program.
pub(super) struct Ready {
    next: Duration,
    until: Duration,
    was_still: bool,
}

impl Ready {
    /// The program runs since now.
    pub(super) fn from(now: Duration) -> Self {
        Self {
            next: now + LOOK,
            until: now + LONGEST,
            was_still: false,
        }
    }

    /// When to look.
    pub(super) fn next_look(&self) -> Duration {
        self.next
    }

    /// Whether it is ready, as it was found to be at work, or not, just now.
    pub(super) fn is_ready(&mut self, now: Duration, is_at_work: bool) -> bool {
        let was_still = std::mem::replace(&mut self.was_still, !is_at_work);
        self.next = now + LOOK;
        (was_still && !is_at_work) || now >= self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_ready_that_was_still_at_two_looks_in_a_row() {
        let now = Duration::from_secs(1);
        let mut ready = Ready::from(now);
        let looks = [
            (true, false),
            (false, false),
            (true, false),
            (false, false),
            (false, true),
        ];
        for (is_at_work, expected) in looks {
            assert_eq!(ready.is_ready(now, is_at_work), expected);
        }
        let late = now + LONGEST;
        assert!(Ready::from(now).is_ready(late, true), "it never rests");
    }
}
