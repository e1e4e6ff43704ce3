//! Which crate may depend on which: as the table of crates in `ARCHITECTURE.md` says, and each on crates above it in that table. And
//! which module may use which: the command line calls the application layer, and nothing below the application layer uses it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use crate::place;

/// What the command line may use of the engine: the application layer, and the settings that it opens a home with.
const DOORS: [&str; 2] = ["app", "settings"];
/// Functions that say what an error means, that put numbers and errors into words, and that arm the fail points of a test.
const FUNCTIONS: [&str; 4] = ["chain", "counted", "without_system_codes", "arm_crash_points"];
/// The crates behind the application layer.
const BEHIND: [&str; 4] = ["strongroom_registry", "strongroom_queue", "strongroom_records", "strongroom_database"];
/// Files that go past the application layer: where errors of every crate become exit codes, where events become log lines, and a
/// command that needs no home.
const PAST: [&str; 3] = ["failure.rs", "logging.rs", "commands/identify/mod.rs"];

pub(crate) fn check(faults: &mut Vec<String>) -> Result<()> {
    let root = place::root();
    check_table(&root, faults)?;
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

/// Compares the table of crates with what each `Cargo.toml` says.
fn check_table(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let rows = rows(&std::fs::read_to_string(root.join("ARCHITECTURE.md"))?);
    for folder in place::crates()? {
        let folder = folder.strip_prefix(root).unwrap_or(&folder).display().to_string();
        if !rows.iter().any(|row| row.folder == folder) {
            faults.push(format!("ARCHITECTURE.md: its table of crates has no row for {folder}"));
        }
    }
    let mut above = BTreeSet::new();
    for row in rows {
        let manifest = std::fs::read_to_string(root.join(&row.folder).join("Cargo.toml"))?;
        let found = dependencies(&manifest);
        if row.depends_on != found {
            let (folder, found) = (&row.folder, Vec::from_iter(found).join(", "));
            faults.push(format!(
                "ARCHITECTURE.md: {folder} depends on {found}; next: correct its row in the table of crates"
            ));
        }
        for below in row.depends_on.difference(&above) {
            faults.push(format!(
                "ARCHITECTURE.md: {} depends on {below}, which is not above it in the table",
                row.folder
            ));
        }
        above.insert(row.folder.rsplit('/').next().unwrap_or_default().to_owned());
    }
    Ok(())
}

/// A row of the table of crates.
struct Row {
    folder: String,
    depends_on: BTreeSet<String>,
}

fn rows(text: &str) -> Vec<Row> {
    let in_code = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let row = |line: &str| {
        let [_, folder, _, depends_on, _] = line.split('|').collect::<Vec<_>>()[..] else { return None };
        let folder = in_code(folder).pop().filter(|folder| folder == "xtask" || folder.starts_with("crates/"))?;
        Some(Row { folder, depends_on: in_code(depends_on).into_iter().collect() })
    };
    text.lines().filter_map(row).collect()
}

/// The crates of this repository that a manifest names as dependencies, not counting those of tests only.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut is_counted = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_counted = line.trim() == "[dependencies]";
        } else if let Some(name) = line.strip_prefix("strongroom-").filter(|_| is_counted) {
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(name.len());
            found.insert(name[..end].to_owned());
        }
    }
    found
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
    fn dependencies_are_read_from_the_manifest_and_from_the_table() {
        let manifest = "[package]\nname = \"strongroom-x\"\n[dependencies]\nstrongroom-s3-double = { path = \"..\" }\n\
                        strongroom-digest.workspace = true\nserde = \"1\"\n[dev-dependencies]\nstrongroom-ocfl.workspace = true\n";
        assert_eq!(dependencies(manifest), BTreeSet::from(["digest".to_owned(), "s3-double".to_owned()]));
        let rows = rows(
            "| crate | purpose | depends on |\n|---|---|---|\n| `crates/x` | does `y` | `a`, `b` |\n| `docs` | | |\n",
        );
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].folder, "crates/x");
        assert_eq!(rows[0].depends_on, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn the_engine_does_not_know_the_layer_above_it() {
        assert!(of_engine("use crate::app::OpContext;").is_some());
        assert_eq!(of_engine("//! See [`crate::app`]."), None);
    }
}
