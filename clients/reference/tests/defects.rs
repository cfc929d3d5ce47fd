//! Every defect is a real one: the same server shows the good client and the
//! defective one, and what arrived or what was shown differs in the named way.

mod support;

use std::time::Duration;

use client_kit::protocol::{Call, Limits, Message};
use reference_client::defects::{Defect, Defects, LIST};
use support::{Act, Server, answer, call, closed, make, ok, shown, status};

/// One defect's proof. What is observed is written as the requests that arrived
/// (`POST:3` is a POST with three bytes of content; `+auth` one with
/// credentials, `+guard` one with If-Match, and `+KEY` one with that
/// Idempotency-Key, `+after:ID` one with that Last-Event-ID) and what was shown.
struct Case {
    defect: Defect,
    script: Vec<Act>,
    calls: fn(&Server) -> Vec<Call>,
    limits: Limits,
    /// Whether the connections are a part of what is observed.
    counts_connections: bool,
    good: &'static str,
    bad: &'static str,
}

impl Case {
    fn new(defect: Defect, method: &'static str, script: Vec<Act>) -> Self {
        let calls: fn(&Server) -> Vec<Call> = match method {
            "POST" => |server| vec![call("POST", server.url("/"))],
            "PUT" => |server| vec![call("PUT", server.url("/"))],
            _ => |server| vec![call("GET", server.url("/"))],
        };
        Self {
            defect,
            script,
            calls,
            limits: Limits::default(),
            counts_connections: false,
            good: "",
            bad: "",
        }
    }

    fn counting_connections(mut self) -> Self {
        self.counts_connections = true;
        self
    }

    fn calls(mut self, calls: fn(&Server) -> Vec<Call>) -> Self {
        self.calls = calls;
        self
    }

    fn idle(mut self, idle: u64) -> Self {
        self.limits.idle_ms = Some(idle);
        self
    }

    fn total(mut self, total: u64) -> Self {
        self.limits.total_ms = Some(total);
        self
    }

    fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = Some(attempts);
        self
    }

    fn tells(mut self, good: &'static str, bad: &'static str) -> Self {
        (self.good, self.bad) = (good, bad);
        self
    }

    /// Makes the calls; a request that is still on its way to the server is
    /// waited for.
    fn observe(&self, defects: &Defects, wanted: &str) -> String {
        let server = Server::start(self.script.clone());
        let messages = make((self.calls)(&server), self.limits.clone(), defects);
        let mut observed = self.arrived(&server, &messages);
        for _ in 0..200 {
            if observed == wanted {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(5));
            observed = self.arrived(&server, &messages);
        }
        observed
    }

    fn arrived(&self, server: &Server, messages: &[Message]) -> String {
        let arrived: Vec<_> = server
            .seen()
            .iter()
            .map(|seen| {
                let auth = seen.header("authorization").map_or("", |_| "+auth");
                let guard = seen.header("if-match").map_or("", |_| "+guard");
                let key = seen.header("idempotency-key");
                let key = key.map_or_else(String::new, |key| format!("+{key}"));
                let last = seen.header("last-event-id");
                let last = last.map_or_else(String::new, |id| format!("+after:{id}"));
                let length = seen.body.len();
                format!("{}:{length}{auth}{guard}{key}{last}", seen.method)
            })
            .collect();
        let on = match server.connections() {
            count if self.counts_connections => format!(" on {count}"),
            _ => String::new(),
        };
        format!("{}{on} -> {}", arrived.join(" "), shown(messages))
    }
}

fn send(head_and_body: &str) -> Act {
    Act::Send(head_and_body.to_owned())
}

fn close(bytes: &str) -> Act {
    Act::SendClose(bytes.to_owned())
}

fn reset(bytes: &str) -> Act {
    Act::SendReset(bytes.to_owned())
}

const SHORT: &str = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello";
const CHUNKS: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
const UNFRAMED: &str = "HTTP/1.1 200 OK\r\n\r\nhello";

