//! `bench ingest`: whole deposits through the release build into two folder stores, beside the bare work.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::bags::{Run, write_tar};
use super::{Options, bare, measured, mebibytes, ratio, scratch, seconds, strongroom};
use crate::place;

struct Case {
    name: &'static str,
    bags: u32,
    run: Run,
    /// The largest ratio of our time to the bare work that we are content with.
    aim: f64,
}

const CASES: [Case; 3] = [
    Case { name: "1 bag, 1,000 x 1 MB", bags: 1, run: Run { files: 1_000, size: 1_000_000 }, aim: 1.6 },
    Case { name: "1 bag, 5,000 x 4 KiB", bags: 1, run: Run { files: 5_000, size: 4_096 }, aim: 4.0 },
    Case { name: "50 bags, 10 x 4 KiB", bags: 50, run: Run { files: 10, size: 4_096 }, aim: 10.0 },
];

const LARGE: [Case; 2] = [
    Case { name: "1 bag, 5 x 1 GiB", bags: 1, run: Run { files: 5, size: 1 << 30 }, aim: 1.6 },
    Case { name: "1 bag, 100,000 x 1 KiB", bags: 1, run: Run { files: 100_000, size: 1_024 }, aim: 4.0 },
];

pub(super) fn run(options: &Options) -> Result<()> {
    let program = strongroom(options)?;
    println!("| case | ours s | bare s | ratio | aim | cpu s | bare cpu s | peak MiB |");
    println!("|---|---|---|---|---|---|---|---|");
    // Kept until the last case has been measured: for minutes ext4 inspects each inode that was freed before it makes
    // a file.
    let mut folders = Vec::new();
    for case in CASES.iter().chain(if options.is_large { LARGE.iter() } else { [].iter() }) {
        let folder = scratch()?;
        let bags = folder.path().join("bags");
        std::fs::create_dir(&bags)?;
        let tars = (1..=case.bags)
            .map(|number| write_tar(&bags, &format!("example.edu.bench-{number:02}"), &[case.run]))
            .collect::<Result<Vec<PathBuf>>>()?;
        let bare = bare::run(&tars, &folder.path().join("bare"))?;

        let home = folder.path().join("home");
        place::succeed(Command::new(&program).arg("init").arg(&home).stdout(std::process::Stdio::null()))
            .context("the program cannot make a home")?;
        let mut deposit = Command::new(&program);
        deposit.arg("--home").arg(&home).args(["deposit", "--institution", "example.edu", "--type", "bag"]);
        deposit.args(["--wait", "--json"]).args(&tars);
        // What earlier work left to be written must not fall to this one.
        bare::settle(folder.path())?;
        let ours = measured(&deposit).with_context(|| format!("case {:?}", case.name))?;
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            case.name,
            seconds(ours.wall),
            seconds(bare.wall),
            ratio(ours.wall, bare.wall),
            case.aim,
            seconds(ours.cpu),
            seconds(bare.cpu),
            mebibytes(ours.peak)
        );
        folders.push(folder);
    }
    Ok(())
}
