//! Statements by name, kept in `.sql` files: `-- name: lease_ready` opens one, the next such line or the end closes it. A
//! statement that is the same in every dialect is kept once, with SQLite's placeholders (`?1`); PostgreSQL's are put in their
//! place when it is loaded.

use std::borrow::Cow;
use std::collections::HashMap;

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

/// The statements of one dialect, by name.
#[derive(Debug, Default, Clone)]
pub struct Statements(HashMap<&'static str, Cow<'static, str>>);

impl Statements {
    /// Takes every statement of a file of this dialect. Two statements of one name are a defect, which debug builds report.
    #[must_use]
    pub fn with(self, file: &'static str) -> Self {
        self.with_shared(Placeholders::QuestionMarks, file)
    }

    /// Takes every statement of a file that all dialects share, for the dialect with these placeholders.
    #[must_use]
    pub fn with_shared(mut self, placeholders: Placeholders, file: &'static str) -> Self {
        for block in file.split("-- name:").skip(1) {
            let (name, sql) = block.split_once('\n').unwrap_or((block, ""));
            let earlier = self.0.insert(name.trim(), placeholders.put_into(sql.trim()));
            debug_assert!(earlier.is_none(), "there are two statements named {}", name.trim());
        }
        self
    }

    /// The SQL of a statement.
    pub fn sql(&self, statement: Statement) -> Option<&str> {
        self.0.get(statement.0).map(AsRef::as_ref)
    }

    /// Every name, in no order: for the test that all dialects hold the same set.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.keys().copied()
    }

    /// The statements of both sets.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (name, sql) in other.0 {
            let earlier = self.0.insert(name, sql);
            debug_assert!(earlier.is_none(), "there are two statements named {name}");
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- name: a\nSELECT ?1, ?12, 'why?'\n-- name: b\nSELECT 1\n";

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
