//! Named defects: each is another code path at one place of the client.
//!
//! A scenario says which of them it catches. [`LIST`] is in the order of the
//! names and is what `--defect` accepts; the manifest repeats the names.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// One way to be careless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    missing_docs,
    reason = "LIST says of each what it does, and --help prints it"
)]
pub enum Defect {
    AcceptsBrokenCoding,
    AcceptsConflictingLengths,
    AcceptsListWithoutItsEnd,
    AcceptsMissingLastChunk,
    AcceptsResetAsEnd,
    AcceptsShortBody,
    AddsLayersUp,
    AnnouncesSuccessEarly,
    BeginsASecondSession,
    BreakerNeverCloses,
    BreakerNeverOpens,
    BreakerProbesWithAll,
    CountsAttemptsAsRetries,
    CountsHalfAnEvent,
    CountsRetriesAsAttempts,
    CountsRetriesAsCalls,
    CutsRetryAfterToTheCap,
    DoublesWithoutCap,
    DropsBodyOn307,
    DropsBodyOnRetry,
    DropsCause,
    DropsPreconditionsOnRetry,
    ForgetsEarlierWaits,
    ForgetsWhatWasDone,
    GivesUpAtABare502,
    GivesUpAtAProviderFault,
    GivesUpOn429,
    HedgesAtOnce,
    HedgesPosts,
    HidesBadGateway,
    HidesMisdirection,
    IdleTimerRunsThrough,
    IgnoresAtOnce,
    IgnoresInFlight,
    IgnoresPollSchedule,
    IgnoresRetryAfter,
    IgnoresRetryAfterDate,
    IgnoresRetryShare,
    IgnoresUnreadableLength,
    KeepsEveryConnection,
    KeepsPostOn303,
    KeepsSecretsAcrossOrigins,
    KeepsTheSlowerCopy,
    KnowsOneDoneCode,
    NeverRetries,
    NeverTimesOut,
    NewKeyAfterRestart,
    NewKeyEachAttempt,
    PoisonBlocksTheRest,
    PollsAfterATerminalCode,
    PollsWithoutABudget,
    QueuesWithoutLimit,
    ReadsEndlessErrorBody,
    ReadsErrorBytesAsKibibytes,
    ReadsOnAfterCancel,
    ReadsSecondsAsMilliseconds,
    RedirectsWithoutLimit,
    ReplaysPostOnReusedConnection,
    ReportsBeforeTheRetry,
    ResendsEmptyPosts,
    ResendsOn400,
    ResendsRefusedItems,
    ResendsTheWholeBatch,
    ResubmitsWhenAQueryFails,
    ResumesFromTheStart,
    RetriesInTwoLayers,
    RetriesPostOnClose,
    RetriesPostOnReset,
    RetriesPostOnStatus,
    RetriesPostOnTimeout,
    RetriesWhatWasCancelled,
    RetriesWithoutLimit,
    ReturnsInStep,
    ReusesPoisonedConnection,
    RewritesPostToGetOn307,
    SaysNotSentOnReset,
    SaysNotSentOnTimeout,
    SendsAgainUnasked,
    SendsTwice,
    SharesAbortTimer,
    SleepsThroughCancel,
    StartsListsAgain,
    StaysAtTheFirstOrigin,
    SwallowsErrors,
    TakesInterimAsFinal,
    TakesWorkingForDone,
    TotalForEachAttempt,
    Treats408AsFinal,
    TriesOneAddress,
    TrustsConnectErrorAfterRedirect,
    TrustsRetryAfterOnAnyStatus,
    TrustsStaleConnections,
    WaitsForEvery429,
    WaitsHoweverLong,
    WaitsTheSameEachTime,
    ZeroMeansDefault,
}

