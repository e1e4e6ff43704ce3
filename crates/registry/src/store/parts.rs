//! Objects that come in parts: bags of their own, each of which is an additive deposit. Which parts came in is kept with the
//! versions that they made; what is missing follows from the set that was named last.

use std::fmt;

use serde::{Deserialize, Serialize};
use strongroom_database::{Statement, Transaction};

use crate::items::Item;
use crate::versions::Version;
use crate::{GenerationId, ItemId, ObjectId, RegistryError, Scope, objects};

/// The most parts an object may come in. What is missing is reported number by number, so there is a limit; this one
/// is also that of the parts of an upload in S3.
pub const MOST_PARTS: u64 = 10_000;

/// Runs of numbers that a text names before it only counts.
const RUNS_TOLD: usize = 20;

/// One part of an object: a number from 1 to the total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Numbers")]
pub struct Part {
    number: u64,
    total: u64,
}

/// A part as it is written, whatever it says.
#[derive(Deserialize)]
struct Numbers {
    number: u64,
    total: u64,
}

impl TryFrom<Numbers> for Part {
    type Error = &'static str;

    fn try_from(numbers: Numbers) -> Result<Self, Self::Error> {
        Self::new(numbers.number, numbers.total)
    }
}

impl Part {
    /// A part of a set, or what is wrong with these numbers.
    pub fn new(number: u64, total: u64) -> Result<Self, &'static str> {
        if total > MOST_PARTS {
            Err("an object comes in 10000 parts at most")
        } else if number == 0 || total == 0 {
            Err("parts are counted from 1")
        } else if number > total {
            Err("its number is above the number of parts")
        } else {
            Ok(Self { number, total })
        }
    }

    /// Which one, from 1.
    pub fn number(self) -> u64 {
        self.number
    }

    /// How many there are.
    pub fn total(self) -> u64 {
        self.total
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {} of {}", self.number, self.total)
    }
}

/// The parts of an object that came in, of the set that was named last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    total: u64,
    /// Their numbers, in order.
    present: Vec<u64>,
}

impl Parts {
    /// How many there are to be.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether all came in.
    pub fn is_complete(&self) -> bool {
        self.present.len() as u64 == self.total
    }

    /// Whether a part is of this set and came in.
    pub fn has(&self, part: Part) -> bool {
        self.total == part.total && self.present.binary_search(&part.number).is_ok()
    }

    /// The numbers that did not come in yet, in order.
    pub fn missing(&self) -> Vec<u64> {
        (1..=self.total).filter(|number| self.present.binary_search(number).is_err()).collect()
    }
}

impl fmt::Display for Parts {
    /// `complete`, or `incomplete: parts 2, 4 to 9 missing`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing();
        let word = match missing.len() {
            0 => return f.write_str("complete"),
            1 => "part",
            _ => "parts",
        };
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for number in missing {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => runs.push((number, number)),
            }
        }
        write!(f, "incomplete: {word} ")?;
        for (place, (first, last)) in runs.iter().take(RUNS_TOLD).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first}, {last}")?,
                _ => write!(f, "{comma}{first} to {last}")?,
            }
        }
        let untold: u64 = runs.iter().skip(RUNS_TOLD).map(|(first, last)| last - first + 1).sum();
        if untold > 0 {
            write!(f, " and {untold} more")?;
        }
        f.write_str(" missing")
    }
}

/// Notes that a deposit is a part; in the transaction that makes its work item.
pub fn put_item(tx: &mut dyn Transaction, item: ItemId, part: Part) -> Result<(), RegistryError> {
    tx.execute(Statement("parts.put_item"), &[item.into(), part.number.into(), part.total.into()])?;
    Ok(())
}

