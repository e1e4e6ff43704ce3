//! What a deposit has of the ledger of staging space while its files are staged: space is reserved as bytes come, with a bounded part ahead of
//! them. What is stated of sizes reserves nothing; it is only compared with what a deposit can have at all.

use std::cell::{Cell, RefCell};
use std::io::{self, Read};
use std::path::Path;

use strongroom_registry::interim;

use super::kept_downloads;
use super::stages::{more_than_quota, quota};
use crate::status;
use crate::workflow::{StageContext, StageError};

/// Bytes after which the space of a file system, and the size of downloads on their way, are looked up again.
const LOOKED_UP_EVERY: u64 = 64 << 20;
/// Of which part of a file system the bytes of deposits leave at least one.
const LEAST_FREE: u64 = 20;

/// What counts of a deposit that is too large.
const COUNTED: &str =
    "unpacked, and with what is put into a temporary file because it is a ZIP archive or its server says no size,";

/// The space of one deposit.
pub(super) struct Account<'a, 'c> {
    context: &'a StageContext<'c>,
    /// Bytes that are reserved.
    reserved: Cell<u64>,
    /// Bytes of downloads that were kept on their way when they were last counted.
    kept: Cell<u64>,
    /// Staged bytes when downloads and file systems were last looked up.
    looked_up_at: Cell<u64>,
    /// How many bytes there was no room for.
    refused: Cell<Option<u64>>,
    /// Why a read through [`Growing`] failed.
    failure: RefCell<Option<StageError>>,
}

impl<'a, 'c> Account<'a, 'c> {
    /// A deposit for which so many bytes are reserved.
    pub(super) fn new(context: &'a StageContext<'c>, reserved: u64) -> Self {
        Self {
            context,
            reserved: Cell::new(reserved),
            kept: Cell::new(0),
            looked_up_at: Cell::new(0),
            refused: Cell::new(None),
            failure: RefCell::new(None),
        }
    }

    /// How many bytes there was no room for, where that is why staging ended.
    pub(super) fn refused(&self) -> Option<u64> {
        self.refused.get()
    }

    /// Why a read through [`Growing`] failed, where it did.
    pub(super) fn take_failure(&self) -> Option<StageError> {
        self.failure.take()
    }

    /// Fails for good where the deposit can never have so many bytes.
    pub(super) fn check_fits(&self, bytes: u64) -> Result<(), StageError> {
        if bytes <= self.reserved.get() {
            return Ok(());
        }
        let capacity = self.context.home.staging_capacity();
        if bytes > capacity {
            return Err(StageError::fatal(format!(
                "{COUNTED} it is more than all of staging ({capacity} bytes); next: raise staging.capacity or split the deposit"
            )));
        }
        match quota(self.context)? {
            Some(quota) if bytes > quota => {
                Err(StageError::fatal(more_than_quota(self.context, &format!("{COUNTED} it is"), quota)))
            }
            _ => Ok(()),
        }
    }

    /// Sees to it that space is reserved for so many bytes that are staged, and for the downloads that are kept on their way.
    pub(super) fn cover(&self, bytes: u64) -> Result<(), StageError> {
        let is_due = bytes >= self.looked_up_at.get().saturating_add(LOOKED_UP_EVERY);
        if !is_due && self.has(bytes) {
            return Ok(());
        }
        self.look_up(bytes)?;
        if self.has(bytes) {
            return Ok(());
        }
        self.check_fits(bytes)?;
        let limits = self.context.home.staging_limits();
        let capacity = limits.capacity;
        let most = quota(self.context)?.unwrap_or(capacity).min(capacity);
        if bytes.saturating_add(self.kept.get()) > most && self.forget_kept(bytes) {
            return Ok(());
        }
        let needed = bytes.saturating_add(self.kept.get());
        let ahead = (needed / 4).min(limits.ahead);
        let wanted = needed.saturating_add(ahead).min(most);
        if self.reserve(wanted, capacity)? || (needed < wanted && self.reserve(needed, capacity)?) {
            return Ok(());
        }
        if self.kept.get() > 0 && (self.forget_kept(bytes) || self.reserve(bytes, capacity)?) {
            return Ok(());
        }
        self.refused.set(Some(bytes));
        Err(StageError::Transient("no space in staging".into()))
    }

