//! What a policy is checked against: the stores that the settings have.

use std::collections::BTreeMap;

use strongroom_duplication::{Draft, Filter, Policy, Problem, StoreUse};

use super::sweep::check_start;
use crate::settings::Settings;

/// Checks what the settings say of sweeps: the key that is wrong, and why.
pub(crate) fn check_settings(settings: &Settings) -> Result<(), (&'static str, String)> {
    check_start(settings)?;
    let lists = [
        ("duplication.include", &settings.duplication.include, &Vec::new()),
        ("duplication.exclude", &Vec::new(), &settings.duplication.exclude),
    ];
    for (key, include, exclude) in lists {
        let (_, problems) = Filter::new(include.iter().map(String::as_str), exclude.iter().map(String::as_str));
        if let Some(problem) = problems.first() {
            return Err((key, format!("{}; {}", problem.problem, problem.next)));
        }
    }
    Ok(())
}

/// What each store of the settings is used for.
pub(crate) fn plain_stores(settings: &Settings) -> BTreeMap<String, StoreUse> {
    let managed = settings.stores.keys().map(|name| (name.clone(), StoreUse::Managed));
    managed.chain(settings.plain_stores.keys().map(|name| (name.clone(), StoreUse::Plain))).collect()
}

/// What is wrong now with a policy that was set before.
pub(crate) fn problems_of(policy: &Policy, settings: &Settings) -> Vec<Problem> {
    Draft::of(policy).check(&plain_stores(settings))
}
