//! Records of the provider.

use crate::answer::escaped;

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OaiRecord {
    /// Its identifier.
    pub id: String,
    /// Its datestamp, with seconds.
    pub datestamp: String,
    /// Its sets. A record in `a:b` is in `a` as well (section 2.6).
    pub sets: Vec<String>,
    /// Whether it is deleted.
    pub is_deleted: bool,
    /// The element of its metadata, as bytes that go into the answer as they are.
    pub metadata: Vec<u8>,
}

impl OaiRecord {
    /// A record whose title is its identifier.
    #[must_use]
    pub fn new(id: &str, datestamp: &str) -> Self {
        let record = Self {
            id: id.to_owned(),
            datestamp: datestamp.to_owned(),
            sets: Vec::new(),
            is_deleted: false,
            metadata: Vec::new(),
        };
        record.titled(escaped(id).as_bytes())
    }

    /// The same in a set.
    #[must_use]
    pub fn within(mut self, set: &str) -> Self {
        self.sets.push(set.to_owned());
        self
    }

    /// The same, deleted.
    #[must_use]
    pub fn deleted(self) -> Self {
        Self { is_deleted: true, ..self }
    }

    /// The same with another title, which goes into the answer as it is.
    #[must_use]
    pub fn titled(self, title: &[u8]) -> Self {
        let before: &[u8] = b"<oai_dc:dc xmlns:oai_dc=\"http://www.openarchives.org/OAI/2.0/oai_dc/\" \
            xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>";
        Self { metadata: [before, title, b"</dc:title></oai_dc:dc>"].concat(), ..self }
    }

    pub(crate) fn is_in(&self, set: &str) -> bool {
        self.sets.iter().any(|own| own == set || own.strip_prefix(set).is_some_and(|rest| rest.starts_with(':')))
    }
}
