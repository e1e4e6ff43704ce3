//! Retrieval of contents that are only in archived storage classes: all of them are requested at once, and the work item waits
//! without a worker until everything that it needs can be read. What was requested is not recorded: each attempt asks the
//! stores again, so that a readable copy that has expired is requested again.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use strongroom_registry::counted;
use strongroom_registry::objects::{self, Copy, File};
use strongroom_registry::{ContentId, WaitReason};
use strongroom_storage::{Key, Retrieval, RetrievalRequest, StorageError};

use super::for_each_page;
use super::proof::CopyReader;
use super::selection::Selection;
use super::submission::submission_prefix;
use crate::Home;
use crate::content_name::in_package;
use crate::error::chain;
use crate::workflow::StageError;

/// The fact of a work item that has requested a retrieval: its next attempt asks the stores before it begins to write. The
/// text is in the rows of registries, so it stays.
pub(super) const ASKED: &str = "thaw";
/// Files of one page that are requested at once.
const ASKED_AT_ONCE: usize = 8;

/// What of an object is restored.
#[derive(Debug, Clone)]
pub(super) enum Requested {
    /// Everything deposited as of a version, and what says how its tags are to be read.
    Bag(u64),
    /// Everything deposited as of a version, and what described the deposit that made it.
    Submission(u64),
    /// Some of the files deposited as of a version.
    Selection(u64, Selection),
    /// One file.
    File(Box<File>),
}

/// How much of what is wanted can be read.
#[derive(Debug, Default)]
struct Standing {
    files: u64,
    waiting: u64,
    /// Where it is being retrieved.
    stores: BTreeSet<String>,
}

/// How one file stands.
enum Stands {
    /// It can be read; or nothing of it is there, which is reported when it is read.
    AsItIs,
    /// It is being retrieved in this store.
    Retrieving(String),
}

/// Requests everything that is needed and that only archived storage classes have. `Ok` when all of it can be read now.
pub(super) fn request(proof: &CopyReader<'_>, wanted: &Requested) -> Result<(), StageError> {
    let context = proof.context;
    let mut standing = Standing::default();
    match wanted {
        Requested::File(file) => ask_for_page(proof, std::slice::from_ref(file.as_ref()), &mut standing)?,
        Requested::Bag(version) => {
            ask_below(proof, *version, objects::DEPOSIT, &|_| true, &mut standing)?;
            ask_below(proof, *version, "submission/", &|path| path.ends_with("/bagit.txt"), &mut standing)?;
        }
        Requested::Submission(version) => {
            ask_below(proof, *version, objects::DEPOSIT, &|_| true, &mut standing)?;
            ask_below(proof, *version, &submission_prefix(*version), &|_| true, &mut standing)?;
        }
        Requested::Selection(version, selection) => {
            ask_below(proof, *version, objects::DEPOSIT, &|path| selection.has(in_package(path)), &mut standing)?;
        }
    }
    if standing.waiting == 0 {
        return Ok(());
    }
    context.set_fact(ASKED, &true)?;
    let poll = context.home.settings.restoration.retrieval_poll;
    let until = context.now()?.plus(i64::try_from(poll.as_micros()).unwrap_or(i64::MAX));
    let (waiting, files) = (standing.waiting, standing.files);
    let stores = standing.stores.into_iter().collect::<Vec<_>>().join(", ");
    let note = format!("waits for the retrieval of {waiting} of {} in {stores}", counted(files, "file", "files"));
    Err(StageError::Waits { until, reason: WaitReason::Retrieval, note })
}

/// Asks for the files of a version whose paths begin so and are wanted.
fn ask_below(
    proof: &CopyReader<'_>,
    version: u64,
    prefix: &str,
    is_wanted: &dyn Fn(&str) -> bool,
    standing: &mut Standing,
) -> Result<(), StageError> {
    for_each_page(proof.context, proof.object, version, prefix, &mut |page| {
        let wanted: Vec<File> = page.iter().filter(|file| is_wanted(&file.path)).cloned().collect();
        ask_for_page(proof, &wanted, standing)
    })
}

fn ask_for_page(proof: &CopyReader<'_>, page: &[File], standing: &mut Standing) -> Result<(), StageError> {
    let context = proof.context;
    // Equal contents of a page are asked for once.
    let mut known = HashSet::new();
    let files: Vec<&File> = page.iter().filter(|file| known.insert(file.content)).collect();
    let copies = context
        .registry()
        .read(|tx| files.iter().map(|file| objects::copies(tx, file.content)).collect::<Result<Vec<_>, _>>())?;
    let avoided = proof.avoided.borrow().clone();
    let asked: Vec<(ContentId, Vec<Copy>)> =
        files.iter().zip(copies).map(|(file, copies)| (file.content, proof.in_order(copies))).collect();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(asked.len()));
    let work = || {
        while let Some((content, copies)) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = context.task.check().map_err(StageError::from);
            let outcome = outcome.and_then(|()| {
                let right = copies.iter().filter(|copy| !avoided.contains(&(*content, copy.store.clone())));
                stands(context.home, right)
            });
            let is_wrong = outcome.is_err();
            found.lock().unwrap_or_else(PoisonError::into_inner).push(outcome);
            if is_wrong {
                // The others need not go on.
                next.store(asked.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..ASKED_AT_ONCE.min(asked.len()) {
            scope.spawn(work);
        }
        work();
    });
    for outcome in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        standing.files += 1;
        if let Stands::Retrieving(store) = outcome? {
            standing.waiting += 1;
            standing.stores.insert(store);
        }
    }
    Ok(())
}

/// Reads the state of the copies of a content, and requests the first archived one where none can be read.
fn stands<'c>(home: &Home, copies: impl Iterator<Item = &'c Copy>) -> Result<Stands, StageError> {
    let mut cold = Vec::new();
    let mut silent: Option<StorageError> = None;
    let mut away: Option<StorageError> = None;
    for copy in copies {
        let store = home.store(&copy.store)?;
        let key = Key::new(copy.key.as_str())?;
        match store.head(&key) {
            Ok(head) if head.readable => return Ok(Stands::AsItIs),
            Ok(_) => cold.push((store, key)),
            Err(error) if error.is_not_found() => {}
            // It is not known for how long: the copies in other stores are retrieved.
            Err(error) if error.is_away() => away = away.or(Some(error)),
            Err(error) => silent = silent.or(Some(error)),
        }
    }
    // A store that does not answer may have a copy that can be read: nothing is retrieved because a connection failed.
    if let Some(error) = silent {
        return Err(error.into());
    }
    if let Some(error) = away.filter(|_| cold.is_empty()) {
        return Err(error.into());
    }
    let settings = &home.settings.restoration;
    let how = RetrievalRequest { days: settings.retrieval_days, tier: settings.retrieval_tier.clone() };
    let mut refused: Option<StorageError> = None;
    for (store, key) in cold {
        match store.request_retrieval(&key, &how) {
            Ok(Retrieval::Readable) => return Ok(Stands::AsItIs),
            Ok(Retrieval::UnderWay) => return Ok(Stands::Retrieving(store.name().to_owned())),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    match refused {
        None => Ok(Stands::AsItIs),
        Some(error) => Err(StageError::Transient(chain(&error))),
    }
}
