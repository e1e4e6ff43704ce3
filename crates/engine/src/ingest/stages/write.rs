//! write: the version's rows, then its contents into every store of the placement, out of sight and under the version's
//! identifier. Only new content travels; what a store has durably is not written again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strongroom_database::DatabaseError;
use strongroom_digest::{Algorithm, Digest, HashingReader};
use strongroom_ocfl::{OcflError, VersionAssembly, object_id};
use strongroom_registry::copies::{self, NewCopy, PendingCopy};
use strongroom_registry::events::{self, Components, EventRow};
use strongroom_registry::interim::{self, InterimFile, StagingPlace};
use strongroom_registry::journal::{self, Actor};
use strongroom_registry::objects::Object;
use strongroom_registry::versions::{self, NewContent, NewEntry, NewRows, Version};
use strongroom_registry::{
    ContentId, Decision, FileId, Format, Layout, RegistryError, Scope, Transaction, VersionState, discarding, tenants,
};
use strongroom_registry::{counted, deletions};
use strongroom_storage::{Durability, Key, PutOptions, StorageError, Store};

use super::Findings;
use crate::error::chain;
use crate::home::NamedStore;
use crate::ingest::area::logical_path;
use crate::ingest::deposit::DepositOptions;
use crate::ingest::lease::{Begun, Known, expect, fact, keep_object};
use crate::ingest::paging::{ROWS_AT_ONCE, files_behind, first_page};
use crate::ingest::staging;
use crate::ingest::workflow::{RECORD, WRITE};
use crate::interruptible::Interruptible;
use crate::layout::version_number;
use crate::paging::pages;
use crate::profiles;
use crate::record::{self, FileLine, HarvestedFrom, Line, RemovalLine, VersionLine};
use crate::settings::StoreSettings;
use crate::workflow::{Outcome, StageContext, StageError, staging_prefix};
use crate::{AGENT, crash_point};

/// How many contents go into a store before their copies are recorded.
const COPIES_AT_ONCE: usize = 1_000;

/// The version's record as a staged content.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::ingest) struct StagedRecord {
    file: FileId,
    pub(in crate::ingest) content: ContentId,
    staging_key: String,
}

/// What the stage reads besides what every stage under the object's lease knows.
struct Besides {
    /// On whose behalf; none for items made before actors were kept.
    actor: Option<Actor>,
    institution_name: String,
    /// Where the deposit's bytes lie in staging.
    place: Option<StagingPlace>,
    /// The first page of the deposit's files.
    first: Vec<InterimFile>,
}

/// What the rows of a version are made of.
struct Making<'a> {
    version: &'a Version,
    object: &'a Object,
    stores: Vec<String>,
    findings: Findings,
    besides: &'a Besides,
    /// Of the package.
    layout: Layout,
}

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let begun = keep_object(context, &mut |tx, known| {
        let _ = known;
        let institution = tenants::institution_by_id(tx, Scope::System, context.item.institution)?;
        Ok(Besides {
            actor: journal::actor_of_item(tx, context.item.id)?,
            institution_name: institution.map(|institution| institution.name).unwrap_or_default(),
            place: interim::staging_place(tx, context.item.id)?,
            first: first_page(tx, context.item.id)?,
        })
    })?;
    let (known, mut besides) = match begun {
        Begun::Known(known, besides) => (known, besides),
        Begun::Ends(end) => return Ok(end),
    };
    let version = &known.version;
    if version.state != VersionState::Preparing {
        return Ok(Outcome::Skip { to: RECORD, note: "already being committed".into() });
    }
    let store_names = known.store_names();
    let first = std::mem::take(&mut besides.first);
    let own: Option<(FileId, ContentId)> = fact(&known.facts, &fact_of(version, "record_ids"))?;
    let own = match own {
        Some(own) => own,
        None => (file_of_record(context, &known)?, ContentId::new()),
    };
    let line = first_line(context, version, &known.object, own, &besides)?;
    let has_rows = fact::<bool>(&known.facts, &fact_of(version, "rows"))?.is_some();
    let head = if has_rows {
        // The settings may have others by now.
        note_stores(context, version, &store_names)?;
        freeze_head(context, version, own, line)?
    } else {
        let findings: Findings = expect(&known.facts, "findings")?;
        let making = Making {
            version,
            object: &known.object,
            stores: store_names.clone(),
            findings,
            besides: &besides,
            layout: layout(context)?,
        };
        put_rows(context, &making, first, own, line)?
    };
    let (record, first) = put_record(context, &known, besides.place, (own, &head))?;
    let bytes = write_to_stores(context, &known, &record, first)?;
    let note = format!("{} written to each of {}", counted(bytes, "byte", "bytes"), store_names.join(", "));
    Ok(Outcome::Done { note })
}

