//! A deposit's bytes in staging, hashed and identified on their way. Small files lie behind each other in packs, so that a deposit of many costs the store few
//! puts and few removals; large ones lie by themselves. Staged bytes are not synced: every later reader of them declares
//! their digest, and what a power cut took is fetched again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;

use strongroom_bagit::{BagFile, Serialization};
use strongroom_digest::{Algorithm, DigestSet, HashingReader, hash_reader};
use strongroom_pronom::Observation;
use strongroom_registry::interim::{self, Demand, InterimFile, Provision, StagingPlace, Totals};
use strongroom_registry::{Digests, Format, RegistryError, WaitKey, work};
use strongroom_storage::{Body, Durability, Key, PutOptions, StorageError};

use super::account::{Account, Growing, check_space};
use super::intake::unreadable;
use super::stages::{digest_of, is_stated, quota};
use crate::crash_point;
use crate::home::StagingLimits;
use crate::identification::{Identifying, StoredSource};
use crate::interruptible::Interruptible;
use crate::workflow::{StageContext, StageError, staging_prefix};

/// Files up to this size lie in packs.
pub(super) const SMALL: u64 = 256 << 10;
/// A pack is put when it has so many bytes...
const PACK: usize = 8 << 20;
/// ... or so many files wait to be recorded...
const ROWS_AT_ONCE: usize = 1_000;
/// ... or when they have so many bytes together, wherever they lie.
const BYTES_AT_ONCE: u64 = 256 << 20;

