//! A store joins every placement at the end of a run: it gets what it lacks without a command, although workers are killed meanwhile.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::perform::Cast;
use crate::promises::text;
use crate::world::World;

/// The store that joins.
const JOINING: &str = "joining";
/// How often the workers are killed while they fill it.
const KILLS: usize = 3;
/// How long it may take to be filled. Leases of processes that were killed last a minute.
const PATIENCE: Duration = Duration::from_mins(3);

impl World {
    /// Adds a store to the settings and to every placement.
    fn add_store(&self) -> Result<()> {
        let file = self.path("home/strongroom.toml");
        let was = "[\"primary\", \"secondary\"]";
        let settings = fs::read_to_string(&file)?;
        if !settings.contains(was) {
            bail!("{was} is not in the settings that init has written");
        }
        let settings = settings.replace(was, &format!("[\"primary\", \"secondary\", \"{JOINING}\"]"));
        fs::write(&file, format!("{settings}\n[stores.{JOINING}]\nkind = \"folder\"\npath = \"stores/{JOINING}\"\n"))?;
        self.run(["store", "create", JOINING])?.succeeded()?;
        Ok(())
    }
}

impl Cast {
    /// In a settled run, adds the store, kills the workers while they fill it, and waits until it lacks nothing.
    pub(crate) fn join_store(&mut self) -> Result<()> {
        self.world.log("a store joins every placement");
        self.world.add_store()?;
        for _ in 0..KILLS {
            self.workers.start_all(&self.world)?;
            // Another process may run it now, or may have been killed while it did.
            self.world.run(["background", "run", "placements"])?;
            std::thread::park_timeout(Duration::from_millis(300));
            self.workers.kill_all(&mut self.world)?;
        }
        self.workers.start_all(&self.world)?;
        let began = Instant::now();
        loop {
            let compared = self.world.run(["background", "run", "placements"])?;
            self.drain()?;
            let problems = self.world.run(["fixity", "problems", "--json"])?.json()?;
            let lacking: Vec<&Value> = problems.iter().filter(|problem| text(problem, "kind") == "lacking").collect();
            if lacking.is_empty() {
                self.world.log("the store that has joined lacks nothing");
                self.workers.stop_all()?;
                self.world.run(["schedule", "--once"])?.succeeded()?;
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                bail!("the store that has joined still lacks {lacking:#?}; placements: {compared:?}");
            }
            std::thread::park_timeout(Duration::from_millis(500));
        }
    }
}
