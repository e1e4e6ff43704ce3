//! Tests that pages of the book name. In a table of which a column is called "shown by", every code span of that column is a function of the
//! workspace.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use crate::place;

const COLUMN: &str = "shown by";

pub(crate) fn check(faults: &mut Vec<String>) -> Result<()> {
    let root = place::root();
    let (mut known, mut pages) = (BTreeSet::new(), Vec::new());
    for path in place::files()? {
        let read =
            || std::fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {}", path.display()));
        if path.extension() == Some("rs".as_ref()) {
            known.extend(functions(&read()?));
        } else if path.starts_with("docs") && path.extension() == Some("md".as_ref()) {
            let text = read()?;
            pages.push((path, text));
        }
    }
    for (page, text) in &pages {
        check_page(page, text, &known, faults);
    }
    Ok(())
}

fn check_page(page: &Path, text: &str, known: &BTreeSet<String>, faults: &mut Vec<String>) {
    for (row, names) in rows(text) {
        if names.is_empty() {
            faults.push(format!("{}: {row:?} names no test", page.display()));
        }
        for name in names.iter().filter(|name| !known.contains(*name)) {
            faults.push(format!("{}: {row:?} names the test {name}, which does not exist", page.display()));
        }
    }
}

/// The rows of such tables: the first cell, and the names in the column.
fn rows(text: &str) -> Vec<(String, Vec<String>)> {
    let (mut rows, mut column) = (Vec::new(), None);
    for line in text.lines() {
        let Some(cells) = cells(line) else {
            column = None;
            continue;
        };
        match column {
            // A header is the first line of a table.
            None => column = Some(cells.iter().position(|cell| *cell == COLUMN)),
            Some(None) => {}
            Some(Some(_)) if cells.iter().all(|cell| cell.trim_matches(['-', ':']).is_empty()) => {}
            Some(Some(at)) => {
                let names = cells.get(at).map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect());
                rows.push((cells.first().copied().unwrap_or_default().to_owned(), names.unwrap_or_default()));
            }
        }
    }
    rows
}

/// The cells of a line of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// The names of the functions of a source.
fn functions(source: &str) -> impl Iterator<Item = String> {
    source.lines().filter_map(|line| {
        let (before, rest) = line.split_once("fn ")?;
        let is_function = before.split_whitespace().all(|word| {
            matches!(word, "pub" | "const" | "async") || word.starts_with("pub(") || word.starts_with("#[")
        });
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        (is_function && !name.is_empty()).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_that_a_page_names_exists() {
        let mut faults = Vec::new();
        check(&mut faults).expect("reads the workspace");
        assert_eq!(faults, Vec::<String>::new());
    }

    #[test]
    fn tests_of_the_column_alone_are_looked_for() {
        let text = "| what | shown by |\n|---|---|\n| one | `there`, `gone` |\n| `two` | |\n\n| what | where |\n|---|---|\n| a | `b` |\n";
        let known = functions("    pub(crate) fn there(a: u8) {\nlet x = \"fn gone\";\n").collect();
        let mut faults = Vec::new();
        check_page(Path::new("docs/a.md"), text, &known, &mut faults);
        assert_eq!(
            faults,
            ["docs/a.md: \"one\" names the test gone, which does not exist", "docs/a.md: \"`two`\" names no test",]
        );
    }
}
