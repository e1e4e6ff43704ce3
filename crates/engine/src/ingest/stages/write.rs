//! write: the version's rows, then its contents and inventory into every store of the placement, out of sight. Only new
//! content travels; what a store has durably is not written again.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strongroom_database::DatabaseError;
use strongroom_digest::{Algorithm, HashingReader};
use strongroom_ocfl::{
    InventoryHeader, InventorySeal, InventoryWriter, OcflError, StorageRoot, User, VersionAssembly, VersionDetails,
    VersionNumber, content_path, object_id,
};
use strongroom_registry::events::{self, EventRow, Expansion};
use strongroom_registry::interim::InterimFile;
use strongroom_registry::objects::{DEPOSIT, Object};
use strongroom_registry::versions::{self, NewContent, NewCopy, NewEntry, Version};
use strongroom_registry::work::StageEnd;
use strongroom_registry::{ContentId, Decision, FileId, Format, RegistryError, Scope, Stage, VersionState};
use strongroom_storage::{Durability, Key, PutOptions, StorageError, Store};

use super::compare::{for_each_page, keep_object, object, placement, version};
use super::resolve::Resolved;
use super::{Findings, Seal};
use crate::error::chain;
use crate::home::{NamedStore, storage_root};
use crate::ingest::context::{StageContext, StageError};
use crate::ingest::intake::is_submission_file;
use crate::ingest::staging::{self, Interruptible};
use crate::record::{self, FileLine, Line, VersionLine};
use crate::settings::StoreSettings;
use crate::{AGENT, crash_point};

/// How many contents go into a store before their copies are recorded.
const COPIES_AT_ONCE: usize = 1_000;

/// The version's record as a staged content.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct StagedRecord {
    file: FileId,
    content: ContentId,
    staging_key: String,
}

