//! What a version brings must lie in a store under its identifier, each content with its size: told by one listing. Before
//! `committing` what is missing sends the item back to `write`; after it there is no way back, and what is missing is made
//! again from staging, from another store's copy, or from the deposit itself.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use strongroom_bagit::fetch::read_list;
use strongroom_digest::{Algorithm, Digest, DigestSet, hash_reader};
use strongroom_ocfl::{OcflError, VersionAssembly};
use strongroom_registry::copies::{self, PendingCopy};
use strongroom_registry::interim;
use strongroom_registry::versions::Version;
use strongroom_registry::{ContentId, RegistryError, Transaction};
use strongroom_storage::{StorageError, Store};

use super::deposit::DepositOptions;
use super::intake::{PackageSource, bag_trouble, package_source};
use super::kind::DepositKind;
use super::manifest::{self, FileRow, FileRows, NextRow};
use super::planned::{PlannedList, PlannedWriter};
use super::stages::verify::{name_of, prove_rest};
use super::stages::write::{assembly, class_of, record_again, staged_record};
use super::staging;
use crate::home::NamedStore;
use crate::interruptible::Interruptible;
use crate::paging::pages;
use crate::workflow::{StageContext, StageError};

/// Contents looked up at once, and most of those missing that are reported at once.
const CONTENTS_AT_ONCE: usize = 1_000;

/// Most bytes of a `fetch.txt` that are read again.
const LONGEST_LIST: u64 = 1 << 30;
/// Most bytes of a `bagit.txt` that are read again.
const LONGEST_DECLARATION: u64 = 1 << 20;

/// The first contents of a version that a store does not show under the version's identifier with their size; none where
/// it shows them all.
pub(super) fn missing(
    context: &StageContext<'_>,
    brought: &Brought<'_>,
    store: &Arc<dyn Store>,
) -> Result<Vec<PendingCopy>, StageError> {
    #[cfg(feature = "failpoints")]
    if strongroom_registry::faults::is_put_back(strongroom_registry::faults::RESUMED_DISCARD) {
        return Ok(Vec::new());
    }
    let assembly = assembly(context, brought.version, store)?;
    let mut listing = assembly.contents()?;
    let mut listed = listing.next().transpose()?;
    let mut missing = Vec::new();
    for page in brought.pages(context) {
        for content in page? {
            let path = assembly.content_path(&content.sha512);
            while listed.as_ref().is_some_and(|(found, _)| *found < path) {
                listed = listing.next().transpose()?;
            }
            let is_there = listed.as_ref().is_some_and(|(found, size)| *found == path && *size == content.size);
            if !is_there {
                missing.push(content);
            }
            if missing.len() >= CONTENTS_AT_ONCE {
                return Ok(missing);
            }
        }
    }
    Ok(missing)
}

/// The contents that a version brings, in order of their SHA-512, of which the first page was read: each store is compared with
/// them.
pub(super) struct Brought<'v> {
    version: &'v Version,
    first: Vec<PendingCopy>,
}

impl<'v> Brought<'v> {
    pub(super) fn new(version: &'v Version, first: Vec<PendingCopy>) -> Self {
        Self { version, first }
    }

    /// The first page, within a transaction that reads other things too.
    pub(super) fn first_page(tx: &mut dyn Transaction, version: &Version) -> Result<Vec<PendingCopy>, RegistryError> {
        copies::brought(tx, version, None, CONTENTS_AT_ONCE)
    }

    fn pages(&self, context: &StageContext<'_>) -> impl Iterator<Item = Result<Vec<PendingCopy>, StageError>> {
        pages(
            CONTENTS_AT_ONCE,
            |content: &PendingCopy| content.sha512,
            |after, limit| {
                context.task.check_lease()?;
                match after {
                    None => Ok(self.first.clone()),
                    after => Ok(context.registry().read(|tx| copies::brought(tx, self.version, after, limit))?),
                }
            },
        )
    }
}

