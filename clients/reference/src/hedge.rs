//! A second copy of a request whose answer is slow: the first answer counts, and the
//! other copy is called off.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::cancel::Token;

/// How a race ended.
pub(crate) struct Raced<A, F> {
    /// With the first answer, or with the failures of all copies.
    pub(crate) ended: Result<A, Vec<F>>,
    /// How many copies took part.
    pub(crate) copies: u32,
}

/// Runs a copy, and after that time another one beside it. A copy that fails before
/// that is the end, as it would be without a second one.
pub(crate) fn race<A: Send, F: Send>(
    after: Duration,
    token: &Token,
    copy: impl Fn(&Token) -> Result<A, F> + Sync,
) -> Raced<A, F> {
    let tokens = [token.child(), token.child()];
    thread::scope(|scope| {
        let (tell, ended) = channel();
        let run = |token| {
            let (tell, copy) = (tell.clone(), &copy);
            // Nobody listens any more when the other copy was first.
            scope.spawn(move || drop(tell.send(copy(token))));
        };
        run(&tokens[0]);
        if let Ok(ended) = ended.recv_timeout(after) {
            let ended = ended.map_err(|failure| vec![failure]);
            return Raced { ended, copies: 1 };
        }
        run(&tokens[1]);
        drop(tell);
        let ended = first_answer(&ended);
        tokens.iter().for_each(Token::cancel);
        Raced { ended, copies: 2 }
    })
}

fn first_answer<A, F>(ended: &Receiver<Result<A, F>>) -> Result<A, Vec<F>> {
    let mut failures = Vec::new();
    for one in ended {
        match one {
            Ok(answer) => return Ok(answer),
            Err(failure) => failures.push(failure),
        }
    }
    Err(failures)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// Runs copies of which each does what its turn says; the turn comes with it.
    fn raced(
        after: Duration,
        token: &Token,
        copy: impl Fn(u32, &Token) -> Result<u32, u32> + Sync,
    ) -> (Result<u32, Vec<u32>>, u32) {
        let turn = AtomicU32::new(0);
        let raced = race(after, token, |token| {
            copy(turn.fetch_add(1, Ordering::SeqCst), token)
        });
        (raced.ended, raced.copies)
    }

    /// Waits to be called off.
    fn slow(token: &Token) -> Result<u32, u32> {
        token.sleep(LONG);
        Err(99)
    }

    #[test]
    fn a_fast_answer_or_failure_has_no_second_copy() {
        let token = Token::default();
        assert_eq!(raced(LONG, &token, |turn, _| Ok(turn)), (Ok(0), 1));
        assert_eq!(raced(LONG, &token, |turn, _| Err(turn)), (Err(vec![0]), 1));
    }

    #[test]
    fn the_first_answer_counts_and_the_other_copy_is_called_off() {
        let first_is_slow = |turn, token: &Token| if turn == 0 { slow(token) } else { Ok(turn) };
        let token = Token::default();
        assert_eq!(raced(Duration::ZERO, &token, first_is_slow), (Ok(1), 2));
        assert!(!token.is_cancelled());
    }

    #[test]
    fn a_copy_that_fails_leaves_it_to_the_other() {
        let second_fails = |turn, token: &Token| {
            if turn == 1 {
                return Err(turn);
            }
            token.sleep(Duration::from_millis(20));
            Ok(turn)
        };
        let token = Token::default();
        assert_eq!(raced(Duration::ZERO, &token, second_fails), (Ok(0), 2));
        let both_fail = |_, _: &Token| Err(7);
        let (ended, _) = raced(Duration::ZERO, &token, both_fail);
        assert_eq!(ended, Err(vec![7, 7]));
    }

    #[test]
    fn a_cancel_of_the_call_ends_both() {
        let token = Token::default();
        token.cancel();
        let (ended, _) = raced(LONG, &token, |_, token| slow(token));
        assert_eq!(ended, Err(vec![99]));
    }
}
