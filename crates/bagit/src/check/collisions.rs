//! Names that differ only in letter case or in Unicode normal form: many file systems cannot have both. They are found by hash, and then
//! looked up by name, so that memory does not grow with the number of files.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use strongroom_listing::Sorter;

use super::Evidence;
use crate::codes;
use crate::error::BagError;
use crate::path;
use crate::problem::Problem;
use crate::source::Limits;

/// Most groups of colliding names that are looked up by name.
const MOST_COLLISIONS: usize = 10_000;
/// Most bytes of names that are kept for it.
const COLLISION_BYTES: usize = 8 << 20;

/// Reports every file of a package, which need not be a bag, whose path differs from that of another one only in letter case or in normal
/// form.
///
/// # Errors
/// The files cannot be listed, or a temporary file cannot be written.
pub fn check_collisions(
    evidence: &dyn Evidence,
    limits: &Limits,
    report: &mut dyn FnMut(Problem),
) -> Result<(), BagError> {
    let mut collisions = Collisions::new(limits);
    for fact in evidence.files()? {
        collisions.push(&fact?.path)?;
    }
    collisions.report(evidence, report)
}

/// The paths of a package, as hashes of what collides.
pub(super) struct Collisions {
    hashes: Sorter,
    state: RandomState,
}

impl Collisions {
    pub(super) fn new(limits: &Limits) -> Self {
        let hashes = Sorter::new(limits.memory / 16, limits.temporary_directory.as_deref());
        Self { hashes, state: RandomState::new() }
    }

    /// Adds a path.
    pub(super) fn push(&mut self, path: &str) -> Result<(), BagError> {
        let hash = self.state.hash_one(path::collision_key(path));
        self.hashes.push(&hash.to_be_bytes(), &[]).map_err(BagError::Spill)
    }

    /// Reports the files whose paths collide with an earlier one. `evidence` has those that were added.
    pub(super) fn report(self, evidence: &dyn Evidence, report: &mut dyn FnMut(Problem)) -> Result<(), BagError> {
        let Self { hashes, state } = self;
        let sorted = hashes.finish().map_err(BagError::Spill)?;
        let mut repeated = HashSet::new();
        let mut last: Option<Vec<u8>> = None;
        for record in sorted.iter().map_err(BagError::Spill)? {
            let (hash, _) = record.map_err(BagError::Spill)?;
            if last.as_ref() == Some(&hash) && repeated.len() < MOST_COLLISIONS {
                repeated.insert(hash.clone());
            }
            last = Some(hash);
        }
        if repeated.is_empty() {
            return Ok(());
        }
        let mut first: HashMap<String, String> = HashMap::new();
        let mut kept = 0;
        for fact in evidence.files()? {
            let fact = fact?;
            let key = path::collision_key(&fact.path);
            if !repeated.contains(state.hash_one(&key).to_be_bytes().as_slice()) {
                continue;
            }
            match first.get(key.as_ref()) {
                Some(other) => {
                    let message = format!("the path differs from {other:?} only in letter case or normal form");
                    report(codes::PATH_CASE.problem(message).about(fact.path.as_str()));
                }
                None if kept < COLLISION_BYTES => {
                    kept += key.len() + fact.path.len();
                    first.insert(key.into_owned(), fact.path.clone());
                }
                None => {}
            }
        }
        Ok(())
    }
}
