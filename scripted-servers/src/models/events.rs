//! `events`: a list of events that goes on behind the last one that a client has.

use serde::{Deserialize, Serialize};

use super::{Asked, Decided, Decision, EventList, ListedEvent, Says};

/// What the list keeps to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// How many events there are; their ids count from 1.
    pub count: u32,
    /// Where a request says the id of the last event that its client has.
    pub cursor: Cursor,
    /// The data of the event behind them all, which has no id; none: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_with: Option<String>,
}

/// Where a request says how far its client has got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cursor {
    /// In the header field of that name (WHATWG HTML, 9.2.4).
    LastEventId,
    /// In this parameter of the query.
    Query(String),
}

pub(super) struct Machine {
    rules: Rules,
}

impl Machine {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules }
    }

    /// The events behind the last one that the client has.
    fn list(&self, has: u32) -> EventList {
        let events = (has + 1..=self.rules.count).map(|id| ListedEvent {
            id: Some(id.to_string()),
            data: format!("event {id}"),
        });
        let end = self.rules.ends_with.iter().map(|data| ListedEvent {
            id: None,
            data: data.clone(),
        });
        EventList {
            left_out: (1..=has).map(|id| id.to_string()).collect(),
            events: events.chain(end).collect(),
        }
    }
}

impl super::Machine for Machine {
    fn ask(&mut self, asked: &Asked<'_>) -> Decision {
        let said = match &self.rules.cursor {
            Cursor::LastEventId => asked.field("Last-Event-ID"),
            Cursor::Query(name) => asked.parameter(name),
        };
        let has = said.map_or(Some(0), |id| id.parse().ok());
        match has.filter(|has| *has <= self.rules.count) {
            Some(has) => Decision::new(Decided::Listed, Says::Lists(self.list(has))),
            None => Decision::refused(Decided::Missing, 404),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::testing::{Request, answered, request};

    fn feed(cursor: Cursor) -> Machine {
        Machine::new(Rules {
            count: 4,
            cursor,
            ends_with: Some("[DONE]".to_owned()),
        })
    }

    fn listed(feed: &mut Machine, request: &Request) -> String {
        let decision = request.ask(feed);
        let Says::Lists(list) = decision.says else {
            panic!("no list: {decision:?}");
        };
        let ids = list.events.iter().map(|event| match &event.id {
            Some(id) => id.clone(),
            None => event.data.clone(),
        });
        let ids = ids.collect::<Vec<_>>().join(" ");
        format!("({}) {ids}", list.left_out.join(" "))
    }

    #[test]
    fn a_list_goes_on_behind_the_last_event_that_the_client_has() {
        let feed = &mut feed(Cursor::LastEventId);
        let from = |id| request(1, "GET /events").field("last-event-id", id);
        assert_eq!(
            listed(feed, &request(1, "GET /events")),
            "() 1 2 3 4 [DONE]"
        );
        assert_eq!(listed(feed, &from("2")), "(1 2) 3 4 [DONE]");
        assert_eq!(listed(feed, &from("4")), "(1 2 3 4) [DONE]");
        assert_eq!(listed(feed, &from("2")), "(1 2) 3 4 [DONE]", "it is kept");
    }

    #[test]
    fn the_query_may_say_it_too() {
        let feed = &mut feed(Cursor::Query("starting_after".to_owned()));
        let from = |target: &str| request(1, &format!("GET /events{target}"));
        assert_eq!(
            listed(feed, &from("?a=1&starting_after=3")),
            "(1 2 3) 4 [DONE]"
        );
        assert_eq!(listed(feed, &from("?a=1")), "() 1 2 3 4 [DONE]");
        let other_place = from("").field("Last-Event-ID", "3");
        assert_eq!(listed(feed, &other_place), "() 1 2 3 4 [DONE]");
    }

    #[test]
    fn behind_an_event_that_is_none_nothing_is_listed() {
        for id in ["5", "-1", "x", ""] {
            let feed = &mut feed(Cursor::LastEventId);
            let from = request(1, "GET /events").field("Last-Event-ID", id);
            assert_eq!(answered(&from.ask(feed)).0, 404, "{id}");
        }
    }
}
