//! A deposit is compared with what is kept, not with what the registry says is kept: of every content that an earlier
//! version brought, each store of the placement must show the copy with its size, and the registry must know that it was
//! read since it was written. Any other copy is read, and repaired from the staged bytes under the item's own lease.

use strongroom_database::DatabaseError;
use strongroom_digest::Digest;
use strongroom_registry::CopyState;
use strongroom_registry::comparing::{self, KeptContent};
use strongroom_registry::copies::{self, NewCopy};
use strongroom_registry::counted;
use strongroom_registry::fixity as record;
use strongroom_registry::objects::Object;
use strongroom_storage::{Body, Listed, StorageError, Store};

use super::paging::for_each_page;
use super::staged::{self, StagedBytes};
use super::stages::write::class_of;
use crate::content_name::ContentName;
use crate::fixity::{self, Healed, Spare, Suspect};
use crate::home::NamedStore;
use crate::layout::content_path;
use crate::logs::object_root;
use crate::workflow::{StageContext, StageError};

/// Copies healed before the stores are listed anew.
const COPIES_AT_ONCE: usize = 1_000;

/// Heals what the stores lack of the deposit's contents that earlier versions brought; in words, what was healed.
pub(super) fn heal(
    context: &StageContext<'_>,
    object: &Object,
    stores: &[NamedStore],
) -> Result<Option<String>, StageError> {
    if object.head == 0 {
        return Ok(None);
    }
    let mut healed = HealedCopies::default();
    for (name, store) in stores {
        let mut last: Option<Digest> = None;
        loop {
            let suspects = suspects(context, object, name, store.as_ref())?;
            let Some(first) = suspects.first() else { break };
            if last == Some(first.sha512) {
                let note =
                    format!("store {name} does not list {} after it was repaired", name_of(context, object, first)?);
                return Err(StageError::Transient(note));
            }
            last = Some(first.sha512);
            for suspect in &suspects {
                context.task.check()?;
                if heal_one(context, object, name, suspect)? {
                    healed.add(suspect.sha512, name);
                }
            }
        }
    }
    in_words(context, &healed)
}

/// Copies that were healed: how many, and the first few, by digest and store.
#[derive(Default)]
struct HealedCopies {
    count: u64,
    first: Vec<(Digest, String)>,
}

impl HealedCopies {
    /// Healed copies that are named.
    const SHOWN: usize = 5;

    fn add(&mut self, sha512: Digest, store: &str) {
        self.count += 1;
        if self.first.len() < Self::SHOWN {
            self.first.push((sha512, store.to_owned()));
        }
    }
}

/// What was healed, by the paths of the deposit: the first few, and how many in all.
fn in_words(context: &StageContext<'_>, healed: &HealedCopies) -> Result<Option<String>, StageError> {
    if healed.count == 0 {
        return Ok(None);
    }
    let mut shown = Vec::new();
    for_each_page(context, |rows| {
        for row in rows {
            let stores = healed.first.iter().filter(|(sha512, _)| *sha512 == row.digests.sha512);
            for (_, store) in stores.take(HealedCopies::SHOWN.saturating_sub(shown.len())) {
                shown.push(format!("{} in {store}", row.path));
            }
        }
        Ok(())
    })?;
    let more = if healed.count > shown.len() as u64 { ", ..." } else { "" };
    let copies = counted(healed.count, "lost or damaged copy is", "lost or damaged copies are");
    Ok(Some(format!("{copies} repaired from the deposit: {}{more}", shown.join(", "))))
}

