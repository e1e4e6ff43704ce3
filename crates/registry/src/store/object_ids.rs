//! The identifiers by which deposits find their object: local identifiers, unique within the institution, and ARKs, unique among all
//! institutions. A row is inserted, or locked, within the transaction that submits a deposit, so that two deposits with one identifier are
//! deposits of one object.

use strongroom_database::{Row, Statement, Transaction};

use crate::objects::Object;
use crate::{InstitutionId, ItemId, ObjectId, RegistryError, Scope, objects};

/// What an identifier is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdKind {
    /// The depositor's own.
    Local,
    /// An ARK, in its normal form.
    Ark,
}

impl IdKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Ark => "ark",
        }
    }
}

/// What a deposit says of which object it is.
#[derive(Debug, Clone)]
pub struct Naming<'a> {
    /// Whose object it is.
    pub institution: InstitutionId,
    /// The work item of the deposit.
    pub item: ItemId,
    /// The identifiers that it names.
    pub ids: &'a [(IdKind, String)],
    /// The identifier that the object gets, `<institution>/<name>`, where none of `ids` belongs to one.
    pub identifier: &'a str,
    /// Whether the depositor gave that identifier: then the object has it, or the deposit is refused.
    pub is_given: bool,
}

/// Which object a deposit is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// The one of this identifier. The identifiers of the deposit are its own from now on.
    Object(String),
    /// The deposit names several: each identifier with the object that it belongs to.
    Contradiction(Vec<(String, String)>),
    /// An ARK belongs to an object of another institution.
    Foreign(String),
}

/// Decides which object a deposit is of. What it writes holds when the transaction commits.
pub fn name(tx: &mut dyn Transaction, naming: &Naming<'_>) -> Result<Named, RegistryError> {
    let mut ids = naming.ids.to_vec();
    // Every transaction locks them in the same order.
    ids.sort();
    ids.dedup();
    let now = tx.now()?;
    let mut rows = Vec::with_capacity(ids.len());
    let mut owners: Vec<(String, String)> = Vec::new();
    if naming.is_given {
        owners.push((naming.identifier.to_owned(), naming.identifier.to_owned()));
    }
    for (kind, value) in &ids {
        if *kind == IdKind::Ark {
            let parameters = [naming.institution.into(), value.into()];
            if tx.query_one(Statement("object_ids.has_foreign_ark"), &parameters)?.is_some() {
                return Ok(Named::Foreign(value.clone()));
            }
        }
        let is_new = find(tx, naming.institution, *kind, value)?.is_none();
        let parameters =
            [naming.institution.into(), kind.as_str().into(), value.into(), naming.identifier.into(), now.into()];
        let row = tx.query_one(Statement("object_ids.claim"), &parameters)?;
        let owner = row.map(|row| row.text("object_identifier").map(str::to_owned)).transpose()?;
        let owner = owner.unwrap_or_else(|| naming.identifier.to_owned());
        // A row that another transaction inserted in between names another object, or the same.
        let belongs_to_it = !(is_new && owner == naming.identifier) && is_binding(tx, naming, value, &owner)?;
        if belongs_to_it && owners.iter().all(|(_, known)| *known != owner) {
            owners.push((value.clone(), owner.clone()));
        }
        rows.push((*kind, value, owner));
    }
    let object = match owners.as_slice() {
        [] => naming.identifier.to_owned(),
        [(_, owner)] => owner.clone(),
        _ => return Ok(Named::Contradiction(owners)),
    };
    for (kind, value, owner) in &rows {
        if *owner != object {
            let parameters = [naming.institution.into(), kind.as_str().into(), (*value).into(), (&object).into()];
            tx.execute(Statement("object_ids.set"), &parameters)?;
            if *kind == IdKind::Ark {
                let parameters = [naming.institution.into(), owner.into(), (*value).into()];
                tx.execute(Statement("object_ids.clear_ark"), &parameters)?;
            }
        }
    }
    Ok(Named::Object(object))
}

/// Gives the identifiers that belong to one name to another: the deposit that they came with is of that object.
pub fn rename(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    ids: &[(IdKind, String)],
    (from, to): (&str, &str),
) -> Result<(), RegistryError> {
    let mut ids = ids.to_vec();
    // Every transaction locks them in the same order.
    ids.sort();
    for (kind, value) in &ids {
        if find(tx, institution, *kind, value)?.as_deref() == Some(from) {
            let parameters = [institution.into(), kind.as_str().into(), value.into(), to.into()];
            tx.execute(Statement("object_ids.set"), &parameters)?;
        }
    }
    Ok(())
}

fn is_binding(tx: &mut dyn Transaction, naming: &Naming<'_>, value: &str, owner: &str) -> Result<bool, RegistryError> {
    let parameters = [naming.institution.into(), owner.into(), naming.item.into(), value.into()];
    match tx.query_one(Statement("object_ids.is_binding"), &parameters)? {
        Some(row) => Ok(row.bool("is_binding")?),
        None => Ok(false),
    }
}

/// The object that an identifier belongs to, where it does.
pub fn find(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    kind: IdKind,
    value: &str,
) -> Result<Option<String>, RegistryError> {
    let row = tx.query_one(Statement("object_ids.find"), &[institution.into(), kind.as_str().into(), value.into()])?;
    Ok(row.map(|row| row.text("object_identifier").map(str::to_owned)).transpose()?)
}

