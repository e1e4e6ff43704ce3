//! Profiles of bags: versions of documents under a name, each fixed once it is there. A version that is removed is used by
//! nothing new; its row stays, since deposits name the version that they were checked against. What is in a document is not
//! known here.

use strongroom_database::{Row, Statement, Time, Transaction};
use strongroom_digest::Digest;

use super::interim::digest;
use super::journal;
use super::objects::optional_count;
use crate::model::actor::Actor;
use crate::{ProfileOrigin, RegistryError};

/// The greatest number of a version that a record in a store may bring.
const MOST_NOTED: u64 = 1_000_000;

/// What is asked where a version is removed, in errors.
pub const REMOVE: &str = "remove it";

/// A version of a profile, without its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileVersion {
    /// The name of the profile.
    pub name: String,
    /// Which version it is, from 1.
    pub version: u64,
    /// Where it comes from.
    pub origin: ProfileOrigin,
    /// The program that it came with, or the name of the file.
    pub source: String,
    /// The identifier by which bags name it.
    pub identifier: Option<String>,
    /// Its version by its own word.
    pub stated_version: Option<String>,
    /// What it is for, by its own word.
    pub description: Option<String>,
    /// Whether its document is here; one that only a record in a store names has none.
    pub has_document: bool,
    /// The SHA-256 of the document.
    pub sha256: Option<Digest>,
    /// The SHA-512 of the document.
    pub sha512: Digest,
    /// When it was added.
    pub added_at: Time,
    /// Who added it; none for one that came with a program.
    pub actor: Option<Actor>,
    /// When it was removed.
    pub removed_at: Option<Time>,
}

impl ProfileVersion {
    /// Whether new deposits may be checked against it.
    pub fn is_usable(&self) -> bool {
        self.has_document && self.removed_at.is_none()
    }
}

/// A document that becomes a version of a profile.
#[derive(Debug, Clone)]
pub struct NewProfile {
    /// The name of the profile.
    pub name: String,
    /// Where it comes from; not [`ProfileOrigin::Stores`].
    pub origin: ProfileOrigin,
    /// See [`ProfileVersion::source`].
    pub source: String,
    /// See [`ProfileVersion::identifier`].
    pub identifier: String,
    /// See [`ProfileVersion::stated_version`].
    pub stated_version: String,
    /// See [`ProfileVersion::description`].
    pub description: String,
    /// The document, of 1 MiB at most.
    pub document: Vec<u8>,
    /// Its SHA-256.
    pub sha256: Digest,
    /// Its SHA-512.
    pub sha512: Digest,
    /// Who adds it.
    pub actor: Option<Actor>,
}

/// What became of a document that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addition {
    /// It is the new version of this number.
    Added(u64),
    /// It is the version of this number again, which was removed or had lost its document.
    Restored(u64),
    /// The newest version, of this number, has this document already.
    Unchanged(u64),
}

impl Addition {
    /// The number of the version that has the document.
    pub fn version(self) -> u64 {
        match self {
            Self::Added(version) | Self::Restored(version) | Self::Unchanged(version) => version,
        }
    }
}

/// Whether a text can be the name of a profile: up to 100 letters in lower case, digits, dots, `-` and `_`, of which the first is a
/// letter or a digit.
pub fn is_name(text: &str) -> bool {
    text.len() <= 100
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'_' | b'.'))
}

/// Every version of every profile, in order of names and versions.
pub fn list(tx: &mut dyn Transaction) -> Result<Vec<ProfileVersion>, RegistryError> {
    tx.query(Statement("profiles.list"), &[])?.iter().map(profile_row).collect()
}

/// The versions of one profile, in their order; none where there is no such profile.
pub fn versions(tx: &mut dyn Transaction, name: &str) -> Result<Vec<ProfileVersion>, RegistryError> {
    tx.query(Statement("profiles.of_name"), &[name.into()])?.iter().map(profile_row).collect()
}

/// A version of a profile, whether or not it may be used; without a number the newest that may be used, or else the newest.
pub fn find(tx: &mut dyn Transaction, name: &str, version: Option<u64>) -> Result<ProfileVersion, RegistryError> {
    let mut versions = versions(tx, name)?;
    let position = match version {
        Some(wanted) => versions.iter().position(|known| known.version == wanted),
        None => versions.iter().rposition(ProfileVersion::is_usable).or(versions.len().checked_sub(1)),
    };
    position.map(|position| versions.swap_remove(position)).ok_or_else(|| not_found(name, version))
}

/// The version that a new deposit is checked against: this one, or the newest that was not removed.
///
/// # Errors
/// There is none, it was removed, or its document is missing; `act` says what it is wanted for.
pub fn usable(
    tx: &mut dyn Transaction,
    name: &str,
    version: Option<u64>,
    act: &str,
) -> Result<ProfileVersion, RegistryError> {
    let found = find(tx, name, version)?;
    if found.is_usable() {
        return Ok(found);
    }
    let state = if found.has_document { "removed" } else { "without its document" };
    Err(RegistryError::State {
        what: "profile",
        id: named(name, version),
        state: state.to_owned(),
        act: act.to_owned(),
    })
}

