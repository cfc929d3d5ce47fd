//! When and how a cell comes to its end, as a decision over facts.
//!
//! Pure: times come in, an act comes out. How a program ends decides whether a
//! late retry is seen, so a program that ends by itself is left alone, and one
//! that does not is told to finish only after its reports and a quiet time.

use std::time::Duration;

use scenarios::verdict::EndedBy;

/// Time that a program gets to end after it was told to finish, as long as the
/// deadline allows: what it still has in hand, a retry that waits for its time
/// above all, is seen. A program that has nothing left ends at once.
const LINGER: Duration = Duration::from_secs(10);

/// The part of that which the deadline does not take away.
const FINISH_PATIENCE: Duration = Duration::from_secs(2);

/// A program that is at work after its last report, and does nothing that a
/// server sees, is not taken to be idle for so long.
const LONGEST_WORK: Duration = Duration::from_secs(5);

/// Starvation puts the deadline off by no more than this.
const LONGEST_STARVED: Duration = Duration::from_secs(30);

/// Time that starting a program, or killing it, may take the launcher.
const LAUNCHER_PATIENCE: Duration = Duration::from_secs(15);

/// Time that others may take beyond that until they are ready for their work.
const OTHERS_PATIENCE: Duration = Duration::from_secs(60);

/// What is known when the next act is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// When the last report came, once all have come.
    pub(super) complete: Option<Duration>,
    /// When a server last saw the client do something.
    pub(super) last_traffic: Option<Duration>,
    /// When the program was last seen at work on a processor, or waiting for
    /// one, as far as that was looked at.
    pub(super) at_work: Option<Duration>,
    /// How long the program was kept from running.
    pub(super) starved: Duration,
    /// The count that was reached, if one was.
    pub(super) limit: Option<EndedBy>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Nothing before this time.
    WaitUntil(Duration),
    /// Tell the program to finish.
    Finish,
    /// Kill the program.
    Kill,
    /// The launcher does not answer: give it up.
    Abandon,
}

/// How patient a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patience {
    /// From handing over the work.
    pub(super) deadline: Duration,
    /// Silence after the last report.
    pub(super) quiet: Duration,
    /// Whether the program can be told to finish.
    pub(super) can_finish: bool,
}

/// Where a cell is on its way to the end.
#[derive(Debug)]
pub(super) struct Ending {
    patience: Patience,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The launcher has been started at this time.
    Starting(Duration),
    /// The program works, until this deadline.
    Working(Duration),
    /// It was told to finish.
    Finishing {
        /// When it was told.
        since: Duration,
        /// When it is killed, at the earliest.
        until: Duration,
    },
    /// Its end was ordered for this reason; the launcher is given up at this
    /// time.
    Killing(Option<EndedBy>, Duration),
}

impl Ending {
    /// The launcher is being started.
    pub(super) fn starting(patience: Patience, now: Duration) -> Self {
        Self {
            patience,
            state: State::Starting(now),
        }
    }

    /// The program runs, and has its work when others run as well.
    pub(super) fn waits_for_others(&mut self, now: Duration) {
        self.state = State::Starting(now + OTHERS_PATIENCE);
    }

    /// The program was killed, and is being started again.
    pub(super) fn starting_again(&mut self, now: Duration) {
        self.state = State::Starting(now);
    }

    /// The program runs and is handed its work.
    pub(super) fn working(&mut self, now: Duration) {
        self.state = State::Working(now + self.patience.deadline);
    }

    /// The end was ordered from elsewhere.
    pub(super) fn going(&mut self, now: Duration) {
        let by = self.ended_by_us();
        self.state = State::Killing(by, now + LAUNCHER_PATIENCE);
    }

    /// The program ended at this time, which is only known now. What was ordered
    /// later did not end it.
    pub(super) fn ended(&mut self, at: Duration, now: Duration) {
        let by = match self.state {
            State::Finishing { since, .. } if at < since => None,
            _ => self.ended_by_us(),
        };
        self.state = State::Killing(by, now + LAUNCHER_PATIENCE);
    }

    /// What is to be done now.
    pub(super) fn next(&mut self, now: Duration, facts: &Facts) -> Act {
        match self.state {
            State::Starting(since) => abandon_at(now, since + LAUNCHER_PATIENCE),
            State::Killing(_, until) => abandon_at(now, until),
            State::Working(_) | State::Finishing { .. } if facts.limit.is_some() => {
                self.kill(now, facts.limit)
            }
            State::Finishing { since, until } => {
                let until = until.max(idle_since(since, facts) + FINISH_PATIENCE);
                if now < until {
                    return Act::WaitUntil(until);
                }
                self.kill(now, Some(EndedBy::Finish))
            }
            State::Working(deadline) => {
                let deadline = deadline + facts.starved.min(LONGEST_STARVED);
                if now >= deadline {
                    return self.kill(now, Some(EndedBy::Deadline));
                }
                self.work(now, deadline, facts)
            }
        }
    }

