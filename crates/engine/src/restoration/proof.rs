//! Reading a content so that what comes out is right: proved by its SHA-512 on the way, from the next copy where one is
//! wrong. A small content is proved before its first byte is handed on; a large one while it passes, and where it turns out
//! wrong in the end, the caller that writes begins again without that copy.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io::{self, Read};
use std::sync::Arc;

use strongroom_digest::{Algorithm, Digest, MultiHasher};
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::items::ItemProblem;
use strongroom_registry::objects::{self, Copy, File, Object};
use strongroom_registry::{ContentId, CopyState, work};
use strongroom_storage::{Key, StorageError, Store};

use super::retrieval::{self, Requested};
use crate::AGENT;
use crate::content_name::in_package;
use crate::fixity::{SuspectCopy, check_attempts, is_unreadable, is_unreadable_source, report_suspect};
use crate::interruptible::Interruptible;
use crate::workflow::{StageContext, StageError};

/// Contents up to this many bytes are proved before they are handed on.
const SMALL: u64 = 4 << 20;

/// Takes a proved, or proving, content.
pub(super) type Take<'t> = dyn FnMut(&mut dyn Read) -> Result<(), StageError> + 't;

/// Reads contents of one object.
pub(super) struct CopyReader<'c> {
    pub(super) context: &'c StageContext<'c>,
    pub(super) object: &'c Object,
    wanted: Requested,
    /// Copies that were found wrong or could not be read.
    pub(super) avoided: RefCell<HashSet<(ContentId, String)>>,
    begin_again: Cell<bool>,
    /// Something lies in cold storage only.
    needs_retrieval: Cell<bool>,
}

/// Why a copy is of no use.
enum UnusableCopy {
    /// It was read and is not what the record says.
    Wrong(String),
    /// Nothing lies there.
    Missing(String),
    /// The medium cannot read it, which may pass.
    Medium(String),
    /// It could not be read, which says nothing of it and may pass.
    Unreadable(String),
    /// It has to be retrieved first.
    Cold(String),
    /// Its store is away.
    Away { store: String, reason: String },
}

impl<'c> CopyReader<'c> {
    pub(super) fn new(context: &'c StageContext<'c>, object: &'c Object, wanted: Requested) -> Self {
        let (begin_again, needs_retrieval) = (Cell::new(false), Cell::new(false));
        Self { context, object, wanted, avoided: RefCell::default(), begin_again, needs_retrieval }
    }

    /// Runs `attempt` until it succeeds, or fails for another reason than a copy that was right only in the beginning. Where
    /// something lies in cold storage only, all that does is asked for, and the work item waits.
    pub(super) fn until_right<T>(&self, mut attempt: impl FnMut() -> Result<T, StageError>) -> Result<T, StageError> {
        if self.context.fact::<bool>(retrieval::ASKED)?.is_some() {
            retrieval::request(self, &self.wanted)?;
        }
        let mut was_asked = false;
        loop {
            match attempt() {
                // A store that says that all can be read, and then does not give it, is tried again another time.
                Err(StageError::Transient(_)) if self.needs_retrieval.take() && !was_asked => {
                    retrieval::request(self, &self.wanted)?;
                    was_asked = true;
                }
                Err(error) if !matches!(error, StageError::Interrupted(_)) && self.begin_again.take() => {}
                other => return other,
            }
        }
    }

