//! Legal holds: what forbids the deletion of a collection with all of its objects, of an object with all of its files, or of a file, until
//! it is released. Several may be on one target, one for each cause; each is released by itself. Rows stay, and of a row only the release
//! is set, once. They are no holds of work ([`crate::holds`]): deposits and repairs go on.

use serde::{Deserialize, Serialize};
use strongroom_database::{Row, Statement, Time, Transaction};

use crate::begun_deletions::{self, BegunDeletion};
use crate::journal::Actor;
use crate::{CollectionId, FileId, InstitutionId, LegalHoldId, ObjectId, RegistryError, Scope, journal};

/// The most characters of a reason.
pub const LONGEST_REASON: usize = 2_000;

/// What a legal hold is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum On {
    /// Every object of a collection, also those that it will have.
    Collection(CollectionId),
    /// An object with all of its files, also those that it will have.
    Object(ObjectId),
    /// One file of an object.
    File {
        /// The object.
        object: ObjectId,
        /// The file.
        file: FileId,
    },
}

impl On {
    fn columns(self) -> (Option<CollectionId>, Option<ObjectId>, Option<FileId>) {
        match self {
            Self::Collection(id) => (Some(id), None, None),
            Self::Object(id) => (None, Some(id), None),
            Self::File { object, file } => (None, Some(object), Some(file)),
        }
    }

    /// What the columns of a row name.
    pub(crate) fn of_row(row: &Row) -> Result<Self, RegistryError> {
        let collection = row.optional_uuid("collection_id")?.map(CollectionId);
        let object = row.optional_uuid("object_id")?.map(ObjectId);
        let file = row.optional_uuid("file_id")?.map(FileId);
        match (collection, object, file) {
            (Some(id), None, None) => Ok(Self::Collection(id)),
            (None, Some(id), None) => Ok(Self::Object(id)),
            (None, Some(object), Some(file)) => Ok(Self::File { object, file }),
            _ => Err(RegistryError::Corrupt {
                wanted: "the target of a legal hold",
                found: "another combination of columns".to_owned(),
            }),
        }
    }
}

/// A legal hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegalHold {
    /// Its identifier.
    pub id: LegalHoldId,
    /// What it is on.
    pub on: On,
    /// Whose that is.
    pub institution: InstitutionId,
    /// The same by domain name.
    pub institution_identifier: String,
    /// The short name of the collection, where it is on one.
    pub collection_identifier: Option<String>,
    /// The object by its name, where it is on one or on one of its files.
    pub object_identifier: Option<String>,
    /// The logical path of the file, where it is on one.
    pub path: Option<String>,
    /// Why it was placed.
    pub reason: String,
    /// Who placed it.
    pub placed_by: Actor,
    /// When.
    pub placed_at: Time,
    /// How it was released; none while it forbids deletion.
    pub release: Option<Release>,
}

/// How a legal hold was released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Who released it.
    pub by: Actor,
    /// When.
    pub at: Time,
    /// Why.
    pub reason: String,
}

/// A legal hold to be placed.
#[derive(Debug, Clone)]
pub struct NewLegalHold<'a> {
    /// Fixed by the caller, so that placing it again places it once.
    pub id: LegalHoldId,
    /// What it is on.
    pub on: On,
    /// Whose that is.
    pub institution: InstitutionId,
    /// Why: 1 to [`LONGEST_REASON`] characters.
    pub reason: &'a str,
    /// Who places it.
    pub actor: &'a Actor,
}