/// The name and the version of the profile of this identifier that a new deposit is checked against: of each profile its newest
/// version counts, and of several the one that was added last.
pub fn of_identifier(tx: &mut dyn Transaction, identifier: &str) -> Result<Option<(String, u64)>, RegistryError> {
    let row = tx.query_one(Statement("profiles.of_identifier"), &[identifier.into()])?;
    row.map(|row| Ok((row.text("profile")?.to_owned(), row.count("version")?))).transpose()
}

/// A version whose document has this digest, by its name, number and origin; one of this name where several have it.
pub fn of_digest(
    tx: &mut dyn Transaction,
    sha512: Digest,
    name: &str,
) -> Result<Option<(String, u64, ProfileOrigin)>, RegistryError> {
    let row = tx.query_one(Statement("profiles.of_digest"), &[sha512.as_bytes().into(), name.into()])?;
    row.map(|row| Ok((row.text("profile")?.to_owned(), row.count("version")?, row.text("origin")?.parse()?)))
        .transpose()
}

/// The document of a version; none where it is missing.
pub fn document(tx: &mut dyn Transaction, name: &str, version: u64) -> Result<Option<Vec<u8>>, RegistryError> {
    let row = tx
        .query_one(Statement("profiles.document"), &[name.into(), version.into()])?
        .ok_or_else(|| not_found(name, Some(version)))?;
    Ok(row.optional_bytes("document")?.map(<[u8]>::to_vec))
}

/// Finds a document among the versions of its profile. A version that lost this document gets it back; one that was removed and
/// is newer than those in use is in use again; where the newest has it nothing changes. None where it would be a new version.
pub fn restore(tx: &mut dyn Transaction, new: &NewProfile) -> Result<Option<Addition>, RegistryError> {
    let known = versions(tx, &new.name)?;
    let equal = |one: &&ProfileVersion| one.sha512 == new.sha512;
    if let Some(lost) = known.iter().rev().filter(|one| !one.has_document).find(equal) {
        put(tx, Statement("profiles.fill"), new, lost.version, None)?;
        return Ok(Some(Addition::Restored(lost.version)));
    }
    let newest = known.iter().rfind(|one| one.is_usable());
    if let Some(same) = newest.filter(equal) {
        return Ok(Some(Addition::Unchanged(same.version)));
    }
    let newest = newest.map_or(0, |one| one.version);
    let Some(removed) = known.iter().rev().filter(|one| one.version > newest).find(equal) else { return Ok(None) };
    set_removed(tx, removed, None)?;
    Ok(Some(Addition::Restored(removed.version)))
}

/// Adds a document as the next version of its profile.
pub fn append(tx: &mut dyn Transaction, new: &NewProfile) -> Result<Addition, RegistryError> {
    let next = versions(tx, &new.name)?.last().map_or(1, |last| last.version.saturating_add(1));
    put(tx, Statement("profiles.insert"), new, next, None)?;
    Ok(Addition::Added(next))
}

/// Puts a version that has its number from elsewhere; whether it was not there. A version that is there stays as it is, but for
/// one that lacks its document. Where all versions before it were removed, it is removed, too.
pub fn put_numbered(tx: &mut dyn Transaction, new: &NewProfile, version: u64) -> Result<bool, RegistryError> {
    let known = versions(tx, &new.name)?;
    let statement = match known.iter().find(|one| one.version == version) {
        None => Statement("profiles.insert"),
        Some(lost) if !lost.has_document => Statement("profiles.fill"),
        Some(_) => return Ok(false),
    };
    let mut with_document = known.iter().filter(|one| one.has_document).peekable();
    let is_removed = with_document.peek().is_some() && with_document.all(|one| one.removed_at.is_some());
    let removed_at = if is_removed { Some(tx.now()?) } else { None };
    put(tx, statement, new, version, removed_at)?;
    Ok(true)
}

/// Notes a version that something kept was checked against and whose document is not here, so that its number is given to no other
/// document. One that is known stays as it is. A record in a store may say anything: what no registry would have written is not
/// noted.
pub fn note(tx: &mut dyn Transaction, name: &str, version: u64, sha512: Digest) -> Result<(), RegistryError> {
    if !is_name(name) || !(1..=MOST_NOTED).contains(&version) {
        return Ok(());
    }
    let now = tx.now()?;
    tx.execute(Statement("profiles.note"), &[name.into(), version.into(), sha512.as_bytes().into(), now.into()])?;
    Ok(())
}

