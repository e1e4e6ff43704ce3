//! `cargo xtask mutants`: changes the code that keeps the rules, one small change at a time, and says which changes no test
//! of the owning crate notices. By hand: each change is built and tested anew, which takes minutes to hours.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::place;

/// Seconds after which a test run counts as one that noticed the change: it no longer ends.
const TIMEOUT: &str = "300";

/// Code of one crate whose every change must be noticed by tests of that crate.
struct Area {
    name: &'static str,
    package: &'static str,
    /// Below the crate's `src/`.
    files: &'static [&'static str],
    /// What is run for each change.
    tests: &'static [&'static str],
}

const AREAS: [Area; 6] = [
    Area {
        name: "ocfl",
        package: "strongroom-ocfl",
        files: &["assembly.rs", "head.rs", "purge.rs"],
        tests: &["--lib", "--test", "suite"],
    },
    Area {
        name: "storage",
        package: "strongroom-storage",
        files: &[
            "folder/assembly.rs",
            "folder/durability.rs",
            "folder/mod.rs",
            "folder/root.rs",
            "folder/write.rs",
            "layer/unsynced.rs",
        ],
        tests: &["--lib", "--test", "suite"],
    },
    Area {
        name: "s3",
        package: "strongroom-s3",
        files: &["assembly.rs", "condition.rs", "delete.rs", "multipart.rs", "put.rs"],
        tests: &["--lib", "--test", "suite"],
    },
    Area {
        name: "queue",
        package: "strongroom-queue",
        files: &["tasks/lease.rs", "tasks/settle.rs", "tasks/take_over.rs"],
        tests: &["--lib", "--test", "suite"],
    },
    Area {
        name: "registry",
        package: "strongroom-registry",
        files: &["items.rs", "leases.rs", "versions.rs", "words.rs", "work.rs"],
        tests: &["--lib", "--test", "suite"],
    },
    Area {
        name: "engine",
        package: "strongroom-engine",
        files: &[
            "fixity/repair.rs",
            "ingest/stages/record.rs",
            "ingest/stages/verify.rs",
            "ingest/stages/write.rs",
            "ingest/sweep.rs",
            "receiving/removal.rs",
        ],
        tests: &["--lib", "--tests"],
    },
];

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (name, file, is_list) = match arguments.as_slice() {
        [] => {
            for area in &AREAS {
                println!("{:10} {}", area.name, area.files.join(" "));
            }
            return Ok(ExitCode::SUCCESS);
        }
        [name] => (*name, None, false),
        [name, "--list"] => (*name, None, true),
        [name, "--file", file] => (*name, Some(*file), false),
        [name, "--file", file, "--list"] => (*name, Some(*file), true),
        _ => bail!("mutants takes AREA, --file FILE and --list"),
    };
    let Some(area) = AREAS.iter().find(|area| area.name == name) else {
        bail!("no area {name:?}; there are: {}", AREAS.map(|area| area.name).join(", "));
    };
    if let Some(file) = file.filter(|file| !area.files.contains(file)) {
        bail!("area {name} has no file {file:?}; it has: {}", area.files.join(", "));
    }
    if place::output_of(place::cargo().args(["mutants", "--version"])).is_none() {
        bail!("cargo-mutants is not installed; install it with `cargo install --locked cargo-mutants`");
    }
    let mut mutants = place::cargo();
    mutants.args(["mutants", "--package", area.package, "--jobs", "1", "--timeout", TIMEOUT, "--no-shuffle"]);
    for path in area.files.iter().filter(|path| file.is_none_or(|file| file == **path)) {
        mutants.arg("--file").arg(format!("{}/src/{path}", folder(area)));
    }
    if is_list {
        mutants.arg("--list");
    } else {
        mutants.arg("--output").arg(place::target());
        mutants.args(["--test-package", area.package, "--"]).args(area.tests);
    }
    // Failure is the answer that some were missed: cargo-mutants has named them.
    Ok(if mutants.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folder of an area's crate.
fn folder(area: &Area) -> String {
    format!("crates/{}", area.package.trim_start_matches("strongroom-"))
}

#[cfg(test)]
mod tests {
    use super::{AREAS, folder};
    use crate::place;

    #[test]
    fn every_file_of_every_area_is_there() {
        for area in &AREAS {
            for file in area.files {
                let path = place::root().join(folder(area)).join("src").join(file);
                assert!(path.is_file(), "{} names {}", area.name, path.display());
            }
        }
    }
}
