//! How much of their storage quotas institutions use.

use strongroom_registry::statistics as rows;
use strongroom_registry::tenants::{self, Institution};
use strongroom_registry::{RegistryError, Scope, Transaction};

const PAGE: usize = 500;

/// What an institution uses of its quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuotaUse {
    /// Bytes that may be kept.
    pub(crate) quota: u64,
    /// Bytes that are kept, of one copy of each content.
    pub(crate) kept: u64,
}

impl QuotaUse {
    /// In percent, rounded down.
    pub(crate) fn percent(&self) -> u64 {
        percent(self.kept, self.quota)
    }
}

/// A part in percent, rounded down.
pub(crate) fn percent(part: u64, of: u64) -> u64 {
    u64::try_from(u128::from(part) * 100 / u128::from(of.max(1))).unwrap_or(u64::MAX)
}

/// What an institution uses; none where it has no quota.
pub(crate) fn of_institution(
    tx: &mut dyn Transaction,
    institution: &Institution,
) -> Result<Option<QuotaUse>, RegistryError> {
    let Some(quota) = institution.storage_quota else { return Ok(None) };
    let epoch = rows::epochs(tx)?.first().map_or(0, |epoch| epoch.number);
    Ok(Some(QuotaUse { quota, kept: rows::kept_of_institution(tx, epoch, institution.id)? }))
}

/// The institutions that use so many percent of their quotas, by name.
pub(crate) fn nearly_used(
    tx: &mut dyn Transaction,
    from_percent: u64,
) -> Result<Vec<(String, QuotaUse)>, RegistryError> {
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = tenants::institutions(tx, Scope::System, &after, PAGE)?;
        let Some(last) = page.last() else { return Ok(found) };
        after.clone_from(&last.identifier);
        for institution in &page {
            if let Some(used) = of_institution(tx, institution)?.filter(|used| used.percent() >= from_percent) {
                found.push((institution.identifier.clone(), used));
            }
        }
    }
}
