//! One sweep into an empty destination, folder to folder, beside `rclone copy --checksum` of the same folder. They take turns, and each copies
//! into a folder of its own.
//!
//! Ours computes SHA-512 and SHA-256, syncs each file and its name to the disk, reads the copy back and records both. rclone compares a digest of
//! both and syncs nothing: its time is also shown with a sync of the file system behind it.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::super::bags::pseudo_random;
use super::super::{Options, bare, measured, mebibytes, ratio, scratch, seconds};
use super::rclone::Rclone;
use super::{Pair, median, space_in};

/// How often each is measured.
const TIMES: usize = 5;
/// Content items in one folder.
const PER_FOLDER: u64 = 500;
const BLOCK: usize = 1 << 20;

struct Case {
    name: &'static str,
    items: u64,
    size: u64,
    /// What is told of the speed.
    unit: Unit,
}

#[derive(Clone, Copy)]
enum Unit {
    Megabytes,
    Items,
}

impl Case {
    fn rate(&self, time: Duration) -> String {
        match self.unit {
            Unit::Megabytes => format!("{:.0} MB/s", (self.items * self.size) as f64 / 1e6 / time.as_secs_f64()),
            Unit::Items => format!("{:.0} items/s", self.items as f64 / time.as_secs_f64()),
        }
    }
}

fn cases(options: &Options) -> Vec<Case> {
    let of = |name, items, size, unit| Case { name, items, size, unit };
    if options.is_small {
        return vec![of("4 x 8 MiB", 4, 8 << 20, Unit::Megabytes), of("1,000 x 4 KiB", 1_000, 4 << 10, Unit::Items)];
    }
    let mut cases =
        vec![of("8 x 128 MiB", 8, 128 << 20, Unit::Megabytes), of("10,000 x 4 KiB", 10_000, 4 << 10, Unit::Items)];
    if options.is_large {
        cases.push(of("4 x 1 GiB", 4, 1 << 30, Unit::Megabytes));
        cases.push(of("100,000 x 4 KiB", 100_000, 4 << 10, Unit::Items));
    }
    cases
}

pub(super) fn run(program: &Path, options: &Options) -> Result<()> {
    let rclone = Rclone::built()?;
    println!(
        "| copies | ours s | rclone s | rclone with a sync s | ours | rclone | rclone : ours | with a sync : ours | our peak MiB | its peak MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    // Kept until the last case has been measured: for minutes ext4 inspects each inode that was freed before it makes
    // a file.
    let mut folders = Vec::new();
    for case in cases(options) {
        let folder = scratch()?;
        let source = folder.path().join("source");
        make(&space_in(&source)?, &case)?;
        let (mut ours, mut theirs, mut synced) = (Vec::new(), Vec::new(), Vec::new());
        let (mut our_peak, mut their_peak) = (0, 0);
        for time in 0..TIMES {
            // Who begins changes from time to time.
            for is_ours in [time % 2 == 0, time % 2 != 0] {
                let target = folder.path().join(format!("{}-{time}", if is_ours { "ours" } else { "rclone" }));
                fs::create_dir(&target).with_context(|| format!("cannot make {}", target.display()))?;
                if is_ours {
                    let home = folder.path().join(format!("home-{time}"));
                    // What shows that the folder is mounted, as long as nothing else is in it.
                    fs::write(target.join(".mounted"), "")?;
                    let mut pair = Pair::new(program, &home, [&source, &target], &[])?;
                    bare::settle(&target)?;
                    let swept = pair.sweep_and_copy()?;
                    let equal = pair.equal()?;
                    ensure!(
                        u64::try_from(equal) == Ok(case.items),
                        "{equal} of {} content items were copied",
                        case.items
                    );
                    ours.push(swept.need.wall);
                    our_peak = our_peak.max(swept.need.peak);
                } else {
                    bare::settle(&target)?;
                    let need = measured(&rclone.copy(&source, &target))?;
                    let began = Instant::now();
                    bare::settle(&target)?;
                    theirs.push(need.wall);
                    synced.push(need.wall + began.elapsed());
                    their_peak = their_peak.max(need.peak);
                }
            }
        }
        let [ours, theirs, synced] = [ours, theirs, synced].map(median);
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            case.name,
            seconds(ours),
            seconds(theirs),
            seconds(synced),
            case.rate(ours),
            case.rate(theirs),
            ratio(theirs, ours),
            ratio(synced, ours),
            mebibytes(our_peak),
            mebibytes(their_peak),
        );
        folders.push(folder);
    }
    println!("\nmedians of {TIMES} runs each, turn by turn; aim: at least as fast as rclone");
    Ok(())
}

/// Makes content items of pseudo-random bytes.
fn make(space: &Path, case: &Case) -> Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut block = Vec::with_capacity(BLOCK);
    while block.len() < BLOCK {
        block.extend_from_slice(&pseudo_random(&mut state).to_le_bytes());
    }
    for number in 0..case.items {
        let folder = space.join(format!("{:04}", number / PER_FOLDER));
        if number % PER_FOLDER == 0 {
            fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let path = folder.join(format!("{number:06}.bin"));
        let failed = || format!("cannot write {}", path.display());
        let mut file = File::create(&path).with_context(failed)?;
        // No two have the same bytes.
        block[..8].copy_from_slice(&number.to_le_bytes());
        let mut left = case.size;
        while left > 0 {
            let length = left.min(BLOCK as u64);
            file.write_all(&block[..length as usize]).with_context(failed)?;
            left -= length;
        }
    }
    Ok(())
}
