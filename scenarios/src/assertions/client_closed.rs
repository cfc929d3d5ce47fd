//! `client_closed`: that the client ended its connections, and how soon.
//!
//! A FIN is dated by the kernel. A RST lies between the last sign of life and
//! when the server noticed it, and a client is late only if it is so by both.

use std::collections::HashMap;
use std::time::Duration;

use scripted_servers::event::Ending;
use serde::{Deserialize, Serialize};

use super::{Assertion, Entry, Parameters};
use crate::document::decode::Keys;
use crate::document::kind::Rule;
use crate::document::{Kind, Node};
use crate::expected::{Words, counts, values};
use crate::judge::case::Case;
use crate::judge::checked::{Checked, Raised};
use crate::judge::exchange::Exchange;
use crate::judge::facts::{EndFact, ServerFacts};
use crate::judge::mark::Mark;
use crate::judge::moment::{self, At};
use crate::judge::time::{Bounded, bounded, micros};
use crate::matcher::Matcher;
use crate::moment::{self as moments, Moment};
use crate::plan::Of;
use crate::scope::Scope;
use crate::verdict::FindingName;

/// Its line in the list.
pub(super) const ENTRY: Entry = Entry {
    word: "client_closed",
    summary: "that the client ends its connections to a server soon after a moment",
    example: "client_closed: { server: api, how: any, from: report, within: 200ms }",
    findings: &[FindingName::NotCancelled, FindingName::UnboundedRead],
    kind: || Kind::Map(&KEYS),
    decode,
};

/// Which connections, and what is expected of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedExpected {
    /// The server.
    pub server: String,
    /// What is expected; none: the ends are shown.
    pub is: Option<Closing>,
}

/// How a client is to end its connections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// By FIN or by RST; none: either.
    pub how: Option<Ending>,
    /// From when on.
    pub from: Moment,
    /// How soon.
    pub within: Duration,
}

impl Parameters for ClosedExpected {
    fn moments(&self) -> Vec<&Moment> {
        self.is.iter().map(|is| &is.from).collect()
    }
}

static KEYS: Keys = Keys::new(
    "`client_closed`",
    &[
        (
            "server",
            "the server whose connections are meant",
            Kind::text,
        ),
        ("how", "`fin`, `reset` or `any`", || Kind::words(HOW)),
        (
            "from",
            "the moment from which on the time counts",
            moments::kind,
        ),
        ("within", "how soon after it they must be ended", Kind::time),
    ],
)
.rules(&[
    Rule::Needs(&["server"]),
    Rule::NeedsExpected(&["how", "from", "within"]),
]);

const HOW: &[(&str, Option<Ending>)] = &[
    ("fin", Some(Ending::Fin)),
    ("reset", Some(Ending::Reset)),
    ("any", None),
];

/// `{server, how, from, within}`; at `info` only the server.
pub(super) fn decode(node: &Node, scope: &mut Scope<'_>) -> Option<Assertion> {
    let fields = node.fields(&KEYS, scope.out)?;
    let server = fields.need("server", scope.out);
    let server = server.and_then(|node| counts::server_of(node, scope));
    let is = if values::shows(scope) {
        let more = ["how", "from", "within"];
        if let Some((key, _)) = more.iter().find_map(|word| fields.entry(word)) {
            values::expects_nothing(&key.span, "`client_closed`", scope);
            return None;
        }
        None
    } else {
        let how = fields.need("how", scope.out);
        let how = how.and_then(|node| node.word("an end of a connection", HOW, scope.out));
        let from = fields.need("from", scope.out);
        let from = from.and_then(|node| moments::decode(node, scope));
        let within = fields.need("within", scope.out);
        let within = within.and_then(|node| node.duration("`within`", scope.out));
        Some(Closing {
            how: how?,
            from: from?,
            within: within?,
        })
    };
    Some(Assertion::ClientClosed(ClosedExpected {
        server: server?,
        is,
    }))
}

/// Each connection that was open at the moment. One that the server ended first
/// says nothing of the client.
pub(super) fn judge(expected: &ClosedExpected, of: &Of, case: &Case<'_>) -> Checked {
    let mut out = Checked::default();
    let Some(server) = case.facts.servers.get(&expected.server) else {
        return out;
    };
    let mut by_connection: HashMap<u32, Vec<&Exchange>> = HashMap::new();
    let there = case.facts.exchanges.iter();
    for exchange in there.filter(|one| one.place.server == expected.server) {
        let own = by_connection.entry(exchange.place.connection);
        own.or_default().push(exchange);
    }
    let ends = first_ends(server);
    let mut moments = HashMap::new();
    for (connection, accepted) in &server.accepted {
        let exchanges = by_connection.remove(connection).unwrap_or_default();
        let meant = exchanges.iter().any(|one| one.is_of(of));
        if !meant && (!exchanges.is_empty() || *of != Of::default()) {
            continue;
        }
        let line = Line {
            number: *connection,
            accepted: *accepted,
            end: ends.get(connection).copied(),
            call: of.call.or(exchanges.last().and_then(|one| one.call)),
        };
        match &expected.is {
            None => out.note(format!(
                "connection {connection} to {}: {}",
                expected.server,
                line.words()
            )),
            Some(closing) => {
                let from = moments.entry(line.call);
                let from = from.or_insert_with(|| moment::at(&closing.from, line.call, case));
                if let Some(from) = from {
                    one(closing, &line, (&expected.server, from), case, &mut out);
                }
            }
        }
    }
    out
}

