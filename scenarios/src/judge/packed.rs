//! Small forms of what exchanges keep, of which there may be a million: marks in
//! twelve bytes, and texts that are shared where they are equal.
//!
//! It knows nothing of exchanges.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

use super::mark::Mark;

/// A mark, or none.
///
/// The number of the entry, which is proof only, has 32 bits: no cell comes to
/// four thousand million entries.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stamp([u32; 3]);

impl Stamp {
    /// No mark.
    pub(super) const NONE: Self = Self([0; 3]);

    /// The mark, if there is one. Entries are numbered from 1.
    pub(super) fn mark(self) -> Option<Mark> {
        let [high, low, n] = self.0;
        (n > 0).then(|| Mark {
            at_us: u64::from(high) << 32 | u64::from(low),
            n: n.into(),
        })
    }

    /// Keeps a mark unless one is kept already.
    pub(super) fn get_or_insert(&mut self, mark: Mark) {
        if *self == Self::NONE {
            *self = mark.into();
        }
    }
}

impl From<Mark> for Stamp {
    fn from(mark: Mark) -> Self {
        let n = u32::try_from(mark.n).unwrap_or(u32::MAX).max(1);
        Self([(mark.at_us >> 32) as u32, mark.at_us as u32, n])
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mark().fmt(out)
    }
}

/// The name of a server, in the size of a pointer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ServerName(Arc<String>);

impl ServerName {
    pub(super) fn new(name: &str) -> Self {
        Self(Arc::new(name.to_owned()))
    }
}

impl Deref for ServerName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self)
    }
}

impl PartialEq<str> for ServerName {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for ServerName {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<String> for ServerName {
    fn eq(&self, other: &String) -> bool {
        **self == **other
    }
}

impl PartialEq<ServerName> for String {
    fn eq(&self, other: &ServerName) -> bool {
        **self == **other
    }
}

/// Values of which equal ones are kept once. Only so many are remembered that
/// those which are all different cost no more than themselves.
#[derive(Debug)]
pub(super) struct Shared<T: ?Sized + Eq + Hash>(HashSet<Arc<T>>);

/// Values remembered at most.
const REMEMBERED: usize = 4096;

impl<T: ?Sized + Eq + Hash> Default for Shared<T> {
    fn default() -> Self {
        Self(HashSet::new())
    }
}

impl<T: ?Sized + Eq + Hash> Shared<T> {
    /// The value, with `make` where it is not known.
    pub(super) fn share(&mut self, value: &T, make: impl FnOnce(&T) -> Arc<T>) -> Arc<T> {
        if let Some(known) = self.0.get(value) {
            return known.clone();
        }
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        let made = make(value);
        self.0.insert(made.clone());
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_being_packed() {
        assert_eq!(Stamp::default().mark(), None);
        for at_us in [0, 1, u64::from(u32::MAX), 1 << 32, u64::MAX] {
            let mark = Mark { at_us, n: 7 };
            let mut stamp = Stamp::from(mark);
            assert_eq!(stamp.mark(), Some(mark));
            stamp.get_or_insert(Mark { at_us: 3, n: 9 });
            assert_eq!(stamp.mark(), Some(mark), "the first one stays");
        }
    }

    #[test]
    fn equal_values_are_kept_once_and_different_ones_are_forgotten() {
        let mut shared: Shared<str> = Shared::default();
        let one = shared.share("one", |text| text.into());
        assert!(Arc::ptr_eq(&one, &shared.share("one", |text| text.into())));
        for number in 0..3 * REMEMBERED {
            shared.share(&number.to_string(), |text| text.into());
            assert!(shared.0.len() <= REMEMBERED);
        }
    }
}