/// Every defect with its name and what it does.
pub const LIST: &[(Defect, &str, &str)] = &[
    (
        Defect::AcceptsBrokenCoding,
        "accepts-broken-coding",
        "content counts as whole where its coding is cut short or wrong",
    ),
    (
        Defect::AcceptsConflictingLengths,
        "accepts-conflicting-lengths",
        "of several Content-Lengths that differ it takes the first",
    ),
    (
        Defect::AcceptsListWithoutItsEnd,
        "accepts-list-without-its-end",
        "a list of events counts as whole without its last event",
    ),
    (
        Defect::AcceptsMissingLastChunk,
        "accepts-missing-last-chunk",
        "a chunked body that ends between two chunks counts as whole",
    ),
    (
        Defect::AcceptsResetAsEnd,
        "accepts-reset-as-end",
        "a body framed by the connection's end counts as whole when a reset ends it",
    ),
    (
        Defect::AcceptsShortBody,
        "accepts-short-body",
        "a body shorter than its Content-Length counts as whole",
    ),
    (
        Defect::AddsLayersUp,
        "adds-layers-up",
        "of layers that send again, all retries are one layer's",
    ),
    (
        Defect::AnnouncesSuccessEarly,
        "announces-success-early",
        "an answer that has begun is told as a success, before it is whole",
    ),
    (
        Defect::BeginsASecondSession,
        "begins-a-second-session",
        "a resumable upload that failed is begun anew, in a session of its own",
    ),
    (
        Defect::BreakerNeverCloses,
        "breaker-never-closes",
        "a probe that succeeds leaves the breaker open",
    ),
    (
        Defect::BreakerNeverOpens,
        "breaker-never-opens",
        "a server that fails is asked on and on",
    ),
    (
        Defect::BreakerProbesWithAll,
        "breaker-probes-with-all",
        "when the breaker is half open, all that come are sent",
    ),
    (
        Defect::CountsAttemptsAsRetries,
        "counts-attempts-as-retries",
        "so many attempts as it is told come after the first one",
    ),
    (
        Defect::CountsHalfAnEvent,
        "counts-half-an-event",
        "a list that broke off inside an event goes on behind that event",
    ),
    (
        Defect::CountsRetriesAsAttempts,
        "counts-retries-as-attempts",
        "one attempt of those that it may make is never made",
    ),
    (
        Defect::CountsRetriesAsCalls,
        "counts-retries-as-calls",
        "a retry earns its share of the next one, as a call does",
    ),
    (
        Defect::CutsRetryAfterToTheCap,
        "cuts-retry-after-to-the-cap",
        "of a Retry-After beyond its cap it waits the cap, and sends again",
    ),
    (
        Defect::DoublesWithoutCap,
        "doubles-without-cap",
        "its waits grow for ever",
    ),
    (
        Defect::DropsBodyOn307,
        "drops-body-on-307",
        "307 and 308 are followed with the same method and no content",
    ),
    (
        Defect::DropsBodyOnRetry,
        "drops-body-on-retry",
        "every attempt but the first sends no content",
    ),
    (
        Defect::DropsCause,
        "drops-cause",
        "reports hold neither codes nor numbers nor the start of a body",
    ),
    (
        Defect::DropsPreconditionsOnRetry,
        "drops-preconditions-on-retry",
        "every attempt but the first goes without its If-Match and the like",
    ),
    (
        Defect::ForgetsEarlierWaits,
        "forgets-earlier-waits",
        "each wait alone is held against the limit of all waits",
    ),
    (
        Defect::ForgetsWhatWasDone,
        "forgets-what-was-done",
        "started again after a crash, it begins its work anew",
    ),
    (
        Defect::GivesUpAtABare502,
        "gives-up-at-a-bare-502",
        "a query that a gateway answers, or nobody, ends the job",
    ),
    (
        Defect::GivesUpAtAProviderFault,
        "gives-up-at-a-provider-fault",
        "a code of a job that is in no list ends it",
    ),
    (Defect::GivesUpOn429, "gives-up-on-429", "429 is final"),
    (
        Defect::HedgesAtOnce,
        "hedges-at-once",
        "the second copy is sent with the first, not when that is slow",
    ),
    (
        Defect::HedgesPosts,
        "hedges-posts",
        "a second copy is sent of what may not arrive twice",
    ),
    (
        Defect::HidesBadGateway,
        "hides-bad-gateway",
        "a 502, 503 or 504 without header fields is reported as a refused connection",
    ),
    (
        Defect::HidesMisdirection,
        "hides-misdirection",
        "407 and 421 are reported as a server that cannot be reached",
    ),
    (
        Defect::IdleTimerRunsThrough,
        "idle-timer-runs-through",
        "the idle limit counts from the start of the call, not from the last byte",
    ),
    (
        Defect::IgnoresAtOnce,
        "ignores-at-once",
        "calls that shall be made a few at a time are all made at the same time",
    ),
    (
        Defect::IgnoresInFlight,
        "ignores-in-flight",
        "it opens as many calls as it is given",
    ),
    (
        Defect::IgnoresPollSchedule,
        "ignores-poll-schedule",
        "all queries of a job are as far from each other as the first ones",
    ),
    (
        Defect::IgnoresRetryAfter,
        "ignores-retry-after",
        "it waits its own time whatever Retry-After says",
    ),
    (
        Defect::IgnoresRetryAfterDate,
        "ignores-retry-after-date",
        "it reads Retry-After only as seconds, not as a date",
    ),
    (
        Defect::IgnoresRetryShare,
        "ignores-retry-share",
        "each call has all its attempts, whatever all of them cost together",
    ),
    (
        Defect::IgnoresUnreadableLength,
        "ignores-unreadable-length",
        "a Content-Length that is no number is taken for absent",
    ),
    (
        Defect::KeepsEveryConnection,
        "keeps-every-connection",
        "a connection that an answer says will close is used again",
    ),
    (
        Defect::KeepsPostOn303,
        "keeps-post-on-303",
        "303 is followed with the same method and content",
    ),
    (
        Defect::KeepsSecretsAcrossOrigins,
        "keeps-secrets-across-origins",
        "a redirect to another origin takes credentials along",
    ),
    (
        Defect::KeepsTheSlowerCopy,
        "keeps-the-slower-copy",
        "the copy that was too slow is read to its end",
    ),
    (
        Defect::KnowsOneDoneCode,
        "knows-one-done-code",
        "of several codes that say that a job is done, only the first ends it",
    ),
    (
        Defect::NeverRetries,
        "never-retries",
        "one attempt a call, even where another one is safe",
    ),
    (
        Defect::NeverTimesOut,
        "never-times-out",
        "it keeps to no limit of time",
    ),
    (
        Defect::NewKeyAfterRestart,
        "new-key-after-restart",
        "started again after a crash, it makes new Idempotency-Keys",
    ),
    (
        Defect::NewKeyEachAttempt,
        "new-key-each-attempt",
        "every attempt gets an Idempotency-Key of its own",
    ),
    (
        Defect::PoisonBlocksTheRest,
        "poison-blocks-the-rest",
        "behind an item of a batch that is refused, nothing more is sent",
    ),
    (
        Defect::PollsAfterATerminalCode,
        "polls-after-a-terminal-code",
        "a job that was refused is asked after as one that goes on",
    ),
    (
        Defect::PollsWithoutABudget,
        "polls-without-a-budget",
        "a job is asked after for ever",
    ),
    (
        Defect::QueuesWithoutLimit,
        "queues-without-limit",
        "any number of calls wait for their turn",
    ),
    (
        Defect::ReadsEndlessErrorBody,
        "reads-endless-error-body",
        "an error body is read to its end, however long that takes",
    ),
    (
        Defect::ReadsErrorBytesAsKibibytes,
        "reads-error-bytes-as-kibibytes",
        "of an error body it reads 1024 times what it may",
    ),
    (
        Defect::ReadsOnAfterCancel,
        "reads-on-after-cancel",
        "the answer of a cancelled call is read on to its end",
    ),
    (
        Defect::ReadsSecondsAsMilliseconds,
        "reads-seconds-as-milliseconds",
        "a Retry-After of 2 is waited for as 2 milliseconds",
    ),
    (
        Defect::RedirectsWithoutLimit,
        "redirects-without-limit",
        "redirects are followed for ever",
    ),
    (
        Defect::ReplaysPostOnReusedConnection,
        "replays-post-on-reused-connection",
        "a POST whose used connection died is sent again",
    ),
    (
        Defect::ReportsBeforeTheRetry,
        "reports-before-the-retry",
        "it reports the first failure as final and then sends again",
    ),
    (
        Defect::ResendsEmptyPosts,
        "resends-empty-posts",
        "a POST without content is taken for one that may arrive twice",
    ),
    (
        Defect::ResendsOn400,
        "resends-on-400",
        "every 4xx is sent again, whatever the method",
    ),
    (
        Defect::ResendsRefusedItems,
        "resends-refused-items",
        "an item of a batch is sent again, whatever was said of it",
    ),
    (
        Defect::ResendsTheWholeBatch,
        "resends-the-whole-batch",
        "when one item of a request must be sent again, all of them are",
    ),
    (
        Defect::ResubmitsWhenAQueryFails,
        "resubmits-when-a-query-fails",
        "a job whose query fails is submitted again",
    ),
    (
        Defect::ResumesFromTheStart,
        "resumes-from-the-start",
        "an upload goes on from its first byte, whatever the server has",
    ),
    (
        Defect::RetriesInTwoLayers,
        "retries-in-two-layers",
        "below the one that sends again is another one that does",
    ),
    (
        Defect::RetriesPostOnClose,
        "retries-post-on-close",
        "a POST is sent again when the connection was closed before the whole answer",
    ),
    (
        Defect::RetriesPostOnReset,
        "retries-post-on-reset",
        "a POST is sent again when the connection was reset before the whole answer",
    ),
    (
        Defect::RetriesPostOnStatus,
        "retries-post-on-status",
        "a POST is sent again on the statuses that only a GET may be",
    ),
    (
        Defect::RetriesPostOnTimeout,
        "retries-post-on-timeout",
        "a POST is sent again when no answer came in time",
    ),
    (
        Defect::RetriesWhatWasCancelled,
        "retries-what-was-cancelled",
        "a cancelled attempt counts as one that failed, and is made again",
    ),
    (
        Defect::RetriesWithoutLimit,
        "retries-without-limit",
        "it has no limit of attempts, and its waits do not grow",
    ),
    (
        Defect::ReturnsInStep,
        "returns-in-step",
        "no part of its waits is chance",
    ),
    (
        Defect::ReusesPoisonedConnection,
        "reuses-poisoned-connection",
        "a connection on which bytes are left is used again",
    ),
    (
        Defect::RewritesPostToGetOn307,
        "rewrites-post-to-get-on-307",
        "307 and 308 are followed like 303",
    ),
    (
        Defect::SaysNotSentOnReset,
        "says-not-sent-on-reset",
        "a reset before the answer is reported as a refused connection",
    ),
    (
        Defect::SaysNotSentOnTimeout,
        "says-not-sent-on-timeout",
        "silence after sending is reported as a connect timeout",
    ),
    (
        Defect::SendsAgainUnasked,
        "sends-again-unasked",
        "after an unknown outcome it sends again without asking where the truth is known",
    ),
    (
        Defect::SendsTwice,
        "sends-twice",
        "every request is sent twice, and the first answer thrown away",
    ),
    (
        Defect::SharesAbortTimer,
        "shares-abort-timer",
        "all attempts have the time of one",
    ),
    (
        Defect::SleepsThroughCancel,
        "sleeps-through-cancel",
        "a wait between two attempts does not end with a cancel, and the next attempt is made",
    ),
    (
        Defect::StartsListsAgain,
        "starts-lists-again",
        "a list that broke off is asked for again, and its first events are given twice",
    ),
    (
        Defect::StaysAtTheFirstOrigin,
        "stays-at-the-first-origin",
        "a redirect to another origin is followed at the old one",
    ),
    (
        Defect::SwallowsErrors,
        "swallows-errors",
        "every error is reported as an empty 200",
    ),
    (
        Defect::TakesInterimAsFinal,
        "takes-interim-as-final",
        "an interim answer (1xx) is taken for the answer",
    ),
    (
        Defect::TakesWorkingForDone,
        "takes-working-for-done",
        "every good answer to a query is taken for the result",
    ),
    (
        Defect::TotalForEachAttempt,
        "total-for-each-attempt",
        "every attempt has the whole total limit for itself",
    ),
    (
        Defect::Treats408AsFinal,
        "treats-408-as-final",
        "408 is final",
    ),
    (
        Defect::TriesOneAddress,
        "tries-one-address",
        "of several addresses of a host only the first is tried",
    ),
    (
        Defect::TrustsConnectErrorAfterRedirect,
        "trusts-connect-error-after-redirect",
        "a refused redirect target counts as never sent, so it is sent again from the start",
    ),
    (
        Defect::TrustsRetryAfterOnAnyStatus,
        "trusts-retry-after-on-any-status",
        "whatever carries a Retry-After is sent again",
    ),
    (
        Defect::TrustsStaleConnections,
        "trusts-stale-connections",
        "a kept connection is used without a look whether the server has ended it",
    ),
    (
        Defect::WaitsForEvery429,
        "waits-for-every-429",
        "a 429 is waited for, though its content says that waiting does not help",
    ),
    (
        Defect::WaitsHoweverLong,
        "waits-however-long",
        "a Retry-After is waited for however long it is, and no total limit ends it",
    ),
    (
        Defect::WaitsTheSameEachTime,
        "waits-the-same-each-time",
        "its waits do not grow",
    ),
    (
        Defect::ZeroMeansDefault,
        "zero-means-default",
        "Retry-After: 0 is taken for absent, and three seconds are waited",
    ),
];

