//! `deposit`: hands payloads to the engine, and with `--wait` works on them until they end.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use strongroom_bagit::open_regular;
use strongroom_digest::{Algorithm, Digest};
use strongroom_engine::app::deposits::{self, DepositKind, DepositMode, GivenDescription, PackageSource, Request};

use super::submitted::follow;
use super::wait::Waiting;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::printable;

/// Deposit packages
#[derive(Debug, Args)]
pub(crate) struct Deposit {
    /// The packages: files, folders or URLs; one work item for each
    #[arg(required = true, value_name = "PATH|URL")]
    sources: Vec<String>,
    /// The institution they belong to [default: the only institution, where there is one only]
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// The collection they belong to; "init" makes one with the name default [default: none]
    #[arg(long, value_name = "NAME")]
    collection: Option<String>,
    /// The type of the packages
    #[arg(long = "type", value_enum, default_value_t = Kind::Auto)]
    kind: Kind,
    /// The depositor's own identifier of the object; repeat for several
    #[arg(long = "local-id", value_name = "ID")]
    local_ids: Vec<String>,
    /// The name of the object, or its ARK; the default is the name of the package
    #[arg(long, value_name = "NAME|ARK")]
    primary_id: Option<String>,
    /// What the object is called
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Who made it
    #[arg(long, value_name = "TEXT")]
    creator: Option<String>,
    /// When it was made
    #[arg(long, value_name = "TEXT")]
    date: Option<String>,
    /// A file that describes the object: Dublin Core (.xml), JSON (.json), one row of a table (.csv) or ERC (.txt)
    #[arg(long, value_name = "FILE")]
    metadata: Option<PathBuf>,
    /// Who may use the object, where the package does not say [default: institution]
    #[arg(long, value_enum)]
    access: Option<Access>,
    /// The placement of the copies, where the package does not say [default: that of the collection]
    #[arg(long, value_name = "NAME")]
    placement: Option<String>,
    /// What a further version has [default: merge for bags, replace for everything else]
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    /// A file with paths, one a line, that the object does not have from the new version on; earlier versions keep them
    #[arg(long, value_name = "FILE")]
    delete_list: Option<PathBuf>,
    /// A note to keep with the deposit
    #[arg(long)]
    note: Option<String>,
    /// The digest that the package must have as a file, such as sha256:9f86…
    #[arg(long, value_name = "ALGORITHM:HEX", value_parser = digest)]
    digest: Option<(Algorithm, Digest)>,
    /// Refuse to make new objects: each must exist already
    #[arg(long)]
    update: bool,
    /// An address that mails about this submission go to, instead of those of the collection; given once for each
    #[arg(long, value_name = "EMAIL")]
    notify_to: Vec<String>,
    #[command(flatten)]
    waiting: Waiting,
}

/// What is deposited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Recognized from the package
    Auto,
    /// A BagIt bag: a folder, or a ZIP or tar archive
    Bag,
    /// One file
    File,
    /// A folder of files
    Folder,
    /// A ZIP or tar archive, whose members are the files of the object
    Container,
    /// A Checkm manifest of the files of one object
    Manifest,
    /// A Checkm manifest of object manifests, each of them an object
    BatchManifest,
    /// A Checkm manifest of files, each of them an object
    SingleFileBatchManifest,
    /// A Checkm manifest of containers, each of them an object
    ContainerBatchManifest,
}

impl From<Kind> for DepositKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Auto => Self::Auto,
            Kind::Bag => Self::Bag,
            Kind::File => Self::File,
            Kind::Folder => Self::Folder,
            Kind::Container => Self::Container,
            Kind::Manifest => Self::Manifest,
            Kind::BatchManifest => Self::BatchManifest,
            Kind::SingleFileBatchManifest => Self::SingleFileBatchManifest,
            Kind::ContainerBatchManifest => Self::ContainerBatchManifest,
        }
    }
}

/// What a further version of an object has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Exactly the files that are sent
    Replace,
    /// The files of the version before and those that are sent, without those of the delete list
    Merge,
}

/// Who may use an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Access {
    /// Every institution
    Consortia,
    /// The institution
    Institution,
    /// Only those that the institution names
    Restricted,
}

impl Access {
    fn as_str(self) -> &'static str {
        match self {
            Self::Consortia => "consortia",
            Self::Institution => "institution",
            Self::Restricted => "restricted",
        }
    }
}

/// The most bytes of a file that is read as a whole.
const LARGEST_FILE: u64 = 16 << 20;

/// A small file, as text or not.
pub(crate) fn read_small(path: &Path) -> Result<Vec<u8>, Failure> {
    let file = open_regular(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => {
            Failure::usage(format!("{} is no file (entry.not_a_file)", path.display())).next("name a file")
        }
        _ => Failure::io("read", path, &error),
    })?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(|error| Failure::io("read", path, &error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(Failure::usage(format!("{} is larger than {LARGEST_FILE} bytes", path.display()))
            .next("name a smaller file"));
    }
    Ok(bytes)
}

/// A file that describes an object; what of it is not kept is told.
pub(crate) fn read_description(path: &Path) -> Result<serde_json::Value, Failure> {
    let (metadata, not_kept) = deposits::read_description(&path.to_string_lossy(), &read_small(path)?)?;
    for text in not_kept {
        eprintln!("{}", printable(&format!("warning: {text}")));
    }
    Ok(metadata)
}

/// The paths of a delete list.
fn delete_list(path: &Path) -> Result<Vec<String>, Failure> {
    let text = String::from_utf8(read_small(path)?).map_err(|_| {
        let text = format!("the delete list {} is not UTF-8", path.display());
        Failure::usage(text).next("write one path a line, in UTF-8")
    })?;
    Ok(deposits::delete_paths(&text))
}

fn digest(text: &str) -> Result<(Algorithm, Digest), String> {
    let (name, hex) = text.split_once(':').ok_or("it has not the form ALGORITHM:HEX")?;
    let algorithm: Algorithm = name.parse().map_err(|error| format!("{error}"))?;
    let digest: Digest = hex.parse().map_err(|error| format!("{error}"))?;
    if digest.as_bytes().len() == algorithm.length() {
        Ok((algorithm, digest))
    } else {
        Err(format!("a {algorithm} digest has {} hex digits", algorithm.length() * 2))
    }
}

pub(crate) fn run(command: Deposit, context: &Context) -> Outcome {
    let waits = command.waiting.is_wanted()?;
    let metadata = match &command.metadata {
        Some(path) => Some(read_description(path)?),
        None => None,
    };
    let request = Request {
        institution: command.institution,
        collection: command.collection,
        kind: command.kind.into(),
        sources: command.sources.iter().map(|source| PackageSource::parse(source)).collect::<Result<_, _>>()?,
        local_ids: command.local_ids,
        primary_id: command.primary_id,
        description: GivenDescription {
            title: command.title,
            creator: command.creator,
            date: command.date,
            access: command.access.map(|access| access.as_str().to_owned()),
            metadata,
        },
        placement: command.placement,
        mode: command.mode.map(|mode| match mode {
            Mode::Replace => DepositMode::Replace,
            Mode::Merge => DepositMode::Merge,
        }),
        delete: command.delete_list.as_deref().map(delete_list).transpose()?.unwrap_or_default(),
        note: command.note,
        digest: command.digest,
        update: command.update,
        notify_to: command.notify_to,
    };
    let call = context.call()?;
    let submitted = deposits::submit(&call, request)?;
    follow(&call, &submitted, context, &command.waiting, waits)
}
