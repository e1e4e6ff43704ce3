//! The journal: what actors did or were refused, a line for each act, appended in the transaction of the act and never changed.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

pub use crate::model::actor::{Actor, LONGEST_NAME, ShownActor, name_of};
use crate::{
    ActorId, ActorKind, InstitutionId, ItemId, JournalId, JournalOutcome, Order, RegistryError, Scope, tenants,
};

/// A line to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLine<'a> {
    /// Who acts.
    pub actor: &'a Actor,
    /// One for all lines of one call.
    pub request: Uuid,
    /// The act, such as `items.hold`.
    pub act: &'a str,
    /// What it is done to, as people name it.
    pub target: &'a str,
    /// Whose that is; none for what belongs to no institution.
    pub institution: Option<InstitutionId>,
    /// The object that it is done to, or that belongs to it.
    pub object: Option<&'a str>,
    /// How it went.
    pub outcome: JournalOutcome,
    /// What else there is to say.
    pub detail: Option<&'a str>,
}

/// A line as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its identifier.
    pub id: JournalId,
    /// Its place in the order of the journal: a line that was appended later has a greater number.
    pub number: u64,
    /// When.
    pub time: Time,
    /// Who acted.
    pub actor: Actor,
    /// One for all lines of one call.
    pub request: Uuid,
    /// The act.
    pub act: String,
    /// What it was done to.
    pub target: String,
    /// The domain name of the institution it belongs to.
    pub institution_identifier: Option<String>,
    /// The object that it was done to, or that belongs to that, as it was named then.
    pub object: Option<String>,
    /// How it went.
    pub outcome: JournalOutcome,
    /// What else there is to say.
    pub detail: Option<String>,
}

/// Which lines are listed.
#[derive(Debug, Clone, Default)]
pub struct LineFilter {
    /// Only those since then.
    pub since: Option<Time>,
    /// Only those of actors of this name, or who acted by an account of this name.
    pub actor: Option<String>,
    /// Only those of this act, or of a resource: `items.hold`, `items`.
    pub act: Option<String>,
    /// Only those about the object of this identifier, `INSTITUTION/NAME`.
    pub object: Option<String>,
    /// In which order.
    pub order: Order,
}

/// Makes an actor known to the registry; one that is known stays as it is.
pub fn know(tx: &mut dyn Transaction, actor: &Actor) -> Result<(), RegistryError> {
    let now = tx.now()?;
    let acts_by = actor.account.is_some() || actor.key.is_some();
    let values = [
        actor.id.into(),
        actor.kind.as_str().into(),
        actor.to_string().into(),
        now.into(),
        acts_by.then(|| actor.name.clone()).into(),
        actor.account.clone().into(),
        actor.key.clone().into(),
    ];
    tx.execute(Statement("actors.insert"), &values)?;
    Ok(())
}

/// Appends a line, and makes its actor known.
pub fn append(tx: &mut dyn Transaction, line: &NewLine<'_>) -> Result<JournalId, RegistryError> {
    know(tx, line.actor)?;
    let (id, now) = (JournalId::new(), tx.now()?);
    tx.execute(
        Statement("journal.append"),
        &[
            id.into(),
            now.into(),
            line.actor.id.into(),
            line.request.into(),
            line.act.into(),
            line.target.into(),
            line.institution.into(),
            line.outcome.as_str().into(),
            line.detail.into(),
            line.object.into(),
        ],
    )?;
    Ok(id)
}

/// The fact with the version of the schema that the journal names.
const SCHEMA: &str = "journal.schema";

/// From which version to which the schema was migrated without a line about it; none where the journal names the
/// present one. A registry that is new needs no line.
pub fn untold_migration(tx: &mut dyn Transaction) -> Result<Option<(u64, u64)>, RegistryError> {
    let now = schema_version(tx)?;
    let Some(told) = tenants::fact(tx, SCHEMA)? else { return Ok(None) };
    let told = told.parse().map_err(|_| RegistryError::Corrupt { wanted: "a version of the schema", found: told })?;
    Ok((told < now).then_some((told, now)))
}

