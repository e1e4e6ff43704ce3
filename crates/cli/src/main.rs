//! The `strongroom` program: reads the command line, does one command, answers with an exit code.
//!
//! It holds no decision about preservation; those are the engine's.

mod arguments;
mod commands;
mod context;
mod examples;
mod failure;
mod logging;
mod output;
mod progress;
mod signals;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::FromArgMatches as _;

use arguments::Arguments;
use context::Context;
use failure::{Exit, Failure};

fn main() -> ExitCode {
    let mut given = std::env::args_os().skip(1);
    // Tools are started by this program itself, before anything else is done and while it has one thread.
    if given.next().is_some_and(|first| first == strongroom_engine::LAUNCHER_COMMAND) {
        return strongroom_tool::launch(given);
    }
    #[cfg(feature = "failpoints")]
    strongroom_engine::arm_crash_points();
    signals::survive_file_size_limit();
    let read = examples::command_line().try_get_matches();
    let arguments = match read.and_then(|read| Arguments::from_arg_matches(&read)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help whose reader ends early is no failure.
            let plain = error.render().to_string();
            if error.use_stderr() && std::env::args_os().skip(1).any(|argument| argument == "--json") {
                Failure::usage(plain.trim_end().trim_start_matches("error: "))
                    .next("\"strongroom help COMMAND\" explains a command")
                    .tell(true);
                return Exit::Usage.into();
            }
            let _ = if error.use_stderr() && output::printable_lines(&plain) != plain {
                writeln!(io::stderr(), "{}", output::printable_lines(plain.trim_end()))
            } else {
                error.print()
            };
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let context = Context::new(&arguments.global);
    let outcome = commands::run(arguments.command, &context).and_then(|exit| {
        context.output.flush()?;
        Ok(exit)
    });
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            let _ = context.output.flush();
            failure.tell(context.output.is_json());
            Exit::from(&failure).into()
        }
    }
}
