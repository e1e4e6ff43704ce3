//! Why a command ended, as people read it and as scripts do: the one place where errors become texts and exit codes.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use strongroom_audit::AuditError;
use strongroom_bagit::{BagError, LeftOver, Problem, WriteError};
use strongroom_checkm::CheckmError;
use strongroom_database::DatabaseError;
use strongroom_engine::app::views::HoldView;
use strongroom_engine::settings::SettingsError;
use strongroom_engine::signatures::SignaturesError;
use strongroom_engine::{EngineError, without_system_codes};
use strongroom_ocfl::OcflError;
use strongroom_queue::QueueError;
use strongroom_registry::RegistryError;
use strongroom_registry::holds::Hold;
use strongroom_storage::StorageError;

use crate::output::{printable, printable_lines, without_told};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Done, and the answer is no: an invalid bag, a failed item, damage found.
    No,
    /// Wrong usage or settings.
    Usage,
    /// What was asked for does not exist.
    NotFound,
    /// The system, or the state of a record, does not allow it.
    NotAllowed,
    /// A disk or service it needs does not answer.
    OutOfReach,
    /// Stopped by a signal.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::NotFound => 3,
            Exit::NotAllowed => 4,
            Exit::OutOfReach => 5,
            Exit::Interrupted => 130,
        })
    }
}

impl Exit {
    /// A stable word for scripts, where nothing says it better.
    fn code(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::No => "check_failed",
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::NotAllowed => "not_allowed",
            Self::OutOfReach => "unavailable",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<&Failure> for Exit {
    fn from(failure: &Failure) -> Self {
        failure.exit
    }
}

/// A command that could not be done.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    /// A stable word for scripts.
    code: &'static str,
    message: String,
    next: Option<String>,
    /// Whether line ends in the message are meant.
    has_lines: bool,
}

/// A failure as scripts read it.
#[derive(serde::Serialize)]
struct Told<'f> {
    error: &'f str,
    code: &'static str,
    next: Option<&'f str>,
}

pub(crate) type Outcome = Result<Exit, Failure>;

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        let message = without_system_codes(&message.into());
        Self { exit, code: exit.code(), message, next: None, has_lines: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn not_found(what: &str, name: impl Display) -> Self {
        Self::new(Exit::NotFound, format!("there is no {what} \"{name}\""))
    }

    /// Adds what to do next, unless that is said already.
    pub(crate) fn next(mut self, advice: impl Into<String>) -> Self {
        self.next.get_or_insert_with(|| advice.into());
        self
    }

    /// What was tried, put before the cause.
    pub(crate) fn while_trying(mut self, act: impl Display) -> Self {
        if !self.is_silent() {
            self.message = format!("could not {act}: {}", self.message);
        }
        self
    }

    /// An error of the system about a path.
    pub(crate) fn io(act: &str, path: &Path, error: &io::Error) -> Self {
        let (exit, next) = of_io(error);
        let message = format!("could not {act} {}: {error}", path.display());
        Self { code: code_of_io(error), next, ..Self::new(exit, message) }
    }

    /// Standard output is closed: its reader has ended.
    pub(crate) fn closed_output() -> Self {
        Self::new(Exit::Done, "")
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.message.is_empty()
    }

    /// The same with a word for scripts that says more than the exit code.
    fn coded(self, code: Option<&'static str>) -> Self {
        Self { code: code.unwrap_or(self.code), ..self }
    }

    /// Says it on standard error: for scripts as one JSON object.
    pub(crate) fn tell(&self, is_json: bool) {
        if self.is_silent() {
            return;
        }
        if is_json {
            let told = Told { error: &self.message, code: self.code, next: self.next.as_deref() };
            if let Ok(text) = serde_json::to_string(&told) {
                let _ = writeln!(io::stderr().lock(), "{text}");
            }
            return;
        }
        // Names of strangers stand in messages; only a message of ours has lines.
        let message = without_told(&self.message);
        let message = if self.has_lines { printable_lines(&message) } else { printable(&message) };
        let mut error = io::stderr().lock();
        let _ = writeln!(error, "error: {message}");
        if let Some(next) = &self.next {
            let _ = writeln!(error, "  next: {}", printable(next));
        }
    }

    /// An error that an error of the system caused.
    fn of_system(error: &dyn Error, source: &io::Error) -> Self {
        let (exit, next) = of_io(source);
        Self::of(exit, next, error).coded(Some(code_of_io(source)))
    }

    fn of(exit: Exit, next: Option<String>, error: &dyn Error) -> Self {
        Self { exit, code: exit.code(), message: strongroom_engine::chain(error), next, has_lines: false }
    }
}

