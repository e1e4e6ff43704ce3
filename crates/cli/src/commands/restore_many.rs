//! `restore --collection` and `restore --list`: many objects as one batch with one receipt. With `--wait` the batch is worked
//! on here until the receipt is there; memory does not grow with it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use strongroom_engine::EngineError;
use strongroom_engine::app::items::Filter;
use strongroom_engine::app::views::{BatchId, BatchView, ItemStatus};
use strongroom_engine::app::{self, OpContext, batches, items, restorations};

use super::restore::How;
use super::wait::{Waiting, after_waiting, tell_stopped};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{counted, printable};
use crate::progress::{Line, Unit};
use crate::signals;

/// The longest line of a list, in bytes: no object has a longer name.
const LONGEST_LINE: u64 = 1_000;
/// How often the progress of a batch is read.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Which objects are restored by one request.
#[derive(Debug, Args)]
pub(crate) struct Many {
    /// Restore every object of a collection, as one batch with one receipt
    #[arg(long, value_name = "INSTITUTION/COLLECTION", conflicts_with = "list")]
    collection: Option<String>,
    /// Restore the objects that a file names, one a line, as one batch with one receipt; - for standard input
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    #[command(flatten)]
    how: How,
}

pub(super) fn run(call: &OpContext, many: &Many, context: &Context) -> Outcome {
    let waits = many.how.waiting.is_wanted()?;
    let target = many.how.target();
    let made = match (&many.collection, &many.list) {
        (Some(name), _) => {
            let (institution, collection) = name.split_once('/').ok_or_else(|| {
                Failure::usage(format!("{name:?} names no collection")).next("give it as INSTITUTION/COLLECTION")
            })?;
            restorations::of_collection(call, institution, collection, target)?
        }
        (None, Some(file)) => restorations::of_list(call, &mut Lines::open(file)?, target)?,
        (None, None) => return Err(Failure::usage("nothing to restore is named")
            .next("strongroom restore object OBJECT, restore file OBJECT PATH, restore --collection NAME or restore --list FILE")),
    };
    if waits {
        return wait(call, made.batch, &many.how.waiting, context);
    }
    if context.output.is_json() {
        context.output.json(&made)?;
        return Ok(Exit::Done);
    }
    context.output.say(format!(
        "batch {}; workers do the rest; where none runs, start \"strongroom work\" or \"strongroom serve\"",
        made.batch
    ))?;
    Ok(Exit::Done)
}

/// The names of a list: what its lines hold but for blanks around it. Empty lines are passed over.
pub(super) struct Lines {
    path: PathBuf,
    input: Box<dyn BufRead>,
    line: u64,
    longest: u64,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, Failure> {
        Self::up_to(LONGEST_LINE, path)
    }

    /// The same with lines of up to so many bytes.
    pub(super) fn up_to(longest: u64, path: &Path) -> Result<Self, Failure> {
        let input: Box<dyn BufRead> = if path == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            Box::new(BufReader::new(File::open(path).map_err(|error| Failure::io("open", path, &error))?))
        };
        Ok(Self { path: path.to_owned(), input, line: 0, longest })
    }

    /// The next line; none at the end.
    fn read(&mut self) -> Result<Option<String>, EngineError> {
        let mut bytes = Vec::new();
        let length = (&mut self.input).take(self.longest + 1).read_until(b'\n', &mut bytes);
        let length = length.map_err(|source| {
            let path = self.path.display().to_string();
            EngineError::Io { act: "read", path, source }
        })?;
        self.line += 1;
        if length == 0 {
            return Ok(None);
        }
        if bytes.len() as u64 > self.longest {
            let (line, path) = (self.line, self.path.display());
            return Err(EngineError::Usage(format!("line {line} of {path} is longer than the name of any object")));
        }
        Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned()))
    }
}

impl Iterator for Lines {
    type Item = Result<String, EngineError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.read().transpose()? {
                Ok(name) if name.is_empty() => {}
                other => return Some(other),
            }
        }
    }
}

/// Works on a batch until all of it has ended, a signal asks to stop, or the time is over; then prints its items.
pub(super) fn wait(call: &OpContext, batch: BatchId, waiting: &Waiting, context: &Context) -> Outcome {
    let (shutdown, began) = (signals::watch()?, Instant::now());
    let mut is_late = false;
    let line = Line::new(context, Unit::Objects, "");
    if !line.is_hidden() {
        let (objects, bytes) = batches::restoration_amount(call, batch)?;
        line.counts().set_expected(objects, bytes);
    }
    let (sender, receiver) = mpsc::channel();
    let summary = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let summary = batches::work(call, batch, &shutdown);
            // The receiver is there until this thread has been joined.
            let _ = sender.send(());
            summary
        });
        while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(POLL_INTERVAL) {
            if !line.is_hidden()
                && let (Ok(batch), Ok(bytes)) = (batches::show(call, batch), items::bytes_read(call))
            {
                line.counts().set_files(batch.items.saturating_sub(batch.open));
                line.counts().set_bytes(bytes);
            }
            if !is_late && waiting.timeout.is_some_and(|timeout| began.elapsed() >= timeout) {
                is_late = true;
                // Tasks stop at their next checkpoint and return to the queue.
                shutdown.request();
            }
        }
        worker.join()
    });
    drop(line);
    let summary = summary.map_err(|_| Failure::new(Exit::OutOfReach, "the worker thread ended abnormally"))??;
    if let Some(failure) = summary.failure {
        return Err(Failure::from(failure).while_trying("work on the batch"));
    }
    let ended = batches::show(call, batch)?;
    if ended.open > 0 {
        return not_over(&ended, waiting, (is_late, shutdown.is_requested()), context);
    }
    let filter = Filter { batch: Some(batch), ..Filter::default() };
    app::each(
        |after| items::list(call, &filter, after),
        |item| {
            if context.output.is_json() {
                return context.output.json(&item);
            }
            let note = item.note.as_deref().unwrap_or_default();
            context.output.say(printable(&format!("{:9}  {}  {note}", item.status, item.object)))
        },
    )?;
    Ok(if ended.succeeded == ended.items { Exit::Done } else { Exit::No })
}

/// What is said of a batch that is not over.
fn not_over(batch: &BatchView, waiting: &Waiting, (is_late, is_stopped): (bool, bool), context: &Context) -> Outcome {
    let (open, all) = (batch.open, batch.items);
    let what = match (waiting.timeout, is_late, is_stopped) {
        (Some(timeout), true, _) => format!("had not ended after {timeout:?}; workers continue them"),
        (_, _, true) => {
            tell_stopped(open, &format!("batches report {}", batch.batch), context);
            return Ok(Exit::Interrupted);
        }
        _ => format!("are {} or wait for one that is", ItemStatus::Held),
    };
    let next = if is_late {
        after_waiting(&format!("batches report {}", batch.batch))
    } else {
        format!("\"strongroom batches report {}\" shows them", batch.batch)
    };
    Err(Failure::new(Exit::No, format!("{open} of {} {what}", counted(all, "work item", "work items"))).next(next))
}
