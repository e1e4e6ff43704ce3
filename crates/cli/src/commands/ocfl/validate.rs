//! `ocfl validate`: problems of objects and storage roots, with the codes of the specification.

use std::path::Path;

use strongroom_ocfl::{Report, ValidateOptions, Validated, validate_directory};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{printable, report, size};
use crate::progress::{Expected, Line, Unit};
use crate::signals;

report! {
    /// A problem.
    OcflProblem { code: String, path: String, message: String }
}

report! {
    /// What a validation found.
    OcflReport {
        path: String,
        verdict: String,
        id: Option<String>,
        head: Option<String>,
        files: u64,
        bytes: u64,
        errors: Vec<OcflProblem>,
        warnings: Vec<OcflProblem>,
        unreported: u64,
    }
}

pub(super) fn run(dir: &Path, quick: bool, context: &Context) -> Outcome {
    if let Err(error) = std::fs::read_dir(dir) {
        return Err(Failure::io("validate", dir, &error));
    }
    signals::end_at_once(
        context,
        "nothing was changed, and what was not reported is not validated",
        "the same command begins anew",
    )?;
    let line = Line::new(context, Unit::Files, &dir.display().to_string());
    if !quick {
        line.expect_below(vec![dir.to_owned()], Expected::Bytes);
    }
    let options = ValidateOptions { quick, progress: line.counts().clone(), ..ValidateOptions::default() };
    let (mut invalid, mut closed) = (0_u64, None);
    let validated = validate_directory(dir, &options, &mut |key, report| {
        invalid += u64::from(!report.is_valid());
        let is_worth_telling = context.output.is_json() || !report.errors.is_empty() || !report.warnings.is_empty();
        if is_worth_telling && closed.is_none() {
            closed = line.print(&context.output, || tell(key, &report, 0, "files", context)).err();
        }
    })?;
    drop(line);
    if let Some(closed) = closed {
        return Err(closed);
    }
    let (report, what) = match &validated {
        Validated::Object(report) => (report, "files"),
        Validated::Root(report) => (report, "objects"),
    };
    tell(&dir.display().to_string(), report, invalid, what, context)?;
    Ok(if report.is_valid() && invalid == 0 { Exit::Done } else { Exit::No })
}

/// Prints the verdict on an object, or on a storage root of whose objects so many are invalid.
fn tell(path: &str, report: &Report, invalid: u64, counted: &str, context: &Context) -> Result<(), Failure> {
    let problems = |list: &[strongroom_ocfl::Problem]| {
        list.iter()
            .map(|problem| OcflProblem {
                code: problem.code.to_owned(),
                path: problem.path.clone(),
                message: problem.message.clone(),
            })
            .collect::<Vec<_>>()
    };
    let verdict = match (report.is_valid() && invalid == 0, report.warnings.is_empty()) {
        (false, _) => "invalid",
        (true, false) => "valid_with_warnings",
        (true, true) => "valid",
    };
    let line = OcflReport {
        path: path.to_owned(),
        verdict: verdict.to_owned(),
        id: report.id.clone(),
        head: report.head.clone(),
        files: report.count,
        bytes: report.bytes,
        errors: problems(&report.errors),
        warnings: problems(&report.warnings),
        unreported: report.unreported,
    };
    if context.output.is_json() {
        return context.output.json(&line);
    }
    for (severity, problem) in
        line.errors.iter().map(|one| ("error", one)).chain(line.warnings.iter().map(|one| ("warning", one)))
    {
        let text = format!("  {severity:7} {} {} {}", problem.code, problem.path, problem.message);
        context.output.say(printable(&text))?;
    }
    let count = if report.bytes > 0 {
        format!("{} {counted}, {}", line.files, size(line.bytes))
    } else {
        format!("{} {counted}", line.files)
    };
    let invalid = if invalid > 0 { format!(", {invalid} of them invalid") } else { String::new() };
    context.output.say(printable(&format!("{path}: {verdict} ({count}{invalid})")))
}
