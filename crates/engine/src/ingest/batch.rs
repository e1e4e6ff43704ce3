//! A manifest that makes an object of each row: a work item that reads it and makes those of the rows, page by page. Each page is one
//! transaction that also says how far the list was read, so that what was cut short goes on there: no row is lost, and none has two
//! work items.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};

use serde::{Deserialize, Serialize};
use strongroom_checkm::{Column, Reader, Row};
use strongroom_metadata::{Element, Field, Record};
use strongroom_registry::items::{self, NewItem, NewItems};
use strongroom_registry::object_ids::{self, IdKind};
use strongroom_registry::{
    Action, ActorId, BatchId, InstitutionId, ItemId, RegistryError, Scope, Stage as Name, Transaction, batches,
    counted, interim, tenants, work,
};
use uuid::Uuid;

use super::deposit::{DepositOptions, GivenDescription, object_name_fault};
use super::intake::package_source;
use super::kind::{self, DepositKind};
use super::manifest;
use super::metadata::as_json;
use super::naming::{self, Identifiers, name_of_id, name_of_package};
use super::remote;
use super::rules;
use super::stages::package::problem;
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
        is_remote: Some(remote::has_remote_package),
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
}

/// How far the list was read. A work item that was requeued may have lost the fact that says it: the work items of the rows say it too,
/// since each has an identifier that follows from its row.
fn progress(context: &StageContext<'_>) -> Result<Progress, StageError> {
    if let Some(known) = context.fact(PROGRESS)? {
        return Ok(known);
    }
    let mut progress = Progress::default();
    // The etag is that of the list from its first page on.
    if context.item.etag.is_none() {
        return Ok(progress);
    }
    let list = context.item.id;
    let is_made = |row: u64| -> Result<bool, StageError> {
        let id = id_of_row(list, row);
        Ok(context.registry().read(|tx| items::get(tx, Scope::System, id))?.is_some())
    };
    // Rows become work items in their order: the last that has one is found by doubling and halving.
    let mut beyond = 1;
    while is_made(beyond)? {
        context.task.check()?;
        progress.row = beyond;
        beyond *= 2;
    }
    while progress.row + 1 < beyond {
        let middle = progress.row.midpoint(beyond);
        if is_made(middle)? {
            progress.row = middle;
        } else {
            beyond = middle;
        }
    }
    progress.made = progress.row;
    Ok(progress)
}

/// The identifier of the work item of a row: the time of that of the list and a millisecond, the row, and what makes the list's own
/// unique (RFC 9562 section 5.7). So a row never has two work items, and they are in the order of the rows behind that of the list.
fn id_of_row(list: ItemId, row: u64) -> ItemId {
    const OWN: u32 = 42;
    let (list, row) = (list.0.as_u128(), u128::from(row));
    let time = ((list >> 80) + 1) << 80;
    let row = (row >> 20 & 0xFFF) << 64 | (row & 0xF_FFFF) << OWN;
    ItemId(Uuid::from_u128(time | 0x7 << 76 | 0b10 << 62 | row | list & ((1 << OWN) - 1)))
}

fn expand(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let options = DepositOptions::of(context.item)?;
    let source = package_source(context)?;
    let mut progress = progress(context)?;
    let (mut list, digest) = manifest::spool(context, &source, &options)?;
    // The etag of the work item is the SHA-256 of the list from its first page on.
    if progress.made > 0 && context.item.etag.as_deref() != Some(&digest) {
        let note = format!(
            "the manifest changed after {} of it had become work items; next: deposit what is new in it by another manifest",
            counted(progress.made, "row", "rows")
        );
        return Err(StageError::fatal(note));
    }
    let kind = kind_of(&mut list, &options, &source.to_string())?;
    if kind == DepositKind::Manifest {
        return as_one_object(context, options, digest);
    }
    let (warnings, rows) = manifest::check(&mut list, kind.profile())?;
    if rows == 0 {
        return Err(without_rows());
    }
    let collection = context.registry().read(|tx| tenants::collection_of(tx, context.item))?;
    let refuse = |text: String| Err(StageError::fatal(text));
    if let Some(text) = collection.as_ref().and_then(|of| rules::refused_type(of, kind)) {
        return refuse(text);
    }
    if let Some(text) = collection.as_ref().and_then(|of| rules::too_many_rows(of, rows)) {
        return refuse(text);
    }
    let priority = rules::priority(collection.as_ref(), rows);
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
        make(context, (batch, actor, priority), page, (text, digest.clone()))?;
    }
    end_list(context, batch);
    Ok(Outcome::done(format!("{} to be ingested", counted(progress.made, "object is", "objects are"))))
}

