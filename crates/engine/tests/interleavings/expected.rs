//! What the object should be in the end: its generations in the stores, and the files of their versions.

use std::collections::BTreeMap;

use crate::deposits::{DELETED, Payload};

/// Files by their paths in the package.
pub(crate) type Files = BTreeMap<&'static str, &'static [u8]>;

/// A generation of the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Generation {
    /// What each version has, from the first one.
    pub(crate) versions: Vec<Files>,
    /// Deletions of it, or of files of it.
    pub(crate) deletions: usize,
    /// Whether its last version has only the record of its deletion.
    pub(crate) is_deleted: bool,
}

/// The object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Expected {
    /// From the oldest one.
    pub(crate) generations: Vec<Generation>,
}

impl Expected {
    /// An object that has versions of these deposits, of which nothing was deleted; none where there is no version.
    pub(crate) fn of_versions(deposits: impl IntoIterator<Item = Payload>) -> Self {
        deposits.into_iter().fold(Self::default(), Self::then)
    }

    /// Without all of the object.
    pub(crate) fn deleted(mut self) -> Self {
        if let Some(last) = self.generations.last_mut() {
            last.versions = vec![Files::new(); last.versions.len() + 1];
            last.deletions += 1;
            last.is_deleted = true;
        }
        self
    }

    /// Without the files of [`DELETED`] in any version.
    pub(crate) fn without_files(mut self) -> Self {
        if let Some(last) = self.generations.last_mut() {
            for version in &mut last.versions {
                version.retain(|path, _| !DELETED.contains(path));
            }
            last.deletions += 1;
        }
        self
    }

    /// With one more deposit: the next version, which keeps what the deposit does not have, or the first one of a new generation where
    /// the object was deleted.
    pub(crate) fn then(mut self, deposit: Payload) -> Self {
        let brought = deposit.iter().copied();
        if let Some(last) = self.generations.last_mut().filter(|last| !last.is_deleted) {
            let kept = last.versions.last().cloned().unwrap_or_default();
            last.versions.push(kept.into_iter().chain(brought).collect());
        } else {
            let version = brought.collect();
            self.generations.push(Generation { versions: vec![version], deletions: 0, is_deleted: false });
        }
        self
    }

    /// The number of the newest version; 0 where there is none.
    pub(crate) fn head(&self) -> u64 {
        self.generations.last().map_or(0, |last| last.versions.len() as u64)
    }

    /// Whether the object is one that was deleted.
    pub(crate) fn is_deleted(&self) -> bool {
        self.generations.last().is_some_and(|last| last.is_deleted)
    }

    /// How many deletions there were.
    pub(crate) fn deletions(&self) -> usize {
        self.generations.iter().map(|generation| generation.deletions).sum()
    }

    /// Whether some version has these bytes.
    pub(crate) fn has(&self, bytes: &[u8]) -> bool {
        let mut versions = self.generations.iter().flat_map(|generation| &generation.versions);
        versions.any(|version| version.values().any(|known| *known == bytes))
    }
}
