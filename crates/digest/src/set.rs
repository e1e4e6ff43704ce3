//! The digests of one stream, by algorithm.

use crate::{Algorithm, Digest};

/// Digests of the same bytes by several algorithms, at most one each, in the order of [`Algorithm`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct DigestSet {
    entries: Vec<(Algorithm, Digest)>,
}

impl DigestSet {
    /// The digest by this algorithm, where it was asked for.
    pub fn get(&self, algorithm: Algorithm) -> Option<Digest> {
        self.entries.iter().find(|(known, _)| *known == algorithm).map(|(_, digest)| *digest)
    }

    /// All digests, in the order of [`Algorithm`].
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Algorithm, Digest)> + '_ {
        self.entries.iter().copied()
    }

    /// How many digests there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no digest.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl FromIterator<(Algorithm, Digest)> for DigestSet {
    /// Of several digests by one algorithm the first is kept.
    fn from_iter<I: IntoIterator<Item = (Algorithm, Digest)>>(digests: I) -> Self {
        let mut entries: Vec<_> = digests.into_iter().collect();
        entries.sort_by_key(|(algorithm, _)| *algorithm);
        entries.dedup_by_key(|(algorithm, _)| *algorithm);
        Self { entries }
    }
}
