//! Whether settings fit each other: names that others mention exist, and nothing serves two purposes.

use std::collections::BTreeMap;
use std::path::Path;

use strongroom_storage::Overlap;

use super::collected::quoted;
use super::error::SettingsError;
use super::nearest::nearest;
use super::plain_stores::PlainStoreSettings;
use super::stores::{LEAST_BYTES_PER_SECOND, StoreSettings};
use super::tree::{Settings, pool_names};

/// What is wrong with two stores that are not apart.
pub(crate) fn shared_place(one: &str, other: &str, overlap: Overlap) -> String {
    let how = match overlap {
        Overlap::Same => format!("stores {one} and {other} are in one place"),
        Overlap::Within => format!("store {one} is within store {other}"),
        Overlap::Around => format!("store {other} is within store {one}"),
    };
    format!("{how}: what is kept in both would be one copy; give each store a place of its own")
}

/// How to give a store a place of its own.
pub(crate) fn elsewhere(name: &str, store: &StoreSettings) -> String {
    let setting = store.place_setting();
    format!("change {setting} of stores.{name}, then make the store with \"strongroom store create {name}\"")
}

/// How to give a plain store a place of its own.
pub(crate) fn plain_elsewhere(name: &str, store: &PlainStoreSettings) -> String {
    format!("change {} of plain_stores.{name}", store.place_setting())
}

/// Whether text can name a store.
fn is_store_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}

/// Plain stores have names and places of their own, apart from all other stores.
fn check_plain_stores(settings: &Settings) -> Result<(), SettingsError> {
    for (index, (name, store)) in settings.plain_stores.iter().enumerate() {
        let key = format!("plain_stores.{}", quoted(name));
        if !is_store_name(name) {
            return Err(unfit(key, "a store's name has lower-case letters, digits, - and _ only".to_owned()));
        }
        if settings.stores.contains_key(name) {
            return Err(unfit(key, format!("{name:?} is both a store and a plain store; give one another name")));
        }
        if let Some((setting, reason)) = store.fault() {
            return Err(unfit(format!("{key}.{setting}"), reason));
        }
        let near = settings.stores.iter().find_map(|(other, found)| Some((other, store.overlap_with_store(found)?)));
        let mut earlier = settings.plain_stores.iter().take(index);
        let near = near.or_else(|| earlier.find_map(|(other, found)| Some((other, store.overlap_as_written(found)?))));
        if let Some((other, overlap)) = near {
            let what = shared_place(name, other, overlap);
            return Err(unfit(key, format!("{what}; {}", plain_elsewhere(name, store))));
        }
    }
    Ok(())
}

/// Why a store cannot be named that the settings do not have.
fn no_store(settings: &Settings, name: &str) -> String {
    if settings.plain_stores.contains_key(name) {
        return format!("{name:?} is a plain store, which has no role and no placement; name one of [stores]");
    }
    let near = nearest(name, settings.stores.keys().map(String::as_str));
    let near = near.map(|near| format!("; the nearest is {near}")).unwrap_or_default();
    format!("there is no store {name:?} in [stores]{near}")
}

/// The restoration stores that institutions have of their own: each is there, holds nothing but results, and those of one
/// institution. `receiving` are the stores in which institutions put packages, with their institutions.
fn check_restoration_stores(settings: &Settings, receiving: &BTreeMap<&str, &str>) -> Result<(), SettingsError> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (institution, own) in &settings.institutions {
        let store = own.restoration.as_str();
        // The common store may be named too: each institution has a folder in it.
        if store.is_empty() || store == settings.roles.restoration {
            continue;
        }
        let role = settings.roles.named().into_iter().find(|(_, name)| *name == store);
        let placement = settings.placements.iter().find(|(_, stores)| stores.iter().any(|one| one == store));
        let reason = if !settings.stores.contains_key(store) {
            no_store(settings, store)
        } else if let Some((role, _)) = role {
            format!("store {store:?} is roles.{role} and no restoration store")
        } else if let Some((placement, _)) = placement {
            format!("store {store:?} preserves for placement {placement} and is no restoration store")
        } else if let Some(depositor) = receiving.get(store) {
            format!("store {store:?} is the receiving store of {depositor} and no restoration store")
        } else if let Some(other) = owners.insert(store, institution) {
            format!("store {store:?} is the restoration store of {other} already; each needs one of its own")
        } else {
            continue;
        };
        return Err(unfit(format!("institutions.{}.restoration", quoted(institution)), reason));
    }
    Ok(())
}

/// Where the key stands is known to the reader of the file.
fn unfit(key: String, reason: String) -> SettingsError {
    SettingsError::Unfit { origin: String::new(), key, reason }
}

