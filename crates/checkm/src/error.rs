//! Why a manifest could not be read or written, as opposed to what is wrong with it (that is a [`crate::Problem`]).

use std::io;

use crate::column::Column;
use crate::problem::{Problem, quoted};

/// What stopped the reading or writing of a manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckmError {
    /// The bytes of the manifest could not be read.
    #[error("could not read the manifest at line {line}")]
    Read {
        /// The line at which reading stopped, from 1.
        line: u64,
        /// Why it failed.
        source: io::Error,
    },
    /// The temporary file in which file names are sorted could not be written or read.
    #[error("could not sort the file names of the manifest in a temporary file")]
    Sort(#[source] io::Error),
    /// The manifest could not be written.
    #[error("could not write the manifest at row {row}")]
    Write {
        /// The row, from 1; 0 for the header.
        row: u64,
        /// Why it failed.
        source: io::Error,
    },
    /// A row would not be read back as it is.
    #[error("row {row} cannot be written: {}", first_of(problems))]
    Row {
        /// The row, from 1.
        row: u64,
        /// What a strict reader would say of it: one problem or more.
        problems: Vec<Problem>,
    },
    /// A value has no form in a manifest: a control character, text that looks like a percent form, or several values in a column that
    /// takes one.
    #[error("row {row} cannot be written: {column} has no form for {}", quoted(value))]
    Value {
        /// The row, from 1.
        row: u64,
        /// The column.
        column: Column,
        /// The value.
        value: String,
    },
    /// The profile, or the manifest as it was begun, has no such column.
    #[error("row {row} cannot be written: the manifest has no column {column}")]
    NoColumn {
        /// The row, from 1; 0 where the manifest is begun.
        row: u64,
        /// The column.
        column: Column,
    },
}

fn first_of(problems: &[Problem]) -> &str {
    problems.first().map_or("it is not valid", |problem| &problem.message)
}
