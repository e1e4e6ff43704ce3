//! Which deposit each work item is of: by the answer of the command, by the batch, or, where the answer was lost, by the note that
//! the deposit was made with.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use crate::packages::Sent;
use crate::perform::{Cast, Deposited, NOTE};
use crate::promises::text;

/// Of which deposit and which row of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Into [`Cast::deposits`].
    pub(crate) deposit: usize,
    /// None of the item that the command made.
    pub(crate) row: Option<usize>,
}

/// The items of packages by their identifiers.
#[derive(Debug, Default)]
pub(crate) struct Origins(pub(crate) BTreeMap<String, Origin>);

impl Origins {
    pub(crate) fn is_of_package(&self, item: &str) -> bool {
        self.0.contains_key(item)
    }
}

impl Cast {
    /// The origins of all items, also of those that were deleted.
    pub(crate) fn origins(&self) -> Result<Origins> {
        self.origins_of(&self.all_items()?)
    }

    /// Every item, also those that were deleted.
    pub(crate) fn all_items(&self) -> Result<Vec<Value>> {
        let mut items = self.world.run(["items", "list", "--json"])?.succeeded()?.json()?;
        items.extend(self.world.run(["items", "list", "--status", "deleted", "--json"])?.succeeded()?.json()?);
        Ok(items)
    }

    pub(crate) fn origins_of(&self, items: &[Value]) -> Result<Origins> {
        let mut origins = Origins::default();
        let mut batches = BTreeMap::new();
        let is_deposit = |item: &&Value| ["ingest", "expand_batch"].contains(&text(item, "action"));
        let mut unknown = Vec::new();
        for item in items.iter().filter(is_deposit) {
            let id = text(item, "item");
            let known = self.deposits.iter().position(|deposit| deposit.item.as_deref() == Some(id));
            match known.map(|deposit| (deposit, &self.deposits[deposit].what)) {
                Some((_, Deposited::Bag(..))) => {}
                Some((deposit, Deposited::Package(_))) => {
                    origins.0.insert(id.to_owned(), Origin { deposit, row: None });
                    batches.insert(text(item, "batch"), deposit);
                }
                // Bags that came through the receiving store.
                None if Path::new(text(item, "name")).extension().is_some_and(|ending| ending == "tar") => {}
                None => unknown.push(item),
            }
        }
        // Those whose answer was lost come before the rows that may be theirs.
        let mut rows = Vec::new();
        for item in unknown {
            if batches.contains_key(text(item, "batch")) {
                rows.push(item);
            } else if let Some(deposit) = self.by_note(text(item, "item"))? {
                origins.0.insert(text(item, "item").to_owned(), Origin { deposit, row: None });
                batches.insert(text(item, "batch"), deposit);
            } else {
                rows.push(item);
            }
        }
        for item in rows {
            let Some(deposit) = batches.get(text(item, "batch")).copied() else { continue };
            let Deposited::Package(sent) = &self.deposits[deposit].what else { continue };
            let row = rows_of(sent).iter().position(|row| row.package.file_name() == text(item, "name"));
            if let Some(row) = row {
                origins.0.insert(text(item, "item").to_owned(), Origin { deposit, row: Some(row) });
            }
        }
        Ok(origins)
    }

    /// The deposit that an item was made by, by the first line of its history.
    fn by_note(&self, item: &str) -> Result<Option<usize>> {
        let history = self.world.run(["items", "history", item, "--json"])?.succeeded()?.json()?;
        let number = history.iter().find_map(|line| text(line, "note").strip_prefix(NOTE)?.parse::<u64>().ok());
        Ok(self.deposits.iter().position(|deposit| Some(deposit.number) == number))
    }

    /// What an item sends.
    pub(crate) fn sent(&self, origin: Origin) -> Option<&Sent> {
        let Deposited::Package(sent) = &self.deposits[origin.deposit].what else { return None };
        match origin.row {
            None => Some(sent),
            Some(row) => rows_of(sent).get(row),
        }
    }

    /// Whether an item failed, and had to: with a code that says why.
    pub(crate) fn has_failed_rightly(&self, item: &Value, origins: &Origins) -> bool {
        let Some(sent) = origins.0.get(text(item, "item")).and_then(|origin| self.sent(*origin)) else { return false };
        let is_lost =
            if text(item, "action") == "expand_batch" { sent.package.is_list_lost() } else { sent.package.is_lost() };
        (is_lost && (has_code(item, NOT_FETCHED) || has_code(item, SIZE_MISMATCH)))
            || (sent.package.is_distorted() && has_problem(item))
            // Whether the object has the path depends on what came before.
            || (!sent.package.deleted.is_empty() && has_code(item, "delete.no_such_path"))
    }
}

/// The code of what cannot be had.
pub(crate) const NOT_FETCHED: &str = "package.not_fetched";

/// The code of what has another size than the manifest states.
const SIZE_MISMATCH: &str = "package.size_mismatch";

/// Whether an item has a problem for which it fails.
fn has_problem(item: &Value) -> bool {
    let problems = item["problems"].as_array();
    problems.is_some_and(|problems| problems.iter().any(|problem| problem["severity"] == "error"))
}

/// Whether one of the problems of an item has a code.
pub(crate) fn has_code(item: &Value, code: &str) -> bool {
    item["problems"].as_array().is_some_and(|problems| problems.iter().any(|problem| problem["code"] == code))
}

/// What the rows of a list send. A manifest at a URL that turns out to be that of one object has one.
pub(crate) fn rows_of(sent: &Sent) -> &[Sent] {
    if sent.package.is_batch() { &sent.rows } else { std::slice::from_ref(sent) }
}
