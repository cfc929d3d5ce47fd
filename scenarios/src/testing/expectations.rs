//! What is expected, and what an assertion found.

use crate::assertions::Assertion;
use crate::counter::Counter;
use crate::expected::Expected;
use crate::expected::counts::{Count, EffectCount};
use crate::judge::checked::Checked;
use crate::matcher::Matcher;
use crate::plan::{Codes, Job, Of, Query};
use crate::template::Piece;
use crate::verdict::FindingName;

use super::url;

pub(crate) fn exactly<T>(value: T) -> Expected<T> {
    Expected::Fits(Matcher::OneOf(vec![value]))
}

pub(crate) fn between<T>(at_least: Option<T>, at_most: Option<T>) -> Expected<T> {
    Expected::Fits(Matcher::Range { at_least, at_most })
}

pub(crate) fn count(counter: &str, expected: Expected<u64>) -> Count {
    Count {
        counter: Counter::parse(counter).unwrap(),
        expected,
    }
}

pub(crate) fn delivered(counter: &str, number: u64) -> Assertion {
    Assertion::Delivered(vec![count(counter, exactly(number))])
}

pub(crate) fn effect(name: &str, expected: Expected<u64>) -> EffectCount {
    EffectCount {
        effect: name.to_owned(),
        expected,
    }
}

impl Checked {
    /// The names of what is wrong.
    pub(crate) fn names(&self) -> Vec<FindingName> {
        self.raised.iter().map(|raised| raised.name).collect()
    }

    /// That something was looked at and nothing is wrong.
    pub(crate) fn assert_good(&self) {
        assert_eq!(self.raised, Vec::new());
        assert_eq!(self.doubts, Vec::<String>::new());
        assert!(self.judged > 0, "nothing was judged");
    }

    /// That there was nothing to look at.
    pub(crate) fn assert_nothing(&self) {
        assert_eq!(self.raised, Vec::new());
        assert_eq!(self.judged, 0);
    }
}

/// A job whose queries go to a path of a server, with the id at its end.
pub(crate) fn job(server: &str, path: &str) -> Job {
    let mut url = url(server, path);
    url.0.push(Piece::Job);
    Job {
        query: Query {
            method: "GET".to_owned(),
            url,
            headers: Vec::new(),
            body: None,
        },
        codes: Codes {
            header: "X-Code".to_owned(),
            done: vec!["0".to_owned()],
            working: Vec::new(),
            refused: Vec::new(),
        },
    }
}

/// The scope of a call.
pub(crate) fn of_call(call: u32) -> Of {
    Of {
        call: Some(call),
        ..Of::default()
    }
}