/// Which part a deposit is, where it is one.
pub fn of_item(tx: &mut dyn Transaction, item: ItemId) -> Result<Option<Part>, RegistryError> {
    let Some(row) = tx.query_one(Statement("parts.of_item"), &[item.into()])? else { return Ok(None) };
    let (number, total) = (row.count("number")?, row.count("total")?);
    let part = Part::new(number, total);
    part.map(Some).map_err(|_| RegistryError::Corrupt { wanted: "a part", found: format!("{number} of {total}") })
}

/// Notes the part that made a version; in the transaction that publishes it.
pub(crate) fn put(tx: &mut dyn Transaction, version: &Version, part: Part) -> Result<(), RegistryError> {
    let values = [
        version.object.into(),
        version.generation.into(),
        version.number.into(),
        part.number.into(),
        part.total.into(),
    ];
    tx.execute(Statement("parts.put"), &values)?;
    Ok(())
}

/// The parts of an object that came in up to a published version; none where no part did.
pub fn at(
    tx: &mut dyn Transaction,
    object: ObjectId,
    generation: GenerationId,
    version: u64,
) -> Result<Option<Parts>, RegistryError> {
    let mut parts: Option<Parts> = None;
    for row in tx.query(Statement("parts.at"), &[object.into(), generation.into(), version.into()])? {
        let (total, number) = (row.count("total")?, row.count("number")?);
        parts.get_or_insert_with(|| Parts { total, present: Vec::new() }).present.push(number);
    }
    Ok(parts)
}

/// Which part a deposit is, where it is one, and what had come in of its object with the version that it made, or has now
/// where it made none.
pub fn of_deposit(tx: &mut dyn Transaction, item: &Item) -> Result<Option<(Part, Option<Parts>)>, RegistryError> {
    let Some(part) = of_item(tx, item.id)? else { return Ok(None) };
    let object = match item.object {
        Some(object) => objects::get(tx, Scope::System, object)?,
        None => None,
    };
    let Some(object) = object else { return Ok(Some((part, None))) };
    let version = item.version.unwrap_or(object.head);
    Ok(Some((part, at(tx, object.id, object.generation, version)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(total: u64, present: &[u64]) -> Parts {
        Parts { total, present: present.to_vec() }
    }

    #[test]
    fn what_is_missing_is_told_in_runs() {
        for (total, present, told) in [
            (1, &[1][..], "complete"),
            (3, &[1, 2, 3], "complete"),
            (2, &[1], "incomplete: part 2 missing"),
            (3, &[1], "incomplete: parts 2, 3 missing"),
            (9, &[2, 4], "incomplete: parts 1, 3, 5 to 9 missing"),
        ] {
            assert_eq!(parts(total, present).to_string(), told);
        }
        let odd: Vec<u64> = (1..=50).map(|number| number * 2).collect();
        let told = parts(100, &odd).to_string();
        assert!(told.starts_with("incomplete: parts 1, 3, 5") && told.ends_with("39 and 30 more missing"), "{told}");
    }

    #[test]
    fn numbers_that_are_no_part_are_refused_also_where_they_are_read() {
        for (number, total) in [(0, 3), (4, 3), (1, 0), (0, 0), (1, MOST_PARTS + 1), (u64::MAX, u64::MAX)] {
            assert!(Part::new(number, total).is_err(), "{number} of {total}");
            let text = format!(r#"{{"number":{number},"total":{total}}}"#);
            assert!(serde_json::from_str::<Part>(&text).is_err(), "{text}");
        }
        let part = Part::new(3, 3).expect("a part");
        let text = serde_json::to_string(&part).expect("writes");
        assert_eq!(text, r#"{"number":3,"total":3}"#);
        assert_eq!(serde_json::from_str::<Part>(&text).expect("reads"), part);
    }

    #[test]
    fn a_set_has_only_parts_of_its_own_total() {
        let set = parts(3, &[1, 3]);
        let has = |number, total| set.has(Part::new(number, total).expect("a part"));
        assert!(has(1, 3) && has(3, 3));
        assert!(!has(2, 3) && !has(1, 2));
        assert!(!set.is_complete());
        assert_eq!(set.missing(), [2]);
    }
}
