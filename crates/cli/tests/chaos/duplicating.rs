//! Spaces of plain stores are copied at the end of a run, while workers are killed, files and the policy change: in the end the copies are what
//! the source has, the totals are exact, and nothing is left to do.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::perform::Cast;
use crate::promises::text;
use crate::world::{INSTITUTION, World};

/// Files of the source at the beginning.
const FILES: usize = 120;
/// How often the workers are killed while they copy.
const KILLS: usize = 3;
/// How long it may take until nothing is left to do.
const PATIENCE: Duration = Duration::from_mins(3);
const PLAIN: [&str; 3] = ["disk", "cloud", "tape"];

impl World {
    fn add_plain_stores(&self) -> Result<()> {
        let file = self.path("home/strongroom.toml");
        let mut settings = fs::read_to_string(&file)?;
        for store in PLAIN {
            writeln!(settings, "\n[plain_stores.{store}]\npath = \"plain/{store}\"\nmarker = \".here\"")?;
            let folder = self.path("home/plain").join(store);
            fs::create_dir_all(folder.join("maps"))?;
            fs::write(folder.join(".here"), "")?;
        }
        fs::write(&file, settings)?;
        Ok(())
    }

    fn put(&self, number: usize, what: &str) -> Result<()> {
        let folder = self.path("home/plain/disk/maps").join((number % 7).to_string());
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("sheet {number}.txt")), format!("sheet {number}, {what}"))?;
        Ok(())
    }

    fn set_policy(&self, institution: &str, version: u64, destinations: &[&str]) -> Result<()> {
        let rules: Vec<String> =
            destinations.iter().map(|to| format!("{{ source = \"disk\", destination = \"{to}\" }}")).collect();
        let file = self.path("policy.toml");
        fs::write(&file, format!("default = [{}]\n", rules.join(", ")))?;
        let (file, version) = (file.display().to_string(), (version - 1).to_string());
        let set = ["duplicate", "policy", "set", &file, "--reason", "a copy", "--if-version", &version];
        self.run(set.into_iter().chain(["--institution", institution]))?.succeeded()?;
        Ok(())
    }
}

impl Cast {
    /// In a settled run, copies a space while workers are killed, files and the policy change.
    pub(crate) fn duplicate(&mut self) -> Result<()> {
        self.world.log("a space is copied by a policy");
        self.world.add_plain_stores()?;
        for number in 0..FILES {
            self.world.put(number, "as it was")?;
        }
        let institution = INSTITUTION;
        self.world.set_policy(institution, 1, &["cloud"])?;
        for kill in 0..KILLS {
            self.workers.start_all(&self.world)?;
            // Another process may run it now, or may have been killed while it did.
            self.world.run(["background", "run", "duplication"])?;
            for number in (kill..FILES + 20).step_by(9) {
                self.world.put(number, &format!("as of kill {kill}"))?;
                let item = format!("disk/maps/{}/sheet {number}.txt", number % 7);
                self.world.run(["duplicate", "event", "put", &item])?.succeeded()?;
            }
            if kill == 1 {
                self.world.set_policy(institution, 2, &["cloud", "tape"])?;
            }
            std::thread::park_timeout(Duration::from_millis(200));
            self.workers.kill_all(&mut self.world)?;
        }
        let began = Instant::now();
        let run = ["duplicate", "run", "--wait", "--institution", institution, "--json"];
        loop {
            let ended = self.world.run(run)?.json()?;
            let Some(ended) = ended.first() else { bail!("no sweep has ended") };
            let of = |name: &str| ended.get(name).and_then(Value::as_u64).unwrap_or_default();
            if of("listed") != of("queued") + of("equal") + of("ignored") + of("failed") {
                bail!("the totals of a sweep are not exact: {ended}");
            }
            // One in a thousand that are equal is read all the same.
            if text(ended, "state") == "done" && of("failed") == 0 && of("queued") <= 2 {
                break;
            }
            if began.elapsed() > PATIENCE {
                bail!("something is left to copy: {ended}");
            }
            std::thread::park_timeout(Duration::from_millis(200));
        }
        let source = files(&self.world.path("home/plain/disk/maps"))?;
        for store in ["cloud", "tape"] {
            let copies = files(&self.world.path("home/plain").join(store).join("maps"))?;
            if copies != source {
                bail!("{store} has other files than the source: {} and {}", copies.len(), source.len());
            }
        }
        self.world.log("the copies are what the source has");
        Ok(())
    }
}

/// The files below a folder, with what is in them.
fn files(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for directory in fs::read_dir(folder)? {
        for file in fs::read_dir(directory?.path())? {
            let path = file?.path();
            found.insert(path.strip_prefix(folder)?.display().to_string(), fs::read_to_string(&path)?);
        }
    }
    Ok(found)
}
