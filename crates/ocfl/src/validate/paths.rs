//! Many paths in little memory: one text, and where each path lies in it.

use std::cmp::Ordering;

use crate::path::{by_element, lies_below};

/// Paths in one text, each with a value.
#[derive(Debug)]
pub(super) struct PathTable<T> {
    text: String,
    entries: Vec<PathEntry<T>>,
}

#[derive(Debug, Clone, Copy)]
struct PathEntry<T> {
    start: usize,
    length: u32,
    value: T,
}

/// Two paths that cannot both be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Conflict<'t> {
    /// The path occurs more than once.
    Twice(&'t str),
    /// The first is a file, and the second lies below a directory of its name.
    Below(&'t str, &'t str),
}

impl<T> Default for PathTable<T> {
    fn default() -> Self {
        Self { text: String::new(), entries: Vec::new() }
    }
}

impl<T: Copy> PathTable<T> {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
    }

    pub(super) fn push(&mut self, path: &str, value: T) {
        self.entries.push(PathEntry { start: self.text.len(), length: path.len() as u32, value });
        self.text.push_str(path);
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    fn path_of(text: &str, entry: PathEntry<T>) -> &str {
        text.get(entry.start..entry.start + entry.length as usize).unwrap_or_default()
    }

    /// Sorts, so that conflicts and lookups can be asked for.
    pub(super) fn sort(&mut self) {
        let text = &self.text;
        self.entries
            .sort_unstable_by(|left, right| by_element(Self::path_of(text, *left), Self::path_of(text, *right)));
    }

    /// Paths that occur twice or lie below each other, of a sorted table.
    pub(super) fn conflicts(&self) -> impl Iterator<Item = Conflict<'_>> {
        let mut file: &str = "";
        self.entries.iter().enumerate().filter_map(move |(index, entry)| {
            let path = Self::path_of(&self.text, *entry);
            let conflict = match index {
                0 => None,
                _ if path == file => Some(Conflict::Twice(path)),
                _ if lies_below(path, file) => Some(Conflict::Below(file, path)),
                _ => None,
            };
            if conflict.is_none() {
                file = path;
            }
            conflict
        })
    }

    /// The index of a path in a sorted table.
    pub(super) fn find(&self, path: &str) -> Option<usize> {
        self.entries.binary_search_by(|entry| by_element(Self::path_of(&self.text, *entry), path)).ok()
    }

    /// Path and value at an index.
    pub(super) fn get(&self, index: usize) -> Option<(&str, T)> {
        self.entries.get(index).map(|entry| (Self::path_of(&self.text, *entry), entry.value))
    }

    /// Walks two sorted tables side by side: for each path its index here and there, where it is in both or in one.
    pub(super) fn walk_with(&self, other: &Self, visit: &mut dyn FnMut(Option<usize>, Option<usize>)) {
        let (mut here, mut there) = (0, 0);
        loop {
            let order = match (self.get(here), other.get(there)) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((path, _)), Some((other_path, _))) => by_element(path, other_path),
            };
            visit(order.is_le().then_some(here), order.is_ge().then_some(there));
            here += usize::from(order.is_le());
            there += usize::from(order.is_ge());
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, T)> {
        self.entries.iter().map(|entry| (Self::path_of(&self.text, *entry), entry.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_and_places_are_found_in_a_sorted_table() {
        let mut table = PathTable::default();
        for (index, path) in ["b/c", "a", "b-c", "b", "a", "b/c/d"].into_iter().enumerate() {
            table.push(path, index);
        }
        table.sort();
        let conflicts: Vec<_> = table.conflicts().collect();
        assert_eq!(conflicts, [Conflict::Twice("a"), Conflict::Below("b", "b/c"), Conflict::Below("b", "b/c/d")]);
        let place = table.find("b-c").unwrap();
        assert_eq!(table.get(place), Some(("b-c", 2)));
        assert_eq!(table.find("b/"), None);
    }

    #[test]
    fn two_tables_are_walked_side_by_side() {
        let table = |paths: &[&str]| {
            let mut table = PathTable::default();
            for path in paths {
                table.push(path, ());
            }
            table.sort();
            table
        };
        let mut steps = Vec::new();
        table(&["a", "c", "d"]).walk_with(&table(&["b", "c", "e"]), &mut |here, there| steps.push((here, there)));
        assert_eq!(steps, [(Some(0), None), (None, Some(0)), (Some(1), Some(1)), (Some(2), None), (None, Some(2))]);
    }
}
