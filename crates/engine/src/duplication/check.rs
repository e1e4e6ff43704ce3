//! What a policy is checked against: the stores that the settings have.

use std::collections::BTreeMap;

use strongroom_duplication::{Draft, Policy, Problem, StoreUse};

use crate::settings::Settings;

/// What each store is used for. Where this changes, what policies may name changes with it.
pub(crate) fn plain_stores(settings: &Settings) -> BTreeMap<String, StoreUse> {
    let used = |name: &String| if settings.is_plain(name) { StoreUse::Plain } else { StoreUse::Managed };
    settings.stores.keys().map(|name| (name.clone(), used(name))).collect()
}

/// What is wrong now with a policy that was set before.
pub(crate) fn problems_of(policy: &Policy, settings: &Settings) -> Vec<Problem> {
    Draft::of(policy).check(&plain_stores(settings))
}
