//! Which digests each content must have, and reading the contents to see, on several threads, largest first.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use strongroom_digest::{Digest, Progress};
use strongroom_storage::{Key, Store};

use super::ValidateOptions;
use super::algorithms::{FixityAlgorithm, digest_all};
use super::facts::Facts;
use super::report::Report;

/// A digest that a content must have.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expectation {
    algorithm: FixityAlgorithm,
    digest: Digest,
    code: &'static str,
    /// Which inventory wants it; an index into the sources.
    source: u32,
}

/// What is expected of the contents beyond the root manifest, and what the listing found of them.
#[derive(Default)]
pub(super) struct Contents {
    /// Size of each content of the root manifest that the store holds, by its index there.
    sizes: Vec<Option<u64>>,
    extra: HashMap<u32, Vec<Expectation>>,
    sources: Vec<String>,
}

impl Contents {
    pub(super) fn of(facts: &Facts) -> Self {
        Self { sizes: vec![None; facts.manifest.len()], ..Self::default() }
    }

    pub(super) fn found(&mut self, index: usize, size: u64) {
        if let Some(place) = self.sizes.get_mut(index) {
            *place = Some(size);
        }
    }

    pub(super) fn is_found(&self, index: usize) -> bool {
        self.sizes.get(index).is_some_and(Option::is_some)
    }

    /// Notes that the inventory at `source` wants a digest of the content at `index` of the root manifest.
    pub(super) fn expect(
        &mut self,
        facts: &Facts,
        index: usize,
        (algorithm, digest): (FixityAlgorithm, Digest),
        code: &'static str,
        source: &str,
    ) {
        let known = facts.manifest.get(index).map(|(_, written)| written.digest);
        if facts.algorithm.map(FixityAlgorithm::Known) == Some(algorithm) && known == Some(digest) {
            return;
        }
        if self.sources.last().is_none_or(|last| last != source) {
            self.sources.push(source.to_owned());
        }
        let source = self.sources.len() as u32 - 1;
        // Most contents have one, and a hundred thousand lists with room for more would cost as much as the rest.
        let expected = self.extra.entry(index as u32).or_insert_with(|| Vec::with_capacity(1));
        if !expected.iter().any(|one| one.algorithm == algorithm && one.digest == digest) {
            expected.push(Expectation { algorithm, digest, code, source });
        }
    }

    /// Reports expectations that contradict the root manifest without reading anything.
    pub(super) fn contradictions(&self, facts: &Facts, report: &mut Report) {
        for (index, expected) in &self.extra {
            let Some((path, _)) = facts.manifest.get(*index as usize) else { continue };
            for one in expected {
                if facts.algorithm.map(FixityAlgorithm::Known) == Some(one.algorithm) {
                    report.add(one.code, path, self.mismatch(one, "the root inventory has another"));
                }
            }
        }
    }

    fn mismatch(&self, one: &Expectation, found: &str) -> String {
        let source = self.sources.get(one.source as usize).map_or("", String::as_str);
        format!("{source} states the digest {}, {found}", one.digest)
    }

    /// Reads every content that was found and reports each digest that is not as stated.
    pub(super) fn verify(
        &self,
        store: &dyn Store,
        root: &Key,
        facts: &Facts,
        options: &ValidateOptions,
        report: &mut Report,
    ) {
        let mut jobs: Vec<usize> = (0..self.sizes.len()).filter(|index| self.is_found(*index)).collect();
        jobs.sort_by_key(|index| std::cmp::Reverse(self.sizes.get(*index).copied().flatten()));
        let next = AtomicUsize::new(0);
        let problems = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..options.threads.clamp(1, jobs.len().max(1)) {
                scope.spawn(|| {
                    while let Some(index) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let found = self.verify_one(store, root, facts, (*index, &options.progress));
                        options.progress.add_file();
                        if !found.is_empty() {
                            problems.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                        }
                    }
                });
            }
        });
        let mut problems = problems.into_inner().unwrap_or_else(PoisonError::into_inner);
        problems.sort();
        for (path, code, message) in problems {
            report.add(code, path, message);
        }
    }

    fn verify_one(
        &self,
        store: &dyn Store,
        root: &Key,
        facts: &Facts,
        (index, progress): (usize, &Progress),
    ) -> Vec<(String, &'static str, String)> {
        let Some((path, written)) = facts.manifest.get(index) else { return Vec::new() };
        let mut expected: Vec<Expectation> = self.extra.get(&(index as u32)).cloned().unwrap_or_default();
        if let Some(algorithm) = facts.algorithm {
            let algorithm = FixityAlgorithm::Known(algorithm);
            expected.push(Expectation { algorithm, digest: written.digest, code: "E092", source: u32::MAX });
        }
        let mut algorithms: Vec<FixityAlgorithm> = expected.iter().map(|one| one.algorithm).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let digests = root
            .join(path)
            .map_err(|error| error.to_string())
            .and_then(|key| store.open(&key, 0, None).map_err(|error| error.to_string()))
            .and_then(|body| digest_all(progress.counting(body), &algorithms).map_err(|error| error.to_string()));
        let digests = match digests {
            Ok((_, digests)) => digests,
            Err(error) => return vec![(path.to_owned(), "E092", format!("the content cannot be read: {error}"))],
        };
        let mut problems = Vec::new();
        for one in expected {
            let found = digests.iter().find(|(algorithm, _)| *algorithm == one.algorithm);
            if let Some((_, found)) = found
                && *found != one.digest
            {
                let message = if one.source == u32::MAX {
                    format!("the content has the digest {found}, the manifest states {}", one.digest)
                } else {
                    self.mismatch(&one, &format!("the content has {found}"))
                };
                problems.push((path.to_owned(), one.code, message));
            }
        }
        problems
    }
}
