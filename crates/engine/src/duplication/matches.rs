//! What the patterns of the settings match now, for people who check them.

use std::collections::BTreeMap;
use std::path::Path;

use strongroom_duplication::{Filter, Place};
use strongroom_registry::{Registry, RegistryError, Scope, tenants};
use strongroom_spaces::ListedSpace;

use super::sweep::filter;
use crate::EngineError;
use crate::plain_stores::PlainStores;
use crate::settings::Settings;

/// Matches of a pattern that are named.
const NAMED: usize = 5;
/// Institutions, and spaces of a store, that are compared with the patterns.
const MOST_INSTITUTIONS: usize = 1_000;
const MOST_SPACES: usize = 10_000;

/// What a pattern matches.
#[derive(Debug, Clone, Default)]
struct Found {
    count: u64,
    examples: Vec<String>,
}

/// Each pattern of the settings with what it matches, in words. What cannot be listed is said, too.
pub(crate) fn matches(
    settings: &Settings,
    directory: &Path,
    registry: &Registry,
) -> Result<Vec<(String, String)>, RegistryError> {
    let filter = filter(&settings.duplication);
    let mut found: BTreeMap<String, Found> =
        filter.patterns().map(|pattern| (pattern.to_owned(), Found::default())).collect();
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let institutions: Vec<String> = registry
        .read(|tx| tenants::institutions(tx, Scope::System, "", MOST_INSTITUTIONS))?
        .into_iter()
        .map(|institution| institution.identifier)
        .collect();
    let stores = PlainStores::of(settings, directory);
    let mut unlisted = Vec::new();
    for name in stores.names() {
        if let Err(error) = of_store(&stores, name, &institutions, &filter, &mut found) {
            unlisted.push(format!("{name}: {}", error.chain()));
        }
    }
    let beside = if unlisted.is_empty() { String::new() } else { format!("; not known of {}", unlisted.join(", ")) };
    let said = |(pattern, Found { count, examples }): (String, Found)| {
        let what = match count {
            0 => "it matches nothing that is there now".to_owned(),
            count => format!("it matches {count}, such as {}", examples.join(", ")),
        };
        (pattern, format!("{what}{beside}"))
    };
    Ok(found.into_iter().map(said).collect())
}

fn of_store(
    stores: &PlainStores,
    name: &str,
    institutions: &[String],
    filter: &Filter,
    found: &mut BTreeMap<String, Found>,
) -> Result<(), EngineError> {
    for space in stores.get(name)?.spaces(None)?.take(MOST_SPACES) {
        let ListedSpace::Space(space) = space? else { continue };
        for institution in institutions {
            let place = Place { institution, store: Some(name), space: Some(space.as_str()) };
            for pattern in filter.matching(place) {
                let Some(one) = found.get_mut(pattern) else { continue };
                one.count += 1;
                if one.examples.len() < NAMED {
                    one.examples.push(format!("/{institution}/{name}/{space}"));
                }
            }
        }
    }
    Ok(())
}
