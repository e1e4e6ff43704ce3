//! Audit chains: which acts are in none yet, the entries of each chain, the ranges of entries that are published, and which stores have
//! these. What an entry says, and what a chain is, is the caller's.

use strongroom_database::{Row, Statement, Time, Transaction};
use strongroom_digest::Digest;
use uuid::Uuid;

use super::audit_imports;
use crate::events::{self, EventRow};
use crate::journal::{self, Actor, Line};
use crate::{FileId, GenerationId, InstitutionId, ItemId, RegistryError, Scope, VersionId};

/// The chain of what belongs to no institution. No institution can have this name.
pub const SYSTEM: &str = "_system";
/// What is announced in place of a key where heads are not signed any more.
pub const NO_KEY: &str = "none";
/// How many acts that are in no chain yet are counted; more are said to be that many.
pub const MOST_COUNTED: u64 = 100_000;

/// An act that is in no chain yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A line of the journal.
    Line {
        /// The line.
        line: Line,
        /// Whose it is.
        institution: Option<InstitutionId>,
    },
    /// A preservation event.
    Event(Box<AuditedEvent>),
    /// A version that was published, with the events that belong to it.
    Version(AuditedVersion),
}

/// A preservation event with the names that its entry has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedEvent {
    /// The event.
    pub event: EventRow,
    /// The domain name of the institution.
    pub institution_identifier: String,
    /// The identifier of the object.
    pub object: Option<String>,
    /// The path of the file.
    pub path: Option<String>,
    /// The digest of the content.
    pub sha512: Option<Digest>,
}

/// A version that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedVersion {
    /// Its identifier.
    pub id: VersionId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The domain name of the institution.
    pub institution_identifier: String,
    /// The identifier of its object.
    pub object: String,
    /// The generation of that.
    pub generation: GenerationId,
    /// Its number.
    pub number: u64,
    /// The work item that made it.
    pub item: Option<ItemId>,
    /// The digest of its OCFL inventory, from which those of all its files follow.
    pub inventory: Option<Digest>,
    /// How many files it has.
    pub files: u64,
    /// How many bytes these have.
    pub bytes: u64,
    /// When it was published.
    pub published_at: Time,
    /// On whose behalf it was made, where that is known.
    pub actor: Option<Actor>,
    /// Whether it is what the deletion of the object has left.
    pub is_last: bool,
}

impl Act {
    /// From which table it is, and its identifier there.
    pub fn key(&self) -> (&'static str, Uuid) {
        match self {
            Self::Line { line, .. } => ("journal", line.id.0),
            Self::Event(event) => ("event", event.event.id.0),
            Self::Version(version) => ("version", version.id.0),
        }
    }

    /// When it was.
    pub fn time(&self) -> Time {
        match self {
            Self::Line { line, .. } => line.time,
            Self::Event(event) => Time(event.event.time),
            Self::Version(version) => version.published_at,
        }
    }

    /// The institution whose chain it belongs to, with its domain name.
    pub fn institution(&self) -> Option<(InstitutionId, &str)> {
        match self {
            Self::Line { line, institution } => Some(((*institution)?, line.institution_identifier.as_deref()?)),
            Self::Event(event) => Some((event.event.institution, &event.institution_identifier)),
            Self::Version(version) => Some((version.institution, &version.institution_identifier)),
        }
    }
}

/// Acts that are pending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    /// Acts that are in no chain yet, in the order of their time.
    pub acts: Vec<Act>,
    /// Acts that are in a chain already, by table and identifier: a store brought back an object that the registry did not have.
    pub known: Vec<(&'static str, Uuid)>,
}

impl Pending {
    fn add(&mut self, act: Act, row: &Row) -> Result<(), RegistryError> {
        match row.optional_integer("known_at")? {
            Some(_) => self.known.push(act.key()),
            None => self.acts.push(act),
        }
        Ok(())
    }
}