fn bodies() -> Vec<Case> {
    let two_lengths = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\nok";
    let long = answer(500, "", &"no ".repeat(2000));
    let interim = format!("HTTP/1.1 103 Early Hints\r\n\r\n{}", answer(200, "", "ok"));
    let no_number = "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok";
    let no_coding = answer(200, "Content-Encoding: gzip\r\n", "ok");
    vec![
        Case::new(Defect::AcceptsBrokenCoding, "GET", vec![send(&no_coding)])
            .tells("GET:0 -> MALFORMED_ANSWER", "GET:0 -> 200:0"),
        Case::new(
            Defect::IgnoresUnreadableLength,
            "GET",
            vec![close(no_number)],
        )
        .tells("GET:0 -> MALFORMED_ANSWER", "GET:0 -> 200:2"),
        Case::new(
            Defect::AcceptsConflictingLengths,
            "GET",
            vec![close(two_lengths)],
        )
        .tells("GET:0 -> MALFORMED_ANSWER", "GET:0 -> 200:2"),
        Case::new(Defect::AcceptsMissingLastChunk, "POST", vec![close(CHUNKS)])
            .tells("POST:3 -> ANSWER_TRUNCATED", "POST:3 -> 200:5"),
        Case::new(Defect::AcceptsResetAsEnd, "POST", vec![reset(UNFRAMED)])
            .tells("POST:3 -> ANSWER_TRUNCATED", "POST:3 -> 200:5"),
        Case::new(Defect::AcceptsShortBody, "POST", vec![close(SHORT)])
            .tells("POST:3 -> ANSWER_TRUNCATED", "POST:3 -> 200:5"),
        Case::new(Defect::AcceptsShortBody, "POST", vec![reset(SHORT)])
            .tells("POST:3 -> ANSWER_TRUNCATED", "POST:3 -> 200:5"),
        Case::new(Defect::ReadsEndlessErrorBody, "POST", vec![send(&long)])
            .tells("POST:3 -> 500:cut", "POST:3 -> 500:6000"),
        Case::new(Defect::TakesInterimAsFinal, "GET", vec![send(&interim)])
            .tells("GET:0 -> 200:2", "GET:0 -> 103:0"),
    ]
}

fn lists() -> Vec<Case> {
    let list = |server: &Server| {
        let mut list = call("GET", server.url("/"));
        list.stream = Some(client_kit::protocol::Stream {
            ends_with: Some("end".to_owned()),
            ..client_kit::protocol::Stream::default()
        });
        vec![list]
    };
    let with_cursor = |server: &Server| {
        let mut list = call("GET", server.url("/"));
        list.stream = Some(client_kit::protocol::Stream {
            ends_with: None,
            cursor: Some(client_kit::protocol::Cursor::LastEventId),
        });
        vec![list]
    };
    let head = "HTTP/1.1 200 OK\r\n\r\n";
    let begun = format!("{head}id: 1\ndata: a\n\n");
    let whole = format!("{begun}data: end\n\n");
    let rest = format!("{head}id: 2\ndata: b\n\n");
    vec![
        Case::new(Defect::AcceptsListWithoutItsEnd, "", vec![close(&begun)])
            .calls(list)
            .tells("GET:0 -> ANSWER_TRUNCATED [1]", "GET:0 -> 200:15 [1]"),
        Case::new(
            Defect::StartsListsAgain,
            "",
            vec![reset(&begun), close(&whole)],
        )
        .calls(list)
        .tells(
            "GET:0 -> ANSWER_TRUNCATED [1]",
            "GET:0 GET:0 -> 200:26 [1,1]",
        ),
        Case::new(
            Defect::StartsListsAgain,
            "",
            vec![reset(&begun), close(&rest)],
        )
        .calls(with_cursor)
        .tells(
            "GET:0 GET:0+after:1 -> 200:15 [1,2]",
            "GET:0 GET:0 -> 200:15 [1,2]",
        ),
        Case::new(
            Defect::CountsHalfAnEvent,
            "",
            vec![reset(&format!("{begun}id: 2\ndat")), close(&rest)],
        )
        .calls(with_cursor)
        .tells(
            "GET:0 GET:0+after:1 -> 200:15 [1,2]",
            "GET:0 GET:0+after:2 -> 200:15 [1,2]",
        ),
    ]
}

