//! The systemd units of `packaging/systemd`: their commands are commands of the program, and systemd accepts them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::Place;

/// Where the units expect the program.
const INSTALLED: &str = "/usr/bin/strongroom";

fn units() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
    let mut units: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    units.sort();
    assert!(!units.is_empty());
    units
}

#[test]
fn the_commands_of_the_units_are_commands_of_the_program() {
    let place = Place::empty();
    let mut commands = 0;
    for unit in units() {
        let text = fs::read_to_string(&unit).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix("ExecStart=")) {
            let Some(arguments) = line.strip_prefix(INSTALLED) else { continue };
            commands += 1;
            // With --help the arguments are read and nothing is run.
            let arguments = arguments.replace("%I", "ingest.fetch,ingest.validate");
            place.run(arguments.split_whitespace().chain(["--help"])).succeeds();
        }
    }
    assert!(commands >= 4, "{commands} commands of the program in the units");
}

#[test]
fn systemd_accepts_the_units() {
    let is_there = Command::new("systemd-analyze").arg("--version").output().is_ok();
    if !is_there {
        println!("SKIPPED: systemd-analyze is not installed: the units are not verified");
        return;
    }
    // The units name an installed program and manual pages, which a machine that builds the program does not have.
    let place = Place::empty();
    let program = place.write("strongroom", "");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let copies = units().into_iter().map(|unit| {
        let text = fs::read_to_string(&unit).unwrap().replace(INSTALLED, program.to_str().unwrap());
        let lines = text.lines().filter(|line| !line.starts_with("Documentation=man:"));
        let text = lines.collect::<Vec<_>>().join("\n") + "\n";
        place.write(unit.file_name().unwrap().to_str().unwrap(), text)
    });
    let copies: Vec<PathBuf> = copies.collect();
    let output = Command::new("systemd-analyze").arg("verify").args(&copies).output().unwrap();
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && complaints.is_empty(), "{complaints}");
}
