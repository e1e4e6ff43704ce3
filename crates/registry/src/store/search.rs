//! Finding objects, and files as objects have them now, by what is known of them.

use strongroom_database::{Row, Statement, Time, Transaction, Value};
use strongroom_digest::Digest;
use unicode_normalization::UnicodeNormalization as _;
use uuid::Uuid;

use crate::objects::DEPOSIT;
use crate::{FileId, ObjectId, ObjectState, RegistryError, Scope};

/// What is looked for; all that is given has to fit. Words are found anywhere, whatever the case of the letters `a` to `z`; where
/// one has a `*` (any characters) or a `?` (one), the whole text has to fit.
#[derive(Debug, Clone, Default)]
pub struct SearchFilter {
    /// In the identifier of the object, its title, its ARK, or an identifier that the depositor uses.
    pub words: Option<String>,
    /// In the title.
    pub title: Option<String>,
    /// In the path of a file, as it is written here or in a normalization form of Unicode (NFC, NFD; Unicode Standard Annex 15).
    pub path: Option<String>,
    /// The PRONOM identifier of a file's format.
    pub puid: Option<String>,
    /// A digest of a file, by any of the four algorithms.
    pub digest: Option<Digest>,
    /// First deposited then or later.
    pub since: Option<Time>,
    /// First deposited before.
    pub until: Option<Time>,
}

impl SearchFilter {
    /// Whether files are looked for: then each that fits is found, otherwise each object.
    pub fn is_about_files(&self) -> bool {
        self.path.is_some() || self.puid.is_some() || self.digest.is_some()
    }
}

/// An object that was found, and the file where files were looked for.
#[derive(Debug, Clone)]
pub struct Found {
    /// The object.
    pub object: ObjectId,
    /// `<institution>/<name>`.
    pub identifier: String,
    /// Its title.
    pub title: Option<String>,
    /// Where it is.
    pub state: ObjectState,
    /// The latest published version.
    pub head: u64,
    /// Files that people see.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When it was first deposited.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// The file.
    pub file: Option<FoundFile>,
}

/// A file that was found.
#[derive(Debug, Clone)]
pub struct FoundFile {
    /// Its identifier.
    pub id: FileId,
    /// Its logical path, with its prefix.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// The PRONOM identifier of its format.
    pub puid: Option<String>,
}

/// Where a search goes on: behind this object, or behind a path of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchCursor {
    object: ObjectId,
    path: String,
}

impl Found {
    /// Where the search goes on behind it.
    pub fn cursor(&self) -> SearchCursor {
        let path = self.file.as_ref().map(|file| file.path.clone()).unwrap_or_default();
        SearchCursor { object: self.object, path }
    }
}

/// Published objects that fit, in order of their making, after `after`; where files are looked for, with each of their files
/// that fits, in byte order of the path.
pub fn find(
    tx: &mut dyn Transaction,
    scope: Scope,
    filter: &SearchFilter,
    after: Option<&SearchCursor>,
    limit: usize,
) -> Result<Vec<Found>, RegistryError> {
    let (object, path) = after.map_or((ObjectId(Uuid::nil()), ""), |after| (after.object, after.path.as_str()));
    let mut values: Vec<Value> = vec![
        object.into(),
        scope.value(),
        filter.since.map_or(i64::MIN, |time| time.0).into(),
        filter.until.map_or(i64::MAX, |time| time.0).into(),
        pattern(filter.title.as_deref()).into(),
        pattern(filter.words.as_deref()).into(),
        limit.into(),
    ];
    if !filter.is_about_files() {
        return tx.query(Statement("search.objects"), &values)?.iter().map(|row| found(row, None)).collect();
    }
    let path_pattern = |words: Option<&str>| Value::from(format!("{DEPOSIT}{}", pattern(words)));
    let wanted = filter.path.as_deref();
    let composed = wanted.map(|words| words.nfc().collect::<String>());
    let decomposed = wanted.map(|words| words.nfd().collect::<String>());
    values.extend([
        path.into(),
        path_pattern(wanted),
        filter.puid.as_deref().unwrap_or_default().into(),
        filter.digest.as_ref().map(|digest| digest.as_bytes().to_vec()).into(),
        path_pattern(composed.as_deref()),
        path_pattern(decomposed.as_deref()),
    ]);
    let rows = tx.query(Statement("search.files"), &values)?;
    let with_file = |row: &Row| {
        let file = FoundFile {
            id: FileId(row.uuid("file_id")?),
            path: row.text("path")?.to_owned(),
            size: row.count("size")?,
            puid: row.optional_text("puid")?.map(str::to_owned),
        };
        found(row, Some(file))
    };
    rows.iter().map(with_file).collect()
}

fn found(row: &Row, file: Option<FoundFile>) -> Result<Found, RegistryError> {
    Ok(Found {
        object: ObjectId(row.uuid("id")?),
        identifier: row.text("identifier")?.to_owned(),
        title: row.optional_text("title")?.map(str::to_owned),
        state: row.text("state")?.parse()?,
        head: row.count("head")?,
        files: row.count("files")?,
        bytes: row.count("bytes")?,
        created_at: row.time("created_at")?,
        updated_at: row.time("updated_at")?,
        file,
    })
}

/// A pattern of SQL for words as people write them.
fn pattern(words: Option<&str>) -> String {
    let Some(words) = words else { return "%".to_owned() };
    let is_whole = words.contains(['*', '?']);
    let mut pattern = String::from(if is_whole { "" } else { "%" });
    for character in words.chars() {
        match character {
            '*' => pattern.push('%'),
            '?' => pattern.push('_'),
            '%' | '_' | '\\' => pattern.extend(['\\', character]),
            other => pattern.push(other),
        }
    }
    if !is_whole {
        pattern.push('%');
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_patterns() {
        assert_eq!(pattern(None), "%");
        assert_eq!(pattern(Some("map")), "%map%");
        assert_eq!(pattern(Some("*.t?f")), "%.t_f");
        assert_eq!(pattern(Some("100%_\\")), "%100\\%\\_\\\\%");
    }
}
