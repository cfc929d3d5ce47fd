//! `records`: created by requests, and looked up by their business key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Asked, Decided, Decision, Reply, Says};
use crate::script::Route;
use crate::wire::KeySource;

/// What the book keeps to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The effect of creating a record.
    pub effect: String,
    /// Where the business key is found in a request that creates.
    pub key: KeySource,
    /// Requests that create.
    pub create: Route,
    /// Requests that look up; the key stands in the place of its `*`.
    pub look_up: Route,
}

pub(super) struct Machine {
    rules: Rules,
    created: u64,
    records: BTreeMap<String, Reply>,
}

impl Machine {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules,
            created: 0,
            records: BTreeMap::new(),
        }
    }

    /// Nothing keeps the same key from being created twice: that is two effects.
    fn create(&mut self, asked: &Asked<'_>) -> Decision {
        self.created += 1;
        let key = asked.key(&self.rules.key);
        let effect = &self.rules.effect;
        let record = serde_json::json!({ effect: self.created, "key": key });
        let reply = Reply::json(200, &record);
        if let Some(key) = &key {
            self.records.insert(key.clone(), reply.clone());
        }
        Decision::new(Decided::Created, Says::Answers(reply)).applies(effect, key)
    }
}

impl super::Machine for Machine {
    fn ask(&mut self, asked: &Asked<'_>) -> Decision {
        if asked.is_on(&self.rules.create) {
            return self.create(asked);
        }
        if !asked.is_on(&self.rules.look_up) {
            return Decision::passed();
        }
        match self.records.get(asked.named_by(&self.rules.look_up)) {
            Some(record) => Decision::new(Decided::Found, Says::Answers(record.clone())),
            None => Decision::refused(Decided::Missing, 404),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::models::testing::{answered, request};
    use crate::script::PathPattern;

    fn book() -> Machine {
        Machine::new(Rules {
            effect: "order".to_owned(),
            key: KeySource::Json("/ref".to_owned()),
            create: Route {
                method: Some("POST".to_owned()),
                path: PathPattern::Exact("/orders".to_owned()),
            },
            look_up: Route {
                method: Some("GET".to_owned()),
                path: PathPattern::Prefix("/orders/".to_owned()),
            },
        })
    }

    fn create(book: &mut Machine, key: &str) -> Decision {
        let content = format!(r#"{{"ref":"{key}"}}"#);
        request(1, "POST /orders").content(&content).ask(book)
    }

    #[test]
    fn what_was_created_is_found_by_its_key_and_nothing_else_is() {
        let mut book = book();
        let created = create(&mut book, "A-1");
        let effect = created.effects[0].clone();
        assert_eq!(effect.key.as_deref(), Some("A-1"));
        let found = request(2, "GET /orders/A-1?full=1").ask(&mut book);
        assert_eq!(found.says, created.says);
        assert_eq!(found.effects, []);
        let missing = request(3, "GET /orders/A-2").ask(&mut book);
        assert_eq!(answered(&missing).0, 404);
        assert!(!missing.decided.refuses());
    }

    #[test]
    fn the_same_key_twice_is_two_effects() {
        let mut book = book();
        let effects = [create(&mut book, "A-1"), create(&mut book, "A-1")];
        assert!(effects.iter().all(|one| one.effects.len() == 1));
    }

    #[test]
    fn other_requests_pass() {
        let mut book = book();
        let other = request(1, "DELETE /orders/A-1").ask(&mut book);
        assert_eq!(other, Decision::passed());
    }

    #[test]
    fn a_record_without_a_key_cannot_be_found() {
        let mut book = book();
        let created = request(1, "POST /orders").content("{}").ask(&mut book);
        assert_eq!(created.effects[0].key, None);
    }

    proptest! {
        #[test]
        fn a_key_is_found_once_it_was_created(
            requests in proptest::collection::vec((any::<bool>(), 0_u8..5), 0..40),
        ) {
            let (mut book, mut keys) = (book(), BTreeSet::new());
            for (creates, key) in requests {
                let key = key.to_string();
                if creates {
                    create(&mut book, &key);
                    keys.insert(key);
                } else {
                    let found = request(1, &format!("GET /orders/{key}")).decided(&mut book);
                    prop_assert_eq!(found == Decided::Found, keys.contains(&key));
                }
            }
        }
    }
}