/// The fact that says how often the item was sent back to write a version's contents.
const WRITTEN_AGAIN: &str = "written_again";

/// Sends the item back to write what a store does not show as it was put. Going back begins the attempts of a stage anew, so
/// the times are counted for the version: a store that never returns what is put there ends the item.
pub(super) fn write_again(context: &StageContext<'_>, version: &Version, what: &str) -> Result<Outcome, StageError> {
    let name = fact_of(version, WRITTEN_AGAIN);
    let times = context.fact::<u32>(&name)?.unwrap_or_default().saturating_add(1);
    if times >= context.task.settings().max_attempts {
        let id = context.item.id;
        return Err(StageError::fatal(format!(
            "failed after {times} attempts to write: {what}; next: check the disk or the service of the store, then: strongroom \
             items requeue {id}"
        )));
    }
    context.set_fact(&name, &times)?;
    Ok(Outcome::RestartFrom { stage: WRITE, note: format!("{what}; writing again") })
}

/// Notes where the version is going to be written, so that its bytes are found there whatever the settings say later.
fn note_stores(context: &StageContext<'_>, version: &Version, stores: &[String]) -> Result<(), StageError> {
    let (version, stores) = (version.clone(), stores.to_vec());
    context.write(move |tx, claim| discarding::note_stores(tx, claim, &version, &stores))
}

/// Acts on every store at the same time; the outcomes in the order of the stores.
pub(super) fn in_every_store<T: Send>(
    stores: &[NamedStore],
    act: impl Fn(&str, &Arc<dyn Store>) -> Result<T, StageError> + Sync,
) -> Vec<Result<T, StageError>> {
    let act = &act;
    std::thread::scope(|scope| {
        let threads: Vec<_> = stores.iter().map(|(name, store)| scope.spawn(move || act(name, store))).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread.join().unwrap_or_else(|_| Err(StageError::Transient("a thread of the stage panicked".into())))
            })
            .collect()
    })
}

/// Puts entries and events, page by page; with the first page where the version is going to be written, with the last one the
/// events of the object, the first line of the version's record and that all is put. Every identifier is fixed by now, so that a
/// repeat puts nothing. The first line as it is kept.
fn put_rows(
    context: &StageContext<'_>,
    making: &Making<'_>,
    first: Vec<InterimFile>,
    own: (FileId, ContentId),
    line: String,
) -> Result<String, StageError> {
    let version = making.version;
    let mut last = NewRows {
        events: object_events(context, version, making.object),
        facts: vec![
            (fact_of(version, "rows"), serde_json::to_string(&true)?),
            (fact_of(version, "record_ids"), serde_json::to_string(&own)?),
        ],
        head: Some(line),
        ..NewRows::default()
    };
    for event in &mut last.events {
        event.actor.clone_from(&making.besides.actor);
    }
    // So that its bytes are found there whatever the settings say later.
    let mut stores = making.stores.clone();
    let mut head = None;
    put_removals(context, version)?;
    for page in files_behind(context, Some(first)) {
        let page = page?;
        let is_last = page.len() < ROWS_AT_ONCE;
        let mut rows = rows_of(context, making, page)?;
        rows.stores = std::mem::take(&mut stores);
        if is_last {
            rows.events.append(&mut last.events);
            rows.facts = std::mem::take(&mut last.facts);
            rows.head = last.head.take();
        }
        let of = version.clone();
        head = context.write(move |tx, claim| versions::put_rows(tx, claim, &of, &rows))?;
    }
    if last.head.is_some() {
        last.stores = stores;
        let of = version.clone();
        head = context.write(move |tx, claim| versions::put_rows(tx, claim, &of, &last))?;
    }
    head.ok_or_else(|| StageError::Transient("the first line of the version's record was not kept".into()))
}

/// Puts which paths the version does not have any more.
fn put_removals(context: &StageContext<'_>, version: &Version) -> Result<(), StageError> {
    let mut after = String::new();
    loop {
        context.task.check()?;
        let page = context.registry().read(|tx| interim::removals(tx, context.item.id, &after, ROWS_AT_ONCE))?;
        let Some(last) = page.last().cloned() else { return Ok(()) };
        let (of, from, to) = (version.clone(), std::mem::replace(&mut after, last.clone()), last);
        context.write(move |tx, claim| versions::put_removals(tx, claim, &of, (&from, &to)))?;
    }
}