/// The first thing that does not fit.
pub(super) fn check(settings: &Settings) -> Result<(), SettingsError> {
    let unfit = |key: String, reason: String| Err(unfit(key, reason));
    for (index, (name, store)) in settings.stores.iter().enumerate() {
        let key = format!("stores.{}", quoted(name));
        if !is_store_name(name) {
            return unfit(key, "a store's name has lower-case letters, digits, - and _ only".to_owned());
        }
        if (1..LEAST_BYTES_PER_SECOND).contains(&store.max_bytes_per_second()) {
            let found = store.max_bytes_per_second();
            let reason = format!("{found} bytes a second are too few; give at least \"64 KiB\", or 0 for no limit");
            return unfit(format!("{key}.max_bytes_per_second"), reason);
        }
        let mut earlier = settings.stores.iter().take(index);
        if let Some((other, overlap)) =
            earlier.find_map(|(other, settings)| Some((other, store.overlap_as_written(settings)?)))
        {
            let place =
                |name: &str| settings.stores.get(name).map(|store| store.place(Path::new(""))).unwrap_or_default();
            return unfit(
                key,
                format!(
                    "{} ({name}: {}; {other}: {}); {}",
                    shared_place(name, other, overlap),
                    place(name),
                    place(other),
                    elsewhere(name, store)
                ),
            );
        }
    }
    check_plain_stores(settings)?;
    let no_store = |name: &str| no_store(settings, name);
    let roles = settings.roles.named();
    for (index, (role, store)) in roles.iter().enumerate() {
        let key = format!("roles.{role}");
        if !settings.stores.contains_key(*store) {
            return unfit(key, no_store(store));
        }
        if let Some((other, _)) = roles.iter().take(index).find(|(_, earlier)| earlier == store) {
            return unfit(key, format!("store {store:?} is roles.{other} already; each role needs a store of its own"));
        }
    }
    for (name, stores) in &settings.placements {
        let key = format!("placements.{}", quoted(name));
        if stores.is_empty() {
            return unfit(key, "it names no store; an object needs at least one copy".to_owned());
        }
        for (index, store) in stores.iter().enumerate() {
            if !settings.stores.contains_key(store) {
                return unfit(key, no_store(store));
            }
            if let Some((role, _)) = roles.iter().find(|(_, name)| *name == store.as_str()) {
                return unfit(key, format!("store {store:?} is roles.{role} and cannot preserve"));
            }
            if stores.iter().take(index).any(|earlier| earlier == store) {
                return unfit(key, format!("store {store:?} is named twice; copies in one store are one copy"));
            }
        }
    }
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (institution, own) in settings.institutions.iter().filter(|(_, own)| !own.receiving.is_empty()) {
        let (key, store) = (format!("institutions.{}.receiving", quoted(institution)), own.receiving.as_str());
        if !settings.stores.contains_key(store) {
            return unfit(key, no_store(store));
        }
        if let Some((role, _)) = roles.iter().find(|(_, name)| *name == store) {
            return unfit(key, format!("store {store:?} is roles.{role}; an institution's own store is its alone"));
        }
        if let Some((placement, _)) =
            settings.placements.iter().find(|(_, stores)| stores.iter().any(|one| one == store))
        {
            return unfit(key, format!("store {store:?} preserves for placement {placement} and cannot receive"));
        }
        if let Some(other) = owners.insert(store, institution) {
            return unfit(key, format!("store {store:?} is the own store of {other} already"));
        }
    }
    check_restoration_stores(settings, &owners)?;
    settings.identifiers.check().map_err(|(key, reason)| self::unfit(key.to_owned(), reason))?;
    let hosts = [("url_hosts", &settings.ingest.url_hosts), ("private_url_hosts", &settings.ingest.private_url_hosts)];
    for (key, entry) in hosts.iter().flat_map(|(key, entries)| entries.iter().map(move |entry| (key, entry))) {
        if let Some(fault) = strongroom_download::host_fault(entry) {
            return unfit(format!("ingest.{key}"), format!("{entry:?} fits no URL: {fault}"));
        }
    }
    if settings.staging.free_for_unknown > 100 {
        let reason =
            format!("{} percent are more than all of staging; give 0 to 100", settings.staging.free_for_unknown);
        return unfit("staging.free_for_unknown".to_owned(), reason);
    }
    settings.mail.check().map_err(|(key, reason)| self::unfit(key.to_owned(), reason))?;
    settings.check_callbacks().map_err(|(key, reason)| self::unfit(key, reason))?;
    let default = &settings.ingest.default_placement;
    if !settings.placements.contains_key(default) {
        let near = nearest(default, settings.placements.keys().map(String::as_str));
        let near = near.map(|near| format!("; the nearest is {near}")).unwrap_or_default();
        return unfit("ingest.default_placement".to_owned(), format!("there is no placement {default:?}{near}"));
    }
    crate::tools::check(settings).map_err(|(key, reason)| self::unfit(key, reason))?;
    crate::duplication::check_settings(settings).map_err(|(key, reason)| self::unfit(key.to_owned(), reason))?;
    super::prices::check(settings).map_err(|(key, reason)| self::unfit(key.to_owned(), reason))?;
    let topics = pool_names();
    for (topic, workers) in &settings.workers {
        let key = format!("workers.{}", quoted(topic));
        if !topics.contains(topic) {
            let near = nearest(topic, topics.iter().map(String::as_str)).unwrap_or_default();
            return unfit(key, format!("there is no such topic; the nearest is {near:?}"));
        }
        if workers.lease.as_secs() < 5 {
            return unfit(
                format!("{key}.lease"),
                "shorter than 5s, a busy machine loses its own work; try \"60s\"".to_owned(),
            );
        }
    }
    settings.check_worker_kinds().map_err(|(key, reason)| self::unfit(key, reason))?;
    let spans = [
        ("identification.time_limit", settings.identification.time_limit),
        ("receiving.scan_interval", settings.receiving.scan_interval),
        ("receiving.quiet_period", settings.receiving.quiet_period),
        ("fixity.max_age", settings.fixity.max_age),
        ("fixity.poll_interval", settings.fixity.poll_interval),
        ("restoration.retrieval_poll", settings.restoration.retrieval_poll),
        ("deletion.request_lifetime", settings.deletion.request_lifetime),
        ("mail.timeout", settings.mail.timeout),
        ("callbacks.timeout", settings.callbacks.timeout),
    ];
    for (key, span) in spans {
        if span.as_secs() == 0 {
            return unfit(key.to_owned(), "it is less than a second; try \"30m\"".to_owned());
        }
    }
    Ok(())
}
