//! The registry as a whole: copied, moved, brought up to date, and made again from the stores.

use serde::Serialize;

use crate::rebuild::{Problem, Summary};

/// A copy of the registry and of the settings.
#[derive(Debug, Clone, Serialize)]
pub struct BackupView {
    /// Its folder.
    pub backup: String,
    /// Where in it the registry lies.
    pub registry: String,
    /// How many bytes the registry has there.
    pub bytes: u64,
}

/// A schema that is up to date.
#[derive(Debug, Clone, Serialize)]
pub struct SchemaView {
    /// Where the registry is.
    pub registry: String,
    /// The version that it had.
    pub from: u32,
    /// The version that it has.
    pub to: u32,
    /// The registry as it was, where a copy was made.
    pub copy: Option<String>,
}

/// A table that was moved and read back.
#[derive(Debug, Clone, Serialize)]
pub struct MovedTableView {
    /// Its name.
    pub table: String,
    /// How many rows it has.
    pub rows: u64,
    /// The digest of the rows.
    pub digest: String,
}

/// A registry that was moved to another place.
#[derive(Debug, Clone, Serialize)]
pub struct MovedRegistryView {
    /// The file that it was in, which stays as it was.
    pub from: String,
    /// Where it is now.
    pub to: String,
    /// The settings file that names the new place now; none where a variable of the environment names the old one.
    pub settings: Option<String>,
    /// That variable, which a person has to change.
    pub variable: Option<String>,
}

/// What came back from the stores.
#[derive(Debug, Clone, Serialize)]
pub struct RebuildView {
    /// The store that was named, or that was read first; none where all were read.
    pub store: Option<String>,
    /// Whether it was only counted.
    pub dry_run: bool,
    /// Objects that were inspected, once for each store.
    pub objects: u64,
    /// Objects among them of which the registry knew everything.
    pub known: u64,
    /// Objects among them of which something was imported.
    pub taken: u64,
    /// Objects that could not be read.
    pub failed: u64,
    /// Versions.
    pub versions: u64,
    /// Files that got a content with a version; not counted by a dry run.
    pub files: Option<u64>,
    /// Copies that were found, in all stores; not counted by a dry run.
    pub copies: Option<u64>,
    /// Copies that a store of the placement should hold and does not; not counted by a dry run.
    pub missing: Option<u64>,
    /// Events; not counted by a dry run.
    pub events: Option<u64>,
    /// How many problems there were.
    pub problem_count: u64,
    /// Stores that are still to be read before the registry can be written to.
    pub pending: Vec<String>,
    /// The first of the problems.
    pub problems: Vec<RebuildProblemView>,
}

/// Something that could not be read or was not found.
#[derive(Debug, Clone, Serialize)]
pub struct RebuildProblemView {
    /// The store.
    pub store: String,
    /// What in it.
    pub path: String,
    /// What is the matter.
    pub reason: String,
}

impl RebuildView {
    /// What came of reading the stores, or only this one.
    pub(crate) fn new(store: Option<String>, dry_run: bool, summary: Summary) -> Self {
        // What no record was read for is not known.
        let known = |count: u64| Some(count).filter(|_| !dry_run);
        Self {
            store,
            dry_run,
            objects: summary.objects,
            known: summary.known,
            taken: summary.taken,
            failed: summary.failed,
            versions: summary.versions,
            files: known(summary.files),
            copies: known(summary.copies),
            missing: known(summary.missing),
            events: known(summary.events),
            problem_count: summary.problem_count,
            pending: summary.pending,
            problems: summary.problems.into_iter().map(RebuildProblemView::from).collect(),
        }
    }

    /// Whether everything that lies in the stores is in the registry.
    pub fn is_complete(&self) -> bool {
        self.failed == 0 && self.problem_count == 0
    }
}

impl From<Problem> for RebuildProblemView {
    fn from(problem: Problem) -> Self {
        Self { store: problem.store, path: problem.path, reason: problem.reason }
    }
}
