//! `batch`: many items in one request, and a verdict on each.

use serde::{Deserialize, Serialize};

use super::{Asked, Decided, Decision, Reply, Says};
use crate::script::Times;

/// What the batches keep to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// The effect of an item that is taken.
    pub effect: String,
    /// Where the list of items stands in the JSON content, a pointer.
    pub items: String,
    /// Where its number stands in an item, a pointer; it is the business key.
    pub key: String,
    /// Items that are not taken; all others are.
    pub verdicts: Vec<Verdict>,
}

/// An item that is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Its number.
    pub item: u32,
    /// The status that is said of it.
    pub status: u16,
    /// How often.
    pub times: Times,
}

/// What is said of an item that is taken.
const TAKEN: u16 = 200;

pub(super) struct Machine {
    rules: Rules,
}

impl Machine {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules }
    }

    /// The status of an item, whose verdict is then used up.
    fn verdict(&mut self, key: Option<&str>) -> u16 {
        let mut verdicts = self.rules.verdicts.iter_mut();
        let found = verdicts.find(|one| {
            let named = key.is_some_and(|key| key == one.item.to_string());
            named && one.times != Times::Count(0)
        });
        let Some(found) = found else { return TAKEN };
        if let Times::Count(left) = &mut found.times {
            *left -= 1;
        }
        found.status
    }
}

/// The text of a value; none of nothing, lists and maps.
fn text(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

impl super::Machine for Machine {
    fn ask(&mut self, asked: &Asked<'_>) -> Decision {
        let items = asked.json.and_then(|json| json.pointer(&self.rules.items));
        let Some(items) = items.and_then(serde_json::Value::as_array) else {
            return Decision::refused(Decided::NoItems, 400);
        };
        let mut said = Vec::new();
        let mut taken = Vec::new();
        for item in items {
            let key = item.pointer(&self.rules.key).and_then(text);
            let status = self.verdict(key.as_deref());
            said.push(serde_json::json!({ "status": status }));
            if status < 300 {
                taken.push(key);
            }
        }
        let decided = Decided::Items {
            taken: taken.len(),
            of: items.len(),
        };
        let reply = Reply::json(200, &serde_json::json!({ "items": said }));
        let decision = Decision::new(decided, Says::Answers(reply));
        let effect = &self.rules.effect;
        taken
            .into_iter()
            .fold(decision, |decision, key| decision.applies(effect, key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::testing::{answered, request};

    fn rows(verdicts: &[(u32, u16, Times)]) -> Machine {
        let verdicts = verdicts.iter();
        Machine::new(Rules {
            effect: "row".to_owned(),
            items: "/rows".to_owned(),
            key: "/id".to_owned(),
            verdicts: verdicts
                .map(|(item, status, times)| Verdict {
                    item: *item,
                    status: *status,
                    times: *times,
                })
                .collect(),
        })
    }

    /// The statuses that are said of these items, and which of them were taken.
    fn sent(rows: &mut Machine, content: &str) -> (String, Vec<String>) {
        let decision = request(0, "POST /rows").content(content).ask(rows);
        let keys = decision.effects.iter();
        let keys = keys.map(|effect| effect.key.clone().unwrap_or_default());
        (answered(&decision).1, keys.collect())
    }

    #[test]
    fn each_item_has_its_verdict_as_often_as_that_says() {
        let mut rows = rows(&[(2, 503, Times::Count(1)), (3, 422, Times::Always)]);
        let all = r#"{"rows":[{"id":"1"},{"id":2},{"id":3}]}"#;
        let (said, taken) = sent(&mut rows, all);
        assert_eq!(
            said,
            r#"{"items":[{"status":200},{"status":503},{"status":422}]}"#
        );
        assert_eq!(taken, ["1"]);
        let (said, taken) = sent(&mut rows, all);
        assert_eq!(
            said,
            r#"{"items":[{"status":200},{"status":200},{"status":422}]}"#
        );
        assert_eq!(taken, ["1", "2"], "an item that comes twice is done twice");
    }

    #[test]
    fn a_batch_is_refused_when_an_item_of_it_is() {
        let mut rows = rows(&[(2, 422, Times::Always)]);
        let decided = |rows: &mut Machine, content: &str| {
            request(0, "POST /rows").content(content).decided(rows)
        };
        assert!(decided(&mut rows, r#"{"rows":[{"id":1},{"id":2}]}"#).refuses());
        assert!(!decided(&mut rows, r#"{"rows":[{"id":1}]}"#).refuses());
        let none = decided(&mut rows, r#"{"row":1}"#);
        assert_eq!((none.clone(), none.refuses()), (Decided::NoItems, false));
    }
}
