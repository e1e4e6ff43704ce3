//! Why a tool was not run. What a tool that ran has said is never an error, but an outcome.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Why a tool was not run, or not to its end. The file has nothing to do with it, except for [`ToolError::File`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The configuration of the tool is not valid.
    #[error("the tool {tool} is not configured rightly: {reason}")]
    Configuration {
        /// The name of the tool.
        tool: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file that the tool is for cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The program of the tool cannot be started: it is missing, or not executable.
    #[error("the tool {tool} cannot be started: {program}")]
    Start {
        /// The name of the tool.
        tool: String,
        /// Its program.
        program: String,
        /// Why not.
        source: io::Error,
    },
    /// A limit, or the refusal of network, cannot be set on this system.
    #[error("the tool {tool} is not started: {what}")]
    Sandbox {
        /// The name of the tool.
        tool: String,
        /// What cannot be set.
        what: String,
        /// Why not.
        source: io::Error,
    },
    /// The launcher or the working folder of the run failed.
    #[error("the tool {tool} is not run: {what}")]
    Launcher {
        /// The name of the tool.
        tool: String,
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The caller asked for the end. The tool and its processes are killed.
    #[error("the tool {tool} is interrupted")]
    Interrupted {
        /// The name of the tool.
        tool: String,
        /// What the caller said.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl ToolError {
    /// Whether the same run may succeed later without a change by people: the system lacked memory, processes, open files or
    /// space.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Configuration { .. } | Self::File { .. } | Self::Interrupted { .. } => false,
            Self::Start { source, .. } | Self::Sandbox { source, .. } | Self::Launcher { source, .. } => {
                let passes = [libc::EAGAIN, libc::ENOMEM, libc::EMFILE, libc::ENFILE, libc::ENOSPC, libc::ETXTBSY];
                matches!(source.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::TimedOut)
                    || source.raw_os_error().is_some_and(|code| passes.contains(&code))
            }
        }
    }
}