/// Acts that are pending: at most `most` of each table.
pub fn pending(tx: &mut dyn Transaction, most: usize) -> Result<Pending, RegistryError> {
    let mut pending = Pending::default();
    for row in tx.query(Statement("audit.lines"), &[most.into()])? {
        let institution = row.optional_uuid("institution_id")?.map(InstitutionId);
        pending.add(Act::Line { line: journal::line_row(&row)?, institution }, &row)?;
    }
    for row in tx.query(Statement("audit.events"), &[most.into()])? {
        let text = |name| Ok::<_, RegistryError>(row.optional_text(name)?.map(str::to_owned));
        let event = Act::Event(Box::new(AuditedEvent {
            event: events::event_row(&row)?,
            institution_identifier: row.text("institution_identifier")?.to_owned(),
            object: text("object")?,
            path: text("path")?,
            sha512: optional_digest(&row, "sha512")?,
        }));
        pending.add(event, &row)?;
    }
    for row in tx.query(Statement("audit.versions"), &[most.into()])? {
        let version = Act::Version(AuditedVersion {
            id: VersionId(row.uuid("id")?),
            institution: InstitutionId(row.uuid("institution_id")?),
            institution_identifier: row.text("institution_identifier")?.to_owned(),
            object: row.text("object")?.to_owned(),
            generation: GenerationId(row.uuid("generation")?),
            number: row.count("number")?,
            item: row.optional_uuid("item_id")?.map(ItemId),
            inventory: optional_digest(&row, "inventory_sha512")?,
            files: row.count("files")?,
            bytes: row.count("bytes")?,
            published_at: row.optional_time("published_at")?.unwrap_or(row.time("created_at")?),
            actor: journal::optional_actor_row(&row, "actor_id")?,
            is_last: row.bool("is_last")?,
        });
        pending.add(version, &row)?;
    }
    pending.acts.sort_by_key(|act| (act.time(), act.key().1));
    Ok(pending)
}

fn optional_digest(row: &Row, column: &'static str) -> Result<Option<Digest>, RegistryError> {
    row.optional_bytes(column)?.map(|bytes| digest_of(bytes, column)).transpose()
}

fn digest_of(bytes: &[u8], what: &'static str) -> Result<Digest, RegistryError> {
    Digest::from_bytes(bytes).map_err(|error| RegistryError::Corrupt { wanted: what, found: error.to_string() })
}

/// How many acts of this scope are in no chain yet; at most [`MOST_COUNTED`] are counted.
pub fn count_pending(tx: &mut dyn Transaction, scope: Scope) -> Result<u64, RegistryError> {
    let row = match scope {
        Scope::System => tx.query_one(Statement("audit.pending"), &[MOST_COUNTED.into()])?,
        Scope::Institution(id) => tx.query_one(Statement("audit.pending_of"), &[MOST_COUNTED.into(), id.into()])?,
    };
    Ok(row.map_or(Ok(0), |row| row.count("pending"))?)
}

/// The end of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Its name: the domain name of its institution, or [`SYSTEM`].
    pub name: String,
    /// Its institution.
    pub institution: Option<InstitutionId>,
    /// How many entries it has.
    pub sequence: u64,
    /// The SHA-256 of the last one.
    pub sha256: [u8; 32],
    /// How many of these are published.
    pub published: u64,
    /// Since when; of a chain of which nothing is, when it began.
    pub published_at: Time,
    /// How many entries of each source, as JSON.
    pub counts: String,
    /// The fingerprint of the key that signs its heads, as its last entry about that says.
    pub signing_key: Option<String>,
}

impl Chain {
    /// A chain without entries: the SHA-256 of its last one is 32 zeros.
    pub fn new(name: impl Into<String>, institution: Option<InstitutionId>) -> Self {
        Self {
            name: name.into(),
            institution,
            sequence: 0,
            sha256: [0; 32],
            published: 0,
            published_at: Time(0),
            counts: "{}".to_owned(),
            signing_key: None,
        }
    }
}

/// Every chain, by name: as few as institutions.
pub fn chains(tx: &mut dyn Transaction) -> Result<Vec<Chain>, RegistryError> {
    tx.query(Statement("audit.chains"), &[])?.iter().map(chain_row).collect()
}

fn chain_row(row: &Row) -> Result<Chain, RegistryError> {
    let sha256 = row.bytes("sha256")?;
    let sha256 = sha256
        .try_into()
        .map_err(|_| RegistryError::Corrupt { wanted: "a SHA-256", found: format!("{} bytes", sha256.len()) })?;
    Ok(Chain {
        name: row.text("name")?.to_owned(),
        institution: row.optional_uuid("institution_id")?.map(InstitutionId),
        sequence: row.count("sequence")?,
        sha256,
        published: row.count("published")?,
        published_at: row.time("published_at")?,
        counts: row.text("counts")?.to_owned(),
        signing_key: row.optional_text("signing_key")?.map(str::to_owned),
    })
}

/// Begins a chain that has no entries, unless it has begun.
fn begin(tx: &mut dyn Transaction, chain: &Chain) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let sha256 = chain.sha256.as_slice();
    let values = [(&chain.name).into(), chain.institution.into(), sha256.into(), now.into()];
    tx.execute(Statement("audit.begin"), &values)?;
    Ok(())
}

/// An entry to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// From which table the act is, and its identifier there.
    pub key: (&'static str, Uuid),
    /// The line.
    pub line: String,
    /// The fingerprint of the key that it announces, or [`NO_KEY`].
    pub announced: Option<String>,
}