/// Removes a version of a profile, or all that may be used; which ones.
///
/// # Errors
/// There is no such profile or version, it is removed already, or a collection would be left that names what is removed.
pub fn remove(
    tx: &mut dyn Transaction,
    name: &str,
    version: Option<u64>,
) -> Result<Vec<ProfileVersion>, RegistryError> {
    let known = versions(tx, name)?;
    let is_meant = |one: &&ProfileVersion| version.is_none_or(|wanted| one.version == wanted);
    if !known.iter().any(|one| is_meant(&one)) {
        return Err(not_found(name, version));
    }
    let id = named(name, version);
    let mut meant: Vec<ProfileVersion> =
        known.iter().filter(is_meant).filter(|one| one.removed_at.is_none()).cloned().collect();
    if meant.is_empty() {
        let state = "removed already".to_owned();
        return Err(RegistryError::State { what: "profile", id, state, act: REMOVE.to_owned() });
    }
    let is_one_left = known.iter().any(|one| one.is_usable() && !is_meant(&one));
    let named_by = named_by(tx, name, |asked| match asked {
        Some(asked) => meant.iter().any(|one| one.version == asked),
        None => !is_one_left,
    })?;
    if !named_by.is_empty() {
        return Err(RegistryError::Named { what: "profile", id, by: listed(&named_by), act: REMOVE.to_owned() });
    }
    let now = tx.now()?;
    for one in &mut meant {
        set_removed(tx, one, Some(now))?;
        one.removed_at = Some(now);
    }
    Ok(meant)
}

/// The collections in use that name a profile, of those that ask for a version as `counts` says.
fn named_by(
    tx: &mut dyn Transaction,
    name: &str,
    counts: impl Fn(Option<u64>) -> bool,
) -> Result<Vec<String>, RegistryError> {
    let mut found = Vec::new();
    for row in tx.query(Statement("profiles.collections"), &[name.into()])? {
        if counts(optional_count(&row, "profile_version")?) {
            found.push(format!("{}/{}", row.text("institution_identifier")?, row.text("identifier")?));
        }
    }
    Ok(found)
}

/// The first few names, and how many there are besides.
fn listed(collections: &[String]) -> String {
    const MOST: usize = 5;
    let noun = if collections.len() == 1 { "the collection" } else { "the collections" };
    let shown: Vec<&str> = collections.iter().take(MOST).map(String::as_str).collect();
    match collections.len() - shown.len() {
        0 => format!("{noun} {}", shown.join(", ")),
        more => format!("{noun} {} and {more} more", shown.join(", ")),
    }
}

fn put(
    tx: &mut dyn Transaction,
    statement: Statement,
    new: &NewProfile,
    version: u64,
    removed_at: Option<Time>,
) -> Result<(), RegistryError> {
    if let Some(actor) = &new.actor {
        journal::know(tx, actor)?;
    }
    let now = tx.now()?;
    tx.execute(
        statement,
        &[
            (&new.name).into(),
            version.into(),
            new.origin.as_str().into(),
            without_nul(&new.source).into(),
            without_nul(&new.identifier).into(),
            without_nul(&new.stated_version).into(),
            without_nul(&new.description).into(),
            new.document.clone().into(),
            new.sha256.as_bytes().into(),
            new.sha512.as_bytes().into(),
            new.actor.as_ref().map(|actor| actor.id).into(),
            now.into(),
            removed_at.into(),
        ],
    )?;
    Ok(())
}

/// PostgreSQL holds no U+0000 in a text, and JSON may have one.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn set_removed(tx: &mut dyn Transaction, one: &ProfileVersion, at: Option<Time>) -> Result<(), RegistryError> {
    tx.execute(Statement("profiles.set_removed"), &[(&one.name).into(), one.version.into(), at.into()])?;
    Ok(())
}

fn not_found(name: &str, version: Option<u64>) -> RegistryError {
    RegistryError::NotFound { what: "profile", id: named(name, version) }
}

/// A profile, or a version of it, as people name it.
fn named(name: &str, version: Option<u64>) -> String {
    match version {
        Some(version) => format!("{name} version {version}"),
        None => name.to_owned(),
    }
}

fn profile_row(row: &Row) -> Result<ProfileVersion, RegistryError> {
    let text = |column| row.optional_text(column).map(|text| text.map(str::to_owned));
    let has_document = row.bool("has_document")?;
    Ok(ProfileVersion {
        name: row.text("profile")?.to_owned(),
        version: row.count("version")?,
        origin: row.text("origin")?.parse()?,
        source: row.text("source")?.to_owned(),
        identifier: text("identifier")?,
        stated_version: text("stated_version")?,
        description: text("description")?,
        has_document,
        sha256: if has_document { Some(digest(row, "sha256")?) } else { None },
        sha512: digest(row, "sha512")?,
        added_at: row.time("added_at")?,
        actor: journal::optional_actor_row(row, "actor_id")?,
        removed_at: row.optional_time("removed_at")?,
    })
}
