//! A time with the entry that tells it.

/// When something happened, and the number of the entry that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    /// Microseconds since the cell began. For bytes: when they arrived.
    pub at_us: u64,
    /// Number of the entry.
    pub n: u64,
}

impl Mark {
    /// The same entry, at the time since when what it says was so; 0: unknown.
    pub(super) fn since(self, since_us: u64) -> Self {
        let at_us = if since_us == 0 { self.at_us } else { since_us };
        Self { at_us, ..self }
    }
}
