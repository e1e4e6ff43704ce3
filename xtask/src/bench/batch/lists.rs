//! Batch manifests to measure with, and the files that they name.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::bench::bags::pseudo_random;

/// Which identifiers the rows of a manifest have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identifiers {
    /// None: each row is named as its file is.
    None,
    /// A local one each.
    Local,
}

/// A row of a manifest.
pub(super) struct Row {
    url: String,
    name: String,
    digest: String,
    size: usize,
}

impl Row {
    pub(super) fn of(url: String, name: String, content: &[u8]) -> Self {
        let mut digest = String::new();
        for byte in Sha256::digest(content) {
            // Writing into a string cannot fail.
            let _ = write!(digest, "{byte:02x}");
        }
        Self { url, name, digest, size: content.len() }
    }

    /// Where its file is.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// A row about a file that nothing fetches.
    pub(super) fn unfetched(number: u64) -> Self {
        let name = format!("volume {}/page-{number:08}.tif", number / 1_000);
        let url = format!("https://files.example.org/{}", name.replace(' ', "%20"));
        Self { url, name, digest: format!("{number:064x}"), size: 4_096 }
    }
}

/// The content of a file: pseudo-random bytes that follow from its number.
pub(super) fn content(number: u64, size: usize) -> Vec<u8> {
    let mut state = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut content = Vec::with_capacity(size + 8);
    while content.len() < size {
        content.extend_from_slice(&pseudo_random(&mut state).to_le_bytes());
    }
    content.truncate(size);
    content
}

/// Writes a manifest of files, each of them an object.
pub(super) fn write_list(path: &Path, rows: &[Row], identifiers: Identifiers) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
    let mut file = BufWriter::new(file);
    file.write_all(
        b"#%checkm_0.7\n\
          #%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-single-file-batch-manifest\n\
          #%prefix | mrt: | http://merritt.cdlib.org/terms#\n\
          #%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#\n\
          #%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName | \
          mrt:primaryIdentifier | mrt:localIdentifier | mrt:creator | mrt:title | mrt:date\n",
    )?;
    for Row { url, name, digest, size } in rows {
        let id = if identifiers == Identifiers::Local { format!("id of {name}") } else { String::new() };
        writeln!(
            file,
            "{url} | sha256 | {digest} | {size} | | {name} | | {id} | A. Author | The title of {name} | 1923"
        )?;
    }
    file.write_all(b"#%eof\n")?;
    file.flush().with_context(|| format!("cannot write {}", path.display()))
}
