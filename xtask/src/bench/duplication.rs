//! `bench duplication`, in two parts: copies of a sweep into an empty plain store beside `rclone copy --checksum`; and sweeps of a large
//! space, without differences beside the two listings alone, and with differences in one of a hundred content items.

mod copies;
mod rclone;
mod sweep;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::home::Home;
use super::{Need, Options, measured, strongroom};
use crate::place;

/// The parts, in their order.
const PARTS: [&str; 2] = ["copies", "sweep"];
/// The space that is copied.
const SPACE: &str = "space";

pub(super) fn run(options: &Options) -> Result<()> {
    if let Some(part) = options.part.as_deref().filter(|part| !PARTS.contains(part)) {
        bail!("the parts are {}, found {part:?}", PARTS.join(", "));
    }
    let program = strongroom(options)?;
    let is_wanted = |part: &str| options.part.as_deref().is_none_or(|wanted| wanted == part);
    if is_wanted("copies") {
        copies::run(&program, options)?;
    }
    if is_wanted("sweep") {
        sweep::run(&program, options)?;
    }
    Ok(())
}

/// A data directory with two plain stores in folders, `source` and `destination`, and a policy that copies from one to the other.
struct Pair {
    home: Home,
}

/// What a sweep counted, and what is left of it.
#[derive(Debug, Clone, Copy)]
struct Swept {
    need: Need,
    queued: i64,
    equal: i64,
}

impl Pair {
    /// Makes the data directory; the folders are there. `settings` are variables of the environment.
    fn new(program: &Path, folder: &Path, stores: [&Path; 2], settings: &[(&'static str, &str)]) -> Result<Self> {
        let mut home = Home::new(program, folder, None)?;
        for (name, value) in settings {
            home.set(name, (*value).to_owned());
        }
        let [source, destination] = stores.map(Path::display);
        let file = folder.join("strongroom.toml");
        let stores = format!(
            "\n[plain_stores.source]\npath = \"{source}\"\n\n[plain_stores.destination]\npath = \"{destination}\"\n"
        );
        let opened = OpenOptions::new().append(true).open(&file);
        let written = opened.and_then(|mut opened| opened.write_all(stores.as_bytes()));
        written.with_context(|| format!("cannot write {}", file.display()))?;
        let policy = folder.join("policy.toml");
        fs::write(&policy, "default = [{ source = \"source\", destination = \"destination\" }]\n")
            .with_context(|| format!("cannot write {}", policy.display()))?;
        place::succeed(home.command().args(["duplicate", "policy", "set", "--reason", "to measure"]).arg(&policy))?;
        Ok(Self { home })
    }

    /// A sweep with its tasks, in one process with the workers that the settings give it, as a person runs it.
    fn sweep_and_copy(&mut self) -> Result<Swept> {
        let mut run = self.home.command();
        run.args(["duplicate", "run", "--wait"]);
        let need = measured(&run)?;
        self.swept(need)
    }

    /// A sweep alone, whose tasks are left in the queue.
    fn sweep(&mut self) -> Result<Swept> {
        place::succeed(self.home.command().args(["duplicate", "run"]))?;
        let mut run = self.home.command();
        run.args(["background", "run", "duplication"]);
        let need = measured(&run)?;
        self.swept(need)
    }

    /// What the newest sweep counted, which has to have ended.
    fn swept(&mut self, need: Need) -> Result<Swept> {
        let open = self.home.number("SELECT count(*) FROM duplication_runs WHERE ended_at IS NULL")?;
        if open != 0 {
            bail!("the sweep has not ended");
        }
        let mut sum = |column: &str| {
            self.home.number(&format!(
                "SELECT coalesce(sum({column}), 0) FROM duplication_parts
                 WHERE run_id = (SELECT id FROM duplication_runs ORDER BY number DESC LIMIT 1)"
            ))
        };
        Ok(Swept { need, queued: sum("queued")?, equal: sum("equal")? })
    }

    /// Content items that are known to be equal in both stores.
    fn equal(&mut self) -> Result<i64> {
        self.home.number("SELECT count(*) FROM duplicated_items WHERE outcome = 'equal'")
    }
}

/// Makes a folder with the folder of the space in it; that one.
fn space_in(store: &Path) -> Result<PathBuf> {
    let space = store.join(SPACE);
    fs::create_dir_all(&space).with_context(|| format!("cannot make {}", space.display()))?;
    Ok(space)
}

/// The one in the middle, of several times.
fn median(times: impl IntoIterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.into_iter().collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
