//! Audit chains: how far they are, and their export.

use std::path::Path;

use strongroom_registry::{Scope, Time};

use super::authorization::{AUDIT_CHECK, AUDIT_EXPORT, AUDIT_LIST};
use super::views::{AuditChainView, AuditCheckView, AuditExportView};
use super::{OpContext, Shutdown};
use crate::journal::Target;
use crate::places::check_outside_stores;
use crate::{EngineError, audit};

/// In which form chains are exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// JSON Lines, as they are in the stores, which can be verified.
    #[default]
    Lines,
    /// A table for each chain, with the columns of the audit log of DuraCloud.
    Tsv,
}

/// What is exported.
#[derive(Debug, Clone, Default)]
pub struct Export {
    /// Only the chain of this institution; none: every one that the caller may read.
    pub institution: Option<String>,
    /// Only the files that have entries of then or later.
    pub since: Option<Time>,
    /// In which form.
    pub form: Form,
}

/// Every chain that the caller may read, by name, and how many acts of theirs are in none yet.
pub fn list(context: &OpContext, institution: Option<&str>) -> Result<(Vec<AuditChainView>, u64), EngineError> {
    let authorized = context.authorize(&AUDIT_LIST)?;
    let scope = authorized.scope_of(institution)?;
    let (chains, pending) = audit::chains(authorized.home(), scope)?;
    let is_of = |chain: Option<_>| match scope {
        Scope::System => true,
        Scope::Institution(id) => chain == Some(id),
    };
    let chains = chains.into_iter().filter(|chain| is_of(chain.institution));
    Ok((chains.map(AuditChainView::from).collect(), pending))
}

/// Reads what stores have of the chains now, and puts back what is missing or changed: in these stores, or in every preservation store in use
/// where none is named. A store that fails keeps no other from it.
///
/// # Errors
/// There is no preservation store in use of one of the names.
pub fn check(context: &OpContext, stores: &[String], stop: &Shutdown) -> Result<Vec<AuditCheckView>, EngineError> {
    let authorized = context.authorize(&AUDIT_CHECK)?;
    let home = authorized.home();
    let known = home.settings.preservation_stores();
    for store in stores {
        home.store(store)?;
        if !known.contains(&store.as_str()) || home.is_retired(store)? {
            return Err(EngineError::Usage(format!("{store} is no preservation store in use"))
                .next("\"strongroom store list\" shows those there are"));
        }
    }
    let mut checked = Vec::new();
    for store in home.preservation_stores() {
        let is_wanted = stores.is_empty() || stores.iter().any(|name| name == store.name());
        if !is_wanted || home.is_retired(store.name())? {
            continue;
        }
        let target = Target::of_system(store.name());
        let failed = |(_, error): &(_, Option<EngineError>)| error.as_ref().map(EngineError::chain);
        let (found, error) = authorized.around_unless(&target, |home| Ok(audit::check(home, store, stop)), failed)?;
        checked.push(AuditCheckView::new(store.name(), found, error.as_ref()));
    }
    Ok(checked)
}

/// Writes chains into a folder, with all that was done until now, which is published for it.
///
/// # Errors
/// The folder cannot be written to; entries that are in the stores alone cannot be read there.
pub fn export(
    context: &OpContext,
    folder: &Path,
    wanted: &Export,
    stop: &Shutdown,
) -> Result<Vec<AuditExportView>, EngineError> {
    let authorized = context.authorize(&AUDIT_EXPORT)?;
    let scope = authorized.scope_of(wanted.institution.as_deref())?;
    let home = authorized.home();
    let next = "export into a folder that is no store's";
    check_outside_stores(&home.settings, &home.directory, folder, next)?;
    let form = match wanted.form {
        Form::Lines => audit::Form::Lines,
        Form::Tsv => audit::Form::Tsv,
    };
    let name = wanted.institution.clone().unwrap_or_else(|| "every chain".to_owned());
    let target = match scope {
        Scope::System => Target::of_system(name),
        Scope::Institution(id) => Target::of(id, name),
    };
    let exported = authorized.around(&target, |home| audit::export(home, folder, scope, (wanted.since, form), stop))?;
    Ok(exported.into_iter().map(AuditExportView::from).collect())
}
