//! Which stores do not hold an object whole that their placement names, without reading every object each time. A transaction by which an
//! object may come to lack something marks it (triggers of the tables `objects`, `copies` and `object_copies`); a comparison of a placement
//! with a store marks what the store lacks, page by page. What is not marked, the stores hold, as far as the comparison has come.
//!
//! A mark is removed only where every store that is compared with the placement holds the object whole. The transactions that remove
//! marks and those that move a comparison on change one row first, so that none of them decides by a state which another has changed.
//! Nothing here depends on a clock or on the settings of one process.

use strongroom_database::{Row, Statement, Transaction};
use uuid::Uuid;

use crate::{CollectionId, ObjectId, RegistryError, tenants};

/// The fact that says when marks or comparisons were last changed.
const TURN: &str = "placements.compared_at";

/// Objects that a store does not hold whole, as far as they were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LackingCount {
    /// How many.
    pub objects: u64,
    /// Whether there are no more.
    pub is_all: bool,
}

/// How many objects of a placement a store does not hold whole. It examines at most `limit` marked objects, and as many that were not
/// compared yet.
pub fn count_lacking(
    tx: &mut dyn Transaction,
    (placement, store): (&str, &str),
    limit: usize,
) -> Result<LackingCount, RegistryError> {
    let examined = |row: Option<Row>| match row {
        Some(row) => Ok::<_, RegistryError>((row.count("lacking")?, row.count("examined")? < limit as u64)),
        None => Ok((0, true)),
    };
    let marked = [placement.into(), store.into(), limit.into()];
    let (mut objects, mut is_all) = examined(tx.query_one(Statement("placements.count_marked"), &marked)?)?;
    let comparison = tx.query_one(Statement("placements.get"), &[placement.into(), store.into()])?;
    let comparison = comparison.as_ref().map(comparison_row).transpose()?;
    if comparison.as_ref().is_none_or(|comparison| !comparison.is_complete) {
        let after = comparison.map_or(ObjectId(Uuid::nil()), |comparison| comparison.compared_to);
        let behind = [placement.into(), store.into(), after.into(), limit.into()];
        let (found, is_end) = examined(tx.query_one(Statement("placements.count_behind"), &behind)?)?;
        objects += found;
        is_all &= is_end;
    }
    Ok(LackingCount { objects, is_all })
}

/// A placement that is compared with a store of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The placement.
    pub placement: String,
    /// The store.
    pub store: String,
    /// The last object that was compared.
    pub compared_to: ObjectId,
    /// Whether all were.
    pub is_complete: bool,
}

fn comparison_row(row: &Row) -> Result<Comparison, RegistryError> {
    Ok(Comparison {
        placement: row.text("placement")?.to_owned(),
        store: row.text("store")?.to_owned(),
        compared_to: ObjectId(row.uuid("compared_to")?),
        is_complete: row.bool("is_complete")?,
    })
}

/// The comparisons that were begun.
pub fn list(tx: &mut dyn Transaction) -> Result<Vec<Comparison>, RegistryError> {
    tx.query(Statement("placements.list"), &[])?.iter().map(comparison_row).collect()
}

/// Begins the comparisons of placements with stores that there are not, and forgets those that are not among `wanted`.
pub fn set(tx: &mut dyn Transaction, wanted: &[(String, String)]) -> Result<(), RegistryError> {
    take_turn(tx)?;
    for known in list(tx)? {
        if !wanted.iter().any(|(placement, store)| (placement, store) == (&known.placement, &known.store)) {
            tx.execute(Statement("placements.forget"), &[known.placement.into(), known.store.into()])?;
        }
    }
    for (placement, store) in wanted {
        tx.execute(Statement("placements.begin"), &[placement.into(), store.into(), Uuid::nil().into()])?;
    }
    Ok(())
}

/// Compares the next objects of a placement with a store, and marks those that it does not hold whole; whether this was the end.
pub fn advance(
    tx: &mut dyn Transaction,
    (placement, store): (&str, &str),
    limit: usize,
) -> Result<bool, RegistryError> {
    take_turn(tx)?;
    let found = tx.query_one(Statement("placements.get"), &[placement.into(), store.into()])?;
    let Some(known) = found.as_ref().map(comparison_row).transpose()?.filter(|known| !known.is_complete) else {
        return Ok(true);
    };
    let page = tx.query(Statement("placements.objects"), &[known.compared_to.into(), limit.into()])?;
    let is_end = page.len() < limit;
    let last = page.last().map_or(Ok(known.compared_to), |row| row.uuid("id").map(ObjectId))?;
    let range = [placement.into(), store.into(), known.compared_to.into(), last.into()];
    tx.execute(Statement("placements.mark"), &range)?;
    tx.execute(Statement("placements.advance"), &[placement.into(), store.into(), last.into(), is_end.into()])?;
    Ok(is_end)
}

/// An object that is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The object.
    pub object: ObjectId,
    /// The domain name of the institution that it belongs to; none of an object that has no published version any more.
    pub institution: Option<String>,
    /// The placement that it should have instead of its own: that of its collection.
    pub wanted: Option<String>,
    /// The stores of its placement that do not hold it whole.
    pub lacking_in: Vec<String>,
}