    /// A second copy of what comes only saves requests: where there is no room for it, it is not kept. Whether enough is reserved for so many
    /// bytes without it.
    fn forget_kept(&self, bytes: u64) -> bool {
        let _ = kept_downloads::forget(self.context.home, self.context.item.id);
        self.kept.set(0);
        self.has(bytes)
    }

    /// Whether enough is reserved for so many bytes, and for downloads on their way.
    fn has(&self, bytes: u64) -> bool {
        bytes.saturating_add(self.kept.get()) <= self.reserved.get()
    }

    /// Returns what is reserved beyond so many bytes; those that wait for space are woken.
    pub(super) fn shrink_to(&self, bytes: u64) -> Result<(), StageError> {
        let topics = self.context.write(move |tx, claim| interim::shrink(tx, claim, bytes))?;
        self.context.registry().wakeups().notify(topics.iter().map(String::as_str));
        self.reserved.set(self.reserved.get().min(bytes));
        Ok(())
    }

    /// Bytes that are reserved.
    pub(super) fn reserved(&self) -> u64 {
        self.reserved.get()
    }

    fn reserve(&self, bytes: u64, capacity: u64) -> Result<bool, StageError> {
        let is_reserved = self.context.write(move |tx, claim| interim::reserve(tx, claim, bytes, capacity))?;
        if is_reserved {
            self.reserved.set(bytes);
        }
        Ok(is_reserved)
    }

    /// Counts downloads on their way anew, and refuses to go on where the file system of staging gets full: others need it, too.
    fn look_up(&self, bytes: u64) -> Result<(), StageError> {
        self.looked_up_at.set(bytes);
        let home = self.context.home;
        self.kept.set(kept_downloads::bytes(home, self.context.item.id));
        let settings = &home.settings;
        let staging = settings.stores.get(&settings.roles.staging);
        let Some(folder) = staging.and_then(|store| store.folder(&home.directory)) else { return Ok(()) };
        check_space(&folder, || {
            format!("with {bytes} bytes of the package in staging; next: make room, or set staging.capacity to less")
        })
    }
}

/// Refuses to go on writing where less than a part of the file system of a folder is free. What was written is said by `what`, with what to do.
pub(super) fn check_space(folder: &Path, what: impl Fn() -> String) -> Result<(), StageError> {
    let Some((free, capacity)) = status::space(folder) else { return Ok(()) };
    if free >= capacity / LEAST_FREE {
        return Ok(());
    }
    let shown = folder.display();
    Err(StageError::Transient(format!("{shown} has less than a {LEAST_FREE}th of its space free, {}", what())))
}

/// A reader that has space reserved for what passes through it.
pub(super) struct Growing<'r, 'a, 'c, R> {
    bytes: R,
    account: &'r Account<'a, 'c>,
    /// Bytes that the deposit has with those that came.
    staged: u64,
}

impl<'r, 'a, 'c, R> Growing<'r, 'a, 'c, R> {
    /// Of a deposit that has so many bytes before.
    pub(super) fn new(bytes: R, account: &'r Account<'a, 'c>, staged: u64) -> Self {
        Self { bytes, account, staged }
    }
}

impl<R: Read> Read for Growing<'_, '_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.bytes.read(buffer)?;
        self.staged = self.staged.saturating_add(length as u64);
        if let Err(failure) = self.account.cover(self.staged) {
            *self.account.failure.borrow_mut() = Some(failure);
            return Err(io::Error::other("the file could not be staged"));
        }
        Ok(length)
    }
}