/// The paths that the files of the package are.
fn layout(context: &StageContext<'_>) -> Result<Layout, StageError> {
    Ok(DepositOptions::of(context.item)?.kind().layout())
}

/// The rows of a page of files.
fn rows_of(context: &StageContext<'_>, making: &Making<'_>, mut page: Vec<InterimFile>) -> Result<NewRows, StageError> {
    page.retain(|row| row.decision != Some(Decision::Unchanged));
    let mut rows = NewRows::default();
    for row in &page {
        let (Some(file), Some(content)) = (row.file, row.content) else {
            return Err(StageError::StagingLost(format!("{:?} was never compared", row.path)));
        };
        let path = logical_path(making.layout, &row.path, making.version.number);
        rows.entries.push(NewEntry { file, path, modified: row.modified, content, format: row.format.clone() });
        rows.events.push(file_event(context, making, row, file, content));
    }
    Ok(rows)
}

/// The name of a fact about a version: those of one that was discarded are no facts of the next.
fn fact_of(version: &Version, name: &str) -> String {
    format!("{name} {}", version.id)
}

/// Where the version's record lies in staging, and which content it is.
pub(in crate::ingest) fn staged_record(
    context: &StageContext<'_>,
    version: &Version,
) -> Result<Option<StagedRecord>, StageError> {
    context.fact(&fact_of(version, "record"))
}

fn file_event(
    context: &StageContext<'_>,
    making: &Making<'_>,
    row: &InterimFile,
    file: FileId,
    content: ContentId,
) -> EventRow {
    let Making { version, object, findings, stores, besides, .. } = making;
    let is_payload = making.layout == Layout::Bag && row.path.starts_with("data/");
    EventRow {
        id: events::derived_id(file.0, &format!("ingest {} v{}", version.generation, version.number)),
        institution: object.institution,
        object: Some(object.id),
        file: Some(file),
        content: Some(content),
        item: Some(context.item.id),
        version: Some(version.number),
        kind: "ingestion".into(),
        components: Some(Components {
            new: row.decision == Some(Decision::New),
            checked: if is_payload { findings.manifests.clone() } else { Vec::new() },
            stores: stores.clone(),
            format: Some(row.format.clone()).filter(Format::was_tried),
        }),
        time: version.created_at.0,
        outcome: "success".into(),
        detail: None,
        outcome_detail: Some(format!("sha512:{}", row.digests.sha512)),
        store: None,
        agent: AGENT.into(),
        actor: besides.actor.clone(),
    }
}

/// The events of the object as a whole: four when it is new, two when it is deposited again, and that its bag was valid.
fn object_events(context: &StageContext<'_>, version: &Version, object: &Object) -> Vec<EventRow> {
    let event = |kind: &str, detail: &str, outcome_detail: String| EventRow {
        id: events::derived_id(context.item.id.0, &format!("{kind} v{}", version.number)),
        institution: object.institution,
        object: Some(object.id),
        file: None,
        content: None,
        item: Some(context.item.id),
        version: Some(version.number),
        kind: kind.into(),
        components: None,
        time: version.created_at.0,
        outcome: "success".into(),
        detail: Some(detail.into()),
        outcome_detail: Some(outcome_detail),
        store: None,
        agent: AGENT.into(),
        actor: None,
    };
    let profile = version.description.profile.clone().unwrap_or_else(|| "no profile".into());
    let checked = profiles::checked_against(&version.description);
    let access = version.description.access.clone().unwrap_or_default();
    let made = match version.description.part {
        Some(part) => format!("a version was made from {part} of the object"),
        None => "a version was made from the deposit".to_owned(),
    };
    let mut events = vec![
        event("validation", &checked, profile),
        event("ingestion", &made, format!("version {}", version.number)),
        event("access assignment", "access as the deposit asks", access),
    ];
    if version.number == 1 {
        events.push(event("creation", "the object was made", object.identifier.clone()));
        events.push(event("identifier assignment", "lasting identifier of the object", object.id.to_string()));
    }
    events
}

/// The file of the version's record: the one that has had its path in a generation that was deleted, or a new one.
fn file_of_record(context: &StageContext<'_>, known: &Known) -> Result<FileId, StageError> {
    if known.object.head == 0 && !known.object.is_anew {
        return Ok(FileId::new());
    }
    let (object, path) = (known.object.id, record::path(known.version.number));
    Ok(context.registry().read(|tx| deletions::file_of_path(tx, object, &path))?.unwrap_or_else(FileId::new))
}