/// A list of nothing, such as one that was cut short where it was made, keeps nothing, which is no success.
fn without_rows() -> StageError {
    let note = "the manifest has no rows, so nothing would be kept; next: correct the manifest and deposit it again"
        .to_owned();
    StageError::Invalid { problems: vec![problem("error", "rows.none", None, note.clone())], note }
}

/// What the rows of the list are, where the depositor left that to the list.
///
/// # Errors
/// The list does not say it.
fn kind_of(list: &mut File, options: &DepositOptions, shown: &str) -> Result<DepositKind, StageError> {
    let said = kind::manifest_kind(&mut *list, shown);
    list.seek(SeekFrom::Start(0)).map_err(|error| StageError::Transient(error.to_string()))?;
    match options.kind() {
        DepositKind::Auto => said.map_err(|error| StageError::fatal(error.chain())),
        stated => Ok(stated),
    }
}

/// The list turned out to be that of one object: its work item is made in place of those of rows.
fn as_one_object(context: &StageContext<'_>, options: DepositOptions, etag: String) -> Result<Outcome, StageError> {
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
    let collection = context.registry().read(|tx| tenants::collection_of(tx, context.item))?;
    if let Some(text) = collection.as_ref().and_then(|of| rules::refused_type(of, DepositKind::Manifest)) {
        return Err(StageError::fatal(text));
    }
    let batch = batch_of(context)?;
    if progress(context)?.row == 0 {
        let priority = rules::priority(collection.as_ref(), 1);
        let actor = context.actor()?.map(|actor| actor.id);
        let text = serde_json::to_string(&Progress { row: 1, made: 1 })?;
        make(context, (batch, actor, priority), vec![row], (text, etag))?;
    }
    end_list(context, batch);
    Ok(Outcome::done("the manifest is that of one object"))
}

