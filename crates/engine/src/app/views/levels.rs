//! Levels of preservation.

use serde::Serialize;

use crate::levels::Verdict;

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