/// What stores have not got yet of a version, by their names: the next page of each.
type Uncopied = BTreeMap<String, Vec<PendingCopy>>;

/// The next pages of these stores, after the contents that each was given last.
fn uncopied(
    tx: &mut dyn Transaction,
    version: &Version,
    stores: &[(String, Option<Digest>)],
) -> Result<Uncopied, RegistryError> {
    let page = |(name, after): &(String, Option<Digest>)| {
        Ok((name.clone(), copies::uncopied(tx, version, name, *after, COPIES_AT_ONCE)?))
    };
    stores.iter().map(page).collect()
}

/// Writes the version's record to staging and gives it its own content, file and entry. With what the stores have not got of the
/// version then, where that was looked up.
fn put_record(
    context: &StageContext<'_>,
    known: &Known,
    place: Option<StagingPlace>,
    ((file, content), head): ((FileId, ContentId), &str),
) -> Result<(StagedRecord, Option<Uncopied>), StageError> {
    let version = &known.version;
    if let Some(record) = fact::<StagedRecord>(&known.facts, &fact_of(version, "record"))? {
        if context.staging().head(&Key::new(record.staging_key.as_str())?).is_ok() {
            return Ok((record, None));
        }
        return Err(StageError::StagingLost("the version's record is gone from staging".into()));
    }
    let lost = || StageError::StagingLost("nothing in staging is reserved for the deposit".into());
    let key = format!("{}/record-{}.jsonl", staging_prefix(context.item.id, place).ok_or_else(lost)?, version.id);
    let text = spool_record(context, version, head)?;
    let mut hashing = HashingReader::new(text, &Algorithm::RECORDED);
    let options = PutOptions { durability: Durability::OnSync, ..PutOptions::default() };
    context.staging().put(&Key::new(key.clone())?, &mut hashing, &options)?;
    let (size, digests) = hashing.finish();
    let digests = staging::recorded(&digests)?;
    let path = record::path(version.number);
    let record = StagedRecord { file, content, staging_key: key };
    let rows = NewRows {
        contents: vec![NewContent { id: content, size, digests }],
        entries: vec![NewEntry { file, path, modified: None, content, format: record::format() }],
        facts: vec![(fact_of(version, "record"), serde_json::to_string(&record)?)],
        ..NewRows::default()
    };
    let version = version.clone();
    let stores: Vec<_> = known.store_names().into_iter().map(|name| (name, None)).collect();
    let first = context.write(move |tx, claim| {
        versions::put_rows(tx, claim, &version, &rows)?;
        uncopied(tx, &version, &stores)
    })?;
    Ok((record, Some(first)))
}

/// The version's record as it was first written, from what is kept of the version and the item: byte for byte the same,
/// whatever has been renamed since.
pub(in crate::ingest) fn record_again(context: &StageContext<'_>, version: &Version) -> Result<File, StageError> {
    let gone = || StageError::Transient(format!("the first line of {} was not kept", record::path(version.number)));
    let head = version.record_head.as_deref().ok_or_else(gone)?;
    spool_record(context, version, head)
}

fn spool_record(context: &StageContext<'_>, version: &Version, head: &str) -> Result<File, StageError> {
    let mut text = spool(|out| write_record(context, version, head, out))?;
    text.seek(SeekFrom::Start(0)).map_err(|error| StageError::Transient(error.to_string()))?;
    Ok(text)
}

