//! What is done with one content item by a rule: the decision alone, from what was seen in the source and in the destination. Nothing is read or
//! written here, and no step writes into the source.
//!
//! | source | destination | step |
//! |---|---|---|
//! | missing | missing | nothing |
//! | missing | there, a deletion is recorded for the source, and the rule may delete | delete the destination |
//! | missing | there, a deletion is recorded, and the rule may not delete | nothing: it is kept |
//! | missing | there, no deletion is recorded | report: the source looks lost, so its copy stays |
//! | there | missing, or with other bytes | copy; where the source is archived, retrieve it before |
//! | there | there, no common digest, and never compared | compare both by reading; where one is archived, nothing: sizes agree |
//! | there | with the same bytes and another description | describe the destination; where it is archived, nothing |
//! | there | the same | nothing |

use strongroom_digest::{Algorithm, Digest};
use strongroom_spaces::{Description, ItemHead, PlainCapabilities, Properties, PropertyError};

/// Properties that say what a store knows of the bytes, under the names that DuraCloud and S3 give them. They are neither copied nor compared.
const OF_THE_STORE: [&str; 9] = [
    "content-md5",
    "content-checksum",
    "content-modified",
    "content-size",
    "content-length",
    "content-type",
    "last-modified",
    "date",
    "etag",
];

/// A content item as a store has it.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'s> {
    /// What is known of it.
    pub head: &'s ItemHead,
    /// What the store honours.
    pub capabilities: PlainCapabilities,
}

/// What was seen of a content item of a rule.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'s> {
    /// In the source; none where it has none.
    pub source: Option<Seen<'s>>,
    /// In the destination.
    pub destination: Option<Seen<'s>>,
    /// Whether the bytes of both were compared since they have these etags, and are equal.
    pub is_known_equal: bool,
    /// Whether a delete event or the act of a person is recorded for the source, behind its last put.
    pub is_deletion_recorded: bool,
    /// Whether the rule deletes, and a second person has approved that.
    pub may_delete: bool,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing, for this reason.
    Nothing(Reason),
    /// The source is copied to the destination, where that has this etag, or nothing.
    Copy {
        /// The etag that the destination has; none: nothing is there.
        replaces: Option<String>,
    },
    /// The source is in an archived storage class and has to be made readable.
    Retrieve,
    /// The bytes of both are read and compared.
    Compare,
    /// The destination gets this description, where it has this etag.
    Describe {
        /// The etag that the destination has.
        etag: String,
        /// What it gets.
        description: Description,
    },
    /// The destination is deleted, where it has this etag.
    Delete {
        /// The etag that the destination has.
        etag: String,
    },
    /// People have to know: the source is missing, and nothing says that it was deleted. The copy stays.
    ReportLost,
}

/// Why nothing is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Both are the same.
    Equal,
    /// Neither is there.
    BothMissing,
    /// The source was deleted, and the rule keeps the copy.
    Kept,
    /// One of both is in an archived storage class: their sizes agree, and nothing else can be compared.
    Archived,
    /// The descriptions differ, and that of an archived content item cannot be changed.
    DescriptionOfArchived,
}

/// What is done with a content item.
///
/// # Errors
/// The description of the source cannot be one of the destination.
pub fn decide(pair: &Pair<'_>) -> Result<Step, PropertyError> {
    let (source, destination) = match (pair.source, pair.destination) {
        (None, None) => return Ok(Step::Nothing(Reason::BothMissing)),
        (None, Some(destination)) => return Ok(without_source(pair, destination)),
        (Some(source), None) => return Ok(copy(source, None)),
        (Some(source), Some(destination)) => (source, destination),
    };
    match are_equal(pair, source, destination) {
        Some(false) => Ok(copy(source, Some(destination.head.etag.clone()))),
        Some(true) => described(source, destination),
        None if source.head.is_readable && destination.head.is_readable => Ok(Step::Compare),
        None => Ok(Step::Nothing(Reason::Archived)),
    }
}

/// What is done after [`Step::Compare`] has found that the bytes are equal, or not.
///
/// # Errors
/// As [`decide`].
pub fn decide_compared(pair: &Pair<'_>, are_equal: bool) -> Result<Step, PropertyError> {
    match (pair.source, pair.destination) {
        (Some(source), Some(destination)) if are_equal => described(source, destination),
        (Some(source), Some(destination)) => Ok(copy(source, Some(destination.head.etag.clone()))),
        _ => decide(pair),
    }
}

/// The description that a copy gets: without what stores say of the bytes.
///
/// # Errors
/// It is none that every store can keep.
pub fn description_of_copy(description: &Description) -> Result<Description, PropertyError> {
    let kept = description.properties().iter().filter(|(name, _)| !OF_THE_STORE.contains(name));
    let properties = Properties::new(kept.map(|(name, value)| (name.to_owned(), value.to_owned())))?;
    Description::new(description.content_type(), properties)
}

fn without_source(pair: &Pair<'_>, destination: Seen<'_>) -> Step {
    match (pair.is_deletion_recorded, pair.may_delete) {
        (true, true) => Step::Delete { etag: destination.head.etag.clone() },
        (true, false) => Step::Nothing(Reason::Kept),
        (false, _) => Step::ReportLost,
    }
}

fn copy(source: Seen<'_>, replaces: Option<String>) -> Step {
    if source.head.is_readable { Step::Copy { replaces } } else { Step::Retrieve }
}

/// Whether the bytes are equal, as far as that is known without reading them.
fn are_equal(pair: &Pair<'_>, source: Seen<'_>, destination: Seen<'_>) -> Option<bool> {
    if source.head.size != destination.head.size {
        return Some(false);
    }
    let vouched = |seen: Seen<'_>, algorithm: Algorithm| -> Option<Digest> {
        seen.head.checksum(algorithm).filter(|_| seen.capabilities.vouched.contains(&algorithm))
    };
    let common = source.capabilities.vouched.iter().filter_map(|algorithm| {
        let (one, other) = (vouched(source, *algorithm)?, vouched(destination, *algorithm)?);
        Some(one == other)
    });
    // One digest that differs is enough.
    let compared = common.reduce(|all, one| all && one);
    compared.or(pair.is_known_equal.then_some(true))
}

/// What is done where the bytes are equal: what only one of the stores keeps is not compared.
fn described(source: Seen<'_>, destination: Seen<'_>) -> Result<Step, PropertyError> {
    let (one, other) = (source.capabilities, destination.capabilities);
    let wanted = description_of_copy(&source.head.description)?;
    let found = description_of_copy(&destination.head.description)?;
    let keeps_types = one.keeps_content_types && other.keeps_content_types;
    let keeps_properties = one.keeps_properties && other.keeps_properties;
    let is_same_type = !keeps_types || wanted.content_type() == found.content_type();
    let are_same_properties = !keeps_properties || wanted.properties() == found.properties();
    if is_same_type && are_same_properties {
        return Ok(Step::Nothing(Reason::Equal));
    }
    if destination.head.is_archived {
        return Ok(Step::Nothing(Reason::DescriptionOfArchived));
    }
    // What the source does not keep stays as it is in the destination.
    let content_type = if keeps_types { wanted.content_type() } else { found.content_type() };
    let properties = if keeps_properties { wanted.properties() } else { found.properties() };
    let description = Description::new(content_type, properties.clone())?;
    Ok(Step::Describe { etag: destination.head.etag.clone(), description })
}
