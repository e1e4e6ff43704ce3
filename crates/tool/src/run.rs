//! Runs tools: starts the launcher, collects the output within its limit, and says what it means.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::ToolError;
use crate::launcher::{Launcher, Order, Report};
use crate::limits::Limit;
use crate::output::{Fields, Stream};
use crate::printable;
use crate::process::{Collected, Process};
use crate::rules::{Answer, Outcome};
use crate::strays;
use crate::template::Template;
use crate::tool::{Input, PreparedTool, Tool};

/// How long a version that a tool said is taken for its version.
const VERSION_AGE: Duration = Duration::from_mins(10);
/// Where programs without a path are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Asks the caller whether to continue; an error ends the tool. It is asked about ten times each second.
pub type Check<'a> = dyn Fn() -> Result<(), Box<dyn Error + Send + Sync>> + 'a;

/// What a tool is run for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The file.
    pub file: PathBuf,
    /// The values of the placeholders, by their names without braces.
    pub values: BTreeMap<String, String>,
}

impl Subject {
    /// A file of which nothing is known.
    pub fn of(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), values: BTreeMap::new() }
    }

    /// Gives a placeholder a value.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }
}

/// One run of a tool: what it says of the file, and how it went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// What it says of the file.
    pub outcome: Outcome,
    /// Why, in one line of printable characters, 500 at most. Empty where the tool passed the file and said no more.
    pub message: String,
    /// What was read from the output: 64 names at most, with 100 values each, of 1,000 printable characters each.
    pub fields: Fields,
    /// How the tool ended.
    pub end: End,
    /// The limit that was reached.
    pub limit: Option<Limit>,
    /// From the start of the supervisor to the end of the last process.
    pub wall: Duration,
    /// Processor time of all processes.
    pub cpu: Duration,
    /// Bytes of the process that had most in memory, or of all together where they came near the limit. It is never below what
    /// the launcher itself needs before it becomes the tool, some megabytes.
    pub peak_memory: u64,
    /// How many processes of the tool lived when it ended, and were killed then.
    pub left_behind: u32,
    /// The version of the tool, where it has a command for it and said it.
    pub version: Option<String>,
    /// Standard output as it came, up to the limit.
    #[serde(skip)]
    pub stdout: Vec<u8>,
    /// Standard error as it came, up to the limit.
    #[serde(skip)]
    pub stderr: Vec<u8>,
}

/// Where the program of a tool is, as a run would find it.
///
/// # Errors
/// [`ToolError::Start`] where it is not there, or cannot be executed.
pub fn find_program(tool: &PreparedTool) -> Result<PathBuf, ToolError> {
    let Tool { name, program, environment, .. } = &tool.tool;
    let failed = |code: i32| ToolError::Start {
        tool: name.clone(),
        program: program.clone(),
        source: io::Error::from_raw_os_error(code),
    };
    let folders = match environment.get("PATH") {
        _ if program.contains('/') => "",
        Some(path) => path.as_str(),
        None => PATH,
    };
    let mut found = Err(failed(libc::ENOENT));
    for path in folders.split(':').map(|folder| Path::new(folder).join(program)) {
        match path.metadata() {
            Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 => return Ok(path),
            Ok(_) => found = Err(failed(libc::EACCES)),
            Err(_) => {}
        }
    }
    found
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// With an exit code.
    Exited(i32),
    /// By a signal: its own, one of the kernel at a limit, or `SIGKILL` (9) of the supervisor.
    Signaled(i32),
}

/// Runs tools. It can be used by many threads; each runs one tool at a time.
#[derive(Debug)]
pub struct Runner {
    launcher: Launcher,
    scratch: PathBuf,
    versions: Mutex<HashMap<VersionKey, (Instant, Option<String>)>>,
}

/// What the version of a program depends on.
type VersionKey = (String, Vec<String>, BTreeMap<String, String>);