    /// What ended the cell, when the program has ended: `killed` on order or by
    /// itself. A count that was reached is what ended it even when it came to
    /// its end in the same moment, so that the word does not depend on luck.
    pub(super) fn ended_by(&self, killed: bool, limit: Option<EndedBy>) -> EndedBy {
        let by = limit.or_else(|| self.ended_by_us());
        match by {
            Some(EndedBy::Deadline) if !killed => EndedBy::Exit,
            Some(by) => by,
            None => EndedBy::Exit,
        }
    }

    fn ended_by_us(&self) -> Option<EndedBy> {
        match self.state {
            State::Starting(_) | State::Working(_) => None,
            State::Finishing { .. } => Some(EndedBy::Finish),
            State::Killing(by, _) => by,
        }
    }

    fn work(&mut self, now: Duration, deadline: Duration, facts: &Facts) -> Act {
        let Some(complete) = facts.complete.filter(|_| self.patience.can_finish) else {
            return Act::WaitUntil(deadline);
        };
        let silent_since = facts
            .last_traffic
            .map_or(complete, |last| last.max(complete));
        let quiet_at = idle_since(silent_since, facts) + self.patience.quiet;
        if now < quiet_at {
            return Act::WaitUntil(quiet_at.min(deadline));
        }
        let until = (now + LINGER).min(deadline);
        self.state = State::Finishing {
            since: now,
            until: until.max(now + FINISH_PATIENCE),
        };
        Act::Finish
    }

    fn kill(&mut self, now: Duration, by: Option<EndedBy>) -> Act {
        self.state = State::Killing(by, now + LAUNCHER_PATIENCE);
        Act::Kill
    }
}

/// Since when a program does nothing, not even work that a busy machine keeps it
/// from doing.
fn idle_since(silent_since: Duration, facts: &Facts) -> Duration {
    let at_work = facts.at_work.unwrap_or_default();
    at_work.min(silent_since + LONGEST_WORK).max(silent_since)
}

