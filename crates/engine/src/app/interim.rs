//! What is known of the staged work of an item that has not succeeded.

use strongroom_queue::tasks;
use strongroom_registry::interim::{self, StagingPlace};
use strongroom_registry::items::{self, Item};
use strongroom_registry::work::SWEEP_TOPIC;
use strongroom_registry::{ItemId, ItemStatus, RegistryError, Transaction};

use super::authorization::ITEMS_SHOW;
use super::views::{FactView, InterimFileView, InterimView};
use super::{OpContext, PAGE, Page};
use crate::ingest::kept_downloads;
use crate::{EngineError, Home};

/// Facts that are shown.
const FACTS: usize = 200;
/// Characters of a fact that are shown.
const FACT: usize = 1_000;

/// What an item has in staging, of downloads and of facts, in counts and sums.
pub fn show(context: &OpContext, item: ItemId) -> Result<InterimView, EngineError> {
    let authorized = context.authorize(&ITEMS_SHOW)?;
    let home = authorized.home();
    let downloads = kept_downloads::of_item(home, item);
    Ok(authorized.read(|tx| {
        let item = items::find(tx, authorized.scope(), item)?;
        let totals = interim::totals(tx, item.id)?;
        let place = interim::staging_place(tx, item.id)?;
        let (kept, kept_until) = kept(tx, home, &item, place)?;
        Ok(InterimView {
            item: item.id,
            stage: item.stage,
            status: item.status,
            store: home.roles.staging.name().to_owned(),
            place: place.map(|place| match place.id {
                Some(id) => format!("{}/{id}/", item.id),
                None => format!("{}/", item.id),
            }),
            reserved: interim::reserved(tx, item.id)?,
            files: totals.files,
            bytes: totals.bytes,
            payload_files: totals.payload_files,
            new: totals.new,
            changed: totals.changed,
            removed: interim::count_removals(tx, item.id)?,
            downloads: downloads.as_ref().map(|kept| kept.folder.display().to_string()),
            download_files: downloads.as_ref().map_or(0, |kept| kept.files),
            download_bytes: downloads.as_ref().map_or(0, |kept| kept.bytes),
            kept,
            kept_until,
            facts: interim::shown_facts(tx, item.id, FACTS, FACT)?.into_iter().map(FactView::from).collect(),
        })
    })?)
}

/// Staged files of an item in byte order of their paths, after `after`.
pub fn files(
    context: &OpContext,
    item: ItemId,
    after: Option<String>,
) -> Result<Page<InterimFileView, String>, EngineError> {
    let authorized = context.authorize(&ITEMS_SHOW)?;
    let after = after.unwrap_or_default();
    let found = authorized.read(|tx| {
        items::find(tx, authorized.scope(), item)?;
        interim::files_after(tx, item, &after, PAGE)
    })?;
    let next = found.last().map(|last| last.path.clone());
    Ok(Page { items: found.into_iter().map(InterimFileView::from).collect(), next })
}

/// Until when what an item has in staging is kept, in words and as a time.
fn kept(
    tx: &mut dyn Transaction,
    home: &Home,
    item: &Item,
    place: Option<StagingPlace>,
) -> Result<(String, Option<String>), RegistryError> {
    let is_swept = tasks::of_key(tx, &item.id.to_string())?.iter().any(|task| task.topic == SWEEP_TOPIC);
    Ok(match (item.status, place) {
        (ItemStatus::Pending | ItemStatus::Started | ItemStatus::Held, _) => ("until the item ends".to_owned(), None),
        (_, None) => ("nothing is kept in staging".to_owned(), None),
        (ItemStatus::Failed, Some(place)) if !place.is_discarded && !is_swept => {
            let retention = home.settings.staging.failed_retention;
            let until = item.updated_at.plus(i64::try_from(retention.as_micros()).unwrap_or(i64::MAX)).to_string();
            ("until the time that staging.failed_retention gives, or the item is requeued".to_owned(), Some(until))
        }
        _ => ("it is being removed".to_owned(), None),
    })
}