impl Runner {
    /// Runs tools by a launcher, with working folders below `scratch`, an absolute path.
    pub fn new(launcher: Launcher, scratch: impl Into<PathBuf>) -> Self {
        Self { launcher, scratch: scratch.into(), versions: Mutex::default() }
    }

    /// Runs a tool for a file. It returns when every process of the tool has ended and the working folder is gone.
    ///
    /// # Errors
    /// [`ToolError`] where the tool was not run or `check` ended it. What a tool did that ran is a [`Run`] with an [`Outcome`].
    pub fn run(&self, tool: &PreparedTool, subject: &Subject, check: &Check<'_>) -> Result<Run, ToolError> {
        let version = self.version(tool, check)?;
        let unread = |source| ToolError::File { path: subject.file.clone(), source };
        let file = std::path::absolute(&subject.file).map_err(unread)?;
        if !file.metadata().map_err(unread)?.is_file() {
            return Err(unread(io::Error::other("it is no regular file")));
        }
        let value = |name: &str| match name {
            "file" => Some(file.clone().into_os_string()),
            name => subject.values.get(name).map(OsString::from),
        };
        let stdin = (tool.tool.stdin == Input::File).then(|| file.clone().into_os_string());
        let Collected { report, stdout, stderr, has_excess } =
            self.process(tool, &tool.arguments, stdin, &value, check)?;
        let limit = if has_excess { Some(Limit::Output) } else { report.limit };
        let (outcome, message, fields) = judge(tool, &report, limit, [&stdout, &stderr]);
        Ok(Run {
            outcome,
            message,
            fields,
            end: end_of(&report),
            limit,
            wall: report.wall,
            cpu: report.cpu,
            peak_memory: report.peak_memory,
            left_behind: report.left_behind,
            version,
            stdout,
            stderr,
        })
    }

    /// The version that a tool says, at most ten minutes ago; none where it has no command for it, or did not say it.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn version(&self, tool: &PreparedTool, check: &Check<'_>) -> Result<Option<String>, ToolError> {
        let (Some(command), Some(configured)) = (&tool.version, &tool.tool.version) else { return Ok(None) };
        let key = (tool.tool.program.clone(), configured.arguments.clone(), tool.tool.environment.clone());
        let mut versions = self.versions.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        versions.retain(|_, (asked, _)| asked.elapsed() < VERSION_AGE);
        if let Some((_, version)) = versions.get(&key) {
            return Ok(version.clone());
        }
        drop(versions);
        let collected = self.process(tool, &command.arguments, None, &|_| None, check)?;
        let Collected { report, stdout, stderr, .. } = collected;
        let text = if stdout.trim_ascii().is_empty() { stderr } else { stdout };
        let version = match &command.pattern {
            _ if report.code != Some(0) => None,
            None => printable::first_line(&text),
            Some(pattern) => pattern.captures(&String::from_utf8_lossy(&text)).and_then(|captures| {
                let found = captures.get(1).or_else(|| captures.get(0))?;
                Some(printable::line(found.as_str(), printable::MESSAGE_CHARACTERS))
            }),
        };
        let mut versions = self.versions.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        versions.insert(key, (Instant::now(), version.clone()));
        Ok(version)
    }

    fn process(
        &self,
        tool: &PreparedTool,
        arguments: &[Template],
        stdin: Option<OsString>,
        value: &dyn Fn(&str) -> Option<OsString>,
        check: &Check<'_>,
    ) -> Result<Collected, ToolError> {
        let name = &tool.tool.name;
        let failed = |what: &str, source| ToolError::Launcher { tool: name.clone(), what: what.to_owned(), source };
        let folder = tempfile::Builder::new()
            .prefix("tool-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&self.scratch);
        let folder = folder.map_err(|error| failed("cannot make its working folder", error))?;
        let here =
            std::path::absolute(folder.path()).map_err(|error| failed("cannot find its working folder", error))?;
        let here = here.into_os_string();
        let expand = |argument: &Template| {
            argument.expand(|name| if name == "folder" { Some(here.clone()) } else { value(name) })
        };
        let order = Order {
            launcher: (self.launcher.program.clone().into_os_string(), self.launcher.arguments.clone()),
            program: tool.tool.program.clone().into(),
            arguments: arguments.iter().map(expand).collect(),
            environment: environment(tool, &here),
            folder: here.clone(),
            stdin,
            network: tool.tool.network,
            limits: tool.tool.limits.clone(),
            supervisor: 0,
        };
        let process = Process::start(&self.launcher, &order);
        let process = process.map_err(|error| failed("cannot start the launcher", error))?;
        let collected = process.finish(name, check).inspect_err(|error| {
            if matches!(error, ToolError::Launcher { .. }) {
                strays::kill_all(&here);
            }
        })?;
        let Some(failure) = &collected.report.failure else { return Ok(collected) };
        let (tool, program, source) = (name.clone(), tool.tool.program.clone(), failure.error());
        Err(if failure.is_program {
            ToolError::Start { tool, program, source }
        } else {
            ToolError::Sandbox { tool, what: failure.what.clone(), source }
        })
    }
}

