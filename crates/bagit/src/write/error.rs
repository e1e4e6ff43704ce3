//! Why a bag could not be written.

use std::io;
use std::path::{Path, PathBuf};

use strongroom_digest::{Algorithm, Digest};

use crate::Problem;

/// What stopped the writing of a bag. Nothing is left at the target.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The target exists; nothing is ever written over.
    #[error("{} exists already", path.display())]
    TargetExists {
        /// The target.
        path: PathBuf,
    },
    /// The target lies inside the directory that is to be bagged.
    #[error("the target {} is inside the source {}", target.display(), source_directory.display())]
    TargetInsideSource {
        /// The target.
        target: PathBuf,
        /// The source.
        source_directory: PathBuf,
    },
    /// The source has entries that cannot or must not be bagged.
    #[error("{} of {} cannot be bagged", entries(problems.len() as u64 + more), path.display())]
    Refused {
        /// The source.
        path: PathBuf,
        /// What is wrong with which entry, up to a limit.
        problems: Vec<Problem>,
        /// How many further ones there are.
        more: u64,
    },
    /// The bag would break rules of the profile that was given for it.
    #[error("the bag would not keep profile {profile}")]
    Profile {
        /// The name of the profile.
        profile: String,
        /// Which rules, up to a limit.
        problems: Vec<Problem>,
        /// How many further problems there are.
        more: u64,
    },
    /// The directory that was to become a bag in its place is one.
    #[error("{} is a bag already: it has a bagit.txt", path.display())]
    AlreadyBag {
        /// The directory.
        path: PathBuf,
    },
    /// An earlier run that made a bag in its place was ended before it could undo what it had moved.
    #[error("{} is what an earlier run left behind when it was ended", path.display())]
    LeftOver {
        /// The directory with what was moved.
        path: PathBuf,
        /// What is in it.
        rest: LeftOver,
    },
    /// Files of a directory that was to become a bag in its place were changed, added or removed after they were read. All was
    /// moved back.
    #[error("{} was changed while it was bagged, and is no bag: {}", path.display(), changed_paths(paths, *more))]
    Changed {
        /// The directory.
        path: PathBuf,
        /// Files with a modification time of the run, up to a limit; none where that of no file says so.
        paths: Vec<String>,
        /// How many further ones there are.
        more: u64,
    },
    /// The directory that the target is to be made in does not exist.
    #[error("there is no directory {} to make the bag in", path.display())]
    NoTargetDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// A tag file that was given is not in the form of `bag-info.txt`.
    #[error("{}: {reason}", path.display())]
    TagFile {
        /// The file.
        path: PathBuf,
        /// Where, and why.
        reason: String,
    },
    /// The caller stopped it ([`super::WriterOptions::interrupt`]).
    #[error("it was interrupted, and nothing was changed")]
    Interrupted,
    /// A path that no bag may have there.
    #[error("{path:?} cannot be a path of the bag: {reason}")]
    Path {
        /// The path.
        path: String,
        /// Why not.
        reason: &'static str,
    },
    /// A path was added twice.
    #[error("{path:?} was added twice")]
    Duplicate {
        /// The path.
        path: String,
    },
    /// A tag for `bag-info.txt` that cannot be written.
    #[error("{label:?} cannot be a tag of bag-info.txt: {reason}")]
    Tag {
        /// The label.
        label: String,
        /// Why not.
        reason: &'static str,
    },
    /// A set of options that makes no bag.
    #[error("no bag can be written so: {reason}")]
    Options {
        /// Why not.
        reason: &'static str,
    },
    /// A file gave more or fewer bytes than announced.
    #[error("{path:?} was announced with {announced} bytes, but gave {found}")]
    Size {
        /// The path in the bag.
        path: String,
        /// Bytes announced.
        announced: u64,
        /// Bytes given, or those read until there were too many.
        found: u64,
    },
    /// A file's digest is not the one the caller expects.
    #[error("{path:?} has the {algorithm} digest {found}, not {expected}")]
    Digest {
        /// The path in the bag.
        path: String,
        /// Which digest.
        algorithm: Algorithm,
        /// What it should be.
        expected: Box<Digest>,
        /// What it is.
        found: Box<Digest>,
    },
    /// A write failed before, so the bag cannot be finished.
    #[error("the bag cannot be finished, because writing a file of it failed")]
    Broken,
    /// A file that goes into the bag could not be read.
    #[error("could not read what goes to {path:?}")]
    Read {
        /// The path in the bag.
        path: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A file could not be written to the bag.
    #[error("could not write {path:?} to the bag")]
    Write {
        /// The path in the bag.
        path: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The system refused something.
    #[error("could not {act} {}", path.display())]
    Io {
        /// What was tried.
        act: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// What grows with the number of files could not be kept in temporary files.
    #[error("could not keep records in temporary files")]
    Spill(#[source] io::Error),
    /// The archive could not be ended.
    #[error("could not finish the archive")]
    Finish(#[source] io::Error),
}

/// How far a run had come that made a bag in its place and was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOver {
    /// Nothing is left: the directory is as it was, or is a bag.
    Nothing,
    /// The payload, or a part of it, is in `data/` of the left directory, or still in its place. No tag file has its place.
    Payload,
    /// The payload is in its place, `data/`. The tag files that are left are still to be moved beside it.
    TagFiles,
}

fn entries(count: u64) -> String {
    format!("{count} {}", if count == 1 { "entry" } else { "entries" })
}

fn changed_paths(paths: &[String], more: u64) -> String {
    match (paths, more) {
        ([], _) => "files were added, removed or replaced".to_owned(),
        (paths, 0) => paths.join(", "),
        (paths, more) => format!("{} and {more} more", paths.join(", ")),
    }
}

impl WriteError {
    pub(super) fn io(act: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { act, path: path.to_owned(), source }
    }

    /// Whether trying again may help: the trouble is with the machine, not with the files or the call.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::Write { .. } | Self::Io { .. } | Self::Spill(_) | Self::Finish(_))
    }
}