/// A word for scripts for an error of the system.
fn code_of_io(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "io.permission",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "io.disk_full",
        io::ErrorKind::AlreadyExists => "io.exists",
        _ => of_io(error).0.code(),
    }
}

/// A word for scripts for an error of a database, where there is one that says more than the exit code.
fn code_of_database(error: &DatabaseError) -> Option<&'static str> {
    Some(match error {
        DatabaseError::Corrupt { .. } => "registry.corrupt",
        DatabaseError::ForeignLog { .. } => "registry.foreign_log",
        DatabaseError::OlderSchema { .. } => "registry.older_schema",
        DatabaseError::ReadOnly { .. } => "registry.read_only",
        DatabaseError::Unavailable { .. } => "registry.unavailable",
        _ => return None,
    })
}

/// The same for an error of the registry.
fn code_of_registry(error: &RegistryError) -> Option<&'static str> {
    Some(match error {
        RegistryError::Database(error) => return code_of_database(error),
        RegistryError::NewerSchema { .. } => "registry.newer_schema",
        RegistryError::Ambiguous { .. } => "ambiguous",
        RegistryError::State { .. } => "state",
        RegistryError::Named { .. } => "in_use",
        RegistryError::Exists { .. } => "exists",
        RegistryError::Permanent { .. } => "permanent_failure",
        RegistryError::StillHeld { .. } => "still_held",
        _ => return None,
    })
}

/// The same for an error of the engine.
fn code_of_engine(error: &EngineError) -> Option<&'static str> {
    Some(match error {
        EngineError::Registry(error) => return code_of_registry(error),
        EngineError::Io { source, .. } => code_of_io(source),
        EngineError::Refused(_) => "refused",
        EngineError::Exists(_) => "exists",
        EngineError::Settings(_) | EngineError::SettingsFile(_) => "settings",
        EngineError::Superseded { .. } => "store.superseded",
        EngineError::Storage(_) => "store",
        EngineError::Advised(advised) => return code_of_engine(&advised.error),
        EngineError::Attempted(attempted) => return code_of_engine(&attempted.error),
        _ => return None,
    })
}

/// The exit code and advice for an error of the system.
fn of_io(error: &io::Error) -> (Exit, Option<String>) {
    let (exit, next) = match error.kind() {
        io::ErrorKind::NotFound => (Exit::NotFound, Some("check the path")),
        io::ErrorKind::PermissionDenied => {
            (Exit::NotAllowed, Some("check owner and permissions, or run as another user"))
        }
        io::ErrorKind::ReadOnlyFilesystem => (Exit::NotAllowed, Some("the file system is mounted read-only")),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (Exit::OutOfReach, Some("the disk is full: free space and try again"))
        }
        io::ErrorKind::FileTooLarge => (
            Exit::OutOfReach,
            Some("raise the limit of file sizes (ulimit -f, LimitFSIZE), or write to another file system"),
        ),
        io::ErrorKind::AlreadyExists | io::ErrorKind::InvalidFilename | io::ErrorKind::NotADirectory => {
            (Exit::Usage, Some("name another path"))
        }
        _ => (Exit::OutOfReach, None),
    };
    (exit, next.map(str::to_owned))
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        let (exit, next) = of_database(&error);
        Self::of(exit, next, &error).coded(code_of_database(&error))
    }
}

