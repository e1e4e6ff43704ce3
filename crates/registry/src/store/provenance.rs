//! Provenance: which activity made or revised which entity, from which record, and which ended its validity. Rows are added and
//! never changed. An entity has an identifier that follows from its institution and its name, so that institutions never see each
//! other's, and stays when it is no longer valid.

use strongroom_database::{Row, Statement, Time, Transaction};
use strongroom_records::Takes;
use uuid::Uuid;

use crate::model::activity::Activity;
use crate::model::ids::derived;
use crate::{ActivityId, EntityId, InstitutionId, ProvenanceKind, RegistryError};

/// The run of an activity that did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By {
    /// The activity.
    pub activity: ActivityId,
    /// Which of its runs.
    pub run: u64,
    /// Whose it is, and whose entities they are.
    pub institution: Option<InstitutionId>,
}

impl From<&Activity> for By {
    fn from(activity: &Activity) -> Self {
        Self { activity: activity.id, run: activity.run, institution: activity.institution }
    }
}

/// What came of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Made<'a> {
    /// The record that was processed.
    pub record: &'a str,
    /// What was made or revised; it may be the record itself.
    pub entity: &'a str,
}

/// What an activity made, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Produced {
    /// The record that it was made from.
    pub record: String,
    /// What was made.
    pub entity: String,
    /// Whether it was made or revised.
    pub kind: ProvenanceKind,
    /// When.
    pub at: Time,
    /// When it became invalid, and by which activity.
    pub invalidated: Option<(Time, ActivityId)>,
    /// The place of it among the results of the run: a page begins behind it.
    pub cursor: Uuid,
}

/// An entity as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its identifier.
    pub id: EntityId,
    /// Whose it is.
    pub institution: Option<InstitutionId>,
    /// Its name, such as a URI.
    pub entity: String,
    /// When it became invalid, and by which activity.
    pub invalidated: Option<(Time, ActivityId)>,
}

/// One thing that was done to an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// The activity.
    pub activity: ActivityId,
    /// Which of its runs.
    pub run: u64,
    /// What it did.
    pub kind: ProvenanceKind,
    /// The record that it was done from.
    pub record: String,
    /// When.
    pub at: Time,
    /// What tells it from others that the same run did to the entity: the record and whether validity was ended.
    cursor: (Uuid, bool),
}

/// A time at which the validity of an entity was ended; it may be valid again since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndOfValidity {
    /// The run that ended it.
    pub by: By,
    /// The entity.
    pub entity: String,
    /// When.
    pub at: Time,
    /// Whether the entity is invalid because of it now.
    pub is_present: bool,
    /// The place of it among those of the run: a page begins behind it.
    pub cursor: Uuid,
}

/// What is done where an entity that is to become invalid is missing, or is so already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// It is an error.
    Refuse,
    /// Nothing.
    Ignore,
}

/// What another activity made, for a list that is rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Taken {
    /// The record.
    pub record: String,
    /// What the activity whose list it is has made of it in this run.
    pub result: Option<String>,
    /// Whether it is no longer valid.
    pub is_invalid: bool,
    /// Where it stands.
    pub used: Uuid,
}

/// The identifier of an entity.
pub fn entity_id(institution: Option<InstitutionId>, entity: &str) -> EntityId {
    EntityId(derived(institution.map_or(Uuid::nil(), |id| id.0), &format!("entity:{entity}")))
}

