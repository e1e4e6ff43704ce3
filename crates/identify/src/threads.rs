//! Several threads over one walk. Answers come out in walking order, and nothing grows with the number of files: the walker
//! waits when the threads are behind, and a thread waits when those before it have not been told yet.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::Target;
use crate::entry::{Examined, Folder, Unidentified, UnidentifiedKind, timestamp};
use crate::error::IdentifyError;
use crate::examine::Examiner;
use crate::walk::{Step, walk};

/// Files that are waited for at once.
const WAITING: usize = 256;
/// Answers about one file, its members among them, that wait for their turn.
const ANSWERS: usize = 16;

/// One file to inspect, and where its answers go.
struct Job {
    target: Target,
    answers: SyncSender<Examined>,
}

/// What is reported next.
enum Turn {
    Now(Examined),
    /// The answers about a file, as they come.
    Awaited(Target, Receiver<Examined>),
}

/// Walks the targets and shows what is found in order. An error of `show` ends it; then threads that are still at work end
/// by themselves after the file that they read, and are not waited for.
///
/// A target that could not be reported is an [`Unidentified`] in its place, such as a line of a list that cannot be read.
pub fn run<E: From<IdentifyError>>(
    targets: impl IntoIterator<Item = Result<Target, Unidentified>, IntoIter: Send + 'static>,
    examiner: &Arc<Examiner>,
    threads: usize,
    show: &mut dyn FnMut(Examined) -> Result<(), E>,
) -> Result<(), E> {
    let (job_sender, job_receiver) = sync_channel::<Job>(WAITING);
    let (turn_sender, turn_receiver) = sync_channel::<Turn>(WAITING);
    let jobs = Arc::new(Mutex::new(job_receiver));
    for number in 0..threads {
        let (jobs, examiner) = (Arc::clone(&jobs), Arc::clone(examiner));
        spawn(format!("identify-{number}"), move || work(&jobs, &examiner))?;
    }
    drop(jobs);
    let targets = targets.into_iter();
    spawn("walk".to_owned(), move || dispatch(targets, &turn_sender, &job_sender))?;
    for turn in turn_receiver {
        match turn {
            Turn::Now(found) => show(found)?,
            Turn::Awaited(target, answers) => {
                let mut is_answered = false;
                for found in answers {
                    is_answered = true;
                    show(found)?;
                }
                if !is_answered {
                    let reason = "the identification ended without an answer";
                    show(Examined::Unidentified(Unidentified::new(
                        target.path(),
                        UnidentifiedKind::Unreadable,
                        reason,
                    )))?;
                }
            }
        }
    }
    Ok(())
}

fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> Result<(), IdentifyError> {
    thread::Builder::new().name(name).spawn(body).map(drop).map_err(IdentifyError::Thread)
}

fn dispatch(
    targets: impl Iterator<Item = Result<Target, Unidentified>>,
    turns: &SyncSender<Turn>,
    jobs: &SyncSender<Job>,
) {
    let hand_over = |target: Target| {
        let (answers, awaited) = sync_channel(ANSWERS);
        turns.send(Turn::Awaited(target.clone(), awaited)).is_ok() && jobs.send(Job { target, answers }).is_ok()
    };
    for target in targets {
        let goes_on = match target {
            Ok(Target::File(path)) => walk_one(&path, turns, &hand_over),
            Ok(target @ Target::StandardInput { .. }) => hand_over(target),
            Err(trouble) => turns.send(Turn::Now(Examined::Unidentified(trouble))).is_ok(),
        };
        if !goes_on {
            return;
        }
    }
}

fn walk_one(path: &Path, turns: &SyncSender<Turn>, hand_over: &dyn Fn(Target) -> bool) -> bool {
    walk(path, &mut |step| match step {
        Step::Folder(folder) => {
            let modified = timestamp(std::fs::metadata(&folder).and_then(|metadata| metadata.modified()));
            let folder = Folder { path: folder.into_os_string(), modified };
            turns.send(Turn::Now(Examined::Folder(folder))).is_ok()
        }
        Step::File(file) => hand_over(Target::File(file)),
        Step::Unidentified(trouble) => turns.send(Turn::Now(Examined::Unidentified(trouble))).is_ok(),
    })
}

fn work(jobs: &Mutex<Receiver<Job>>, examiner: &Examiner) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { target, answers }) = next else { return };
        examiner.examine(&target, &mut |found| answers.send(found).is_ok());
    }
}
