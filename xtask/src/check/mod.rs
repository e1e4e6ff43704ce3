//! `cargo xtask check`: what must hold besides the tests. Every step runs, then all that is wrong is reported.

mod layers;
mod links;
mod shown;
mod sql;
mod words;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::place;

/// A named step that adds what it finds wrong to a list.
type Step = (&'static str, fn(&mut Vec<String>) -> Result<()>);

const STEPS: [Step; 8] = [
    ("words", words::check),
    ("layers", layers::check),
    ("links", links::check),
    ("shown", shown::check),
    ("sql", sql::check),
    ("fmt", format),
    ("lints", lints),
    ("docs", rustdoc),
];

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    if let Some(unknown) = arguments.iter().find(|wanted| !STEPS.iter().any(|(name, _)| name == wanted)) {
        bail!("no check {unknown:?}; there are: {}", STEPS.map(|(name, _)| name).join(" "));
    }
    let mut all_is_well = true;
    for (name, step) in STEPS {
        if !arguments.is_empty() && !arguments.iter().any(|wanted| wanted == name) {
            continue;
        }
        let mut faults = Vec::new();
        if let Err(error) = step(&mut faults) {
            faults.push(format!("{error:#}"));
        }
        for fault in &faults {
            println!("{name}: {fault}");
        }
        println!("{name}: {}", if faults.is_empty() { "ok".into() } else { format!("{} wrong", faults.len()) });
        all_is_well &= faults.is_empty();
    }
    Ok(if all_is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn format(_: &mut Vec<String>) -> Result<()> {
    place::succeed(place::cargo().args(["fmt", "--all", "--check"]))
}

fn lints(faults: &mut Vec<String>) -> Result<()> {
    let clippy = |arguments: &[&str]| {
        place::succeed(place::cargo().args(["clippy", "--all-targets"]).args(arguments).args(["--", "-D", "warnings"]))
    };
    if let Err(error) = clippy(&["--workspace"]) {
        faults.push(format!("{error:#}"));
    }
    for folder in place::crates()? {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        if let Some(package) = package_with_failpoints(&manifest)
            && let Err(error) = clippy(&["--package", package, "--features", "failpoints"])
        {
            faults.push(format!("{error:#}"));
        }
    }
    Ok(())
}

/// The package's name, where the manifest declares a feature `failpoints`.
fn package_with_failpoints(manifest: &str) -> Option<&str> {
    let has_feature = manifest.lines().any(|line| line.split('=').next().is_some_and(|key| key.trim() == "failpoints"));
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))?;
    has_feature.then_some(name)
}

fn rustdoc(_: &mut Vec<String>) -> Result<()> {
    place::succeed(place::cargo().args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_with_fail_points_are_found_by_their_feature() {
        let manifest = "[package]\nname = \"strongroom\"\n\n[features]\nfailpoints = [\"engine/failpoints\"]\n";
        assert_eq!(package_with_failpoints(manifest), Some("strongroom"));
        assert_eq!(package_with_failpoints("[package]\nname = \"strongroom\"\n"), None);
    }
}