    /// Hands the content of a file to `take`.
    pub(super) fn read(&self, file: &File, take: &mut Take<'_>) -> Result<(), StageError> {
        let copies = self.context.registry().read(|tx| objects::copies(tx, file.content))?;
        let mut faults = Vec::new();
        let (mut may_pass, mut is_cold) = (false, false);
        let mut away = None;
        for copy in self.in_order(copies) {
            if self.avoided.borrow().contains(&(file.content, copy.store.clone())) {
                faults.push(format!("{} is corrupt", copy.store));
                continue;
            }
            match self.read_copy(file, &copy, take) {
                Ok(()) => return Ok(()),
                Err((Some(fault), error)) => {
                    self.context.task.check()?;
                    if let UnusableCopy::Away { store, reason } = fault {
                        faults.push(format!("{store} is away: {reason}"));
                        away.get_or_insert((store, reason));
                        if file.size > SMALL && error.is_some() {
                            // Some of it has been handed on.
                            self.avoided.borrow_mut().insert((file.content, copy.store.clone()));
                            self.begin_again.set(true);
                            return error.map_or(Ok(()), Err);
                        }
                        continue;
                    }
                    may_pass |= matches!(fault, UnusableCopy::Medium(_) | UnusableCopy::Unreadable(_));
                    if let UnusableCopy::Cold(text) = fault {
                        is_cold = true;
                        faults.push(text);
                        continue;
                    }
                    self.avoided.borrow_mut().insert((file.content, copy.store.clone()));
                    faults.push(self.note_fault(file, &copy, fault)?);
                    if file.size > SMALL && error.is_some() {
                        // Some of it has been handed on: what was written with it cannot stay.
                        self.begin_again.set(true);
                        return error.map_or(Ok(()), Err);
                    }
                }
                Err((None, error)) => return error.map_or(Ok(()), Err),
            }
        }
        let path = in_package(&file.path);
        let note = format!("no copy of {}: {path} can be restored: {}", self.object.identifier, faults.join("; "));
        self.needs_retrieval.set(is_cold && !may_pass);
        if let Some((store, reason)) = away.filter(|_| !is_cold && !may_pass) {
            return Err(StageError::Away { store, reason });
        }
        if may_pass || is_cold || faults.is_empty() && !self.object_is_whole(file)? {
            return Err(StageError::Transient(note));
        }
        let problem = ItemProblem {
            severity: "error".into(),
            code: "restoration.no_right_copy".into(),
            file: None,
            path: Some(path.to_owned()),
            line: None,
            message: note.clone(),
        };
        Err(StageError::Fatal { note, problems: vec![problem] })
    }

    /// Whether the record, which knows no copy, still has the content: it does not while the file is being taken out.
    fn object_is_whole(&self, file: &File) -> Result<bool, StageError> {
        Ok(self.context.registry().read(|tx| objects::content(tx, file.content))?.is_some())
    }

    /// Copies that should be right first, then in the order of the placement.
    pub(super) fn in_order(&self, mut copies: Vec<Copy>) -> Vec<Copy> {
        let placement = self.object.description.placement.as_deref().unwrap_or_default();
        let stores = self.context.home.placement(placement).map(|(_, stores)| stores).unwrap_or_default();
        copies.sort_by_key(|copy| {
            let position = stores.iter().position(|(name, _)| *name == copy.store);
            (copy.state != CopyState::Kept, position.unwrap_or(stores.len()))
        });
        copies
    }

    /// Reads one copy. On failure: what is wrong with the copy, if it is the copy, and what the taker made of it.
    fn read_copy(
        &self,
        file: &File,
        copy: &Copy,
        take: &mut Take<'_>,
    ) -> Result<(), (Option<UnusableCopy>, Option<StageError>)> {
        let unreadable = |text: String| (Some(UnusableCopy::Unreadable(format!("{}: {text}", copy.store))), None);
        let store: &Arc<dyn Store> = self.context.home.store(&copy.store).map_err(|error| unreadable(error.chain()))?;
        let key = Key::new(copy.key.as_str()).map_err(|error| unreadable(error.to_string()))?;
        let body = match store.open(&key, 0, None) {
            Ok(body) => Interruptible::new(body, self.context.task),
            Err(error) if error.is_not_found() => {
                let text = format!("{}: there is nothing at {key}", copy.store);
                return Err((Some(UnusableCopy::Missing(text)), None));
            }
            Err(error) if is_unreadable(&error) => {
                let text = format!("{}: {}", copy.store, crate::error::chain(&error));
                return Err((Some(UnusableCopy::Medium(text)), None));
            }
            Err(error @ StorageError::NotReadable { .. }) => {
                return Err((Some(UnusableCopy::Cold(format!("{}: {error}", copy.store))), None));
            }
            Err(error) => {
                return Err(match error.away() {
                    Some((store, reason)) => {
                        (Some(UnusableCopy::Away { store: store.to_owned(), reason: reason.to_owned() }), None)
                    }
                    None => unreadable(crate::error::chain(&error)),
                });
            }
        };
        let mut proving = Proving::new(body, file.size, file.digests.sha512);
        if file.size <= SMALL {
            let mut bytes = Vec::with_capacity(usize::try_from(file.size).unwrap_or_default());
            if let Err(error) = proving.read_to_end(&mut bytes) {
                return Err((Some(proving.fault(&copy.store, &error)), None));
            }
            return take(&mut bytes.as_slice()).map_err(|error| (None, Some(error)));
        }
        match take(&mut proving) {
            Ok(()) => Ok(()),
            Err(error) => match proving.failed.take() {
                Some(cause) => Err((Some(proving.fault(&copy.store, &cause)), Some(error))),
                None => Err((None, Some(error))),
            },
        }
    }

