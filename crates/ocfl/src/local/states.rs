//! What the versions of an object hold, in order of the logical paths, and how they differ. Paths come page by page: an
//! inventory is read once for each page, so that memory does not grow with the number of files.

use std::collections::BTreeMap;

use strongroom_digest::Digest;

use super::object::LocalObject;
use crate::{InventoryEntry, InventorySummary, OcflError, VersionNumber};

/// Bytes of paths and digests that are held at once.
const PAGE: usize = 32 << 20;
/// What a path and a digest cost beside the bytes of the path.
const COST: usize = 160;

/// A logical path with its digest in each version that was asked for and has it, in order of the versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStates {
    /// The logical path.
    pub path: String,
    /// Version and digest.
    pub states: Vec<(VersionNumber, Digest)>,
}

/// How a file differs between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The logical path.
    pub path: String,
    /// Its digest in the one version; `None` where that has no such file.
    pub before: Option<Digest>,
    /// Its digest in the other.
    pub after: Option<Digest>,
}

/// How a version differs from the one before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VersionChanges {
    /// Files that the version has.
    pub files: u64,
    /// Files that the one before it has not.
    pub added: u64,
    /// Files with another content.
    pub changed: u64,
    /// Files that only the one before it has.
    pub removed: u64,
}

impl LocalObject {
    /// Hands out every logical path of the wanted versions in byte order, page by page.
    pub fn pages(
        &self,
        is_wanted: &dyn Fn(VersionNumber) -> bool,
        visit: &mut dyn FnMut(Vec<PathStates>) -> Result<(), OcflError>,
    ) -> Result<InventorySummary, OcflError> {
        self.pages_of(PAGE, is_wanted, visit)
    }

    fn pages_of(
        &self,
        most: usize,
        is_wanted: &dyn Fn(VersionNumber) -> bool,
        visit: &mut dyn FnMut(Vec<PathStates>) -> Result<(), OcflError>,
    ) -> Result<InventorySummary, OcflError> {
        let mut after: Option<String> = None;
        loop {
            let mut page = Page { most, ..Page::default() };
            let summary = self.read(&mut |entry| {
                if let InventoryEntry::State { version, digest, path } = entry
                    && is_wanted(version)
                    && after.as_deref().is_none_or(|after| path > after)
                {
                    page.take(path, version, digest);
                }
                Ok(())
            })?;
            after = page.paths.last_key_value().map(|(path, _)| path.clone());
            let is_last = !page.is_cut;
            let paths = page.paths.into_iter().map(|(path, mut states)| {
                states.sort_unstable_by_key(|(version, _)| *version);
                PathStates { path, states }
            });
            visit(paths.collect())?;
            if is_last || after.is_none() {
                return Ok(summary);
            }
        }
    }

    /// Hands out every file that differs between two versions, in byte order of the paths; without a version to compare with,
    /// every file of the other.
    pub fn differences(
        &self,
        from: Option<VersionNumber>,
        to: VersionNumber,
        visit: &mut dyn FnMut(Difference) -> Result<(), OcflError>,
    ) -> Result<InventorySummary, OcflError> {
        self.pages(&|version| version == to || Some(version) == from, &mut |page| {
            for PathStates { path, states } in page {
                let of =
                    |wanted| states.iter().find(|(version, _)| Some(*version) == wanted).map(|(_, digest)| *digest);
                let (before, after) = (of(from), of(Some(to)));
                if before != after {
                    visit(Difference { path, before, after })?;
                }
            }
            Ok(())
        })
    }

    /// Counts how each version differs from the one before it.
    pub fn changes(&self) -> Result<(InventorySummary, BTreeMap<VersionNumber, VersionChanges>), OcflError> {
        let mut changes: BTreeMap<u32, VersionChanges> = BTreeMap::new();
        let summary = self.pages(&|_| true, &mut |page| {
            for PathStates { states, .. } in page {
                let mut before: Option<(u32, Digest)> = None;
                for (version, digest) in states {
                    let number = version.number();
                    let of_before = before.filter(|(of, _)| of.checked_add(1) == Some(number));
                    if let Some((of, _)) = before.filter(|_| of_before.is_none()) {
                        changes.entry(of.saturating_add(1)).or_default().removed += 1;
                    }
                    let own = changes.entry(number).or_default();
                    own.files += 1;
                    own.added += u64::from(of_before.is_none());
                    own.changed += u64::from(of_before.is_some_and(|(_, other)| other != digest));
                    before = Some((number, digest));
                }
                if let Some((of, _)) = before {
                    // Of the newest version nothing is removed; what is counted there is left out below.
                    changes.entry(of.saturating_add(1)).or_default().removed += 1;
                }
            }
            Ok(())
        })?;
        let of = |number: VersionNumber| changes.get(&number.number()).copied().unwrap_or_default();
        let all = summary.versions.iter().map(|(number, _)| (*number, of(*number))).collect();
        Ok((summary, all))
    }
}

