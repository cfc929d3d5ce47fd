//! What each finding means for somebody who uses the client: one or two plain
//! sentences. The one place of these texts.

use scenarios::verdict::FindingName;

/// What it means for a user that this was found.
pub(super) const fn meaning(name: FindingName) -> &'static str {
    match name {
        FindingName::DuplicateDelivery => {
            "A request that must not be repeated reached the server more often than the caller asked for. An order or a payment sent this way is placed twice, unless the server itself refuses the second."
        }
        FindingName::DuplicateEffect => {
            "The server did the same work more than once for one call. The customer pays twice."
        }
        FindingName::Masquerade => {
            "The error says that nothing was sent, and the request had arrived. Whoever believes the error and sends again does the work twice."
        }
        FindingName::FalseSuccess => {
            "The caller is told of a success that there was not, such as half a body taken for a whole one. Wrong data go on without an error."
        }
        FindingName::FabricatedAnswer => {
            "The caller is shown a status that no server sent. What it says of the work is made up."
        }
        FindingName::FalseFailure => {
            "The caller is told that the call failed, and it had succeeded. Sending it again does the work twice."
        }
        FindingName::LostResult => {
            "The server gave a whole result and the caller did not get it. The work is done, and its result is gone."
        }
        FindingName::Hung => {
            "The call came to no end in the time allowed. Whatever waits for it waits as well."
        }
        FindingName::OverBudget => {
            "More requests were sent than the caller allowed. A server in trouble gets more load, and a metered interface costs more."
        }
        FindingName::EarlyRetry => {
            "It sent again sooner than it may, for example before the time that the server asked for. A server in trouble is not left alone."
        }
        FindingName::LateRetry => {
            "It sent again later than expected. The caller waits longer than it has to."
        }
        FindingName::GaveUpEarly => {
            "It sent fewer requests than expected. A call fails that a further attempt could have saved."
        }
        FindingName::KeyChanged => {
            "The idempotency key was another one in a later attempt of the same call. The server can not see that it is the same work, and does it twice."
        }
        FindingName::BodyChanged => {
            "A later request of a call had another body than the first. The server works on other data than the caller gave."
        }
        FindingName::SecretLeaked => {
            "A header field with a secret went to another origin than it was meant for. Whoever runs that server can use it."
        }
        FindingName::UnboundedRead => {
            "It reads on without a limit. A broken or hostile server can fill the memory or keep the call open."
        }
        FindingName::DeliveredAfterClaim => {
            "A request arrived after the caller had been told how the call ended. What the caller does next is based on an end that was none."
        }
        FindingName::UnexpectedRequest => {
            "It sent a request that nothing asked for. It went to a place that the scenario does not know."
        }
        FindingName::WrongOutcome => {
            "The call ended otherwise than expected, such as with an error in place of an answer, or the other way round."
        }
        FindingName::WrongRequest => {
            "A request was not as expected: its method, its header fields or its content. The server is asked for something else."
        }
        FindingName::WrongOrder => {
            "Requests came in another order than expected. Work that builds on earlier work meets it undone."
        }
        FindingName::CauseLost => {
            "The error does not show what caused it. A program can not tell a refused connection from a broken answer, and so not whether it may send again."
        }
        FindingName::Crashed => {
            "The program ended without telling how the call ended. Whether the work was done is not known."
        }
        FindingName::NotCancelled => {
            "It went on with what its caller had given up. Work is done that nobody wants any more."
        }
        FindingName::TooManyInFlight => {
            "More requests were open at the same time than allowed. A server that asked for less gets more."
        }
        FindingName::InStep => {
            "Processes that failed together came back together. A server that has just got up is knocked down again."
        }
        FindingName::FalseProgress => {
            "What it said of a call under way was not so, or came too late. Whoever watches the call is misled."
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use scenarios::validate::FINDINGS;

    use super::*;

    #[test]
    fn every_finding_has_one_or_two_sentences_of_its_own() {
        let mut seen = BTreeSet::new();
        for name in FINDINGS {
            let text = meaning(*name);
            let sentences = text.matches(". ").count() + 1;
            assert!(text.ends_with('.') && sentences <= 2, "{name:?}: {text}");
            assert!(text.starts_with(char::is_uppercase), "{name:?}: {text}");
            assert!(seen.insert(text), "{name:?} has the words of another");
        }
    }
}
