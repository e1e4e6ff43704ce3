//! The bare work of an ingest, for comparison: read the tar once, compute four digests on that pass, write each file
//! into two folders, and let the file system sync both. No checks, no record, no queue, one thread.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use md5::Md5;
use nix::sys::resource::{UsageWho, getrusage};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// What the work took.
pub(super) struct Took {
    pub(super) wall: Duration,
    /// Processor time.
    pub(super) cpu: Duration,
}

/// Does the work for every tar.
pub(super) fn run(tars: &[impl AsRef<Path>], folder: &Path) -> Result<Took> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    settle(folder)?;
    let (begin, used) = (Instant::now(), processor_time()?);
    let copies = ["a", "b"].map(|name| folder.join(name));
    let mut buffer = vec![0; 1 << 20];
    for tar in tars {
        let tar = tar.as_ref();
        let file = File::open(tar).with_context(|| format!("cannot open {}", tar.display()))?;
        let mut archive = tar::Archive::new(file);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            copy(&mut entry, &path, &copies, &mut buffer)?;
        }
    }
    for copy in &copies {
        settle(copy)?;
    }
    Ok(Took { wall: begin.elapsed(), cpu: processor_time()?.saturating_sub(used) })
}

/// The bare work of deposits of one file each: every file is durable in both folders before the next one begins.
pub(super) fn run_each(files: &[(String, Vec<u8>)], folder: &Path) -> Result<Took> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    settle(folder)?;
    let (begin, used) = (Instant::now(), processor_time()?);
    let copies = ["a", "b"].map(|name| folder.join(name));
    let mut buffer = vec![0; 1 << 20];
    for (path, content) in files {
        for file in copy(&mut content.as_slice(), Path::new(path), &copies, &mut buffer)? {
            file.sync_all().context("cannot sync a file")?;
        }
    }
    Ok(Took { wall: begin.elapsed(), cpu: processor_time()?.saturating_sub(used) })
}

/// Reads one file, computes four digests in that pass, and writes it below two folders: the written files.
fn copy(content: &mut dyn Read, path: &Path, copies: &[PathBuf; 2], buffer: &mut [u8]) -> Result<Vec<File>> {
    let mut outputs = Vec::with_capacity(copies.len());
    for copy in copies {
        let target = copy.join(path);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        outputs.push(File::create(&target).with_context(|| format!("cannot make {}", target.display()))?);
    }
    let (mut md5, mut sha1, mut sha256, mut sha512) = (Md5::new(), Sha1::new(), Sha256::new(), Sha512::new());
    loop {
        let count = content.read(buffer)?;
        if count == 0 {
            break;
        }
        let part = &buffer[..count];
        md5.update(part);
        sha1.update(part);
        sha256.update(part);
        sha512.update(part);
        for output in &mut outputs {
            output.write_all(part)?;
        }
    }
    std::hint::black_box((md5.finalize(), sha1.finalize(), sha256.finalize(), sha512.finalize()));
    Ok(outputs)
}

/// The processor time that this process has used.
fn processor_time() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context("cannot ask for the resources used")?;
    let microseconds = |time: nix::sys::time::TimeVal| (time.tv_sec() * 1_000_000 + time.tv_usec()).unsigned_abs();
    Ok(Duration::from_micros(microseconds(usage.user_time()) + microseconds(usage.system_time())))
}

/// Lets the file system of a folder write out everything it still holds back.
pub(super) fn settle(folder: &Path) -> Result<()> {
    let folder = File::open(folder).with_context(|| format!("cannot open {}", folder.display()))?;
    nix::unistd::syncfs(folder).context("cannot sync the file system")
}

#[cfg(test)]
mod tests {
    use super::super::bags::{Run, write_tar};

    #[test]
    fn both_copies_hold_every_file_of_every_bag() {
        let folder = tempfile::tempdir().expect("a folder");
        let tars = ["one", "two"]
            .map(|name| write_tar(folder.path(), name, &[Run { files: 2, size: (1 << 20) + 3 }]).expect("a bag"));
        super::run(&tars, &folder.path().join("bare")).expect("the work is done");
        for copy in ["a", "b"] {
            for bag in ["one", "two"] {
                let data = folder.path().join("bare").join(copy).join(bag).join("data/000");
                for file in ["000000.bin", "000001.bin"] {
                    assert_eq!(std::fs::metadata(data.join(file)).expect("a file").len(), (1 << 20) + 3);
                }
            }
        }
    }
}
