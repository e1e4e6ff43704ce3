//! The stores of the settings as they stand, for commands that show or check them: as the home has them, or, where there is
//! no registry to compare them with, as they open by themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use strongroom_engine::places::{self, Conflict};
use strongroom_engine::settings::Settings;
use strongroom_engine::{Availability, Home};
use strongroom_registry::stores;
use strongroom_storage::Store;

use crate::context::Context;
use crate::failure::{Exit, Failure};

/// One store.
pub(super) struct OpenedStore {
    pub(super) availability: Availability,
    /// Why it cannot be used.
    pub(super) reason: Option<String>,
    /// The store, where it can be used; else why not.
    pub(super) store: Result<Arc<dyn Store>, Failure>,
}

/// Every store of the settings.
pub(super) struct OpenedStores {
    pub(super) stores: BTreeMap<String, OpenedStore>,
    /// Stores that are in one place.
    pub(super) conflicts: Vec<Conflict>,
    /// How many logs each store misses; none without a registry.
    pub(super) missed_logs: Option<BTreeMap<String, u64>>,
}

impl OpenedStores {
    /// Opens every store. None of those that are in one place is written to.
    pub(super) fn open(settings: &Settings, context: &Context) -> Self {
        let conflicts = places::conflicts(settings, &context.home);
        let home = context.check_registry(settings).ok().filter(|()| conflicts.is_empty());
        match home.and_then(|()| Home::open(&context.home, settings.clone()).ok()) {
            Some(home) => Self::of_home(&home),
            None => Self::by_themselves(settings, conflicts, context),
        }
    }

    /// Why a store is not apart from another one.
    pub(super) fn conflict_of(&self, name: &str) -> Option<&Conflict> {
        self.conflicts.iter().find(|conflict| conflict.store == name || conflict.other == name)
    }

    fn of_home(home: &Home) -> Self {
        let mut opened = BTreeMap::new();
        for state in home.store_states() {
            let Some(store) = home.stores.get(&state.store) else { continue };
            let store = match &state.reason {
                None => Ok(store.clone()),
                Some(reason) => {
                    let text = format!("store {} is {}: {reason}", state.store, state.availability.as_str());
                    Err(match state.availability {
                        Availability::Refused => Failure::usage(text),
                        _ => Failure::new(Exit::OutOfReach, text),
                    })
                }
            };
            let (availability, reason) = (state.availability, state.reason);
            opened.insert(state.store, OpenedStore { availability, reason, store });
        }
        let missed = home.registry.read(stores::missed_log_counts).ok();
        let missed_logs = missed.map(|counts| counts.into_iter().map(|(store, logs, _)| (store, logs)).collect());
        Self { stores: opened, conflicts: Vec::new(), missed_logs }
    }

    fn by_themselves(settings: &Settings, mut conflicts: Vec<Conflict>, context: &Context) -> Self {
        let mut opened = BTreeMap::new();
        for (name, store) in &settings.stores {
            let store = store.open(name, &context.home).map_err(Failure::from);
            let availability = if store.is_ok() { Availability::Available } else { Availability::Away };
            let reason = store.as_ref().err().map(ToString::to_string);
            opened.insert(name.clone(), OpenedStore { availability, reason, store });
        }
        let ids = opened
            .iter()
            .map(|(name, opened)| (name.as_str(), opened.store.as_ref().ok().and_then(|store| store.id())));
        // Stores in one place are told once: they hold one id, too.
        for same in places::same_ids(settings, &context.home, ids) {
            if !conflicts.iter().any(|known| (&known.store, &known.other) == (&same.store, &same.other)) {
                conflicts.push(same);
            }
        }
        for conflict in &conflicts {
            for name in [&conflict.store, &conflict.other] {
                if let Some(one) = opened.get_mut(name) {
                    one.availability = Availability::Refused;
                    one.reason = Some(conflict.reason.clone());
                    one.store = Err(Failure::usage(conflict.reason.clone()));
                }
            }
        }
        Self { stores: opened, conflicts, missed_logs: None }
    }
}
