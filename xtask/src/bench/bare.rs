//! The bare work of an ingest, for comparison: read the tar once, compute four digests on that pass, write each file
//! into two folders, and let the file system sync both. No checks, no record, no queue, one thread.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// Does the work for every tar; the time it took.
pub(super) fn run(tars: &[impl AsRef<Path>], folder: &Path) -> Result<Duration> {
    let begin = Instant::now();
    let copies = ["a", "b"].map(|name| folder.join(name));
    let mut buffer = vec![0; 1 << 20];
    for tar in tars {
        let tar = tar.as_ref();
        let file = File::open(tar).with_context(|| format!("cannot open {}", tar.display()))?;
        let mut archive = tar::Archive::new(file);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = entry.path()?.into_owned();
            let mut outputs = Vec::with_capacity(copies.len());
            for copy in &copies {
                let target = copy.join(&path);
                if let Some(parent) = target.parent() {
                    std::fs::create_dir_all(parent)?;
                }
                outputs.push(File::create(&target).with_context(|| format!("cannot make {}", target.display()))?);
            }
            let (mut md5, mut sha1, mut sha256, mut sha512) = (Md5::new(), Sha1::new(), Sha256::new(), Sha512::new());
            loop {
                let count = entry.read(&mut buffer)?;
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
        }
    }
    for copy in &copies {
        nix::unistd::syncfs(File::open(copy)?).context("cannot sync the file system")?;
    }
    Ok(begin.elapsed())
}