fn environment(tool: &PreparedTool, folder: &OsStr) -> Vec<(OsString, OsString)> {
    let own = [("PATH", OsStr::new(PATH)), ("LANG", OsStr::new("C.UTF-8"))];
    let own = own.into_iter().chain(["HOME", strays::VARIABLE].map(|name| (name, folder)));
    let set = tool.tool.environment.iter().map(|(name, value)| (name.as_str(), OsStr::new(value.as_str())));
    // The later of two is the one that counts.
    own.chain(set).map(|(name, value)| (name.into(), value.into())).collect()
}

fn end_of(report: &Report) -> End {
    match (report.code, report.signal) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Signaled(signal.unwrap_or(libc::SIGKILL)),
    }
}

/// What a run means: its outcome, its message and its fields.
fn judge(
    tool: &PreparedTool,
    report: &Report,
    limit: Option<Limit>,
    [stdout, stderr]: [&[u8]; 2],
) -> (Outcome, String, Fields) {
    if let Some(limit) = limit {
        return (Outcome::Error, tool.tool.limits.of(limit), Fields::new());
    }
    let End::Exited(code) = end_of(report) else {
        let signal = report.signal.unwrap_or(libc::SIGKILL);
        return (Outcome::Error, format!("it was ended by signal {signal}"), Fields::new());
    };
    let read = tool.reader.read(if tool.tool.output.stream == Stream::Stdout { stdout } else { stderr });
    let (fields, fault) = match read {
        Ok(fields) => (fields, None),
        Err(reason) => (Fields::new(), Some(printable::line(&reason, printable::MESSAGE_CHARACTERS))),
    };
    let outcome = tool.rules.outcome(&Answer { code, stdout, stderr, fields: &fields });
    match (outcome, fault) {
        // What could not be read may be what would have been against the file.
        (Some(Outcome::Pass), Some(fault)) => (Outcome::Error, fault, fields),
        (outcome, _) => {
            let named = tool.tool.output.message.as_ref().and_then(|name| fields.get(name)?.first());
            let message = named.map(|value| printable::line(value, printable::MESSAGE_CHARACTERS));
            let said = || printable::first_line(stderr).or_else(|| printable::first_line(stdout));
            let message = match outcome {
                Some(Outcome::Pass) => message.unwrap_or_default(),
                Some(_) => message.or_else(said).unwrap_or_else(|| format!("it ended with exit code {code}")),
                None => {
                    let said = said().map(|line| format!(": {line}")).unwrap_or_default();
                    let message = format!("it ended with exit code {code}, for which no rule applies{said}");
                    printable::line(&message, printable::MESSAGE_CHARACTERS)
                }
            };
            (outcome.unwrap_or(Outcome::Error), message, fields)
        }
    }
}
