//! Duplication policies.

use serde::Serialize;
use strongroom_duplication::{Problem, Rule, Rules};
use strongroom_registry::duplication_policies::PolicyVersion;

use crate::duplication::{Compared, Previewed};

/// A version of the duplication policy of an institution.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyVersionView {
    /// The domain name of the institution.
    pub institution: String,
    /// Which version it is, from 1.
    pub version: u64,
    /// Whether it is the newest one, which applies.
    pub applies: bool,
    /// Whether a rule of it deletes.
    pub deletes: bool,
    /// Whether those rules delete: whether it was approved.
    pub may_delete: bool,
    /// Why it was set.
    pub reason: String,
    /// Who set it.
    pub set_by: String,
    /// When.
    pub set_at: String,
    /// Who approved it.
    pub approved_by: Option<String>,
    /// When.
    pub approved_at: Option<String>,
    /// What differs from the version before, in words.
    pub changes: Vec<String>,
}

/// A version with its rules.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyView {
    /// The version.
    #[serde(flatten)]
    pub version: PolicyVersionView,
    /// Patterns of spaces that no rule applies to.
    pub ignore: Vec<String>,
    /// The rules of every other space that has none of its own.
    pub default: Option<Rules>,
    /// Spaces with rules of their own.
    pub spaces: Vec<SpaceRulesView>,
    /// Where the copies of objects are kept, by collection.
    pub placements: Vec<PlacementView>,
    /// What is wrong with it now, such as stores that the settings do not have any more, and what is easily overlooked.
    pub problems: Vec<Problem>,
}

/// Spaces with rules of their own.
#[derive(Debug, Clone, Serialize)]
pub struct SpaceRulesView {
    /// The pattern of their names.
    pub space: String,
    /// Their rules.
    pub rules: Rules,
}

/// Where the copies of the objects of a collection are kept.
#[derive(Debug, Clone, Serialize)]
pub struct PlacementView {
    /// The short name of the collection.
    pub collection: String,
    /// The placement.
    pub placement: String,
    /// Its stores.
    pub stores: Vec<String>,
}

/// What a rule would do with a space, by the listings of both stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyPreviewView {
    /// The space; none where those of the source cannot be listed.
    pub space: Option<String>,
    /// The store that is read.
    pub source: String,
    /// The store that is written.
    pub destination: String,
    /// Content items that only the source has: they would be copied.
    pub missing: u64,
    /// Content items of another size in the destination: they would be copied, too.
    pub differing: u64,
    /// The bytes of both.
    pub bytes: u64,
    /// Content items of the same size in both: whether they are equal, the listings do not say.
    pub same_size: u64,
    /// Content items that only the destination has. They are deleted where the rule deletes, the policy is approved, and the deletion in the
    /// source is recorded; else people are told.
    pub only_in_destination: u64,
    /// What is no content item that every store can keep, and what may lie in folders that cannot be listed.
    pub not_carried: u64,
    /// Why it is not known, where it is not: the counts are 0 then.
    pub message: Option<String>,
}

impl From<Previewed<'_>> for PolicyPreviewView {
    fn from(previewed: Previewed<'_>) -> Self {
        let Previewed { rule, space, compared } = previewed;
        let (compared, message) = match compared {
            Ok(compared) => (compared, None),
            Err(error) => (Compared::default(), Some(error.chain())),
        };
        let Compared { missing, differing, bytes, same_size, only_in_destination, not_carried } = compared;
        let (source, destination) = (rule.source.clone(), rule.destination.clone());
        Self {
            space,
            source,
            destination,
            missing,
            differing,
            bytes,
            same_size,
            only_in_destination,
            not_carried,
            message,
        }
    }
}

/// The rules of a space, and why it has these.
#[derive(Debug, Clone, Serialize)]
pub struct SpacePolicyView {
    /// The domain name of the institution.
    pub institution: String,
    /// The version that says so.
    pub version: u64,
    /// The name of the space.
    pub space: String,
    /// Why it has these rules.
    pub why: String,
    /// The rules; none where it is not copied.
    pub rules: Vec<Rule>,
    /// Whether rules with `delete` delete.
    pub may_delete: bool,
    /// Entries that match as well, and do not apply, since a more specific one does.
    pub less_specific: Vec<String>,
}

/// The document of a version, as it is changed and set again.
#[derive(Debug, Clone, Serialize)]
pub struct PolicyDocumentView {
    /// The domain name of the institution.
    pub institution: String,
    /// The version.
    pub version: u64,
    /// TOML.
    pub document: String,
}

/// What became of a policy that was checked or set.
#[derive(Debug, Clone, Serialize)]
pub struct SetPolicyView {
    /// The domain name of the institution.
    pub institution: String,
    /// What became of it.
    pub outcome: PolicyOutcome,
    /// The version that has it; of what was not set, the newest one.
    pub version: Option<u64>,
    /// Whether a rule of it deletes.
    pub deletes: bool,
    /// What differs from the version before, in words.
    pub changes: Vec<String>,
    /// What is wrong with it, and what is easily overlooked.
    pub problems: Vec<Problem>,
}

/// What became of a policy that was checked or set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyOutcome {
    /// It is the newest version.
    Set,
    /// The newest version is the same.
    Unchanged,
    /// It has problems, or there is a newer version, and nothing was changed.
    Refused,
    /// It was only checked, and can be set.
    Valid,
}

/// What came of the files of DuraCloud.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ImportedPoliciesView {
    /// Each account that is listed or has a file.
    pub accounts: Vec<ImportedPolicyView>,
    /// What kept every account from being imported.
    pub problems: Vec<String>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

/// What came of an account of DuraCloud.
#[derive(Debug, Clone, Serialize)]
pub struct ImportedPolicyView {
    /// The name of the account.
    pub account: String,
    /// The institution whose policy it is.
    pub institution: Option<String>,
    /// What became of it.
    pub outcome: PolicyOutcome,
    /// The version that has it.
    pub version: Option<u64>,
    /// What is said in another way, or means something else than before.
    pub changes: Vec<String>,
    /// Why it was not imported.
    pub problems: Vec<String>,
}

impl PolicyVersionView {
    pub(crate) fn new(institution: &str, version: PolicyVersion, newest: u64, changes: Vec<String>) -> Self {
        let may_delete = version.may_delete();
        let (approved_by, approved_at) = version.approved.map(|(by, at)| (by, at.to_string())).unzip();
        Self {
            institution: institution.to_owned(),
            version: version.version,
            applies: version.version == newest,
            deletes: version.deletes,
            may_delete,
            reason: version.reason,
            set_by: version.set_by,
            set_at: version.set_at.to_string(),
            approved_by,
            approved_at,
            changes,
        }
    }
}
