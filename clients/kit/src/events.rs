//! Reads a list of server-sent events (WHATWG HTML, section 9.2.6) as its bytes
//! come, and remembers which ones a caller was given.

/// What has been read of a list.
#[derive(Clone, Debug, Default)]
pub struct EventReader {
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// Whether the last byte was a CR, whose LF belongs to it.
    after_cr: bool,
    /// Whether a line has been read, before which a byte order mark may stand.
    begun: bool,
    id: Option<String>,
    data: Option<String>,
}

/// An event that was dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The id that it came with.
    pub id: Option<String>,
    /// Its data.
    pub data: String,
}

impl EventReader {
    /// Takes the next bytes; the events that they complete. What is left at the
    /// end without an empty line behind it is no event.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for byte in bytes {
            let after_cr = std::mem::replace(&mut self.after_cr, *byte == b'\r');
            match byte {
                b'\n' if after_cr => {}
                b'\r' | b'\n' => events.extend(self.end_line()),
                byte => self.line.push(*byte),
            }
        }
        events
    }

    /// The id of an event whose end has not come.
    pub fn begun(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let first = !std::mem::replace(&mut self.begun, true);
        let line = match line.strip_prefix('\u{feff}') {
            Some(rest) if first => rest,
            _ => &line,
        };
        if line.is_empty() {
            let id = self.id.take();
            let data = self.data.take()?;
            return Some(Event { id, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // A comment, `event`, `retry`, or what nobody knows.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Option<String>, String)> {
        let events = EventReader::default().take(text.as_bytes());
        events.into_iter().map(|one| (one.id, one.data)).collect()
    }

    fn event(id: &str, data: &str) -> (Option<String>, String) {
        let id = (!id.is_empty()).then(|| id.to_owned());
        (id, data.to_owned())
    }

    #[test]
    fn events_end_with_an_empty_line_whatever_ends_the_lines() {
        for end in ["\n", "\r", "\r\n"] {
            let text = "id: 1\nevent: x\ndata: a\ndata: b\n\n: no\nid:2\ndata:c\n\n";
            let wanted = [event("1", "a\nb"), event("2", "c")];
            assert_eq!(read(&text.replace('\n', end)), wanted, "{end:?}");
        }
    }

    #[test]
    fn what_is_not_ended_or_has_no_data_is_no_event() {
        assert_eq!(read("id: 1\ndata: a\n"), []);
        assert_eq!(read("id: 1\ndata: a\n\nid: 2\ndata: b"), [event("1", "a")]);
        assert_eq!(read("id: 1\n\ndata\n\n"), [event("", "")]);
        assert_eq!(read("data:  two\n\n"), [event("", " two")]);
    }

    #[test]
    fn an_event_that_has_not_ended_has_begun() {
        let mut reader = EventReader::default();
        reader.take(b"id: 1\ndata: a\n\nid: 2\ndat");
        assert_eq!(reader.begun(), Some("2"));
        reader.take(b"a: b\n\n");
        assert_eq!(reader.begun(), None);
    }

    #[test]
    fn a_byte_order_mark_may_stand_at_the_begin_only() {
        assert_eq!(read("\u{feff}data: a\n\n"), [event("", "a")]);
        assert_eq!(read("data: a\n\n\u{feff}data: b\n\n"), [event("", "a")]);
    }

    #[test]
    fn bytes_in_any_two_pieces_give_the_same_events() {
        let bytes = "id: 1\r\ndata: ä\r\n\r\n\rdata: b\n\ndata: c\r\rid: 4".as_bytes();
        let whole = EventReader::default().take(bytes);
        assert_eq!(whole.len(), 3);
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            let mut reader = EventReader::default();
            let mut events = reader.take(first);
            events.extend(reader.take(second));
            assert_eq!(events, whole, "{cut}");
        }
    }
}