/// The first copies of the deposit's contents in a store that are not known to be right: missing in the listing of the
/// object's keys, of another size, damaged, never read, or not recorded.
fn suspects(
    context: &StageContext<'_>,
    object: &Object,
    name: &str,
    store: &dyn Store,
) -> Result<Vec<KeptContent>, StageError> {
    let root = object_root(&object.institution_identifier, object.generation)?;
    let mut listing = store.list(&root)?;
    let mut listed: Option<Listed> = None;
    let mut failure = None;
    let mut found = Vec::new();
    let compared = context.registry().read(|tx| {
        comparing::kept_contents(tx, context.item.id, name, object.head, &mut |kept| {
            if found.len() >= COPIES_AT_ONCE {
                return Ok(());
            }
            let Some(copy) = &kept.copy else {
                found.push(kept);
                return Ok(());
            };
            while listed.as_ref().is_none_or(|line| line.key.as_str() < copy.key.as_str()) {
                match listing.next() {
                    Some(Ok(line)) => listed = Some(line),
                    // What is no key is no copy.
                    Some(Err(StorageError::Key(_))) => {}
                    Some(Err(error)) => {
                        let reason = error.to_string();
                        failure = Some(error);
                        return Err(DatabaseError::Aborted(reason));
                    }
                    None => break,
                }
            }
            let is_there = listed.as_ref().is_some_and(|line| line.key.as_str() == copy.key && line.size == kept.size);
            if !(is_there && copy.state == CopyState::Kept && copy.is_verified) {
                found.push(kept);
            }
            Ok(())
        })
    });
    if let Some(error) = failure {
        return Err(error.into());
    }
    compared?;
    Ok(found)
}

/// Reads a copy that is not known to be right, and repairs it from the staged bytes where it is wrong; whether it was.
fn heal_one(
    context: &StageContext<'_>,
    object: &Object,
    name: &str,
    suspect: &KeptContent,
) -> Result<bool, StageError> {
    if suspect.copy.is_none() {
        record_missing(context, object, name, suspect)?;
    }
    let (key, offset) = &suspect.staged;
    let open = || -> Result<Body, StorageError> {
        let key = strongroom_storage::Key::new(key.as_str())?;
        context.staging().open(&key, *offset, Some(suspect.size))
    };
    let go_on = || context.task.check();
    let spare = Spare { name: "the deposit", open: &open };
    let of = Suspect { claim: context.claim, object: object.id, content: suspect.content, store: name };
    match fixity::heal(context.home, &of, &spare, &go_on) {
        Ok(Healed::Repaired) => Ok(true),
        Ok(Healed::Right) => Ok(false),
        Ok(Healed::Attested) => {
            let (content, object, store) = (suspect.content, object.id, name.to_owned());
            context.write(move |tx, claim| copies::set_kept_attested(tx, claim, object, &store, content))?;
            Ok(false)
        }
        Ok(Healed::Not) => {
            check_staged(context, suspect)?;
            let note = format!(
                "the copy of {} in store {name} is lost or damaged and could not be repaired from the deposit; next: \
                 strongroom fixity problems",
                name_of(context, object, suspect)?
            );
            Err(StageError::Transient(note))
        }
        Err(halt) => Err(StageError::of_halt(halt, StageError::from)),
    }
}

/// A content as people know it.
fn name_of(context: &StageContext<'_>, object: &Object, kept: &KeptContent) -> Result<ContentName, StageError> {
    Ok(context.registry().read(|tx| ContentName::read(tx, &object.identifier, Some(kept.content)))?)
}

/// Records a copy that the registry does not know in the store, as missing.
fn record_missing(
    context: &StageContext<'_>,
    object: &Object,
    name: &str,
    suspect: &KeptContent,
) -> Result<(), StageError> {
    let root = object_root(&object.institution_identifier, object.generation)?;
    let key = root.join(&content_path(suspect.place, &suspect.sha512)?)?;
    let copy = NewCopy { content: suspect.content, key: key.to_string(), class: class_of(context, name, false) };
    let (institution, object, store) = (object.institution, object.id, name.to_owned());
    context.write(move |tx, claim| {
        copies::put_copy_of_kept(tx, claim, institution, object, &store, &copy)?;
        record::set_damaged(tx, copy.content, &store, CopyState::Missing)
    })
}

/// Distinguishes staged bytes that are wrong themselves from a store that does not take them.
fn check_staged(context: &StageContext<'_>, suspect: &KeptContent) -> Result<(), StageError> {
    let (key, offset) = suspect.staged.clone();
    staged::require(context, &StagedBytes { key, offset, size: suspect.size, sha512: suspect.sha512 })
}
