//! Statements by name, kept in `.sql` files: `-- name: lease_ready` opens one, the next such line or the end closes it.

use std::collections::HashMap;

/// A statement's name, as it stands behind `-- name:` in the `.sql` files of every dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Statement(pub &'static str);

/// The statements of one dialect, by name.
#[derive(Debug, Default, Clone)]
pub struct Statements(HashMap<&'static str, &'static str>);

impl Statements {
    /// Takes every statement of a file's text. Two statements of one name are a defect, which debug builds report.
    #[must_use]
    pub fn with(mut self, file: &'static str) -> Self {
        for block in file.split("-- name:").skip(1) {
            let (name, sql) = block.split_once('\n').unwrap_or((block, ""));
            let earlier = self.0.insert(name.trim(), sql.trim());
            debug_assert!(earlier.is_none(), "there are two statements named {}", name.trim());
        }
        self
    }

    /// The SQL of a statement.
    pub fn sql(&self, statement: Statement) -> Option<&'static str> {
        self.0.get(statement.0).copied()
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
