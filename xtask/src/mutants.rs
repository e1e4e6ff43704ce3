//! `cargo xtask mutants`: changes the code that keeps the rules, one small change at a time, and says which changes no test
//! of the owning crate notices. By hand: each change is built and tested anew, which takes minutes to hours.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::place;

/// Seconds after which a test run counts as one that noticed the change: it no longer ends.
const TIMEOUT: &str = "120";

/// Changes that are not made: most types have no default, so that the first only costs builds that fail; and flags that
/// are different bits are the same joined by either operator.
const LEFT_OUT: [&str; 2] = [r"Default::default\(\)\)", r"replace \| with \^"];

/// Code of one crate whose every change must be noticed by tests of that crate.
struct Area {
    /// As its folder in `crates`.
    name: &'static str,
    /// Below the crate's `src/`.
    files: &'static [&'static str],
    /// What is run for each change: tests of the binary `suite` by the beginnings of their names, or all.
    tests: &'static [&'static str],
    /// The crate's unit tests are run too.
    with_unit_tests: bool,
}

const AREAS: [Area; 6] = [
    Area {
        name: "ocfl",
        files: &["assembly.rs", "head.rs", "purge.rs"],
        tests: &["guards::", "writing::", "purging::", "folder::"],
        with_unit_tests: false,
    },
    Area {
        name: "storage",
        files: &["folder/assembly.rs", "folder/durability.rs", "folder/mod.rs", "folder/root.rs", "folder/write.rs"],
        tests: &["folder::", "syncing::", "crash::", "durability::", "conformance::a_folder_is_a_store"],
        with_unit_tests: true,
    },
    Area {
        name: "s3",
        files: &["assembly.rs", "condition.rs", "delete.rs", "multipart.rs", "put.rs"],
        tests: &[],
        with_unit_tests: false,
    },
    Area {
        name: "queue",
        files: &["tasks/lease.rs", "tasks/settle.rs", "tasks/take_over.rs"],
        tests: &["sqlite::", "model::"],
        with_unit_tests: false,
    },
    Area {
        name: "registry",
        files: &[
            "model/enums.rs",
            "store/advance.rs",
            "store/claims.rs",
            "store/copies.rs",
            "store/endings.rs",
            "store/items.rs",
            "store/leases.rs",
            "store/publishing.rs",
            "store/recovery.rs",
            "store/requests.rs",
            "store/versions.rs",
            "store/waking.rs",
        ],
        tests: &["sqlite::"],
        with_unit_tests: false,
    },
    Area {
        name: "engine",
        files: &[
            "fixity/copying.rs",
            "fixity/heal.rs",
            "fixity/repair.rs",
            "fixity/replace.rs",
            "hold.rs",
            "ingest/completion.rs",
            "ingest/kept_copies.rs",
            "ingest/lease.rs",
            "ingest/stages/record.rs",
            "ingest/stages/verify.rs",
            "ingest/stages/write.rs",
            "ingest/sweep.rs",
            "ingest/version.rs",
            "ingest/workflow.rs",
            "logs.rs",
            "receiving/removal.rs",
            "watermark/comparing.rs",
            "watermark/mod.rs",
            "watermark/writing.rs",
            "workflow/handler.rs",
        ],
        tests: &[
            "ingest::",
            "fixity::",
            "receiving::",
            "adoption::",
            "backfill::",
            "rebuild::",
            "replacing::",
            "stores::",
        ],
        with_unit_tests: false,
    },
];

impl Area {
    fn package(&self) -> String {
        format!("strongroom-{}", self.name)
    }

    /// From the top of the repository.
    fn path(&self, file: &str) -> String {
        format!("crates/{}/src/{file}", self.name)
    }

    /// What `cargo test` is given.
    fn test_arguments(&self) -> Vec<&str> {
        let unit_tests = self.with_unit_tests.then_some("--lib");
        unit_tests.into_iter().chain(["--test", "suite", "--"]).chain(self.tests.iter().copied()).collect()
    }
}

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
    let package = area.package();
    let mut mutants = place::cargo();
    mutants.args(["mutants", "--package", &package]);
    mutants.args(LEFT_OUT.iter().flat_map(|pattern| ["--exclude-re", pattern]));
    for path in area.files.iter().filter(|path| file.is_none_or(|file| file == **path)) {
        mutants.arg("--file").arg(area.path(path));
    }
    if is_list {
        mutants.arg("--list");
    } else {
        mutants.args(["--jobs", "1", "--timeout", TIMEOUT, "--output"]).arg(place::target());
        mutants.args(["--test-package", &package, "--"]).args(area.test_arguments());
    }
    // Failure is the answer that some were missed: cargo-mutants has named them.
    Ok(if mutants.status()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::AREAS;
    use crate::place;

    #[test]
    fn every_file_of_every_area_is_there() {
        for area in &AREAS {
            for file in area.files {
                let path = place::root().join(area.path(file));
                assert!(path.is_file(), "{} names {}", area.name, path.display());
            }
        }
    }
}
