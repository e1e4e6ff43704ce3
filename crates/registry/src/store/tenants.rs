//! Institutions and their collections.

use serde::Serialize;
use strongroom_database::{Row, Statement, Time, Transaction, Value};

use crate::items::Item;
use crate::notifications::{self, Notifications};
use crate::store::objects::optional_count;
use crate::store::placements;
use crate::{CollectionId, InstitutionId, Period, PublicAccess, RegistryError, Scope};

/// A tenant; nothing crosses its border.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Institution {
    /// Its identifier in records.
    pub id: InstitutionId,
    /// Its domain name, such as `example.edu`; the folder of its storage root.
    pub identifier: String,
    /// The display name.
    pub name: String,
    /// Whether it may deposit.
    pub active: bool,
    /// Bytes that its open deposits may have in staging together; none: no limit but that of staging itself.
    pub staging_quota: Option<u64>,
    /// Bytes that may be kept of what it deposits, of one copy of each content; none: no limit.
    pub storage_quota: Option<u64>,
    /// Whether each of its users needs a second factor.
    pub second_factor_required: bool,
    /// When it was added.
    pub created_at: Time,
}

/// Objects under one set of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Its identifier in records.
    pub id: CollectionId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The owner's domain name.
    pub institution_identifier: String,
    /// Its short name, unique within the institution.
    pub identifier: String,
    /// What is set on it.
    pub rules: CollectionRules,
    /// Which version of its rules that is.
    pub rules_version: u64,
    /// Whether it takes deposits; one that was removed does not.
    pub active: bool,
    /// When it was added.
    pub created_at: Time,
}

/// What may be set on a collection. All but its name is kept version by version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CollectionRules {
    /// The display name.
    pub name: String,
    /// The profile its bags must keep; none: the bag's own, or the default.
    pub profile: Option<String>,
    /// Which version of that profile; none: the newest at the time of a deposit.
    pub profile_version: Option<u64>,
    /// The placement of its objects where a deposit names none.
    pub placement: Option<String>,
    /// What the public may see of it.
    pub public: PublicAccess,
    /// From when on; none: at once. Serialized as text.
    #[serde(serialize_with = "as_text")]
    pub embargo_until: Option<Time>,
    /// The priority of its deposits, lower is sooner; none: by the size of the batch.
    pub priority: Option<u64>,
    /// The types of submission that it takes; none: all.
    pub accepted: Vec<String>,
    /// The most bytes of one package; none: no limit but that of the settings.
    pub most_bytes: Option<u64>,
    /// The most rows of a batch manifest; none: no limit but that of the settings.
    pub most_rows: Option<u64>,
    /// What the names of its new ARKs begin with; none: as the settings say.
    pub shoulder: Option<String>,
    /// For how long nothing of an object is deleted after it was deposited last; none: for no time.
    pub retention: Option<Period>,
    /// How long after that its objects are due for disposal; none: never.
    pub disposal: Option<Period>,
    /// Who hears of its batches.
    pub notifications: Notifications,
}

impl CollectionRules {
    /// The same, but for what has no versions.
    fn of_versions(&self) -> Self {
        Self { name: String::new(), ..self.clone() }
    }
}

/// One version of the rules of a collection.
#[derive(Debug, Clone)]
pub struct RulesVersion {
    /// Its number, from 1.
    pub version: u64,
    /// When it was set.
    pub set_at: Time,
    /// Who set it; none where that was before versions were kept.
    pub set_by: Option<String>,
    /// What was set.
    pub rules: CollectionRules,
}

#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn as_text<S: serde::Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.to_string()).serialize(serializer)
}

/// Whether a text can be an institution's identifier: a domain name in lower case, which is also a safe folder name.
pub fn is_institution_identifier(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        })
}

/// Adds an institution.
pub fn add_institution(
    tx: &mut dyn Transaction,
    id: InstitutionId,
    identifier: &str,
    name: &str,
) -> Result<(), RegistryError> {
    if institution(tx, Scope::System, identifier)?.is_some() {
        return Err(RegistryError::Exists { what: "an institution", id: identifier.into() });
    }
    let now = tx.now()?;
    tx.execute(Statement("institutions.insert"), &[id.into(), identifier.into(), name.into(), now.into()])?;
    Ok(())
}

/// Changes an institution's name, whether it is active, what it may have in staging, and what may be kept of it.
pub fn set_institution(
    tx: &mut dyn Transaction,
    id: InstitutionId,
    name: &str,
    (active, staging_quota, storage_quota): (bool, Option<u64>, Option<u64>),
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let state = if active { "active" } else { "deactivated" };
    tx.execute(
        Statement("institutions.update"),
        &[id.into(), name.into(), state.into(), now.into(), staging_quota.into(), storage_quota.into()],
    )?;
    Ok(())
}

