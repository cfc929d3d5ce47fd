//! Whether a fault that had to happen did: its proof, and what stands in for one
//! at a port that refuses or drops.

use super::*;

#[test]
fn an_address_in_an_answer_that_was_cut_has_not_reached_the_client() {
    let story = |whole| {
        let story = probed(Story::new(), 0, true)
            .request(5, "api", 1, "POST /x")
            .took(5, AT, 0)
            .answering(6, AT, 307, "", whole);
        let answered = What::Answered {
            bytes: 9,
            handed_us: 6000,
        };
        let story = story.server(6, AT, answered).fired(6, "api", 0);
        probed(story.fails(10, 1, "ECONNREFUSED"), 20, true).exit(21, 0)
    };
    assert_eq!(story(true).judge(&dead_end()).verdict, Verdict::Pass);
    let cut = story(false).judge(&dead_end());
    assert_eq!(cut.verdict, Verdict::Inconclusive);
    assert!(cut.reason.unwrap().contains("never reached the client"));
}

/// A redirect to a port that refuses.
fn dead_end() -> Plan {
    let api = server("api").step(redirect(307, url("dead", "/y")).required());
    plan([api, server("dead").refusing()])
        .call("POST", "api", "/x")
        .must(delivered("api", 1))
}

fn probed(story: Story, at: u64, refused: bool) -> Story {
    let after = at > 0;
    story.server(at, ("dead", 0, 0), What::Probed { refused, after })
}

#[test]
fn a_port_has_refused_when_both_probes_say_so_and_its_url_was_answered() {
    let story = probed(Story::new(), 0, true)
        .request(5, "api", 1, "POST /x")
        .took(5, AT, 0)
        .fired(6, "api", 0)
        .fails(10, 1, "ECONNREFUSED");
    let whole = story.clone().answer(6, AT, 307, "");
    let cell = probed(whole.clone(), 20, true)
        .exit(21, 0)
        .judge(&dead_end());
    assert_eq!(cell.verdict, Verdict::Pass, "{cell:?}");
    let cell = probed(whole.clone(), 20, false)
        .exit(21, 0)
        .judge(&dead_end());
    assert_eq!(cell.verdict, Verdict::Inconclusive);
    let cell = whole.exit(21, 0).judge(&dead_end());
    assert_eq!(cell.verdict, Verdict::Inconclusive);
    let cell = probed(story, 20, true).exit(21, 0).judge(&dead_end());
    assert_eq!(
        cell.verdict,
        Verdict::Inconclusive,
        "the answer was not sent"
    );
    assert!(cell.reason.unwrap().contains("never reached the client"));
}

fn not_sent(story: Story) -> Story {
    story.fails(10, 1, "ECONNREFUSED").exit(21, 0)
}

#[test]
fn a_port_has_dropped_when_a_syn_of_the_client_was_counted() {
    let plan = plan([server("api").closed(Listen::Drop)])
        .call("POST", "api", "/x")
        .must(delivered("api", 0));
    let probe = |dropped| {
        let story = Story::new();
        story.server(0, ("api", 0, 0), What::ProbedDrop { dropped })
    };
    let counted = |story: Story, syns: u64| {
        let story = story.server(22, ("api", 0, 0), What::Dropped { phase: 0, syns });
        if syns == 0 {
            return story;
        }
        let fired = What::Fired {
            lane: Lane::Listen,
            proof: format!("SYNs dropped: {syns}"),
            since_us: 1,
        };
        story.server(22, ("api", 0, 0), fired)
    };
    let cell = counted(not_sent(probe(true)), 2).judge(&plan);
    assert_eq!(cell.verdict, Verdict::Pass, "{cell:?}");
    for (cell, why) in [
        (counted(not_sent(probe(true)), 0), "no SYN was dropped"),
        (counted(not_sent(probe(false)), 2), "own probe"),
        (counted(not_sent(Story::new()), 2), "own probe"),
    ] {
        let cell = cell.judge(&plan);
        assert_eq!(cell.verdict, Verdict::Inconclusive, "{why}");
        assert!(cell.reason.as_ref().unwrap().contains(why), "{cell:?}");
    }
}

#[test]
fn a_port_that_refuses_for_a_time_is_not_proved_to_have_refused_the_client() {
    let mut plan = dead_end();
    let story = || {
        let story = Story::new()
            .request(5, "api", 1, "POST /x")
            .took(5, AT, 0)
            .fired(6, "api", 0)
            .answer(6, AT, 307, "");
        not_sent(probed(probed(story, 0, true), 20, true))
    };
    assert_eq!(story().judge(&plan).verdict, Verdict::Pass);
    let phase = |state, lasts| Phase { state, lasts };
    plan.servers[1].listen = Listen::Phases(vec![
        phase(PortState::Refuse, Some(Duration::from_millis(20))),
        phase(PortState::Open, None),
    ]);
    let cell = story().judge(&plan);
    assert_eq!(cell.verdict, Verdict::Inconclusive);
    assert!(cell.reason.unwrap().contains("leave no count"));
}

#[test]
fn a_required_connection_fault_is_proved_by_its_own_lane() {
    let mut api = server("api")
        .connections(&[ConnectionAct::Reset, ConnectionAct::Serve])
        .step(respond(200));
    api.required.connection = Some(0);
    let plan = plan([api])
        .call("GET", "api", "/x")
        .must(delivered("api", 1));
    let story = Story::new()
        .request(5, "api", 1, "GET /x")
        .answer(6, AT, 200, "")
        .shows(10, 1, 200, "");
    let cell = story.clone().exit(11, 0).judge(&plan);
    assert_eq!(cell.verdict, Verdict::Inconclusive);
    let fired = What::Fired {
        lane: Lane::Connections(0),
        proof: "reset".to_owned(),
        since_us: 0,
    };
    let cell = story
        .server(6, ("api", 1, 0), fired)
        .exit(11, 0)
        .judge(&plan);
    assert_eq!(cell.verdict, Verdict::Pass);
}

#[test]
fn a_fault_that_is_not_proved_makes_the_cell_inconclusive_and_says_why() {
    let unproven = What::Unproven {
        lane: Lane::Step(StepId { queue: 0, step: 0 }),
        reason: "the client can not be seen".to_owned(),
        since_us: 6,
    };
    let story = |what| {
        Story::new()
            .request(5, "api", 1, "POST /x")
            .server(6, ("api", 1, 1), what)
            .shows(10, 1, 200, "")
            .exit(11, 0)
    };
    let cell = story(unproven).judge(&one_post());
    assert_eq!(cell.verdict, Verdict::Inconclusive, "{cell:?}");
    let told = format!("{cell:?}");
    assert!(
        told.contains("is not proved: the client can not be seen"),
        "{told}"
    );
}
