//! Sweeps of a large space that lies in both stores: without differences, beside the two listings alone, turn by turn; and with
//! differences in one of a hundred content items, each of which has to be queued, and nothing else.

use std::fs::{self, File};
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use super::super::{Options, bare, measured, mebibytes, ratio, scratch, seconds};
use super::{Pair, SPACE, median, space_in};

/// How often each is measured.
const TIMES: usize = 3;
/// Content items in one folder, and folders in the one above.
const PER_FOLDER: u64 = 1_000;
const FOLDERS: u64 = 100;
/// One of so many is changed.
const CHANGED: u64 = 100;
/// Nothing is read whole besides what differs; what differs fits into the queue; and the first sweep, which is not measured, has more workers.
const SETTINGS: [(&str, &str); 4] = [
    ("STRONGROOM_DUPLICATION__EVERY", "0s"),
    ("STRONGROOM_DUPLICATION__VERIFY_ONE_IN", "0"),
    ("STRONGROOM_DUPLICATION__MOST_QUEUED", "100000"),
    ("STRONGROOM_WORKERS__DUPLICATE_LOW__WORKERS", "64"),
];

pub(super) fn run(program: &Path, options: &Options) -> Result<()> {
    let items = if options.is_small { 20_000 } else { 1_000_000 };
    let folder = scratch()?;
    let stores = ["source", "destination"].map(|name| folder.path().join(name));
    let stores = [stores[0].as_path(), stores[1].as_path()];
    make(stores, items)?;
    let mut pair = Pair::new(program, &folder.path().join("home"), stores, &SETTINGS)?;
    bare::settle(folder.path())?;
    let first = pair.sweep_and_copy()?;
    let equal = pair.equal()?;
    ensure!(u64::try_from(equal) == Ok(items), "{equal} of {items} content items were compared");
    println!(
        "{items} content items; the first sweep compared the bytes of all in {} s, {:.0} items/s, peak {} MiB\n",
        seconds(first.need.wall),
        items as f64 / first.need.wall.as_secs_f64(),
        mebibytes(first.need.peak)
    );
    bare::settle(folder.path())?;
    without_differences(&mut pair, items)?;
    with_differences(&mut pair, stores, items)
}

fn without_differences(pair: &mut Pair, items: u64) -> Result<()> {
    let (mut listings, mut sweeps) = (Vec::new(), Vec::new());
    let (mut listing_peak, mut sweep_peak) = (0, 0);
    for _ in 0..TIMES {
        let mut both = Duration::ZERO;
        for store in ["source", "destination"] {
            let mut list = pair.home.command();
            list.args(["space", "items", &format!("{store}/{SPACE}"), "--json"]);
            let need = measured(&list)?;
            both += need.wall;
            listing_peak = listing_peak.max(need.peak);
        }
        listings.push(both);
        let swept = pair.sweep()?;
        ensure!(
            swept.queued == 0 && u64::try_from(swept.equal) == Ok(items),
            "{} were queued and {} equal of {items} that are",
            swept.queued,
            swept.equal
        );
        sweeps.push(swept.need.wall);
        sweep_peak = sweep_peak.max(swept.need.peak);
    }
    let (listing, sweep) = (median(listings), median(sweeps));
    println!("| without differences | sweep s | both listings s | ratio | aim | peak MiB | peak MiB of a listing |");
    println!("|---|---|---|---|---|---|---|");
    println!(
        "| {items} content items | {} | {} | {} | <= 1.5 | {} | {} |\n",
        seconds(sweep),
        seconds(listing),
        ratio(sweep, listing),
        mebibytes(sweep_peak),
        mebibytes(listing_peak)
    );
    Ok(())
}

/// What is changed of a content item.
#[derive(Debug, Clone, Copy)]
enum Change {
    OtherSize,
    OtherBytes,
    MissingInDestination,
    OtherContentType,
}

const CHANGES: [Change; 4] =
    [Change::OtherSize, Change::OtherBytes, Change::MissingInDestination, Change::OtherContentType];

fn with_differences(pair: &mut Pair, [source, destination]: [&Path; 2], items: u64) -> Result<()> {
    let changed = (0..items).filter(|number| number % CHANGED == CHANGED / 2);
    let mut expected = 0;
    for (number, change) in changed.zip(CHANGES.into_iter().cycle()) {
        let name = name_of(number);
        let (ours, copy) = (source.join(SPACE).join(&name), destination.join(SPACE).join(&name));
        let done = match change {
            Change::OtherSize => fs::write(&ours, "bb"),
            Change::OtherBytes => fs::write(&ours, "c"),
            Change::MissingInDestination => fs::remove_file(&copy),
            Change::OtherContentType => describe(&ours),
        };
        done.with_context(|| format!("cannot change {name}: {change:?}"))?;
        expected += 1;
    }
    bare::settle(source)?;
    let swept = pair.sweep()?;
    let mut copied = pair.home.command();
    copied.args(["duplicate", "run", "--wait"]);
    let copying = measured(&copied)?;
    let after = pair.sweep()?;
    println!(
        "| differences in 1 of {CHANGED} | queued | sweep s | peak MiB | copied in s | queued by the sweep after that |"
    );
    println!("|---|---|---|---|---|---|");
    println!(
        "| {expected} | {} | {} | {} | {} | {} |",
        swept.queued,
        seconds(swept.need.wall),
        mebibytes(swept.need.peak),
        seconds(copying.wall),
        after.queued
    );
    ensure!(swept.queued == expected, "{} were queued, and {expected} differ", swept.queued);
    ensure!(after.queued == 0, "{} were queued when all had been copied", after.queued);
    Ok(())
}

/// Gives a content item another content type, as others do.
fn describe(path: &Path) -> std::io::Result<()> {
    let file = File::open(path)?;
    Ok(rustix::fs::fsetxattr(&file, "user.mime_type", b"text/plain", rustix::fs::XattrFlags::empty())?)
}

/// The name of a content item within the space.
fn name_of(number: u64) -> String {
    let folder = number / PER_FOLDER;
    format!("{:02}/{:02}/{number:07}", folder / FOLDERS, folder % FOLDERS)
}

/// Makes the same content items of one byte in both stores, each in a thread.
fn make(stores: [&Path; 2], items: u64) -> Result<()> {
    thread::scope(|scope| {
        let made = stores.map(|store| scope.spawn(move || make_in(store, items)));
        for one in made {
            one.join().map_err(|_| anyhow!("a thread that makes files ended"))??;
        }
        Ok(())
    })
}

fn make_in(store: &Path, items: u64) -> Result<()> {
    let space = space_in(store)?;
    for number in 0..items {
        let path = space.join(name_of(number));
        if let Some(folder) = path.parent().filter(|_| number % PER_FOLDER == 0) {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        fs::write(&path, "a").with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