/// What is known of one connection.
struct Line {
    number: u32,
    accepted: Mark,
    /// The first end of either side.
    end: Option<EndFact>,
    call: Option<u32>,
}

impl Line {
    fn words(&self) -> String {
        match &self.end {
            None => "never ended".to_owned(),
            Some(end) if end.by_client.is_none() => "ended by the server".to_owned(),
            Some(end) => format!("the client ended it by {}", word(end.how)),
        }
    }
}

fn word(how: Ending) -> &'static str {
    match how {
        Ending::Fin => "FIN",
        Ending::Reset => "RST",
    }
}

/// The first end of each connection.
fn first_ends(server: &ServerFacts) -> HashMap<u32, EndFact> {
    let mut first: HashMap<u32, EndFact> = HashMap::new();
    let key = |end: &EndFact| (end.mark.at_us, end.by_client.is_none());
    for end in &server.ends {
        let known = first.entry(end.connection).or_insert(*end);
        if key(end) < key(known) {
            *known = *end;
        }
    }
    first
}

fn one(
    closing: &Closing,
    line: &Line,
    (server, from): (&str, &At),
    case: &Case<'_>,
    out: &mut Checked,
) {
    if line.accepted.at_us > from.latest_us {
        return;
    }
    let wrong = |observed: String, n: u64, out: &mut Checked| {
        let name = match closing.from {
            Moment::Report => FindingName::UnboundedRead,
            _ => FindingName::NotCancelled,
        };
        let how = closing.how.map_or("FIN or RST", word);
        let within = closing.within.words();
        let expected = format!("{how} from the client within {within} at {server}");
        out.wrong(Raised::new(name, expected, observed, [from.mark.n, n]));
    };
    let number = line.number;
    match when(closing, from, line, case) {
        When::Nothing => {}
        When::Unsure(why) => out.doubt(format!("connection {number} to {server}: {why}")),
        When::InTime(end) if closing.how.is_some_and(|how| how != end.how) => {
            let how = word(end.how);
            wrong(format!("{how} on connection {number}"), end.mark.n, out);
        }
        When::InTime(_) => out.good(),
        When::Late(after, n) => {
            let after = after.words();
            wrong(format!("connection {number} open for {after}"), n, out);
        }
    }
}

/// How the end of a connection lies to what is expected.
enum When {
    /// It says nothing.
    Nothing,
    /// It can not be known, for this reason.
    Unsure(String),
    InTime(EndFact),
    /// It was open for so long at least, as this entry says.
    Late(Duration, u64),
}

