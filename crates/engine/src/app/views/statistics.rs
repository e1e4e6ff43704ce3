//! Statistics by day.

use serde::Serialize;
use strongroom_registry::statistics::{Flow, Growth};

use crate::statistics::cost::{Cost, money};

/// What came in, went out and was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DepositsReportView {
    /// The institution, where it is reported by institution or collection.
    pub institution: Option<String>,
    /// The collection, where it is reported by collection; none: no collection.
    pub collection: Option<String>,
    /// The day, week or month, where it is reported by one.
    pub period: Option<String>,
    /// Objects that were made.
    pub objects: i64,
    /// Versions that were published.
    pub versions: i64,
    /// Contents that these brought.
    pub files: i64,
    /// The size of these.
    pub bytes: i64,
    /// Results of restorations.
    pub restorations: i64,
    /// The size of these.
    pub restored_bytes: i64,
    /// Objects that were deleted as a whole.
    pub deleted_objects: i64,
    /// Contents that were deleted.
    pub deleted_files: i64,
    /// The size of these.
    pub deleted_bytes: i64,
}

impl DepositsReportView {
    pub(crate) fn new([institution, collection, period]: [Option<String>; 3], flow: Flow) -> Self {
        Self {
            institution,
            collection,
            period,
            objects: flow.objects,
            versions: flow.versions,
            files: flow.files,
            bytes: flow.bytes,
            restorations: flow.restorations,
            restored_bytes: flow.restored_bytes,
            deleted_objects: flow.deleted_objects,
            deleted_files: flow.deleted_files,
            deleted_bytes: flow.deleted_bytes,
        }
    }
}

/// What a store has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StorageReportView {
    /// The institution, where it is reported by institution or collection.
    pub institution: Option<String>,
    /// The collection, where it is reported by collection; none: no collection.
    pub collection: Option<String>,
    /// The store.
    pub store: Option<String>,
    /// The storage class, where it is reported by class; none: the store has none.
    pub class: Option<String>,
    /// Objects that have copies there.
    pub objects: i64,
    /// Copies of contents.
    pub files: i64,
    /// The size of these.
    pub bytes: i64,
}

impl StorageReportView {
    pub(crate) fn new([institution, collection, store, class]: [Option<String>; 4], growth: Growth) -> Self {
        let Growth { objects, files, bytes } = growth;
        Self { institution, collection, store, class, objects, files, bytes }
    }
}

/// What is kept of a format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FormatsReportView {
    /// The institution, where it is reported by institution or collection.
    pub institution: Option<String>,
    /// The collection, where it is reported by collection; none: no collection.
    pub collection: Option<String>,
    /// The identifier in PRONOM; none where it is not known, or where it is reported by type.
    pub puid: Option<String>,
    /// The type; none where it is not known.
    pub mime: Option<String>,
    /// Contents, each once.
    pub files: i64,
    /// The size of these.
    pub bytes: i64,
}

impl FormatsReportView {
    pub(crate) fn new([institution, collection, puid, mime]: [Option<String>; 4], (files, bytes): (i64, i64)) -> Self {
        Self { institution, collection, puid, mime, files, bytes }
    }
}

/// Checks of fixity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixityReportView {
    /// The institution, where it is reported by institution.
    pub institution: Option<String>,
    /// The store, where it is reported by store; empty where an event names none.
    pub store: Option<String>,
    /// The day, week or month, where it is reported by one.
    pub period: Option<String>,
    /// Checks in which a copy was read and had the recorded digest; a copy counts in each check.
    pub passed: u64,
    /// Checks in which it had not, or was not found.
    pub failed: u64,
}

impl FixityReportView {
    pub(crate) fn new(
        [institution, middle, period]: [Option<String>; 3],
        is_by_store: bool,
        (passed, failed): (u64, u64),
    ) -> Self {
        Self { institution, store: middle.filter(|_| is_by_store), period, passed, failed }
    }
}

/// What storage costs in a month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CostReportView {
    /// The month.
    pub month: Option<String>,
    /// The institution, where it is reported by institution or collection.
    pub institution: Option<String>,
    /// The collection, where it is reported by collection; none: no collection.
    pub collection: Option<String>,
    /// The store, where it is reported by store.
    pub store: Option<String>,
    /// Bytes of all copies, on the average of the days of the month; days to come count as none.
    pub bytes: i64,
    /// The cost, with two decimals.
    pub cost: String,
    /// In which currency.
    pub currency: String,
    /// Bytes of these for which the settings have no price.
    pub without_price: i64,
}

impl CostReportView {
    pub(crate) fn new(
        [month, institution, collection, store]: [Option<String>; 4],
        cost: Cost,
        currency: &str,
    ) -> Self {
        let (bytes, without_price) = (cost.bytes(), cost.without_price());
        let (cost, currency) = (money(cost.millionths()), currency.to_owned());
        Self { month, institution, collection, store, bytes, cost, currency, without_price }
    }
}

/// What making the statistics anew came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecomputedView {
    /// Objects that were counted.
    pub objects: u64,
    /// Counts of what is kept that were not right before.
    pub corrected: u64,
    /// Whether every object is counted. Otherwise the background task goes on.
    pub complete: bool,
}