/// Makes what a store lacks of a version that is being committed, until it lacks nothing. `are_proved` says that this
/// attempt has seen, under the object's lease, that every copy is proved: only what is made again since is to be
/// proved then.
pub(super) fn complete(
    context: &StageContext<'_>,
    brought: &Brought<'_>,
    (name, store): (&str, &Arc<dyn Store>),
    stores: &[NamedStore],
    are_proved: bool,
) -> Result<(), StageError> {
    let version = brought.version;
    let mut last: Option<Digest> = None;
    loop {
        let mut lacking = missing(context, brought, store)?;
        if lacking.is_empty() && !(are_proved && last.is_none()) {
            lacking = wrong(context, brought, (name, store))?;
        }
        let Some(first) = lacking.first() else { return Ok(()) };
        if last == Some(first.sha512) {
            return Err(StageError::Transient(format!(
                "store {name} does not show {} of version {} as it was put there (sha512:{})",
                name_of(context, first, version)?,
                version.number,
                first.sha512
            )));
        }
        last = Some(first.sha512);
        // What was proved before is not what lies there from now on, also where this attempt ends before it is proved anew.
        let contents: Vec<ContentId> = lacking.iter().map(|content| content.content).collect();
        let (of, in_store) = (version.clone(), name.to_owned());
        context.write(move |tx, claim| copies::set_unproved(tx, claim, &of, &in_store, &contents))?;
        let making = Making { context, version, name, assembly: assembly(context, version, store)?, stores };
        making.all(lacking)?;
        making.assembly.sync()?;
    }
}

/// Proves the copies that were made again: the first contents that do not prove right, with where they are staged.
fn wrong(
    context: &StageContext<'_>,
    brought: &Brought<'_>,
    (name, store): (&str, &Arc<dyn Store>),
) -> Result<Vec<PendingCopy>, StageError> {
    let wrong = prove_rest(context, brought.version, name, store)?;
    let mut known = Vec::with_capacity(wrong.len());
    if wrong.is_empty() {
        return Ok(known);
    }
    for page in brought.pages(context) {
        known.extend(page?.into_iter().filter(|content| wrong.contains(&content.content)));
        if known.len() >= wrong.len() {
            break;
        }
    }
    Ok(known)
}

/// Contents that are made again in one store.
struct Making<'a, 'c, 's> {
    context: &'a StageContext<'c>,
    version: &'a Version,
    name: &'a str,
    assembly: VersionAssembly<'s>,
    stores: &'a [NamedStore],
}

