//! BagIt Profiles 1.4: what a community asks of bags beyond the standard, read from JSON and checked against a bag.
//!
//! A superset says what 1.4 cannot: rules for tags of any tag file, which tags may be empty, values compared in any letter
//! case, defaults, the name of the top directory, forbidden characters in names. The fields that add this are listed at
//! [`Profile::parse`]. Profiles in the form of APTrust's DART are read too.

mod builtin;
mod check;
mod codes;
mod dart;
mod document;
mod facts;
mod names;
mod pattern;

pub use builtin::BuiltinProfile;
pub(crate) use codes::CODES;
pub use facts::{BagFacts, Paths, TagFact};

use pattern::Patterns;

/// Why a document is no profile at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// Not JSON.
    #[error("profile is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// JSON, but not an object.
    #[error("profile is not a JSON object but {found}")]
    NotAnObject {
        /// What stands there instead.
        found: &'static str,
    },
    /// Longer than a profile can reasonably be.
    #[error("profile has {length} bytes, more than the {limit} that are read")]
    TooLong {
        /// Its length.
        length: usize,
        /// The limit.
        limit: usize,
    },
}

/// Whether bags may come as archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SerializationRule {
    /// As directories only.
    Forbidden,
    /// As archives only.
    Required,
    /// Either way.
    #[default]
    Optional,
}

/// What a profile says about one tag of one tag file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TagRule {
    /// The tag file, relative to the bag.
    pub file: String,
    /// The label; compared in any letter case.
    pub label: String,
    /// Whether the tag must be there, unless it has a default.
    pub required: bool,
    /// Whether an empty value is fine; `None` where the profile leaves it to `values`.
    pub empty: Option<bool>,
    /// The values allowed; none means any.
    pub values: Vec<String>,
    /// Whether the tag may be repeated.
    pub repeatable: bool,
    /// The value that holds where the tag is absent.
    pub default: Option<String>,
    /// A note for people.
    pub description: Option<String>,
}

/// A BagIt profile.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a field of the specification, and any combination is a profile"
)]
pub struct Profile {
    name: String,
    /// Which of the versions of its name it is.
    number: Option<u64>,
    identifier: String,
    version: String,
    description: String,
    source_organization: String,
    /// Other spellings of `identifier` that bags carry.
    spellings: Vec<String>,
    identifier_required: bool,
    serialization: SerializationRule,
    accept_serialization: Vec<String>,
    accept_versions: Vec<String>,
    accept_encodings: Vec<String>,
    allow_fetch: bool,
    fetch_required: bool,
    data_empty: bool,
    manifests_required: Vec<String>,
    manifests_allowed: Option<Vec<String>>,
    tag_manifests_required: Vec<String>,
    tag_manifests_allowed: Option<Vec<String>>,
    tag_files_required: Vec<String>,
    tag_files_allowed: Option<Patterns>,
    payload_files_required: Vec<String>,
    payload_files_allowed: Option<Patterns>,
    tag_rules: Vec<TagRule>,
    base_directory_matches_archive: bool,
    forbid_control_characters: bool,
    ignore_case_of_values: bool,
}

impl Profile {
    /// A profile that asks for nothing, which its readers fill in.
    fn blank() -> Self {
        Self {
            name: String::new(),
            number: None,
            identifier: String::new(),
            version: String::new(),
            description: String::new(),
            source_organization: String::new(),
            spellings: Vec::new(),
            identifier_required: true,
            serialization: SerializationRule::Optional,
            accept_serialization: Vec::new(),
            accept_versions: Vec::new(),
            accept_encodings: Vec::new(),
            allow_fetch: true,
            fetch_required: false,
            data_empty: false,
            manifests_required: Vec::new(),
            manifests_allowed: None,
            tag_manifests_required: Vec::new(),
            tag_manifests_allowed: None,
            tag_files_required: Vec::new(),
            tag_files_allowed: None,
            payload_files_required: Vec::new(),
            payload_files_allowed: None,
            tag_rules: Vec::new(),
            base_directory_matches_archive: false,
            forbid_control_characters: false,
            ignore_case_of_values: false,
        }
    }

    /// The name it is chosen by (`aptrust-2.3`), or its identifier where it has no name.
    pub fn name(&self) -> &str {
        if self.name.is_empty() { &self.identifier } else { &self.name }
    }

    /// Which of the versions of its name it is, from 1; `None` for a document that no registry of profiles has.
    pub fn number(&self) -> Option<u64> {
        self.number
    }

    /// `BagIt-Profile-Identifier`: the URI bags name it by.
    pub fn identifier(&self) -> &str {
        &self.identifier
    }

    /// The profile's own version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// `External-Description`.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// `Source-Organization`: who issued it.
    pub fn source_organization(&self) -> &str {
        &self.source_organization
    }

    /// Whether bags may come as archives.
    pub fn serialization(&self) -> SerializationRule {
        self.serialization
    }

    /// Algorithms of the payload manifests that must be there.
    pub fn manifests_required(&self) -> &[String] {
        &self.manifests_required
    }

    /// Algorithms of the payload manifests that may be there; `None` means any.
    pub fn manifests_allowed(&self) -> Option<&[String]> {
        self.manifests_allowed.as_deref()
    }

    /// Algorithms of the tag manifests that must be there.
    pub fn tag_manifests_required(&self) -> &[String] {
        &self.tag_manifests_required
    }

    /// Rules about tags: those of `bag-info.txt` first, then by file; within a file by label.
    pub fn tag_rules(&self) -> &[TagRule] {
        &self.tag_rules
    }

    /// The tag files that have rules about tags, which a reader therefore has to parse; always with `bag-info.txt`.
    pub fn tag_files_with_rules(&self) -> Vec<&str> {
        let mut files = vec![BAG_INFO];
        for rule in &self.tag_rules {
            if !files.contains(&rule.file.as_str()) {
                files.push(&rule.file);
            }
        }
        files
    }

    /// Values that hold where a bag has no such tag: (tag file, label, value).
    pub fn defaults(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.tag_rules
            .iter()
            .filter_map(|rule| Some((rule.file.as_str(), rule.label.as_str(), rule.default.as_deref()?)))
    }

    /// A legal value in the profile's own spelling, for a value that a bag may have in another letter case (`standard` for
    /// `Standard`). `None` where the profile lists no values for the tag, or not this one.
    pub fn canonical_value(&self, file: &str, label: &str, value: &str) -> Option<&str> {
        let rule = self.tag_rules.iter().find(|rule| rule.file == file && same_label(&rule.label, label))?;
        rule.values.iter().map(String::as_str).find(|legal| self.same_value(legal, value))
    }

    /// Whether an identifier found in a bag means this profile.
    pub fn is_named_by(&self, identifier: &str) -> bool {
        let identifier = identifier.trim();
        identifier == self.identifier || self.spellings.iter().any(|spelling| spelling == identifier)
    }

    fn same_value(&self, left: &str, right: &str) -> bool {
        let (left, right) = (left.trim(), right.trim());
        left == right || (self.ignore_case_of_values && left.to_lowercase() == right.to_lowercase())
    }
}

const BAG_INFO: &str = "bag-info.txt";
const IDENTIFIER: &str = "BagIt-Profile-Identifier";

/// Labels are compared in any letter case, as RFC 8493 section 2.2.2 asks for the reserved ones.
fn same_label(left: &str, right: &str) -> bool {
    left.trim().eq_ignore_ascii_case(right.trim())
}
