//! SQL kept in files: every dialect of a crate holds the same statements, each once, each used, and none is missing. What is
//! the same in every dialect stands once, in `shared`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::place;

/// The folder of the statements that are the same in every dialect.
const SHARED: &str = "shared";

/// A statement and what it says, without line ends and with PostgreSQL's placeholders.
type Named = (String, String);

/// Per file name, the statements it opens, in order.
type Dialect = BTreeMap<PathBuf, Vec<Named>>;

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
    let known: BTreeSet<String> = dialects.values().flat_map(names).map(ToOwned::to_owned).collect();
    compare(&name, dialects, faults);

    let mut used = BTreeSet::new();
    for file in files_below(&folder.join("src"), "rs")? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        used.extend(named_in_code(&text));
    }
    for missing in used.difference(&known) {
        faults.push(format!("crates/{name}: the code names the statement {missing:?}, which no file holds"));
    }
    for unused in known.difference(&used) {
        faults.push(format!("crates/{name}: the statement {unused:?} is never used"));
    }
    Ok(())
}

/// Duplicates within a dialect, differences between dialects, and what need not differ.
fn compare(name: &str, mut dialects: BTreeMap<String, Dialect>, faults: &mut Vec<String>) {
    let shared = dialects.remove(SHARED).unwrap_or_default();
    for (dialect, files) in &dialects {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for statement in names(&shared).chain(names(files)) {
            if !seen.insert(statement) {
                faults.push(format!(
                    "crates/{name}/sql: the statement {statement:?} stands twice in {dialect} or {SHARED}"
                ));
            }
        }
    }
    let mut dialects = dialects.iter();
    let Some((first_name, first)) = dialects.next() else { return };
    for (other_name, other) in dialects {
        let files: BTreeSet<&PathBuf> = first.keys().chain(other.keys()).collect();
        for file in files {
            let of = |dialect: &Dialect| {
                dialect.get(file).map(|list| list.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>())
            };
            let (ours, theirs) = (of(first), of(other));
            if ours != theirs {
                let file = file.display();
                faults.push(format!(
                    "crates/{name}/sql: {first_name}/{file} and {other_name}/{file} hold different statements: \
                     {ours:?} and {theirs:?}"
                ));
            }
        }
        for (statement, text) in first.values().flatten() {
            if other.values().flatten().any(|(known, said)| known == statement && said == text) {
                faults.push(format!(
                    "crates/{name}/sql: the statement {statement:?} is the same in {first_name} and {other_name}: keep it in \
                     {SHARED}, with ?1 and so on"
                ));
            }
        }
    }
}

fn names(dialect: &Dialect) -> impl Iterator<Item = &str> {
    dialect.values().flatten().map(|(name, _)| name.as_str())
}

/// What stands behind each `-- name:`, up to the next one or a list.
fn statements(text: &str) -> Vec<Named> {
    let blocks = text.split("-- name:").skip(1).map(|block| block.split("-- list:").next().unwrap_or(block));
    let blocks = blocks.map(|block| block.split_once('\n').unwrap_or((block, "")));
    let said = |sql: &str| sql.split_whitespace().collect::<Vec<_>>().join(" ").replace('?', "$");
    blocks.map(|(name, sql)| (name.trim().to_owned(), said(sql))).collect()
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

    /// A dialect that says the same of each name, behind `word`.
    fn dialect(word: &str, names: &[&str]) -> Dialect {
        let blocks: Vec<String> = names.iter().map(|name| format!("-- name: {name}\n{word} {name} ?1\n")).collect();
        let text = blocks.concat();
        Dialect::from([("tasks.sql".into(), statements(&text))])
    }

    fn faults(dialects: [(&str, Dialect); 2]) -> Vec<String> {
        let mut faults = Vec::new();
        compare("queue", dialects.map(|(name, dialect)| (name.to_owned(), dialect)).into(), &mut faults);
        faults
    }

    #[test]
    fn code_names_statements_outside_comments_and_tests() {
        let code = "// Statement(\"no\")\nconst A: Statement = Statement(\"a\");\nf(Statement(\n  \"b\"));\n\
                    #[cfg(test)]\nmod tests { Statement(\"t\") }";
        assert_eq!(named_in_code(code), BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn differing_dialects_are_a_fault() {
        let pair = |ours: &[&str], theirs: &[&str]| {
            faults([("postgres", dialect("SELECT", ours)), ("sqlite", dialect("VALUES", theirs))])
        };
        assert_eq!(pair(&["a", "b"], &["b", "a"]), [""; 0]);
        assert_eq!(pair(&["a"], &["a", "b"]).len(), 1);
    }

    #[test]
    fn a_statement_that_stands_twice_is_a_fault() {
        assert_eq!(faults([("sqlite", dialect("SELECT", &["a", "a"])), (SHARED, Dialect::new())]).len(), 1);
        let both = [("sqlite", dialect("SELECT", &["a"])), (SHARED, dialect("SELECT", &["a"]))];
        assert_eq!(faults(both).len(), 1);
    }

    #[test]
    fn a_statement_that_need_not_differ_is_a_fault() {
        let postgres = Dialect::from([("tasks.sql".into(), statements("-- name: a\nSELECT a\n    $1\n"))]);
        assert_eq!(faults([("postgres", postgres), ("sqlite", dialect("SELECT", &["a"]))]).len(), 1);
    }
}
