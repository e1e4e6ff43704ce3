//! Institutions and collections.

use serde::Serialize;
use strongroom_registry::tenants::{Collection, Institution};
use strongroom_registry::{MailKind, PublicAccess, RegistryError, Transaction, notifications};

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
    /// Whether its deposits wait until a person releases them.
    pub held: bool,
    /// What the public may see of it.
    pub public: PublicAccess,
    /// From when on; none: at once.
    pub embargo_until: Option<String>,
    /// The addresses that mails about its batches go to.
    pub notify_to: Vec<String>,
    /// The kinds of mails that are not sent.
    pub suppress: Vec<MailKind>,
    /// The URL that events of its batches are posted to.
    pub callback_url: Option<String>,
    /// Whether something may be deposited in it: no after it was removed.
    pub active: bool,
    /// When it was added.
    pub created_at: String,
}

impl CollectionView {
    /// A collection with who hears of its batches.
    pub(crate) fn read(tx: &mut dyn Transaction, record: &Collection) -> Result<Self, RegistryError> {
        let notifications = notifications::get(tx, record.id)?;
        Ok(Self {
            collection: record.identifier.clone(),
            institution: record.institution_identifier.clone(),
            name: record.name.clone(),
            profile: record.profile.clone(),
            profile_version: record.profile_version,
            placement: record.placement.clone(),
            held: record.held,
            public: record.public,
            embargo_until: record.embargo_until.map(|time| time.to_string()),
            notify_to: notifications.addresses,
            suppress: notifications.suppressed,
            callback_url: notifications.callback_url.map(|url| strongroom_download::shown_url(&url)),
            active: record.active,
            created_at: record.created_at.to_string(),
        })
    }
}