pub(super) fn run(context: &StageContext<'_>) -> Result<StageEnd, StageError> {
    let resolved: Resolved = context.expect("resolved")?;
    if let Some(end) = keep_object(context, &resolved)? {
        return Ok(end);
    }
    let version = version(context)?;
    if version.state != VersionState::Preparing {
        return Ok(StageEnd::Next { next: Stage::Record, note: "already being committed".into() });
    }
    let object = object(context, &resolved)?;
    let (_, stores) = placement(context, &resolved)?;
    let store_names: Vec<String> = stores.iter().map(|(name, _)| name.clone()).collect();
    put_rows(context, &version, &object, &store_names)?;
    let record = put_record(context, &version, &object)?;
    let (mut inventory, seal) = inventory(context, &version, &object)?;
    context.set_fact("seal", &Seal::from(seal))?;
    inventory.seek(SeekFrom::Start(0)).map_err(|error| StageError::Transient(error.to_string()))?;
    let mut bytes = 0;
    for written in in_every_store(&stores, |name, store| {
        write_to_store(context, &version, &object, name, store, &record, &inventory, seal)
    }) {
        bytes = written?;
    }
    let note = format!("{bytes} bytes written to each of {}", store_names.join(", "));
    Ok(StageEnd::Next { next: Stage::Verify, note })
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

/// The logical path of a deposited file in a version.
fn logical_path(path: &str, version: u64) -> String {
    if is_submission_file(path) { format!("submission/v{version}/{path}") } else { format!("{DEPOSIT}{path}") }
}

/// Puts entries and events. Every identifier is fixed by now, so that a repeat puts nothing.
fn put_rows(
    context: &StageContext<'_>,
    version: &Version,
    object: &Object,
    stores: &[String],
) -> Result<(), StageError> {
    if context.fact::<bool>("rows")?.is_some() {
        return Ok(());
    }
    let findings: Findings = context.expect("findings")?;
    for_each_page(context, |mut rows| {
        rows.retain(|row| row.decision != Some(Decision::Unchanged));
        let mut entries = Vec::with_capacity(rows.len());
        let mut file_events = Vec::with_capacity(rows.len());
        for row in &rows {
            let (Some(file), Some(content)) = (row.file, row.content) else {
                return Err(StageError::StagingLost(format!("{:?} was never compared", row.path)));
            };
            let path = logical_path(&row.path, version.number);
            entries.push(NewEntry { file, path, modified: row.modified, content, format: row.format.clone() });
            file_events.push(file_event(context, version, object, row, &findings, stores, file, content));
        }
        let version = version.clone();
        context.write(move |tx, claim| {
            versions::put_entries(tx, claim, &version, &entries)?;
            events::append(tx, &file_events)
        })
    })?;
    let object_events = object_events(context, version, object);
    context.write(move |tx, claim| {
        strongroom_registry::work::check_fence(tx, claim)?;
        events::append(tx, &object_events)
    })?;
    context.set_fact("rows", &true)
}

#[allow(clippy::too_many_arguments)] // one row out of everything the stage knows
fn file_event(
    context: &StageContext<'_>,
    version: &Version,
    object: &Object,
    row: &InterimFile,
    findings: &Findings,
    stores: &[String],
    file: FileId,
    content: ContentId,
) -> EventRow {
    let is_payload = row.path.starts_with("data/");
    EventRow {
        id: events::derived_id(file.0, &format!("ingest {} v{}", version.generation, version.number)),
        institution: object.institution,
        object: Some(object.id),
        file: Some(file),
        content: Some(content),
        item: Some(context.item.id),
        version: Some(version.number),
        kind: "ingestion".into(),
        expansion: Some(Expansion {
            new: row.decision == Some(Decision::New),
            checked: if is_payload { findings.manifests.clone() } else { Vec::new() },
            stores: stores.to_vec(),
            format: Some(row.format.clone()).filter(Format::was_tried),
        }),
        time: version.created_at.0,
        outcome: "success".into(),
        detail: None,
        outcome_detail: Some(format!("sha512:{}", row.digests.sha512)),
        agent: AGENT.into(),
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
        expansion: None,
        time: version.created_at.0,
        outcome: "success".into(),
        detail: Some(detail.into()),
        outcome_detail: Some(outcome_detail),
        agent: AGENT.into(),
    };
    let profile = version.description.profile.clone().unwrap_or_else(|| "no profile".into());
    let access = version.description.access.clone().unwrap_or_default();
    let made = match version.description.part {
        Some(part) => format!("a version was made from {part} of the object"),
        None => "a version was made from the deposit".to_owned(),
    };
    let mut events = vec![
        event("validation", "the bag was checked against BagIt and its profile", profile),
        event("ingestion", &made, format!("version {}", version.number)),
        event("access assignment", "access as the deposit asks", access),
    ];
    if version.number == 1 {
        events.push(event("creation", "the object was made", object.identifier.clone()));
        events.push(event("identifier assignment", "lasting identifier of the object", object.id.to_string()));
    }
    events
}

/// Writes the version's record to staging and gives it its own content, file and entry.
fn put_record(context: &StageContext<'_>, version: &Version, object: &Object) -> Result<StagedRecord, StageError> {
    let key = format!("{}/record.jsonl", context.item.id);
    if let Some(record) = context.fact::<StagedRecord>("record")? {
        if context.staging().head(&Key::new(key)?).is_ok() {
            return Ok(record);
        }
        return Err(StageError::StagingLost("the version's record is gone from staging".into()));
    }
    let (file, content) = context.fact("record_ids")?.unwrap_or_else(|| (FileId::new(), ContentId::new()));
    context.set_fact("record_ids", &(file, content))?;
    let mut text = spool(|out| write_record(context, version, object, file, content, out))?;
    text.seek(SeekFrom::Start(0)).map_err(|error| StageError::Transient(error.to_string()))?;
    let mut hashing = HashingReader::new(text, &Algorithm::RECORDED);
    let options = PutOptions { durability: Durability::OnSync, ..PutOptions::default() };
    context.staging().put(&Key::new(key.clone())?, &mut hashing, &options)?;
    let (size, digests) = hashing.finish();
    let digests = staging::recorded(&digests)?;
    let new = NewContent { id: content, size, digests };
    let path = record::path(version.number);
    let entry = NewEntry { file, path, modified: None, content, format: record::format() };
    let record = StagedRecord { file, content, staging_key: key };
    let fact = serde_json::to_string(&record)?;
    let version = version.clone();
    context.write(move |tx, claim| {
        versions::put_content(tx, &version, &new)?;
        versions::put_entries(tx, claim, &version, std::slice::from_ref(&entry))?;
        strongroom_registry::interim::set_fact(tx, claim, "record", &fact)
    })?;
    Ok(record)
}

fn write_record(
    context: &StageContext<'_>,
    version: &Version,
    object: &Object,
    own_file: FileId,
    own_content: ContentId,
    out: &mut dyn Write,
) -> Result<(), StageError> {
    let unwritable = |error: io::Error| StageError::Transient(format!("could not write the version's record: {error}"));
    let institution = context
        .registry()
        .read(|tx| strongroom_registry::tenants::institution_by_id(tx, Scope::System, context.item.institution))?;
    let first = VersionLine {
        form: record::FORM,
        institution_name: institution.map(|institution| institution.name).unwrap_or_default(),
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
        item: context.item.id,
        description: version.description.clone(),
        own_file,
        own_content,
    };
    record::write_line(out, &Line::Version(Box::new(first))).map_err(unwritable)?;
    for_each_page(context, |rows| {
        for row in rows.into_iter().filter(|row| row.decision != Some(Decision::Unchanged)) {
            let (Some(file), Some(content)) = (row.file, row.content) else { continue };
            let line = FileLine {
                file,
                path: logical_path(&row.path, version.number),
                modified: row.modified,
                content,
                size: row.size,
                md5: row.digests.md5.to_hex(),
                sha1: row.digests.sha1.to_hex(),
                sha256: row.digests.sha256.to_hex(),
                sha512: row.digests.sha512.to_hex(),
                format: row.format,
            };
            record::write_line(out, &Line::File(Box::new(line))).map_err(unwritable)?;
        }
        Ok(())
    })?;
    context.registry().read(|tx| {
        events::of_version(tx, object.id, version.number, &mut |event| {
            record::write_line(out, &Line::Event(Box::new(event)))
                .map_err(|error| DatabaseError::Aborted(error.to_string()))
        })
    })?;
    Ok(())
}

/// Writes the version's inventory, from sorted rows and with constant memory, to a file without a name.
fn inventory(
    context: &StageContext<'_>,
    version: &Version,
    object: &Object,
) -> Result<(File, InventorySeal), StageError> {
    let head = version_number(version.number)?;
    let header = InventoryHeader::new(object_id(&version.generation.to_string())?, head);
    let user_address = format!("https://{}/", context.item.institution_identifier);
    let mut seal = None;
    let file = spool(|out| {
        let mut writer = InventoryWriter::new(out, &header)?;
        context.registry().read(|tx| {
            let aborted = |error: &OcflError| DatabaseError::Aborted(chain(error));
            versions::manifest(tx, object.id, version.generation, version.number, &mut |sha512, stored_in| {
                let stored_in = u32::try_from(stored_in).map_err(|error| DatabaseError::Aborted(error.to_string()))?;
                let number = VersionNumber::new(stored_in).map_err(|error| aborted(&error))?;
                writer.manifest(&sha512, &content_path(number, &sha512)).map_err(|error| aborted(&error))
            })?;
            let mut all = versions::list(tx, object.id, version.generation, false)?;
            all.retain(|one| one.number < version.number);
            all.push(version.clone());
            for one in &all {
                let number = u32::try_from(one.number).map_err(|error| DatabaseError::Aborted(error.to_string()))?;
                let number = VersionNumber::new(number).map_err(|error| aborted(&error))?;
                let details = VersionDetails {
                    created: one.created_at.to_string(),
                    message: Some(one.message.clone()),
                    user: Some(User { name: one.user.clone(), address: Some(user_address.clone()) }),
                };
                writer.version(number, &details).map_err(|error| aborted(&error))?;
                versions::state(tx, object.id, version.generation, one.number, &mut |sha512, path| {
                    writer.state(&sha512, path).map_err(|error| aborted(&error))
                })?;
            }
            Ok::<_, RegistryError>(())
        })?;
        seal = Some(writer.finish()?.1);
        Ok(())
    })?;
    let seal = seal.ok_or_else(|| StageError::Transient("the inventory was not finished".into()))?;
    Ok((file, seal))
}

/// The OCFL number of a version.
pub(super) fn version_number(number: u64) -> Result<VersionNumber, StageError> {
    let number = u32::try_from(number).map_err(|_| StageError::fatal("the object has too many versions"))?;
    Ok(VersionNumber::new(number)?)
}

/// Writes to a temporary file without a name.
fn spool(write: impl FnOnce(&mut dyn Write) -> Result<(), StageError>) -> Result<File, StageError> {
    let unwritable = |error: io::Error| StageError::Transient(format!("could not write a temporary file: {error}"));
    let file = tempfile::tempfile().map_err(unwritable)?;
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.into_inner().map_err(|error| unwritable(error.into_error()))
}

/// The assembly of this item's version in a store.
pub(super) fn assembly<'s>(
    context: &StageContext<'_>,
    version: &Version,
    store: &'s Arc<dyn Store>,
) -> Result<VersionAssembly<'s>, StageError> {
    let prefix =
        storage_root(&context.item.institution_identifier).map_err(|error| StageError::fatal(error.chain()))?;
    let root = StorageRoot::init(store.as_ref(), &prefix)?;
    let object_root = root.object_root(&object_id(&version.generation.to_string())?)?;
    let id = context.item.id.to_string();
    Ok(VersionAssembly::open(store.as_ref(), &id, &object_root, version_number(version.number)?)?)
}

