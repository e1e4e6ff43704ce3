//! A chain as a table, with the columns of the audit log of DuraCloud. For people and spreadsheets: it cannot be verified.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use strongroom_listing::{csv, tsv};
use strongroom_registry::RegistryError;
use strongroom_registry::audit::{self as rows, RangeRow, VersionFile};

use super::copies::open_entries;
use super::entry::INGESTION;
use super::export::{Sink, unwritten};
use crate::{EngineError, Home, paging};

/// The columns, in the order of DuraCloud's.
const COLUMNS: [&str; 14] = [
    "account",
    "store-id",
    "space-id",
    "content-id",
    "content-md5",
    "content-size",
    "content-mimetype",
    "content-properties",
    "space-acls",
    "source-space-id",
    "source-content-id",
    "timestamp",
    "action",
    "username",
];
/// Files of a version that are listed at once.
const AT_ONCE: usize = 500;

/// The table of one chain.
pub(super) struct Table<'h> {
    home: &'h Home,
    path: PathBuf,
    part: PathBuf,
    writer: BufWriter<File>,
    rows: u64,
}

impl<'h> Table<'h> {
    pub(super) fn create(home: &'h Home, path: &Path) -> Result<Self, EngineError> {
        let part = path.with_extension("part");
        let made = fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).and_then(|()| File::create(&part));
        let writer = BufWriter::new(made.map_err(|source| unwritten(path, source))?);
        let mut table = Self { home, path: path.to_owned(), part, writer, rows: 0 };
        table.line(&COLUMNS.map(str::to_owned))?;
        Ok(table)
    }

    fn line(&mut self, cells: &[String; 14]) -> Result<(), EngineError> {
        let cells: Vec<Cow<'_, str>> = cells.iter().map(|cell| guarded(cell)).collect();
        let line = tsv::line(cells.iter().map(Cow::as_ref));
        writeln!(self.writer, "{line}").map_err(|source| unwritten(&self.path, source))
    }

    fn entry(&mut self, entry: &Value) -> Result<(), EngineError> {
        let text = |name: &str| match entry.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let actor = entry.get("actor").and_then(|actor| actor.get("name")).and_then(Value::as_str);
        let row = |act: &str, file: Option<&VersionFile>| {
            let (path, md5, size, mime) = match file {
                Some(file) => {
                    (file.path.clone(), file.md5.to_hex(), file.size.to_string(), file.mime.clone().unwrap_or_default())
                }
                None => (text("path"), String::new(), String::new(), String::new()),
            };
            [
                text("chain"),
                text("store"),
                text("object"),
                path,
                md5,
                size,
                mime,
                text("detail"),
                String::new(),
                String::new(),
                String::new(),
                text("time"),
                act.to_owned(),
                actor.map_or_else(|| text("agent"), str::to_owned),
            ]
        };
        let act = text("act");
        if act != INGESTION || text("source") != "version" {
            self.rows += 1;
            return self.line(&row(&action(&act), None));
        }
        let Ok(version) = text("id").parse() else { return Ok(()) };
        let home = self.home;
        let list = |after, limit| home.registry.read(|tx| rows::files_of_version(tx, version, after, limit));
        let mut files = 0;
        for file in paging::rows(AT_ONCE, |file: &VersionFile| file.file, list) {
            let file = file.map_err(|error: RegistryError| EngineError::from(error))?;
            self.line(&row("ADD_CONTENT", Some(&file)))?;
            files += 1;
        }
        if files == 0 {
            // What it brought was deleted since, or it brought nothing.
            self.line(&row(&action(&act), None))?;
            files = 1;
        }
        self.rows += files;
        Ok(())
    }
}

impl Sink for Table<'_> {
    fn take(&mut self, home: &Home, range: &RangeRow) -> Result<(), EngineError> {
        let mut reader = BufReader::new(open_entries(home, range)?);
        let mut line = String::new();
        loop {
            line.clear();
            let read = reader.read_line(&mut line).map_err(|source| unwritten(&self.path, source))?;
            if read == 0 {
                return Ok(());
            }
            let entry = serde_json::from_str(&line);
            let entry: Value = entry.map_err(|error| RegistryError::Corrupt {
                wanted: "an entry of an audit chain",
                found: error.to_string(),
            })?;
            self.entry(&entry)?;
        }
    }

    fn finish(mut self: Box<Self>) -> Result<u64, EngineError> {
        let done = self.writer.flush().and_then(|()| self.writer.get_ref().sync_all());
        done.and_then(|()| fs::rename(&self.part, &self.path)).map_err(|source| unwritten(&self.path, source))?;
        Ok(self.rows)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// The word of DuraCloud for an act; of others the act itself.
fn action(act: &str) -> String {
    match act {
        "deletion" => "DELETE_CONTENT".to_owned(),
        "replication" => "COPY_CONTENT".to_owned(),
        other => other.to_uppercase().replace(' ', "_"),
    }
}

/// A spreadsheet would carry out a cell that begins as a formula does: it gets an apostrophe before it.
fn guarded(cell: &str) -> Cow<'_, str> {
    if csv::is_formula(cell.as_bytes()) { Cow::Owned(format!("'{cell}")) } else { Cow::Borrowed(cell) }
}