/// The objects that identifiers belong to, in the order of the identifiers, where they do.
pub fn find_each(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    ids: &mut dyn Iterator<Item = (IdKind, &str)>,
) -> Result<Vec<Option<String>>, RegistryError> {
    let mut lists = ids.map(|(kind, value)| vec![institution.into(), kind.as_str().into(), value.into()]);
    let rows = tx.query_many(Statement("object_ids.find_each"), &mut lists)?;
    rows.iter().map(|row| owner(row.as_ref())).collect()
}

/// Records identifiers, each with its object, that were found to belong to none; the objects that they belong to then, in their order,
/// which are others where another transaction was faster. Of equal identifiers only the first may be given.
pub fn claim_each(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    ids: &mut dyn Iterator<Item = (IdKind, &str, &str)>,
) -> Result<Vec<Option<String>>, RegistryError> {
    let now = tx.now()?;
    let mut lists = ids.map(|(kind, value, object)| {
        vec![institution.into(), kind.as_str().into(), value.into(), object.into(), now.into()]
    });
    let rows = tx.query_many(Statement("object_ids.claim_each"), &mut lists)?;
    rows.iter().map(|row| owner(row.as_ref())).collect()
}

fn owner(row: Option<&Row>) -> Result<Option<String>, RegistryError> {
    Ok(row.map(|row| row.text("object_identifier").map(str::to_owned)).transpose()?)
}

/// As [`is_name_taken`], for many, each with its work item.
pub fn are_names_taken(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    names: &mut dyn Iterator<Item = (&str, ItemId)>,
) -> Result<Vec<bool>, RegistryError> {
    let mut lists = names.map(|(name, item)| vec![institution.into(), name.into(), item.into()]);
    let rows = tx.query_many(Statement("object_ids.are_names_taken"), &mut lists)?;
    let is_taken = |row: &Option<Row>| row.as_ref().map(|row| row.bool("is_taken")).transpose();
    rows.iter().map(|row| Ok(is_taken(row)?.unwrap_or_default())).collect()
}

/// Whether an institution has an object of this identifier, or another open work item about one.
pub fn is_name_taken(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    identifier: &str,
    item: ItemId,
) -> Result<bool, RegistryError> {
    let row =
        tx.query_one(Statement("object_ids.is_name_taken"), &[institution.into(), identifier.into(), item.into()])?;
    Ok(row.map(|row| row.bool("is_taken")).transpose()?.unwrap_or_default())
}

/// The ARKs that are recorded for the name of an object, in the order in which they were: also those of deposits that failed.
pub fn arks_of(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    identifier: &str,
) -> Result<Vec<String>, RegistryError> {
    let rows = tx.query(Statement("object_ids.arks_of"), &[institution.into(), identifier.into()])?;
    rows.iter().map(|row| Ok(row.text("value")?.to_owned())).collect()
}

/// Records the first of these ARKs, in normal form, that is recorded for no object of any institution; nothing where each of them is.
pub fn choose_ark(
    tx: &mut dyn Transaction,
    institution: InstitutionId,
    identifier: &str,
    candidates: &[String],
) -> Result<Option<String>, RegistryError> {
    let now = tx.now()?;
    for ark in candidates {
        let parameters = [institution.into(), ark.into(), identifier.into(), now.into()];
        if tx.execute(Statement("object_ids.insert_ark"), &parameters)? == 1 {
            return Ok(Some(ark.clone()));
        }
    }
    Ok(None)
}

/// The object that an ARK in normal form is recorded for, published or not.
pub fn by_ark(tx: &mut dyn Transaction, scope: Scope, ark: &str) -> Result<Option<Object>, RegistryError> {
    let row = tx.query_one(Statement("object_ids.by_ark"), &[ark.into(), scope.value()])?;
    let Some(row) = row else { return Ok(None) };
    let institution = InstitutionId(row.uuid("institution_id")?);
    objects::by_identifier(tx, Scope::Institution(institution), row.text("object_identifier")?)
}

/// Gives an object its ARK, unless it has versions with another one; the one that it has.
pub fn set_ark(tx: &mut dyn Transaction, object: ObjectId, ark: &str) -> Result<Option<String>, RegistryError> {
    tx.execute(Statement("object_ids.set_ark"), &[object.into(), ark.into()])?;
    Ok(objects::get(tx, Scope::System, object)?.and_then(|object| object.ark))
}

/// Keeps the identifiers of a version that is published, for its object: in a registry that is made from the stores they have no rows.
pub(crate) fn keep(tx: &mut dyn Transaction, object: ObjectId, local_ids: &[String]) -> Result<(), RegistryError> {
    let Some(object) = objects::get(tx, Scope::System, object)? else { return Ok(()) };
    let now = tx.now()?;
    for id in local_ids {
        let parameters = [
            object.institution.into(),
            IdKind::Local.as_str().into(),
            id.into(),
            (&object.identifier).into(),
            now.into(),
        ];
        tx.query_one(Statement("object_ids.claim"), &parameters)?;
    }
    if let Some(ark) = &object.ark {
        choose_ark(tx, object.institution, &object.identifier, std::slice::from_ref(ark))?;
    }
    Ok(())
}