/// With the end of the stage, every row has a work item.
fn end_list(context: &StageContext<'_>, batch: BatchId) {
    let item = context.item.id;
    context.with_end(move |tx, _| {
        interim::clear(tx, item)?;
        batches::list_made(tx, batch, item)
    });
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
        let parsed = Identifiers::parse(primary.as_deref(), &local_ids);
        // What cannot be an identifier is told by the work item of the row, which reads it again.
        let (unusable_ark, unusable_ids) = match &parsed {
            Ok(_) => (None, Vec::new()),
            Err(_) => (primary.map(std::borrow::Cow::into_owned).filter(|text| crate::arks::is_ark(text)), local_ids),
        };
        let ids = parsed.unwrap_or_default();
        let of_package = name_of_package(kind, file_name.rsplit('/').next().unwrap_or_default());
        let name = ids.object_name(kind, &of_package);
        let name = if object_name_fault(&name).is_some() { name_of_id(&name) } else { name };
        let description = described(row, &batch.description);
        let mut options = DepositOptions {
            kind: Some(kind),
            local_ids: if unusable_ids.is_empty() { ids.local_ids.clone() } else { unusable_ids },
            ark: ids.ark.clone().or(unusable_ark),
            is_named: ids.name.is_some(),
            is_own_object: ids.name.is_none() && ids.ids().is_empty(),
            description,
            file_name: (kind == DepositKind::File).then(|| file_name.clone()),
            size: row.size(),
            digest: None,
            row: Some(row.number()),
            ..batch.clone()
        };
        if let Some(checksum) = row.checksum() {
            options.state_checksum(checksum);
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
    (batch, actor, priority): (BatchId, Option<ActorId>, i64),
    page: Vec<NewRow>,
    (progress, etag): (String, String),
) -> Result<(), StageError> {
    let workflows = context.registry().workflows();
    let (institution, collection) = (context.item.institution, context.item.collection);
    let domain = context.item.institution_identifier.clone();
    let (list, size) = (context.item.id, context.item.size);
    let topics = context.write(move |tx, claim| {
        if work::is_asked_to_stop(tx, claim)? {
            return Ok(None);
        }
        interim::set_fact(tx, claim, PROGRESS, &progress)?;
        work::set_source(tx, claim, &etag, size, None)?;
        let of = Institution { id: institution, domain: &domain };
        let ids: Vec<ItemId> = page.iter().map(|row| id_of_row(list, row.number)).collect();
        let rows: Vec<(&NewRow, ItemId)> = page.iter().zip(ids).collect();
        let new_objects = claim_new_objects(tx, of, &rows)?;
        let item_of = |(row, id): (&NewRow, ItemId), object: String| {
            let options = serde_json::to_string(&row.options)
                .map_err(|error| RegistryError::Corrupt { wanted: "options of a deposit", found: error.to_string() })?;
            Ok::<_, RegistryError>(NewItem {
                id,
                batch: Some(batch),
                collection,
                name: row.file_name.clone(),
                source: Some(row.url.clone()),
                size: row.size,
                options,
                priority,
                note: format!("row {} of the manifest", row.number),
                actor,
                ..NewItem::new(INGEST, institution, object)
            })
        };
        let mut making = NewItems::new(workflows.as_ref());
        for (row, object) in rows.iter().zip(&new_objects) {
            if let Some(object) = object {
                making.add(tx, &item_of(*row, object.clone())?)?;
            }
        }
        // Each by itself: the name of the next one must not be taken by this one, or by one of those above.
        for (row, _) in rows.iter().zip(&new_objects).filter(|(_, object)| object.is_none()) {
            making.write(tx)?;
            let object = object_of(tx, of, row.1, row.0)?;
            making.add(tx, &item_of(*row, object)?)?;
        }
        making.finish(tx).map(Some)
    })?;
    let topics = topics.ok_or_else(StageError::asked_to_stop)?;
    context.registry().wakeups().notify(topics.iter().map(String::as_str));
    crash_point("batch.expand.page");
    Ok(())
}

/// Whose objects the rows are.
#[derive(Clone, Copy)]
struct Institution<'a> {
    id: InstitutionId,
    domain: &'a str,
}

impl Institution<'_> {
    /// The identifier of an object of this name.
    fn identifier(&self, name: &str) -> String {
        format!("{}/{name}", self.domain)
    }
}

/// The objects of those rows that are about a new object without doubt: neither its name nor one of its identifiers is in another
/// row or in the registry. The identifiers are recorded for them. Which object each of the other rows is of depends on the rows before
/// it; see [`object_of`]. What is asked of all rows at once costs the database no more than what is asked of one.
fn claim_new_objects(
    tx: &mut dyn Transaction,
    of: Institution<'_>,
    rows: &[(&NewRow, ItemId)],
) -> Result<Vec<Option<String>>, RegistryError> {
    let (mut names, mut values) = (BTreeMap::new(), BTreeMap::new());
    for (row, _) in rows {
        *names.entry(&row.name).or_insert(0) += 1;
        for (_, value) in &row.ids {
            *values.entry(value).or_insert(0) += 1;
        }
    }
    let is_alone = |row: &NewRow| {
        names.get(&row.name) == Some(&1)
            && !row.options.is_named
            && row.ids.iter().all(|(kind, value)| *kind == IdKind::Local && values.get(value) == Some(&1))
    };
    let mut objects: Vec<Option<String>> =
        rows.iter().map(|(row, _)| is_alone(row).then(|| of.identifier(&row.name))).collect();
    let taken = {
        let named = objects.iter().zip(rows).filter_map(|(object, (_, item))| Some((object.as_deref()?, *item)));
        object_ids::are_names_taken(tx, of.id, &mut named.into_iter())?
    };
    let mut taken = taken.into_iter();
    objects.iter_mut().filter(|object| object.is_some()).for_each(|object| {
        object.take_if(|_| taken.next().unwrap_or(true));
    });
    keep_where(&mut objects, rows, |ids| {
        let known = object_ids::find_each(tx, of.id, &mut ids.iter().map(|(_, (kind, value))| (*kind, *value)))?;
        Ok(known.iter().map(Option::is_none).collect())
    })?;
    // One that another transaction recorded in between for an object of its own is looked at by itself.
    keep_where(&mut objects, rows, |ids| {
        let claims = &mut ids.iter().map(|(object, (kind, value))| (*kind, *value, *object));
        let owners = object_ids::claim_each(tx, of.id, claims)?;
        Ok(owners.iter().zip(ids).map(|(owner, (object, _))| owner.as_deref() == Some(*object)).collect())
    })?;
    Ok(objects)
}

