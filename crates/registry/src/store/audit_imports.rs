//! Audit chains that are imported from the stores: which acts their entries are, which keys they have announced, and ranges of stores that
//! contradict each other.

use std::collections::BTreeMap;

use strongroom_database::{Statement, Transaction};
use uuid::Uuid;

use super::audit::{self, Chain, RangeRow};
use crate::RegistryError;

/// The act of an entry that is in the stores alone: the number of the entry, from which table the act is, and its identifier there.
pub type ImportedAct = (u64, &'static str, Uuid);

/// A range that a store has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedRange {
    /// The chain with this range as its end.
    pub chain: Chain,
    /// The number of the entry before the range. What the registry has of the chain behind it is not part of the chain any more.
    pub behind: u64,
    /// The range.
    pub range: RangeRow,
    /// The store that has it.
    pub store: String,
    /// The acts of its entries.
    pub acts: Vec<ImportedAct>,
    /// The keys that its entries announce, each with the number of its entry.
    pub keys: Vec<(u64, String)>,
}

/// Sets the end of a chain to a range that a store has. Entries and ranges of the registry behind its beginning are removed: their acts are
/// pending again, unless the range has them.
pub fn import(tx: &mut dyn Transaction, imported: &ImportedRange) -> Result<(), RegistryError> {
    let (chain, behind) = (&imported.chain, imported.behind);
    let values = [(&chain.name).into(), behind.into()];
    // Others append and publish before this, or find that the end is another one.
    tx.execute(Statement("audit.lock"), &[(&chain.name).into()])?;
    tx.execute(Statement("audit.is_pending_again"), &values)?;
    tx.execute(Statement("audit.drop_entries"), &values)?;
    tx.execute(Statement("audit.drop_ranges"), &values)?;
    tx.execute(Statement("audit.drop_copies"), &values)?;
    tx.execute(Statement("audit.drop_keys"), &values)?;
    add_acts(tx, &chain.name, &imported.acts)?;
    for (sequence, key) in &imported.keys {
        put_key(tx, &chain.name, key, *sequence)?;
    }
    tx.execute(
        Statement("audit.set_chain"),
        &[
            (&chain.name).into(),
            chain.institution.into(),
            chain.sequence.into(),
            chain.sha256.as_slice().into(),
            chain.published_at.into(),
            (&chain.counts).into(),
            chain.signing_key.clone().into(),
        ],
    )?;
    audit::put_range(tx, &imported.range)?;
    audit::put_copy(tx, &imported.store, &imported.range)
}

/// Adds the rows of entries that are in the stores alone. Their acts are not pending any more.
fn add_acts(tx: &mut dyn Transaction, chain: &str, acts: &[ImportedAct]) -> Result<(), RegistryError> {
    let mut rows = acts
        .iter()
        .map(|(sequence, source, id)| vec![chain.into(), (*sequence).into(), (*source).into(), (*id).into()]);
    tx.execute_each(Statement("audit.add_act"), &mut rows)?;
    let keys: Vec<(&'static str, Uuid)> = acts.iter().map(|(_, source, id)| (*source, *id)).collect();
    audit::are_sealed(tx, &keys)
}

/// Ranges of which the registry does not know the acts, behind that of the chain and number `after`: an older version of the program has
/// removed their entries.
pub fn lacking(
    tx: &mut dyn Transaction,
    after: Option<&(String, u64)>,
    limit: usize,
) -> Result<Vec<RangeRow>, RegistryError> {
    let (chain, last) = after.cloned().unwrap_or_default();
    let rows = tx.query(Statement("audit.lacking"), &[chain.into(), last.into(), limit.into()])?;
    rows.iter().map(audit::range_row).collect()
}

/// Adds the acts of such a range.
pub fn add_lacking(tx: &mut dyn Transaction, range: &RangeRow, acts: &[ImportedAct]) -> Result<(), RegistryError> {
    add_acts(tx, &range.chain, acts)?;
    tx.execute(Statement("audit.lacks_nothing"), &[(&range.chain).into(), range.last.into()])?;
    Ok(())
}

/// How many entries of each source a chain has, up to one.
pub fn counts(tx: &mut dyn Transaction, chain: &str, last: u64) -> Result<BTreeMap<String, u64>, RegistryError> {
    let rows = tx.query(Statement("audit.counts"), &[chain.into(), last.into()])?;
    rows.iter().map(|row| Ok((row.text("source")?.to_owned(), row.count("entries")?))).collect()
}

/// Notes a key that an entry of a chain announces.
pub(super) fn put_key(tx: &mut dyn Transaction, chain: &str, key: &str, sequence: u64) -> Result<(), RegistryError> {
    tx.execute(Statement("audit.put_key"), &[chain.into(), key.into(), sequence.into()])?;
    Ok(())
}

/// The keys that a chain has announced, each with the number of the entry that did so first, in this order.
pub fn keys(tx: &mut dyn Transaction, chain: &str) -> Result<Vec<(String, u64)>, RegistryError> {
    let rows = tx.query(Statement("audit.keys"), &[chain.into()])?;
    rows.iter().map(|row| Ok((row.text("fingerprint")?.to_owned(), row.count("sequence")?))).collect()
}

/// A range in a store that contradicts a range of another store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contradiction {
    /// The chain.
    pub chain: String,
    /// The store.
    pub store: String,
    /// The number of the first entry.
    pub first: u64,
    /// The number of the last one.
    pub last: u64,
    /// The SHA-256 of the file of its head.
    pub head: [u8; 32],
    /// Whether it is certain that this one is not of the chain. Nothing is published of a chain where this is not decided.
    pub is_decided: bool,
}

/// Every contradiction that is not resolved.
pub fn contradictions(tx: &mut dyn Transaction) -> Result<Vec<Contradiction>, RegistryError> {
    let rows = tx.query(Statement("audit.contradictions"), &[])?;
    rows.iter()
        .map(|row| {
            let head = row.bytes("head")?;
            let corrupt = |_| RegistryError::Corrupt { wanted: "a SHA-256", found: format!("{} bytes", head.len()) };
            Ok(Contradiction {
                chain: row.text("chain")?.to_owned(),
                store: row.text("store")?.to_owned(),
                first: row.count("first")?,
                last: row.count("last")?,
                head: head.try_into().map_err(corrupt)?,
                is_decided: row.bool("is_decided")?,
            })
        })
        .collect()
}

/// Notes a contradiction.
pub fn put_contradiction(tx: &mut dyn Transaction, found: &Contradiction) -> Result<(), RegistryError> {
    let now = tx.now()?;
    tx.execute(
        Statement("audit.put_contradiction"),
        &[
            (&found.chain).into(),
            (&found.store).into(),
            found.first.into(),
            found.last.into(),
            found.head.as_slice().into(),
            now.into(),
            i64::from(found.is_decided).into(),
        ],
    )?;
    Ok(())
}

/// Removes a contradiction that is resolved.
pub fn drop_contradiction(tx: &mut dyn Transaction, found: &Contradiction) -> Result<(), RegistryError> {
    let values = [(&found.chain).into(), (&found.store).into(), found.last.into()];
    tx.execute(Statement("audit.drop_contradiction"), &values)?;
    Ok(())
}