fn of_database(error: &DatabaseError) -> (Exit, Option<String>) {
    let (exit, next) = match error {
        DatabaseError::Corrupt { path, is_file: true, .. } => return (Exit::OutOfReach, Some(restore(path))),
        DatabaseError::ForeignLog { log, index, .. } => {
            let next = format!("stop all processes, move {log} and {index} away, then \"strongroom rebuild --adopt\"");
            return (Exit::Usage, Some(next));
        }
        DatabaseError::Unavailable { .. } => {
            (Exit::OutOfReach, Some("check the disk of the data directory, or the database server, and try again"))
        }
        DatabaseError::OlderSchema { .. } => (
            Exit::Usage,
            Some("\"strongroom migrate --schema\" brings it up to date, after a copy of a registry in a file"),
        ),
        DatabaseError::Address { .. } | DatabaseError::Schema { .. } | DatabaseError::NetworkFileSystem { .. } => {
            (Exit::Usage, None)
        }
        DatabaseError::ReadOnly { .. } => (
            Exit::NotAllowed,
            Some(
                "\"strongroom rebuild --adopt\" imports what the stores have and the registry lacks; if another \
                 registry uses them, \
                 correct the stores in the settings instead",
            ),
        ),
        DatabaseError::Permission { .. } => (
            Exit::NotAllowed,
            Some("check owner and permissions of the data directory, or user and rights on the database server"),
        ),
        DatabaseError::Corrupt { .. } => (
            Exit::OutOfReach,
            Some(
                "restore a backup of the database, then \"strongroom rebuild --adopt\"; without a backup, \
                 \"strongroom rebuild\" with an empty database",
            ),
        ),
        _ => (Exit::OutOfReach, None),
    };
    (exit, next.map(str::to_owned))
}

/// How a registry in a file is restored.
fn restore(path: &str) -> String {
    format!(
        "stop all processes, move {path}, {path}-wal and {path}-shm away together, copy a backup to {path}, then \
         \"strongroom rebuild --adopt\"; without a backup, \"strongroom rebuild\""
    )
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        let (exit, next) = of_registry(&error);
        Self::of(exit, next, &error).coded(code_of_registry(&error))
    }
}

fn of_registry(error: &RegistryError) -> (Exit, Option<String>) {
    match error {
        RegistryError::Database(error) => of_database(error),
        RegistryError::NewerSchema { .. } => {
            (Exit::Usage, Some("start the newer program in the place of this one".to_owned()))
        }
        RegistryError::NotFound { what, .. } => (Exit::NotFound, listing_of(what)),
        RegistryError::Ambiguous { .. } => (Exit::Usage, Some("give more of the identifier".to_owned())),
        RegistryError::State { what, id, .. } => (Exit::NotAllowed, shown_by(what, id)),
        RegistryError::Named { .. } => {
            (Exit::NotAllowed, Some("change what names it, and repeat the command".to_owned()))
        }
        RegistryError::Exists { .. } => (Exit::Usage, Some("choose another name".to_owned())),
        RegistryError::Permanent { id, .. } => {
            let next =
                format!("correct the package and deposit again; \"strongroom items show {id}\" lists its problems");
            (Exit::NotAllowed, Some(next))
        }
        RegistryError::StillHeld { holds, .. } => (Exit::NotAllowed, Some(how_to_lift(holds))),
        _ => (Exit::OutOfReach, None),
    }
}

/// Which commands lift holds.
fn how_to_lift(holds: &[Hold]) -> String {
    let command = |hold: &Hold| HoldView::from(hold.clone()).lifted_by();
    holds.iter().map(command).collect::<Vec<_>>().join("; ")
}

/// Who helps where a role or a key does not include an act.
const WHO_MAY: &str = "ask a person whose role includes it; a system_admin or institution_admin changes roles with \"strongroom user set\"";