fn reports() -> Vec<Case> {
    let silent = Act::Silent(Duration::from_millis(400));
    vec![
        Case::new(Defect::DropsCause, "POST", vec![reset("")])
            .tells("POST:3 -> ECONNRESET", "POST:3 -> ?"),
        Case::new(
            Defect::HidesBadGateway,
            "POST",
            vec![close("HTTP/1.1 502 Bad Gateway\r\n\r\nno")],
        )
        .attempts(1)
        .tells("POST:3 -> 502:2", "POST:3 -> ECONNREFUSED"),
        Case::new(Defect::SaysNotSentOnReset, "POST", vec![reset("")])
            .tells("POST:3 -> ECONNRESET", "POST:3 -> ECONNREFUSED"),
        Case::new(Defect::SaysNotSentOnTimeout, "POST", vec![silent.clone()])
            .idle(100)
            .tells("POST:3 -> IDLE_TIMEOUT", "POST:3 -> CONNECT_TIMEOUT"),
        Case::new(Defect::SwallowsErrors, "POST", vec![reset("")])
            .tells("POST:3 -> ECONNRESET", "POST:3 -> 200:0"),
        Case::new(
            Defect::ReportsBeforeTheRetry,
            "GET",
            vec![status(503), ok()],
        )
        .tells("GET:0 GET:0 -> 200:2", "GET:0 GET:0 -> 503:0"),
        Case::new(
            Defect::IdleTimerRunsThrough,
            "POST",
            vec![Act::Drip(answer(200, "", "ok"), Duration::from_millis(10))],
        )
        .idle(250)
        .tells("POST:3 -> 200:2", "POST:3 -> IDLE_TIMEOUT"),
        Case::new(Defect::NeverTimesOut, "POST", vec![silent.clone()])
            .idle(100)
            .tells("POST:3 -> IDLE_TIMEOUT", "POST:3 -> CLOSED_BEFORE_ANSWER"),
        Case::new(Defect::NeverTimesOut, "POST", vec![silent])
            .total(100)
            .tells("POST:3 -> TOTAL_TIMEOUT", "POST:3 -> CLOSED_BEFORE_ANSWER"),
    ]
}

fn retries() -> Vec<Case> {
    let silent = Act::Silent(Duration::from_millis(400));
    let post = |defect, act| Case::new(defect, "POST", vec![act, ok()]);
    vec![
        Case::new(Defect::DropsBodyOnRetry, "PUT", vec![status(503), ok()])
            .tells("PUT:3 PUT:3 -> 200:2", "PUT:3 PUT:0 -> 200:2"),
        Case::new(Defect::GivesUpOn429, "GET", vec![status(429), ok()])
            .tells("GET:0 GET:0 -> 200:2", "GET:0 -> 429:0"),
        Case::new(Defect::NeverRetries, "GET", vec![status(503), ok()])
            .tells("GET:0 GET:0 -> 200:2", "GET:0 -> 503:0"),
        post(Defect::ResendsOn400, status(400)).tells("POST:3 -> 400:0", "POST:3 POST:3 -> 200:2"),
        post(Defect::RetriesPostOnClose, close(""))
            .tells("POST:3 -> CLOSED_BEFORE_ANSWER", "POST:3 POST:3 -> 200:2"),
        post(Defect::RetriesPostOnClose, close(SHORT))
            .tells("POST:3 -> ANSWER_TRUNCATED", "POST:3 POST:3 -> 200:2"),
        post(Defect::RetriesPostOnReset, reset(""))
            .tells("POST:3 -> ECONNRESET", "POST:3 POST:3 -> 200:2"),
        post(Defect::RetriesPostOnReset, reset(SHORT))
            .tells("POST:3 -> ANSWER_TRUNCATED", "POST:3 POST:3 -> 200:2"),
        post(Defect::RetriesPostOnStatus, status(503))
            .tells("POST:3 -> 503:0", "POST:3 POST:3 -> 200:2"),
        post(Defect::RetriesPostOnTimeout, silent)
            .idle(100)
            .tells("POST:3 -> IDLE_TIMEOUT", "POST:3 POST:3 -> 200:2"),
        Case::new(
            Defect::WaitsHoweverLong,
            "GET",
            vec![Act::Send(answer(429, "Retry-After: 1\r\n", "")), ok()],
        )
        .total(500)
        .tells("GET:0 -> 429:0", "GET:0 GET:0 -> 200:2"),
        Case::new(
            Defect::RetriesWithoutLimit,
            "GET",
            vec![status(503), status(503), status(503), status(503), ok()],
        )
        .tells(
            "GET:0 GET:0 GET:0 -> 503:0",
            "GET:0 GET:0 GET:0 GET:0 GET:0 -> 200:2",
        ),
        Case::new(Defect::SendsTwice, "POST", vec![ok()])
            .tells("POST:3 -> 200:2", "POST:3 POST:3 -> 200:2"),
        Case::new(Defect::Treats408AsFinal, "GET", vec![status(408), ok()])
            .tells("GET:0 GET:0 -> 200:2", "GET:0 -> 408:0"),
    ]
}

