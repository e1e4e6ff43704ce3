//! The copies of the contents that a version brings: which are still to be made, which were made and proved, and which are
//! forgotten because they did not prove right. Every write carries the fence of the work item that makes the version, or
//! that holds the object.

use strongroom_database::{Row, Statement, Time, Transaction, Value};
use strongroom_digest::Digest;
use uuid::Uuid;

use crate::interim::digest;
use crate::leases::{self, Holding};
use crate::versions::{self, Version};
use crate::work::{self, Claim};
use crate::{ContentId, InstitutionId, ObjectId, RegistryError, VersionState, statistics};

/// A content on its way into a store.
#[derive(Debug, Clone)]
pub struct PendingCopy {
    /// The content.
    pub content: ContentId,
    /// Its SHA-512.
    pub sha512: Digest,
    /// Its SHA-256, for a copy that has still to be proved.
    pub sha256: Option<Digest>,
    /// Bytes.
    pub size: u64,
    /// Where its bytes lie in the staging of the item that makes the version (key and first byte), where it came with the
    /// deposit.
    pub staged: Option<(String, u64)>,
}

/// Contents that a version brings and that a store has not got yet, in order of their SHA-512, after `after`.
pub fn uncopied(
    tx: &mut dyn Transaction,
    version: &Version,
    store: &str,
    after: Option<Digest>,
    limit: usize,
) -> Result<Vec<PendingCopy>, RegistryError> {
    let after = after.map_or_else(Vec::new, |digest| digest.as_bytes().to_vec());
    let values = [
        version.object.into(),
        version.generation.into(),
        version.number.into(),
        store.into(),
        after.into(),
        limit.into(),
        version.item.into(),
    ];
    tx.query(Statement("contents.uncopied"), &values)?.iter().map(staged_row).collect()
}

/// Every content that a version brings, in order of their SHA-512, after `after`.
pub fn brought(
    tx: &mut dyn Transaction,
    version: &Version,
    after: Option<Digest>,
    limit: usize,
) -> Result<Vec<PendingCopy>, RegistryError> {
    let after = after.map_or_else(Vec::new, |digest| digest.as_bytes().to_vec());
    let values = [
        version.object.into(),
        version.generation.into(),
        version.number.into(),
        after.into(),
        limit.into(),
        version.item.into(),
    ];
    tx.query(Statement("contents.brought"), &values)?.iter().map(staged_row).collect()
}

fn staged_row(row: &Row) -> Result<PendingCopy, RegistryError> {
    Ok(PendingCopy {
        sha256: None,
        content: ContentId(row.uuid("id")?),
        sha512: digest(row, "sha512")?,
        size: row.count("size")?,
        staged: match row.optional_text("staging_key")? {
            None => None,
            Some(key) => Some((key.to_owned(), row.count("staging_offset")?)),
        },
    })
}

/// A copy that was put and is durable.
#[derive(Debug, Clone)]
pub struct NewCopy {
    /// The content.
    pub content: ContentId,
    /// Its key in the store.
    pub key: String,
    /// Its storage class.
    pub class: Option<String>,
}

/// Records copies of a version that is being prepared, which are durable in a store; at most
/// [`ROWS_AT_ONCE`](versions::ROWS_AT_ONCE) at a time.
pub fn put_copies(
    tx: &mut dyn Transaction,
    claim: &Claim,
    institution: InstitutionId,
    version: &Version,
    store: &str,
    copies: &[NewCopy],
) -> Result<(), RegistryError> {
    versions::check_claimed(tx, claim, version, "record copies of it")?;
    insert_copies(tx, institution, version.object, &mut copies.iter().map(|copy| (store, copy)))
}

/// The same in several stores by one transaction: the store, and its copies.
pub fn put_copies_in(
    tx: &mut dyn Transaction,
    claim: &Claim,
    institution: InstitutionId,
    version: &Version,
    stored: &[(String, Vec<NewCopy>)],
) -> Result<(), RegistryError> {
    versions::check_claimed(tx, claim, version, "record copies of it")?;
    let copies = stored.iter().flat_map(|(store, copies)| copies.iter().map(move |copy| (store.as_str(), copy)));
    insert_copies(tx, institution, version.object, &mut copies.into_iter())
}

