//! `bench identify`: the release build beside siegfried, as a program and as the library pygfried; and what an
//! identification adds to the digests of an ingest.

mod digests;
mod material;
mod siegfried;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Need, Options, measured, mebibytes, ratio, scratch, strongroom};
use crate::peers::Peers;
use material::Material;
pub(crate) use siegfried::Siegfried;

/// Identifies what its arguments name, folders with all that is below them. What it answers is thrown away.
const PYGFRIED: &str = "
import os, sys, pygfried
paths = []
for path in sys.argv[1:]:
    if os.path.isdir(path):
        paths += [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    else:
        paths.append(path)
pygfried.identify_many(paths, workers=2)
";

/// How often the short cases are measured; the best counts. What takes seconds is measured once.
const SHORT: u32 = 7;
const LONG: u32 = 2;

/// What one program needed for one case; `None` where the program is not there.
type Measured = Option<Need>;

struct Case {
    name: &'static str,
    material: Material,
    times: u32,
    aim: &'static str,
}

pub(super) fn run(options: &Options) -> Result<()> {
    let folder = scratch()?;
    let programs = Programs::found(options)?;
    let tiny = Material::tiny(folder.path())?;
    let start = programs.measure(&tiny, SHORT)?;
    println!("\n| case | ours s | sf s | pygfried s | sf : ours | aim | ours | sf | our peak MiB | sf peak MiB |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    line("one tiny file: start-up", &tiny, &start, "< 0.020 s", None);

    let mut cases = Vec::new();
    if let Some(siegfried) = &programs.siegfried {
        let material = Material::existing(siegfried.skeletons())?;
        cases.push(Case { name: "skeletons", material, times: SHORT, aim: ">= 1.5" });
    }
    let own = Material::of_this_machine(folder.path())?;
    cases.push(Case { name: "files of this machine", material: own, times: SHORT, aim: ">= 1.5" });
    let zeros = Material::zeros(folder.path())?;
    cases.push(Case { name: "zeros", material: zeros, times: LONG, aim: ">= 4" });
    let headed = Material::noise(folder.path(), "headed.pdf", b"%PDF-1.4\n")?;
    cases.push(Case { name: "%PDF-1.4 and noise", material: headed, times: LONG, aim: ">= 4" });
    for case in &cases {
        let needs = programs.measure(&case.material, case.times).with_context(|| format!("case {:?}", case.name))?;
        line(case.name, &case.material, &needs, case.aim, None);
        if case.material.files > 1 {
            line(&format!("{}, start-up taken off", case.name), &case.material, &needs, "", Some(&start));
        }
    }
    println!("\npeak: aim < 64 MB\n");
    digests::run(folder.path(), cases.iter().map(|case| &case.material))
}

/// The three that are compared.
struct Programs {
    ours: PathBuf,
    siegfried: Option<Siegfried>,
    python: Option<PathBuf>,
}

/// What each of them needed.
struct Needs {
    ours: Need,
    siegfried: Measured,
    pygfried: Measured,
}

impl Programs {
    fn found(options: &Options) -> Result<Self> {
        let ours = strongroom(options)?;
        let siegfried = Siegfried::built().inspect_err(|error| eprintln!("without siegfried: {error:#}")).ok();
        let peers = Peers::installed().inspect_err(|error| eprintln!("without pygfried: {error:#}")).ok();
        let python = peers.as_ref().and_then(Peers::python).map(Path::to_path_buf);
        Ok(Self { ours, siegfried, python })
    }

    fn measure(&self, material: &Material, times: u32) -> Result<Needs> {
        let mut ours = Command::new(&self.ours);
        ours.args(["identify", "--threads", "2", "--csv"]).arg(&material.path);
        let siegfried = self.siegfried.as_ref().map(|siegfried| siegfried.command(&material.path));
        let pygfried = self.python.as_ref().map(|python| {
            let mut command = Command::new(python);
            command.args(["-c", PYGFRIED]).arg(&material.path);
            command
        });
        Ok(Needs {
            ours: best(&ours, times)?,
            siegfried: siegfried.map(|command| best(&command, times)).transpose()?,
            pygfried: pygfried.map(|command| best(&command, times)).transpose()?,
        })
    }
}

/// The shortest of several runs, which the rest of the machine disturbed least. The first fills the page cache.
fn best(command: &Command, times: u32) -> Result<Need> {
    let mut best = measured(command)?;
    for _ in 1..times {
        let again = measured(command)?;
        let peak = best.peak.max(again.peak);
        if again.wall < best.wall {
            best = again;
        }
        best.peak = peak;
    }
    Ok(best)
}

/// Prints a line of the table. Where `start` is given, what starting took is taken off.
fn line(name: &str, material: &Material, needs: &Needs, aim: &str, start: Option<&Needs>) {
    let ours = less(Some(&needs.ours), start.map(|start| &start.ours));
    let siegfried = less(needs.siegfried.as_ref(), start.and_then(|start| start.siegfried.as_ref()));
    let pygfried = less(needs.pygfried.as_ref(), start.and_then(|start| start.pygfried.as_ref()));
    let shown =
        |time: Option<Duration>| time.map_or_else(|| "absent".to_owned(), |time| format!("{:.3}", time.as_secs_f64()));
    let times = match (ours, siegfried) {
        (Some(ours), Some(siegfried)) => ratio(siegfried, ours),
        _ => String::new(),
    };
    let rate = |time: Option<Duration>| time.map_or_else(String::new, |time| material.rate(time));
    println!(
        "| {name} | {} | {} | {} | {times} | {aim} | {} | {} | {} | {} |",
        shown(ours),
        shown(siegfried),
        shown(pygfried),
        rate(ours),
        rate(siegfried),
        mebibytes(needs.ours.peak),
        needs.siegfried.as_ref().map_or_else(String::new, |need| mebibytes(need.peak)),
    );
}

fn less(need: Option<&Need>, start: Option<&Need>) -> Option<Duration> {
    need.map(|need| need.wall.saturating_sub(start.map_or(Duration::ZERO, |start| start.wall)))
}
