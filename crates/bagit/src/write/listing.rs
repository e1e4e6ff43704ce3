//! What the manifests list: paths with their digests, in any number, sorted outside memory, and read back as manifest text.
//!
//! The length of every manifest is known before its first line is written, as a tar header wants it.

use std::io::{self, Read};
use std::path::Path;

use strongroom_digest::{Algorithm, Digest, DigestSet};
use strongroom_listing::{Iter, Sorted, Sorter};

use super::WriteError;
use crate::path::{encode_path, readings};

/// Paths with digests, taken in any order. Of each digest the raw bytes are kept, in the order of `algorithms`.
pub(super) struct Listing {
    algorithms: Vec<Algorithm>,
    sorter: Sorter,
    paths_length: u64,
    count: u64,
}

/// A listing in the order of its encoded paths.
pub(super) struct SortedListing {
    algorithms: Vec<Algorithm>,
    sorted: Sorted,
    paths_length: u64,
    count: u64,
}

impl Listing {
    pub(super) fn new(algorithms: &[Algorithm], memory: usize, directory: Option<&Path>) -> Self {
        Self { algorithms: algorithms.to_vec(), sorter: Sorter::new(memory, directory), paths_length: 0, count: 0 }
    }

    pub(super) fn add(&mut self, path: &str, digests: &DigestSet) -> io::Result<()> {
        let encoded = encode_path(path);
        let mut value = Vec::with_capacity(self.algorithms.len() * 64);
        for algorithm in &self.algorithms {
            let digest = digests.get(*algorithm).ok_or_else(|| io::Error::other("a digest was not computed"))?;
            value.extend_from_slice(digest.as_bytes());
        }
        self.paths_length += encoded.len() as u64;
        self.count += 1;
        self.sorter.push(encoded.as_bytes(), &value)
    }

    /// Sorts; two entries of one path are an error.
    pub(super) fn finish(self) -> Result<SortedListing, WriteError> {
        let sorted = self.sorter.finish().map_err(WriteError::Spill)?;
        let mut before = Vec::new();
        let mut is_first = true;
        for record in sorted.iter().map_err(WriteError::Spill)? {
            let (path, _) = record.map_err(WriteError::Spill)?;
            if path == before && !is_first {
                let encoded = String::from_utf8_lossy(&path).into_owned();
                let path = readings(&encoded, true).first().map_or(encoded.clone(), ToString::to_string);
                return Err(WriteError::Duplicate { path });
            }
            (before, is_first) = (path, false);
        }
        Ok(SortedListing { algorithms: self.algorithms, sorted, paths_length: self.paths_length, count: self.count })
    }
}

impl SortedListing {
    /// Length of the manifest of one algorithm: digest, two blanks, path and line end for each entry.
    pub(super) fn manifest_length(&self, algorithm: Algorithm) -> u64 {
        self.paths_length + self.count * (2 * algorithm.length() as u64 + 3)
    }

    /// The text of the manifest of one algorithm.
    pub(super) fn manifest(&self, algorithm: Algorithm) -> io::Result<ManifestText<'_>> {
        let start = self.algorithms.iter().take_while(|&&known| known != algorithm).map(|known| known.length()).sum();
        Ok(ManifestText {
            records: self.sorted.iter()?,
            digest: start..start + algorithm.length(),
            text: Vec::new(),
            used: 0,
        })
    }
}

/// A manifest, read as it is made.
pub(super) struct ManifestText<'a> {
    records: Iter<'a>,
    digest: std::ops::Range<usize>,
    text: Vec<u8>,
    used: usize,
}

impl Read for ManifestText<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.used == self.text.len() {
            self.text.clear();
            self.used = 0;
            while self.text.len() < buffer.len() {
                let Some(record) = self.records.next() else { break };
                let (path, digests) = record?;
                let raw = digests.get(self.digest.clone()).unwrap_or_default();
                let digest = Digest::from_bytes(raw).map_err(io::Error::other)?;
                self.text.extend_from_slice(digest.to_hex().as_bytes());
                self.text.extend_from_slice(b"  ");
                self.text.extend_from_slice(&path);
                self.text.push(b'\n');
            }
        }
        let rest = self.text.get(self.used..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        self.used += length;
        Ok(length)
    }
}
