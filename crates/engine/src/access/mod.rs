//! A store of the settings that may be away: opened when it is first needed, tried again every few seconds while it is away,
//! and checked before it is used again. While it is away every call fails at once with [`StorageError::Away`], so that
//! what needs the store waits and nothing else does. It knows no object and no work item.

mod admission;
mod gone;
mod rate;
mod wrapped;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use strongroom_registry::stores::KnownStore;
use strongroom_storage::{Capabilities, StorageError, Store};

pub(crate) use self::admission::{Admission, by_name};
use self::rate::ByteRate;
use crate::crash_point;
use crate::error::{chain, without_system_codes};
use crate::event::Event;
use crate::settings::StoreSettings;

/// How often a store that is away is tried again, at most.
const RETRY_EVERY: Duration = Duration::from_secs(5);

/// Whether a store can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// It is open.
    Available,
    /// It does not answer, or is not there.
    Away,
    /// It answers, and is not the store that it should be.
    Refused,
}

impl Availability {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Available => "available",
            Self::Away => "away",
            Self::Refused => "refused",
        }
    }
}

/// How a store stands in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreState {
    /// Its name.
    pub store: String,
    /// Whether it can be used.
    pub availability: Availability,
    /// Why not, and what to do.
    pub reason: Option<String>,
    /// Since when not, as far as this process knows.
    pub since: Option<Timestamp>,
}

/// Why a store cannot be used.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) availability: Availability,
    pub(crate) reason: String,
}

impl Refusal {
    /// The store does not answer.
    pub(crate) fn away(error: &StorageError) -> Self {
        let reason = match error {
            StorageError::Away { reason, .. } | StorageError::Unusable { reason, .. } => reason.clone(),
            other => chain(other),
        };
        Self { availability: Availability::Away, reason: without_system_codes(&reason) }
    }

    /// It could not be compared with what the registry knows.
    pub(crate) fn unknown(error: &(dyn std::error::Error + 'static)) -> Self {
        let reason = format!("it could not be compared with the registry: {}", chain(error));
        Self { availability: Availability::Away, reason }
    }

    /// The store is not the one it should be.
    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self { availability: Availability::Refused, reason: reason.into() }
    }
}

/// A store that may be away. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct StoreAccess {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    settings: StoreSettings,
    directory: PathBuf,
    admission: Arc<Admission>,
    /// How fast bodies are read and put, where that is limited.
    rate: Option<Arc<ByteRate>>,
    state: Mutex<State>,
}

struct State {
    store: Option<Arc<dyn Store>>,
    /// Why it cannot be used, and since when; none before it was first tried.
    refusal: Option<(Refusal, Timestamp)>,
    tried_at: Option<Instant>,
    is_being_tried: bool,
    /// What it honours, as far as is known.
    capabilities: Capabilities,
}

impl StoreAccess {
    /// A store that was not opened yet.
    pub(crate) fn new(name: &str, settings: &StoreSettings, directory: PathBuf, admission: Arc<Admission>) -> Self {
        let atomic_assembly = settings.has_atomic_assembly();
        let state = State {
            store: None,
            refusal: None,
            tried_at: None,
            is_being_tried: false,
            // Of a store that was never open: conditions are asked for, and what is put is read back.
            capabilities: Capabilities { conditional_put: true, strong_checksum: false, atomic_assembly },
        };
        let (name, settings) = (name.to_owned(), settings.clone());
        let rate = ByteRate::new(settings.max_bytes_per_second());
        Self { inner: Arc::new(Inner { name, settings, directory, admission, rate, state: Mutex::new(state) }) }
    }

    /// How it stands, without trying it again.
    pub fn state(&self) -> StoreState {
        let state = self.inner.lock();
        let refusal = state.refusal.as_ref().filter(|_| state.store.is_none());
        StoreState {
            store: self.inner.name.clone(),
            availability: match refusal {
                Some((refusal, _)) => refusal.availability,
                None if state.store.is_some() => Availability::Available,
                None => Availability::Away,
            },
            reason: refusal.map(|(refusal, _)| refusal.reason.clone()),
            since: refusal.map(|(_, since)| *since),
        }
    }

    /// Tries it now where it is away, however recently it was tried; how it stands then.
    pub fn try_now(&self) -> StoreState {
        self.inner.lock().tried_at = None;
        let _ = self.inner.current();
        self.state()
    }

    /// Stops using the store that is open, and opens what lies in its place now; how it stands then.
    pub(crate) fn open_anew(&self) -> StoreState {
        self.inner.lock().store = None;
        self.try_now()
    }