/// The first line of the version's record, as it is where none is kept yet.
fn first_line(
    context: &StageContext<'_>,
    version: &Version,
    object: &Object,
    (own_file, own_content): (FileId, ContentId),
    besides: &Besides,
) -> Result<String, StageError> {
    let first = VersionLine {
        form: record::FORM,
        institution_name: besides.institution_name.clone(),
        institution: context.item.institution_identifier.clone(),
        institution_id: context.item.institution,
        collection: context.item.collection_identifier.clone().or_else(|| object.collection_identifier.clone()),
        object: object.id,
        identifier: object.identifier.clone(),
        ark: object.ark.clone(),
        object_created_at: object.created_at.0,
        generation: version.generation,
        version: version.number,
        version_id: version.id,
        created_at: version.created_at.0,
        message: version.message.clone(),
        user: version.user.clone(),
        harvested_from: HarvestedFrom::Stated(DepositOptions::of(context.item)?.harvested_from),
        item: context.item.id,
        description: version.description.clone(),
        own_file,
        own_content,
    };
    let mut line = Vec::new();
    record::write_line(&mut line, &Line::Version(Box::new(first))).map_err(|error| unwritable(&error))?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Keeps the first line and the identifiers that it names, where the rows of the version were put before; the line that is kept.
fn freeze_head(
    context: &StageContext<'_>,
    version: &Version,
    own: (FileId, ContentId),
    line: String,
) -> Result<String, StageError> {
    let (name, ids) = (fact_of(version, "record_ids"), serde_json::to_string(&own)?);
    let version = version.clone();
    context.write(move |tx, claim| {
        interim::set_fact(tx, claim, &name, &ids)?;
        versions::freeze_record(tx, claim, &version, &line)
    })
}

fn unwritable(error: &io::Error) -> StageError {
    StageError::Transient(format!("could not write the version's record: {error}"))
}

fn write_record(
    context: &StageContext<'_>,
    version: &Version,
    head: &str,
    out: &mut dyn Write,
) -> Result<(), StageError> {
    out.write_all(head.as_bytes()).map_err(|error| unwritable(&error))?;
    let (item, layout) = (context.item.id, layout(context)?);
    context.registry().read(|tx| {
        let by_page = pages(
            ROWS_AT_ONCE,
            |(_, path): &(FileId, String)| path.clone(),
            |after, limit| {
                context.task.check()?;
                Ok::<_, StageError>(versions::removals(tx, version, &after.unwrap_or_default(), limit)?)
            },
        );
        for page in by_page {
            for (file, path) in page? {
                record::write_line(out, &Line::Removal(RemovalLine { file, path }))
                    .map_err(|error| unwritable(&error))?;
            }
        }
        let by_page = pages(
            ROWS_AT_ONCE,
            |file: &InterimFile| file.path.clone(),
            |after, limit| {
                context.task.check()?;
                Ok::<_, StageError>(interim::files_after(tx, item, &after.unwrap_or_default(), limit)?)
            },
        );
        for page in by_page {
            for row in page?.into_iter().filter(|row| row.decision != Some(Decision::Unchanged)) {
                let (Some(file), Some(content)) = (row.file, row.content) else { continue };
                let line = FileLine {
                    file,
                    path: logical_path(layout, &row.path, version.number),
                    modified: row.modified,
                    content,
                    size: row.size,
                    md5: row.digests.md5.to_hex(),
                    sha1: row.digests.sha1.to_hex(),
                    sha256: row.digests.sha256.to_hex(),
                    sha512: row.digests.sha512.to_hex(),
                    format: row.format,
                };
                record::write_line(out, &Line::File(Box::new(line))).map_err(|error| unwritable(&error))?;
            }
        }
        events::of_version(tx, version.object, version.number, &mut |event| {
            record::write_line(out, &Line::Event(Box::new(event)))
                .map_err(|error| DatabaseError::Aborted(error.to_string()))
        })?;
        Ok(())
    })
}

/// Writes to a temporary file without a name.
pub(in crate::ingest) fn spool(
    write: impl FnOnce(&mut dyn Write) -> Result<(), StageError>,
) -> Result<File, StageError> {
    let unwritable = |error: io::Error| StageError::Transient(format!("could not write a temporary file: {error}"));
    let file = tempfile::tempfile().map_err(unwritable)?;
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.into_inner().map_err(|error| unwritable(error.into_error()))
}

/// The assembly of a version in a store: named by the version, or by its item where it was begun before content paths had
/// identifiers.
pub(in crate::ingest) fn assembly<'s>(
    context: &StageContext<'_>,
    version: &Version,
    store: &'s Arc<dyn Store>,
) -> Result<VersionAssembly<'s>, StageError> {
    let root = context.open_root(store.name(), store.as_ref())?;
    let object_root = root.object_root(&object_id(&version.generation.to_string())?)?;
    let number = version_number(version.number)?;
    Ok(if version.owns_contents {
        VersionAssembly::open(store.as_ref(), &version.id.to_string(), &object_root, number)?
    } else {
        VersionAssembly::open_without_id(store.as_ref(), &context.item.id.to_string(), &object_root, number)?
    })
}

/// The storage class of a content in a store. The version's record is what a registry is made from again: it stays readable.
pub(in crate::ingest) fn class_of(context: &StageContext<'_>, store: &str, is_record: bool) -> Option<String> {
    let class = context.home.settings.stores.get(store).and_then(StoreSettings::content_class);
    class.filter(|_| !is_record).map(str::to_owned)
}

