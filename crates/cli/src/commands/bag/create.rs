//! `bag create`: bags made of folders, beside them or in their place.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use strongroom_bagit::{
    BagOptions, Problem, Serialization, WriteError, WriterOptions, WrittenBag, check_names, create, create_in_place,
};
use strongroom_digest::Algorithm;

use super::profile::profile_of;
use super::tags::{GivenTag, StandardTags, ask, gather, path_and_file};
use super::tell;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{counted, printable, report, size};
use crate::progress::{Line, Unit};
use crate::signals;

/// Problems that an error names where the answer is for scripts.
const TOLD: usize = 20;

/// Bag folders, which are left as they are unless --in-place is given
#[derive(Debug, Args)]
#[command(
    override_usage = "strongroom bag create [OPTIONS] SOURCE TARGET\n       \
                      strongroom bag create [OPTIONS] --into DIR SOURCE...\n       \
                      strongroom bag create [OPTIONS] --in-place FOLDER...",
    after_help = "Examples:
  strongroom bag create letters letters.tar --tag 'Source-Organization: Example'
  strongroom bag create --into bags --form tar letters maps --bag-info tags.txt
  strongroom bag create --in-place letters --sha256 --contact-name Ann
  strongroom bag create letters letters.tar --profile aptrust-2.3

Nothing that exists is written over. What fails or is interrupted (Ctrl-C) leaves no partial bag behind, and a folder \
that was to become a bag in its place as it was."
)]
pub(crate) struct Create {
    /// The folder that becomes the payload, and the bag to make, which must not exist; with --into and --in-place, folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Make a bag of each folder in its place: what is in it moves to data/
    #[arg(long, conflicts_with_all = ["into", "form"])]
    in_place: bool,
    /// Make a bag of each folder in this one, named like the folder, with the ending of the form. It is made where it is absent
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// As a folder or an archive [default: by the target's ending: .tar, .tar.gz, .tgz, .zip, or none for a folder]
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// Algorithms of the manifests; repeat for several [default: what the profile requires, else sha512]
    #[arg(long = "algorithm", value_name = "ALGORITHM")]
    algorithms: Vec<Algorithm>,
    /// A tag of bag-info.txt, or of another tag file (aptrust-info.txt/Title: Letters); repeat for several. LABEL=VALUE is the same
    #[arg(long = "tag", value_name = "LABEL: VALUE")]
    tags: Vec<GivenTag>,
    /// Tags of bag-info.txt from a file in its form; a tag that is also given by option has the value of the option
    #[arg(long, value_name = "FILE")]
    bag_info: Option<PathBuf>,
    /// A tag file to add as it is; repeat for several
    #[arg(long = "tag-file", value_name = "PATH-IN-BAG=FILE", value_parser = path_and_file)]
    tag_files: Vec<(String, PathBuf)>,
    /// A profile that the bag has to keep: the name of a built-in one, a file, or NAME or NAME@VERSION of one added to the data directory. Required tags that are missing are asked for at a terminal
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    /// Keep empty folders, with an empty file .keep in each
    #[arg(long)]
    keep_empty: bool,
    #[command(flatten)]
    shorthands: Shorthands,
    #[command(flatten)]
    standard_tags: StandardTags,
}

/// Algorithms by options of their own, as bagit.py has them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Algorithms, each as --algorithm")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that may be given")]
struct Shorthands {
    /// --algorithm md5
    #[arg(long)]
    md5: bool,
    /// --algorithm sha1
    #[arg(long)]
    sha1: bool,
    /// --algorithm sha224
    #[arg(long)]
    sha224: bool,
    /// --algorithm sha256
    #[arg(long)]
    sha256: bool,
    /// --algorithm sha384
    #[arg(long)]
    sha384: bool,
    /// --algorithm sha512
    #[arg(long)]
    sha512: bool,
}

impl Shorthands {
    fn algorithms(&self) -> impl Iterator<Item = Algorithm> {
        let all = [
            (self.md5, Algorithm::Md5),
            (self.sha1, Algorithm::Sha1),
            (self.sha224, Algorithm::Sha224),
            (self.sha256, Algorithm::Sha256),
            (self.sha384, Algorithm::Sha384),
            (self.sha512, Algorithm::Sha512),
        ];
        all.into_iter().filter_map(|(is_given, algorithm)| is_given.then_some(algorithm))
    }
}

/// The form in which a bag is stored.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Form {
    /// A folder
    Folder,
    /// A tar archive
    Tar,
    /// A tar archive, compressed
    TarGz,
    /// A zip archive
    Zip,
}

