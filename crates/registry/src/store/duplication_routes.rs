//! Routes of duplication: where a rule of an institution copies a space of a store to. They stay, with what is known of the content items on
//! them ([`duplicated_items`](super::duplicated_items)); whether a rule still has one is not known here.

use strongroom_database::{Row, Statement, Transaction};

use crate::{InstitutionId, RegistryError, RouteId};

/// A route. A space without a name stands for the list of spaces of both stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its identifier.
    pub id: RouteId,
    /// Whose rule it is.
    pub institution: InstitutionId,
    /// The domain name of that institution.
    pub institution_identifier: String,
    /// The store that is read.
    pub source: String,
    /// The store that is written.
    pub destination: String,
    /// The space, in both.
    pub space: String,
}

impl std::fmt::Display for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { source, destination, space, .. } = self;
        match space.as_str() {
            "" => write!(f, "{source} -> {destination}"),
            space => write!(f, "{space}, {source} -> {destination}"),
        }
    }
}

/// A route by what it is; one that is not there is made.
pub fn ensure(
    tx: &mut dyn Transaction,
    of: InstitutionId,
    (source, destination, space): (&str, &str, &str),
) -> Result<Route, RegistryError> {
    if let Some(found) = find(tx, of, (source, destination, space))? {
        return Ok(found);
    }
    let new = [RouteId::new().into(), of.into(), source.into(), destination.into(), space.into()];
    tx.execute(Statement("duplication_routes.insert"), &new)?;
    find(tx, of, (source, destination, space))?
        .ok_or_else(|| RegistryError::NotFound { what: "route", id: format!("{source} -> {destination}") })
}

/// A route by what it is; none where there is none.
pub fn find(
    tx: &mut dyn Transaction,
    of: InstitutionId,
    (source, destination, space): (&str, &str, &str),
) -> Result<Option<Route>, RegistryError> {
    let values = [of.into(), source.into(), destination.into(), space.into()];
    tx.query_one(Statement("duplication_routes.find"), &values)?.as_ref().map(route_row).transpose()
}

/// Routes of an institution between two stores, behind the one of a space: in the order of the bytes of the names of their spaces.
pub fn between(
    tx: &mut dyn Transaction,
    of: InstitutionId,
    (source, destination, after): (&str, &str, &str),
    limit: usize,
) -> Result<Vec<Route>, RegistryError> {
    let values = [of.into(), source.into(), destination.into(), after.into(), limit.into()];
    tx.query(Statement("duplication_routes.between"), &values)?.iter().map(route_row).collect()
}

/// A route by its identifier; none where there is none.
pub fn get(tx: &mut dyn Transaction, id: RouteId) -> Result<Option<Route>, RegistryError> {
    tx.query_one(Statement("duplication_routes.get"), &[id.into()])?.as_ref().map(route_row).transpose()
}

pub(super) fn route_row(row: &Row) -> Result<Route, RegistryError> {
    Ok(Route {
        id: RouteId(row.uuid("id")?),
        institution: InstitutionId(row.uuid("institution_id")?),
        institution_identifier: row.text("institution_identifier")?.to_owned(),
        source: row.text("source")?.to_owned(),
        destination: row.text("destination")?.to_owned(),
        space: row.text("space")?.to_owned(),
    })
}
