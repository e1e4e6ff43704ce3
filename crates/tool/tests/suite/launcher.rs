//! The launcher of the tests: what a hidden command of the program does. With `run SCRATCH SCRIPT` it also is a program that runs a tool,
//! for tests that kill it.

use std::process::ExitCode;

use strongroom_tool::{Launcher, Runner, Subject, launch};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [word, scratch, script] = arguments.as_slice() else { return launch(arguments) };
    if word != "run" {
        return launch(arguments);
    }
    let tool = format!("name = \"script\"\nprogram = \"/bin/sh\"\narguments = [{:?}]", script.to_string_lossy());
    let tool = toml::from_str::<strongroom_tool::Tool>(&tool).unwrap().prepare().unwrap();
    let runner = Runner::new(Launcher::this_program(Vec::<String>::new()), scratch);
    let run = runner.run(&tool, &Subject::of(script), &|| Ok(())).unwrap();
    println!("{}", run.outcome);
    ExitCode::SUCCESS
}
