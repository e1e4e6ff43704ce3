//! Tools: programs of other people that look at a file, such as a virus scanner or a validator of a format. They are run under limits,
//! and what they answer becomes an [`Outcome`], a message and fields.
//!
//! - A [`Tool`] is the configuration: the program, its arguments, its [`Limits`], and what its exit codes and its output mean. It has
//!   the form of a TOML table. [`ready`] has configurations of some tools.
//! - A [`Runner`] runs it for a [`Subject`]. The result is a [`Run`].
//! - [`launch`] is what a hidden command of the program calls: tools are started by the program itself, see [`Launcher`].
//!
//! ```standalone_crate
//! use std::process::ExitCode;
//!
//! use strongroom_tool::{Launcher, Outcome, Runner, Subject, Tool, launch};
//!
//! fn main() -> ExitCode {
//!     // The hidden command: before anything else, and before there are threads.
//!     let mut arguments = std::env::args_os().skip(1);
//!     if arguments.next().is_some_and(|first| first == "tool-launcher") {
//!         return launch(arguments);
//!     }
//!     look().unwrap();
//!     ExitCode::SUCCESS
//! }
//!
//! fn look() -> Result<(), Box<dyn std::error::Error>> {
//!     let tool: Tool = toml::from_str(
//!         r#"
//!         name = "lines"
//!         program = "wc"
//!         arguments = ["-l", "{file}"]
//!         limits = { wall_seconds = 10 }
//!         rules = [{ exit = [0], field = "lines", matches = "^[1-9]", outcome = "pass" }, { exit = [0], outcome = "fail" }]
//!         output = { format = "pattern", pattern = '^(?P<lines>\d+)' }
//!         "#,
//!     )?;
//!     let tool = tool.prepare()?;
//!     let folder = tempfile::tempdir()?;
//!     let file = folder.path().join("poem.txt");
//!     std::fs::write(&file, "one\ntwo\n")?;
//!
//!     let runner = Runner::new(Launcher::this_program(["tool-launcher"]), folder.path());
//!     let run = runner.run(&tool, &Subject::of(&file), &|| Ok(()))?;
//!     assert_eq!(run.outcome, Outcome::Pass);
//!     assert_eq!(run.fields["lines"], ["2"]);
//!     Ok(())
//! }
//! ```
//!
//! # What a tool cannot do
//!
//! It cannot run longer, use more processor time, memory, processes or open files, or write more output or larger files than its
//! limits say; [`Limits`] says which of them the kernel keeps. It has no shell, no variables but those of its configuration, no open
//! descriptors but the three of every program, and no way to more privileges (`no_new_privs`). Without [`Tool::network`] it can open
//! Unix sockets only, as `clamdscan` needs. When it ends, or is killed, or the program that runs it is killed, every process that it
//! started is killed as well: all of them stay in one process group, and requests for another one do nothing. Then its working folder is removed.
//!
//! # What is not prevented
//!
//! - The tool runs as the user of the program. It can read and change what that user can, kill that user's processes, and ask
//!   services of the system through Unix sockets, also to start programs that are not its own. A tool is a program that the operator
//!   trusts and that may have faults; one that is itself hostile needs a user or a container of its own.
//! - Where a tool kills or stops its supervisor, the kernel kills the tool, and the program finds the processes that it started by
//!   the variable `TMPDIR` in their environment. One that has another environment stays, and all but the tool itself stay where the
//!   program is killed as well.
//! - A program in a format that the kernel does not know is read by `/bin/sh`, as execvp(3) does.
//! - Processes and memory are looked at every 50 ms, or less often where the system has thousands of processes. Between two looks a tool
//!   can use more; what the kernel refuses by itself is one and a half times the memory for a process, and 64 threads for each allowed
//!   process. The latter does not apply to root.
//! - Files outside of the working folder are not counted, and each may be as large as one file may be. More than 10,000 entries in the
//!   working folder are not counted either.
//! - A process that the kernel cannot kill, because it waits for a broken disk or network file system, stays. The run ends with an error
//!   after 30 s then.

mod error;
mod launcher;
mod limits;
mod output;
mod printable;
mod process;
pub mod ready;
mod rules;
mod run;
mod strays;
mod template;
mod tool;

pub use error::ToolError;
pub use launcher::{Launcher, launch};
pub use limits::{Limit, Limits};
pub use output::{Fields, Format, Output, Stream};
pub use rules::{Outcome, Rule};
pub use run::{Check, End, Run, Runner, Subject, find_program};
pub use tool::{Input, PreparedTool, Tool, VersionCommand};
