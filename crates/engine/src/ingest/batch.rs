//! A manifest that makes an object of each row: a work item that reads it and makes those of the rows, page by page. Each page is one
//! transaction that also says how far the list was read, so that what was cut short goes on there: no row is lost, and none has two
//! work items.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};

use serde::{Deserialize, Serialize};
use strongroom_checkm::{Column, Reader, Row};
use strongroom_metadata::{Element, Field, Record};
use strongroom_registry::items::{self, NewItem};
use strongroom_registry::object_ids::{self, IdKind};
use strongroom_registry::{
    Action, ActorId, BatchId, ItemId, RegistryError, Stage as Name, Transaction, counted, interim, tenants, work,
};

use super::deposit::{DepositOptions, GivenDescription, object_name_fault};
use super::intake::package_source;
use super::kind::{self, DepositKind};
use super::manifest;
use super::metadata::as_json;
use super::naming::{self, Identifiers, name_of_id, name_of_package};
use super::workflow::INGEST;
use crate::crash_point;
use crate::workflow::{Outcome, Passes, Stage, StageContext, StageError, WaitsFor, Workflow};

/// The action of the work item of a batch.
pub(crate) const EXPAND_BATCH: Action = Action::named("expand_batch");

/// Making the work items of a batch.
pub(crate) const OF_BATCHES: Workflow = Workflow {
    action: EXPAND_BATCH,
    group: "batch",
    stages: &[Stage {
        name: Name::named("expand"),
        run: expand,
        waits_for: WaitsFor::Time,
        inline: false,
        passes: Passes::None,
    }],
    restart: None,
    restage: None,
};

/// Work items made in one transaction.
const ITEMS_AT_ONCE: usize = 500;
/// The fact that says how far the list was read.
const PROGRESS: &str = "expanded";

/// How far a list was read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Progress {
    /// The last row that has a work item.
    row: u64,
    /// Work items made.
    made: u64,
    /// The SHA-256 of the list, in hexadecimal digits: one that changes in between is another list.
    sha256: String,
}

fn expand(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let options = DepositOptions::of(context.item)?;
    let source = package_source(context)?;
    let mut progress: Progress = context.fact(PROGRESS)?.unwrap_or_default();
    let (mut list, digest) = manifest::spool(context, &source, &options)?;
    if progress.made > 0 && progress.sha256 != digest {
        let note = format!(
            "the manifest changed after {} of it had become work items; next: deposit what is new in it by another manifest",
            counted(progress.made, "row", "rows")
        );
        return Err(StageError::fatal(note));
    }
    progress.sha256 = digest;
    let kind = kind_of(&mut list, &options, &source.to_string())?;
    if kind == DepositKind::Manifest {
        return as_one_object(context, options);
    }
    let warnings = manifest::check(&mut list, kind.profile())?;
    if !warnings.is_empty() {
        context.write(move |tx, claim| work::note_problems(tx, claim, &warnings))?;
    }
    let batch = batch_of(context)?;
    let actor = context.actor()?.map(|actor| actor.id);
    let mut reader = Reader::new(BufReader::new(&mut list), &manifest::read_options(kind.profile()), &mut |_| {})
        .map_err(|error| StageError::Transient(format!("could not read the manifest: {error}")))?;
    loop {
        context.task.check()?;
        let mut page = Vec::new();
        while page.len() < ITEMS_AT_ONCE {
            let row = reader.next_row(&mut |_| {});
            let row = row.map_err(|error| StageError::Transient(format!("could not read the manifest: {error}")))?;
            let Some(row) = row else { break };
            if row.number() > progress.row {
                page.push(NewRow::of(&row, kind, &options));
            }
        }
        let Some(last) = page.last() else { break };
        progress.row = last.number;
        progress.made += page.len() as u64;
        let text = serde_json::to_string(&progress)?;
        make(context, (batch, actor), page, text)?;
        crash_point("batch.expand.page");
    }
    let item = context.item.id;
    context.with_end(move |tx, _| interim::clear(tx, item).map(|()| Vec::new()));
    Ok(Outcome::done(format!("{} to be ingested", counted(progress.made, "object is", "objects are"))))
}