/// Records a copy of a content that an earlier version brought, for the worker that holds the object.
pub fn put_copy_of_kept(
    tx: &mut dyn Transaction,
    claim: &Claim,
    institution: InstitutionId,
    object: ObjectId,
    store: &str,
    copy: &NewCopy,
) -> Result<(), RegistryError> {
    check_holding(tx, claim, object)?;
    insert_copies(tx, institution, object, &mut std::iter::once((store, copy)))?;
    statistics::mark(tx, object)
}

fn insert_copies(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    object: ObjectId,
    copies: &mut dyn Iterator<Item = (&str, &NewCopy)>,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute_each(
        Statement("copies.insert"),
        &mut copies.map(|(store, copy)| {
            vec![
                copy.content.into(),
                store.into(),
                institution.into(),
                object.into(),
                (&copy.key).into(),
                copy.class.clone().into(),
                now.into(),
            ]
        }),
    )?;
    Ok(())
}

/// Copies of a version in a store that are not proved yet, after `after`.
pub fn unverified(
    tx: &mut dyn Transaction,
    version: &Version,
    store: &str,
    after: Option<ContentId>,
    limit: usize,
) -> Result<Vec<PendingCopy>, RegistryError> {
    let after = after.unwrap_or(ContentId(Uuid::nil()));
    tx.query(
        Statement("copies.unverified"),
        &[
            version.object.into(),
            store.into(),
            version.generation.into(),
            version.number.into(),
            after.into(),
            limit.into(),
        ],
    )?
    .iter()
    .map(|row| {
        let (content, sha512, size) = (ContentId(row.uuid("content_id")?), digest(row, "sha512")?, row.count("size")?);
        Ok(PendingCopy { content, sha512, sha256: Some(digest(row, "sha256")?), size, staged: None })
    })
    .collect()
}

/// Notes that copies of a version that is not published were proved by digest.
pub fn set_verified(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    store: &str,
    contents: &[ContentId],
) -> Result<(), RegistryError> {
    check_unpublished(tx, claim, version, "record its copies as verified")?;
    let now = tx.now()?;
    stamp(tx, Statement("copies.verified"), store, contents, Some(now))
}

/// Notes that copies which cannot be read were proved by the checksum that their store vouches for. They have not passed a
/// check of fixity.
pub fn set_attested(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    store: &str,
    contents: &[ContentId],
) -> Result<(), RegistryError> {
    check_unpublished(tx, claim, version, "record its copies as attested")?;
    let now = tx.now()?;
    stamp(tx, Statement("copies.attested"), store, contents, Some(now))
}

/// The same of a content that an earlier version brought, for the worker that holds the object.
pub fn set_kept_attested(
    tx: &mut dyn Transaction,
    claim: &Claim,
    object: ObjectId,
    store: &str,
    content: ContentId,
) -> Result<(), RegistryError> {
    check_holding(tx, claim, object)?;
    let now = tx.now()?;
    stamp(tx, Statement("copies.attested"), store, &[content], Some(now))
}

/// Takes back that copies of a version which is not published were proved: they are written again, or did not prove right.
pub fn set_unproved(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    store: &str,
    contents: &[ContentId],
) -> Result<(), RegistryError> {
    check_unpublished(tx, claim, version, "record its copies as unverified")?;
    stamp(tx, Statement("copies.unproved"), store, contents, None)
}

/// Changes the times at which copies were proved, as the statement says: to `time`, or to none.
fn stamp(
    tx: &mut dyn Transaction,
    statement: Statement,
    store: &str,
    contents: &[ContentId],
    time: Option<Time>,
) -> Result<(), RegistryError> {
    tx.execute_each(
        statement,
        &mut contents.iter().map(|content| {
            let mut values = vec![(*content).into(), store.into()];
            values.extend(time.map(Value::from));
            values
        }),
    )?;
    Ok(())
}

