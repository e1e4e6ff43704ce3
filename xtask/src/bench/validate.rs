//! `bench validate`: validation of bag folders through the release build, beside bagit-python with two processes.

use std::process::Command;

use anyhow::{Context, Result};

use super::bags::{Run, write_folder};
use super::{Options, measured, mebibytes, ratio, scratch, seconds, strongroom};
use crate::peers::Peers;

struct Case {
    name: &'static str,
    runs: &'static [Run],
}

const CASES: [Case; 2] = [
    Case {
        name: "10,000 x 20 KiB and 8 x 100 MiB",
        runs: &[Run { files: 10_000, size: 20 << 10 }, Run { files: 8, size: 100 << 20 }],
    },
    Case { name: "50,000 x 4 KiB", runs: &[Run { files: 50_000, size: 4 << 10 }] },
];

const LARGE: [Case; 2] = [
    Case { name: "5 x 1 GiB", runs: &[Run { files: 5, size: 1 << 30 }] },
    Case { name: "300,000 x 100 B", runs: &[Run { files: 300_000, size: 100 }] },
];

pub(super) fn run(options: &Options) -> Result<()> {
    let program = strongroom(options)?;
    let peers = Peers::installed()?;
    let python = peers.python().context("no python with bagit")?;
    println!("| bag, md5 and sha256 | ours s | bagit-python s | ratio | our peak MiB | its peak MiB |");
    println!("|---|---|---|---|---|---|");
    for case in CASES.iter().chain(if options.is_large { LARGE.iter() } else { [].iter() }) {
        let folder = scratch()?;
        let bag = write_folder(folder.path(), "example.edu.bench", case.runs)?;
        let mut validate = Command::new(&program);
        validate.args(["bag", "validate"]).arg(&bag).arg("--json");
        let mut peer = Command::new(python);
        peer.args(["-m", "bagit", "--quiet", "--validate", "--processes", "2"]).arg(&bag);
        // Once unmeasured, so that both read from a warm page cache.
        measured(&validate).with_context(|| format!("case {:?}", case.name))?;
        let ours = measured(&validate)?;
        let theirs = measured(&peer)?;
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            case.name,
            seconds(ours.wall),
            seconds(theirs.wall),
            ratio(ours.wall, theirs.wall),
            mebibytes(ours.peak),
            mebibytes(theirs.peak)
        );
    }
    Ok(())
}
