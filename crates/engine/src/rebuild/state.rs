//! What an inventory says, in a few bytes for each line: sets that answer whether a version has a path with a content, and
//! sums that tell whether two lists have the same lines, in whatever order.

use std::collections::{HashMap, HashSet};

use strongroom_digest::{Algorithm, Digest, MultiHasher};
use strongroom_registry::VersionId;
use strongroom_registry::versions::ContentPlace;

/// A line of an inventory as a number: sixteen bytes of its SHA-256.
pub(super) fn line(content: &Digest, path: &str) -> u128 {
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(content.as_bytes());
    hasher.update(path.as_bytes());
    let digest = hasher.finish().get(Algorithm::Sha256);
    let raw = digest.as_ref().and_then(|digest| digest.as_bytes().first_chunk::<16>().copied());
    u128::from_be_bytes(raw.unwrap_or_default())
}

/// How many lines, and their sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lines {
    count: u64,
    sum: u128,
}

impl Lines {
    pub(super) fn add(&mut self, line: u128) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(line);
    }
}

/// The lines of one version, and of the manifest.
#[derive(Debug, Default)]
pub(super) struct VersionLines {
    /// Digests of contents that the manifest names, with the first version in whose directory each lies.
    contents: HashMap<u128, u64>,
    /// The manifest, with content paths.
    pub(super) manifest: Lines,
    /// Lines of the version that is read now.
    pub(super) state: HashSet<u128>,
    /// The digest of the record of the version that is read now.
    pub(super) record: Option<Digest>,
    /// The sums of the versions, in order.
    pub(super) versions: Vec<Lines>,
    /// Under which identifier each version keeps what it brought, by its number.
    pub(super) owners: HashMap<u64, VersionId>,
    /// Digests of contents that lie under no identifier.
    unowned: HashSet<u128>,
}

impl VersionLines {
    /// Takes a line of the manifest.
    pub(super) fn take_content(&mut self, digest: &Digest, path: &str) {
        self.manifest.add(line(digest, path));
        let mut segments = path.split('/');
        let number = segments.next().and_then(|name| name.strip_prefix('v')).and_then(|number| number.parse().ok());
        let first = self.contents.entry(line(digest, "")).or_insert(u64::MAX);
        *first = number.unwrap_or(0).min(*first);
        let owner = segments.nth(1).and_then(|name| name.parse::<VersionId>().ok());
        match (number, owner) {
            (Some(number), Some(owner)) => _ = self.owners.entry(number).or_insert(owner),
            _ => _ = self.unowned.insert(line(digest, "")),
        }
    }

    /// Whether the object has a content that a version had: one that was deleted, and that a later version has brought again, is that one's.
    pub(super) fn has_content(&self, version: u64, digest: &Digest) -> bool {
        self.contents.get(&line(digest, "")).is_some_and(|first| *first <= version)
    }

    /// Where a content lies that a version brought.
    pub(super) fn place_of(&self, version: u64, digest: &Digest) -> ContentPlace {
        let owner = self.owners.get(&version).filter(|_| !self.unowned.contains(&line(digest, "")));
        ContentPlace { version, owner: owner.copied() }
    }
}
