//! `bench`: what this machine can do, in one table.

use std::hint::black_box;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use strongroom_bagit::{BagWriter, NewFile, Serialization, WriterOptions};
use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_engine::app::deposits::{self, PackageSource, Request};
use strongroom_engine::app::installation::NewInstallation;
use strongroom_engine::app::installation::{self, INSTITUTION, SETTINGS_FILE};
use strongroom_engine::app::views::ItemStatus;
use strongroom_engine::app::{Caller, Installation, Shutdown, items, queue_rate};
use strongroom_engine::settings::Settings;
use strongroom_storage::{Durability, FolderStore, Key, PutOptions, StorageError, Store as _};
use uuid::Uuid;

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;
use crate::progress;

const BLOCK: usize = 1 << 20;

/// Measure this machine; needs no data directory
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Where to measure the disk, in a folder that is removed again [default: where the system keeps temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// How long each measurement takes
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
}

report! {
    /// One measurement.
    Measured { what: String, value: f64, unit: String }
}

pub(crate) fn run(command: &Bench, context: &Context) -> Outcome {
    let parent = command.dir.clone().unwrap_or_else(std::env::temp_dir);
    let folder = parent.join(format!("strongroom-bench-{}", Uuid::new_v4().simple()));
    std::fs::create_dir(&folder).map_err(|error| Failure::io("make the folder", &folder, &error))?;
    let duration = Duration::from_secs(command.seconds);
    let outcome = measure(&folder, duration, context);
    std::fs::remove_dir_all(&folder).map_err(|error| Failure::io("remove", &folder, &error))?;
    let mut table = context.output.table(&["what", "value", "unit"]);
    for measured in outcome? {
        table.row(&measured)?;
    }
    table.end("")?;
    Ok(Exit::Done)
}

fn measure(folder: &std::path::Path, duration: Duration, context: &Context) -> Result<Vec<Measured>, Failure> {
    let bar = progress::steps(context, 10, "digests");
    let mut rows = Vec::new();
    let mut add = |what: String, value: f64, unit: &str| {
        bar.inc(1);
        rows.push(Measured { what, value: (value * 10.0).round() / 10.0, unit: unit.to_owned() });
    };
    let four = [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];
    for algorithm in four {
        add(format!("digest {algorithm}"), digest_rate(&[algorithm], duration), "MiB/s");
    }
    add("digest all four in one pass".to_owned(), digest_rate(&four, duration), "MiB/s");
    bar.set_message("store");
    add("store put, durable on return".to_owned(), put_rate(folder, duration, Durability::OnReturn)?, "files/s");
    add("store put, synced together".to_owned(), put_rate(folder, duration, Durability::OnSync)?, "files/s");
    bar.set_message("queue");
    add("queue enqueue, lease and settle, 100 at once".to_owned(), queue_rate(folder, duration)?, "tasks/s");
    bar.set_message("ingest");
    let (files, _) = ingest_rate(folder, 2_000, 512)?;
    add("ingest of 2,000 files of 512 B, two copies".to_owned(), files, "files/s");
    let (_, mib) = ingest_rate(folder, 4, 32 << 20)?;
    add("ingest of 4 files of 32 MiB, two copies".to_owned(), mib, "MiB/s");
    bar.finish_and_clear();
    Ok(rows)
}

/// MiB a second.
fn digest_rate(algorithms: &[Algorithm], duration: Duration) -> f64 {
    let block: Vec<u8> = (0..BLOCK).map(|index| (index * 31 % 251) as u8).collect();
    let mut hasher = MultiHasher::new(algorithms);
    let begin = Instant::now();
    let mut blocks = 0_u32;
    while begin.elapsed() < duration {
        hasher.update(&block);
        blocks += 1;
    }
    black_box(hasher.finish());
    f64::from(blocks) / begin.elapsed().as_secs_f64()
}

/// Files of 4 KiB a second.
fn put_rate(folder: &std::path::Path, duration: Duration, durability: Durability) -> Result<f64, Failure> {
    let path = folder.join(format!("store-{durability:?}"));
    std::fs::create_dir(&path).map_err(|error| Failure::io("make the folder", &path, &error))?;
    let store = FolderStore::create("bench", &path)?;
    let bytes = [7_u8; 4096];
    let begin = Instant::now();
    let mut files = 0_u32;
    while begin.elapsed() < duration {
        let key = Key::new(format!("{:02x}/{files}", files % 256)).map_err(StorageError::from)?;
        let options = PutOptions { durability, ..PutOptions::default() };
        store.put(&key, &mut io::Cursor::new(bytes), &options)?;
        files += 1;
    }
    store.sync()?;
    Ok(f64::from(files) / begin.elapsed().as_secs_f64())
}

/// Files and MiB a second, from the deposit of a bag until it is kept and cleared up.
fn ingest_rate(folder: &std::path::Path, files: u32, size: usize) -> Result<(f64, f64), Failure> {
    let place = folder.join(format!("ingest-{files}"));
    let home_folder = place.join("home");
    std::fs::create_dir(&place).map_err(|error| Failure::io("make the folder", &place, &error))?;
    let caller = Caller::at_console("bench");
    installation::init(&caller.clone().into(), &home_folder, &NewInstallation::default())?;
    let bag = place.join("bench.tar");
    let options = WriterOptions { algorithms: vec![Algorithm::Md5], ..WriterOptions::default() };
    let mut writer = BagWriter::create(&bag, Serialization::Tar, options)?;
    let mut bytes = vec![0x5a_u8; size];
    for number in 0..files {
        // No two files are equal: equal ones would be kept once.
        for (byte, new) in bytes.iter_mut().zip(number.to_be_bytes()) {
            *byte = new;
        }
        let path = format!("data/{:03}/{number}", number % 1_000);
        writer.add_payload(&NewFile::new(&path, size as u64), bytes.as_slice())?;
    }
    let info = b"Title: A measurement\nAccess: Institution\n";
    writer.add_tag_file(&NewFile::new("aptrust-info.txt", info.len() as u64), info.as_slice())?;
    writer.finish(&[])?;
    let settings_file = home_folder.join(SETTINGS_FILE);
    let loaded = Settings::load(&settings_file, [])?;
    let call = Installation::new(&home_folder, &settings_file, loaded, caller).open()?.context;
    let request = Request {
        institution: Some(INSTITUTION.to_owned()),
        sources: vec![PackageSource::LocalPath(bag)],
        ..Request::default()
    };
    let begin = Instant::now();
    let items = deposits::submit(&call, request)?.items;
    items::work(&call, &items, &Shutdown::new())?;
    let seconds = begin.elapsed().as_secs_f64();
    for id in items {
        let item = items::show(&call, id)?;
        if item.status != ItemStatus::Succeeded {
            let note = item.note.unwrap_or_default();
            return Err(Failure::new(Exit::No, format!("the deposit of the measurement did not succeed: {note}")));
        }
    }
    Ok((f64::from(files) / seconds, f64::from(files) * size as f64 / BLOCK as f64 / seconds))
}