/// Writes what the stores lack of the version, page by page, in all stores at the same time; the bytes that went into the last
/// of them. `first` are the first pages, where they were looked up. The copies of the last pages are recorded with the end of the
/// stage.
fn write_to_stores(
    context: &StageContext<'_>,
    known: &Known,
    record: &StagedRecord,
    first: Option<Uncopied>,
) -> Result<u64, StageError> {
    let Known { facts, version, object, stores } = known;
    // Each copy is read back before it counts, so that its digest is not calculated here as well. Where one did not read back
    // right, it is: that says whether staging or the store has other bytes.
    let is_suspect = fact::<u32>(facts, &fact_of(version, WRITTEN_AGAIN))?.is_some();
    let mut bytes = vec![0; stores.len()];
    let mut open: Vec<(String, Option<Digest>)> = known.store_names().into_iter().map(|name| (name, None)).collect();
    let mut first = first;
    while !open.is_empty() {
        let page_of = match first.take() {
            Some(first) => first,
            None => context.registry().read(|tx| uncopied(tx, version, &open))?,
        };
        let none = Vec::new();
        let page = |name: &str| page_of.get(name).unwrap_or(&none);
        let written = in_every_store(stores, |name, store| match page(name).as_slice() {
            [] => Ok((0, Vec::new())),
            page => write_page(context, version, (name, store), (record, is_suspect), page),
        });
        crash_point("ingest.write.middle");
        let mut failure = None;
        let mut stored = Vec::new();
        for ((name, _), (written, bytes)) in stores.iter().zip(written.into_iter().zip(&mut bytes)) {
            match written {
                Ok((count, copies)) => {
                    *bytes += count;
                    stored.push((name.clone(), copies));
                }
                Err(error) => _ = failure.get_or_insert(error),
            }
        }
        stored.retain(|(_, copies)| !copies.is_empty());
        open = open
            .into_iter()
            .filter(|(name, _)| page(name).len() == COPIES_AT_ONCE)
            .map(|(name, after)| {
                let last = page(&name).last().map(|last| last.sha512).or(after);
                (name, last)
            })
            .collect();
        if !stored.is_empty() {
            let (institution, of) = (object.institution, version.clone());
            if open.is_empty() && failure.is_none() {
                context.with_end(move |tx, claim| {
                    copies::put_copies_in(tx, claim, institution, &of, &stored).map(|()| Vec::new())
                });
            } else {
                // Also where another store failed: what is durable is not written again.
                context.write(move |tx, claim| copies::put_copies_in(tx, claim, institution, &of, &stored))?;
            }
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
    }
    Ok(bytes.last().copied().unwrap_or_default())
}

/// Writes a page of contents into a store, where they are durable when this returns: how many bytes, and the copies.
fn write_page(
    context: &StageContext<'_>,
    version: &Version,
    (name, store): (&str, &Arc<dyn Store>),
    (record, is_suspect): (&StagedRecord, bool),
    page: &[PendingCopy],
) -> Result<(u64, Vec<NewCopy>), StageError> {
    let assembly = assembly(context, version, store)?;
    let mut bytes = 0;
    let mut copies = Vec::with_capacity(page.len());
    for pending in page {
        context.task.check()?;
        let is_record = pending.content == record.content;
        let (key, offset) = match &pending.staged {
            Some((key, offset)) => (key, *offset),
            None if is_record => (&record.staging_key, 0),
            None => return Err(StageError::StagingLost(format!("nothing staged has sha512:{}", pending.sha512))),
        };
        let class = class_of(context, name, is_record);
        let staged = staging::open(context, key, offset, pending.size)?;
        let mut body = Interruptible::new(staged, context.task);
        let put = if is_suspect {
            assembly.put_content(&pending.sha512, pending.size, class.clone(), &mut body)
        } else {
            assembly.put_content_to_verify(&pending.sha512, pending.size, class.clone(), &mut body)
        };
        match put {
            Ok(_) => {}
            // The store compares what it is given: it is staging that is wrong.
            Err(OcflError::Storage(error @ StorageError::Mismatch { .. })) => {
                return Err(StageError::StagingLost(chain(&error)));
            }
            Err(error) => {
                context.task.check()?;
                return Err(error.into());
            }
        }
        bytes += pending.size;
        let key = assembly.content_key(&pending.sha512)?.to_string();
        copies.push(NewCopy { content: pending.content, key, class });
    }
    assembly.sync()?;
    Ok((bytes, copies))
}
