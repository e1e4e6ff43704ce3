//! The plain stores of a home: opened when they are first needed, and again where that failed. One that is away says why, and
//! keeps nothing else from its work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use strongroom_spaces::PlainStore;

use crate::EngineError;
use crate::event::Event;
use crate::settings::{PlainStoreSettings, Settings};

/// The plain stores of the settings, and those that are open.
#[derive(Default)]
pub struct PlainStores {
    directory: PathBuf,
    settings: BTreeMap<String, PlainStoreSettings>,
    open: Mutex<BTreeMap<String, Arc<dyn PlainStore>>>,
    /// Since when those do not answer that did not when they were needed last.
    away: Mutex<BTreeMap<String, Instant>>,
    /// Whether it is logged that one is away, or back.
    is_logged: AtomicBool,
}

impl PlainStores {
    pub(crate) fn of(settings: &Settings, directory: &Path) -> Self {
        let directory = directory.to_owned();
        Self { directory, settings: settings.plain_stores.clone(), ..Self::default() }
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
        let found = self.find(name, self.settings(name)?).map_err(|error| match error.away() {
            Some(_) => error.next(format!("\"strongroom space list --store {name}\" shows whether it is back")),
            None => error,
        });
        self.note(name, &found);
        found
    }

    /// Logs from now on that one is away or back, once for each change: for processes that run until they are stopped. A command says it by
    /// itself.
    pub(crate) fn log_changes(&self) {
        self.is_logged.store(true, Ordering::Relaxed);
    }

    fn note(&self, name: &str, found: &Result<Arc<dyn PlainStore>, EngineError>) {
        if !self.is_logged.load(Ordering::Relaxed) {
            return;
        }
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        match found {
            Ok(_) => {
                if let Some(since) = away.remove(name) {
                    Event::PlainStoreBack { store: name, away_for: since.elapsed() }.emit();
                }
            }
            Err(error) => {
                if !away.contains_key(name) {
                    away.insert(name.to_owned(), Instant::now());
                    Event::PlainStoreLost { store: name, reason: &error.chain() }.emit();
                }
            }
        }
    }

    fn find(&self, name: &str, settings: &PlainStoreSettings) -> Result<Arc<dyn PlainStore>, EngineError> {
        // A statement of its own: the lock is not held while the store is asked.
        let known = self.open().get(name).map(Arc::clone);
        if let Some(store) = known {
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
