//! What audit chains promise: each act is in one, once, and they are whole.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;
use serde_json::Value;

use crate::perform::Cast;
use crate::promises::text;

impl Cast {
    /// Every line of the journal and every act that a chain has is there once, and outsiders find nothing to be wrong.
    pub(crate) fn chains_are_whole(&mut self) -> Result<()> {
        let journal = self.world.run(["journal", "list", "--json", "--limit", "1000000"])?.succeeded()?.json()?;
        let folder = self.world.path("chains");
        let name = folder.display().to_string();
        self.world.run(["audit", "export", name.as_str()])?.succeeded()?;
        for chain in self.world.run(["audit", "verify", "--json", name.as_str()])?.json()? {
            if text(&chain, "verdict") != "valid" {
                self.find(format!("an audit chain does not hold: {chain}"));
            }
        }
        let mut acts = BTreeSet::new();
        for chain in fs::read_dir(&folder)? {
            for file in fs::read_dir(chain?.path().join("entries"))? {
                for line in fs::read_to_string(file?.path())?.lines() {
                    let entry: Value = serde_json::from_str(line)?;
                    if !acts.insert(text(&entry, "id").to_owned()) {
                        self.find(format!("an act is in an audit chain twice: {entry}"));
                    }
                }
            }
        }
        for line in journal.iter().filter(|line| !acts.contains(text(line, "line"))) {
            self.find(format!("a line of the journal is in no audit chain: {line}"));
        }
        Ok(())
    }
}
