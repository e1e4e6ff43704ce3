//! Institutions: the tenants of an installation.

use strongroom_registry::InstitutionId;
use strongroom_registry::tenants;

use super::authorization::{INSTITUTIONS_ADD, INSTITUTIONS_LIST, INSTITUTIONS_SET, INSTITUTIONS_SHOW};
use super::views::InstitutionView;
use super::{OpContext, PAGE, Page, find_institution};
use crate::EngineError;
use crate::journal::Target;

/// Institutions in order of their domain names, after `after`.
pub fn list(context: &OpContext, after: Option<String>) -> Result<Page<InstitutionView, String>, EngineError> {
    let authorized = context.authorize(&INSTITUTIONS_LIST)?;
    let after = after.unwrap_or_default();
    let found = authorized.read(|tx| tenants::institutions(tx, authorized.scope(), &after, PAGE))?;
    let next = found.last().map(|last| last.identifier.clone());
    Ok(Page { items: found.iter().map(InstitutionView::from).collect(), next })
}

/// One of them, by its domain name.
pub fn show(context: &OpContext, institution: &str) -> Result<InstitutionView, EngineError> {
    let (_, found) = context.authorize_in(&INSTITUTIONS_SHOW, institution)?;
    Ok(InstitutionView::from(&found))
}

/// Adds an institution; `name` is what people call it, its domain name where absent.
pub fn add(context: &OpContext, institution: &str, name: Option<&str>) -> Result<InstitutionView, EngineError> {
    let authorized = context.authorize(&INSTITUTIONS_ADD)?;
    if !tenants::is_institution_identifier(institution) {
        return Err(no_institution_name(institution));
    }
    let (identifier, name) = (institution.to_owned(), name.unwrap_or(institution).to_owned());
    Ok(authorized.write(move |tx| {
        let id = InstitutionId::new();
        tenants::add_institution(tx, id, &identifier, &name)?;
        let added = find_institution(tx, strongroom_registry::Scope::Institution(id), &identifier)?;
        Ok((Target::of(id, &identifier), InstitutionView::from(&added)))
    })?)
}

pub(super) fn no_institution_name(text: &str) -> EngineError {
    let next = if text.is_ascii() {
        "give a domain name in lower case, such as example.edu"
    } else {
        "give the domain name as the DNS has it, in lower case: a part with letters other than a to z begins with xn--"
    };
    EngineError::Usage(format!("{text:?} cannot name an institution")).next(next)
}

/// What is to be changed of an institution; what is absent stays.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// What people call it.
    pub name: Option<String>,
    /// Whether it may deposit.
    pub active: Option<bool>,
    /// Bytes that its open deposits may have in staging together; 0: no limit but that of staging itself.
    pub staging_quota: Option<u64>,
    /// Bytes that may be kept of what it deposits, of one copy of each content; 0: no limit.
    pub storage_quota: Option<u64>,
    /// Whether each of its users needs a second factor.
    pub second_factor_required: Option<bool>,
}

/// Changes an institution.
pub fn set(context: &OpContext, institution: &str, changes: Changes) -> Result<InstitutionView, EngineError> {
    let Changes { name, active, staging_quota, storage_quota, second_factor_required } = changes;
    let quotas = [staging_quota, storage_quota];
    if name.is_none() && active.is_none() && quotas == [None; 2] && second_factor_required.is_none() {
        return Err(EngineError::Usage("nothing to set".to_owned()).next(
            "give --name NAME, --active true|false, --staging-quota SIZE, --storage-quota SIZE or \
             --second-factor-required true|false",
        ));
    }
    let (authorized, found) = context.authorize_in(&INSTITUTIONS_SET, institution)?;
    let scope = authorized.scope();
    Ok(authorized.write(move |tx| {
        let found = find_institution(tx, scope, &found.identifier)?;
        let name = name.as_deref().unwrap_or(&found.name);
        let quota = |new: Option<u64>, known| new.map_or(known, |bytes| Some(bytes).filter(|bytes| *bytes > 0));
        let in_staging = quota(staging_quota, found.staging_quota);
        let kept = quota(storage_quota, found.storage_quota);
        tenants::set_institution(tx, found.id, name, (active.unwrap_or(found.active), in_staging, kept))?;
        if let Some(is_required) = second_factor_required {
            tenants::require_second_factor(tx, found.id, is_required)?;
        }
        let changed = find_institution(tx, scope, &found.identifier)?;
        Ok((Target::of(found.id, &found.identifier), InstitutionView::from(&changed)))
    })?)
}
