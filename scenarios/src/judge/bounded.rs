//! Up to when requests were counted, where the client did not end by itself.
//!
//! A program that ends by itself sends nothing later. Of one that the harness
//! ended, "no later request" is known only up to that end, and a reader of the
//! verdict must be able to see so.

use super::client::ClientFacts;
use crate::verdict::EndedBy;

/// The note; none where nothing bounds what was seen.
pub(super) fn note(client: &ClientFacts) -> Option<String> {
    let end_us = client.exited.map_or(client.last_us, |exit| exit.mark.at_us);
    let seconds = |from_us: u64| {
        let tenths = end_us.saturating_sub(from_us) / 100_000;
        format!("{}.{} s", tenths / 10, tenths % 10)
    };
    let how = match client.end()? {
        EndedBy::Exit => return None,
        EndedBy::Finish => {
            let told_us = client.finish_sent.map_or(end_us, |mark| mark.at_us);
            let killed = client.exited.is_some_and(|exit| exit.killed);
            let how = if killed { "killed" } else { "ended by itself" };
            format!("told to finish, {how} after {}", seconds(told_us))
        }
        EndedBy::Enough => "stopped when enough requests had come".to_owned(),
        EndedBy::Cap => "stopped at the cap".to_owned(),
        EndedBy::Deadline => "killed at the deadline".to_owned(),
    };
    let (from_us, since) = match (client.last_report(), client.work) {
        (Some(report), _) => (report.at_us, "the last report"),
        (None, Some(work)) => (work.at_us, "the work was handed over"),
        (None, None) => (0, "the cell began"),
    };
    let until = seconds(from_us);
    Some(format!(
        "bounded: {how}; requests are known up to {until} after {since}, later ones are not ruled out"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::client::Exit;
    use super::super::mark::Mark;
    use super::*;

    fn mark(at_us: u64) -> Mark {
        Mark { n: 1, at_us }
    }

    fn ended(ended_by: EndedBy, killed: bool) -> ClientFacts {
        ClientFacts {
            work: Some(mark(1_000_000)),
            finish_sent: (ended_by == EndedBy::Finish).then(|| mark(2_000_000)),
            exited: Some(Exit {
                mark: mark(12_340_000),
                code: None,
                signal: None,
                killed,
            }),
            ended_by: Some((ended_by, mark(13_000_000))),
            ..ClientFacts::default()
        }
    }

    #[test]
    fn a_program_that_ended_by_itself_is_not_bounded() {
        assert_eq!(note(&ended(EndedBy::Exit, false)), None);
    }

    #[test]
    fn every_end_that_the_harness_made_is_told_with_its_time() {
        for (by, killed, how) in [
            (EndedBy::Finish, true, "told to finish, killed after 10.3 s"),
            (
                EndedBy::Finish,
                false,
                "told to finish, ended by itself after 10.3 s",
            ),
            (
                EndedBy::Enough,
                true,
                "stopped when enough requests had come",
            ),
            (EndedBy::Cap, true, "stopped at the cap"),
            (EndedBy::Deadline, true, "killed at the deadline"),
        ] {
            let said = note(&ended(by, killed)).unwrap();
            assert!(said.starts_with(&format!("bounded: {how}; ")), "{said}");
            assert!(
                said.contains("up to 11.3 s after the work was handed over"),
                "{said}"
            );
        }
    }
}
