//! The events of a list, as the caller of one call gets them.
//!
//! What a caller was given it has: a list that breaks off can not be asked for
//! again from its beginning without giving it the same events twice. Where the API
//! has a cursor it is asked for from the last event on that came whole.

use std::fmt::Write as _;

use client_kit::events::EventReader;
use client_kit::protocol::{Cursor, Stream};

use crate::codec;
use crate::defects::{Defect, Defects};
use crate::request::Request;

/// What a caller got so far.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    reader: EventReader,
    ends_with: Option<String>,
    cursor: Option<Cursor>,
    ids: Vec<String>,
    given: usize,
    ended: bool,
}

impl Listening {
    /// To a list that ends like this.
    pub(crate) fn to(stream: &Stream) -> Self {
        Self {
            ends_with: stream.ends_with.clone(),
            cursor: stream.cursor.clone(),
            ..Self::default()
        }
    }

    /// An answer begins.
    pub(crate) fn begin(&mut self) {
        self.reader = EventReader::default();
        self.ended = false;
    }

    /// Takes the next bytes of the answer.
    pub(crate) fn hear(&mut self, bytes: &[u8]) {
        for event in self.reader.take(bytes) {
            self.given += 1;
            self.ended |= self.ends_with.as_ref() == Some(&event.data);
            self.ids.extend(event.id);
        }
    }

    /// Whether the list has come to its end, where it is known how it ends.
    pub(crate) fn is_whole(&self) -> bool {
        self.ended || self.ends_with.is_none()
    }

    /// Whether what is still to come can be asked for without giving the caller
    /// again what it has.
    pub(crate) fn may_go_on(&self) -> bool {
        self.given == 0 || (self.cursor.is_some() && self.last(&Defects::default()).is_some())
    }

    /// The request for what is still to come.
    pub(crate) fn rest(&self, mut request: Request, defects: &Defects) -> Request {
        let Some(last) = self.last(defects) else {
            return request;
        };
        match &self.cursor {
            _ if defects.has(Defect::StartsListsAgain) => {}
            None => {}
            Some(Cursor::LastEventId) => {
                let field = ("Last-Event-ID".to_owned(), last.to_owned());
                request.fields.push(field);
            }
            Some(Cursor::Query(name)) => {
                let target = &mut request.url.target;
                let sign = if target.contains('?') { '&' } else { '?' };
                let _ = write!(target, "{sign}{name}={}", escaped(last));
            }
        }
        request
    }

    /// The id of the last event that the caller got; none where it cannot be sent.
    fn last(&self, defects: &Defects) -> Option<&str> {
        let begun = self.reader.begun();
        let begun = begun.filter(|_| defects.has(Defect::CountsHalfAnEvent));
        let last = begun.or(self.ids.last().map(String::as_str));
        last.filter(|id| codec::is_value(id))
    }

    /// The ids of all that the caller got.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.ids.clone()
    }
}

/// As it stands in a query (RFC 3986 section 2.1).
fn escaped(id: &str) -> String {
    let mut out = String::new();
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use client_kit::protocol::Call;

    use super::*;

    /// The target and the last field of the request for the rest.
    fn rest(cursor: Cursor, url: &str, heard: &str) -> (String, String) {
        let call: Call = serde_json::from_value(serde_json::json!({
            "id": 1, "method": "GET", "url": url,
        }))
        .unwrap();
        let mut listening = Listening::to(&Stream {
            ends_with: None,
            cursor: Some(cursor),
        });
        listening.hear(heard.as_bytes());
        let request = Request::of(&call).unwrap();
        let rest = listening.rest(request, &Defects::default());
        let (name, value) = rest.fields.last().unwrap();
        (rest.url.target.clone(), format!("{name}: {value}"))
    }

    #[test]
    fn the_rest_is_asked_for_behind_the_last_event_that_came_whole() {
        let heard = "id: 1\ndata: a\n\nid: 2\ndata: b\n\nid: 3\nda";
        let by_field = rest(Cursor::LastEventId, "http://a/x", heard);
        assert_eq!(by_field, ("/x".to_owned(), "Last-Event-ID: 2".to_owned()));
        let query = || Cursor::Query("after".to_owned());
        let (target, field) = rest(query(), "http://a/x", heard);
        assert_eq!((&*target, &*field), ("/x?after=2", "Wirefault-Call: 1"));
        assert_eq!(rest(query(), "http://a/x?y=1", heard).0, "/x?y=1&after=2");
        let odd = "id: a b&c\ndata: a\n\n";
        assert_eq!(rest(query(), "http://a/x", odd).0, "/x?after=a%20b%26c");
    }

    #[test]
    fn what_has_no_id_is_not_gone_on_behind() {
        let mut listening = Listening::to(&Stream {
            ends_with: None,
            cursor: Some(Cursor::LastEventId),
        });
        assert!(listening.may_go_on(), "nothing was given");
        listening.hear(b"data: a\n\n");
        assert!(!listening.may_go_on());
        listening.hear(b"id: 1\ndata: a\n\n");
        assert!(listening.may_go_on());
    }
}
