//! Levels of preservation.

use serde::Serialize;

use crate::levels::Verdict;
use crate::levels::ndsa::{Area, LEVELS};

/// A requirement of the NDSA Levels of Digital Preservation, and whether it is met here.
#[derive(Debug, Clone, Serialize)]
pub struct LevelRowView {
    /// The functional area: `Storage`, `Integrity`, `Control`, `Metadata` or `Content`.
    pub area: String,
    /// The level, from 1 to 4.
    pub level: u8,
    /// What the requirement is called here.
    pub row: String,
    /// What it asks.
    pub asks: String,
    /// Whether it is met.
    pub verdict: Verdict,
    /// Why the verdict is so, with what was found.
    pub evidence: String,
    /// The command that shows it.
    pub command: String,
}

/// The level that an area reaches.
#[derive(Debug, Clone, Serialize)]
pub struct AreaView {
    /// The functional area.
    pub area: String,
    /// The highest level up to which every row is met; 0 where there is none.
    pub level: u8,
    /// The same where people answer with yes what is for them.
    pub with_people: u8,
    /// How many rows it has.
    pub rows: u64,
    /// How many of them are met.
    pub met: u64,
    /// How many of them are not met.
    pub not_met: u64,
    /// Of how many of them that is unknown.
    pub unknown: u64,
    /// How many of them are for people.
    pub for_people: u64,
}

impl AreaView {
    /// Every area, in the order of the matrix, by all of its rows.
    pub fn of_rows(rows: &[LevelRowView]) -> Vec<Self> {
        Area::ALL.iter().map(|area| of_area(area.as_str(), rows)).collect()
    }
}

fn of_area(area: &str, rows: &[LevelRowView]) -> AreaView {
    let rows: Vec<&LevelRowView> = rows.iter().filter(|row| row.area == area).collect();
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count() as u64;
    let up_to = |is_enough: &dyn Fn(Verdict) -> bool| {
        let reached = |level: &u8| rows.iter().filter(|row| row.level <= *level).all(|row| is_enough(row.verdict));
        (1..=LEVELS).take_while(reached).last().unwrap_or_default()
    };
    AreaView {
        area: area.to_owned(),
        level: up_to(&|verdict| verdict == Verdict::Met),
        with_people: up_to(&|verdict| matches!(verdict, Verdict::Met | Verdict::ForPeople)),
        rows: rows.len() as u64,
        met: count(Verdict::Met),
        not_met: count(Verdict::NotMet),
        unknown: count(Verdict::Unknown),
        for_people: count(Verdict::ForPeople),
    }
}

/// A requirement of CoreTrustSeal to which software can contribute evidence.
#[derive(Debug, Clone, Serialize)]
pub struct SealRowView {
    /// Its number, such as `R14`.
    pub requirement: String,
    /// Its name.
    pub name: String,
    /// What it asks.
    pub asks: String,
    /// Whether what software can show is met.
    pub verdict: Verdict,
    /// Why the verdict is so.
    pub evidence: String,
    /// The commands that show it.
    pub commands: Vec<String>,
}
