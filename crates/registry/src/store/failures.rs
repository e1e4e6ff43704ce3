//! Work items that failed and that no later deposit made good, with what they failed by.

use strongroom_database::{Row, Statement, Transaction};

use crate::{BatchId, InstitutionId, ItemId, RegistryError, Scope, Stage};

/// A work item that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which one.
    pub item: ItemId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The stage at which it failed.
    pub stage: Stage,
    /// Where its payload is.
    pub source: Option<String>,
    /// Why it failed, in words.
    pub note: Option<String>,
    /// The code of its first problem that is an error.
    pub code: Option<String>,
}

/// Items that failed, of one batch or of all, in the order of their identifiers after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    batch: Option<BatchId>,
    after: Option<ItemId>,
    limit: usize,
) -> Result<Vec<Failure>, RegistryError> {
    let after = after.map_or(uuid::Uuid::nil(), |after| after.0);
    let values = [scope.value(), batch.into(), after.into(), limit.into()];
    let statement = if batch.is_some() { Statement("failures.of_batch") } else { Statement("failures.list") };
    tx.query(statement, &values)?.iter().map(failure_row).collect()
}

fn failure_row(row: &Row) -> Result<Failure, RegistryError> {
    let text = |name| Ok::<_, RegistryError>(row.optional_text(name)?.map(str::to_owned));
    Ok(Failure {
        item: ItemId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        stage: row.text("stage")?.parse()?,
        source: text("source")?,
        note: text("note")?,
        code: text("code")?,
    })
}