fn causes() -> Vec<Case> {
    let spent = answer(
        429,
        "Retry-After: 0\r\n",
        r#"{"error":{"code":"insufficient_quota"}}"#,
    );
    let spent = vec![Act::Send(spent), ok()];
    let case = Case::new(Defect::WaitsForEvery429, "GET", spent);
    vec![case.tells("GET:0 -> 429:39", "GET:0 GET:0 -> 200:2")]
}

fn redirects() -> Vec<Case> {
    let to = |status, place: &str| Act::Send(answer(status, &format!("Location: {place}\r\n"), ""));
    let mut loops = vec![to(302, "/"); 7];
    loops.push(ok());
    // The same server under another name is another origin.
    let with_secret = |server: &Server| {
        let url = format!("http://localhost:{}/", server.address.port());
        let mut call = call("GET", url);
        let secret = ("Authorization".to_owned(), "Bearer s".to_owned());
        call.headers.push(secret);
        vec![call]
    };
    vec![
        Case::new(Defect::KeepsPostOn303, "POST", vec![to(303, "/"), ok()])
            .tells("POST:3 GET:0 -> 200:2", "POST:3 POST:3 -> 200:2"),
        Case::new(
            Defect::KeepsSecretsAcrossOrigins,
            "GET",
            vec![to(302, "http://127.0.0.1:{port}/"), ok()],
        )
        .calls(with_secret)
        .tells(
            "GET:0+auth GET:0 -> 200:2",
            "GET:0+auth GET:0+auth -> 200:2",
        ),
        Case::new(Defect::RedirectsWithoutLimit, "GET", loops).tells(
            "GET:0 GET:0 GET:0 GET:0 GET:0 GET:0 -> TOO_MANY_REDIRECTS",
            "GET:0 GET:0 GET:0 GET:0 GET:0 GET:0 GET:0 GET:0 -> 200:2",
        ),
        Case::new(Defect::DropsBodyOn307, "POST", vec![to(307, "/"), ok()])
            .tells("POST:3 POST:3 -> 200:2", "POST:3 POST:0 -> 200:2"),
        Case::new(
            Defect::StaysAtTheFirstOrigin,
            "GET",
            vec![to(302, &closed()), ok()],
        )
        .attempts(1)
        .tells("GET:0 -> EARLIER_REQUEST_SENT", "GET:0 GET:0 -> 200:2"),
        Case::new(
            Defect::RewritesPostToGetOn307,
            "POST",
            vec![to(307, "/"), ok()],
        )
        .tells("POST:3 POST:3 -> 200:2", "POST:3 GET:0 -> 200:2"),
        // The server has its port at 127.0.0.1 only.
        Case::new(Defect::TriesOneAddress, "POST", vec![ok()])
            .calls(|server| {
                let url = server.url("/").replace("127.0.0.1", "localhost");
                vec![call("POST", url)]
            })
            .tells("POST:3 -> 200:2", " -> ECONNREFUSED"),
        Case::new(
            Defect::TrustsConnectErrorAfterRedirect,
            "POST",
            vec![to(307, &closed())],
        )
        .tells(
            "POST:3 -> EARLIER_REQUEST_SENT",
            "POST:3 POST:3 POST:3 -> ECONNREFUSED",
        ),
    ]
}

fn connections() -> Vec<Case> {
    let get_then_post = |server: &Server| {
        let mut post = call("POST", server.url("/2"));
        post.pause_ms = 100;
        vec![call("GET", server.url("/1")), post]
    };
    let two_gets =
        |server: &Server| vec![call("GET", server.url("/1")), call("GET", server.url("/2"))];
    let surplus = format!("{}{}", answer(200, "", "a"), answer(200, "", "poison"));
    let half_closed = Act::SendHalfClose(answer(200, "", "ok"));
    let closing = Act::Send(answer(200, "Connection: close\r\n", "ok"));
    vec![
        Case::new(Defect::KeepsEveryConnection, "", vec![closing, ok()])
            .calls(get_then_post)
            .counting_connections()
            .tells(
                "GET:0 POST:3 on 2 -> 200:2 200:2",
                "GET:0 POST:3 on 1 -> 200:2 200:2",
            ),
        Case::new(
            Defect::ReplaysPostOnReusedConnection,
            "",
            vec![ok(), reset(""), ok()],
        )
        .calls(get_then_post)
        .tells(
            "GET:0 POST:3 -> 200:2 ECONNRESET",
            "GET:0 POST:3 POST:3 -> 200:2 200:2",
        ),
        Case::new(
            Defect::ReusesPoisonedConnection,
            "",
            vec![Act::Send(surplus), ok()],
        )
        .calls(two_gets)
        .tells("GET:0 GET:0 -> 200:1 200:2", "GET:0 GET:0 -> 200:1 200:6"),
        Case::new(Defect::TrustsStaleConnections, "", vec![half_closed, ok()])
            .calls(get_then_post)
            .tells(
                "GET:0 POST:3 -> 200:2 200:2",
                "GET:0 POST:3 -> 200:2 CLOSED_BEFORE_ANSWER",
            ),
    ]
}

