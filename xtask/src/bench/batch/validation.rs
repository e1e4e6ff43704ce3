//! `checkm validate` of a long manifest, beside a program that only splits the rows and compares the names, and beside one that only
//! reads the bytes.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::lists::{Identifiers, Row, write_list};
use super::size;
use crate::bench::{Options, measured, mebibytes, ratio, scratch, seconds};

/// Rows of the manifest.
const ROWS: u64 = 100_000;
/// What a script of a few lines checks: columns, digest, size, scheme and host of the URL, and that no name occurs twice.
const SCRIPT: &str = r##"
import re, sys
from urllib.parse import urlsplit
digest = re.compile("[0-9a-f]{64}")
names = set()
with open(sys.argv[1], encoding="utf-8", newline="\n") as manifest:
    for line in manifest:
        if line.startswith("#") or not line.strip():
            continue
        columns = [column.strip() for column in line.split("|")]
        url = urlsplit(columns[0])
        if url.scheme not in ("http", "https") or "." not in url.hostname:
            sys.exit("url: " + line)
        if not digest.fullmatch(columns[2]) or not columns[3].isdigit():
            sys.exit("digest or size: " + line)
        if columns[5] in names:
            sys.exit("name: " + line)
        names.add(columns[5])
"##;

pub(super) fn run(program: &Path, options: &Options) -> Result<()> {
    let rows = size(options, ROWS);
    let folder = scratch()?;
    let list = folder.path().join("list.checkm");
    let all: Vec<Row> = (1..=rows).map(Row::unfetched).collect();
    write_list(&list, &all, Identifiers::Local)?;
    let megabytes = std::fs::metadata(&list)?.len() as f64 / 1e6;
    let mut validate = Command::new(program);
    validate.args(["checkm", "validate", "--json"]).arg(&list);
    let mut script = Command::new("python3");
    script.args(["-c", SCRIPT]).arg(&list);
    let mut read = Command::new("sha256sum");
    read.arg(&list);
    println!("| manifest | ours s | MB/s | our peak MiB | script s | ratio | its peak MiB | sha256sum s | MB/s |");
    println!("|---|---|---|---|---|---|---|---|---|");
    // Once unmeasured, so that all read from a warm page cache.
    measured(&validate).context("the manifest is not valid")?;
    let ours = measured(&validate)?;
    let theirs = measured(&script).context("the script in Python")?;
    let bytes = measured(&read)?;
    println!(
        "| {rows} rows, {megabytes:.1} MB | {} | {:.1} | {} | {} | {} | {} | {} | {:.0} |",
        seconds(ours.wall),
        megabytes / ours.wall.as_secs_f64(),
        mebibytes(ours.peak),
        seconds(theirs.wall),
        ratio(ours.wall, theirs.wall),
        mebibytes(theirs.peak),
        seconds(bytes.wall),
        megabytes / bytes.wall.as_secs_f64()
    );
    Ok(())
}
