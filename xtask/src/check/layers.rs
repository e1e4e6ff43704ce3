//! Who may know whom: the command line calls the application layer, and nothing below the application layer knows of it.

use std::path::Path;

use anyhow::Result;

use crate::place;

/// What the command line may use of the engine: the application layer, and the settings that it opens a home with.
const DOORS: [&str; 2] = ["app", "settings"];
/// Functions that say what an error means, and that arm the fail points of a test.
const FUNCTIONS: [&str; 2] = ["chain", "arm_crash_points"];
/// The crates behind the application layer.
const BEHIND: [&str; 3] = ["strongroom_registry", "strongroom_queue", "strongroom_database"];
/// Files that go past the application layer: where errors of every crate become exit codes, where events become log lines, and a
/// command that needs no home.
const PAST: [&str; 3] = ["failure.rs", "logging.rs", "commands/identify.rs"];

pub(crate) fn check(faults: &mut Vec<String>) -> Result<()> {
    let root = place::root();
    for path in place::files()? {
        let rules: fn(&str) -> Option<String> = if path.starts_with("crates/cli/src") && !is_past(&path) {
            of_command_line
        } else if path.starts_with("crates/engine/src") && !path.starts_with("crates/engine/src/app") {
            of_engine
        } else {
            continue;
        };
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if let Some(fault) = rules(line) {
                faults.push(format!("{}:{}: {fault}", path.display(), number + 1));
            }
        }
    }
    Ok(())
}

fn is_past(path: &Path) -> bool {
    PAST.iter().any(|past| path == Path::new("crates/cli/src").join(past))
}

fn of_command_line(line: &str) -> Option<String> {
    let line = code_of(line);
    if let Some(behind) = BEHIND.iter().find(|name| line.contains(*name)) {
        return Some(format!("the command line uses {behind}; next: ask a function of engine/src/app"));
    }
    let used = line.split("strongroom_engine::").nth(1)?;
    let names = used.strip_prefix('{').unwrap_or(used);
    let door = names.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    // Names in capitals are types and errors, which answers are made of.
    let is_module = door.starts_with(|c: char| c.is_ascii_lowercase()) && !FUNCTIONS.contains(&door);
    (is_module && !DOORS.contains(&door))
        .then(|| format!("the command line uses {door} of the engine; next: ask a function of engine/src/app"))
}

fn of_engine(line: &str) -> Option<String> {
    let line = code_of(line);
    (line.contains("crate::app") || line.contains("super::app")).then(|| {
        "what lies below the application layer knows of it; next: pass what it needs as an argument".to_owned()
    })
}

fn code_of(line: &str) -> &str {
    if line.trim_start().starts_with("//") { "" } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_may_use_the_application_layer_and_nothing_behind_it() {
        for line in [
            "use strongroom_engine::app::{self, items};",
            "use strongroom_engine::settings::Settings;",
            "use strongroom_engine::EngineError;",
            "use strongroom_bagit::Profile;",
            "// use strongroom_registry::items;",
        ] {
            assert_eq!(of_command_line(line), None, "{line}");
        }
        for line in
            ["use strongroom_registry::items;", "use strongroom_engine::fixity::run;", "use strongroom_queue::tasks;"]
        {
            assert!(of_command_line(line).is_some(), "{line}");
        }
    }

    #[test]
    fn the_engine_does_not_know_the_layer_above_it() {
        assert!(of_engine("use crate::app::OpContext;").is_some());
        assert_eq!(of_engine("//! See [`crate::app`]."), None);
    }
}
