//! `bag create`: bags made of folders.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use strongroom_bagit::{BagOptions, Problem, Serialization, WriteError, WriterOptions, create};
use strongroom_digest::Algorithm;

use super::tell;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{report, size};
use crate::progress;

/// Bag a folder, which is left as it is
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The folder that becomes the payload
    source: PathBuf,
    /// The bag to make, which must not exist
    target: PathBuf,
    /// As a folder or an archive [default: by the target's extension]
    #[arg(long, value_enum)]
    form: Option<Form>,
    /// Algorithms of the manifests; repeat for several [default: sha512]
    #[arg(long = "algorithm", value_name = "ALGORITHM")]
    algorithms: Vec<Algorithm>,
    /// A tag of bag-info.txt; repeat for several
    #[arg(long = "tag", value_name = "LABEL=VALUE", value_parser = label_and_value)]
    tags: Vec<(String, String)>,
    /// A tag file to add; repeat for several
    #[arg(long = "tag-file", value_name = "PATH-IN-BAG=FILE", value_parser = label_and_value)]
    tag_files: Vec<(String, String)>,
    /// Keep empty folders, with an empty file .keep in each
    #[arg(long)]
    keep_empty: bool,
}

/// How a bag lies on the disk.
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

pub(super) fn run(command: &Create, context: &Context) -> Outcome {
    let Create { source, target, form, algorithms, tags, tag_files, keep_empty } = command;
    let mut options = BagOptions {
        form: form.map_or_else(|| form_of(target), Serialization::from),
        bag_info: tags.clone(),
        tag_files: tag_files.iter().map(|(path, file)| (path.clone(), PathBuf::from(file))).collect(),
        keep_empty_directories: *keep_empty,
        writer: WriterOptions::default(),
    };
    if !algorithms.is_empty() {
        options.writer.algorithms.clone_from(algorithms);
    }
    make(source, target, &options, context)
}

fn label_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((label, value)) if !label.is_empty() => Ok((label.to_owned(), value.to_owned())),
        _ => Err("it has not the form LABEL=VALUE".to_owned()),
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

fn form_of(target: &Path) -> Serialization {
    let name = target.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    // No bytes: told by the name alone.
    Serialization::detect(&[], &name).unwrap_or(Serialization::Directory)
}

fn make(source: &Path, target: &Path, options: &BagOptions, context: &Context) -> Outcome {
    let metadata = std::fs::metadata(source).map_err(|error| Failure::io("read the folder", source, &error))?;
    if !metadata.is_dir() {
        return Err(Failure::usage(format!("{} is not a folder", source.display())).next("name the folder to bag"));
    }
    let bar = progress::spinner(context, format!("bagging {}", source.display()));
    let made = create(source, target, options);
    bar.finish_and_clear();
    let written = match made {
        Ok(written) => written,
        Err(error) => {
            if let WriteError::Refused { problems, .. } = &error {
                problems.iter().try_for_each(|problem| tell(problem, context))?;
            }
            return Err(Failure::from(error).while_trying(format!("bag {}", source.display())));
        }
    };
    let report = BagMade {
        path: target.display().to_string(),
        payload_files: written.payload_files,
        payload_bytes: written.payload_bytes,
        tag_files: written.tag_files,
        problems: written.warnings,
    };
    if context.output.is_json() {
        context.output.json(&report)?;
        return Ok(Exit::Done);
    }
    report.problems.iter().try_for_each(|problem| tell(problem, context))?;
    context.output.say(format!(
        "made {}: {} files, {}",
        report.path,
        report.payload_files,
        size(report.payload_bytes)
    ))?;
    Ok(Exit::Done)
}