/// The defects that are switched on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defects(BTreeSet<Defect>);

impl Defects {
    /// Switches one on.
    #[must_use]
    pub fn with(mut self, defect: Defect) -> Self {
        self.0.insert(defect);
        self
    }

    /// Whether one is on.
    pub(crate) fn has(&self, defect: Defect) -> bool {
        self.0.contains(&defect)
    }
}

/// The defect of this name.
pub fn named(name: &str) -> Option<Defect> {
    LIST.iter()
        .find(|(_, other, _)| *other == name)
        .map(|(defect, ..)| *defect)
}

/// All names with what they do, a line each.
pub fn help() -> String {
    LIST.iter()
        .fold(String::new(), |mut text, (_, name, does)| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  {name:38} {does}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_by_name_and_in_the_order_of_the_enum() {
        assert!(LIST.windows(2).all(|pair| pair[0].1 < pair[1].1));
        assert!(LIST.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn the_list_names_every_defect() {
        // The last one of the enum has as many before it as the list.
        let last = Defect::ZeroMeansDefault as usize;
        assert_eq!(LIST.len(), last + 1);
    }

    #[test]
    fn a_name_is_found_and_a_stranger_is_not() {
        assert_eq!(named("sends-twice"), Some(Defect::SendsTwice));
        assert_eq!(named("sends-thrice"), None);
    }
}