/// What the rows of the list are, where the depositor left that to the list.
fn kind_of(list: &mut File, options: &DepositOptions, shown: &str) -> Result<DepositKind, StageError> {
    let said = kind::manifest_kind(&mut *list, shown);
    list.seek(SeekFrom::Start(0)).map_err(|error| StageError::Transient(error.to_string()))?;
    match (said, options.kind()) {
        // A URL of a manifest is submitted as this, whatever its rows are.
        (Ok(said), DepositKind::BatchManifest) => Ok(said),
        (_, kind) => Ok(kind),
    }
}

/// The list turned out to be that of one object: its work item is made in place of those of rows.
fn as_one_object(context: &StageContext<'_>, options: DepositOptions) -> Result<Outcome, StageError> {
    let name = name_of_package(DepositKind::Manifest, &context.item.name);
    let options = DepositOptions { kind: Some(DepositKind::Manifest), ..options };
    let row = NewRow {
        number: 1,
        ids: Vec::new(),
        name,
        has_name: true,
        url: context.item.source.clone().unwrap_or_default(),
        file_name: context.item.name.clone(),
        options,
        size: None,
    };
    let progress: Progress = context.fact(PROGRESS)?.unwrap_or_default();
    if progress.row == 0 {
        let actor = context.actor()?.map(|actor| actor.id);
        let text = serde_json::to_string(&Progress { row: 1, made: 1, ..progress })?;
        make(context, (batch_of(context)?, actor), vec![row], text)?;
    }
    let item = context.item.id;
    context.with_end(move |tx, _| interim::clear(tx, item).map(|()| Vec::new()));
    Ok(Outcome::done("the manifest is that of one object"))
}

fn batch_of(context: &StageContext<'_>) -> Result<BatchId, StageError> {
    context.item.batch.ok_or_else(|| StageError::fatal("the work item is of no batch"))
}

/// A row that becomes a work item.
#[derive(Debug, Clone)]
struct NewRow {
    number: u64,
    ids: Vec<(IdKind, String)>,
    /// The name of a new object.
    name: String,
    /// Whether that name is the object's, rather than one that another object may have already.
    has_name: bool,
    url: String,
    file_name: String,
    options: DepositOptions,
    size: Option<u64>,
}

impl NewRow {
    fn of(row: &Row<'_>, kind: DepositKind, batch: &DepositOptions) -> Self {
        let kind = kind.of_rows().unwrap_or(DepositKind::File);
        let primary = row.text(Column::PrimaryIdentifier);
        let local_ids: Vec<String> =
            row.values(Column::LocalIdentifier).into_iter().map(std::borrow::Cow::into_owned).collect();
        let file_name = row.file_name().to_owned();
        // What cannot be an identifier is told by the work item of the row.
        let ids = Identifiers::parse(primary.as_deref(), &local_ids).unwrap_or_default();
        let of_package = name_of_package(kind, file_name.rsplit('/').next().unwrap_or_default());
        let name = ids.object_name(kind, &of_package);
        let name = if object_name_fault(&name).is_some() { name_of_id(&name) } else { name };
        let description = described(row, &batch.description);
        let mut options = DepositOptions {
            kind: Some(kind),
            local_ids: ids.local_ids.clone(),
            ark: ids.ark.clone(),
            is_named: ids.name.is_some(),
            description,
            file_name: (kind == DepositKind::File).then(|| file_name.clone()),
            size: row.size(),
            digest: None,
            ..batch.clone()
        };
        if let Some(checksum) = row.checksum() {
            manifest::algorithm_of(checksum, &mut options);
        }
        Self {
            number: row.number(),
            has_name: ids.name.is_some() || !ids.ids().is_empty(),
            ids: ids.ids(),
            name,
            url: row.url().to_owned(),
            file_name,
            options,
            size: row.size().filter(|_| kind != DepositKind::Manifest),
        }
    }
}