fn post_with(name: &str, value: &str, server: &Server) -> Vec<Call> {
    let mut post = call("POST", server.url("/"));
    post.headers.push((name.to_owned(), value.to_owned()));
    vec![post]
}

/// Which requests may be sent again, how often, and with what.
fn repeats() -> Vec<Case> {
    let guarded = |server: &Server| post_with("If-Match", "1", server);
    let keyed = |server: &Server| post_with("Idempotency-Key", "k", server);
    let empty = |server: &Server| {
        let mut post = call("POST", server.url("/"));
        post.body = None;
        vec![post]
    };
    let again = || vec![status(503), ok()];
    let refused = Act::Send(answer(400, "Retry-After: 0\r\n", ""));
    vec![
        Case::new(Defect::CountsAttemptsAsRetries, "GET", vec![status(503)])
            .attempts(1)
            .tells("GET:0 -> 503:0", "GET:0 GET:0 -> 503:0"),
        Case::new(Defect::CountsRetriesAsAttempts, "GET", again())
            .attempts(2)
            .tells("GET:0 GET:0 -> 200:2", "GET:0 -> 503:0"),
        Case::new(Defect::DropsPreconditionsOnRetry, "", again())
            .calls(guarded)
            .tells(
                "POST:3+guard POST:3+guard -> 200:2",
                "POST:3+guard POST:3 -> 200:2",
            ),
        Case::new(Defect::NewKeyEachAttempt, "", again())
            .calls(keyed)
            .tells("POST:3+k POST:3+k -> 200:2", "POST:3+k POST:3+k-1 -> 200:2"),
        Case::new(Defect::ResendsEmptyPosts, "", vec![close(""), ok()])
            .calls(empty)
            .tells("POST:0 -> CLOSED_BEFORE_ANSWER", "POST:0 POST:0 -> 200:2"),
        Case::new(
            Defect::TrustsRetryAfterOnAnyStatus,
            "POST",
            vec![refused, ok()],
        )
        .tells("POST:3 -> 400:0", "POST:3 POST:3 -> 200:2"),
        Case::new(
            Defect::TotalForEachAttempt,
            "GET",
            vec![Act::Silent(Duration::from_millis(300))],
        )
        .total(500)
        .tells(
            "GET:0 GET:0 -> TOTAL_TIMEOUT",
            "GET:0 GET:0 GET:0 -> CLOSED_BEFORE_ANSWER",
        ),
        Case::new(Defect::HidesMisdirection, "POST", vec![status(421)])
            .attempts(1)
            .tells("POST:3 -> 421:0", "POST:3 -> UNREACHABLE"),
    ]
}

/// Uploads that go on where they broke off: a session, a failure, the question
/// what arrived, and the rest.
fn uploads() -> Vec<Case> {
    let upload = |server: &Server| {
        let mut upload = call("PUT", server.url("/"));
        upload.resumable = true;
        vec![upload]
    };
    let script = || {
        vec![
            Act::Send(answer(200, "Location: /session\r\n", "")),
            status(503),
            Act::Send(answer(308, "Range: bytes=0-0\r\n", "")),
            ok(),
        ]
    };
    let good = "POST:0 PUT:3 PUT:0 PUT:2 -> 200:2";
    vec![
        Case::new(Defect::BeginsASecondSession, "", script())
            .calls(upload)
            .tells(good, "POST:0 PUT:3 POST:0 -> 308:0"),
        Case::new(Defect::ResumesFromTheStart, "", script())
            .calls(upload)
            .tells(good, "POST:0 PUT:3 PUT:0 PUT:3 -> 200:2"),
    ]
}

