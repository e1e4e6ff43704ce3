//! `cargo xtask setup`: says which tools are there, and installs what can be installed.

use std::process::{Command, ExitCode};

use anyhow::{Result, bail};

use crate::peers::Peers;
use crate::{place, services};

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let with_peers = match arguments {
        [] => true,
        [only] if only == "--no-peers" => false,
        _ => bail!("setup takes --no-peers or nothing"),
    };
    let mut is_complete = true;
    for (tool, argument, purpose) in [
        ("rustc", "--version", "builds everything"),
        ("cc", "--version", "builds sqlite"),
        ("python3", "--version", "runs the peers of the tests"),
        ("go", "version", "builds minio for the tests"),
        ("git", "--version", "lists the files for `check`"),
    ] {
        let version = place::output_of(Command::new(tool).arg(argument));
        is_complete &= version.is_some();
        let answer = version.as_deref().and_then(|text| text.lines().next()).unwrap_or("MISSING");
        println!("{tool:10} {answer} ({purpose})");
    }
    for (component, subcommand) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if place::output_of(place::cargo().args([subcommand, "--version"])).is_none() {
            place::succeed(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    let peers = if with_peers { Peers::installed()? } else { Peers::found() };
    println!("{:10} {}", "peers", if peers.are_complete() { "installed" } else { "not installed" });
    for (name, is_there) in services::set_up(with_peers)? {
        println!("{name:10} {}", if is_there { "installed" } else { "not installed" });
    }
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
