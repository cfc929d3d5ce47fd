//! Virtual time as the judge sees it: doubts about it, and where there was none.

use super::{ClientEvent, EndedBy, Story, Verdict, cut, delivered, names, one_post, plan, server};
use crate::evidence::{Told, VirtualTimeTold};
use scripted_servers::wire::End;

#[test]
fn a_time_that_is_not_true_proves_nothing_and_is_not_taken_for_a_missing_fault() {
    let time = |doubts: &[&str]| {
        let doubts = doubts.iter().map(|what| Told {
            what: (*what).to_owned(),
            times: 1,
        });
        ClientEvent::VirtualTime(VirtualTimeTold {
            doubts: doubts.collect(),
            ..VirtualTimeTold::default()
        })
    };
    let once = || {
        Story::new()
            .request(5, "api", 1, "GET /x")
            .fired(6, "api", 0)
            .fails(10, 1, "ECONNRESET")
    };
    let plan = plan([server("api").step(cut(End::Reset).required())])
        .call("GET", "api", "/x")
        .must(delivered("api", 1));
    let judged = |story: Story, doubts: &[&str]| {
        let story = story.exit(11, 0).client(12, time(doubts));
        story.end(13, EndedBy::Exit).judge(&plan)
    };
    assert_eq!(judged(once(), &[]).verdict, Verdict::Pass);
    let doubtful = judged(once(), &["the client never rested"]);
    assert_eq!(doubtful.verdict, Verdict::Inconclusive);
    let reason = doubtful.reason.clone().unwrap();
    assert!(reason.contains("never rested"), "{reason}");
    assert!(!doubtful.lacks_its_fault());
    // A limit that ran out too early makes a GET go out again.
    let twice = || once().request(8, "api", 2, "GET /x");
    assert_eq!(judged(twice(), &[]).verdict, Verdict::Fail);
    let doubtful = judged(twice(), &["the client never rested"]);
    assert_eq!(doubtful.verdict, Verdict::Inconclusive, "{doubtful:?}");
    assert_eq!(names(&doubtful), []);
}

#[test]
fn a_client_that_virtual_time_did_not_take_has_a_note_that_says_why() {
    let refused = ClientEvent::VirtualTime(VirtualTimeTold {
        refused: Some("no ptrace".to_owned()),
        ..Default::default()
    });
    let story = Story::new()
        .request(5, "api", 1, "POST /x")
        .fired(6, "api", 0)
        .fails(10, 1, "ECONNRESET")
        .exit(11, 0)
        .client(12, refused);
    let cell = story.end(13, EndedBy::Exit).judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Pass);
    assert!(
        cell.notes
            .contains(&"ran in real time: no ptrace".to_owned()),
        "{cell:?}"
    );
}