    /// Stops using the store that is open where it is not the one that the registry knows by its name, or is being replaced,
    /// and opens the one that lies in its place now.
    pub(crate) fn compare(&self, known: &BTreeMap<String, KnownStore>) {
        let open = self.inner.lock().store.clone();
        let Some(open) = open else { return };
        if let Err(refusal) = self.inner.admission.compare(&self.inner.name, open.as_ref(), known) {
            self.inner.lose(&open, refusal);
            self.try_now();
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn away(&self, reason: &str) -> StorageError {
        StorageError::Away { store: self.name.clone(), reason: reason.to_owned() }
    }

    /// The open store; tries to open it where that was not tried lately.
    fn current(&self) -> Result<Arc<dyn Store>, StorageError> {
        let open = {
            let mut state = self.lock();
            if let Some(store) = &state.store {
                Some(store.clone())
            } else {
                let is_due = state.tried_at.is_none_or(|tried_at| tried_at.elapsed() >= RETRY_EVERY);
                if state.is_being_tried || !is_due {
                    let reason = state.refusal.as_ref().map_or("it is being opened", |(refusal, _)| &refusal.reason);
                    return Err(self.away(reason));
                }
                state.is_being_tried = true;
                None
            }
        };
        let Some(store) = open else { return self.open() };
        if let Err(error) = store.check_presence() {
            return Err(self.lose(&store, Refusal::away(&error)));
        }
        Ok(store)
    }

    /// Opens the store, checks that it is the right one, and uses it from now on.
    fn open(&self) -> Result<Arc<dyn Store>, StorageError> {
        // Whatever happens, others may try after this.
        struct Trying<'i>(&'i Inner);
        impl Drop for Trying<'_> {
            fn drop(&mut self) {
                let mut state = self.0.lock();
                state.is_being_tried = false;
                state.tried_at = Some(Instant::now());
            }
        }
        let _trying = Trying(self);
        let opened = self.settings.open(&self.name, &self.directory).map_err(|error| Refusal::away(&error));
        let opened = opened.and_then(|store| self.admission.admit(&self.name, store.as_ref()).map(|()| store));
        crash_point("store.admitted");
        match opened {
            Ok(store) => {
                let mut state = self.lock();
                state.capabilities = store.capabilities();
                state.store = Some(store.clone());
                self.admission.note_opened();
                if let Some((_, since)) = state.refusal.take() {
                    let away_for = Timestamp::now().duration_since(since);
                    Event::StoreBack { store: &self.name, away_for: Duration::try_from(away_for).unwrap_or_default() }
                        .emit();
                }
                Ok(store)
            }
            Err(refusal) => {
                let error = self.away(&refusal.reason);
                self.set_away(refusal);
                Err(error)
            }
        }
    }

    /// Stops using the store that is open; returns the error for the caller.
    fn lose(&self, store: &Arc<dyn Store>, refusal: Refusal) -> StorageError {
        let error = self.away(&refusal.reason);
        let is_ours = self.lock().store.as_ref().is_some_and(|open| Arc::ptr_eq(open, store));
        if is_ours {
            self.set_away(refusal);
        }
        error
    }

    fn set_away(&self, refusal: Refusal) {
        let mut state = self.lock();
        state.store = None;
        state.tried_at = Some(Instant::now());
        let reason = refusal.reason.clone();
        let (is_new, since) = match &state.refusal {
            Some((known, since)) => (known.availability != refusal.availability, *since),
            None => (true, Timestamp::now()),
        };
        state.refusal = Some((refusal, since));
        drop(state);
        if is_new && !self.admission.is_retired(&self.name) {
            Event::StoreLost { store: &self.name, reason: &reason }.emit();
        }
    }

    /// What an error of the open store means: the error itself, or that the store is away.
    fn judge(&self, store: &Arc<dyn Store>, error: StorageError) -> StorageError {
        let refusal = if gone::means_away(&error) {
            Some(Refusal::away(&error))
        } else if gone::may_mean_away(&error) {
            // A sector that cannot be read, or a disk that was taken away; a right that lacks for one key, or for all:
            // opening the store says.
            self.settings.open(&self.name, &self.directory).err().map(|error| Refusal::away(&error))
        } else {
            store.check_presence().err().map(|error| Refusal::away(&error))
        };
        match refusal {
            Some(refusal) => self.lose(store, refusal),
            None => error,
        }
    }
}