/// Says whether each user of an institution needs a second factor.
pub fn require_second_factor(
    tx: &mut dyn Transaction,
    id: InstitutionId,
    is_required: bool,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("institutions.require_second_factor"), &[id.into(), is_required.into(), now.into()])?;
    Ok(())
}

/// An institution by its domain name.
pub fn institution(
    tx: &mut dyn Transaction,
    scope: Scope,
    identifier: &str,
) -> Result<Option<Institution>, RegistryError> {
    tx.query_one(Statement("institutions.by_identifier"), &[identifier.into(), scope.value()])?
        .as_ref()
        .map(institution_row)
        .transpose()
}

/// An institution by its identifier in records.
pub fn institution_by_id(
    tx: &mut dyn Transaction,
    scope: Scope,
    id: InstitutionId,
) -> Result<Option<Institution>, RegistryError> {
    tx.query_one(Statement("institutions.get"), &[id.into(), scope.value()])?.as_ref().map(institution_row).transpose()
}

/// Institutions in order of their domain names, after `after`.
pub fn institutions(
    tx: &mut dyn Transaction,
    scope: Scope,
    after: &str,
    limit: usize,
) -> Result<Vec<Institution>, RegistryError> {
    tx.query(Statement("institutions.list"), &[scope.value(), after.into(), limit.into()])?
        .iter()
        .map(institution_row)
        .collect()
}

fn institution_row(row: &Row) -> Result<Institution, RegistryError> {
    Ok(Institution {
        id: InstitutionId(row.uuid("id")?),
        identifier: row.text("identifier")?.to_owned(),
        name: row.text("name")?.to_owned(),
        active: row.text("state")? == "active",
        staging_quota: optional_count(row, "staging_quota")?,
        storage_quota: optional_count(row, "storage_quota")?,
        second_factor_required: row.bool("second_factor_required")?,
        created_at: row.time("created_at")?,
    })
}

/// Adds a collection, whose rules are `by` somebody.
pub fn add_collection(
    tx: &mut dyn Transaction,
    id: CollectionId,
    institution: InstitutionId,
    identifier: &str,
    (rules, by): (&CollectionRules, &str),
) -> Result<(), RegistryError> {
    if collection(tx, Scope::System, institution, identifier)?.is_some() {
        return Err(RegistryError::Exists { what: "a collection", id: identifier.into() });
    }
    let now = tx.now()?;
    let values = [id.into(), institution.into(), identifier.into(), (&rules.name).into(), now.into()];
    tx.execute(Statement("collections.insert"), &values)?;
    put_rules(tx, id, 1, (rules, by))
}

/// Changes a collection's rules, puts it away or has it used again; with none it stays as it is. What is changed of them makes a new version, which batches that are made from
/// now on have.
pub fn set_collection(
    tx: &mut dyn Transaction,
    id: CollectionId,
    (rules, by): (&CollectionRules, &str),
    active: impl Into<Option<bool>>,
) -> Result<(), RegistryError> {
    // Two who change it at the same time make two versions, one after the other.
    tx.execute(Statement("collections.lock"), &[id.into()])?;
    let Some(known) = collection_by_id(tx, id)? else {
        return Err(RegistryError::NotFound { what: "collection", id: id.to_string() });
    };
    let mut version = known.rules_version;
    if known.rules.of_versions() != rules.of_versions() {
        version += 1;
        put_rules(tx, id, version, (rules, by))?;
        let lower = |rules: &CollectionRules| rules.placement.as_deref().map(str::to_lowercase);
        if rules.placement.is_some() && lower(rules) != lower(&known.rules) {
            placements::collection_changed(tx, id)?;
        }
    }
    let now = tx.now()?;
    let state = if active.into().unwrap_or(known.active) { "active" } else { "removed" };
    let values = [id.into(), (&rules.name).into(), state.into(), now.into(), version.into()];
    tx.execute(Statement("collections.update"), &values)?;
    Ok(())
}

/// Writes a version of a collection's rules.
fn put_rules(
    tx: &mut dyn Transaction,
    id: CollectionId,
    version: u64,
    (rules, by): (&CollectionRules, &str),
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let accepted = Some(rules.accepted.join(" ")).filter(|accepted| !accepted.is_empty());
    tx.execute(
        Statement("collections.insert_rules"),
        &[
            id.into(),
            version.into(),
            now.into(),
            by.into(),
            rules.profile.clone().into(),
            rules.profile_version.into(),
            rules.placement.clone().into(),
            rules.public.as_str().into(),
            rules.embargo_until.into(),
            rules.priority.into(),
            accepted.into(),
            rules.most_bytes.into(),
            rules.most_rows.into(),
            rules.shoulder.clone().into(),
            notifications::as_json(&rules.notifications.addresses).into(),
            notifications::as_json(&rules.notifications.suppressed).into(),
            rules.notifications.callback_url.clone().into(),
            rules.notifications.is_callback_required.into(),
            rules.retention.map(|period| period.to_string()).into(),
            rules.disposal.map(|period| period.to_string()).into(),
        ],
    )?;
    Ok(())
}

