//! What a policy would copy, by the listings of the stores alone: nothing is read or written.

use strongroom_duplication::{Line, Lookup, Merge, Rule};
use strongroom_spaces::{Items, ListedName, ListedSpace, SpaceName};

use crate::runtime::Shutdown;
use crate::{EngineError, Home};

/// What the listings of a space in both stores of a rule come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    /// Content items that only the source has.
    pub(crate) missing: u64,
    /// Those of another size in the destination.
    pub(crate) differing: u64,
    /// The bytes of both, which would be copied.
    pub(crate) bytes: u64,
    /// Those of the same size in both, of which the listings say nothing further.
    pub(crate) same_size: u64,
    /// Content items that only the destination has.
    pub(crate) only_in_destination: u64,
    /// What lies there and is no content item that every store can keep, and what may be below it.
    pub(crate) not_carried: u64,
}

/// A rule and a space, with what was found, or why that is not known.
pub(crate) struct Previewed<'p> {
    /// The rule.
    pub(crate) rule: &'p Rule,
    /// The space; none where the spaces of the source cannot be listed.
    pub(crate) space: Option<String>,
    /// What was found.
    pub(crate) compared: Result<Compared, EngineError>,
}

/// Compares every space of every rule, one after the other. What one store does not answer keeps no other from being compared.
///
/// # Errors
/// `take` fails.
pub(crate) fn preview<'p>(
    home: &Home,
    lookup: &'p Lookup,
    stop: &Shutdown,
    take: &mut dyn FnMut(Previewed<'p>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    for source in lookup.sources() {
        let spaces = home.plain_stores.get(source).and_then(|store| Ok(store.spaces(None)?));
        let spaces = match spaces {
            Ok(spaces) => spaces,
            Err(error) => {
                unlisted(lookup, source, error, take)?;
                continue;
            }
        };
        for space in spaces {
            if stop.is_requested() {
                return Ok(());
            }
            let space = match space {
                Ok(ListedSpace::Space(space)) => space,
                Ok(ListedSpace::NotCarried { name, reason }) => {
                    unlisted(lookup, source, EngineError::Refused(format!("{name} is no space: {reason}")), take)?;
                    continue;
                }
                Err(error) => {
                    unlisted(lookup, source, error.into(), take)?;
                    break;
                }
            };
            for rule in lookup.rules_from(source, &space.to_string()) {
                let compared = compare(home, rule, &space, stop);
                take(Previewed { rule, space: Some(space.to_string()), compared })?;
            }
        }
    }
    Ok(())
}

/// A line for the first rule that reads from a store of which something is not known to be a space.
fn unlisted<'p>(
    lookup: &'p Lookup,
    source: &str,
    error: EngineError,
    take: &mut dyn FnMut(Previewed<'p>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let Some(rule) = lookup.policy().rules().find(|rule| rule.source == source) else { return Ok(()) };
    take(Previewed { rule, space: None, compared: Err(error) })
}

/// What a plain store lists of a space behind a name; nothing where it has no such space.
pub(super) fn listing(home: &Home, store: &str, space: &SpaceName, after: &ListedName) -> Result<Items, EngineError> {
    let store = home.plain_stores.get(store)?;
    if store.has_space(space)? { Ok(store.list(space, after)?) } else { Ok(Box::new([].into_iter())) }
}

fn compare(home: &Home, rule: &Rule, space: &SpaceName, stop: &Shutdown) -> Result<Compared, EngineError> {
    let items = |name: &str| listing(home, name, space, &ListedName::START);
    let mut compared = Compared::default();
    for line in Merge::new(items(&rule.source)?, items(&rule.destination)?) {
        if stop.is_requested() {
            return Err(EngineError::Refused("it was stopped before its end".to_owned()));
        }
        match line? {
            Line::InSource(listed) => {
                compared.missing += 1;
                compared.bytes += listed.size;
            }
            Line::InBoth { source, destination } if source.size == destination.size => compared.same_size += 1,
            Line::InBoth { source, .. } => {
                compared.differing += 1;
                compared.bytes += source.size;
            }
            Line::InDestination(_) => compared.only_in_destination += 1,
            Line::NotCarried { .. } | Line::Unknown { .. } => compared.not_carried += 1,
        }
    }
    Ok(compared)
}
