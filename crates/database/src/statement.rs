//! Statements by name, kept in `.sql` files: `-- name: lease_ready` opens one, the next such line or the end closes it. A
//! statement that is the same in every dialect is kept once, with SQLite's placeholders (`?1`); PostgreSQL's are put in their
//! place when it is loaded. What several statements have in common is a list: `-- list: items.columns` opens one, and
//! `{items.columns}` in a statement of the same or a later file is replaced by it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// A statement's name, as it stands behind `-- name:` in the `.sql` files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Statement(pub &'static str);

/// How a dialect writes the place of a value in a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholders {
    /// `?1`: SQLite.
    QuestionMarks,
    /// `$1`: PostgreSQL.
    Dollars,
}

impl Placeholders {
    /// Puts this dialect's placeholders in the place of `?1` and so on. A question mark without a number stays.
    fn put_into(self, sql: &'static str) -> Cow<'static, str> {
        if self == Self::QuestionMarks {
            return Cow::Borrowed(sql);
        }
        let mut translated = String::with_capacity(sql.len());
        let mut characters = sql.chars().peekable();
        while let Some(character) = characters.next() {
            let is_place = character == '?' && characters.peek().is_some_and(char::is_ascii_digit);
            translated.push(if is_place { '$' } else { character });
        }
        Cow::Owned(translated)
    }
}

/// What opens a statement, and what a list.
const NAME: &str = "-- name:";
const LIST: &str = "-- list:";

/// The statements of one dialect, by name.
#[derive(Debug, Default, Clone)]
pub struct Statements {
    statements: HashMap<&'static str, Cow<'static, str>>,
    /// What statements have in common, by name.
    lists: BTreeMap<&'static str, &'static str>,
}

impl Statements {
    /// Takes every statement of a file of this dialect. Two statements of one name are a defect, which debug builds report.
    #[must_use]
    pub fn with(self, file: &'static str) -> Self {
        self.with_shared(Placeholders::QuestionMarks, file)
    }

    /// Takes every statement of a file that all dialects share, for the dialect with these placeholders.
    #[must_use]
    pub fn with_shared(mut self, placeholders: Placeholders, file: &'static str) -> Self {
        let known = self.lists.len();
        for (name, list) in blocks(file, LIST) {
            let earlier = self.lists.insert(name, list);
            debug_assert!(earlier.is_none(), "there are two lists named {name}");
        }
        // A statement that all dialects share may name a list that each dialect has of its own.
        if self.lists.len() > known {
            self.statements.values_mut().for_each(|sql| put_lists_into(sql, &self.lists));
        }
        for (name, sql) in blocks(file, NAME) {
            let mut sql = placeholders.put_into(sql);
            put_lists_into(&mut sql, &self.lists);
            let earlier = self.statements.insert(name, sql);
            debug_assert!(earlier.is_none(), "there are two statements named {name}");
        }
        self
    }

    /// The SQL of a statement.
    pub fn sql(&self, statement: Statement) -> Option<&str> {
        self.statements.get(statement.0).map(AsRef::as_ref)
    }

    /// Every name, in no order: for the test that all dialects hold the same set.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.statements.keys().copied()
    }

    /// The statements of both sets.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (name, sql) in other.statements {
            let earlier = self.statements.insert(name, sql);
            debug_assert!(earlier.is_none(), "there are two statements named {name}");
        }
        self.lists.extend(other.lists);
        self
    }
}

/// Puts lists into a statement that names them, and those that they name themselves.
fn put_lists_into(sql: &mut Cow<'static, str>, lists: &BTreeMap<&'static str, &'static str>) {
    // No chain of lists that name each other is longer than that.
    for _ in lists {
        if !sql.contains('{') {
            return;
        }
        let mut has_changed = false;
        for (name, list) in lists {
            let place = format!("{{{name}}}");
            if sql.contains(&place) {
                *sql = Cow::Owned(sql.replace(&place, list));
                has_changed = true;
            }
        }
        if !has_changed {
            return;
        }
    }
}

/// The blocks of a file that are opened by this word: their names, and what stands in them.
fn blocks(file: &'static str, opened_by: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let openings = file.match_indices("-- ").map(|(place, _)| place);
    let is_opening =
        |place: &usize| file.get(*place..).is_some_and(|rest| [NAME, LIST].iter().any(|word| rest.starts_with(word)));
    let openings: Vec<usize> = openings.filter(is_opening).collect();
    let ends: Vec<usize> = openings.iter().skip(1).copied().chain([file.len()]).collect();
    let blocks: Vec<_> = openings
        .into_iter()
        .zip(ends)
        .filter_map(|(begin, end)| file.get(begin..end)?.strip_prefix(opened_by))
        .map(|block| block.split_once('\n').unwrap_or((block, "")))
        .map(|(name, text)| (name.trim(), without_comment_behind(text)))
        .collect();
    blocks.into_iter()
}

/// A block without the comment at its end, which is about the block that follows.
fn without_comment_behind(text: &'static str) -> &'static str {
    let mut text = text.trim();
    while text.lines().next_back().is_some_and(|line| line.starts_with("--")) {
        text = text.rsplit_once('\n').map_or("", |(before, _)| before).trim_end();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- name: a\nSELECT ?1, ?12, 'why?'\n-- name: b\nSELECT 1\n";

    #[test]
    fn a_shared_statement_may_name_a_list_of_the_dialect() {
        let shared = "-- name: all\nSELECT {columns} FROM t\n";
        let statements = Statements::default().with_shared(Placeholders::QuestionMarks, shared);
        let statements = statements.with("-- list: columns\na, b\n");
        assert_eq!(statements.sql(Statement("all")), Some("SELECT a, b FROM t"));
    }

    #[test]
    fn a_list_stands_in_every_statement_that_names_it() {
        let shared = "-- list: columns\na, b\n-- name: all\nSELECT {columns} FROM t\n";
        let own = "-- name: one\nSELECT {columns} FROM t WHERE a = ?1\n";
        let statements = Statements::default().with_shared(Placeholders::Dollars, shared).with(own);
        assert_eq!(statements.sql(Statement("all")), Some("SELECT a, b FROM t"));
        assert_eq!(statements.sql(Statement("one")), Some("SELECT a, b FROM t WHERE a = ?1"));
        assert_eq!(statements.names().count(), 2, "a list is no statement");
    }

    #[test]
    fn a_list_may_name_others_whatever_they_are_called() {
        let file = "-- list: a\n1\n-- list: b\n{a}, {c}\n-- list: c\n2\n-- name: all\nSELECT {b}\n";
        let statements = Statements::default().with(file);
        assert_eq!(statements.sql(Statement("all")), Some("SELECT 1, 2"));
    }

    #[test]
    fn a_comment_between_two_lists_is_part_of_neither() {
        let file =
            "-- list: a\n1\n-- What b is,\n-- and why.\n-- list: b\n2\n-- name: all\nSELECT {a}, {b}\n\n-- The end.\n";
        let statements = Statements::default().with(file);
        assert_eq!(statements.sql(Statement("all")), Some("SELECT 1, 2"));
    }

    #[test]
    fn a_shared_statement_has_the_placeholders_of_its_dialect() {
        let sql = |placeholders| {
            let statements = Statements::default().with_shared(placeholders, FILE);
            statements.sql(Statement("a")).map(str::to_owned)
        };
        assert_eq!(sql(Placeholders::QuestionMarks).as_deref(), Some("SELECT ?1, ?12, 'why?'"));
        assert_eq!(sql(Placeholders::Dollars).as_deref(), Some("SELECT $1, $12, 'why?'"));
    }
}
