//! A first pass over the files of a bag: counts, manifests, tag files of note, and names that travel badly.

use strongroom_listing::{Sorted, Sorter};

use super::Evidence;
use super::collisions::Collisions;
use super::record::pack_fact;
use crate::codes;
use crate::declaration;
use crate::error::BagError;
use crate::manifest::{FETCH, ManifestKind, ManifestName, PAYLOAD};
use crate::path;
use crate::problem::Problem;
use crate::source::Limits;

/// More manifests than algorithms, with room for odd ones.
const MOST_MANIFESTS: usize = 64;
/// Most files named `*-info.txt` that are read.
const MOST_INFO_FILES: usize = 100;

/// What the first look finds.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) payload_files: u64,
    pub(super) payload_bytes: u64,
    pub(super) has_declaration: bool,
    pub(super) has_fetch: bool,
    pub(super) manifests: Vec<ManifestName>,
    /// Files in the base directory named `*-info.txt`.
    pub(super) info_files: Vec<String>,
    /// Files whose meeting key is not their path, by that key.
    pub(super) odd: Option<Sorted>,
}

impl Survey {
    pub(super) fn of_kind(&self, kind: ManifestKind) -> impl Iterator<Item = &ManifestName> {
        self.manifests.iter().filter(move |manifest| manifest.kind == kind)
    }

    pub(super) fn take(
        evidence: &dyn Evidence,
        limits: &Limits,
        report: &mut dyn FnMut(Problem),
    ) -> Result<Self, BagError> {
        let mut survey = Self::default();
        let mut odd = Sorter::new(limits.memory / 16, limits.temporary_directory.as_deref());
        let mut collisions = Collisions::new(limits);
        for fact in evidence.files()? {
            let fact = fact?;
            let path = fact.path.as_str();
            survey.files += 1;
            survey.bytes += fact.size;
            path::portability(path, &mut |rule, message| report(rule.problem(message).about(path)));
            collisions.push(path)?;
            let key = path::join_key(path);
            if key != path {
                let packed = pack_fact(fact.size, 0, fact.digests.iter().copied(), path);
                odd.push(key.as_bytes(), &packed).map_err(BagError::Spill)?;
            }
            if path.starts_with(PAYLOAD) {
                survey.payload_files += 1;
                survey.payload_bytes += fact.size;
            } else if !path.contains('/') {
                survey.note_tag_file(path, report);
            }
        }
        survey.odd = Some(odd.finish().map_err(BagError::Spill)?);
        collisions.report(evidence, report)?;
        Ok(survey)
    }

    fn note_tag_file(&mut self, path: &str, report: &mut dyn FnMut(Problem)) {
        if path == declaration::FILE {
            self.has_declaration = true;
        } else if path == FETCH {
            self.has_fetch = true;
        } else if let Some(manifest) = ManifestName::parse(path) {
            if self.manifests.len() < MOST_MANIFESTS {
                self.manifests.push(manifest);
            } else {
                report(
                    codes::MANIFEST_TOO_MANY
                        .problem(format!("there are more than {MOST_MANIFESTS} manifests"))
                        .about(path),
                );
            }
        } else if path.ends_with("-info.txt") && self.info_files.len() < MOST_INFO_FILES {
            self.info_files.push(path.to_owned());
        }
    }

    /// Whether a file is there; used for the few tag files that a profile has rules for.
    pub(super) fn has_file(evidence: &dyn Evidence, wanted: &str) -> Result<bool, BagError> {
        for fact in evidence.files()? {
            let fact = fact?;
            if fact.path == wanted {
                return Ok(true);
            }
            if fact.path.as_str() > wanted {
                break;
            }
        }
        Ok(false)
    }
}
