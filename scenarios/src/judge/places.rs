//! Where the exchanges of each connection are in a list.

use std::collections::HashMap;

/// A connection: its server's place, and its number.
type Line = (u32, u32);

/// For each connection its exchanges by number, with their places.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<Line, Numbers>);

/// Numbers with places, by number. Most connections have one exchange, or many
/// that come in their order.
#[derive(Debug)]
enum Numbers {
    One(u32, u32),
    Many(Vec<(u32, u32)>),
}

impl Numbers {
    fn find(&self, wanted: u32) -> Option<u32> {
        match self {
            Self::One(number, place) => (*number == wanted).then_some(*place),
            Self::Many(all) => {
                let found = all.binary_search_by_key(&wanted, |(number, _)| *number);
                found.ok().map(|found| all[found].1)
            }
        }
    }

    fn insert(&mut self, number: u32, place: u32) {
        if let Self::One(first, its_place) = *self {
            *self = Self::Many(vec![(first, its_place)]);
        }
        if let Self::Many(all) = self {
            let at = all.partition_point(|(before, _)| *before < number);
            all.insert(at, (number, place));
        }
    }

    fn all(&self) -> impl Iterator<Item = u32> {
        let (one, many) = match self {
            Self::One(_, place) => (Some(*place), &[][..]),
            Self::Many(all) => (None, all.as_slice()),
        };
        one.into_iter().chain(many.iter().map(|(_, place)| *place))
    }
}

impl Places {
    /// The place of an exchange.
    pub(super) fn find(&self, line: Line, number: u32) -> Option<usize> {
        let found = self.0.get(&line)?.find(number);
        found.map(|place| place as usize)
    }

    /// The place of an exchange; of one that has none yet, this one.
    pub(super) fn find_or(&mut self, line: Line, number: u32, place: usize) -> usize {
        // A list of so many exchanges would not fit into any memory.
        let new = u32::try_from(place).unwrap_or(u32::MAX);
        match self.0.get_mut(&line) {
            None => {
                self.0.insert(line, Numbers::One(number, new));
                place
            }
            Some(numbers) => match numbers.find(number) {
                Some(found) => found as usize,
                None => {
                    numbers.insert(number, new);
                    place
                }
            },
        }
    }

    /// The place of the last exchange on a connection.
    pub(super) fn last(&self, line: Line) -> Option<usize> {
        let last = self.0.get(&line)?.all().last();
        last.map(|place| place as usize)
    }

    /// For each connection the places of its exchanges, in their order.
    pub(super) fn lines(&self) -> impl Iterator<Item = impl Iterator<Item = usize>> {
        let lines = self.0.values();
        lines.map(|numbers| numbers.all().map(|place| place as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_are_found_in_whatever_order_they_came() {
        let mut places = Places::default();
        for (place, number) in [4, 1, 9, 2].into_iter().enumerate() {
            assert_eq!(places.find_or((0, 7), number, place), place);
            assert_eq!(places.find_or((0, 7), number, 99), place);
        }
        assert_eq!(places.find_or((1, 7), 4, 4), 4);
        assert_eq!(places.find((0, 7), 9), Some(2));
        assert_eq!(places.find((0, 7), 3), None);
        assert_eq!(places.find((0, 8), 1), None);
        assert_eq!(places.last((0, 7)), Some(2));
        assert_eq!(places.last((1, 7)), Some(4));
        let mut lines: Vec<Vec<usize>> = places.lines().map(Iterator::collect).collect();
        lines.sort();
        assert_eq!(lines, [vec![1, 3, 0, 2], vec![4]]);
    }
}
