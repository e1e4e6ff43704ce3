//! Which stores hold an object and its contents, seen by asking for each key. A store is only read here:
//! every copy found is due to be read at once.

use strongroom_digest::Digest;
use strongroom_ocfl::Object;
use strongroom_registry::rebuild::{self as rows, RecordedContent, RecordedCopy, RecordedObject};
use strongroom_storage::{Key, Store};

use super::{RebuildError, Summary};
use crate::error::chain;
use crate::layout::content_path;
use crate::{Home, paging};

/// Contents looked for at once.
const CONTENTS_AT_ONCE: usize = 500;
/// What is put without a class lies in this one, and has none in the record.
const STANDARD: &str = "STANDARD";

/// Puts a copy for every content that a store of the placement holds, and returns the stores that hold the object as `own`
/// does.
pub(super) fn put(
    home: &Home,
    own: &dyn Store,
    root: &Key,
    identity: &RecordedObject,
    inventory: &Digest,
    placement: Option<String>,
    summary: &mut Summary,
) -> Result<Vec<String>, RebuildError> {
    let mut stores: Vec<&dyn Store> = vec![own];
    let placed = placement.and_then(|name| home.placement(&name).ok()).map(|(_, stores)| stores).unwrap_or_default();
    stores.extend(placed.iter().map(|(_, store)| store.as_ref()).filter(|store| store.name() != own.name()));
    let mut holders = Vec::with_capacity(stores.len());
    for store in stores {
        let name = store.name();
        if name != own.name() {
            match Object::new(store, root.clone()).root_inventory() {
                Ok(Some(found)) if found.seal.digest == *inventory => {}
                Ok(Some(_)) => {
                    summary.note(name, root.as_str(), format!("it is not as in {}", own.name()));
                    continue;
                }
                Ok(None) => {
                    summary.note(name, root.as_str(), "there is nothing");
                    continue;
                }
                Err(error) => {
                    summary.note(name, root.as_str(), chain(&error));
                    continue;
                }
            }
        }
        look_for_contents(home, store, root, identity, summary)?;
        holders.push(name.to_owned());
    }
    Ok(holders)
}

pub(super) fn look_for_contents(
    home: &Home,
    store: &dyn Store,
    root: &Key,
    identity: &RecordedObject,
    summary: &mut Summary,
) -> Result<(), RebuildError> {
    let (object, generation, institution) = (identity.id, identity.generation, identity.institution);
    let list =
        |after, limit| home.registry.read(|tx| rows::uncopied(tx, object, generation, store.name(), after, limit));
    for page in paging::pages(CONTENTS_AT_ONCE, |content: &RecordedContent| content.sha512, list) {
        let page = page?;
        let mut found = Vec::with_capacity(page.len());
        for content in &page {
            let key = root.join(
                &content_path(content.place, &content.sha512).map_err(|error| RebuildError::Object(error.chain()))?,
            )?;
            match store.head(&key) {
                Ok(head) => found.push(RecordedCopy {
                    content: content.id,
                    key: key.to_string(),
                    class: head.class.filter(|class| class != STANDARD),
                    stored_at: content.created_at,
                }),
                Err(error) => {
                    summary.missing += u64::from(error.is_not_found());
                    summary.note(store.name(), key.as_str(), chain(&error));
                }
            }
        }
        summary.copies += found.len() as u64;
        let name = store.name().to_owned();
        home.registry.write(move |tx| rows::put_copies(tx, institution, object, &name, &found))?;
    }
    Ok(())
}
