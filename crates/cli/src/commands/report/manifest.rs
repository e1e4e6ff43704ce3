//! `report manifest`: every file that is kept, with its digests.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use strongroom_digest::Algorithm;
use strongroom_engine::app::OpContext;
use strongroom_engine::app::manifests::{self, ManifestForm, Wanted};
use tempfile::NamedTempFile;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{counted, printable, report};
use crate::signals;

/// What a manifest is of, and how it is written.
#[derive(Debug, Args)]
pub(crate) struct Manifest {
    /// The objects of this collection, INSTITUTION/NAME, or NAME where one institution only has it
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// The objects of this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// What this preservation store holds, of every version
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// How it is written [default: tsv; with --json: JSON Lines]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The digest: md5, sha1, sha256 or sha512; not with csv, which has all of them [default: md5]
    #[arg(long, value_name = "ALGORITHM")]
    digest: Option<Algorithm>,
    /// Every content that a path has had, not only that of the newest version
    #[arg(long)]
    all_versions: bool,
    /// A file for it, which is replaced when the manifest is complete [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How a manifest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// space-id, content-id and digest with tabs, as DuraCloud writes it
    Tsv,
    /// As a manifest of BagIt: the digest, two blanks, the path
    Bagit,
    /// As tsv, with content-size and mime-type
    ExtendedTsv,
    /// A row for each copy, with everything that is known of it
    Csv,
}

report! {
    /// A manifest that was written to a file.
    ManifestReport {
        path: String,
        rows: u64,
    }
}

pub(super) fn run(arguments: Manifest, context: &Context) -> Outcome {
    let form = match (arguments.format, context.output.is_json() && arguments.output.is_none()) {
        (None, true) => ManifestForm::JsonLines,
        (None | Some(Format::Tsv), _) => ManifestForm::Tsv,
        (Some(Format::Bagit), _) => ManifestForm::BagIt,
        (Some(Format::ExtendedTsv), _) => ManifestForm::ExtendedTsv,
        (Some(Format::Csv), _) => ManifestForm::Csv,
    };
    let wanted = Wanted {
        institution: arguments.institution,
        collection: arguments.collection,
        store: arguments.store,
        all_versions: arguments.all_versions,
        form,
        digest: arguments.digest,
    };
    let call = context.call()?;
    let Some(path) = &arguments.output else {
        signals::end_at_once(context, "the manifest is not complete", "the same command begins anew")?;
        context.output.document(|out| manifests::write(&call, &wanted, out).map(drop))?;
        return Ok(Exit::Done);
    };
    manifests::check_output(&call, path)?;
    let rows = into_file(&call, &wanted, path)?;
    let report = ManifestReport { path: path.display().to_string(), rows };
    if context.output.is_json() {
        context.output.json(&report)?;
        return Ok(Exit::Done);
    }
    context.output.say(printable(&format!("{}: {}", report.path, counted(rows, "row", "rows"))))?;
    Ok(Exit::Done)
}

/// Writes a manifest beside its place, and renames it; how many rows it has.
fn into_file(call: &OpContext, wanted: &Wanted, path: &Path) -> Result<u64, Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut builder = tempfile::Builder::new();
    let prefix = format!(".{name}.");
    builder.prefix(&prefix).suffix(".partial");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file: NamedTempFile =
        builder.tempfile_in(folder).map_err(|error| Failure::io("create a file in", folder, &error))?;
    let interrupt = signals::flag()?;
    let mut out = Watched { out: BufWriter::new(file.as_file()), interrupt: interrupt.clone() };
    let written = manifests::write(call, wanted, &mut out);
    drop(out);
    if interrupt.load(Ordering::Relaxed) {
        let message = format!("could not write {}: interrupted", path.display());
        return Err(Failure::new(Exit::Interrupted, message).next("the same command begins anew"));
    }
    let rows = written?;
    file.as_file().sync_all().map_err(|error| Failure::io("write", path, &error))?;
    file.persist(path).map_err(|error| Failure::io("write", path, &error.error))?;
    Ok(rows)
}

/// A writer that fails once the work is to end.
struct Watched<W> {
    out: W,
    interrupt: Arc<AtomicBool>,
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