fn when(closing: &Closing, from: &At, line: &Line, case: &Case<'_>) -> When {
    let client = &case.facts.client;
    let since = |at_us: u64| Duration::from_micros(at_us.saturating_sub(from.latest_us));
    let range = Matcher::Range {
        at_least: None,
        at_most: Some(closing.within),
    };
    let held = |at_us: u64, n: u64| {
        let delay = client.run_delay.between(from.mark.at_us, at_us);
        match bounded(&range, since(at_us), delay) {
            Bounded::Within | Bounded::TooShort => None,
            Bounded::TooLong => Some(When::Late(since(at_us), n)),
            Bounded::Doubtful(why) => Some(When::Unsure(why)),
        }
    };
    // What the harness makes a client do, the client has not done by itself.
    let made = client.made_to_end();
    if let Some(made) = made
        && line.end.is_none_or(|end| end.latest_us() >= made.at_us)
    {
        let why = "it was open when the client was made to end, which was too early to tell";
        let late = held(made.at_us, made.n);
        let early = line.end.is_some_and(|end| end.earliest_us() < made.at_us);
        return match late {
            Some(late) if !early => late,
            _ => When::Unsure(why.to_owned()),
        };
    }
    let Some(end) = line.end else {
        let last = Mark {
            at_us: client.last_us,
            n: from.mark.n,
        };
        return held(last.at_us, last.n)
            .unwrap_or_else(|| When::Unsure("the record ends too early".to_owned()));
    };
    if end.by_client.is_none() {
        return When::Nothing;
    }
    if let Some(late) = held(end.earliest_us(), end.mark.n) {
        return late;
    }
    let limit = from.mark.at_us.saturating_add(micros(closing.within));
    if end.latest_us() <= limit {
        return When::InTime(end);
    }
    When::Unsure(format!(
        "its RST came within {}, as the server noticed it; when it was sent is not known",
        since(end.latest_us()).words()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ClientEvent;
    use crate::plan::Plan;
    use crate::testing::{Story, plan, respond, server};
    use crate::verdict::EndedBy;
    use scripted_servers::event::What;

    fn case() -> Plan {
        plan([server("api").step(respond(500))]).call("GET", "api", "/x")
    }

    fn expecting(how: Option<Ending>, within: u64) -> Assertion {
        Assertion::ClientClosed(ClosedExpected {
            server: "api".to_owned(),
            is: Some(Closing {
                how,
                from: Moment::Report,
                within: Duration::from_millis(within),
            }),
        })
    }

    /// Reported at 100 ms.
    fn story() -> Story {
        Story::new()
            .request(5, "api", 1, "GET /x")
            .answering(6, ("api", 1, 1), 500, "no", false)
            .shows(100, 1, 500, "no")
    }

    fn ends(story: Story, noticed: u64, how: Ending, arrived: Option<u64>, alive: u64) -> Story {
        let ended = What::PeerEnded {
            how,
            arrived_us: arrived.map(|at| at * 1000),
            alive_us: alive * 1000,
        };
        story.server(noticed, ("api", 1, 0), ended).exit(900, 0)
    }

    #[test]
    fn a_connection_is_ended_in_time_or_too_late() {
        let fin = |at| ends(story(), at, Ending::Fin, Some(at), 50);
        fin(300).check(&case(), &expecting(None, 200)).assert_good();
        fin(60).check(&case(), &expecting(None, 200)).assert_good();
        let late = fin(302).check(&case(), &expecting(None, 200));
        assert_eq!(late.names(), [FindingName::UnboundedRead]);
        assert_eq!(late.raised[0].observed, "connection 1 open for 202ms");
    }

    #[test]
    fn another_end_than_the_expected_one_is_wrong() {
        let fin = ends(story(), 150, Ending::Fin, Some(150), 50);
        fin.check(&case(), &expecting(Some(Ending::Fin), 200))
            .assert_good();
        let other = fin.check(&case(), &expecting(Some(Ending::Reset), 200));
        assert_eq!(other.raised[0].observed, "FIN on connection 1");
    }

    #[test]
    fn a_reset_is_late_only_if_the_connection_was_seen_alive_too_late() {
        let reset = |alive| ends(story(), 500, Ending::Reset, None, alive);
        let late = reset(400).check(&case(), &expecting(None, 200));
        assert_eq!(late.names(), [FindingName::UnboundedRead]);
        let unsure = reset(290).check(&case(), &expecting(None, 200));
        unsure.assert_nothing();
        assert_eq!(unsure.doubts.len(), 1);
        reset(290)
            .check(&case(), &expecting(None, 400))
            .assert_good();
    }

    #[test]
    fn what_load_explains_is_a_doubt() {
        let late = ends(story(), 350, Ending::Fin, Some(350), 50);
        let late = late.client(901, ClientEvent::RunDelay { micros: 100_000 });
        let unsure = late.check(&case(), &expecting(None, 200));
        assert_eq!((unsure.names().len(), unsure.doubts.len()), (0, 1));
    }

    #[test]
    fn an_end_that_the_harness_made_is_not_the_clients() {
        let told = |at| {
            let told = story().client(at, ClientEvent::FinishSent);
            let ended = What::PeerEnded {
                how: Ending::Fin,
                arrived_us: Some((at + 5) * 1000),
                alive_us: 0,
            };
            let told = told.server(at + 5, ("api", 1, 0), ended);
            told.end(at + 50, EndedBy::Finish)
        };
        let late = told(400).check(&case(), &expecting(None, 200));
        assert_eq!(late.names(), [FindingName::UnboundedRead]);
        let early = told(200).check(&case(), &expecting(None, 200));
        assert_eq!((early.names().len(), early.doubts.len()), (0, 1));
    }

    #[test]
    fn a_connection_that_the_server_ended_or_that_came_later_says_nothing() {
        let ended = story().ended(90, ("api", 1, 1), Ending::Reset);
        ended.check(&case(), &expecting(None, 200)).assert_nothing();
        let later = ends(story(), 90, Ending::Fin, Some(90), 50);
        let later = later.request(150, "api", 2, "GET /x");
        later.check(&case(), &expecting(None, 200)).assert_good();
        let none = Story::new().request(5, "api", 1, "GET /x");
        none.check(&case(), &expecting(None, 200)).assert_nothing();
    }
}