/// Which command shows a record whose state does not allow what was asked.
fn shown_by(what: &str, id: &str) -> Option<String> {
    let command = match what {
        "work item" => "items history",
        "batch" => "batches show",
        "activity" => "activity show",
        "message" => return Some("\"strongroom outbox list\" shows those that need review".to_owned()),
        "spot test" => return Some("\"strongroom restore tests list\" shows those there are".to_owned()),
        "profile" => "profile show",
        "pipeline" => "pipeline show",
        "user" => "user show",
        "request for deletion" => "delete show",
        "problem" => "problems show",
        "key" => return Some("\"strongroom key list --all\" shows those there are and were".to_owned()),
        _ => return None,
    };
    Some(format!("\"strongroom {command} {id}\" shows how it came to this"))
}

/// Which command lists what was not found.
fn listing_of(what: &str) -> Option<String> {
    let command = match what {
        "work item" => "items list",
        "batch" => "batches list",
        "activity" => "activity list",
        "finding of a tool" => "activity findings",
        "agent" => "activity agents",
        "object" => "objects list",
        "file" => "objects files OBJECT",
        "finding" => "fixity problems --all",
        "upload" => "receiving list --all",
        "institution" => "institution list",
        "user" => "user list",
        "key" => "key list",
        "legal hold" => "hold legal list --all",
        "request for deletion" => "delete list",
        "collection" => "collection list",
        "profile" => "profile list",
        "pipeline" => "pipeline list",
        "message" => "outbox list",
        "store" => "store list",
        "space" => "space list",
        "topic" => "queue list",
        "version" => "objects versions OBJECT",
        "placement" | "plain store" => "config show",
        "background task" => "background list",
        "spot test" => "restore tests list",
        "problem" => "problems list --all",
        "file or folder" => return Some("check the path".to_owned()),
        _ => return None,
    };
    Some(format!("\"strongroom {command}\" shows those there are"))
}

impl From<QueueError> for Failure {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::Database(error) => error.into(),
            other => Self::of(Exit::Usage, None, &other),
        }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        let (exit, next) = of_storage(&error);
        Self::of(exit, next, &error)
    }
}

fn of_storage(error: &StorageError) -> (Exit, Option<String>) {
    match error {
        StorageError::NotFound { .. } => (Exit::NotFound, None),
        StorageError::Io { source, .. } | StorageError::Source { source, .. } => of_io(source),
        StorageError::Key(_) => (Exit::Usage, None),
        _ => (Exit::OutOfReach, None),
    }
}

impl From<OcflError> for Failure {
    fn from(error: OcflError) -> Self {
        let (exit, next) = of_ocfl(&error);
        let failure = Self::of(exit, next, &error);
        if matches!(error, OcflError::Absent { .. }) {
            failure.next("\"strongroom ocfl log\" shows the versions of an object, \"strongroom ocfl ls\" its files")
        } else {
            failure
        }
    }
}

fn of_ocfl(error: &OcflError) -> (Exit, Option<String>) {
    match error {
        OcflError::Storage(error) => of_storage(error),
        OcflError::Io { source, .. } | OcflError::Local { source, .. } => of_io(source),
        OcflError::NotOcfl { .. } => {
            (Exit::Usage, Some("name the folder of a storage root or of an object".to_owned()))
        }
        OcflError::Absent { .. } => (Exit::NotFound, None),
        OcflError::Key(_) => (Exit::Usage, None),
        _ => (Exit::No, None),
    }
}

impl From<BagError> for Failure {
    fn from(error: BagError) -> Self {
        let (exit, next) = of_bag(&error);
        Self::of(exit, next, &error)
    }
}

fn of_bag(error: &BagError) -> (Exit, Option<String>) {
    match error {
        BagError::Io { source, .. } | BagError::Stream(source) | BagError::Spill(source) | BagError::Visit(source) => {
            of_io(source)
        }
        BagError::NotFound { .. } => (Exit::NotFound, Some("check the path".to_owned())),
        BagError::UnknownSerialization { .. } => (
            Exit::No,
            Some("name the folder or the archive of a bag; \"strongroom identify\" says what a file is".into()),
        ),
        BagError::Profile(_) => (Exit::Usage, None),
        _ => (Exit::OutOfReach, None),
    }
}

