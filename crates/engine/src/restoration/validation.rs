//! A bag is validated while it is written, from the bytes that go to its target, and ends only where it is valid. The contents
//! were compared with the registry when they were read; this is about all that was made of them: the archive, the manifests,
//! the tag files.

use std::io::{self, Write};
use std::thread;

use strongroom_bagit::{
    BagError, CheckOptions, Limits, ProfileChoice, Report, Serialization, Severity, Verdict, validate_stream,
};
use strongroom_digest::Algorithm;
use strongroom_registry::items::ItemProblem;

use super::pipe::{ToStore, pipe};
use crate::altered;
use crate::error::chain;
use crate::ingest::item_problem;
use crate::workflow::{StageContext, StageError};

/// Memory of one validation for what grows with the number of files; beyond it goes to temporary files.
const MEMORY: usize = 16 << 20;
/// Problems that are kept with the work item.
const PROBLEMS: usize = 1_000;

/// Writes a bag.
pub(super) type WriteBag<'w> = dyn FnMut(&mut (dyn Write + Send)) -> Result<(), StageError> + 'w;

/// Writes the tar of a bag to `out`, and validates it on its way. `algorithms` are those of its manifests.
///
/// # Errors
/// What `write` failed with; or the bag is not valid, with the problems. Whatever `out` was given is not to be kept then.
pub(super) fn validated(
    context: &StageContext<'_>,
    archive: &str,
    algorithms: &[Algorithm],
    out: &mut (dyn Write + Send),
    write: &mut WriteBag<'_>,
) -> Result<(), StageError> {
    let limits = Limits { memory: MEMORY, problems: PROBLEMS, ..Limits::default() };
    // The rules of a profile are for packages that come in: what an older profile allowed is restored all the same.
    let options = CheckOptions { profile: ProfileChoice::Nothing, limits, ..CheckOptions::default() };
    let (tap, body) = pipe();
    let outcome = thread::scope(|scope| {
        let name = Some(archive.to_owned());
        let options = &options;
        let validating =
            scope.spawn(move || validate_stream(Box::new(body), Serialization::Tar, name, algorithms, options));
        let mut tee = Tee { out, tap: Some(tap) };
        let written = write(&mut tee);
        // Without an end that was announced the validator would judge half a bag, or wait for the rest.
        if let (Ok(()), Some(tap)) = (&written, tee.tap.take()) {
            let _ = tap.end();
        }
        drop(tee);
        let report = validating.join();
        written.map(|()| report)
    })?;
    context.task.check()?;
    match outcome {
        Ok(Ok(report)) => judge(archive, &report),
        Ok(Err(error)) => Err(StageError::Transient(unjudged(archive, &error))),
        Err(_) => Err(StageError::Transient("a thread of the stage panicked".into())),
    }
}

fn unjudged(archive: &str, error: &BagError) -> String {
    format!("could not validate {archive}, which is not kept: {}", chain(error))
}

/// Fails the work item where the bag is not valid.
fn judge(archive: &str, report: &Report) -> Result<(), StageError> {
    let verdict = match report.verdict {
        Verdict::Valid | Verdict::ValidWithWarnings => return Ok(()),
        Verdict::Incomplete => "incomplete",
        Verdict::Invalid => "invalid",
        Verdict::NotABag => "no bag",
        Verdict::Unsupported => "of a kind that is not supported",
    };
    let errors = report.problems.iter().filter(|problem| problem.severity == Severity::Error);
    let problems: Vec<ItemProblem> = errors.map(item_problem).collect();
    let first = problems.first().map(|problem| format!("; first: {} {}", problem.code, problem.message));
    let note = format!(
        "{archive} as it was written is {verdict} (errors: {}){}; it is not kept; next: requeue the work item, and check \
         memory and disks of this machine where it fails again",
        report.errors,
        first.unwrap_or_default()
    );
    Err(StageError::Fatal { note, problems })
}

/// Writes to the target, and the same to the validator.
struct Tee<'o> {
    out: &'o mut (dyn Write + Send),
    /// None once the validator needs no more.
    tap: Option<ToStore>,
}

impl Write for Tee<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = altered("restoration.bag.written", bytes);
        let length = self.out.write(&bytes)?;
        // What follows the end of the archive is padding, and a validator that has stopped for another reason says why.
        if let Some(tap) = &mut self.tap
            && tap.write_all(bytes.get(..length).unwrap_or_default()).is_err()
        {
            self.tap = None;
        }
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
