//! Measures a folder store: many small puts, synced together and one by one, and one large put.
//!
//! `cargo run --release -p strongroom-storage --example measure -- DIR [FILES] [MEGABYTES]`

use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Instant;

use strongroom_digest::{Algorithm, HashingReader, hash_reader};
use strongroom_storage::{Durability, FolderStore, Key, PutOptions, StorageError, Store};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("name a directory to measure in")?);
    let files: u32 = arguments.next().map_or(Ok(20_000), |text| text.parse())?;
    let megabytes: u64 = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let folder = tempfile::TempDir::new_in(directory)?;
    let store = FolderStore::create("measured", folder.path())?;

    let bytes = vec![7; 4096];
    let timed = |what: &str, count: u32, act: &dyn Fn() -> Result<(), StorageError>| {
        let begun = Instant::now();
        act()?;
        let seconds = begun.elapsed().as_secs_f64();
        println!("{what}: {seconds:.2} s, {:.0} files/s", f64::from(count) / seconds);
        Ok::<_, StorageError>(())
    };
    let put_all = |prefix: &str, count: u32, durability: Durability| -> Result<(), StorageError> {
        let options = PutOptions { durability, ..PutOptions::default() };
        for n in 0..count {
            let key = Key::new(format!("{prefix}/{:02x}/{n}", n % 256))?;
            store.put(&key, &mut bytes.as_slice(), &options)?;
        }
        Ok(())
    };
    store.sync()?;
    timed("4 KiB puts, then one sync", files, &|| {
        put_all("together", files, Durability::OnSync)?;
        store.sync()
    })?;
    timed("4 KiB puts, each durable on return", files / 10, &|| put_all("single", files / 10, Durability::OnReturn))?;
    timed("4 KiB puts, each durable on return, 8 threads", files / 10, &|| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    let put_all = &put_all;
                    scope.spawn(move || put_all(&format!("threads/{thread}"), files / 80, Durability::OnReturn))
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
        })
    })?;
    for (what, count) in [("assembly of 3 files, put, synced, committed", 200), ("assembly of 300 files", 5)] {
        let size: u32 = if count == 200 { 3 } else { 300 };
        timed(what, count * size, &|| {
            for n in 0..count {
                let assembly = store.assembly("one", &Key::new(format!("assembled/{size}/{n}"))?)?;
                for file in 0..size {
                    let key = Key::new(format!("v1/content/{file}"))?;
                    assembly.put(&key, &mut bytes.as_slice(), &PutOptions::default())?;
                }
                assembly.sync()?;
                assembly.commit()?;
            }
            Ok(())
        })?;
    }
    let begun = Instant::now();
    let listed = store.list(&Key::ROOT)?.count();
    println!("listing: {:.0} keys/s", listed as f64 / begun.elapsed().as_secs_f64());

    let large = |what: &str, act: &mut dyn FnMut() -> Result<(), Box<dyn std::error::Error>>| {
        let (begun, spent) = (Instant::now(), processor_seconds());
        act()?;
        let (seconds, spent) = (begun.elapsed().as_secs_f64(), processor_seconds() - spent);
        println!("{what}: {:.0} MB/s, {spent:.2} s of processor time", megabytes as f64 / seconds);
        Ok::<_, Box<dyn std::error::Error>>(())
    };
    let block: Vec<u8> = (0..1 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let body = || Repeated { block: &block, position: 0 }.take(megabytes * 1_000_000);
    for (what, algorithms) in [("all four digests", &Algorithm::RECORDED[..]), ("sha512", &[Algorithm::Sha512])] {
        large(&format!("{what}, nothing else"), &mut || Ok(hash_reader(body(), algorithms).map(|_| ())?))?;
    }
    let key = Key::new("large")?;
    large("large put, durable", &mut || Ok(store.put(&key, &mut body(), &PutOptions::default()).map(|_| ())?))?;
    large("large put, durable, all four digests on the way", &mut || {
        let mut hashing = HashingReader::new(body(), &Algorithm::RECORDED);
        store.put(&key, &mut hashing, &PutOptions::default())?;
        hashing.finish();
        Ok(())
    })?;
    large("read back with sha512", &mut || {
        Ok(hash_reader(store.open(&key, 0, None)?, &[Algorithm::Sha512]).map(|_| ())?)
    })?;
    Ok(())
}

/// Processor time of this process in seconds, where `/proc` tells (proc(5): fields 14 and 15, in hundredths).
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The same block over and over.
struct Repeated<'a> {
    block: &'a [u8],
    position: usize,
}

impl Read for Repeated<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.block.get(self.position..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(rest) {
            *to = *from;
        }
        self.position = (self.position + length) % self.block.len();
        Ok(length)
    }
}
