//! The requirements of the NDSA Levels of Digital Preservation, version 2.0 (2019), each in our own words: its area and level name the cell
//! of the matrix that it comes from. The book has the same table (`docs/ndsa-levels.md`); a test compares them.

use super::{Evidence, content, control, integrity, storage};

/// The last level.
pub(crate) const LEVELS: u8 = 4;

/// A functional area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    Storage,
    Integrity,
    Control,
    Metadata,
    Content,
}

impl Area {
    /// Every one, in the order of the matrix.
    pub(crate) const ALL: [Self; 5] = [Self::Storage, Self::Integrity, Self::Control, Self::Metadata, Self::Content];

    /// Its name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Storage => "Storage",
            Self::Integrity => "Integrity",
            Self::Control => "Control",
            Self::Metadata => "Metadata",
            Self::Content => "Content",
        }
    }
}

/// A requirement.
pub(crate) struct Row {
    pub(crate) area: Area,
    pub(crate) level: u8,
    /// What it is called here; no other one is called so.
    pub(crate) name: &'static str,
    pub(crate) asks: &'static str,
    pub(crate) evidence: Evidence,
    /// The command that shows it.
    pub(crate) command: &'static str,
}

macro_rules! rows {
    ($($area:ident { $($level:literal $name:literal $asks:literal $evidence:path, $command:literal;)* })*) => {
        &[$($(Row { area: Area::$area, level: $level, name: $name, asks: $asks, evidence: $evidence, command: $command },)*)*]
    };
}

/// Every requirement, in the order of the matrix.
pub(crate) const ROWS: &[Row] = rows! {
    Storage {
        1 "two-copies" "two complete copies, in different places" storage::two_copies, "strongroom fixity problems";
        1 "media-known" "it is written down on which media content lies" storage::media_stated, "strongroom config show";
        1 "stable-storage" "content is in storage that is kept running" storage::stable, "strongroom store check";
        2 "three-copies" "three complete copies, one of them in another place" storage::three_copies, "strongroom fixity problems";
        2 "storage-documented" "what the storage needs to work is written down" storage::stores_for_people, "strongroom store list -l";
        3 "another-threat" "one copy in a place that another disaster threatens" storage::another_threat, "strongroom config show";
        3 "another-medium" "one copy on another kind of media" storage::another_medium, "strongroom config show";
        3 "storage-age" "the age of storage and media is followed" storage::stores_for_people, "strongroom store list -l";
        4 "three-threats" "three copies in places that different disasters threaten" storage::three_threats, "strongroom config show";
        4 "diversity" "no place, threat or kind of media is common to two copies" storage::diversity, "strongroom config show";
        4 "storage-renewed" "old storage and media are replaced by a plan" storage::stores_for_people, "strongroom store list -l";
    }
    Integrity {
        1 "digests-compared" "digests that come with content are compared" integrity::compared, "strongroom objects events OBJECT";
        1 "digests-computed" "digests are computed where none come" integrity::computed, "strongroom objects files OBJECT";
        1 "viruses" "all content is checked for viruses, and kept apart where one is found" integrity::virus_checked, "strongroom activity findings";
        2 "copies-verified" "digests are compared whenever content is copied" integrity::verified_after_copying, "strongroom fixity report";
        2 "write-blockers" "original media are read behind write blockers" integrity::write_blockers, "strongroom journal list";
        2 "digests-apart" "digests are also kept away from the content" integrity::digests_apart, "strongroom objects files OBJECT";
        3 "checks-at-intervals" "digests are compared at fixed intervals" integrity::checked_at_intervals, "strongroom fixity report";
        3 "checks-recorded" "how checks are made and what they found is recorded" integrity::checks_recorded, "strongroom status";
        3 "checks-on-demand" "digests can be compared at any time" integrity::checked_on_demand, "strongroom fixity run --all";
        4 "checks-after-events" "digests are compared after events that may have changed content" integrity::checked_after_events, "strongroom fixity report";
        4 "repair" "corrupt content is repaired or replaced" integrity::repaired, "strongroom fixity problems";
    }
    Control {
        1 "agents-determined" "it is decided who and what may read, write, move and delete content" control::determined, "strongroom user list";
        2 "agents-applied" "these rights are written down and applied" control::applied, "strongroom config check";
        3 "acts-logged" "logs name who or what did each act on content" control::recorded, "strongroom audit list";
        4 "logs-reviewed" "people review the logs from time to time" control::reviewed, "strongroom audit export DIR";
    }
    Metadata {
        1 "inventory" "there is an inventory of content, with the places of copies" content::inventory, "strongroom objects list";
        1 "inventory-apart" "a copy of the inventory is kept away from content" content::inventory_apart, "strongroom store list";
        2 "content-described" "metadata say what the content is" content::described, "strongroom objects list";
        3 "standards-chosen" "it is decided which metadata standards apply" content::for_people, "strongroom objects premis OBJECT";
        3 "gaps-filled" "what is missing for these standards is found and added" content::described_for_people, "strongroom objects describe OBJECT";
        4 "acts-recorded" "preservation acts and their times are recorded with the content" content::acts_recorded, "strongroom objects events OBJECT";
        4 "standards-applied" "the metadata standards that were chosen are applied" content::described_for_people, "strongroom objects premis OBJECT";
    }
    Content {
        1 "formats-known" "formats are on record, with how and when they were identified" content::identified, "strongroom objects files OBJECT";
        2 "formats-verified" "formats are verified" content::verified, "strongroom objects files OBJECT";
        2 "creators" "those who make content are asked for lasting formats" content::for_people, "strongroom objects files OBJECT";
        3 "obsolescence" "formats and what they depend on are followed as they become obsolete" content::formats_for_people, "strongroom signatures show";
        4 "migrations" "content is migrated, normalized or emulated so that it stays usable" content::for_people, "strongroom activity list";
    }
};

/// The row of this name.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_there_once_and_every_level_of_every_area_has_a_row() {
        let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        for area in Area::ALL {
            for level in 1..=LEVELS {
                assert!(ROWS.iter().any(|row| row.area == area && row.level == level), "{area:?} {level}");
            }
        }
    }
}
