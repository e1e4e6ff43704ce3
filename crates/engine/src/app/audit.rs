//! Audit chains: how far they are, and their export.

use std::path::Path;

use strongroom_registry::{Scope, Time};

use super::authorization::{AUDIT_EXPORT, AUDIT_LIST};
use super::views::{AuditChainView, AuditExportView};
use super::{OpContext, Shutdown};
use crate::journal::Target;
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