impl Making<'_, '_, '_> {
    fn all(&self, lacking: Vec<PendingCopy>) -> Result<(), StageError> {
        let record = staged_record(self.context, self.version)?.map(|record| record.content);
        let mut left = Vec::new();
        for content in lacking {
            self.context.task.check_lease()?;
            let is_record = record == Some(content.content);
            let is_made = if is_record { self.by_rows(&content)? } else { self.by_staging(&content)? };
            if !is_made && !self.by_other_stores(&content, is_record)? {
                left.push(content);
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        self.by_payload(&mut left)?;
        match left.first() {
            None => Ok(()),
            Some(lost) => Err(StageError::Transient(format!(
                "version {} is being committed, and {} is neither in staging, nor in another store, nor in the deposit \
                 (sha512:{}); put the deposit back where it was, or restore a store",
                self.version.number,
                name_of(self.context, lost, self.version)?,
                lost.sha512
            ))),
        }
    }

    /// Puts a content; whether the bytes were the right ones.
    fn put(&self, content: &PendingCopy, is_record: bool, body: impl std::io::Read) -> Result<bool, StageError> {
        let class = class_of(self.context, self.name, is_record);
        let mut body = Interruptible::new(body, self.context.task);
        match self.assembly.put_missing_content(&content.sha512, content.size, class, &mut body) {
            Ok(_) => Ok(true),
            Err(OcflError::Storage(StorageError::Mismatch { .. } | StorageError::Source { .. })) => {
                self.context.task.check_lease()?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The version's own record, which is written again from what is kept of it.
    fn by_rows(&self, content: &PendingCopy) -> Result<bool, StageError> {
        let file = record_again(self.context, self.version)?;
        self.put(content, true, file)
    }

    fn by_staging(&self, content: &PendingCopy) -> Result<bool, StageError> {
        let Some((key, offset)) = &content.staged else { return Ok(false) };
        match staging::open(self.context, key, *offset, content.size) {
            Ok(body) => self.put(content, false, body),
            Err(StageError::StagingLost(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn by_other_stores(&self, content: &PendingCopy, is_record: bool) -> Result<bool, StageError> {
        for (_, store) in self.stores.iter().filter(|(name, _)| name != self.name) {
            // A store that does not answer is one that cannot help.
            let Ok(other) = assembly(self.context, self.version, store) else { continue };
            let Ok(body) = other.open_content(&content.sha512) else { continue };
            if self.put(content, is_record, body)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the deposit once more for what is nowhere else. It is removed only after publication.
    fn by_payload(&self, left: &mut Vec<PendingCopy>) -> Result<(), StageError> {
        let sizes: HashSet<u64> = left.iter().map(|content| content.size).collect();
        let payload = package_source(self.context)?;
        let options = DepositOptions::of(self.context.item)?;
        match options.kind() {
            DepositKind::Manifest => return self.by_manifest(left, &sizes, &payload),
            DepositKind::Metadata => return Ok(()),
            _ => {}
        }
        let package = payload.open(self.context, &options)?;
        let mut failure = None;
        let mut list = FetchList::default();
        let scanned = package.scan(&mut |_| Ok(()), &mut |entry, bytes| {
            if failure.is_some() {
                return Ok(());
            }
            let spooled = if options.kind() == DepositKind::Bag { list.spools(&entry.path)? } else { None };
            if !sizes.contains(&entry.size) && spooled.is_none() {
                return Ok(());
            }
            let put = match spooled {
                Some((file, most)) => {
                    if entry.size > most {
                        let size = entry.size;
                        failure = Some(StageError::Transient(format!(
                            "{} has {size} bytes, more than the {most} that are read: what was fetched by it and is lost cannot be fetched \
                             again; next: put the lost files where the deposit was, or restore a store",
                            entry.path
                        )));
                        return Ok(());
                    }
                    io::copy(bytes, file)?;
                    file.seek(SeekFrom::Start(0))?;
                    self.put_if_lost(left, &mut *file)
                }
                None => self.put_if_lost(left, bytes),
            };
            put.or_else(|error| match error {
                Trouble::Reading(error) => Err(error),
                Trouble::Store(error) => {
                    failure = Some(error);
                    Ok(())
                }
            })
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.context.task.check_lease()?;
        match scanned {
            Ok(scanned) => scanned.map(drop).map_err(|error| only_for_now(bag_trouble(error)))?,
            Err(error) => return Err(only_for_now(error)),
        }
        if left.is_empty() || !list.is_there() {
            return Ok(());
        }
        let mut planned =
            list.plan().map_err(|error| StageError::Transient(format!("could not read fetch.txt: {error}")))?;
        let mut rows = planned.rows()?;
        self.by_download(left, &sizes, &mut || rows.next_row())
    }

    /// Downloads the files of a manifest that have one of these sizes once more.
    fn by_manifest(
        &self,
        left: &mut Vec<PendingCopy>,
        sizes: &HashSet<u64>,
        payload: &PackageSource,
    ) -> Result<(), StageError> {
        let options = DepositOptions::of(self.context.item)?;
        let (mut list, _) = manifest::spool(self.context, payload, &options).map_err(only_for_now)?;
        let mut rows = FileRows::new(&mut list)?;
        self.by_download(left, sizes, &mut || rows.next_row())
    }

    /// Downloads those files of a list once more that have one of these sizes.
    fn by_download(
        &self,
        left: &mut Vec<PendingCopy>,
        sizes: &HashSet<u64>,
        next_row: NextRow<'_>,
    ) -> Result<(), StageError> {
        let item = self.context.item.id;
        manifest::download_all(
            self.context,
            next_row,
            None,
            &mut |row| {
                let known = self.context.registry().read(|tx| interim::file(tx, item, &row.path))?;
                Ok(known.is_some_and(|file| sizes.contains(&file.size)))
            },
            &mut |mut download| {
                let taken = match download.open() {
                    Ok(_) => self.put_if_lost(left, &mut download),
                    Err(error) => return Err(only_for_now(error)),
                };
                taken.map_err(|error| match error {
                    Trouble::Store(error) => error,
                    Trouble::Reading(error) => {
                        only_for_now(download.failure().unwrap_or_else(|| StageError::Transient(error.to_string())))
                    }
                })
            },
        )
    }

    /// Puts a file of the package where it is one of those that are lost.
    fn put_if_lost(&self, left: &mut Vec<PendingCopy>, bytes: &mut dyn Read) -> Result<(), Trouble> {
        let mut spool = tempfile::tempfile()?;
        io::copy(bytes, &mut spool)?;
        spool.seek(SeekFrom::Start(0))?;
        let sha512 = hash_reader(&mut spool, &[Algorithm::Sha512])?.1.get(Algorithm::Sha512);
        let Some(at) = left.iter().position(|content| Some(content.sha512) == sha512) else { return Ok(()) };
        spool.seek(SeekFrom::Start(0))?;
        let content = left.swap_remove(at);
        if !self.put(&content, false, spool).map_err(Trouble::Store)? {
            left.push(content);
        }
        Ok(())
    }
}

/// The tag files of a bag that say which files were fetched for it, in temporary files.
#[derive(Default)]
struct FetchList {
    declaration: Option<File>,
    list: Option<File>,
}

impl FetchList {
    /// Where a file of the bag is put, if it is one of the two, and how many bytes it may have.
    fn spools(&mut self, path: &str) -> io::Result<Option<(&mut File, u64)>> {
        let (file, most) = match path {
            "bagit.txt" => (&mut self.declaration, LONGEST_DECLARATION),
            "fetch.txt" => (&mut self.list, LONGEST_LIST),
            _ => return Ok(None),
        };
        Ok(Some((file.insert(tempfile::tempfile()?), most)))
    }

    fn is_there(&self) -> bool {
        self.list.is_some()
    }

    /// The files that the list names, in its order.
    fn plan(self) -> io::Result<PlannedList> {
        let mut planned = PlannedWriter::new()?;
        let (Some(mut declaration), Some(mut list)) = (self.declaration, self.list) else { return planned.end() };
        declaration.seek(SeekFrom::Start(0))?;
        list.seek(SeekFrom::Start(0))?;
        let mut line = 0;
        let mut failure = None;
        read_list(&mut declaration, Box::new(BufReader::new(list)), &mut |entry, path| {
            line += 1;
            let (url, path, size) = (entry.url, path.to_owned(), entry.length);
            let row = FileRow { line, url, path, size, digests: DigestSet::default(), modified: None };
            if failure.is_none() {
                failure = planned.push(row).err();
            }
        })?;
        failure.map_or_else(|| planned.end(), Err)
    }
}

/// Why a file of the package was not put.
enum Trouble {
    Reading(io::Error),
    Store(StageError),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Reading(error)
    }
}

/// A version that is being committed goes only forward: what is wrong with its package is tried again.
fn only_for_now(error: StageError) -> StageError {
    match error {
        StageError::Fatal { note, .. } | StageError::Invalid { note, .. } => StageError::Transient(note),
        other => other,
    }
}

/// What a failure of a commit means for the stage: first whether the lease is still there.
pub(super) fn commit_failure(context: &StageContext<'_>, error: OcflError) -> StageError {
    match context.task.check_lease() {
        Err(reason) => reason.into(),
        Ok(()) => error.into(),
    }
}