report! {
    /// A bag that was made.
    BagMade {
        path: String,
        payload_files: u64,
        payload_bytes: u64,
        tag_files: u64,
        problems: Vec<Problem>,
    }
}

/// One bag to make.
struct Job {
    source: PathBuf,
    /// Absent: in the place of the source.
    target: Option<(PathBuf, Serialization)>,
}

pub(super) fn run(command: &Create, context: &Context) -> Outcome {
    let jobs = command.jobs()?;
    for job in &jobs {
        let metadata =
            std::fs::metadata(&job.source).map_err(|error| Failure::io("read the folder", &job.source, &error))?;
        if !metadata.is_dir() {
            let message = format!("{} is not a folder", job.source.display());
            return Err(Failure::usage(message).next("name the folder to bag"));
        }
    }
    let mut options = command.options(context)?;
    ask(&mut options, context, &|options| {
        jobs.iter().try_for_each(|job| {
            let checked = match &job.target {
                None => check_names(&job.source, &job.source, options),
                Some((target, form)) => {
                    check_names(&job.source, target, &BagOptions { form: *form, ..options.clone() })
                }
            };
            checked.or_else(|error| Err(failure_of(error, job, context)?))
        })
    })?;
    let interrupt = signals::flag()?;
    options.writer.interrupt = Some(Arc::clone(&interrupt));
    let made = match &command.into {
        Some(into) => make_folder(into)?,
        None => None,
    };
    let outcome = match jobs.as_slice() {
        [job] => make(job, &options, context).map(|()| Exit::Done),
        jobs => make_all(jobs, &options, &interrupt, context),
    };
    if let Some(folder) = made {
        // Only where no bag was made in it: a folder that is not empty stays.
        let _ = std::fs::remove_dir(folder);
    }
    outcome
}

/// Makes the folder that the bags go into, where it is absent; returns it where it was made.
fn make_folder(folder: &Path) -> Result<Option<&Path>, Failure> {
    match std::fs::create_dir(folder) {
        Ok(()) => Ok(Some(folder)),
        Err(_) if folder.is_dir() => Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let message = format!("{} is not a folder, so no bags can be made in it", folder.display());
            Err(Failure::usage(message).next("name another folder with --into"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let message = format!("the folder {} cannot be made: there is no folder above it", folder.display());
            Err(Failure::new(Exit::NotFound, message).next(format!("mkdir -p {}", folder.display())))
        }
        Err(error) => Err(Failure::io("make the folder for the bags", folder, &error)),
    }
}

/// Makes several bags. One that cannot be made is reported, and the others follow.
fn make_all(jobs: &[Job], options: &BagOptions, interrupt: &AtomicBool, context: &Context) -> Outcome {
    let mut exit = Exit::Done;
    for job in jobs {
        match make(job, options, context) {
            Ok(()) => {}
            Err(failure) if failure.is_silent() || interrupt.load(Ordering::Relaxed) => return Err(failure),
            Err(failure) => {
                if exit == Exit::Done {
                    exit = Exit::from(&failure);
                }
                context.output.flush()?;
                failure.tell(context.output.is_json());
            }
        }
    }
    Ok(exit)
}

impl Create {
    fn jobs(&self) -> Result<Vec<Job>, Failure> {
        if self.in_place {
            return Ok(self.paths.iter().map(|source| Job { source: source.clone(), target: None }).collect());
        }
        if let Some(into) = &self.into {
            let form = self.form.unwrap_or(Form::Folder);
            return self.paths.iter().map(|source| job_into(source, into, form)).collect();
        }
        let [source, target] = self.paths.as_slice() else {
            return Err(Failure::usage("a source and a target are needed")
                .next("bag create SOURCE TARGET; or several folders with --into DIR or --in-place"));
        };
        let form = match self.form {
            Some(form) => agreeing(form, target)?,
            None => form_of(target)?,
        };
        Ok(vec![Job { source: source.clone(), target: Some((target.clone(), form)) }])
    }

    fn options(&self, context: &Context) -> Result<BagOptions, Failure> {
        let profile = self.profile.as_deref().map(|name| profile_of(name, context)).transpose()?;
        let (bag_info, info_files) = gather(self.bag_info.as_deref(), &self.standard_tags, &self.tags)?;
        let mut writer = WriterOptions::default();
        let algorithms: Vec<Algorithm> = self.algorithms.iter().copied().chain(self.shorthands.algorithms()).collect();
        if !algorithms.is_empty() {
            writer.algorithms = algorithms;
        } else if let Some(profile) = &profile {
            writer.algorithms = profile.algorithms();
        }
        Ok(BagOptions {
            form: Serialization::Directory,
            bag_info,
            tag_files: self.tag_files.clone(),
            info_files,
            profile,
            keep_empty_directories: self.keep_empty,
            writer,
        })
    }
}

impl From<Form> for Serialization {
    fn from(form: Form) -> Self {
        match form {
            Form::Folder => Self::Directory,
            Form::Tar => Self::Tar,
            Form::TarGz => Self::TarGz,
            Form::Zip => Self::Zip,
        }
    }
}

impl Form {
    fn ending(self) -> &'static str {
        match self {
            Self::Folder => "",
            Self::Tar => ".tar",
            Self::TarGz => ".tar.gz",
            Self::Zip => ".zip",
        }
    }
}

