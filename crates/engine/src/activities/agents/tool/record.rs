//! What a record of the agent stands for.

use strongroom_registry::documents;
use strongroom_registry::{DocumentId, FileId, ItemId};

/// What a tool is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    /// A file at a version of its object.
    File(FileId, u64),
    /// What a work item has deposited.
    Item(ItemId),
    /// A document.
    Document(DocumentId),
}

/// The record of a file at a version.
pub(super) fn file_record(file: FileId, version: u64) -> String {
    format!("{file}@{version}")
}

impl Record {
    /// What an id stands for; none where no tool can be run for it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(document) = documents::of_entity(text) {
            return Some(Self::Document(document));
        }
        match text.split_once('@') {
            Some((file, version)) => Some(Self::File(file.parse().ok()?, version.parse().ok()?)),
            None => Some(Self::Item(text.parse().ok()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let (file, item, document) = (FileId::new(), ItemId::new(), DocumentId::new());
        assert_eq!(Record::parse(&file_record(file, 12)), Some(Record::File(file, 12)));
        assert_eq!(Record::parse(&item.to_string()), Some(Record::Item(item)));
        assert_eq!(Record::parse(&documents::entity(document)), Some(Record::Document(document)));
        for text in ["", "a record", "@1", &format!("{file}@"), &format!("{file}@x")] {
            assert_eq!(Record::parse(text), None, "{text:?}");
        }
    }
}