/// A POST of which the server that it goes to can tell what became of it.
fn told(server: &Server) -> Vec<Call> {
    vec![Call {
        look_up: Some(server.url("/orders/1")),
        ..call("POST", server.url("/orders"))
    }]
}

fn look_ups() -> Vec<Case> {
    let case = |script| Case::new(Defect::SendsAgainUnasked, "", script).calls(told);
    let close = || Act::SendClose(String::new());
    vec![
        case(vec![close(), ok()]).tells("POST:3 GET:0 -> 200:2", "POST:3 POST:3 -> 200:2"),
        // It was not done.
        case(vec![close(), status(404), ok()])
            .tells("POST:3 GET:0 POST:3 -> 200:2", "POST:3 POST:3 -> 404:0"),
        // Nobody can tell.
        case(vec![close(), status(400)]).tells("POST:3 GET:0 -> Held", "POST:3 POST:3 -> 400:0"),
    ]
}

fn cases() -> Vec<Case> {
    let all = [
        bodies(),
        lists(),
        reports(),
        retries(),
        causes(),
        redirects(),
        connections(),
        repeats(),
        uploads(),
        look_ups(),
    ];
    all.into_iter().flatten().collect()
}

#[test]
fn the_good_client_and_the_defective_one_differ_as_named() {
    for case in cases() {
        let good = case.observe(&Defects::default(), case.good);
        assert_eq!(good, case.good, "{:?}: the good client", case.defect);
        let bad = case.observe(&Defects::default().with(case.defect), case.bad);
        assert_eq!(bad, case.bad, "{:?}: the defective client", case.defect);
    }
}

#[test]
fn every_defect_has_a_case() {
    // Those of a cancel are in `cancel.rs`, those of limits in `limits.rs`, those of jobs
    // in `jobs.rs`, of batches in `batch.rs`, of a restart in `checkpoints.rs`, those that
    // a wait or an order shows in `defects_in_time.rs`.
    let elsewhere = [
        Defect::AddsLayersUp,
        Defect::AnnouncesSuccessEarly,
        Defect::BreakerNeverCloses,
        Defect::BreakerNeverOpens,
        Defect::BreakerProbesWithAll,
        Defect::CountsRetriesAsCalls,
        Defect::CutsRetryAfterToTheCap,
        Defect::ForgetsEarlierWaits,
        Defect::ForgetsWhatWasDone,
        Defect::GivesUpAtABare502,
        Defect::GivesUpAtAProviderFault,
        Defect::HedgesAtOnce,
        Defect::HedgesPosts,
        Defect::IgnoresAtOnce,
        Defect::IgnoresInFlight,
        Defect::IgnoresPollSchedule,
        Defect::IgnoresRetryAfter,
        Defect::IgnoresRetryAfterDate,
        Defect::IgnoresRetryShare,
        Defect::KeepsTheSlowerCopy,
        Defect::KnowsOneDoneCode,
        Defect::NewKeyAfterRestart,
        Defect::PoisonBlocksTheRest,
        Defect::PollsAfterATerminalCode,
        Defect::PollsWithoutABudget,
        Defect::QueuesWithoutLimit,
        Defect::ReadsOnAfterCancel,
        Defect::ReadsSecondsAsMilliseconds,
        Defect::ResendsRefusedItems,
        Defect::ResendsTheWholeBatch,
        Defect::ResubmitsWhenAQueryFails,
        Defect::RetriesInTwoLayers,
        Defect::RetriesWhatWasCancelled,
        Defect::SharesAbortTimer,
        Defect::SleepsThroughCancel,
        Defect::TakesWorkingForDone,
        Defect::ZeroMeansDefault,
    ];
    // Those that only change a number are proved where the number is made.
    let of_numbers = [
        Defect::DoublesWithoutCap,
        Defect::ReadsErrorBytesAsKibibytes,
        Defect::ReturnsInStep,
        Defect::WaitsTheSameEachTime,
    ];
    let mut proved: Vec<_> = cases()
        .iter()
        .map(|case| case.defect)
        .chain(elsewhere)
        .chain(of_numbers)
        .collect();
    proved.sort();
    proved.dedup();
    let all: Vec<_> = LIST.iter().map(|(defect, ..)| *defect).collect();
    assert_eq!(proved, all);
}
