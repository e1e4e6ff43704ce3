//! Small manifests made for tests, and what a check of them says.

use strongroom_checkm::{Column, ManifestProfile, Mode, ReadOptions, Report, ValidateOptions, Verdict, validate};

/// A manifest of files with these rows.
pub(crate) fn of_files(rows: &[&str]) -> String {
    with(ManifestProfile::Object, &[], rows)
}

/// A manifest of a profile, with further columns.
pub(crate) fn with(profile: ManifestProfile, further: &[Column], rows: &[&str]) -> String {
    let columns: Vec<&str> = profile.columns().iter().chain(further).map(|column| column.name()).collect();
    let mut text = format!("#%checkm_0.7\n#%profile | {}\n#%fields | {}\n", profile.uri(), columns.join(" | "));
    for row in rows {
        text.push_str(row);
        text.push('\n');
    }
    text + "#%eof\n"
}

pub(crate) fn in_mode(mode: Mode) -> ValidateOptions {
    ValidateOptions { read: ReadOptions { mode, ..ReadOptions::default() }, ..ValidateOptions::default() }
}

pub(crate) fn judge(manifest: impl AsRef<[u8]>, mode: Mode) -> Report {
    validate(manifest.as_ref(), &in_mode(mode)).unwrap()
}

/// The codes that a strict check reports, with the rows they are about.
pub(crate) fn found(manifest: impl AsRef<[u8]>) -> Vec<(&'static str, Option<u64>)> {
    judge(manifest, Mode::Strict).problems.iter().map(|problem| (problem.code, problem.row)).collect()
}

/// A word for a report: `ok`, `warning` or `error`.
pub(crate) fn word(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Invalid => "error",
        Verdict::Valid if report.warnings > 0 => "warning",
        Verdict::Valid => "ok",
    }
}
