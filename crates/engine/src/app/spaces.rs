//! Spaces of plain stores, and the content items in them, as they lie there.

use strongroom_spaces::{ListedContent, ListedItem, ListedName, ListedSpace, PlainStore, SpaceName};

use super::OpContext;
use super::authorization::{SPACES_LIST, SPACES_SHOW};
use super::views::{SpaceDetailsView, SpaceItemView, SpaceView};
use crate::EngineError;
use crate::duplication::watch::{self, WatchStatus};

/// How a listing hands over its lines.
pub type Take<'t, T> = &'t mut dyn FnMut(T) -> Result<(), EngineError>;

/// The spaces of all plain stores, or of one, at most `limit`. A store that is away is one line, which says why, and the others
/// follow.
///
/// # Errors
/// The settings have no plain store of this name.
pub fn list(
    context: &OpContext,
    store: Option<&str>,
    limit: Option<u64>,
    take: Take<'_, SpaceView>,
) -> Result<(), EngineError> {
    let authorized = context.authorize(&SPACES_LIST)?;
    let stores = &authorized.home().plain_stores;
    let names: Vec<&str> = match store {
        Some(name) => {
            stores.settings(name)?;
            vec![name]
        }
        None => stores.names().collect(),
    };
    let mut left = limit.unwrap_or(u64::MAX);
    for name in names {
        let lines = stores.get(name).and_then(|store| Ok(store.spaces(None)?));
        let lines = match lines {
            Ok(lines) => lines,
            Err(error) => {
                if left == 0 {
                    return Ok(());
                }
                left -= 1;
                take(SpaceView::away(name, error.chain()))?;
                continue;
            }
        };
        for line in lines {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            take(match line {
                Ok(ListedSpace::Space(space)) => SpaceView::of(name, &space.to_string(), None),
                Ok(ListedSpace::NotCarried { name: found, reason }) => {
                    SpaceView::of(name, &found.to_string(), Some(reason))
                }
                // The last line of this store: it is not the end of what is there.
                Err(error) => SpaceView::away(name, EngineError::from(error).chain()),
            })?;
        }
    }
    Ok(())
}

/// A space by `STORE/SPACE`, and what its store honours.
///
/// # Errors
/// There is no such store or space; the store is away.
pub fn show(context: &OpContext, name: &str) -> Result<SpaceDetailsView, EngineError> {
    let authorized = context.authorize(&SPACES_SHOW)?;
    let stores = &authorized.home().plain_stores;
    let (store_name, space) = named(name)?;
    let settings = stores.settings(store_name)?;
    let store = stores.get(store_name)?;
    if !store.has_space(&space)? {
        return Err(no_space(name));
    }
    let capabilities = store.capabilities();
    let (watched_since, unwatched) = match watch::status(authorized.home(), store_name)? {
        WatchStatus::Unwanted => (None, None),
        WatchStatus::Watched { since, unseen } => (Some(since), unseen),
        WatchStatus::Unwatched { reason, .. } => (None, Some(reason)),
    };
    Ok(SpaceDetailsView {
        store: store_name.to_owned(),
        space: space.to_string(),
        kind: settings.kind().to_owned(),
        place: settings.place(&authorized.home().directory),
        keeps_properties: capabilities.keeps_properties,
        keeps_content_types: capabilities.keeps_content_types,
        keeps_empty_spaces: capabilities.keeps_empty_spaces,
        conditional_put: capabilities.conditional_put,
        conditional_delete: capabilities.conditional_delete,
        vouched: capabilities.vouched.iter().map(|algorithm| algorithm.name().to_owned()).collect(),
        may_be_archived: capabilities.may_be_archived,
        watched: watched_since.is_some(),
        watched_since: watched_since.map(|since| since.to_string()),
        unwatched,
    })
}

/// What lies in a space by `STORE/SPACE`, after a name, in byte order of the name, at most `limit`. What is no content item that
/// every store can keep is a line that says why.
///
/// # Errors
/// There is no such store or space; the store is away; the listing failed, which is never its end.
pub fn items(
    context: &OpContext,
    name: &str,
    after: Option<&str>,
    limit: Option<u64>,
    take: Take<'_, SpaceItemView>,
) -> Result<(), EngineError> {
    let authorized = context.authorize(&SPACES_LIST)?;
    let (store_name, space) = named(name)?;
    let after: ListedName = after.unwrap_or_default().parse().map_err(|error| {
        EngineError::Usage(format!("{error}")).next("give a name as \"strongroom space items\" shows it")
    })?;
    let store = authorized.home().plain_stores.get(store_name)?;
    let left = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let lines = list_items(store.as_ref(), name, &space, &after)?;
    for line in lines.take(left) {
        take(match line? {
            ListedItem::Item(ListedContent { key, size, etag, .. }) => SpaceItemView {
                name: ListedName::from(&key).to_string(),
                size: Some(size),
                etag: Some(etag),
                reason: None,
            },
            ListedItem::NotCarried { name, reason } => {
                SpaceItemView { name: name.to_string(), size: None, etag: None, reason: Some(reason) }
            }
        })?;
    }
    Ok(())
}

fn list_items(
    store: &dyn PlainStore,
    name: &str,
    space: &SpaceName,
    after: &ListedName,
) -> Result<strongroom_spaces::Items, EngineError> {
    if !store.has_space(space)? {
        return Err(no_space(name));
    }
    Ok(store.list(space, after)?)
}

fn no_space(name: &str) -> EngineError {
    EngineError::NotFound { what: "space", name: name.to_owned(), hint: String::new() }
        .next("\"strongroom space list\" shows those there are")
}

/// The store and the space that `STORE/SPACE` names.
fn named(name: &str) -> Result<(&str, SpaceName), EngineError> {
    let (store, space) = name.split_once('/').ok_or_else(|| {
        EngineError::Usage(format!("{name:?} names no space"))
            .next("give STORE/SPACE, as \"strongroom space list\" shows them")
    })?;
    let space = SpaceName::new(space).map_err(|error| {
        EngineError::Usage(error.to_string()).next("give STORE/SPACE, as \"strongroom space list\" shows them")
    })?;
    Ok((store, space))
}