/// Objects that are marked, in the order of their identifiers, after `after`. Rules of collections without a placement stand for
/// `default`.
pub fn marked(
    tx: &mut dyn Transaction,
    default: &str,
    after: ObjectId,
    limit: usize,
) -> Result<Vec<Marked>, RegistryError> {
    let mut found: Vec<Marked> = Vec::new();
    for row in tx.query(Statement("placements.marked"), &[after.into(), limit.into(), default.into()])? {
        let object = ObjectId(row.uuid("object_id")?);
        let text = |column| row.optional_text(column).map(|text| text.map(str::to_owned));
        let (institution, store, wanted) = (text("institution_identifier")?, text("store")?, text("wanted")?);
        match found.last_mut() {
            Some(last) if last.object == object => last.lacking_in.extend(store),
            _ => found.push(Marked { object, institution, wanted, lacking_in: store.into_iter().collect() }),
        }
    }
    Ok(found)
}

/// What stands before the identifier of a collection in the fact that its objects are to be compared with its rules. The value is
/// the last object that was compared.
const COLLECTION: &str = "placements.collection/";

fn collection_fact(collection: CollectionId) -> String {
    format!("{COLLECTION}{collection}")
}

/// Has the objects of a collection compared with its rules, from the first one on: its placement has changed.
pub(crate) fn collection_changed(tx: &mut dyn Transaction, collection: CollectionId) -> Result<(), RegistryError> {
    // Not while a page of them is compared: that would move the comparison on as it was before.
    take_turn(tx)?;
    tenants::set_fact(tx, &collection_fact(collection), &Uuid::nil().to_string())
}

/// The collections whose objects are to be compared with their rules.
pub fn changed_collections(tx: &mut dyn Transaction) -> Result<Vec<CollectionId>, RegistryError> {
    let rows = tx.query(Statement("placements.changed_collections"), &[])?;
    let collection = |row: &Row| {
        let name = row.text("name")?;
        let id = name.strip_prefix(COLLECTION).and_then(|id| id.parse().ok());
        id.ok_or_else(|| RegistryError::Corrupt { wanted: "the identifier of a collection", found: name.to_owned() })
    };
    rows.iter().map(collection).collect()
}

/// What placements objects get by the rules of their collections.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The placement that rules without one stand for.
    pub default: String,
    /// The placements that there are, as they are written. No object gets another one.
    pub known: Vec<String>,
}

impl Rules {
    /// The placement of this name, in any letter case.
    pub fn known(&self, wanted: &str) -> Option<&str> {
        self.known.iter().map(String::as_str).find(|known| known.eq_ignore_ascii_case(wanted))
    }
}

/// Compares the next objects of a collection with its rules, and gives those the placement of the collection whose placement no deposit
/// named. How many got it, and whether this was the end.
pub fn follow_collection(
    tx: &mut dyn Transaction,
    collection: CollectionId,
    rules: &Rules,
    limit: usize,
) -> Result<(u64, bool), RegistryError> {
    take_turn(tx)?;
    let fact = collection_fact(collection);
    let Some(after) = tenants::fact(tx, &fact)? else { return Ok((0, true)) };
    let after = after.parse::<Uuid>().unwrap_or(Uuid::nil());
    let values = [collection.into(), after.into(), rules.default.as_str().into(), limit.into()];
    let page = tx.query(Statement("placements.of_collection"), &values)?;
    let mut changed = 0;
    for row in &page {
        if let Some(placement) = row.optional_text("wanted")?.and_then(|wanted| rules.known(wanted)) {
            changed += tx.execute(Statement("placements.set"), &[row.uuid("id")?.into(), placement.into()])?;
        }
    }
    match page.last() {
        Some(last) if page.len() == limit => tenants::set_fact(tx, &fact, &last.uuid("id")?.to_string())?,
        _ => tenants::delete_fact(tx, &fact)?,
    }
    Ok((changed, page.len() < limit))
}

/// Gives these objects the placement of their collection, where no deposit named theirs. How many got it.
pub fn follow(tx: &mut dyn Transaction, objects: &[ObjectId], rules: &Rules) -> Result<u64, RegistryError> {
    take_turn(tx)?;
    let mut values = objects.iter().map(|object| vec![(*object).into(), rules.default.as_str().into()]);
    let found = tx.query_many(Statement("placements.wanted_of"), &mut values)?;
    let mut changed = 0;
    for (object, row) in objects.iter().zip(found) {
        let Some(row) = row else { continue };
        if let Some(placement) = row.optional_text("wanted")?.and_then(|wanted| rules.known(wanted)) {
            changed += tx.execute(Statement("placements.set"), &[(*object).into(), placement.into()])?;
        }
    }
    Ok(changed)
}

/// Removes the marks of those of these objects that every store which is compared with their placement holds whole.
pub fn unmark(tx: &mut dyn Transaction, objects: &[ObjectId]) -> Result<u64, RegistryError> {
    take_turn(tx)?;
    let mut rows = objects.iter().map(|object| vec![(*object).into()]);
    Ok(tx.execute_each(Statement("placements.unmark"), &mut rows)?)
}

/// How many bytes of the contents of an object a store lacks.
pub fn bytes_lacking(tx: &mut dyn Transaction, object: ObjectId, store: &str) -> Result<u64, RegistryError> {
    let row = tx.query_one(Statement("placements.bytes_lacking"), &[object.into(), store.into()])?;
    row.map_or(Ok(0), |row| Ok(row.count("bytes")?))
}

/// Makes this transaction wait for the end of every other one that has called this, or has changed marks or comparisons: what it
/// reads after it stays as it is until it ends.
pub fn take_turn(tx: &mut dyn Transaction) -> Result<(), RegistryError> {
    // One transaction after another: each changes the same row.
    let now = tx.now()?;
    tenants::set_fact(tx, TURN, &now.to_string())
}