/// Whether it is recorded of which version of the schema the journal says.
pub fn knows_schema(tx: &mut dyn Transaction) -> Result<bool, RegistryError> {
    Ok(tenants::fact(tx, SCHEMA)?.is_some())
}

/// Records that the journal names the present version of the schema: in the transaction that appends the line, where there
/// has to be one.
pub fn set_schema_told(tx: &mut dyn Transaction) -> Result<(), RegistryError> {
    let now = schema_version(tx)?;
    tenants::set_fact(tx, SCHEMA, &now.to_string())
}

fn schema_version(tx: &mut dyn Transaction) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("schema.version"), &[])?;
    Ok(row.map(|row| row.count("version")).transpose()?.unwrap_or(0))
}

/// Whether a refusal of this act of an actor is in the journal since then.
pub fn was_refused(tx: &mut dyn Transaction, actor: &Actor, act: &str, since: Time) -> Result<bool, RegistryError> {
    let values = [actor.id.into(), since.into(), act.into()];
    Ok(tx.query_one(Statement("journal.was_refused"), &values)?.is_some())
}

/// Lines in the order in which they were appended or the opposite one, as the filter says, after the number `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: &LineFilter,
    after: Option<u64>,
    limit: usize,
) -> Result<Vec<Line>, RegistryError> {
    let since = filter.since.unwrap_or(Time(0));
    let (statement, start) = match (filter.order, &filter.object) {
        (Order::OldestFirst, None) => (Statement("journal.list"), 0),
        (Order::OldestFirst, Some(_)) => (Statement("journal.of_object"), 0),
        (Order::NewestFirst, None) => (Statement("journal.newest"), i64::MAX.unsigned_abs()),
        (Order::NewestFirst, Some(_)) => (Statement("journal.newest_of_object"), i64::MAX.unsigned_abs()),
    };
    let mut values = vec![
        after.unwrap_or(start).into(),
        scope.value(),
        since.into(),
        filter.actor.clone().into(),
        limit.into(),
        filter.act.clone().into(),
    ];
    values.extend(filter.object.clone().map(Into::into));
    tx.query(statement, &values)?.iter().map(line_row).collect()
}

/// On whose behalf a work item is worked on; none for those made before actors were kept.
pub fn actor_of_item(tx: &mut dyn Transaction, item: ItemId) -> Result<Option<Actor>, RegistryError> {
    tx.query_one(Statement("actors.of_item"), &[item.into()])?.as_ref().map(|row| actor_row(row, "id")).transpose()
}

pub(crate) fn actor_row(row: &Row, id: &'static str) -> Result<Actor, RegistryError> {
    let kind: ActorKind = row.text("kind")?.parse()?;
    let by = |name| row.optional_text(name).map(|text| text.map(str::to_owned));
    Ok(Actor {
        id: ActorId(row.uuid(id)?),
        kind,
        name: row.text("name")?.to_owned(),
        account: by("account")?,
        key: by("api_key")?,
    })
}

/// The actor of a row that may have none.
pub(crate) fn optional_actor_row(row: &Row, id: &'static str) -> Result<Option<Actor>, RegistryError> {
    row.optional_uuid(id)?.map(|_| actor_row(row, id)).transpose()
}

pub(crate) fn line_row(row: &Row) -> Result<Line, RegistryError> {
    Ok(Line {
        id: JournalId(row.uuid("id")?),
        number: row.count("number")?,
        time: row.time("time")?,
        actor: actor_row(row, "actor_id")?,
        request: row.uuid("request_id")?,
        act: row.text("act")?.to_owned(),
        target: row.text("target")?.to_owned(),
        institution_identifier: row.optional_text("institution_identifier")?.map(str::to_owned),
        object: row.optional_text("object")?.map(str::to_owned),
        outcome: row.text("outcome")?.parse()?,
        detail: row.optional_text("detail")?.map(str::to_owned),
    })
}
