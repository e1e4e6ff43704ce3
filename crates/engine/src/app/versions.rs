//! Versions of an object.

use strongroom_registry::versions;

use super::OpContext;
use super::authorization::VERSIONS_LIST;
use super::views::VersionView;
use crate::EngineError;
use crate::arks::find_object;

/// Every published version of an object, oldest first.
pub fn list(context: &OpContext, object: &str) -> Result<Vec<VersionView>, EngineError> {
    let authorized = context.authorize(&VERSIONS_LIST)?;
    let found = authorized.read(|tx| {
        let object = find_object(tx, authorized.scope(), object)?;
        versions::list(tx, object.id, object.generation, false)
    })?;
    Ok(found.into_iter().map(VersionView::from).collect())
}