    /// Records that a copy did not prove: the event once for each item and copy, and the finding, which has the copy
    /// checked next. Returns the words for people.
    fn note_fault(&self, file: &File, copy: &Copy, fault: UnusableCopy) -> Result<String, StageError> {
        let (text, is_missing) = match fault {
            UnusableCopy::Unreadable(text) | UnusableCopy::Cold(text) => return Ok(text),
            UnusableCopy::Away { store, reason } => return Ok(format!("{store} is away: {reason}")),
            UnusableCopy::Missing(text) => (text, true),
            UnusableCopy::Wrong(text) | UnusableCopy::Medium(text) => (text, false),
        };
        let label = format!("restoration check {} {}", file.content, copy.store);
        let event = EventRow {
            id: events::derived_id(self.context.item.id.0, &label),
            institution: self.object.institution,
            object: Some(self.object.id),
            file: Some(file.id),
            content: Some(file.content),
            item: Some(self.context.item.id),
            version: None,
            kind: "fixity check".into(),
            components: None,
            time: self.context.now()?.0,
            outcome: "failure".into(),
            detail: Some(format!("read from {} for a restoration", copy.store)),
            outcome_detail: Some(text.clone()),
            store: Some(copy.store.clone()),
            agent: AGENT.into(),
            actor: None,
        };
        let suspect = SuspectCopy {
            content: file.content,
            store: copy.store.clone(),
            is_missing,
            detail: format!("found by a restoration: {text}"),
        };
        let attempts = check_attempts(self.context.home);
        self.context.write(move |tx, claim| {
            work::check_fence(tx, claim)?;
            events::append(tx, std::slice::from_ref(&event))?;
            report_suspect(tx, &suspect, attempts).map(drop)
        })?;
        Ok(text)
    }
}

/// Reads a content and fails at the latest at its end where it is not the one that was asked for.
struct Proving<R> {
    bytes: R,
    size: u64,
    sha512: Digest,
    hasher: Option<MultiHasher>,
    /// What was found instead, where it was read to the end.
    found: Option<String>,
    /// The first failure.
    failed: Option<io::Error>,
    /// Whether the medium cannot read the bytes.
    by_medium: bool,
}

impl<R: Read> Proving<R> {
    fn new(bytes: R, size: u64, sha512: Digest) -> Self {
        let hasher = Some(MultiHasher::new(&[Algorithm::Sha512]));
        Self { bytes, size, sha512, hasher, found: None, failed: None, by_medium: false }
    }

    fn fault(&self, store: &str, error: &io::Error) -> UnusableCopy {
        match &self.found {
            Some(found) => UnusableCopy::Wrong(format!("{store}: {found}")),
            None if self.by_medium => UnusableCopy::Medium(format!("{store}: the medium cannot read it: {error}")),
            None => UnusableCopy::Unreadable(format!("{store}: {error}")),
        }
    }

    fn wrong(&mut self, found: String) -> io::Error {
        let error = || io::Error::new(io::ErrorKind::InvalidData, found.clone());
        self.failed = Some(error());
        let error = error();
        self.found = Some(found);
        error
    }

    fn at_end(&mut self) -> io::Result<usize> {
        let Some(hasher) = self.hasher.take() else {
            return if self.found.is_some() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(0) };
        };
        let length = hasher.length();
        if length != self.size {
            return Err(self.wrong(format!("{length} bytes, recorded are {}", self.size)));
        }
        match hasher.finish().get(Algorithm::Sha512) {
            Some(found) if found == self.sha512 => Ok(0),
            Some(found) => Err(self.wrong(format!("sha512:{found}, recorded is sha512:{}", self.sha512))),
            None => Err(io::Error::other("the sha512 was not computed")),
        }
    }
}

impl<R: Read> Read for Proving<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        match self.bytes.read(buffer) {
            Ok(0) => self.at_end(),
            Ok(length) => {
                let Some(hasher) = &mut self.hasher else { return Err(io::ErrorKind::InvalidData.into()) };
                hasher.update(buffer.get(..length).unwrap_or_default());
                if hasher.length() > self.size {
                    let size = self.size;
                    self.hasher = None;
                    return Err(self.wrong(format!("more than the {size} bytes recorded")));
                }
                Ok(length)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.by_medium = is_unreadable_source(&error);
                self.failed = Some(io::Error::new(error.kind(), error.to_string()));
                Err(error)
            }
        }
    }
}