/// Opens a staged file. What is gone is [`StageError::StagingLost`].
pub(crate) fn open(context: &StageContext<'_>, key: &str, offset: u64, size: u64) -> Result<Body, StageError> {
    match context.staging().open(&Key::new(key)?, offset, Some(size)) {
        Ok(body) => Ok(body),
        Err(error) if error.is_not_found() => Err(StageError::StagingLost(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Says whether staged files are still there, as far as that can be seen without reading them.
#[derive(Default)]
pub(crate) struct Presence {
    last: Option<(String, Option<u64>)>,
}

impl Presence {
    /// Whether a file's bytes can be there: neighbours in a pack are looked up once.
    pub(crate) fn of(&mut self, context: &StageContext<'_>, file: &InterimFile) -> Result<bool, StageError> {
        let known = self.last.as_ref().filter(|(key, _)| *key == file.staging_key).map(|(_, size)| *size);
        let size = match known {
            Some(size) => size,
            None => match context.staging().head(&Key::new(file.staging_key.as_str())?) {
                Ok(head) => Some(head.size),
                Err(error) if error.is_not_found() => None,
                Err(error) => return Err(error.into()),
            },
        };
        self.last = Some((file.staging_key.clone(), size));
        Ok(size.is_some_and(|size| size >= file.staging_offset.saturating_add(file.size)))
    }
}

/// Bytes that are reserved when a deposit of unknown size begins to be read, and which part of the quota of its institution that is at most.
const FIRST_OF_UNKNOWN: u64 = 1 << 20;
const PART_OF_QUOTA: u64 = 20;
/// Bytes of a temporary file after which the space of its file system is looked up again.
const SPACE_CHECKED_EVERY: u64 = 64 << 20;

/// How staging begins for a deposit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    /// Whether it was fetched to its end before.
    pub(crate) is_fetched: bool,
    /// What was recorded before.
    pub(crate) totals: Totals,
    place: Option<StagingPlace>,
    /// Bytes that are reserved for it.
    reserved: u64,
    /// Bytes of downloads that were kept for it when an earlier attempt ended.
    pub(crate) kept: u64,
    /// Whether an attempt that was killed may have staged what no row has.
    pub(crate) has_unrecorded: bool,
}

impl Begun {
    pub(crate) fn read(context: &StageContext<'_>) -> Result<Self, StageError> {
        let item = context.item.id;
        let begun = context.registry().read(|tx| {
            Ok::<_, RegistryError>(Self {
                is_fetched: interim::fact(tx, item, "fetched")?.is_some(),
                totals: interim::totals(tx, item)?,
                place: interim::staging_place(tx, item)?,
                reserved: interim::reserved(tx, item)?,
                kept: interim::kept(tx, item)?,
                has_unrecorded: interim::has_unrecorded(tx, item)?,
            })
        })?;
        Ok(begun)
    }

    /// Reserves a bounded part of what a server or a manifest states, now that its bytes are read; until then it keeps no other deposit
    /// waiting. How many bytes there is no room for, where nothing is staged yet that could be lost by waiting: then it begins only now, and
    /// passes none that is first.
    pub(crate) fn reserve_ahead(&mut self, context: &StageContext<'_>) -> Result<Option<u64>, StageError> {
        let limits = context.home.staging_limits();
        let stated = match context.item.size.filter(|size| *size > 0) {
            Some(size) => size,
            // More than a part of the quota could not be had beside any other deposit of the institution, and nobody knows it to be needed.
            None => {
                quota(context)?.map_or(FIRST_OF_UNKNOWN, |quota| FIRST_OF_UNKNOWN.min((quota / PART_OF_QUOTA).max(1)))
            }
        };
        let wanted = stated.min(self.reserved.saturating_add(limits.ahead));
        if wanted <= self.reserved || !is_stated(context)? {
            return Ok(None);
        }
        let StagingLimits { capacity, first_after, .. } = limits;
        if self.reserved > 0 {
            // Where there is no more room now, it goes on with what it has, and asks again as its bytes come.
            if context.write(move |tx, claim| interim::reserve(tx, claim, wanted, capacity))? {
                self.reserved = wanted;
            }
            return Ok(None);
        }
        let demand =
            Demand { bytes: wanted, free: 0, free_when_first: 0, ahead: Some(limits.ahead), capacity, first_after };
        let (is_reserved, topics) = context.write(move |tx, claim| {
            Ok(match interim::provision(tx, claim, &demand)? {
                Provision::Reserved { was_first: true } => {
                    (true, work::wake_all(tx, &WaitKey::staging(), Some(claim.item.0))?)
                }
                Provision::Reserved { .. } => (true, Vec::new()),
                Provision::NoRoom { .. } | Provision::Uncleared => (false, Vec::new()),
            })
        })?;
        context.registry().wakeups().notify(topics.iter().map(String::as_str));
        if is_reserved {
            self.reserved = wanted;
        }
        Ok((!is_reserved).then_some(wanted))
    }
}

impl Begun {
    /// Removes what an attempt has staged that ended without a word, as by a kill: no row has it, so that what is returned of the space, or
    /// kept of it by an item that fails, would not count it. It is staged again. That this attempt may leave such bytes is noted where they may be many: of a
    /// deposit of one pack at most nothing is noted, which costs a transaction.
    pub(crate) fn remove_unrecorded(&mut self, context: &StageContext<'_>) -> Result<(), StageError> {
        // A first attempt finds nothing, and asks the store for nothing.
        let may_have_some = self.has_unrecorded
            || context.claim.spent > 1
            || self.totals.files > 0
            || self.reserved > 0 && is_stated(context)?;
        let prefix = staging_prefix(context.item.id, self.place).filter(|_| may_have_some && !self.is_fetched);
        if let Some(prefix) = prefix {
            remove_under(context, &prefix)?;
        }
        let is_large = context.item.size.is_none_or(|size| size == 0 || size > PACK as u64);
        if is_large && !self.has_unrecorded {
            context.write(|tx, claim| interim::set_unrecorded(tx, claim, true))?;
            self.has_unrecorded = true;
        }
        Ok(())
    }
}

/// Removes what lies under a place in staging and is in no row of the deposit.
fn remove_under(context: &StageContext<'_>, prefix: &str) -> Result<(), StageError> {
    let staging = context.staging();
    let mut keys = BTreeSet::new();
    for entry in staging.list(&Key::new(prefix)?)? {
        context.task.check()?;
        keys.insert(entry?.key.to_string());
    }
    let mut after = String::new();
    while !keys.is_empty() {
        let page = context.registry().read(|tx| interim::files_after(tx, context.item.id, &after, ROWS_AT_ONCE))?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.path);
        for file in &page {
            keys.remove(&file.staging_key);
        }
    }
    for key in keys {
        context.task.check()?;
        staging.delete(&Key::new(key)?)?;
    }
    Ok(())
}

/// Takes the files of a scan into staging and records them in batches.
pub(crate) struct Staging<'a, 'c> {
    context: &'a StageContext<'c>,
    is_archive: bool,
    /// What stands before the keys of everything that is staged now.
    prefix: String,
    /// Of the file taken last, from 1.
    number: u64,
    /// What the key of the next file ends with, where that is not its number.
    next_name: Option<String>,
    resumes: bool,
    presence: Presence,
    identifying: Identifying,
    pack: Vec<u8>,
    pack_key: String,
    rows: Vec<InterimFile>,
    unrecorded_bytes: u64,
    /// Files of this attempt that are recorded.
    recorded: usize,
    bytes: u64,
    /// Bytes among them of an archive that lies in a temporary file while it is read.
    spooled: u64,
    account: Account<'a, 'c>,
    /// Whether what comes now is another package than what was staged before.
    has_changed: bool,
    failure: Option<StageError>,
    /// Bytes of the temporary file when the space of its file system was last looked up.
    space_checked: u64,
}

/// Why a scan into staging ended early.
pub(crate) enum Stopped {
    /// There is no room for more than so many bytes right now.
    NoRoom(u64),
    /// Something else.
    Failed(StageError),
}

impl<'a, 'c> Staging<'a, 'c> {
    pub(crate) fn begin(context: &'a StageContext<'c>, form: Serialization, begun: Begun) -> Result<Self, StageError> {
        let lost = || StageError::StagingLost("nothing in staging is reserved for the deposit".into());
        let prefix = staging_prefix(context.item.id, begun.place).ok_or_else(lost)?;
        Ok(Self {
            context,
            prefix,
            is_archive: form != Serialization::Directory,
            number: 0,
            next_name: None,
            resumes: begun.totals.files > 0,
            presence: Presence::default(),
            identifying: identifying(context)?,
            pack: Vec::new(),
            pack_key: String::new(),
            rows: Vec::new(),
            unrecorded_bytes: 0,
            recorded: 0,
            bytes: 0,
            spooled: 0,
            account: Account::new(context, begun.reserved),
            has_changed: false,
            failure: None,
            space_checked: 0,
        })
    }

    /// Takes one file. What goes wrong on our side is kept for [`Self::stopped`]; the error returned only ends the scan.
    /// What is wrong within an archive is for the scan to say: damage is a finding and no failure.
    pub(crate) fn take(&mut self, entry: &BagFile, bytes: &mut dyn Read) -> io::Result<()> {
        let mut source = WatchedReader { bytes, has_failed: false };
        let (packed, rows, before) = (self.pack.len(), self.rows.len(), self.bytes);
        match self.try_take(entry, &mut source) {
            Ok(()) => Ok(()),
            Err(failure) => {
                self.pack.truncate(packed);
                self.rows.truncate(rows);
                self.bytes = before;
                if !(source.has_failed && self.is_archive) {
                    self.failure = Some(failure);
                }
                Err(io::Error::other("the file could not be staged"))
            }
        }
    }

    /// Whether a file was staged before an interruption, and is still there. One that is counts.
    pub(crate) fn is_staged(&mut self, path: &str, size: Option<u64>, stated: &DigestSet) -> Result<bool, StageError> {
        if !self.resumes {
            return Ok(false);
        }
        let known = self.context.registry().read(|tx| interim::file(tx, self.context.item.id, path))?;
        let Some(known) = known.filter(|known| size.is_none_or(|size| size == known.size)) else { return Ok(false) };
        // Those of other algorithms were compared when it was downloaded.
        let mut stated = stated.iter();
        let is_right =
            stated.all(|(algorithm, stated)| digest_of(&known.digests, algorithm).is_none_or(|found| found == stated));
        let is_usable = is_right && Key::new(known.staging_key.as_str()).is_ok_and(|key| self.owns(&key));
        if !is_usable || !self.presence.of(self.context, &known)? {
            return Ok(false);
        }
        self.number += 1;
        self.bytes = self.bytes.saturating_add(known.size);
        Ok(true)
    }

    /// Names the key of the next file by its place in a list, so that another attempt, which stages fewer files before it, does not
    /// write over what was recorded.
    pub(crate) fn name_next(&mut self, name: String) {
        self.next_name = Some(name);
    }

    /// Records what was taken until now.
    pub(crate) fn flush(&mut self) -> Result<(), StageError> {
        self.record()
    }

    /// Fails for good where the deposit can never have so many bytes more.
    pub(crate) fn check_fits(&self, more: u64) -> Result<(), StageError> {
        self.account.check_fits(self.bytes.saturating_add(more))
    }

    /// Reserves space for bytes that lie in a temporary file until their number is known.
    pub(crate) fn make_room(&mut self, more: u64) -> Result<(), StageError> {
        self.check_temporary_space(more)?;
        self.account.cover(self.bytes.saturating_add(more))
    }

    /// Refuses to go on writing a temporary file of so many bytes where the file system of such files gets full: others need it, too.
    fn check_temporary_space(&mut self, bytes: u64) -> Result<(), StageError> {
        if bytes < self.space_checked.saturating_add(SPACE_CHECKED_EVERY) {
            return Ok(());
        }
        self.space_checked = bytes;
        check_space(&std::env::temp_dir(), || {
            format!(
                "with {bytes} bytes of the package in a temporary file; next: make room, or name another folder with the variable TMPDIR"
            )
        })
    }

    /// Counts the bytes of an archive that is put into a temporary file before it is read, and reserves space for them. What
    /// goes wrong is kept for [`Self::stopped`].
    pub(crate) fn spool(&mut self, bytes: u64) -> io::Result<()> {
        self.bytes = bytes;
        self.spooled = bytes;
        let allowed = self.context.task.check().map_err(StageError::from);
        let allowed = allowed.and_then(|()| self.check_temporary_space(bytes));
        let allowed = allowed.and_then(|()| self.account.cover(bytes));
        allowed.map_err(|failure| {
            self.failure = Some(failure);
            io::Error::other("the archive could not be spooled")
        })
    }

    /// Returns the space of an archive that has been read.
    pub(crate) fn release_spool(&mut self) -> Result<(), StageError> {
        if self.spooled == 0 {
            return Ok(());
        }
        self.bytes = self.bytes.saturating_sub(std::mem::take(&mut self.spooled));
        self.account.shrink_to(self.bytes)
    }

    /// Why taking a file failed, if it did.
    pub(crate) fn stopped(&mut self) -> Option<Stopped> {
        if let Some(bytes) = self.account.refused() {
            return Some(Stopped::NoRoom(bytes));
        }
        self.failure.take().map(Stopped::Failed)
    }

    fn try_take(&mut self, entry: &BagFile, bytes: &mut dyn Read) -> Result<(), StageError> {
        self.context.task.check()?;
        self.number += 1;
        let before = self.bytes;
        self.bytes = before.saturating_add(entry.size);
        self.account.check_fits(self.bytes)?;
        let known = if self.resumes { self.recorded(entry)? } else { None };
        // What is said of the size of a large file reserves nothing: its bytes do, as they come.
        let is_small = entry.size <= SMALL;
        if is_small || known.is_some() {
            self.account.cover(self.bytes)?;
        }
        if let Some(known) = known {
            return if self.is_archive { self.compare(entry, bytes, &known) } else { Ok(()) };
        }
        let name = self.next_name.take().unwrap_or_else(|| self.number.to_string());
        let bytes = Interruptible::new(bytes, self.context.task);
        let staged =
            if is_small { self.pack(entry, &name, bytes)? } else { self.put_alone(entry, &name, bytes, before)? };
        let size = staged.size;
        let digests = recorded(&staged.digests)?;
        self.rows.push(InterimFile {
            path: entry.path.clone(),
            size,
            digests,
            modified: entry.modified,
            staging_key: staged.key,
            staging_offset: staged.offset,
            format: staged.format,
            decision: None,
            file: None,
            content: None,
        });
        self.unrecorded_bytes += size;
        let is_full = self.rows.len() >= ROWS_AT_ONCE || self.unrecorded_bytes >= BYTES_AT_ONCE;
        if is_full || self.pack.len() >= PACK {
            self.record()?;
            crash_point("ingest.fetch.middle");
        }
        Ok(())
    }

    fn pack(&mut self, entry: &BagFile, name: &str, bytes: impl Read) -> Result<StagedFile, StageError> {
        if self.pack.is_empty() && self.rows.iter().all(|row| row.staging_key != self.pack_key) {
            // Named by its first file: a pack that was recorded before an interruption is never written over.
            self.pack_key = format!("{}/pack-{name}", self.prefix);
        }
        let start = self.pack.len();
        bytes.take(SMALL + 1).read_to_end(&mut self.pack).map_err(|error| self.interruption(entry, &error))?;
        let packed = self.pack.get(start..).unwrap_or_default();
        let size = packed.len() as u64;
        if size != entry.size {
            return Err(StageError::Transient(format!("{:?} has {size} bytes and not {}", entry.path, entry.size)));
        }
        let (_, digests) =
            hash_reader(packed, &Algorithm::RECORDED).map_err(|error| self.interruption(entry, &error))?;
        let format = self.identifying.of_bytes(&entry.path, packed);
        Ok(StagedFile { key: self.pack_key.clone(), offset: start as u64, size, digests, format })
    }

    /// Stages a file by itself. The deposit has so many bytes before.
    fn put_alone(&self, entry: &BagFile, name: &str, bytes: impl Read, before: u64) -> Result<StagedFile, StageError> {
        let key = Key::new(format!("{}/file-{name}", self.prefix))?;
        let bytes = Growing::new(bytes, &self.account, before);
        let mut passing = Observed {
            bytes: HashingReader::new(bytes, &Algorithm::RECORDED),
            observation: self.identifying.observe(&entry.path),
        };
        let options = PutOptions { size: Some(entry.size), durability: Durability::OnSync, ..PutOptions::default() };
        match self.context.staging().put(&key, &mut passing, &options) {
            Ok(_) => {}
            Err(StorageError::Source { source, .. }) => {
                return Err(self.account.take_failure().unwrap_or_else(|| self.interruption(entry, &source)));
            }
            Err(error) => return Err(error.into()),
        }
        let (size, digests) = passing.bytes.finish();
        let go_on = || self.context.task.check();
        let source = StoredSource::new(self.context.staging().as_ref(), &key, 0, size, &go_on);
        // What cannot be read back now is left to `characterize`.
        let format = self.identifying.of_observed(passing.observation.finish(), &source).unwrap_or_default();
        Ok(StagedFile { key: key.to_string(), offset: 0, size, digests, format })
    }

    fn interruption(&self, entry: &BagFile, error: &io::Error) -> StageError {
        interruption(self.context, Path::new(&entry.path), error)
    }

    /// Compares a member of an archive with what an earlier attempt staged of it: the archive may be another one of the same size, and a
    /// server need not say so. Its bytes come in any case.
    fn compare(&mut self, entry: &BagFile, bytes: &mut dyn Read, known: &InterimFile) -> Result<(), StageError> {
        let bytes = Interruptible::new(bytes, self.context.task);
        let (size, found) =
            hash_reader(bytes, &[Algorithm::Sha512]).map_err(|error| self.interruption(entry, &error))?;
        if size == known.size && found.get(Algorithm::Sha512) == digest_of(&known.digests, Algorithm::Sha512) {
            return Ok(());
        }
        self.has_changed = true;
        Err(StageError::Transient(format!("{:?} is another one than was read before", entry.path)))
    }

    /// How many files came.
    pub(crate) fn taken(&self) -> u64 {
        self.number
    }

    /// Whether what comes now is another package than what was staged before.
    pub(crate) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// What an earlier attempt staged of a file, where it is still there.
    fn recorded(&mut self, entry: &BagFile) -> Result<Option<InterimFile>, StageError> {
        let known = self.context.registry().read(|tx| interim::file(tx, self.context.item.id, &entry.path))?;
        let is_usable = |known: &InterimFile| {
            known.size == entry.size && Key::new(known.staging_key.as_str()).is_ok_and(|key| self.owns(&key))
        };
        let Some(known) = known.filter(is_usable) else { return Ok(None) };
        Ok(self.presence.of(self.context, &known)?.then_some(known))
    }

    /// Whether a key lies in the place that the item has in staging now.
    fn owns(&self, key: &Key) -> bool {
        Key::new(self.prefix.as_str()).is_ok_and(|prefix| key.below(&prefix).is_some())
    }

    /// Puts the pack: the last files, which are recorded with the end of the stage.
    pub(crate) fn end(mut self) -> Result<Staged, StageError> {
        self.put_pack()?;
        let rows = std::mem::take(&mut self.rows);
        let reserved = self.account.reserved();
        if !self.resumes && self.recorded == 0 {
            return Ok(Staged { totals: totals_of(&rows), rows, reserved });
        }
        let item = self.context.item.id;
        let totals = if rows.is_empty() {
            self.context.registry().read(|tx| interim::totals(tx, item))?
        } else {
            self.context.write(move |tx, claim| {
                interim::put_files(tx, claim, &rows)?;
                interim::totals(tx, item)
            })?
        };
        Ok(Staged { totals, rows: Vec::new(), reserved })
    }

    /// Puts the pack, then records every file that waits.
    fn record(&mut self) -> Result<(), StageError> {
        self.put_pack()?;
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        self.unrecorded_bytes = 0;
        self.recorded += rows.len();
        self.context.write(move |tx, claim| interim::put_files(tx, claim, &rows))
    }

    fn put_pack(&mut self) -> Result<(), StageError> {
        if !self.pack.is_empty() {
            let options = PutOptions {
                size: Some(self.pack.len() as u64),
                durability: Durability::OnSync,
                ..PutOptions::default()
            };
            let key = Key::new(self.pack_key.as_str())?;
            // Its bytes were counted when they were read. A stop waits for it: it is short, and would be read again.
            let go_on = || self.context.task.check_lease();
            let mut pack = Interruptible::new(self.pack.as_slice(), &go_on);
            if let Err(error) = self.context.staging().put(&key, &mut pack, &options) {
                self.context.task.check()?;
                return Err(error.into());
            }
            self.pack.clear();
        } else if self.rows.iter().any(|row| row.staging_key == self.pack_key) {
            // A pack of empty files only.
            let key = Key::new(self.pack_key.as_str())?;
            self.context.staging().put(&key, &mut io::empty(), &PutOptions::default())?;
        }
        Ok(())
    }
}

/// What files are identified with. Without it a deposit waits: no file is ingested without identification.
pub(crate) fn identifying(context: &StageContext<'_>) -> Result<Identifying, StageError> {
    Identifying::of(context.home).map_err(|error| StageError::Transient(error.chain()))
}

/// What was taken into staging.
pub(crate) struct Staged {
    /// All of it, as far as totals are known while it is staged.
    pub(crate) totals: Totals,
    /// What is not recorded yet.
    pub(crate) rows: Vec<InterimFile>,
    /// Bytes that are reserved for it.
    pub(crate) reserved: u64,
}

/// The totals of files of which none was recorded before. Of two of one path the later counts.
fn totals_of(rows: &[InterimFile]) -> Totals {
    let sizes: BTreeMap<&str, u64> = rows.iter().map(|row| (row.path.as_str(), row.size)).collect();
    let payload_files = sizes.keys().filter(|path| path.starts_with("data/")).count() as u64;
    Totals { files: sizes.len() as u64, bytes: sizes.values().sum(), payload_files, ..Totals::default() }
}

/// A file that was taken into staging.
struct StagedFile {
    key: String,
    offset: u64,
    size: u64,
    digests: DigestSet,
    format: Format,
}

/// A reader that offers what passes through it to an identification.
struct Observed<'a, R> {
    bytes: R,
    observation: Observation<'a>,
}

impl<R: Read> Read for Observed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.bytes.read(buffer)?;
        self.observation.update(buffer.get(..length).unwrap_or_default());
        Ok(length)
    }
}

/// The four digests out of a set that has them.
pub(crate) fn recorded(digests: &DigestSet) -> Result<Digests, StageError> {
    let digest = |algorithm| {
        digests.get(algorithm).ok_or_else(|| StageError::Transient(format!("no {algorithm} was calculated")))
    };
    Ok(Digests {
        md5: digest(Algorithm::Md5)?,
        sha1: digest(Algorithm::Sha1)?,
        sha256: digest(Algorithm::Sha256)?,
        sha512: digest(Algorithm::Sha512)?,
    })
}

/// A reader that remembers whether it failed.
struct WatchedReader<'b> {
    bytes: &'b mut dyn Read,
    has_failed: bool,
}

impl Read for WatchedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer).inspect_err(|error| self.has_failed |= error.kind() != io::ErrorKind::Interrupted)
    }
}

/// Distinguishes an interruption from errors of the file that is read.
pub(crate) fn interruption(context: &StageContext<'_>, path: &Path, error: &io::Error) -> StageError {
    match context.task.check() {
        Err(reason) => reason.into(),
        Ok(()) => unreadable(path, error),
    }
}