/// Places a hold. The answer names at most [`begun_deletions::MOST`] deletions of its target that have begun and cannot be stopped by it:
/// those of the object, also where the hold is on one of its files, or those of the objects of the collection.
///
/// A hold and [`begun_deletions::begin`] are ordered by the row that both write before they read anything: that of the object for a hold on
/// it or on a file, that of the collection for one on a collection. Whichever comes second sees what the first has written: with
/// [`Isolation::ReadCommitted`](strongroom_database::Isolation) it waits for the row and reads afterwards, with `Serial` it is undone, as the
/// row has changed since its transaction began, and runs again. So a deletion that has begun is named here, and every other one meets the
/// hold.
///
/// # Errors
/// [`RegistryError::NotFound`] where the target is not there: an object that was deleted or of which nothing is published, a file that no
/// version has, or one of another institution.
pub fn place(tx: &mut dyn Transaction, new: &NewLegalHold<'_>) -> Result<Vec<BegunDeletion>, RegistryError> {
    let (collection, object, file) = new.on.columns();
    let (what, id) = match new.on {
        On::Collection(id) => ("collection", id.0),
        On::Object(id) => ("object", id.0),
        On::File { file, .. } => ("file", file.0),
    };
    let missing = || RegistryError::NotFound { what, id: id.to_string() };
    let locked = match new.on {
        On::Collection(id) => tx.query_one(Statement("legal_holds.lock_collection"), &[id.into()])?,
        On::Object(object) | On::File { object, .. } => {
            tx.query_one(Statement("legal_holds.lock_object"), &[object.into()])?
        }
    };
    if locked.ok_or_else(missing)?.uuid("institution_id")? != new.institution.0 {
        return Err(missing());
    }
    if let On::File { object, file } = new.on {
        tx.query_one(Statement("legal_holds.file"), &[file.into(), object.into()])?.ok_or_else(missing)?;
    }
    journal::know(tx, new.actor)?;
    let now = tx.now()?;
    let values = [
        new.id.into(),
        new.institution.into(),
        collection.into(),
        object.into(),
        file.into(),
        new.reason.into(),
        new.actor.id.into(),
        now.into(),
    ];
    tx.execute(Statement("legal_holds.place"), &values)?;
    match new.on {
        On::Collection(id) => begun_deletions::of_collection(tx, id),
        On::Object(object) | On::File { object, .. } => begun_deletions::of_object(tx, object),
    }
}

/// Releases a hold, and answers with it as it is now.
///
/// # Errors
/// [`RegistryError::NotFound`] where there is none within the scope, [`RegistryError::State`] where it was released before: of two who
/// release it at once, one does.
pub fn release(
    tx: &mut dyn Transaction,
    scope: Scope,
    id: LegalHoldId,
    (reason, actor): (&str, &Actor),
) -> Result<LegalHold, RegistryError> {
    find(tx, scope, id)?;
    journal::know(tx, actor)?;
    let now = tx.now()?;
    let values = [id.into(), actor.id.into(), now.into(), reason.into()];
    let is_released = tx.query_one(Statement("legal_holds.release"), &values)?.is_some();
    let hold = find(tx, scope, id)?;
    match &hold.release {
        Some(before) if !is_released => Err(RegistryError::State {
            what: "legal hold",
            id: id.to_string(),
            state: format!("released, by {} at {}", before.by.name, before.at),
            act: "release it again".to_owned(),
        }),
        _ => Ok(hold),
    }
}

/// A hold by its identifier.
pub fn get(tx: &mut dyn Transaction, scope: Scope, id: LegalHoldId) -> Result<Option<LegalHold>, RegistryError> {
    tx.query_one(Statement("legal_holds.get"), &[id.into(), scope.value()])?.as_ref().map(hold_row).transpose()
}

fn find(tx: &mut dyn Transaction, scope: Scope, id: LegalHoldId) -> Result<LegalHold, RegistryError> {
    get(tx, scope, id)?.ok_or_else(|| RegistryError::NotFound { what: "legal hold", id: id.to_string() })
}

/// How many holds forbid the deletion of an object: those on it, on its files and on its collection.
pub fn count(tx: &mut dyn Transaction, object: ObjectId) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("legal_holds.count"), &[object.into()])?;
    Ok(row.map(|row| row.count("holds")).transpose()?.unwrap_or(0))
}

/// How many holds are on a collection itself.
pub fn count_of_collection(tx: &mut dyn Transaction, collection: CollectionId) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("legal_holds.count_of_collection"), &[collection.into()])?;
    Ok(row.map(|row| row.count("holds")).transpose()?.unwrap_or(0))
}

/// Which holds are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// All.
    All,
    /// Those on an object and on its files.
    OfObject(ObjectId),
    /// Those on a collection itself.
    OfCollection(CollectionId),
}

/// At most `limit` holds behind `after`, in the order of their identifiers; those that were released only where they are asked for.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    (listed, released_too): (Listed, bool),
    after: Option<LegalHoldId>,
    limit: usize,
) -> Result<Vec<LegalHold>, RegistryError> {
    let after = after.unwrap_or(LegalHoldId(uuid::Uuid::nil()));
    let mut values = vec![after.into(), scope.value(), released_too.into(), limit.into()];
    let statement = match listed {
        Listed::All => Statement("legal_holds.list"),
        Listed::OfObject(id) => {
            values.push(id.into());
            Statement("legal_holds.list_of_object")
        }
        Listed::OfCollection(id) => {
            values.push(id.into());
            Statement("legal_holds.list_of_collection")
        }
    };
    tx.query(statement, &values)?.iter().map(hold_row).collect()
}

