//! How much a tool may use.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How much one run of a tool may use. A tool that reaches a limit is killed with every process that it started, except where a
/// field says that the kernel refuses more instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Seconds from start to end.
    pub wall_seconds: u64,
    /// Seconds of processor time, of all processes of the tool together.
    pub cpu_seconds: u64,
    /// Bytes of memory, of all processes together, without the files that they map. The kernel refuses a single process more
    /// than one and a half times as much (`RLIMIT_DATA`).
    pub memory_bytes: u64,
    /// Bytes of standard output, and as many of standard error.
    pub output_bytes: u64,
    /// Bytes of one file that the tool writes. The kernel kills with `SIGXFSZ`, or refuses more where the tool ignores that signal.
    pub file_bytes: u64,
    /// Bytes of everything in the working folder.
    pub folder_bytes: u64,
    /// Open files of one process. The kernel refuses more.
    pub open_files: u64,
    /// Processes at one time; threads do not count.
    pub processes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall_seconds: 600,
            cpu_seconds: 600,
            memory_bytes: 1 << 30,
            output_bytes: 4 << 20,
            file_bytes: 1 << 30,
            folder_bytes: 2 << 30,
            open_files: 256,
            processes: 32,
        }
    }
}

impl Limits {
    pub(crate) fn wall(&self) -> Duration {
        Duration::from_secs(self.wall_seconds)
    }

    pub(crate) fn cpu(&self) -> Duration {
        Duration::from_secs(self.cpu_seconds)
    }

    /// The limit, its number and its unit.
    pub(crate) fn of(&self, limit: Limit) -> String {
        let (number, unit) = match limit {
            Limit::WallTime => (self.wall_seconds, "s"),
            Limit::CpuTime => (self.cpu_seconds, "s"),
            Limit::Memory => (self.memory_bytes, "bytes"),
            Limit::Output => (self.output_bytes, "bytes"),
            Limit::FileSize => (self.file_bytes, "bytes"),
            Limit::FolderSize => (self.folder_bytes, "bytes"),
            Limit::Processes => (self.processes, "processes"),
        };
        format!("the limit on {limit} is reached ({number} {unit})")
    }
}

/// Which of the [`Limits`] a run reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::wall_seconds`]
    WallTime,
    /// [`Limits::cpu_seconds`]
    CpuTime,
    /// [`Limits::memory_bytes`]
    Memory,
    /// [`Limits::output_bytes`]
    Output,
    /// [`Limits::file_bytes`]
    FileSize,
    /// [`Limits::folder_bytes`]
    FolderSize,
    /// [`Limits::processes`]
    Processes,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WallTime => "time",
            Self::CpuTime => "processor time",
            Self::Memory => "memory",
            Self::Output => "output",
            Self::FileSize => "the size of a file",
            Self::FolderSize => "the size of the working folder",
            Self::Processes => "processes",
        })
    }
}
