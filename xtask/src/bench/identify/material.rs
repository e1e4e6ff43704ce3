//! Files to identify: some of this machine's own, and some that keep signatures open to the last byte.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::super::bags::pseudo_random;

/// So many of the machine's own files, at most so many of one extension, and none larger.
const OWN_FILES: usize = 3_000;
const OF_ONE_EXTENSION: usize = 100;
const LARGEST: u64 = 20 << 20;
/// Size of the large ones.
const GIGABYTE: u64 = 1_000_000_000;

/// A file or a folder of files.
pub(super) struct Material {
    pub(super) path: PathBuf,
    pub(super) files: u64,
    pub(super) bytes: u64,
}

impl Material {
    /// A few words.
    pub(super) fn tiny(folder: &Path) -> Result<Self> {
        let path = folder.join("tiny.txt");
        fs::write(&path, "a few words\n")?;
        Self::existing(path)
    }

    /// What lies there.
    pub(super) fn existing(path: PathBuf) -> Result<Self> {
        let (mut files, mut bytes) = (0, 0);
        walk(&path, &mut |_, size| {
            files += 1;
            bytes += size;
        });
        anyhow::ensure!(files > 0, "there is nothing in {}", path.display());
        Ok(Self { path, files, bytes })
    }

    /// Copies of files below `/usr` and `/etc`: of every extension some, then taken evenly.
    pub(super) fn of_this_machine(folder: &Path) -> Result<Self> {
        let mut by_extension: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for root in ["/etc", "/usr"] {
            walk(Path::new(root), &mut |path, size| {
                let extension = path.extension().map_or_else(String::new, |text| text.to_string_lossy().to_lowercase());
                let paths = by_extension.entry(extension).or_default();
                if paths.len() < OF_ONE_EXTENSION && size <= LARGEST {
                    paths.push(path.to_owned());
                }
            });
        }
        let all: Vec<PathBuf> = by_extension.into_values().flatten().collect();
        let step = all.len().div_ceil(OWN_FILES).max(1);
        let target = folder.join("own");
        fs::create_dir(&target)?;
        for (number, path) in all.iter().step_by(step).enumerate() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // What may not be read is not measured.
            let _ = fs::copy(path, target.join(format!("{number:04}-{name}")));
        }
        Self::existing(target)
    }

    /// A gigabyte of nothing.
    pub(super) fn zeros(folder: &Path) -> Result<Self> {
        let path = folder.join("zeros.bin");
        let mut file = BufWriter::new(File::create(&path)?);
        let block = vec![0; 1_000_000];
        for _ in 0..GIGABYTE / 1_000_000 {
            file.write_all(&block)?;
        }
        file.into_inner().context("cannot write zeros")?.sync_all()?;
        Self::existing(path)
    }

    /// A gigabyte of pseudo-random bytes behind a beginning.
    pub(super) fn noise(folder: &Path, name: &str, beginning: &[u8]) -> Result<Self> {
        let path = folder.join(name);
        let mut file = BufWriter::new(File::create(&path)?);
        file.write_all(beginning)?;
        let rest = GIGABYTE - beginning.len() as u64;
        let mut state = 0x9e37_79b9_7f4a_7c15;
        for _ in 0..rest / 8 {
            file.write_all(&pseudo_random(&mut state).to_le_bytes())?;
        }
        file.write_all(&vec![7; (rest % 8) as usize])?;
        file.into_inner().context("cannot write noise")?.sync_all()?;
        Self::existing(path)
    }

    /// Files in a second, or bytes where there is one large file. None of one small file.
    pub(super) fn rate(&self, time: Duration) -> String {
        let seconds = time.as_secs_f64();
        match self.files {
            1 if self.bytes < GIGABYTE => String::new(),
            1 => format!("{:.0} MB/s", self.bytes as f64 / 1e6 / seconds),
            files => format!("{:.0} files/s", files as f64 / seconds),
        }
    }
}

/// Lists every file below a path, or of the path itself, in a fixed order, with its size. Links are not followed.
pub(super) fn walk(path: &Path, found: &mut dyn FnMut(&Path, u64)) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    if metadata.is_file() {
        found(path, metadata.len());
    } else if metadata.is_dir()
        && let Ok(entries) = fs::read_dir(path)
    {
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in &paths {
            walk(path, found);
        }
    }
}