fn hold_row(row: &Row) -> Result<LegalHold, RegistryError> {
    let text = |name: &'static str| Ok::<_, RegistryError>(row.optional_text(name)?.map(str::to_owned));
    let release = match (row.optional_time("released_at")?, text("release_reason")?) {
        (Some(at), Some(reason)) => Some(Release { by: actor(row, RELEASED)?, at, reason }),
        _ => None,
    };
    Ok(LegalHold {
        id: LegalHoldId(row.uuid("id")?),
        on: On::of_row(row)?,
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        collection_identifier: text("collection_identifier")?,
        object_identifier: text("object_identifier")?,
        path: text("path")?,
        reason: row.text("reason")?.to_owned(),
        placed_by: actor(row, PLACED)?,
        placed_at: row.time("placed_at")?,
        release,
    })
}

/// The columns of who placed a hold: kind, name, account and key.
const PLACED: [&str; 4] = ["placed_kind", "placed_by", "placed_account", "placed_key"];
/// The same of who released it.
const RELEASED: [&str; 4] = ["released_kind", "released_by", "released_account", "released_key"];

fn actor(row: &Row, [kind, name, account, key]: [&'static str; 4]) -> Result<Actor, RegistryError> {
    Ok(Actor::of(row.text(kind)?.parse()?, row.text(name)?, row.optional_text(account)?, row.optional_text(key)?))
}

/// A hold on an object or a file, as it is kept in stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedHold {
    /// Its identifier.
    pub id: LegalHoldId,
    /// The file, where it is on one.
    pub file: Option<FileId>,
    /// Why it was placed.
    pub reason: String,
    /// Who placed it.
    pub placed_by: Actor,
    /// When, in microseconds since the epoch.
    pub placed_at: i64,
    /// How it was released.
    pub release: Option<RecordedRelease>,
}

/// How a hold was released, as it is kept in stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRelease {
    /// Who released it.
    pub by: Actor,
    /// When, in microseconds since the epoch.
    pub at: i64,
    /// Why.
    pub reason: String,
}

impl LegalHold {
    /// What is kept of it in stores.
    pub fn recorded(&self) -> RecordedHold {
        RecordedHold {
            id: self.id,
            file: match self.on {
                On::File { file, .. } => Some(file),
                On::Object(_) | On::Collection(_) => None,
            },
            reason: self.reason.clone(),
            placed_by: self.placed_by.clone(),
            placed_at: self.placed_at.0,
            release: self.release.as_ref().map(|release| RecordedRelease {
                by: release.by.clone(),
                at: release.at.0,
                reason: release.reason.clone(),
            }),
        }
    }
}

/// Takes over a hold of an object that a store knows. One that is known already is released where the store says so, and stays as it is
/// otherwise. One on a file that the object does not have, or whose reasons no hold can have, is left out.
pub fn import(
    tx: &mut dyn Transaction,
    (institution, object): (InstitutionId, ObjectId),
    recorded: &RecordedHold,
) -> Result<(), RegistryError> {
    let is_reason = |reason: &str| (1..=LONGEST_REASON).contains(&reason.chars().count()) && !reason.contains('\0');
    if !is_reason(&recorded.reason) || recorded.release.as_ref().is_some_and(|release| !is_reason(&release.reason)) {
        return Ok(());
    }
    // Its versions may not be published yet.
    if let Some(file) = recorded.file
        && tx.query_one(Statement("legal_holds.file_row"), &[file.into(), object.into()])?.is_none()
    {
        return Ok(());
    }
    journal::know(tx, &recorded.placed_by)?;
    if let Some(release) = &recorded.release {
        journal::know(tx, &release.by)?;
    }
    let release = recorded.release.as_ref();
    let values = [
        recorded.id.into(),
        institution.into(),
        object.into(),
        recorded.file.into(),
        (&recorded.reason).into(),
        recorded.placed_by.id.into(),
        Time(recorded.placed_at).into(),
        release.map(|release| release.by.id).into(),
        release.map(|release| Time(release.at)).into(),
        release.map(|release| release.reason.clone()).into(),
    ];
    tx.execute(Statement("legal_holds.import"), &values)?;
    if let Some(release) = release {
        let values = [recorded.id.into(), release.by.id.into(), Time(release.at).into(), (&release.reason).into()];
        tx.query_one(Statement("legal_holds.release"), &values)?;
    }
    Ok(())
}