/// Records what an activity made, in the transaction that ends the records: the first result of an entity generates it, later ones
/// revise it, and one that had become invalid is valid again, unless it is the record itself. For each, in order, which it was. Where the run has made another entity of the same
/// record before, as of a record that its source repeats in a later state, this one takes its place; the same one stays as it was.
pub fn record(tx: &mut dyn Transaction, by: By, made: &[Made<'_>]) -> Result<Vec<ProvenanceKind>, RegistryError> {
    let now = tx.now()?;
    let ids: Vec<EntityId> = made.iter().map(|made| entity_id(by.institution, made.entity)).collect();
    let mut entities =
        ids.iter().zip(made).map(|(id, made)| vec![(*id).into(), by.institution.into(), made.entity.into()]);
    let new: Vec<bool> =
        tx.query_many(Statement("entities.insert"), &mut entities)?.iter().map(Option::is_some).collect();
    drop(entities);
    // What is only passed on was not found again.
    let is_found = |(is_new, made): &(&bool, &Made<'_>)| !**is_new && made.record != made.entity;
    let again = ids.iter().zip(new.iter().zip(made)).filter(|(_, one)| is_found(one));
    let mut again = again.map(|(id, _)| vec![(*id).into()]);
    tx.execute_each(Statement("entities.revalidate"), &mut again)?;
    drop(again);
    let mut rows = ids.iter().zip(made).zip(&new).map(|((id, made), is_new)| row(by, made, *id, (false, *is_new), now));
    let inserted = tx.query_many(Statement("provenance.insert"), &mut rows)?;
    drop(rows);
    let there = inserted.iter().zip(ids.iter().zip(made).zip(&new)).filter(|(inserted, _)| inserted.is_none());
    let mut rows = there.map(|(_, ((id, made), is_new))| row(by, made, *id, (false, *is_new), now));
    tx.execute_each(Statement("provenance.replace"), &mut rows)?;
    drop(rows);
    let kind = |is_new: &bool| if *is_new { ProvenanceKind::Generated } else { ProvenanceKind::Revised };
    Ok(new.iter().map(kind).collect())
}

fn row(
    by: By,
    made: &Made<'_>,
    entity: EntityId,
    (invalidates, is_first): (bool, bool),
    now: Time,
) -> Vec<strongroom_database::Value> {
    vec![
        by.activity.into(),
        by.run.into(),
        entity_id(by.institution, made.record).into(),
        invalidates.into(),
        entity.into(),
        is_first.into(),
        (made.record != made.entity).then_some(made.record).into(),
        now.into(),
    ]
}

/// Ends the validity of an entity; whether anything changed. The entity stays, with the activity and the time.
///
/// # Errors
/// [`RegistryError::NotFound`] where there is no such entity, and [`RegistryError::State`] where it is invalid already, unless that is
/// to be ignored.
pub fn invalidate(tx: &mut dyn Transaction, by: By, made: Made<'_>, missing: Missing) -> Result<bool, RegistryError> {
    let (id, now) = (entity_id(by.institution, made.entity), tx.now()?);
    let changed = tx.execute(Statement("entities.invalidate"), &[id.into(), now.into(), by.activity.into()])? == 1;
    if changed {
        let mut rows = std::iter::once(row(by, &made, id, (true, false), now));
        tx.query_many(Statement("provenance.insert"), &mut rows)?;
        return Ok(true);
    }
    if missing == Missing::Ignore {
        return Ok(false);
    }
    Err(match get(tx, by.institution, made.entity)? {
        None => RegistryError::NotFound { what: "entity", id: made.entity.to_owned() },
        Some(_) => RegistryError::State {
            what: "entity",
            id: made.entity.to_owned(),
            state: "invalid".to_owned(),
            act: "invalidate it".to_owned(),
        },
    })
}

/// What runs of activities made of records and is valid now, each entity once. Activities and records belong to the same institution.
pub fn made_of(tx: &mut dyn Transaction, runs: &[By], records: &[String]) -> Result<Vec<String>, RegistryError> {
    let mut wanted = runs.iter().flat_map(|by| {
        let of =
            move |record: &String| vec![by.activity.into(), by.run.into(), entity_id(by.institution, record).into()];
        records.iter().map(of)
    });
    let mut found = Vec::new();
    for row in tx.query_many(Statement("provenance.made_of"), &mut wanted)?.into_iter().flatten() {
        found.push(row.text("entity")?.to_owned());
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// An entity of an institution, or of the installation.
pub fn get(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    entity: &str,
) -> Result<Option<Entity>, RegistryError> {
    find(tx, Statement("entities.get"), entity_id(institution, entity))
}

/// The same, whose validity stays as it is until the transaction ends.
pub fn lock(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    entity: &str,
) -> Result<Option<Entity>, RegistryError> {
    find(tx, Statement("entities.lock"), entity_id(institution, entity))
}

fn find(tx: &mut dyn Transaction, statement: Statement, id: EntityId) -> Result<Option<Entity>, RegistryError> {
    let Some(row) = tx.query_one(statement, &[id.into()])? else { return Ok(None) };
    Ok(Some(Entity {
        id: EntityId(row.uuid("id")?),
        institution: row.optional_uuid("institution_id")?.map(InstitutionId),
        entity: row.text("entity")?.to_owned(),
        invalidated: invalidated(&row)?,
    }))
}

/// What a run of an activity made, behind `after`, with or without what is no longer valid.
pub fn results(
    tx: &mut dyn Transaction,
    by: By,
    with_invalidated: bool,
    after: Option<Uuid>,
    limit: usize,
) -> Result<Vec<Produced>, RegistryError> {
    let values =
        [by.activity.into(), by.run.into(), after.unwrap_or(Uuid::nil()).into(), with_invalidated.into(), limit.into()];
    tx.query(Statement("provenance.of_activity"), &values)?.iter().map(result).collect()
}

fn result(row: &Row) -> Result<Produced, RegistryError> {
    let entity = row.text("entity")?.to_owned();
    let is_first = row.bool("is_first")?;
    Ok(Produced {
        record: row.optional_text("record")?.unwrap_or(&entity).to_owned(),
        kind: if is_first { ProvenanceKind::Generated } else { ProvenanceKind::Revised },
        at: row.time("at")?,
        invalidated: invalidated(row)?,
        cursor: row.uuid("used_id")?,
        entity,
    })
}

fn invalidated(row: &Row) -> Result<Option<(Time, ActivityId)>, RegistryError> {
    Ok(row.optional_time("invalidated_at")?.zip(row.optional_uuid("invalidated_by")?.map(ActivityId)))
}

/// What was done to an entity, in the order of time, behind a time and an activity.
pub fn history(
    tx: &mut dyn Transaction,
    entity: &Entity,
    after: Option<&Act>,
    limit: usize,
) -> Result<Vec<Act>, RegistryError> {
    let last = after.map_or((Time(i64::MIN), Uuid::nil(), 0, (Uuid::nil(), false)), |act| {
        (act.at, act.activity.0, act.run, act.cursor)
    });
    let (time, activity, run, (used, ended)) = last;
    let values = [entity.id.into(), time.into(), activity.into(), run.into(), used.into(), ended.into(), limit.into()];
    let act = |row: &Row| {
        let invalidates = row.bool("invalidates")?;
        let kind = match (invalidates, row.bool("is_first")?) {
            (true, _) => ProvenanceKind::Invalidated,
            (false, true) => ProvenanceKind::Generated,
            (false, false) => ProvenanceKind::Revised,
        };
        Ok(Act {
            activity: ActivityId(row.uuid("activity_id")?),
            run: row.count("run")?,
            kind,
            record: row.optional_text("record")?.unwrap_or(&entity.entity).to_owned(),
            at: row.time("at")?,
            cursor: (row.uuid("used_id")?, invalidates),
        })
    };
    tx.query(Statement("provenance.of_entity"), &values)?.iter().map(act).collect()
}

/// When an entity was last made of a record that is not itself, such as a document of a record of a source; none where it never was.
pub fn last_made(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    entity: &str,
) -> Result<Option<Time>, RegistryError> {
    let row = tx.query_one(Statement("provenance.last_made"), &[entity_id(institution, entity).into()])?;
    row.map(|row| Ok(row.time("at")?)).transpose()
}

/// What runs of activities made of a record, with the run of each. Activities and the record belong to the same institution.
pub fn of_record(tx: &mut dyn Transaction, runs: &[By], record: &str) -> Result<Vec<(By, Produced)>, RegistryError> {
    let used = |by: &By| vec![by.activity.into(), by.run.into(), entity_id(by.institution, record).into()];
    let rows = tx.query_many(Statement("provenance.of_record"), &mut runs.iter().map(used))?;
    let found = runs.iter().zip(rows).filter_map(|(by, row)| Some((*by, row?)));
    found.map(|(by, row)| Ok((by, result(&row)?))).collect()
}

/// What a run ended the validity of, behind `after`.
pub fn invalidated_by(
    tx: &mut dyn Transaction,
    by: By,
    after: Option<Uuid>,
    limit: usize,
) -> Result<Vec<EndOfValidity>, RegistryError> {
    let values = [by.activity.into(), by.run.into(), after.unwrap_or(Uuid::nil()).into(), limit.into()];
    let end = |row: &Row| {
        let at = row.time("at")?;
        Ok(EndOfValidity {
            by,
            entity: row.text("entity")?.to_owned(),
            at,
            is_present: invalidated(row)? == Some((at, by.activity)),
            cursor: row.uuid("used_id")?,
        })
    };
    tx.query(Statement("provenance.invalidated_by"), &values)?.iter().map(end).collect()
}

/// When the validity of results of a run was ended, of a page of them behind `after`, in the order of the page.
pub fn ends_of(
    tx: &mut dyn Transaction,
    by: By,
    after: Option<Uuid>,
    page: &[Produced],
) -> Result<Vec<EndOfValidity>, RegistryError> {
    let Some(last) = page.last() else { return Ok(Vec::new()) };
    let values = [by.activity.into(), by.run.into(), after.unwrap_or(Uuid::nil()).into(), last.cursor.into()];
    let mut ends = Vec::new();
    for row in tx.query(Statement("provenance.ends_of_results"), &values)? {
        let (cursor, at) = (row.uuid("used_id")?, row.time("at")?);
        let Some(result) = page.iter().find(|result| result.cursor == cursor) else { continue };
        let activity = ActivityId(row.uuid("activity_id")?);
        ends.push(EndOfValidity {
            by: By { activity, run: row.count("run")?, institution: by.institution },
            entity: result.entity.clone(),
            at,
            is_present: result.invalidated == Some((at, activity)),
            cursor,
        });
    }
    Ok(ends)
}

/// When the validity of a result was ended, at most `limit` times.
pub fn ends_of_entity(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    result: &Produced,
    limit: usize,
) -> Result<Vec<EndOfValidity>, RegistryError> {
    let id = entity_id(institution, &result.entity);
    let end = |row: &Row| {
        let (activity, at) = (ActivityId(row.uuid("activity_id")?), row.time("at")?);
        Ok(EndOfValidity {
            by: By { activity, run: row.count("run")?, institution },
            entity: result.entity.clone(),
            at,
            is_present: result.invalidated == Some((at, activity)),
            cursor: id.0,
        })
    };
    tx.query(Statement("provenance.ends_of_entity"), &[id.into(), limit.into()])?.iter().map(end).collect()
}

/// What another activity made in its present run, each with what this one has made of it.
pub(super) fn taken(
    tx: &mut dyn Transaction,
    (activity, other): (&Activity, &Activity),
    takes: Takes,
    (after, limit): (Uuid, usize),
) -> Result<Vec<Taken>, RegistryError> {
    let takes_results = i64::from(takes == Takes::Results);
    let values = [
        other.id.into(),
        other.run.into(),
        after.into(),
        activity.id.into(),
        activity.run.into(),
        takes_results.into(),
        limit.into(),
    ];
    let rows = tx.query(Statement("provenance.taken"), &values)?;
    let taken = |row: &Row| {
        let entity = row.text("entity")?;
        let record = if takes_results == 1 { entity } else { row.optional_text("record")?.unwrap_or(entity) };
        Ok(Taken {
            record: record.to_owned(),
            result: row.optional_text("our_entity")?.map(str::to_owned),
            is_invalid: row.optional_time("invalidated_at")?.is_some(),
            used: row.uuid("used_id")?,
        })
    };
    rows.iter().map(taken).collect()
}

/// What an activity whose agent finds its records has made in its present run.
pub(super) fn taken_by_itself(
    tx: &mut dyn Transaction,
    activity: &Activity,
    after: Uuid,
    limit: usize,
) -> Result<Vec<Taken>, RegistryError> {
    let results = results(tx, By::from(activity), true, Some(after), limit)?;
    let taken = |one: Produced| Taken {
        record: one.record,
        result: Some(one.entity),
        is_invalid: one.invalidated.is_some(),
        used: one.cursor,
    };
    Ok(results.into_iter().map(taken).collect())
}