/// A collection of an institution by its short name.
pub fn collection(
    tx: &mut dyn Transaction,
    scope: Scope,
    institution: InstitutionId,
    identifier: &str,
) -> Result<Option<Collection>, RegistryError> {
    tx.query_one(Statement("collections.by_identifier"), &[institution.into(), identifier.into(), scope.value()])?
        .as_ref()
        .map(collection_row)
        .transpose()
}

/// A collection by its identifier in records, with the rules that it has now; it takes no scope.
pub fn collection_by_id(tx: &mut dyn Transaction, id: CollectionId) -> Result<Option<Collection>, RegistryError> {
    tx.query_one(Statement("collections.get"), &[id.into()])?.as_ref().map(collection_row).transpose()
}

/// The collection of a work item, for workers: with the rules that it had when the item's batch was made. None where the item has no
/// collection.
pub fn collection_of(tx: &mut dyn Transaction, item: &Item) -> Result<Option<Collection>, RegistryError> {
    let Some(collection) = item.collection else { return Ok(None) };
    let values = [collection.into(), item.batch.into()];
    tx.query_one(Statement("collections.of_batch"), &values)?.as_ref().map(collection_row).transpose()
}

/// Versions of the rules of a collection, oldest first, after `after`.
pub fn rules_of(
    tx: &mut dyn Transaction,
    id: CollectionId,
    after: u64,
    limit: usize,
) -> Result<Vec<RulesVersion>, RegistryError> {
    let rows = tx.query(Statement("collections.rules"), &[id.into(), after.into(), limit.into()])?;
    let version = |row: &Row| {
        Ok(RulesVersion {
            version: row.count("rules_version")?,
            set_at: row.time("set_at")?,
            set_by: row.optional_text("set_by")?.map(str::to_owned),
            rules: rules_row(row)?,
        })
    };
    rows.iter().map(version).collect()
}

/// Every collection in scope that is active, and where they are asked for those that were removed.
pub fn collections(
    tx: &mut dyn Transaction,
    scope: Scope,
    removed_too: bool,
) -> Result<Vec<Collection>, RegistryError> {
    tx.query(Statement("collections.list"), &[scope.value(), removed_too.into()])?.iter().map(collection_row).collect()
}

/// Every collection of an institution, also those that were removed.
pub fn collections_of(tx: &mut dyn Transaction, institution: InstitutionId) -> Result<Vec<Collection>, RegistryError> {
    let rows = tx.query(Statement("collections.of_institution"), &[institution.into()])?;
    rows.iter().map(collection_row).collect()
}

fn collection_row(row: &Row) -> Result<Collection, RegistryError> {
    Ok(Collection {
        id: CollectionId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        identifier: row.text("identifier")?.to_owned(),
        rules: CollectionRules { name: row.text("name")?.to_owned(), ..rules_row(row)? },
        rules_version: row.count("rules_version")?,
        active: row.text("state")? == "active",
        created_at: row.time("created_at")?,
    })
}

/// What has versions of the rules of a collection.
fn rules_row(row: &Row) -> Result<CollectionRules, RegistryError> {
    let accepted = row.optional_text("accepted")?.unwrap_or_default();
    Ok(CollectionRules {
        name: String::new(),
        profile: row.optional_text("profile")?.map(str::to_owned),
        profile_version: optional_count(row, "profile_version")?,
        placement: row.optional_text("placement")?.map(str::to_owned),
        public: row.text("public_access")?.parse()?,
        embargo_until: row.optional_time("embargo_until")?,
        priority: optional_count(row, "priority")?,
        accepted: accepted.split_ascii_whitespace().map(str::to_owned).collect(),
        most_bytes: optional_count(row, "most_bytes")?,
        most_rows: optional_count(row, "most_rows")?,
        shoulder: row.optional_text("shoulder")?.map(str::to_owned),
        retention: row.optional_text("retention")?.map(str::parse).transpose()?,
        disposal: row.optional_text("disposal")?.map(str::parse).transpose()?,
        notifications: notifications::read(row)?,
    })
}

/// A fact about the registry itself.
pub fn fact(tx: &mut dyn Transaction, name: &str) -> Result<Option<String>, RegistryError> {
    let row = tx.query_one(Statement("facts.get"), &[name.into()])?;
    Ok(row.map(|row| row.text("value").map(str::to_owned)).transpose()?)
}

/// Takes back a fact about the registry itself.
pub fn delete_fact(tx: &mut dyn Transaction, name: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("facts.delete"), &[name.into()])?;
    Ok(())
}

/// Sets a fact about the registry itself.
pub fn set_fact(tx: &mut dyn Transaction, name: &str, value: &str) -> Result<(), RegistryError> {
    tx.execute(Statement("facts.set"), &[name.into(), Value::from(value)])?;
    Ok(())
}