/// The smallest paths that were met, as many as fit.
#[derive(Default)]
struct Page {
    most: usize,
    cost: usize,
    paths: BTreeMap<String, Vec<(VersionNumber, Digest)>>,
    /// Whether there are paths behind the last one.
    is_cut: bool,
}

impl Page {
    fn take(&mut self, path: &str, version: VersionNumber, digest: Digest) {
        let is_behind = self.paths.last_key_value().is_some_and(|(last, _)| path > last.as_str());
        if self.is_cut && is_behind {
            return;
        }
        if let Some(states) = self.paths.get_mut(path) {
            states.push((version, digest));
        } else {
            self.paths.insert(path.to_owned(), vec![(version, digest)]);
            self.cost += path.len();
        }
        self.cost += COST;
        while self.cost > self.most && self.paths.len() > 1 {
            if let Some((path, states)) = self.paths.pop_last() {
                self.cost -= path.len() + states.len() * COST;
                self.is_cut = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Local, open_local};
    use super::*;

    /// An object of three versions: `a` to `z` in the first; `b` is gone and `c` differs in the second; `b` is back in the
    /// third.
    fn object(place: &std::path::Path) -> LocalObject {
        let digest = |number: usize| format!("{number:0128x}");
        let names: Vec<char> = ('a'..='z').collect();
        let state = |leave_out: Option<char>, other: Option<char>| {
            let entries: Vec<String> = names
                .iter()
                .rev()
                .filter(|name| Some(**name) != leave_out)
                .map(|name| {
                    let number = *name as usize + if Some(*name) == other { 1000 } else { 0 };
                    format!("\"{}\":[\"{name}\"]", digest(number))
                })
                .collect();
            format!("{{\"created\":\"2026-01-01T00:00:00Z\",\"state\":{{{}}}}}", entries.join(","))
        };
        let inventory = format!(
            "{{\"id\":\"urn:x\",\"type\":\"https://ocfl.io/1.1/spec/#inventory\",\"digestAlgorithm\":\"sha512\",\"head\":\"v3\",\
             \"manifest\":{{}},\"versions\":{{\"v1\":{},\"v3\":{},\"v2\":{}}}}}",
            state(None, None),
            state(None, Some('c')),
            state(Some('b'), Some('c')),
        );
        std::fs::write(place.join("inventory.json"), inventory).unwrap();
        std::fs::write(place.join("0=ocfl_object_1.1"), "ocfl_object_1.1\n").unwrap();
        let Local::Object(object) = open_local(place).unwrap() else { panic!("an object") };
        object
    }

    #[test]
    fn pages_of_any_size_hold_the_same_paths_in_order() {
        let place = tempfile::tempdir().unwrap();
        let object = object(place.path());
        let read = |most: usize| {
            let (mut paths, mut pages) = (Vec::new(), 0);
            let visit = &mut |page: Vec<PathStates>| {
                pages += 1;
                paths.extend(page);
                Ok(())
            };
            object.pages_of(most, &|_| true, visit).unwrap();
            (paths, pages)
        };
        let (whole, one) = read(PAGE);
        assert_eq!((whole.len(), one), (26, 1));
        assert!(whole.is_sorted_by(|one, next| one.path < next.path));
        for (most, least_pages) in [(1, 26), (500, 20), (2_000, 5)] {
            let (paths, pages) = read(most);
            assert_eq!(paths, whole, "{most}");
            assert!(pages >= least_pages, "{most}: {pages}");
        }
    }

    #[test]
    fn versions_are_counted_and_compared() {
        let place = tempfile::tempdir().unwrap();
        let object = object(place.path());
        let (summary, changes) = object.changes().unwrap();
        let of = |number: u32| changes[&VersionNumber::new(number).unwrap()];
        assert_eq!(summary.versions.len(), 3);
        assert_eq!(of(1), VersionChanges { files: 26, added: 26, changed: 0, removed: 0 });
        assert_eq!(of(2), VersionChanges { files: 25, added: 0, changed: 1, removed: 1 });
        assert_eq!(of(3), VersionChanges { files: 26, added: 1, changed: 0, removed: 0 });
        let mut found = Vec::new();
        let (from, to) = (VersionNumber::new(1).unwrap(), VersionNumber::new(2).unwrap());
        object
            .differences(Some(from), to, &mut |one| {
                found.push((one.path, one.before.is_some(), one.after.is_some()));
                Ok(())
            })
            .unwrap();
        assert_eq!(found, [("b".to_owned(), true, false), ("c".to_owned(), true, true)]);
    }
}
