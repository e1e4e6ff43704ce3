//! Batches: one submission and the work items made from it.

use strongroom_database::{Row, Statement, Time, Transaction};
use uuid::Uuid;

use crate::{BatchId, BatchState, CollectionId, InstitutionId, RegistryError, Scope};

/// A batch as it stands.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Its identifier.
    pub id: BatchId,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The institution's domain name.
    pub institution_identifier: String,
    /// The collection's short name.
    pub collection_identifier: Option<String>,
    /// What was submitted: `bag`, `file`, ...
    pub kind: String,
    /// Where it is.
    pub state: BatchState,
    /// Who submitted it.
    pub submitted_by: String,
    /// The depositor's note.
    pub note: Option<String>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// Makes a batch, `processing` from the start: its items come in the same transaction.
pub fn create(
    tx: &mut dyn Transaction,
    id: BatchId,
    institution: InstitutionId,
    collection: Option<CollectionId>,
    kind: &str,
    submitted_by: &str,
    note: Option<&str>,
) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(
        Statement("batches.insert"),
        &[
            id.into(),
            institution.into(),
            collection.into(),
            kind.into(),
            BatchState::Processing.word().into(),
            submitted_by.into(),
            note.into(),
            now.into(),
        ],
    )?;
    Ok(())
}

/// A batch, or none within the scope.
pub fn get(tx: &mut dyn Transaction, scope: Scope, id: BatchId) -> Result<Option<Batch>, RegistryError> {
    tx.query_one(Statement("batches.get"), &[id.into(), scope.value()])?.as_ref().map(batch_row).transpose()
}

/// Batches in order of their making, after `after`.
pub fn list(
    tx: &mut dyn Transaction,
    scope: Scope,
    after: Option<BatchId>,
    limit: usize,
) -> Result<Vec<Batch>, RegistryError> {
    let after = after.unwrap_or(BatchId(Uuid::nil()));
    tx.query(Statement("batches.list"), &[after.into(), scope.value(), limit.into()])?.iter().map(batch_row).collect()
}

/// Sets the state that a person asked for.
pub fn set_state(tx: &mut dyn Transaction, id: BatchId, state: BatchState) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(Statement("batches.set_state"), &[id.into(), state.word().into(), now.into()])?;
    Ok(())
}

/// Derives a batch's state from its items, whenever one of them ended or was taken up again.
pub(crate) fn settle(tx: &mut dyn Transaction, id: BatchId) -> Result<(), RegistryError> {
    let Some(batch) = get(tx, Scope::System, id)? else { return Ok(()) };
    if batch.state == BatchState::Deleted {
        return Ok(());
    }
    let state = if count(tx, Statement("batches.open_items"), id)? > 0 {
        BatchState::Processing
    } else if count(tx, Statement("batches.failed_items"), id)? > 0 {
        BatchState::Failed
    } else {
        BatchState::Completed
    };
    if state == batch.state { Ok(()) } else { set_state(tx, id, state) }
}

fn count(tx: &mut dyn Transaction, statement: Statement, id: BatchId) -> Result<u64, RegistryError> {
    Ok(tx.query_one(statement, &[id.into()])?.map_or(Ok(0), |row| row.count(0))?)
}

fn batch_row(row: &Row) -> Result<Batch, RegistryError> {
    Ok(Batch {
        id: BatchId(row.uuid(0)?),
        institution: InstitutionId(row.uuid(1)?),
        institution_identifier: row.text(2)?.to_owned(),
        collection_identifier: row.optional_text(3)?.map(str::to_owned),
        kind: row.text(4)?.to_owned(),
        state: row.text(5)?.parse()?,
        submitted_by: row.text(6)?.to_owned(),
        note: row.optional_text(7)?.map(str::to_owned),
        created_at: row.time(8)?,
        updated_at: row.time(9)?,
    })
}
