//! Writes a manifest that a strict reader reads back as it was given.

use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;

use crate::check::{DataLine, check, cut};
use crate::checksum::Checksum;
use crate::column::Column;
use crate::error::CheckmError;
use crate::forms::{encode, trim};
use crate::header::{DECLARATION, Header};
use crate::mode::ReadOptions;
use crate::problem::Severity;
use crate::profile::ManifestProfile;

/// A row to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRow<'a> {
    url: &'a str,
    checksum: Option<Checksum>,
    size: Option<u64>,
    texts: Vec<(Column, &'a str)>,
}

impl<'a> NewRow<'a> {
    /// A row with a URL alone: absolute, http or https, with every character that URLs do not have percent-encoded.
    pub fn new(url: &'a str) -> Self {
        Self { url, checksum: None, size: None, texts: Vec::new() }
    }

    /// States the digest.
    #[must_use]
    pub fn checksum(mut self, checksum: Checksum) -> Self {
        self.checksum = Some(checksum);
        self
    }

    /// States the size in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }

    /// Gives the value of another column than those four. A list ([`Column::is_list`]) takes several, one call each. An empty value is none.
    #[must_use]
    pub fn text(mut self, column: Column, value: &'a str) -> Self {
        if !value.is_empty() {
            self.texts.push((column, value));
        }
        self
    }
}

/// Writes a manifest, row by row. Each row is checked as a strict reader would; one that would not be read back is refused, and nothing
/// of it is written. Names that occur twice are not looked for: [`crate::validate`] does.
#[derive(Debug)]
pub struct ManifestWriter<W> {
    output: W,
    header: Header,
    rows: u64,
    line: String,
    cells: Vec<Range<usize>>,
    name: String,
}

/// Prefixes of the names of columns, with their URIs.
const PREFIXES: [(&str, &str); 2] = [
    ("mrt:", "http://merritt.cdlib.org/terms#"),
    ("nfo:", "http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#"),
];

impl<W: Write> ManifestWriter<W> {
    /// Writes the header: the columns of the profile, and further ones that a batch may have.
    pub fn new(output: W, profile: ManifestProfile, further: &[Column]) -> Result<Self, CheckmError> {
        let mut header = Header { profile: Some(profile), ..Header::default() };
        for column in profile.columns().iter().chain(further) {
            if !profile.has(*column) {
                return Err(CheckmError::NoColumn { row: 0, column: *column });
            }
            if header.position(*column).is_none() {
                header.push(Some(*column));
            }
        }
        let mut writer = Self { output, header, rows: 0, line: String::new(), cells: Vec::new(), name: String::new() };
        let mut text = format!("#%{DECLARATION}\n#%profile | {}\n", profile.uri());
        for (prefix, uri) in PREFIXES {
            let _ = writeln!(text, "#%prefix | {prefix} | {uri}");
        }
        text.push_str(if profile == ManifestProfile::Add { "#%columns" } else { "#%fields" });
        for column in writer.header.columns.iter().flatten() {
            text.push_str(" | ");
            text.push_str(column.name());
        }
        text.push('\n');
        writer.put(&text)?;
        Ok(writer)
    }

    /// Writes a row.
    pub fn row(&mut self, row: &NewRow<'_>) -> Result<(), CheckmError> {
        let number = self.rows + 1;
        if let Some((column, _)) = row.texts.iter().find(|(column, _)| self.header.position(*column).is_none()) {
            return Err(CheckmError::NoColumn { row: number, column: *column });
        }
        if let Some((column, value)) = row.texts.iter().find(|(column, _)| *column < Column::FileLastModified) {
            return Err(CheckmError::Value { row: number, column: *column, value: (*value).to_owned() });
        }
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let outcome = self.compose(row, number, &mut line).and_then(|()| {
            self.check(&line, number)?;
            line.push('\n');
            self.put(&line)
        });
        self.line = line;
        outcome?;
        self.rows = number;
        Ok(())
    }

    /// Writes the end mark and gives the output back.
    pub fn finish(mut self) -> Result<W, CheckmError> {
        self.put("#%eof\n")?;
        let row = self.rows;
        self.output.flush().map_err(|source| CheckmError::Write { row, source })?;
        Ok(self.output)
    }

    fn put(&mut self, text: &str) -> Result<(), CheckmError> {
        self.output.write_all(text.as_bytes()).map_err(|source| CheckmError::Write { row: self.rows, source })
    }

    fn compose(&self, row: &NewRow<'_>, number: u64, line: &mut String) -> Result<(), CheckmError> {
        for (at, column) in self.header.columns.iter().flatten().enumerate() {
            if at > 0 {
                line.push_str(" | ");
            }
            let refuse = |value: &str| CheckmError::Value { row: number, column: *column, value: value.to_owned() };
            match column {
                Column::FileUrl => {
                    if row.url.contains('|') || trim(row.url) != row.url {
                        return Err(refuse(row.url));
                    }
                    line.push_str(row.url);
                }
                Column::HashAlgorithm => line.push_str(row.checksum.map_or("", |checksum| checksum.algorithm().name())),
                Column::HashValue => {
                    if let Some(checksum) = row.checksum {
                        line.push_str(&checksum.value().to_hex());
                    }
                }
                Column::FileSize => {
                    if let Some(size) = row.size {
                        line.push_str(&size.to_string());
                    }
                }
                _ => {
                    let values = row.texts.iter().filter(|(named, _)| named == column).map(|(_, value)| *value);
                    for (at, value) in values.enumerate() {
                        if at > 0 && !column.is_list() {
                            return Err(refuse(value));
                        }
                        if at > 0 {
                            line.push(';');
                        }
                        let encoded = encode(value, column.is_metadata(), column.is_list());
                        line.push_str(&encoded.ok_or_else(|| refuse(value))?);
                    }
                }
            }
        }
        line.truncate(line.trim_end_matches([' ', '|']).len());
        Ok(())
    }

    /// Checks the row as a strict reader does.
    fn check(&mut self, line: &str, number: u64) -> Result<(), CheckmError> {
        let mut problems = Vec::new();
        cut(line, self.header.columns.len() + 1, &mut self.cells);
        let data = DataLine { text: line, cells: &self.cells, row: number, line: number };
        let stated = check(data, &self.header, &ReadOptions::default(), &mut self.name, &mut |problem| {
            if problem.severity == Severity::Error {
                problems.push(problem);
            }
        });
        match stated {
            Some(_) => Ok(()),
            None => Err(CheckmError::Row { row: number, problems }),
        }
    }
}
