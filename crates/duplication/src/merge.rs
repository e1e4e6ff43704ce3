//! Two listings side by side, without a memory of either.

use std::cmp::Ordering;
use std::iter::Peekable;

use strongroom_spaces::{Items, ListedContent, ListedItem, ListedName};
use strongroom_storage::StorageError;

/// What is under a name in the source and in the destination of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Only the source has it.
    InSource(ListedContent),
    /// Only the destination has it.
    InDestination(ListedContent),
    /// Both have it.
    InBoth {
        /// As the source lists it.
        source: ListedContent,
        /// As the destination lists it.
        destination: ListedContent,
    },
    /// What one of both has under this name is no content item, so nothing follows from what the other one has there.
    NotCarried {
        /// Whether the source has it.
        in_source: bool,
        /// Its name.
        name: ListedName,
        /// Why it is none.
        reason: String,
        /// What the other one has under the same name.
        other: Option<ListedContent>,
    },
    /// One of both lists nothing below a folder that this content item of the other one is in: it may have it or not.
    Unknown {
        /// Whether the source has the content item.
        in_source: bool,
        /// As it is listed there.
        listed: ListedContent,
    },
}

impl Line {
    /// The name.
    pub fn name(&self) -> ListedName {
        match self {
            Self::InSource(listed) | Self::InDestination(listed) | Self::Unknown { listed, .. } => {
                ListedName::from(&listed.key)
            }
            Self::InBoth { source, .. } => ListedName::from(&source.key),
            Self::NotCarried { name, .. } => name.clone(),
        }
    }
}

/// Merges the listings of a space in the source and in the destination, which have one order. An error of either ends it: it is not the end of
/// what is there.
pub struct Merge {
    source: Peekable<Items>,
    destination: Peekable<Items>,
    /// The folder below which the source lists nothing.
    hidden_in_source: Option<Vec<u8>>,
    /// The same of the destination.
    hidden_in_destination: Option<Vec<u8>>,
    has_failed: bool,
}

impl Merge {
    /// Both begin after the same name.
    pub fn new(source: Items, destination: Items) -> Self {
        Self {
            source: source.peekable(),
            destination: destination.peekable(),
            hidden_in_source: None,
            hidden_in_destination: None,
            has_failed: false,
        }
    }

    /// What only one of both has: it is unknown where the other one lists nothing.
    fn alone(&self, in_source: bool, item: ListedItem) -> Line {
        let listed = match item {
            ListedItem::Item(listed) => listed,
            ListedItem::NotCarried { name, reason } => {
                return Line::NotCarried { in_source, name, reason, other: None };
            }
        };
        let other = if in_source { &self.hidden_in_destination } else { &self.hidden_in_source };
        let is_hidden = other.as_ref().is_some_and(|folder| listed.key.as_str().as_bytes().starts_with(folder));
        match (is_hidden, in_source) {
            (true, _) => Line::Unknown { in_source, listed },
            (false, true) => Line::InSource(listed),
            (false, false) => Line::InDestination(listed),
        }
    }

    /// Remembers a folder below which nothing is listed.
    fn hide(&mut self, is_source: bool, item: &ListedItem) {
        if let ListedItem::NotCarried { name, .. } = item
            && name.as_bytes().ends_with(b"/")
        {
            let hidden = if is_source { &mut self.hidden_in_source } else { &mut self.hidden_in_destination };
            *hidden = Some(name.as_bytes().to_vec());
        }
    }
}

impl Iterator for Merge {
    type Item = Result<Line, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let names = (self.source.peek(), self.destination.peek());
        let order = match names {
            (None, None) => return None,
            (Some(Ok(source)), Some(Ok(destination))) => source.name().cmp(&destination.name()),
            (Some(Err(_)), _) | (Some(Ok(_)), None) => Ordering::Less,
            (None | Some(Ok(_)), Some(_)) => Ordering::Greater,
        };
        let source = if order.is_le() { self.source.next() } else { None };
        let destination = if order.is_ge() { self.destination.next() } else { None };
        let (source, destination) = match (source.transpose(), destination.transpose()) {
            (Ok(source), Ok(destination)) => (source, destination),
            (Err(error), _) | (_, Err(error)) => {
                self.has_failed = true;
                return Some(Err(error));
            }
        };
        for (is_source, item) in [(true, &source), (false, &destination)] {
            if let Some(item) = item {
                self.hide(is_source, item);
            }
        }
        let line = match (source, destination) {
            (None, None) => return None,
            (Some(item), None) => self.alone(true, item),
            (None, Some(item)) => self.alone(false, item),
            (Some(ListedItem::Item(source)), Some(ListedItem::Item(destination))) => {
                Line::InBoth { source, destination }
            }
            (Some(ListedItem::NotCarried { name, reason }), Some(other)) => {
                let other = if let ListedItem::Item(listed) = other { Some(listed) } else { None };
                Line::NotCarried { in_source: true, name, reason, other }
            }
            (Some(ListedItem::Item(listed)), Some(ListedItem::NotCarried { name, reason })) => {
                Line::NotCarried { in_source: false, name, reason, other: Some(listed) }
            }
        };
        Some(Ok(line))
    }
}
