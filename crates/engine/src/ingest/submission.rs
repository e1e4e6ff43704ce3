//! A submission: one batch with a work item for each of its packages, and the line of the journal that says who asked for
//! it, all within the transaction of the caller. The command line and the receiving stores submit by this.

use strongroom_registry::batches::{self, NewBatch};
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::tenants::Collection;
use strongroom_registry::{BatchId, InstitutionId, ItemId, Part, RegistryError, Transaction, Workflows, parts};

use super::batch::EXPAND_BATCH;
use super::deposit::DepositOptions;
use super::intake::PackageSource;
use super::kind::{DepositKind, is_manifest_name};
use super::naming::{self, Identifiers};
use super::rules;
use super::workflow::INGEST;
use crate::EngineError;
use crate::journal::{JournalEntry, Target};

/// One package of a submission.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    /// The work item that it becomes.
    pub(crate) item: ItemId,
    /// Where it lies.
    pub(crate) source: PackageSource,
    /// Its name as a file.
    pub(crate) file_name: String,
    /// The name of its object within the institution, where no identifier says that it is another one.
    pub(crate) object_name: String,
    /// What it is.
    pub(crate) kind: DepositKind,
    /// Which part of the object it is, where it is one.
    pub(crate) part: Option<Part>,
    /// Its size in bytes, where that is known.
    pub(crate) size: Option<u64>,
}

impl Package {
    /// Whether it is a list of objects, or a manifest at a URL, which is known only when it is read.
    pub(crate) fn is_list(&self) -> bool {
        self.kind.is_batch() || self.kind == DepositKind::Auto && is_manifest_name(&self.file_name)
    }
}

/// What is submitted. The caller that makes one has checked that institution and collection take deposits.
pub(crate) struct Submission<'s> {
    pub(crate) batch: BatchId,
    pub(crate) institution: InstitutionId,
    /// The institution's domain name.
    pub(crate) institution_identifier: &'s str,
    pub(crate) collection: Option<&'s Collection>,
    pub(crate) packages: &'s [Package],
    pub(crate) options: &'s DepositOptions,
    /// See [`NewBatch::notify_to`].
    pub(crate) notify_to: &'s [String],
    /// What the history of each item begins with.
    pub(crate) note: &'s str,
    /// Whose act it is.
    pub(crate) by: &'s JournalEntry,
    /// What the journal says that the act is done to.
    pub(crate) target: String,
}

impl Submission<'_> {
    /// The identifier of the object of a package, `<institution>/<name>`.
    pub(crate) fn object_identifier(&self, package: &Package) -> String {
        format!("{}/{}", self.institution_identifier, package.object_name)
    }

    /// What the packages are, where all are the same.
    fn kind(&self) -> &'static str {
        let mut kinds = self.packages.iter().map(|package| package.kind);
        let first = kinds.next().unwrap_or_default();
        if kinds.all(|kind| kind == first) { first.as_str() } else { "mixed" }
    }
}

/// Makes the batch and the work items of a submission. The topics that have new work.
///
/// # Errors
/// The identifiers of the deposit are those of different objects.
pub(crate) fn submit(
    tx: &mut dyn Transaction,
    workflows: &dyn Workflows,
    submission: &Submission<'_>,
) -> Result<Vec<String>, EngineError> {
    let Submission { batch, institution, collection, options, by, .. } = submission;
    by.done(tx, &Target::of(*institution, submission.target.clone()))?;
    let collection_id = collection.map(|collection| collection.id);
    let note = options.note.as_deref();
    let has_list = submission.packages.iter().any(Package::is_list);
    let new_batch = NewBatch {
        id: *batch,
        institution: *institution,
        collection: collection_id,
        kind: submission.kind(),
        submitted_by: &options.submitted_by,
        note,
        row_count: (!has_list).then_some(submission.packages.len() as u64),
        notify_to: submission.notify_to,
    };
    batches::create(tx, &new_batch)?;
    let ids = Identifiers { name: None, ark: options.ark.clone(), local_ids: options.local_ids.clone() }.ids();
    let mut new = Vec::with_capacity(submission.packages.len());
    for package in submission.packages {
        let of = (*institution, package.item);
        let mut identifier = submission.object_identifier(package);
        // Bags name their objects themselves.
        let is_named =
            options.is_named || matches!(package.kind, DepositKind::Bag | DepositKind::Auto | DepositKind::Metadata);
        if !ids.is_empty() && !is_named {
            identifier = naming::free_identifier(tx, of, &ids, &identifier)?;
        }
        let object = naming::object_of(tx, of, &ids, (&identifier, options.is_named))?;
        let object = object.map_err(|text| {
            EngineError::Refused(text)
                .next("give one identifier, or \"strongroom objects search\" to see what has which")
        })?;
        new.push((package, object, of_package(options, package)?));
    }
    let priority = rules::priority(*collection, submission.packages.len() as u64);
    let topics = items::create_all(
        tx,
        workflows,
        &mut new.into_iter().map(|(package, object, options)| NewItem {
            id: package.item,
            batch: Some(*batch),
            collection: collection_id,
            priority,
            is_list: package.is_list(),
            name: package.file_name.clone(),
            source: Some(package.source.to_string()),
            size: package.size,
            options,
            note: submission.note.to_owned(),
            actor: Some(by.actor.id),
            ..NewItem::new(if package.is_list() { EXPAND_BATCH } else { INGEST }, *institution, object)
        }),
    )?;
    for package in submission.packages {
        if let Some(part) = package.part {
            parts::put_item(tx, package.item, part)?;
        }
    }
    Ok(topics)
}

/// The options of the work item of a package.
fn of_package(options: &DepositOptions, package: &Package) -> Result<String, RegistryError> {
    let kind = Some(package.kind).filter(|kind| *kind != DepositKind::Bag);
    let options = DepositOptions { kind, ..options.clone() };
    serde_json::to_string(&options)
        .map_err(|error| RegistryError::Corrupt { wanted: "options of a deposit", found: error.to_string() })
}