/// Forgets copies of a version that is being prepared, which did not prove right or are not there, so that they are made again.
pub fn forget_copies(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    store: &str,
    contents: &[ContentId],
) -> Result<(), RegistryError> {
    versions::check_claimed(tx, claim, version, "forget copies of it")?;
    forget(tx, store, contents)
}

fn forget(tx: &mut dyn Transaction, store: &str, contents: &[ContentId]) -> Result<(), RegistryError> {
    if !contents.is_empty() {
        let mut rows = contents.iter().map(|content| vec![(*content).into(), store.into()]);
        tx.execute_each(Statement("copies.forget"), &mut rows)?;
    }
    Ok(())
}

/// What an inspection of copies in a store found.
#[derive(Debug, Clone, Default)]
pub struct CheckedCopies {
    /// The store.
    pub store: String,
    /// Read, and right.
    pub verified: Vec<ContentId>,
    /// Not read; the store vouches for the right digest.
    pub attested: Vec<ContentId>,
    /// Not right, or not there: they are forgotten, so that they are made again.
    pub wrong: Vec<ContentId>,
}

/// Notes what was found of copies of a version that is not published, in all stores that were inspected; copies that
/// are wrong are forgotten only while it is being prepared. At most [`ROWS_AT_ONCE`](versions::ROWS_AT_ONCE) of each
/// store at a time.
pub fn note_seen(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    seen: &[CheckedCopies],
) -> Result<(), RegistryError> {
    if seen.iter().any(|seen| !seen.wrong.is_empty()) {
        versions::check_claimed(tx, claim, version, "forget copies of it")?;
    } else {
        check_unpublished(tx, claim, version, "record its copies as verified")?;
    }
    let now = tx.now()?;
    for (statement, contents) in [
        (Statement("copies.verified"), (|seen| &seen.verified) as fn(&CheckedCopies) -> &Vec<ContentId>),
        (Statement("copies.attested"), |seen| &seen.attested),
    ] {
        let rows = seen.iter().flat_map(|seen| {
            contents(seen).iter().map(|content| vec![(*content).into(), (&seen.store).into(), now.into()])
        });
        let mut rows = rows.peekable();
        if rows.peek().is_some() {
            tx.execute_each(statement, &mut rows)?;
        }
    }
    seen.iter().try_for_each(|seen| forget(tx, &seen.store, &seen.wrong))
}

/// How many contents of a version are without a proved copy in each of these stores, in their order: none, when it may be
/// committed.
pub fn unproved(tx: &mut dyn Transaction, version: &Version, stores: &[String]) -> Result<Vec<u64>, RegistryError> {
    let mut values = stores
        .iter()
        .map(|store| vec![version.object.into(), version.generation.into(), version.number.into(), store.into()]);
    let rows = tx.query_many(Statement("versions.any_verified_missing"), &mut values)?;
    rows.iter().map(|row| Ok(row.as_ref().map_or(Ok(0), |row| row.count("unproved"))?)).collect()
}

/// Lets the inventories of an object in a store count as last checked at `time`, which decides when they are due.
pub fn set_inventories_checked(
    tx: &mut dyn Transaction,
    object: ObjectId,
    store: &str,
    time: Time,
) -> Result<(), RegistryError> {
    tx.execute(Statement("object_copies.set_checked"), &[object.into(), store.into(), time.into()])?;
    Ok(())
}

/// As [`versions::check_claimed`], also for a version that is being committed.
fn check_unpublished(
    tx: &mut dyn Transaction,
    claim: &Claim,
    version: &Version,
    act: &str,
) -> Result<(), RegistryError> {
    match versions::claimed_state(tx, claim, version)? {
        VersionState::Preparing | VersionState::Committing => Ok(()),
        state => Err(versions::refusal(version, state, act)),
    }
}

/// Refuses a worker that has lost its item, or the object.
fn check_holding(tx: &mut dyn Transaction, claim: &Claim, object: ObjectId) -> Result<(), RegistryError> {
    work::check_fence(tx, claim)?;
    match leases::holding(tx, object, claim.item.0)? {
        Holding::Held => Ok(()),
        Holding::NotHeld => Err(RegistryError::FenceLost { what: "object", id: object.to_string() }),
    }
}
