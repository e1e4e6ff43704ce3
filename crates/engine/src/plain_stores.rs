//! The plain stores of a home: opened when they are first needed, and again where that failed. One that is away says why, and
//! keeps nothing else from its work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use strongroom_spaces::PlainStore;

use crate::EngineError;
use crate::settings::{PlainStoreSettings, Settings};

/// The plain stores of the settings, and those that are open.
pub struct PlainStores {
    directory: PathBuf,
    settings: BTreeMap<String, PlainStoreSettings>,
    open: Mutex<BTreeMap<String, Arc<dyn PlainStore>>>,
}

impl PlainStores {
    pub(crate) fn of(settings: &Settings, directory: &Path) -> Self {
        let directory = directory.to_owned();
        Self { directory, settings: settings.plain_stores.clone(), open: Mutex::default() }
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.settings.keys().map(String::as_str)
    }

    /// What the settings say of one.
    ///
    /// # Errors
    /// The settings have no plain store of this name.
    pub fn settings(&self, name: &str) -> Result<&PlainStoreSettings, EngineError> {
        self.settings.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.names().collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            EngineError::NotFound {
                what: "plain store",
                name: name.to_owned(),
                hint: format!(": the settings have {known}"),
            }
            .next("name it in [plain_stores] of the settings, with its kind and place")
        })
    }

    /// The plain store of this name, as it is there now.
    ///
    /// # Errors
    /// The settings have none of this name, or it is away.
    pub fn get(&self, name: &str) -> Result<Arc<dyn PlainStore>, EngineError> {
        let settings = self.settings(name)?;
        // Bound here, since a lock in a condition is held to the end of its block.
        let open = self.open().get(name).map(Arc::clone);
        if let Some(store) = open {
            match store.check_presence() {
                Ok(()) => return Ok(store),
                // A disk that was mounted again is another folder than the one that is open.
                Err(_) => self.open().remove(name),
            };
        }
        let store = settings.open(name, &self.directory)?;
        // Another thread may have opened it meanwhile: both are the same place.
        self.open().insert(name.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Arc<dyn PlainStore>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
