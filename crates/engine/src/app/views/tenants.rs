//! Institutions and collections.

use serde::Serialize;
use strongroom_registry::holds::{self, On};
use strongroom_registry::tenants::{Collection, Institution, RulesVersion};
use strongroom_registry::{MailKind, PublicAccess, RegistryError, Transaction, legal_holds};

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
    /// Bytes that may be kept of what it deposits, of one copy of each content; none: no limit.
    pub storage_quota: Option<u64>,
    /// Whether each of its users needs a second factor.
    pub second_factor_required: bool,
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
            storage_quota: record.storage_quota,
            second_factor_required: record.second_factor_required,
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
    /// The priority of its deposits, lower is sooner; none: by the size of the batch.
    pub priority: Option<u64>,
    /// The types of submission that it takes; none: all.
    pub accepted: Vec<String>,
    /// The most bytes of a package.
    pub max_size: Option<u64>,
    /// The most rows of a batch manifest.
    pub max_rows: Option<u64>,
    /// What the names of its new ARKs begin with; none: as the settings say.
    pub shoulder: Option<String>,
    /// For how long nothing of an object is deleted after it was deposited last, such as `10y`; none: for no time.
    pub retention: Option<String>,
    /// How long after that its objects are due for disposal; none: never.
    pub disposal: Option<String>,
    /// Which version of its rules that is.
    pub rules_version: u64,
    /// The addresses that mails about its batches go to.
    pub notify_to: Vec<String>,
    /// The kinds of mails that are not sent.
    pub suppress: Vec<MailKind>,
    /// The URL that events of its batches are posted to.
    pub callback_url: Option<String>,
    /// Whether a deposit succeeds only when the program at that URL has confirmed its event.
    pub callback_required: bool,
    /// Whether something may be deposited in it: no after it was removed.
    pub active: bool,
    /// When it was added.
    pub created_at: String,
    /// The hold on it.
    pub holds: Vec<HoldView>,
    /// How many legal holds are on it: nothing of it is deleted.
    pub legal_holds: u64,
}

impl CollectionView {
    /// A collection with the hold on it, and who hears of its batches.
    pub(crate) fn read(tx: &mut dyn Transaction, record: &Collection) -> Result<Self, RegistryError> {
        let hold = holds::on(tx, On::Collection(record.id))?;
        let told = record.rules.notifications.clone();
        Ok(Self {
            collection: record.identifier.clone(),
            institution: record.institution_identifier.clone(),
            name: record.rules.name.clone(),
            profile: record.rules.profile.clone(),
            profile_version: record.rules.profile_version,
            placement: record.rules.placement.clone(),
            held: hold.is_some(),
            public: record.rules.public,
            embargo_until: record.rules.embargo_until.map(|time| time.to_string()),
            priority: record.rules.priority,
            accepted: record.rules.accepted.clone(),
            max_size: record.rules.most_bytes,
            max_rows: record.rules.most_rows,
            shoulder: record.rules.shoulder.clone(),
            retention: record.rules.retention.map(|period| period.to_string()),
            disposal: record.rules.disposal.map(|period| period.to_string()),
            rules_version: record.rules_version,
            notify_to: told.addresses,
            suppress: told.suppressed,
            callback_url: told.callback_url.map(|url| strongroom_download::shown_url(&url)),
            callback_required: told.is_callback_required,
            active: record.active,
            created_at: record.created_at.to_string(),
            holds: hold.into_iter().map(HoldView::from).collect(),
            legal_holds: legal_holds::count_of_collection(tx, record.id)?,
        })
    }
}

/// A version of the rules of a collection.
#[derive(Debug, Clone, Serialize)]
pub struct RulesView {
    /// Its number, from 1.
    pub version: u64,
    /// When it was set.
    pub set_at: String,
    /// Who set it; none where that was before versions were kept.
    pub set_by: Option<String>,
    /// See [`CollectionView::profile`].
    pub profile: Option<String>,
    /// See [`CollectionView::profile_version`].
    pub profile_version: Option<u64>,
    /// See [`CollectionView::placement`].
    pub placement: Option<String>,
    /// See [`CollectionView::public`].
    pub public: PublicAccess,
    /// See [`CollectionView::embargo_until`].
    pub embargo_until: Option<String>,
    /// See [`CollectionView::priority`].
    pub priority: Option<u64>,
    /// See [`CollectionView::accepted`].
    pub accepted: Vec<String>,
    /// See [`CollectionView::max_size`].
    pub max_size: Option<u64>,
    /// See [`CollectionView::max_rows`].
    pub max_rows: Option<u64>,
    /// See [`CollectionView::shoulder`].
    pub shoulder: Option<String>,
    /// See [`CollectionView::retention`].
    pub retention: Option<String>,
    /// See [`CollectionView::disposal`].
    pub disposal: Option<String>,
    /// See [`CollectionView::notify_to`].
    pub notify_to: Vec<String>,
    /// See [`CollectionView::suppress`].
    pub suppress: Vec<MailKind>,
    /// See [`CollectionView::callback_url`].
    pub callback_url: Option<String>,
    /// See [`CollectionView::callback_required`].
    pub callback_required: bool,
}

impl From<&RulesVersion> for RulesView {
    fn from(record: &RulesVersion) -> Self {
        let rules = record.rules.clone();
        Self {
            version: record.version,
            set_at: record.set_at.to_string(),
            set_by: record.set_by.clone(),
            profile: rules.profile,
            profile_version: rules.profile_version,
            placement: rules.placement,
            public: rules.public,
            embargo_until: rules.embargo_until.map(|time| time.to_string()),
            priority: rules.priority,
            accepted: rules.accepted,
            max_size: rules.most_bytes,
            max_rows: rules.most_rows,
            shoulder: rules.shoulder,
            retention: rules.retention.map(|period| period.to_string()),
            disposal: rules.disposal.map(|period| period.to_string()),
            notify_to: rules.notifications.addresses,
            suppress: rules.notifications.suppressed,
            callback_url: rules.notifications.callback_url.map(|url| strongroom_download::shown_url(&url)),
            callback_required: rules.notifications.is_callback_required,
        }
    }
}