fn abandon_at(now: Duration, until: Duration) -> Act {
    if now < until {
        Act::WaitUntil(until)
    } else {
        Act::Abandon
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn working(can_finish: bool) -> Ending {
        let patience = Patience {
            deadline: ms(10_000),
            quiet: ms(300),
            can_finish,
        };
        let mut ending = Ending::starting(patience, ms(0));
        ending.working(ms(100));
        ending
    }

    fn complete(at: u64) -> Facts {
        Facts {
            complete: Some(ms(at)),
            ..Facts::default()
        }
    }

    #[test]
    fn without_reports_nothing_is_done_before_the_deadline() {
        let mut ending = working(true);
        let facts = Facts::default();
        assert_eq!(ending.next(ms(9_000), &facts), Act::WaitUntil(ms(10_100)));
        assert_eq!(ending.next(ms(10_100), &facts), Act::Kill);
        assert_eq!(ending.ended_by(true, None), EndedBy::Deadline);
    }

    #[test]
    fn a_program_that_ends_by_itself_while_the_deadline_passes_has_ended_by_itself() {
        let mut ending = working(true);
        assert_eq!(ending.next(ms(10_100), &Facts::default()), Act::Kill);
        assert_eq!(ending.ended_by(false, None), EndedBy::Exit);
    }

    #[test]
    fn finish_comes_after_all_reports_and_quiet() {
        let mut ending = working(true);
        assert_eq!(
            ending.next(ms(1_000), &complete(1_000)),
            Act::WaitUntil(ms(1_300))
        );
        assert_eq!(ending.next(ms(1_300), &complete(1_000)), Act::Finish);
        assert_eq!(ending.ended_by(false, None), EndedBy::Finish);
    }

    #[test]
    fn traffic_after_the_report_puts_finish_off() {
        let mut ending = working(true);
        let facts = Facts {
            last_traffic: Some(ms(1_200)),
            ..complete(1_000)
        };
        assert_eq!(ending.next(ms(1_300), &facts), Act::WaitUntil(ms(1_500)));
        assert_eq!(ending.next(ms(1_500), &facts), Act::Finish);
    }

    #[test]
    fn a_program_that_still_works_after_its_report_is_not_told_to_finish() {
        let mut ending = working(true);
        let at_work = |at| Facts {
            at_work: Some(ms(at)),
            ..complete(1_000)
        };
        assert_eq!(
            ending.next(ms(1_300), &at_work(1_290)),
            Act::WaitUntil(ms(1_590))
        );
        assert_eq!(ending.next(ms(1_590), &at_work(1_290)), Act::Finish);
    }

    #[test]
    fn a_program_that_works_without_end_is_told_to_finish_all_the_same() {
        let mut ending = working(true);
        let facts = Facts {
            at_work: Some(ms(6_300)),
            ..complete(1_000)
        };
        let quiet_at = ms(1_000) + LONGEST_WORK + ms(300);
        assert_eq!(ending.next(ms(1_300), &facts), Act::WaitUntil(quiet_at));
        assert_eq!(ending.next(quiet_at, &facts), Act::Finish);
    }

    #[test]
    fn a_program_that_works_on_its_end_is_not_killed_meanwhile() {
        let patience = Patience {
            deadline: ms(2_000),
            quiet: ms(300),
            can_finish: true,
        };
        let mut ending = Ending::starting(patience, ms(0));
        ending.working(ms(0));
        assert_eq!(ending.next(ms(1_300), &complete(1_000)), Act::Finish);
        let facts = Facts {
            at_work: Some(ms(3_200)),
            ..complete(1_000)
        };
        assert_eq!(ending.next(ms(3_300), &facts), Act::WaitUntil(ms(5_200)));
        assert_eq!(ending.next(ms(5_200), &facts), Act::Kill);
    }

    #[test]
    fn time_in_which_the_program_was_kept_from_running_puts_the_deadline_off() {
        let mut ending = working(true);
        let starved = |by| Facts {
            starved: ms(by),
            ..Facts::default()
        };
        assert_eq!(
            ending.next(ms(10_100), &starved(700)),
            Act::WaitUntil(ms(10_800))
        );
        assert_eq!(ending.next(ms(10_800), &starved(700)), Act::Kill);
        let mut ending = working(true);
        let longest = ms(10_100) + LONGEST_STARVED;
        assert_eq!(ending.next(longest, &starved(999_999)), Act::Kill);
    }

    #[test]
    fn traffic_before_the_report_does_not_shorten_the_quiet_time() {
        let mut ending = working(true);
        let facts = Facts {
            last_traffic: Some(ms(200)),
            ..complete(1_000)
        };
        assert_eq!(ending.next(ms(1_000), &facts), Act::WaitUntil(ms(1_300)));
    }

    #[test]
    fn traffic_without_end_after_the_report_ends_at_the_deadline() {
        let mut ending = working(true);
        let facts = Facts {
            last_traffic: Some(ms(10_000)),
            ..complete(1_000)
        };
        assert_eq!(ending.next(ms(10_000), &facts), Act::WaitUntil(ms(10_100)));
        assert_eq!(ending.next(ms(10_100), &facts), Act::Kill);
        assert_eq!(ending.ended_by(true, None), EndedBy::Deadline);
    }

    /// When a program that was told to finish at `told`, and does not, is killed.
    fn killed_at(deadline: u64, told: u64) -> Duration {
        let patience = Patience {
            deadline: ms(deadline),
            quiet: ms(300),
            can_finish: true,
        };
        let mut ending = Ending::starting(patience, ms(0));
        ending.working(ms(0));
        let facts = complete(told - 300);
        assert_eq!(ending.next(ms(told), &facts), Act::Finish);
        let Act::WaitUntil(until) = ending.next(ms(told + 1), &facts) else {
            panic!("killed at once");
        };
        assert_eq!(ending.next(until, &facts), Act::Kill);
        assert_eq!(ending.ended_by(true, None), EndedBy::Finish);
        until
    }

    #[test]
    fn a_program_that_does_not_finish_is_given_ten_seconds_for_what_it_has_in_hand() {
        assert_eq!(killed_at(20_000, 1_300), ms(11_300));
    }

    #[test]
    fn the_time_after_finish_is_cut_by_the_deadline_down_to_two_seconds() {
        assert_eq!(killed_at(8_000, 1_300), ms(8_000));
        assert_eq!(killed_at(2_000, 1_300), ms(3_300));
    }

    #[test]
    fn a_program_that_had_ended_before_it_was_told_to_finish_has_ended_by_itself() {
        let finished = |at| {
            let mut ending = working(true);
            assert_eq!(ending.next(ms(1_300), &complete(1_000)), Act::Finish);
            ending.ended(ms(at), ms(1_500));
            ending.ended_by(false, None)
        };
        assert_eq!(finished(1_299), EndedBy::Exit);
        assert_eq!(finished(1_301), EndedBy::Finish);
    }

    #[test]
    fn a_program_that_cannot_be_told_is_never_told() {
        let mut ending = working(false);
        assert_eq!(
            ending.next(ms(5_000), &complete(1_000)),
            Act::WaitUntil(ms(10_100))
        );
    }

    #[test]
    fn a_reached_count_kills_at_once_and_names_the_end() {
        for by in [EndedBy::Cap, EndedBy::Enough] {
            let mut ending = working(true);
            let facts = Facts {
                limit: Some(by),
                ..Facts::default()
            };
            assert_eq!(ending.next(ms(150), &facts), Act::Kill);
            assert_eq!(ending.ended_by(true, Some(by)), by);
            // The program was faster than the order.
            assert_eq!(ending.ended_by(false, Some(by)), by);
        }
    }

    #[test]
    fn a_launcher_that_does_not_answer_is_given_up() {
        let mut ending = working(true);
        assert_eq!(ending.next(ms(10_100), &Facts::default()), Act::Kill);
        let at = ms(10_100) + LAUNCHER_PATIENCE;
        assert_eq!(
            ending.next(ms(10_200), &Facts::default()),
            Act::WaitUntil(at)
        );
        assert_eq!(ending.next(at, &Facts::default()), Act::Abandon);
    }

    #[test]
    fn a_program_that_is_left_alone_has_ended_by_itself() {
        let mut ending = working(true);
        ending.ended(ms(490), ms(500));
        assert_eq!(ending.ended_by(false, None), EndedBy::Exit);
    }
}
