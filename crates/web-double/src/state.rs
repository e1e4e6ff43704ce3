//! What the server has and was asked for.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::answer::Reply;
use crate::behaviour::Behaviour;
use crate::request::Request;

/// What connections share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    released: Condvar,
}

/// What a path is answered with, by the request.
#[derive(Clone)]
pub(crate) struct Handler(pub(crate) Arc<dyn Fn(&Request) -> Reply + Send + Sync>);

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

/// What the server has, and what is counted.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) files: HashMap<String, Vec<u8>>,
    pub(crate) handlers: HashMap<String, Handler>,
    pub(crate) folders: Vec<(String, PathBuf)>,
    pub(crate) behaviours: HashMap<String, Vec<Behaviour>>,
    pub(crate) requests: Vec<Request>,
    /// Bytes that slow bodies of a path may still send.
    pub(crate) released: HashMap<String, u64>,
    pub(crate) open_bodies: HashMap<String, usize>,
    pub(crate) most_open_bodies: usize,
    pub(crate) is_stopped: bool,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what there is, and wakes those who wait for it.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.lock());
        self.released.notify_all();
        changed
    }

    /// Waits until `condition` holds or the server ends; says whether it goes on.
    pub(crate) fn wait_until(&self, mut condition: impl FnMut(&mut State) -> bool) -> bool {
        let mut state = self.lock();
        loop {
            if state.is_stopped {
                return false;
            }
            if condition(&mut state) {
                return true;
            }
            state = self.released.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    /// The bytes at a path, from memory or from a folder.
    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        if let Some(bytes) = self.files.get(path) {
            return Some(bytes.clone());
        }
        self.folders.iter().find_map(|(prefix, folder)| {
            let relative = Path::new(path.strip_prefix(prefix.as_str())?.trim_start_matches('/'));
            let is_below = relative.components().all(|part| matches!(part, Component::Normal(_)));
            is_below.then(|| std::fs::read(folder.join(relative)).ok())?
        })
    }
}

/// A strong entity tag of bytes.
pub(crate) fn etag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