/// What a row says of its object, and for the rest what the batch says of all.
fn described(row: &Row<'_>, of_all: &GivenDescription) -> GivenDescription {
    let text = |column| row.text(column).map(std::borrow::Cow::into_owned);
    let mut record = Record::new();
    for (column, field) in FIELDS {
        for value in row.values(column) {
            // A value that is longer than a description takes is told when the work item reads its description.
            drop(record.add(field, &value));
        }
    }
    GivenDescription {
        title: text(Column::Title).or_else(|| of_all.title.clone()),
        creator: text(Column::Creator).or_else(|| of_all.creator.clone()),
        date: text(Column::Date).or_else(|| of_all.date.clone()),
        access: of_all.access.clone(),
        metadata: as_json(&record).or_else(|| of_all.metadata.clone()),
    }
}

/// The columns that describe an object, beside its title, creator and date.
const FIELDS: [(Column, Field); 12] = [
    (Column::Contributor, Field::Element(Element::Contributor)),
    (Column::Coverage, Field::Element(Element::Coverage)),
    (Column::Description, Field::Element(Element::Description)),
    (Column::Format, Field::Element(Element::Format)),
    (Column::Language, Field::Element(Element::Language)),
    (Column::Publisher, Field::Element(Element::Publisher)),
    (Column::Relation, Field::Element(Element::Relation)),
    (Column::Rights, Field::Element(Element::Rights)),
    (Column::Source, Field::Element(Element::Source)),
    (Column::Subject, Field::Element(Element::Subject)),
    (Column::Type, Field::Element(Element::Type)),
    (Column::ResourceType, Field::ResourceType),
];

/// Makes the work items of a page, and says in the same transaction how far the list was read.
fn make(
    context: &StageContext<'_>,
    (batch, actor): (BatchId, Option<ActorId>),
    page: Vec<NewRow>,
    progress: String,
) -> Result<(), StageError> {
    let workflows = context.registry().workflows();
    let (institution, collection) = (context.item.institution, context.item.collection);
    let domain = context.item.institution_identifier.clone();
    let topics = context.write(move |tx, claim| {
        interim::set_fact(tx, claim, PROGRESS, &progress)?;
        let is_held = match collection {
            Some(collection) => tenants::collection_by_id(tx, collection)?.is_some_and(|collection| collection.held),
            None => false,
        };
        let mut new = Vec::with_capacity(page.len());
        for row in &page {
            let id = ItemId::new();
            let object = object_of(tx, (institution, &domain), id, row)?;
            let options = serde_json::to_string(&row.options)
                .map_err(|error| RegistryError::Corrupt { wanted: "options of a deposit", found: error.to_string() })?;
            let item = NewItem {
                id,
                batch: Some(batch),
                collection,
                held: is_held,
                name: row.file_name.clone(),
                source: Some(row.url.clone()),
                size: row.size,
                options,
                note: format!("row {} of the manifest", row.number),
                actor,
                ..NewItem::new(INGEST, institution, object)
            };
            // Each by itself: the name of the next one must not be taken by this one.
            new.push(items::create(tx, workflows.as_ref(), &item)?);
        }
        new.sort();
        new.dedup();
        Ok(new)
    })?;
    context.registry().wakeups().notify(topics.iter().map(String::as_str));
    Ok(())
}

/// The object that a row is of. A row without identifiers is an object of its own: its name is that of its file, or that name and its
/// number where another object has it.
fn object_of(
    tx: &mut dyn Transaction,
    (institution, domain): (strongroom_registry::InstitutionId, &str),
    item: ItemId,
    row: &NewRow,
) -> Result<String, RegistryError> {
    let identifier = format!("{domain}/{}", row.name);
    if row.has_name {
        // Where the identifiers contradict each other the work item tells of it.
        let of = naming::object_of(
            tx,
            (institution, item),
            &row.ids,
            (&identifier, row.options.is_named, !row.options.is_named),
        )?;
        return Ok(of.unwrap_or(identifier));
    }
    let mut name = identifier;
    for suffix in [row.number.to_string(), format!("{}-{}", row.number, item)] {
        if !object_ids::is_name_taken(tx, institution, &name, item)? {
            break;
        }
        name = format!("{domain}/{}-{suffix}", row.name);
    }
    Ok(name)
}
