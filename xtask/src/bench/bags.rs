//! Bags to measure with: md5 and sha256 manifests, `aptrust-info.txt`, the folder named like the archive. Contents are
//! pseudo-random, so that nothing is stored twice and nothing compresses.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use md5::Md5;
use sha2::{Digest, Sha256};

/// Files of equal size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) files: u64,
    pub(super) size: u64,
}

/// Where a bag's files go.
trait Sink {
    fn put(&mut self, path: &str, size: u64, content: &mut dyn Iterator<Item = &[u8]>) -> Result<()>;
}

/// Writes a bag as `FOLDER/NAME.tar`.
pub(super) fn write_tar(folder: &Path, name: &str, runs: &[Run]) -> Result<PathBuf> {
    let path = folder.join(format!("{name}.tar"));
    let file = fs::File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    let mut archive = Archive { base: name.to_owned(), builder: tar::Builder::new(BufWriter::new(file)) };
    write_bag(&mut archive, name, runs)?;
    archive.builder.into_inner()?.flush()?;
    Ok(path)
}

/// Writes a bag as the folder `FOLDER/NAME`.
pub(super) fn write_folder(folder: &Path, name: &str, runs: &[Run]) -> Result<PathBuf> {
    let path = folder.join(name);
    write_bag(&mut Folder { base: path.clone() }, name, runs)?;
    Ok(path)
}

struct Archive {
    base: String,
    builder: tar::Builder<BufWriter<fs::File>>,
}

impl Sink for Archive {
    fn put(&mut self, path: &str, size: u64, content: &mut dyn Iterator<Item = &[u8]>) -> Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(size);
        header.set_mode(0o644);
        header.set_entry_type(tar::EntryType::Regular);
        let parts = Parts { rest: content, part: &[] };
        self.builder.append_data(&mut header, format!("{}/{path}", self.base), parts)?;
        Ok(())
    }
}

/// Parts read one after another.
struct Parts<'a, 'b> {
    rest: &'a mut dyn Iterator<Item = &'b [u8]>,
    part: &'b [u8],
}

impl Read for Parts<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.part.is_empty() {
            self.part = self.rest.next().unwrap_or_default();
        }
        self.part.read(buffer)
    }
}

struct Folder {
    base: PathBuf,
}

impl Sink for Folder {
    fn put(&mut self, path: &str, _: u64, content: &mut dyn Iterator<Item = &[u8]>) -> Result<()> {
        let path = self.base.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = fs::File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        for part in content {
            file.write_all(part)?;
        }
        Ok(())
    }
}

fn write_bag(sink: &mut dyn Sink, name: &str, runs: &[Run]) -> Result<()> {
    let files: u64 = runs.iter().map(|run| run.files).sum();
    let bytes: u64 = runs.iter().map(|run| run.files * run.size).sum();
    let mut tags = Manifests::default();
    let mut put_tag = |sink: &mut dyn Sink, path: &str, text: &str, counted: bool| {
        if counted {
            tags.add(path, &mut std::iter::once(text.as_bytes()));
        }
        sink.put(path, text.len() as u64, &mut std::iter::once(text.as_bytes()))
    };
    put_tag(sink, "bagit.txt", "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n", true)?;
    let info =
        format!("Source-Organization: Example University\nBagging-Date: 2026-01-01\nPayload-Oxum: {bytes}.{files}\n");
    put_tag(sink, "bag-info.txt", &info, true)?;
    let aptrust = format!("Title: {name}\nAccess: Institution\nStorage-Option: Standard\n");
    put_tag(sink, "aptrust-info.txt", &aptrust, true)?;

    let mut payload = Manifests::default();
    let mut noise = Noise::named(name);
    let mut number = 0_u64;
    for run in runs {
        for _ in 0..run.files {
            let path = format!("data/{:03}/{number:06}.bin", number / 1000);
            number += 1;
            payload.add(&path, &mut noise.content(run.size));
            sink.put(&path, run.size, &mut noise.content(run.size))?;
            noise.step(number);
        }
    }
    put_tag(sink, "manifest-md5.txt", &payload.md5, true)?;
    put_tag(sink, "manifest-sha256.txt", &payload.sha256, true)?;
    let (md5, sha256) = (tags.md5, tags.sha256);
    sink.put("tagmanifest-md5.txt", md5.len() as u64, &mut std::iter::once(md5.as_bytes()))?;
    sink.put("tagmanifest-sha256.txt", sha256.len() as u64, &mut std::iter::once(sha256.as_bytes()))
}

/// The lines of both manifests.
#[derive(Default)]
struct Manifests {
    md5: String,
    sha256: String,
}

impl Manifests {
    fn add(&mut self, path: &str, content: &mut dyn Iterator<Item = &[u8]>) {
        let (mut md5, mut sha256) = (Md5::new(), Sha256::new());
        for part in content {
            md5.update(part);
            sha256.update(part);
        }
        line(&mut self.md5, &md5.finalize(), path);
        line(&mut self.sha256, &sha256.finalize(), path);
    }
}

fn line(manifest: &mut String, digest: &[u8], path: &str) {
    for byte in digest {
        // Writing into a string cannot fail.
        let _ = write!(manifest, "{byte:02x}");
    }
    let _ = writeln!(manifest, "  {path}");
}

/// The next number of xorshift64.
pub(super) fn pseudo_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A block of pseudo-random bytes that every file starts from, a little changed.
struct Noise {
    block: Vec<u8>,
}

impl Noise {
    const BLOCK: usize = 1 << 20;

    fn named(name: &str) -> Self {
        let mut state = name
            .bytes()
            .fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut block = Vec::with_capacity(Self::BLOCK);
        while block.len() < Self::BLOCK {
            block.extend_from_slice(&pseudo_random(&mut state).to_le_bytes());
        }
        Self { block }
    }

    /// Makes the next file's content differ from every other one's.
    fn step(&mut self, number: u64) {
        self.block[..8].copy_from_slice(&number.to_le_bytes());
    }

    fn content(&self, size: u64) -> impl Iterator<Item = &[u8]> {
        let block = Self::BLOCK as u64;
        let parts = size.div_ceil(block);
        (0..parts).map(move |part| &self.block[..(size - part * block).min(block) as usize])
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const RUNS: [Run; 2] = [Run { files: 3, size: 10 }, Run { files: 1, size: (2 << 20) + 1 }];

    #[test]
    fn a_bag_in_a_tar_holds_what_the_folder_holds() {
        let folder = tempfile::tempdir().expect("a folder");
        let tar = write_tar(folder.path(), "bench", &RUNS).expect("tar");
        let bag = write_folder(folder.path(), "bench", &RUNS).expect("folder");
        let mut entries = 0;
        for entry in tar::Archive::new(fs::File::open(tar).expect("open")).entries().expect("entries") {
            let mut entry = entry.expect("entry");
            let path = entry.path().expect("path").into_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).expect("read");
            assert!(fs::read(bag.parent().expect("parent").join(&path)).expect("file") == content, "{path:?}");
            entries += 1;
        }
        assert_eq!(entries, 4 + 7);
    }

    #[test]
    fn bags_to_measure_with_are_valid() {
        let Some(python) = std::env::var_os("STRONGROOM_PEERS_PYTHON") else {
            println!("SKIPPED: bags of the benchmarks against bagit-python: STRONGROOM_PEERS_PYTHON is not set");
            return;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let bag = write_folder(folder.path(), "bench", &RUNS).expect("folder");
        let output = Command::new(python).args(["-m", "bagit", "--validate"]).arg(bag).output().expect("python runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
