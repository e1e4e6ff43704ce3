//! validate, for packages that are no bags: the container and the names in it, what describes the object, and the delete list.

use std::io::Read;

use strongroom_bagit::{Limits, Scan, Severity, check_collisions};
use strongroom_registry::interim::{self, InterimFile};
use strongroom_registry::items::ItemProblem;
use strongroom_registry::{Description, work};

use super::fetch::WARNINGS;
use super::validate::{Findings, item_problem};
use crate::ingest::deposit::{DepositOptions, delete_paths};
use crate::ingest::kind::{DepositKind, DepositMode};
use crate::ingest::metadata;
use crate::ingest::staged::Readings;
use crate::ingest::staged_bag::StagedBag;
use crate::workflow::{Outcome, StageContext, StageError};

/// The code of an archive that ends without saying so.
pub(crate) const NO_END_MARK: &str = "archive.no_end_mark";
/// The code of an archive that another one follows.
const SECOND_ARCHIVE: &str = "archive.second_archive";
/// The file of a package that lists paths which the object does not have any more.
pub(crate) const DELETE_LIST: &str = "mrt-delete.txt";
/// Most bytes of a delete list.
const LONGEST_DELETE_LIST: u64 = 16 << 20;

/// Most files of which it is said that their names differ from others only in letter case or normal form.
const MOST_COLLISIONS: usize = 1_000;

/// `first` is the first page of the files of the package.
pub(super) fn validate(
    context: &StageContext<'_>,
    scan: &Scan,
    given: &DepositOptions,
    first: Vec<InterimFile>,
) -> Result<Outcome, StageError> {
    let mut problems: Vec<ItemProblem> = scan.problems.iter().map(item_problem).collect();
    let mut warnings: Vec<ItemProblem> = context.fact(WARNINGS)?.unwrap_or_default();
    problems.append(&mut warnings);
    for lost in problems.iter_mut().filter(|problem| [NO_END_MARK, SECOND_ARCHIVE].contains(&problem.code.as_str())) {
        // Nothing else says that a container is complete; and what is not read of it is kept nowhere.
        "error".clone_into(&mut lost.severity);
    }
    if given.mode() == DepositMode::Replace && staged(context, DELETE_LIST)?.is_some() {
        let text = "it is not followed: the version has exactly the files that were sent".to_owned();
        problems.push(problem("warning", "delete.not_followed", Some(DELETE_LIST), text));
    }
    // Those of a manifest were compared when it was read.
    if first.len() > 1 && given.kind() != DepositKind::Manifest {
        problems.extend(collisions(context, first)?);
    }
    let is_broken = scan.truncated || scan.problems.iter().any(|problem| problem.severity == Severity::Error);
    if scan.files == 0 && given.kind() != DepositKind::Metadata && !is_broken {
        problems.push(problem("error", "package.empty", None, "the package has no files".to_owned()));
    }
    let found = metadata::read(context, given, &mut problems)?;
    let deleted = delete_list(context, given)?;
    context.task.check()?;
    if let Some(first) = problems.iter().find(|problem| problem.severity == "error").cloned() {
        let place = first.path.map(|path| format!(" {path}:")).unwrap_or_default();
        let errors = problems.iter().filter(|problem| problem.severity == "error").count();
        let note =
            format!("the package is not valid (errors: {errors}); first: {}{place} {}", first.code, first.message);
        return Err(StageError::Invalid { note, problems });
    }
    let description = Description {
        title: found.title,
        description: found.description,
        access: given.description.access.clone(),
        local_ids: found.local_ids.clone(),
        deposit_ids: found.local_ids,
        creator: found.creator,
        date: found.date,
        layout: given.kind().layout(),
        metadata: found.metadata,
        ..Description::default()
    };
    let findings = Findings {
        description,
        storage_option: given.placement.clone().map(|placement| (placement, false)),
        manifests: Vec::new(),
    };
    let mut facts = vec![("findings".to_owned(), serde_json::to_string(&findings)?)];
    facts.push(("ark".to_owned(), serde_json::to_string(&found.ark)?));
    facts.push(("deleted".to_owned(), serde_json::to_string(&deleted)?));
    let note = match (given.kind(), problems.len()) {
        (DepositKind::Metadata, _) => "the description can be read".to_owned(),
        (_, 0) => "the package is valid".to_owned(),
        (_, warnings) => {
            let first = problems.first().map(ItemProblem::in_note).unwrap_or_default();
            format!("the package is valid, with warnings ({warnings}){first}")
        }
    };
    context.with_end(move |tx, claim| work::note_findings(tx, claim, &problems, &facts).map(|()| Vec::new()));
    Ok(Outcome::done(note))
}

/// Warnings of the files whose names differ from others only in letter case or normal form: where they are restored to, one may take the
/// place of the other.
fn collisions(context: &StageContext<'_>, first: Vec<InterimFile>) -> Result<Vec<ItemProblem>, StageError> {
    let mut found = Vec::new();
    let mut more = 0;
    let evidence = StagedBag::whole(context, first);
    let checked = check_collisions(&evidence, &Limits::default(), &mut |warning| {
        if found.len() < MOST_COLLISIONS {
            found.push(item_problem(&warning));
        } else {
            more += 1;
        }
    });
    context.task.check()?;
    checked?;
    if let (1.., Some(last)) = (more, found.last_mut()) {
        last.message = format!("{}; so do {more} more files from others", last.message);
    }
    Ok(found)
}

/// A problem of a package.
pub(crate) fn problem(severity: &str, code: &str, path: Option<&str>, message: String) -> ItemProblem {
    ItemProblem {
        severity: severity.to_owned(),
        code: code.to_owned(),
        file: None,
        path: path.map(str::to_owned),
        line: None,
        message,
    }
}

/// The paths that the object does not have any more: those that were given, and those of the package's own list.
fn delete_list(context: &StageContext<'_>, given: &DepositOptions) -> Result<Vec<String>, StageError> {
    let mut paths = given.delete.clone();
    if given.mode() == DepositMode::Merge
        && let Some(list) = staged(context, DELETE_LIST)?
    {
        let text = read_text(context, &list, LONGEST_DELETE_LIST)?;
        paths.extend(delete_paths(&text));
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// A file of the package by its path.
pub(crate) fn staged(context: &StageContext<'_>, path: &str) -> Result<Option<InterimFile>, StageError> {
    Ok(context.registry().read(|tx| interim::file(tx, context.item.id, path))?)
}

/// The text of a file of the package, of which so many bytes are read at most.
pub(crate) fn read_text(context: &StageContext<'_>, file: &InterimFile, most: u64) -> Result<String, StageError> {
    let invalid = |code: &str, message: String| {
        let problems = vec![problem("error", code, Some(&file.path), message)];
        StageError::Invalid { note: format!("{} cannot be used: {}", file.path, problems[0].message), problems }
    };
    if file.size > most {
        return Err(invalid("package.control_file_too_large", format!("it has {} bytes, more than {most}", file.size)));
    }
    let readings = Readings::default();
    let mut bytes = Vec::new();
    let read = readings.open(context, file.into()).and_then(|mut body| body.read_to_end(&mut bytes));
    readings.settle(context)?;
    context.task.check()?;
    read.map_err(|error| StageError::Transient(format!("could not read {}: {error}", file.path)))?;
    let text = String::from_utf8(bytes);
    text.map_err(|_| invalid("package.control_file_not_utf8", "it is not UTF-8".to_owned()))
}
