//! What a policy is checked against: the stores that the settings have.

use std::collections::BTreeMap;

use strongroom_duplication::{Draft, Policy, Problem, StoreUse};

use crate::settings::Settings;

/// What each store of the settings is used for.
pub(crate) fn plain_stores(settings: &Settings) -> BTreeMap<String, StoreUse> {
    let managed = settings.stores.keys().map(|name| (name.clone(), StoreUse::Managed));
    managed.chain(settings.plain_stores.keys().map(|name| (name.clone(), StoreUse::Plain))).collect()
}

/// What is wrong now with a policy that was set before.
pub(crate) fn problems_of(policy: &Policy, settings: &Settings) -> Vec<Problem> {
    Draft::of(policy).check(&plain_stores(settings))
}