/// An identifier with the object that it is to belong to.
type IdOfObject<'a> = (&'a str, (IdKind, &'a str));

/// Keeps those objects all of whose identifiers pass a test, which is made of all at once.
fn keep_where(
    objects: &mut [Option<String>],
    rows: &[(&NewRow, ItemId)],
    test: impl FnOnce(&[IdOfObject<'_>]) -> Result<Vec<bool>, RegistryError>,
) -> Result<(), RegistryError> {
    let ids: Vec<IdOfObject<'_>> = objects
        .iter()
        .zip(rows)
        .filter_map(|(object, (row, _))| Some((object.as_deref()?, &row.ids)))
        .flat_map(|(object, ids)| ids.iter().map(move |(kind, value)| (object, (*kind, value.as_str()))))
        .collect();
    let passed = test(&ids)?;
    let refused: BTreeSet<String> =
        ids.iter().zip(passed).filter(|(_, passed)| !passed).map(|((object, _), _)| (*object).to_owned()).collect();
    for object in objects {
        object.take_if(|object| refused.contains(object));
    }
    Ok(())
}

/// The object that a row is of. A row without identifiers is an object of its own: its name is that of its file, or that name and its
/// number where another object has it.
fn object_of(
    tx: &mut dyn Transaction,
    of: Institution<'_>,
    item: ItemId,
    row: &NewRow,
) -> Result<String, RegistryError> {
    let institution = of.id;
    let identifier = of.identifier(&row.name);
    if row.has_name {
        let is_by_ids = !row.ids.is_empty() && !row.options.is_named;
        let identifier = if is_by_ids {
            naming::free_identifier(tx, (institution, item), &row.ids, &identifier)?
        } else {
            identifier
        };
        // Where the identifiers contradict each other the work item tells of it.
        let object = naming::object_of(tx, (institution, item), &row.ids, (&identifier, row.options.is_named))?;
        return Ok(object.unwrap_or(identifier));
    }
    let mut name = identifier;
    for suffix in [row.number.to_string(), format!("{}-{}", row.number, item)] {
        if !object_ids::is_name_taken(tx, institution, &name, item)? {
            break;
        }
        name = of.identifier(&format!("{}-{suffix}", row.name));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_items_of_rows_are_in_their_order_behind_that_of_the_list_and_apart_from_those_of_other_lists() {
        let (list, other) = (ItemId::new(), ItemId::new());
        let rows = [1, 2, 500, 1 << 20, (1 << 20) + 1, u64::from(u32::MAX)];
        let mut last = list;
        for row in rows {
            let id = id_of_row(list, row);
            assert!(last < id, "row {row}");
            assert_ne!(id, id_of_row(other, row));
            assert_eq!((id.0.get_version_num(), id.0.get_variant()), (7, uuid::Variant::RFC4122));
            last = id;
        }
    }
}