/// Appends entries to a chain, which begins with them where it has none, and removes their acts from those that are in no chain; `to` is the
/// chain with them.
///
/// # Errors
/// [`RegistryError::FenceLost`] where the chain does not end with `from`: another process has appended to it.
pub fn append(tx: &mut dyn Transaction, from: &Chain, to: &Chain, entries: &[NewEntry]) -> Result<(), RegistryError> {
    if from.sequence == 0 {
        begin(tx, from)?;
    }
    let moved = tx.execute(
        Statement("audit.advance"),
        &[
            (&from.name).into(),
            from.sequence.into(),
            from.sha256.as_slice().into(),
            to.sequence.into(),
            to.sha256.as_slice().into(),
            (&to.counts).into(),
            to.signing_key.clone().into(),
            to.institution.into(),
        ],
    )?;
    let lost = || RegistryError::FenceLost { what: "audit chain", id: from.name.clone() };
    if moved != 1 {
        return Err(lost());
    }
    for (sequence, entry) in (from.sequence + 1..).zip(entries) {
        if let Some(key) = &entry.announced {
            audit_imports::put_key(tx, &from.name, key, sequence)?;
        }
    }
    let numbered = (from.sequence + 1..).zip(entries);
    tx.execute_each(
        Statement("audit.append"),
        &mut numbered.map(|(sequence, entry)| {
            let (source, id) = entry.key;
            vec![(&from.name).into(), sequence.into(), source.into(), id.into(), (&entry.line).into()]
        }),
    )?;
    let sealed = tx.execute_each(
        Statement("audit.is_sealed"),
        &mut entries.iter().map(|entry| vec![entry.key.0.into(), entry.key.1.into()]),
    )?;
    // An act that is in a chain already.
    if sealed == entries.len() as u64 { Ok(()) } else { Err(lost()) }
}

/// Removes acts from those that are in no chain: a chain has them.
pub fn are_sealed(tx: &mut dyn Transaction, keys: &[(&'static str, Uuid)]) -> Result<(), RegistryError> {
    let mut rows = keys.iter().map(|(source, id)| vec![(*source).into(), (*id).into()]);
    tx.execute_each(Statement("audit.is_sealed"), &mut rows)?;
    Ok(())
}

/// Entries of a chain whose text is in the registry, from one number to another, at most `limit`.
pub fn entries(
    tx: &mut dyn Transaction,
    chain: &str,
    (first, last): (u64, u64),
    limit: usize,
) -> Result<Vec<(u64, String)>, RegistryError> {
    let rows = tx.query(Statement("audit.entries"), &[chain.into(), first.into(), last.into(), limit.into()])?;
    rows.iter().map(|row| Ok((row.count("sequence")?, row.text("line")?.to_owned()))).collect()
}

/// Entries that are in one file, with the head that is published with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeRow {
    /// The name of the chain.
    pub chain: String,
    /// The number of the last entry.
    pub last: u64,
    /// When it was made.
    pub made_at: Time,
    /// The head, as it is published.
    pub head: String,
    /// Its signature, and the public key as PEM, where it is signed.
    pub signature: Option<(Vec<u8>, String)>,
    /// Since when the text of its entries is in the stores alone.
    pub moved_at: Option<Time>,
}

pub(super) fn range_row(row: &Row) -> Result<RangeRow, RegistryError> {
    let signature = row.optional_bytes("signature")?.map(<[u8]>::to_vec);
    let key = row.optional_text("public_key")?.map(str::to_owned);
    Ok(RangeRow {
        chain: row.text("chain")?.to_owned(),
        last: row.count("last")?,
        made_at: row.time("made_at")?,
        head: row.text("head")?.to_owned(),
        signature: signature.zip(key),
        moved_at: row.optional_time("moved_at")?,
    })
}

/// Fixes a range, which begins behind the entry `published` and ends with the line `end`. From here on its head is published, in every
/// preservation store.
///
/// # Errors
/// [`RegistryError::FenceLost`] where another process has made a range of these entries.
pub fn publish(tx: &mut dyn Transaction, published: u64, range: &RangeRow, end: &str) -> Result<(), RegistryError> {
    let values = [(&range.chain).into(), published.into(), range.last.into(), range.made_at.into(), end.into()];
    if tx.execute(Statement("audit.publish"), &values)? != 1 {
        return Err(RegistryError::FenceLost { what: "audit chain", id: range.chain.clone() });
    }
    put_range(tx, range)
}

/// Notes a range that is published.
pub fn put_range(tx: &mut dyn Transaction, range: &RangeRow) -> Result<(), RegistryError> {
    let (signature, key) = range.signature.clone().unzip();
    tx.execute(
        Statement("audit.put_range"),
        &[
            (&range.chain).into(),
            range.last.into(),
            range.made_at.into(),
            (&range.head).into(),
            signature.into(),
            key.into(),
            range.moved_at.into(),
        ],
    )?;
    Ok(())
}

/// Ranges of a chain in order, behind the one that ends with `after`.
pub fn ranges(tx: &mut dyn Transaction, chain: &str, after: u64, limit: usize) -> Result<Vec<RangeRow>, RegistryError> {
    let rows = tx.query(Statement("audit.ranges"), &[chain.into(), after.into(), limit.into()])?;
    rows.iter().map(range_row).collect()
}

/// Ranges that a store does not have, behind that of the chain and number `after`.
pub fn uncopied(
    tx: &mut dyn Transaction,
    store: &str,
    after: Option<&(String, u64)>,
    limit: usize,
) -> Result<Vec<RangeRow>, RegistryError> {
    let (chain, last) = after.cloned().unwrap_or_default();
    let rows = tx.query(Statement("audit.uncopied"), &[store.into(), chain.into(), last.into(), limit.into()])?;
    rows.iter().map(range_row).collect()
}

/// Has ranges read again in a store whose last reading is in the future: the clock was ahead.
pub fn recheck_future(tx: &mut dyn Transaction, store: &str) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("audit.recheck"), &[store.into(), now.into()])?;
    Ok(())
}

