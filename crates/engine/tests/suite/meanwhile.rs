//! A layer around a store that does something once, at a chosen call: what another process does, or a medium.

use std::io::{self, Read};
use std::sync::Mutex;

use strongroom_storage::{Head, Key, StorageError};
use strongroom_storage_test::{Call, Layer};

/// When it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the call.
    Before,
    /// In a put when all bytes have been read and before they get their name; before any other call.
    AllRead,
    /// After the call, if it succeeded.
    After,
}

/// The layer.
pub(crate) struct Meanwhile {
    when: When,
    is_chosen: Box<dyn Fn(Call<'_>) -> bool + Send + Sync>,
    act: Mutex<Option<Act>>,
}

type Act = Box<dyn FnOnce(&Key) + Send>;

impl Meanwhile {
    /// Does `act`, which gets the key of the call, at the first call that is chosen. Each call is asked about once.
    pub(crate) fn new(
        when: When,
        is_chosen: impl Fn(Call<'_>) -> bool + Send + Sync + 'static,
        act: impl FnOnce(&Key) + Send + 'static,
    ) -> Self {
        Self { when, is_chosen: Box::new(is_chosen), act: Mutex::new(Some(Box::new(act))) }
    }

    fn happen(&self, key: &Key) {
        let act = self.act.lock().expect("not poisoned").take();
        if let Some(act) = act {
            act(key);
        }
    }
}

impl Layer for Meanwhile {
    fn call<T>(&self, call: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        if !(self.is_chosen)(call) {
            return act();
        }
        if self.when != When::After {
            self.happen(call.key);
        }
        let outcome = act()?;
        if self.when == When::After {
            self.happen(call.key);
        }
        Ok(outcome)
    }

    fn put(
        &self,
        call: Call<'_>,
        body: &mut dyn Read,
        act: &mut dyn FnMut(&mut dyn Read) -> Result<Head, StorageError>,
    ) -> Result<Head, StorageError> {
        if self.when != When::AllRead {
            return self.call(call, &mut || act(body));
        }
        if (self.is_chosen)(call) { act(&mut AtEnd { layer: self, key: call.key, body }) } else { act(body) }
    }
}

/// The body of a put at whose end it happens.
struct AtEnd<'m, 'b> {
    layer: &'m Meanwhile,
    key: &'m Key,
    body: &'b mut dyn Read,
}

impl Read for AtEnd<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.body.read(buffer)?;
        if length == 0 && !buffer.is_empty() {
            self.layer.happen(self.key);
        }
        Ok(length)
    }
}
