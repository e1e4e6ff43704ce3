//! SQL kept in files: every dialect of a crate holds the same statements, each once, each used, and none is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::place;

/// Per file name, the statements it opens, in order.
type Dialect = BTreeMap<PathBuf, Vec<String>>;

pub(crate) fn check(faults: &mut Vec<String>) -> Result<()> {
    for folder in place::crates()? {
        let sql = folder.join("sql");
        if sql.is_dir() {
            check_crate(&folder, &sql, faults)?;
        }
    }
    Ok(())
}

fn check_crate(folder: &Path, sql: &Path, faults: &mut Vec<String>) -> Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut dialects: BTreeMap<String, Dialect> = BTreeMap::new();
    for dialect in entries(sql)?.into_iter().filter(|path| path.is_dir()) {
        let mut files = Dialect::new();
        for file in files_below(&dialect, "sql")? {
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            files.insert(file.strip_prefix(&dialect).unwrap_or(&file).to_path_buf(), statements(&text));
        }
        let dialect_name = dialect.file_name().unwrap_or_default().to_string_lossy().into_owned();
        dialects.insert(dialect_name, files);
    }
    compare(&name, &dialects, faults);

    let mut used = BTreeSet::new();
    for file in files_below(&folder.join("src"), "rs")? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        used.extend(named_in_code(&text));
    }
    let known: BTreeSet<String> = dialects.values().flat_map(Dialect::values).flatten().cloned().collect();
    for missing in used.difference(&known) {
        faults.push(format!("crates/{name}: the code names the statement {missing:?}, which no file holds"));
    }
    for unused in known.difference(&used) {
        faults.push(format!("crates/{name}: the statement {unused:?} is never used"));
    }
    Ok(())
}

/// Duplicates within a dialect, and differences between dialects.
fn compare(name: &str, dialects: &BTreeMap<String, Dialect>, faults: &mut Vec<String>) {
    for (dialect, files) in dialects {
        let mut seen = BTreeSet::new();
        for statement in files.values().flatten() {
            if !seen.insert(statement) {
                faults.push(format!("crates/{name}/sql/{dialect}: the statement {statement:?} stands twice"));
            }
        }
    }
    let mut dialects = dialects.iter();
    let Some((first_name, first)) = dialects.next() else { return };
    for (other_name, other) in dialects {
        let files: BTreeSet<&PathBuf> = first.keys().chain(other.keys()).collect();
        for file in files {
            let of = |dialect: &Dialect| dialect.get(file).map(|list| list.iter().cloned().collect::<BTreeSet<_>>());
            let (ours, theirs) = (of(first), of(other));
            if ours != theirs {
                let file = file.display();
                faults.push(format!(
                    "crates/{name}/sql: {first_name}/{file} and {other_name}/{file} hold different statements: \
                     {ours:?} and {theirs:?}"
                ));
            }
        }
    }
}

/// The names behind `-- name:`.
fn statements(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| Some(line.trim().strip_prefix("-- name:")?.trim().to_owned())).collect()
}

/// The names in `Statement("...")`, outside comments and unit tests.
fn named_in_code(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: String =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line.trim(), ""]).collect();
    code.split("Statement(\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut entries: Vec<PathBuf> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    Ok(entries)
}

fn files_below(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            files.extend(files_below(&path, extension)?);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(statements: &[&str]) -> Dialect {
        Dialect::from([("tasks.sql".into(), statements.iter().map(ToString::to_string).collect())])
    }

    #[test]
    fn code_names_statements_outside_comments_and_tests() {
        let code = "// Statement(\"no\")\nconst A: Statement = Statement(\"a\");\nf(Statement(\n  \"b\"));\n\
                    #[cfg(test)]\nmod tests { Statement(\"t\") }";
        assert_eq!(named_in_code(code), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn differing_dialects_are_a_fault() {
        let mut faults = Vec::new();
        let pair = |left, right| BTreeMap::from([("postgres".to_owned(), left), ("sqlite".to_owned(), right)]);
        compare("queue", &pair(dialect(&["a", "b"]), dialect(&["b", "a"])), &mut faults);
        assert!(faults.is_empty(), "{faults:?}");
        compare("queue", &pair(dialect(&["a"]), dialect(&["a", "b"])), &mut faults);
        assert_eq!(faults.len(), 1);
    }

    #[test]
    fn a_statement_that_stands_twice_is_a_fault() {
        let mut faults = Vec::new();
        compare("queue", &BTreeMap::from([("sqlite".to_owned(), dialect(&["a", "a"]))]), &mut faults);
        assert_eq!(faults.len(), 1);
    }
}