/// Ranges that were not read in a store since then, those first that were not for the longest time.
pub fn unchecked(
    tx: &mut dyn Transaction,
    store: &str,
    before: Time,
    limit: usize,
) -> Result<Vec<RangeRow>, RegistryError> {
    let rows = tx.query(Statement("audit.unchecked"), &[store.into(), before.into(), limit.into()])?;
    rows.iter().map(range_row).collect()
}

/// The stores that have a range.
pub fn copies(tx: &mut dyn Transaction, chain: &str, last: u64) -> Result<Vec<String>, RegistryError> {
    let rows = tx.query(Statement("audit.copies"), &[chain.into(), last.into()])?;
    rows.iter().map(|row| Ok(row.text("store")?.to_owned())).collect()
}

/// Notes that a store has a range, which was read there just now.
pub fn put_copy(tx: &mut dyn Transaction, store: &str, range: &RangeRow) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let values = [store.into(), (&range.chain).into(), range.last.into(), now.into()];
    tx.execute(Statement("audit.put_copy"), &values)?;
    Ok(())
}

/// Notes that a store does not have a range.
pub fn drop_copy(tx: &mut dyn Transaction, store: &str, range: &RangeRow) -> Result<(), RegistryError> {
    tx.execute(Statement("audit.drop_copy"), &[store.into(), (&range.chain).into(), range.last.into()])?;
    Ok(())
}

/// Forgets which ranges a store has, and which contradict others: another one is in its place.
pub(crate) fn forget_store(tx: &mut dyn Transaction, store: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("audit.drop_contradictions_of_store"), &[store.into()])?;
    tx.execute(Statement("audit.forget_store"), &[store.into()])?;
    Ok(())
}

/// Ranges that were made before then and whose entries are in the registry, behind that of the chain and number `after`.
pub fn movable(
    tx: &mut dyn Transaction,
    before: Time,
    after: Option<&(String, u64)>,
    limit: usize,
) -> Result<Vec<RangeRow>, RegistryError> {
    let (chain, last) = after.cloned().unwrap_or_default();
    let rows = tx.query(Statement("audit.movable"), &[before.into(), chain.into(), last.into(), limit.into()])?;
    rows.iter().map(range_row).collect()
}

/// Removes the text of the entries of a range from the registry: the stores have them. Which acts these are stays.
pub fn move_out(tx: &mut dyn Transaction, range: &RangeRow, first: u64) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("audit.move"), &[(&range.chain).into(), range.last.into(), now.into()])?;
    tx.execute(Statement("audit.empty_entries"), &[(&range.chain).into(), first.into(), range.last.into()])?;
    Ok(())
}

/// A file of which a version brought the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionFile {
    /// Its identifier.
    pub file: FileId,
    /// Its path.
    pub path: String,
    /// The MD5 of the content.
    pub md5: Digest,
    /// The size of the content.
    pub size: u64,
    /// Its type.
    pub mime: Option<String>,
}

/// The files of which a version brought the contents, by their identifiers, behind `after`.
pub fn files_of_version(
    tx: &mut dyn Transaction,
    version: VersionId,
    after: Option<FileId>,
    limit: usize,
) -> Result<Vec<VersionFile>, RegistryError> {
    let after = after.unwrap_or(FileId(Uuid::nil()));
    let rows = tx.query(Statement("audit.files_of_version"), &[version.into(), after.into(), limit.into()])?;
    let file = |row: &Row| {
        Ok(VersionFile {
            file: FileId(row.uuid("file_id")?),
            path: row.text("path")?.to_owned(),
            md5: digest_of(row.bytes("md5")?, "an MD5")?,
            size: row.count("size")?,
            mime: row.optional_text("mime")?.map(str::to_owned),
        })
    };
    rows.iter().map(file).collect()
}
