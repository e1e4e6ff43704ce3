//! A folder with a file of lines for each table, and `tables.json`, which is written last and says what must be in them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Source, Table, Tally};
use crate::DatabaseError;

/// The form of the folder that this program writes and reads.
const FORM: u32 = 1;
const LIST: &str = "tables.json";

#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    form: u32,
    schema_version: u32,
    tables: Vec<ListedTable>,
    sequences: BTreeMap<String, i64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ListedTable {
    #[serde(flatten)]
    table: Table,
    rows: u64,
    digest: String,
}

fn failed(path: &Path, act: &str, error: &dyn std::fmt::Display) -> DatabaseError {
    DatabaseError::Unavailable { act: act.to_owned(), detail: format!("{}: {error}", path.display()) }
}

fn file_of(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.copy"))
}

/// A folder that is being filled.
pub(super) struct Folder {
    path: PathBuf,
    listed: Listed,
}

/// The file of one table.
pub(super) struct TableFile {
    path: PathBuf,
    file: BufWriter<File>,
    tally: Tally,
}

impl TableFile {
    pub(super) fn add(&mut self, line: &[u8]) -> Result<(), DatabaseError> {
        self.tally.add(line);
        self.file.write_all(line).map_err(|error| failed(&self.path, "write a copy", &error))
    }
}

/// A new file, for its owner only.
fn create_private(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

impl Folder {
    pub(super) fn begin(path: &Path, schema_version: u32) -> Self {
        let listed = Listed { form: FORM, schema_version, tables: Vec::new(), sequences: BTreeMap::new() };
        Self { path: path.to_owned(), listed }
    }

    pub(super) fn table(&mut self, table: &Table) -> Result<TableFile, DatabaseError> {
        let path = file_of(&self.path, &table.name);
        let file = create_private(&path).map_err(|error| failed(&path, "make a copy", &error))?;
        Ok(TableFile { path, file: BufWriter::new(file), tally: Tally::default() })
    }

    pub(super) fn keep(&mut self, table: Table, file: TableFile) -> Result<Tally, DatabaseError> {
        let TableFile { path, file, tally } = file;
        let synced = file.into_inner().map_err(std::io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        synced.map_err(|error| failed(&path, "write a copy", &error))?;
        self.listed.tables.push(ListedTable { table, rows: tally.rows, digest: tally.digest() });
        Ok(tally)
    }

    pub(super) fn sequence(&mut self, name: String, next: i64) {
        self.listed.sequences.insert(name, next);
    }

    pub(super) fn finish(self) -> Result<(), DatabaseError> {
        let path = self.path.join(LIST);
        let fail = |error: &dyn std::fmt::Display| failed(&path, "write what was copied", error);
        let text = serde_json::to_string_pretty(&self.listed).map_err(|error| fail(&error))?;
        let mut file = create_private(&path).map_err(|error| fail(&error))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| fail(&error))?;
        File::open(&self.path).and_then(|folder| folder.sync_all()).map_err(|error| fail(&error))
    }
}

/// A folder to fill a database from.
pub struct FolderSource {
    path: PathBuf,
    listed: Listed,
}

impl FolderSource {
    /// Reads what a folder holds.
    pub fn open(path: &Path) -> Result<Self, DatabaseError> {
        let list = path.join(LIST);
        let unfit = |reason: String| DatabaseError::Schema { path: path.display().to_string(), reason };
        let text = std::fs::read_to_string(&list)
            .map_err(|error| unfit(format!("it is no complete copy of a registry: {LIST}: {error}")))?;
        let listed: Listed = serde_json::from_str(&text).map_err(|error| unfit(format!("{LIST}: {error}")))?;
        if listed.form != FORM {
            return Err(unfit(format!("it has form {}, this program knows {FORM}; use a newer program", listed.form)));
        }
        Ok(Self { path: path.to_owned(), listed })
    }

    fn listed(&self, table: &Table) -> Option<&ListedTable> {
        self.listed.tables.iter().find(|listed| listed.table == *table)
    }
}

impl Source for FolderSource {
    fn version(&mut self) -> Result<u32, DatabaseError> {
        Ok(self.listed.schema_version)
    }

    fn check(&mut self, tables: &[Table]) -> Result<(), DatabaseError> {
        let (here, there) = (self.listed.tables.len(), tables.len());
        let is_same = here == there && tables.iter().all(|table| self.listed(table).is_some());
        if is_same { Ok(()) } else { Err(failed(&self.path, "use the copy", &"it has other tables or columns")) }
    }

    fn lines(
        &mut self,
        table: &Table,
        take: &mut dyn FnMut(&[u8]) -> Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        let path = file_of(&self.path, &table.name);
        let fail = |error: &dyn std::fmt::Display| failed(&path, "read a copy", error);
        let mut file = BufReader::new(File::open(&path).map_err(|error| fail(&error))?);
        let mut line = Vec::new();
        loop {
            line.clear();
            if file.read_until(b'\n', &mut line).map_err(|error| fail(&error))? == 0 {
                return Ok(());
            }
            take(&line)?;
        }
    }

    fn expected(&self, table: &Table) -> Option<Tally> {
        // A digest that cannot be read is one that nothing has.
        self.listed(table).map(|listed| Tally::read(listed.rows, &listed.digest).unwrap_or_default())
    }

    fn next_of(&mut self, sequence: &str) -> Result<Option<i64>, DatabaseError> {
        Ok(self.listed.sequences.get(sequence).copied())
    }
}
