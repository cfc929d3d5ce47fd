//! The maps that a decoder met in a document: which keys it knew there, and what
//! was written under them. The list of all words comes from this, so that it
//! names what is accepted and nothing else.

use super::{Diagnostics, Key, Node, decode::Keys};

/// A map with known keys, as it was read.
#[derive(Clone, Debug)]
pub struct Met {
    /// The keys that it may have.
    pub keys: &'static Keys,
    /// Those that it has, each with its value in one line.
    pub entries: Vec<(String, String)>,
}

impl Diagnostics {
    /// The same; maps are kept from now on.
    #[must_use]
    pub fn keeping_maps(mut self) -> Self {
        self.met = Some(Vec::new());
        self
    }

    /// The maps that were met since they are kept.
    pub fn met(&self) -> &[Met] {
        self.met.as_deref().unwrap_or_default()
    }

    pub(super) fn meet(&mut self, keys: &'static Keys, entries: &[(Key, Node)]) {
        if let Some(met) = &mut self.met {
            let entries = entries.iter();
            met.push(Met {
                keys,
                entries: entries
                    .map(|(key, value)| (key.text.clone(), value.flow()))
                    .collect(),
            });
        }
    }
}
