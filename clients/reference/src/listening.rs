//! The events of a list, as the caller of one call gets them.
//!
//! What a caller was given it has: a list that breaks off can not be asked for
//! again from its beginning without giving it the same events twice.

use client_kit::events::EventReader;
use client_kit::protocol::Stream;

/// What a caller got so far.
#[derive(Debug, Default)]
pub(crate) struct Listening {
    reader: EventReader,
    ends_with: Option<String>,
    ids: Vec<String>,
    given: usize,
    ended: bool,
}

impl Listening {
    /// To a list that ends like this.
    pub(crate) fn to(stream: &Stream) -> Self {
        Self {
            ends_with: stream.ends_with.clone(),
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

    /// Whether the caller has got anything.
    pub(crate) fn has_begun(&self) -> bool {
        self.given > 0
    }

    /// The ids of all that the caller got.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.ids.clone()
    }
}
