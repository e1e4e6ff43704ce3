//! What catalogues promise: after a run of their background task each store has one that names the objects there, each once.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::kept::Kept;
use crate::perform::Cast;
use crate::plan::PRESERVATION;
use crate::world::INSTITUTION;

impl Cast {
    /// The catalogue of each store has every object that is kept, with its newest version and the place of its inventory, and no other.
    pub(crate) fn catalogues_are_true(&mut self, kept: &[Kept]) -> Result<()> {
        self.world.run(["background", "run", "catalogue"])?.succeeded()?;
        let expected: BTreeSet<(String, u64)> = kept
            .iter()
            .filter(|object| !object.is_deleted() && object.head() > 0)
            .map(|object| (object.identifier.clone(), object.head()))
            .collect();
        for store in PRESERVATION {
            let key = format!("_strongroom/catalogue/{INSTITUTION}.csv");
            let bytes = self.world.stored(store, &key).unwrap_or_default();
            let mut found = BTreeSet::new();
            for row in csv::Reader::from_reader(bytes.as_slice()).deserialize() {
                let row: BTreeMap<String, String> = row?;
                if !found.insert((row["identifier"].clone(), row["versions"].parse()?)) {
                    self.find(format!("{store}: an object is in the catalogue twice: {row:?}"));
                }
                let inventory =
                    self.world.stored(store, &format!("{}/inventory.json", row["path"])).unwrap_or_default();
                if !String::from_utf8_lossy(&inventory).contains(&row["ocfl_id"]) {
                    self.find(format!("{store}: the catalogue names another place than that of the object: {row:?}"));
                }
            }
            for differs in expected.symmetric_difference(&found) {
                self.find(format!("{store}: the catalogue and the objects that are kept differ: {differs:?}"));
            }
        }
        Ok(())
    }
}