impl From<CheckmError> for Failure {
    fn from(error: CheckmError) -> Self {
        let (exit, next) = match &error {
            CheckmError::Read { source, .. } | CheckmError::Write { source, .. } | CheckmError::Sort(source) => {
                of_io(source)
            }
            // What was to be written is not what a manifest can say.
            _ => (Exit::No, None),
        };
        Self::of(exit, next, &error)
    }
}

impl From<AuditError> for Failure {
    fn from(error: AuditError) -> Self {
        let (exit, next) = match &error {
            AuditError::Read { source, .. } => of_io(source),
            AuditError::Nothing(_) => (
                Exit::NotFound,
                Some("name the folder of an export, of a preservation store, or of a chain in \"_strongroom/audit\" of one".to_owned()),
            ),
            _ => (Exit::Usage, None),
        };
        Self::of(exit, next, &error)
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        let (exit, next) = match &error {
            WriteError::Io { source, .. }
            | WriteError::Read { source, .. }
            | WriteError::Write { source, .. }
            | WriteError::Finish(source)
            | WriteError::Spill(source) => return Self::of_system(&error, source),
            WriteError::Refused { .. } => {
                (Exit::Usage, Some("remove or rename them; they are listed above".to_owned()))
            }
            WriteError::Profile { profile, problems, more } => {
                let mut told: Vec<String> = problems.iter().map(told_of).collect();
                if *more > 0 {
                    told.push(format!("and {more} more"));
                }
                let message = format!("it would not keep profile {profile}: {}", told.join("; "));
                return Self::usage(message).next(to_keep_profile(problems));
            }
            WriteError::AlreadyBag { .. } => (Exit::Usage, Some("\"strongroom bag validate\" checks it".to_owned())),
            WriteError::LeftOver { path, rest } => (Exit::Usage, Some(after_interrupted_bag(path, *rest))),
            WriteError::Changed { .. } | WriteError::Size { .. } => {
                let next = "run the command again when no program writes to the folder; \"strongroom bag validate\" then \
                            checks the bag";
                (Exit::No, Some(next.to_owned()))
            }
            WriteError::NoTargetDirectory { path } => (Exit::NotFound, Some(format!("mkdir -p {}", path.display()))),
            WriteError::TagFile { .. } => (Exit::Usage, Some("correct the file".to_owned())),
            WriteError::Interrupted => (Exit::Interrupted, Some("the same command makes it from the beginning".into())),
            WriteError::TargetExists { .. } => {
                let next = Some("name a target that does not exist".to_owned());
                return Self::of(Exit::Usage, next, &error).coded(Some("exists"));
            }
            WriteError::TargetInsideSource { .. } => {
                (Exit::Usage, Some("name a target outside of the source".to_owned()))
            }
            _ => (Exit::Usage, None),
        };
        Self::of(exit, next, &error)
    }
}

/// What to do about rules of a profile that a bag would break, by their codes.
fn to_keep_profile(problems: &[Problem]) -> String {
    const ADVICE: [(&str, &str); 7] = [
        ("profile.tag_file_", "give tag files with --tag-file PATH-IN-BAG=FILE"),
        ("profile.tag_manifest", "give algorithms with --algorithm"),
        ("profile.manifest", "give algorithms with --algorithm"),
        ("profile.tag_", "give tags with --tag 'LABEL: VALUE' (of another file: FILE/LABEL) or --bag-info FILE"),
        ("profile.name_", "rename the files whose names the profile forbids"),
        ("profile.serialization", "choose another --form, or another ending of the target"),
        ("profile.base_directory_name", "name the target like the folder"),
    ];
    let mut advice: Vec<&str> = Vec::new();
    for problem in problems {
        let known = ADVICE.iter().find(|(code, _)| problem.code.starts_with(code));
        let one = known.map_or("change the folder as the profile asks", |(_, advice)| advice);
        if !advice.contains(&one) {
            advice.push(one);
        }
    }
    advice.join("; ")
}

