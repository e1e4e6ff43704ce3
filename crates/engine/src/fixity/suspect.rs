//! A copy that other work found wrong while reading it: it becomes a finding at once, and the next copy to be checked. What
//! was seen without the object's lease is only a reason to check: the check looks again under the lease, and then repairs
//! the copy or closes the finding.

use strongroom_queue::{NewTask, tasks};
use strongroom_registry::fixity::{self as record, NewFinding};
use strongroom_registry::{ContentId, CopyState, FindingId, FindingKind, RegistryError, Transaction};

use super::handler::TOPIC;
use crate::Home;
use crate::work::object_store_key;

/// A copy that was read and is not as recorded.
#[derive(Debug, Clone)]
pub(crate) struct SuspectCopy {
    /// The content.
    pub(crate) content: ContentId,
    /// The store.
    pub(crate) store: String,
    /// Whether nothing lies there.
    pub(crate) is_missing: bool,
    /// What was found, and by which work.
    pub(crate) detail: String,
}

/// How many attempts the check of a reported copy has.
pub(crate) fn attempts(home: &Home) -> u32 {
    home.settings.pool(TOPIC).max_attempts
}

/// Opens a finding of the copy, or leaves the one that is not solved, marks the copy, and enqueues its check. Nothing where
/// the copy is no longer kept. Returns the topics to wake.
pub(crate) fn report(
    tx: &mut dyn Transaction,
    suspect: &SuspectCopy,
    attempts: u32,
) -> Result<Vec<String>, RegistryError> {
    let copies = record::copies_of_content(tx, suspect.content)?;
    let Some(copy) = copies.iter().find(|copy| copy.store == suspect.store) else { return Ok(Vec::new()) };
    let (state, kind) = if suspect.is_missing {
        (CopyState::Missing, FindingKind::Missing)
    } else {
        (CopyState::Damaged, FindingKind::Damaged)
    };
    if record::unsolved(tx, copy.object, &copy.store, Some(copy.content))?.is_none() {
        let finding = NewFinding {
            id: FindingId::new(),
            institution: copy.institution,
            object: copy.object,
            content: Some(copy.content),
            store: copy.store.clone(),
            key: copy.key.clone(),
            kind,
            detail: suspect.detail.clone(),
        };
        record::open_finding(tx, &finding)?;
    }
    record::set_damaged(tx, copy.content, &copy.store, state)?;
    record::make_due(tx, copy.content, &copy.store)?;
    let task = NewTask {
        fair_key: copy.institution_identifier.clone(),
        max_attempts: attempts,
        ..NewTask::new(TOPIC, object_store_key(copy.object, &copy.store), Vec::new())
    };
    tasks::enqueue(tx, std::slice::from_ref(&task))?;
    Ok(vec![TOPIC.to_owned()])
}
