//! Institutions and collections.

use serde::Serialize;
use strongroom_registry::holds::{self, On};
use strongroom_registry::tenants::{Collection, Institution};
use strongroom_registry::{PublicAccess, RegistryError, Transaction};

use super::HoldView;

/// An institution.
#[derive(Debug, Clone, Serialize)]
pub struct InstitutionView {
    /// Its domain name.
    pub institution: String,
    /// The display name.
    pub name: String,
    /// Whether it may deposit.
    pub active: bool,
    /// Bytes that its open deposits may have in staging together; none: no limit but that of staging itself.
    pub staging_quota: Option<u64>,
    /// When it was added.
    pub created_at: String,
}

impl From<&Institution> for InstitutionView {
    fn from(record: &Institution) -> Self {
        Self {
            institution: record.identifier.clone(),
            name: record.name.clone(),
            active: record.active,
            staging_quota: record.staging_quota,
            created_at: record.created_at.to_string(),
        }
    }
}

/// A collection.
#[derive(Debug, Clone, Serialize)]
pub struct CollectionView {
    /// Its short name.
    pub collection: String,
    /// The domain name of its institution.
    pub institution: String,
    /// The display name.
    pub name: String,
    /// The profile its bags must keep.
    pub profile: Option<String>,
    /// Which version of it; none: the newest at the time of each deposit.
    pub profile_version: Option<u64>,
    /// The placement of its objects where a deposit names none.
    pub placement: Option<String>,
    /// Whether it is on hold: no work item of it begins a stage until the hold is lifted.
    pub held: bool,
    /// What the public may see of it.
    pub public: PublicAccess,
    /// From when on; none: at once.
    pub embargo_until: Option<String>,
    /// Whether something may be deposited in it: no after it was removed.
    pub active: bool,
    /// When it was added.
    pub created_at: String,
    /// The hold on it.
    pub holds: Vec<HoldView>,
}

impl CollectionView {
    /// A collection with the hold on it.
    pub(crate) fn read(tx: &mut dyn Transaction, record: &Collection) -> Result<Self, RegistryError> {
        let hold = holds::on(tx, On::Collection(record.id))?;
        Ok(Self {
            collection: record.identifier.clone(),
            institution: record.institution_identifier.clone(),
            name: record.name.clone(),
            profile: record.profile.clone(),
            profile_version: record.profile_version,
            placement: record.placement.clone(),
            held: hold.is_some(),
            public: record.public,
            embargo_until: record.embargo_until.map(|time| time.to_string()),
            active: record.active,
            created_at: record.created_at.to_string(),
            holds: hold.into_iter().map(HoldView::from).collect(),
        })
    }
}
