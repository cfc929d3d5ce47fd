//! `idempotency`: the first use of a key runs, and later ones get its result.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Asked, Decided, Decision, Reply, Says};

/// What the store keeps to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The header field that holds the key.
    pub header: String,
    /// The effect of a request that runs.
    pub effect: String,
    /// Status for a key whose first request still runs.
    pub busy: u16,
    /// Status for a key whose first request had other content.
    pub conflict: u16,
    /// How long a request runs.
    pub takes: Duration,
}

pub(super) struct Machine {
    rules: Rules,
    ran: u64,
    kept: BTreeMap<String, Kept>,
}

/// What is known of a key.
struct Kept {
    digest: Option<String>,
    reply: Reply,
    /// When its request is through.
    through: Duration,
}

impl Machine {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            ran: 0,
            kept: BTreeMap::new(),
        }
    }

    fn run(&mut self, key: Option<&str>, asked: &Asked<'_>) -> Decision {
        self.ran += 1;
        let effect = &self.rules.effect;
        let reply = Reply::json(200, &serde_json::json!({ effect: self.ran }));
        if let Some(key) = key {
            let kept = Kept {
                digest: asked.digest.map(str::to_owned),
                reply: reply.clone(),
                through: asked.at + self.rules.takes,
            };
            self.kept.insert(key.to_owned(), kept);
        }
        // A key that a client makes up is no business key: two of them for one
        // call are still the same work done twice.
        Decision {
            takes: self.rules.takes,
            ..Decision::new(Decided::Ran, Says::Answers(reply)).applies(effect, None)
        }
    }
}

impl super::Machine for Machine {
    fn ask(&mut self, asked: &Asked<'_>) -> Decision {
        let key = asked.field(&self.rules.header);
        match key.and_then(|key| self.kept.get(key)) {
            None => self.run(key, asked),
            Some(kept) if kept.digest.as_deref() != asked.digest => {
                Decision::refused(Decided::Conflict, self.rules.conflict)
            }
            Some(kept) if asked.at < kept.through => {
                Decision::refused(Decided::Busy, self.rules.busy)
            }
            Some(kept) => Decision::new(Decided::Stored, Says::Answers(kept.reply.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::models::testing::{Request, answered, request};

    fn store(takes: u64) -> Machine {
        Machine::new(Rules {
            header: "Idempotency-Key".to_owned(),
            effect: "order".to_owned(),
            busy: 409,
            conflict: 422,
            takes: Duration::from_millis(takes),
        })
    }

    fn order(at: u64, key: &str, content: &str) -> Request {
        let request = request(at, "POST /orders").field("idempotency-key", key);
        request.content(content)
    }

    #[test]
    fn the_same_key_gets_the_stored_result_and_runs_once() {
        let mut store = store(0);
        let first = order(1, "k", "a").ask(&mut store);
        assert_eq!(first.decided, Decided::Ran);
        assert!(!first.effects.is_empty());
        let again = order(1, "k", "a").ask(&mut store);
        assert_eq!(
            (again.decided, again.effects),
            (Decided::Stored, Vec::new())
        );
        assert_eq!(again.says, first.says);
        let other = order(2, "l", "a").ask(&mut store);
        assert_eq!(answered(&other), (200, r#"{"order":2}"#.to_owned()));
    }

    #[test]
    fn other_content_under_the_same_key_is_a_conflict() {
        let mut store = store(0);
        order(1, "k", "a").ask(&mut store);
        let other = order(2, "k", "b").ask(&mut store);
        assert_eq!(answered(&other).0, 422);
        assert_eq!(
            request(3, "POST /orders")
                .field("Idempotency-Key", "k")
                .decided(&mut store),
            Decided::Conflict,
            "no content is other content"
        );
        assert_eq!(order(4, "k", "a").decided(&mut store), Decided::Stored);
    }

    #[test]
    fn a_key_is_busy_until_its_first_request_is_through() {
        let mut store = store(100);
        assert_eq!(
            order(10, "k", "a").ask(&mut store).takes,
            Duration::from_millis(100)
        );
        assert_eq!(order(109, "k", "a").decided(&mut store), Decided::Busy);
        assert_eq!(order(110, "k", "a").decided(&mut store), Decided::Stored);
    }

    #[test]
    fn without_a_key_every_request_runs() {
        let mut store = store(100);
        for _ in 0..2 {
            let request = request(1, "POST /orders").content("a");
            assert_eq!(request.decided(&mut store), Decided::Ran);
        }
    }

    proptest! {
        #[test]
        fn a_key_runs_exactly_once_whatever_comes(
            takes in 0_u64..50,
            requests in proptest::collection::vec((0_u64..20, 0_u8..3, 0_u8..2), 0..40),
        ) {
            let mut store = store(takes);
            let (mut at, mut keys) = (0, BTreeSet::new());
            for (later, key, content) in requests {
                at += later;
                let request = order(at, &key.to_string(), &content.to_string());
                let ran = !request.ask(&mut store).effects.is_empty();
                prop_assert_eq!(ran, keys.insert(key));
            }
        }
    }
}