fn job_into(source: &Path, into: &Path, form: Form) -> Result<Job, Failure> {
    let failed = |error| Failure::io("read the folder", source, &error);
    let name = match source.file_name() {
        Some(name) => name.to_owned(),
        None => std::fs::canonicalize(source).map_err(failed)?.file_name().unwrap_or_default().to_owned(),
    };
    let mut name = name;
    name.push(form.ending());
    Ok(Job { source: source.to_owned(), target: Some((into.join(name), form.into())) })
}

/// The form that the ending of a name stands for. An ending that stands for none is refused: such as `.rar`, which a folder of
/// this name would not be.
fn form_of(target: &Path) -> Result<Serialization, Failure> {
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // No bytes: decided by the name alone.
    if let Some(form) = Serialization::detect(&[], &name).filter(|form| *form != Serialization::TarBz2) {
        return Ok(form);
    }
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && !ending.is_empty() => {
            Err(Failure::usage(format!("{name} ends in .{ending}, which is no form of a bag"))
                .next("end it in .tar, .tar.gz, .tgz or .zip, or say --form folder for a folder of this name"))
        }
        _ => Ok(Serialization::Directory),
    }
}

/// The form of a bag that was asked for, unless the ending of the target stands for another one.
fn agreeing(form: Form, target: &Path) -> Result<Serialization, Failure> {
    let name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let form: Serialization = form.into();
    if Serialization::detect(&[], &name).is_none_or(|of_name| of_name == form) {
        return Ok(form);
    }
    let (asked, ending) = match form {
        Serialization::Directory => ("folder", "no ending of an archive"),
        Serialization::Tar => ("tar", ".tar"),
        Serialization::TarGz => ("tar-gz", ".tar.gz or .tgz"),
        Serialization::TarBz2 => ("tar-bz2", ".tar.bz2"),
        Serialization::Zip => ("zip", ".zip"),
    };
    Err(Failure::usage(format!("{name} has the ending of another form than --form {asked}"))
        .next(format!("leave --form out, or give the target {ending}")))
}

fn make(job: &Job, options: &BagOptions, context: &Context) -> Result<(), Failure> {
    let line = Line::new(context, Unit::Files, &job.source.display().to_string());
    let writer = WriterOptions { progress: line.counts().clone(), ..options.writer.clone() };
    let counted = BagOptions { writer, ..options.clone() };
    let (path, made) = match &job.target {
        None => (&job.source, create_in_place(&job.source, &counted)),
        Some((target, form)) => (target, create(&job.source, target, &BagOptions { form: *form, ..counted })),
    };
    drop(line);
    match made {
        Ok(written) => say(path, written, context),
        Err(error) => Err(failure_of(error, job, context)?),
    }
}

fn failure_of(error: WriteError, job: &Job, context: &Context) -> Result<Failure, Failure> {
    if let WriteError::Refused { problems, .. } = &error {
        if context.output.is_json() {
            let first: Vec<&str> = problems.iter().take(TOLD).map(|problem| problem.message.as_str()).collect();
            let message = format!("could not bag {}: {error}: {}", job.source.display(), first.join("; "));
            return Ok(Failure::usage(message).next("remove or rename them"));
        }
        problems.iter().try_for_each(|problem| tell(problem, context))?;
    }
    Ok(Failure::from(error).while_trying(format!("bag {}", job.source.display())))
}

fn say(path: &Path, written: WrittenBag, context: &Context) -> Result<(), Failure> {
    let report = BagMade {
        path: path.display().to_string(),
        payload_files: written.payload_files,
        payload_bytes: written.payload_bytes,
        tag_files: written.tag_files,
        problems: written.warnings,
    };
    if context.output.is_json() {
        return context.output.json(&report);
    }
    report.problems.iter().try_for_each(|problem| tell(problem, context))?;
    context.output.say(printable(&format!(
        "made {}: {}, {}",
        report.path,
        counted(report.payload_files, "file", "files"),
        size(report.payload_bytes)
    )))
}
