//! How a tool is started under limits. Only a process itself can set its limits before it becomes another program, and only code
//! between two programs runs there. So the program starts itself again, twice:
//!
//! 1. The *supervisor* lives as long as the tool. Processes whose parents have ended become its children, so it can find and kill
//!    everything that the tool started, also what left the process group and the session. It kills where a limit is reached, where it is
//!    asked to, and where the process that started it is gone. Then it removes the working folder.
//! 2. The *confined* process sets its limits and becomes the tool.

mod confinement;
mod folder;
mod order;
mod processes;
mod supervisor;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) use order::{Order, Report, STOP, receive, send};

/// The arguments of the two processes.
pub(crate) const SUPERVISE: &str = "supervise";
const CONFINE: &str = "confine";

/// The command that calls [`launch`]: a hidden command of the program, or a program of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// The absolute path of the program.
    pub program: PathBuf,
    /// Its first arguments, which the argument for [`launch`] follows.
    pub arguments: Vec<OsString>,
}

impl Launcher {
    /// The program that runs, also where its file was replaced since it started, with the arguments that lead to [`launch`].
    pub fn this_program(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { program: "/proc/self/exe".into(), arguments: arguments.into_iter().map(Into::into).collect() }
    }
}

/// What the hidden command does: `arguments` are those after the ones of the [`Launcher`]. It must be called before the program starts
/// threads, and by the hidden command only. Standard input is a socket to the process that runs the tool.
pub fn launch(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let ended = match (arguments.next().as_deref().and_then(|text| text.to_str()), arguments.next()) {
        (Some(SUPERVISE), None) => supervisor::supervise(),
        (Some(CONFINE), None) => confinement::confine(),
        _ => Err(std::io::Error::other("this command is called by the program itself, to run tools")),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the launcher of tools failed: {error}");
            ExitCode::FAILURE
        }
    }
}