/// How a folder becomes what it was, or a bag, after a run that made a bag in its place was killed.
fn after_interrupted_bag(partial: &Path, rest: LeftOver) -> String {
    let (partial, folder) = (partial.display(), partial.parent().unwrap_or(partial).display());
    match rest {
        LeftOver::Nothing => format!("rmdir {partial}"),
        LeftOver::Payload => format!("move all that is in {partial}/data to {folder}, then remove {partial}"),
        LeftOver::TagFiles => format!(
            "move all that is in {partial} to {folder}, bagit.txt last, and remove {partial}; then \
             \"strongroom bag validate {folder}\""
        ),
    }
}

/// A problem with the tag file that it is about.
fn told_of(problem: &Problem) -> String {
    match &problem.file {
        Some(file) => format!("{file}: {}", problem.message),
        None => problem.message.clone(),
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        let (exit, next) = of_settings(&error);
        // It shows the line of the file that is wrong.
        let has_lines = matches!(error, SettingsError::Syntax { .. });
        Self { has_lines, ..Self::of(exit, next, &error).coded(Some("settings")) }
    }
}

fn of_settings(error: &SettingsError) -> (Exit, Option<String>) {
    match error {
        SettingsError::Missing { .. } => {
            let next = "make a data directory with \"strongroom init\", or name another with --home";
            (Exit::NotFound, Some(next.to_owned()))
        }
        SettingsError::Unreadable { source, .. } => of_io(source),
        _ => (Exit::Usage, Some("correct it; docs/settings-reference.md describes every setting".to_owned())),
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let (exit, next) = of_engine(&error);
        Self::of(exit, next, &error).coded(code_of_engine(&error))
    }
}

fn of_engine(error: &EngineError) -> (Exit, Option<String>) {
    match error {
        EngineError::Registry(error) => of_registry(error),
        EngineError::Storage(error) => of_storage(error),
        EngineError::Ocfl(error) => of_ocfl(error),
        EngineError::Bag(error) => of_bag(error),
        EngineError::Signatures(error) => of_signatures(error),
        EngineError::SettingsFile(error) => of_settings(error),
        EngineError::NotFound { what, .. } => (Exit::NotFound, listing_of(what)),
        EngineError::Absent(_) => (Exit::NotFound, None),
        EngineError::CheckFailed(_) => (Exit::No, None),
        EngineError::Refused(_) => (Exit::NotAllowed, None),
        EngineError::NotAllowed { .. } => (Exit::NotAllowed, Some(WHO_MAY.to_owned())),
        EngineError::Usage(_) | EngineError::Exists(_) | EngineError::Settings(_) => (Exit::Usage, None),
        EngineError::Io { source, .. } => of_io(source),
        EngineError::Advised(advised) => (of_engine(&advised.error).0, Some(advised.next.clone())),
        EngineError::Attempted(attempted) => of_engine(&attempted.error),
        _ => (Exit::OutOfReach, None),
    }
}

impl From<SignaturesError> for Failure {
    fn from(error: SignaturesError) -> Self {
        let (exit, next) = of_signatures(&error);
        Self::of(exit, next, &error)
    }
}

fn of_signatures(error: &SignaturesError) -> (Exit, Option<String>) {
    match error {
        SignaturesError::Unusable { .. } => (Exit::Usage, None),
        SignaturesError::Older(_) | SignaturesError::Refused(_) => (Exit::NotAllowed, None),
        SignaturesError::Damaged { .. } => {
            let advice = "install both files anew with \"strongroom signatures update --allow-older\", or go back to \
                          others with \"strongroom signatures use NAME\"";
            (Exit::OutOfReach, Some(advice.to_owned()))
        }
        SignaturesError::NotFound(_) => {
            (Exit::NotFound, Some("\"strongroom signatures show\" lists those there are".to_owned()))
        }
        SignaturesError::Io { source, .. } => of_io(source),
        _ => (Exit::OutOfReach, None),
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