#[allow(clippy::too_many_arguments)] // runs on a thread of its own
fn write_to_store(
    context: &StageContext<'_>,
    version: &Version,
    object: &Object,
    name: &str,
    store: &Arc<dyn Store>,
    record: &StagedRecord,
    inventory: &File,
    seal: InventorySeal,
) -> Result<u64, StageError> {
    let assembly = assembly(context, version, store)?;
    let content_class = context.home.settings.stores.get(name).and_then(StoreSettings::content_class);
    let mut bytes = 0;
    let mut after = None;
    loop {
        let page = context.registry().read(|tx| versions::uncopied(tx, version, name, after, COPIES_AT_ONCE))?;
        let Some(last) = page.last() else { break };
        after = Some(last.sha512);
        let mut copies = Vec::with_capacity(page.len());
        for pending in &page {
            context.task.check()?;
            let (key, offset) = match &pending.staged {
                Some((key, offset)) => (key, *offset),
                None if pending.content == record.content => (&record.staging_key, 0),
                None => return Err(StageError::StagingLost(format!("nothing staged has sha512:{}", pending.sha512))),
            };
            // The version's record is what a registry is made from again: it stays readable.
            let class = content_class.filter(|_| pending.content != record.content).map(str::to_owned);
            let staged = staging::open(context, key, offset, pending.size)?;
            let mut body = Interruptible { bytes: staged, task: context.task };
            match assembly.put_content(&pending.sha512, pending.size, class.clone(), &mut body) {
                Ok(_) => {}
                // The store checks what it is given: it is staging that is wrong.
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
        let (institution, object_id, store) = (object.institution, object.id, name.to_owned());
        context.write(move |tx, claim| versions::put_copies(tx, claim, institution, object_id, &store, &copies))?;
        crash_point("ingest.write.middle");
    }
    let mut inventory = FromStart { file: inventory, at: 0 };
    assembly.put_inventory(&seal, &mut inventory)?;
    assembly.sync()?;
    Ok(bytes)
}

/// Reads a file that other threads read too.
struct FromStart<'f> {
    file: &'f File,
    at: u64,
}

impl io::Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}
