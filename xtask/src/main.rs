//! `cargo xtask`: the chores of the people who work on Strongroom. CI runs the same commands as people do.

mod bench;
#[cfg(test)]
mod book;
mod chaos;
mod check;
mod fuzz;
mod go;
mod mutants;
mod peers;
mod place;
mod services;
mod setup;
mod signatures;
mod tally;
mod test;
mod tools;

use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
cargo xtask COMMAND

  setup [--no-peers]               look for the tools, install what is missing
  test [--peers | --no-peers] [CARGO TEST ARGUMENTS]
                                   every test, doc test and crash test, with other people's programs as witnesses
  check [fmt lints docs links sql words]
                                   format, lints, documentation, dead links, SQL pairs, machine paths
  bench batch|duplication|identify|ingest|records|scale|validate
        [--large] [--program PATH] [--part PART] [--small]
                                   our time and memory beside the bare work or a peer, in one run
  chaos [--runs N] [--seed S] [--database sqlite|postgres] [--stores folders|s3|both] [--seconds T]
                                   the real program among kills, sleep, people and failing stores
  fuzz [TARGET [--seconds N]]      list the fuzz targets, or run one
  mutants [AREA [--file FILE] [--list]]
                                   list the code that keeps the rules, or say which changes of it no test notices
  signatures BINARY.xml CONTAINER.xml
                                   make the signatures that ship with the program
  peers                            install the programs that tests compare with
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    let Some((command, rest)) = arguments.split_first() else {
        print!("{USAGE}");
        return Ok(ExitCode::FAILURE);
    };
    match command.as_str() {
        "setup" => setup::run(rest),
        "test" => test::run(rest),
        "check" => check::run(rest),
        "bench" => bench::run(rest),
        "chaos" => chaos::run(rest),
        "fuzz" => fuzz::run(rest),
        "mutants" => mutants::run(rest),
        "signatures" => signatures::run(rest),
        "peers" => peers::run(rest),
        bench::MEASURE => bench::measure_child(rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        other => bail!("unknown command {other:?}\n\n{USAGE}"),
    }
}
