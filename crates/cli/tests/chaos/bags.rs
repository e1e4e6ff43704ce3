//! The bags that a run deposits. Each bag belongs to a slot: a whole object, or one part of an object that comes in parts.
//! All variants of a slot have the same paths, some with the same bytes, so that whatever order they are published in, the
//! files of the slot are those of exactly one variant. Equal variants are equal byte for byte.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256, Sha512};

use crate::chance::Chance;

/// How many variants each slot has.
pub(crate) const VARIANTS: usize = 3;
/// Parts of the object that comes in parts.
const PARTS: usize = 3;

/// Where bags go: an object, or one part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    /// The object's name below the institution.
    pub(crate) object: &'static str,
    /// Its part, from 1.
    pub(crate) part: Option<usize>,
}

/// Every slot of a run.
pub(crate) fn slots() -> Vec<Slot> {
    let mut slots: Vec<Slot> = ["letters", "maps"].map(|object| Slot { object, part: None }).into();
    slots.extend((1..=PARTS).map(|part| Slot { object: "volumes", part: Some(part) }));
    slots
}

/// A bag as it is deposited.
#[derive(Debug, Clone)]
pub(crate) struct Bag {
    pub(crate) slot: Slot,
    pub(crate) tar: PathBuf,
    /// Path to SHA-512 of every file that becomes a file of the object: the payload and `bag-info.txt`.
    pub(crate) files: BTreeMap<String, String>,
    /// Of the tar itself, to see that it is left alone.
    pub(crate) sha512: String,
}

impl Slot {
    /// The name of the bag's file without its ending.
    pub(crate) fn bag_name(&self) -> String {
        match self.part {
            None => self.object.to_owned(),
            Some(part) => format!("{}.b{part:02}.of{PARTS:02}", self.object),
        }
    }

    /// The folder that all payload files of the slot lie in.
    pub(crate) fn folder(&self) -> String {
        match self.part {
            None => "data/".to_owned(),
            Some(part) => format!("data/part {part}/"),
        }
    }

    fn payload(&self, seed: u64, variant: usize) -> BTreeMap<String, Vec<u8>> {
        let sizes: [u64; 6] = [40, 700, 3_000, 20_000, 310_000, 0];
        let mut files = BTreeMap::new();
        for (number, size) in sizes.into_iter().enumerate() {
            // Every other file is the same in all variants.
            let says = if number % 2 == 0 { variant } else { 0 };
            let name = format!("{} {number} {says}", self.bag_name());
            let bytes = noise(seed, &name, size);
            files.insert(format!("{}{number}.bin", self.folder()), bytes);
        }
        // Equal bytes under a second path.
        let twice = files[&format!("{}1.bin", self.folder())].clone();
        files.insert(format!("{}twice/1 again.bin", self.folder()), twice);
        files
    }

    /// Makes the bag of a variant, `<folder>/<variant>/<name>.tar`.
    pub(crate) fn bag(&self, seed: u64, variant: usize, folder: &Path) -> Result<Bag> {
        let folder = folder.join(variant.to_string());
        fs::create_dir_all(&folder)?;
        let name = self.bag_name();
        let mut entries = self.payload(seed, variant);
        let mut manifest = String::new();
        for (path, bytes) in &entries {
            writeln!(manifest, "{}  {path}", hex(&Sha256::digest(bytes)))?;
        }
        let info = format!("Source-Organization: Example University\nInternal-Sender-Description: variant {variant}\n");
        entries.insert("bag-info.txt".to_owned(), info.into_bytes());
        let files = entries.iter().map(|(path, bytes)| (path.clone(), sha512(bytes))).collect();
        entries.insert("manifest-sha256.txt".to_owned(), manifest.into_bytes());
        let declaration = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";
        entries.insert("bagit.txt".to_owned(), declaration.as_bytes().to_vec());
        let tar = folder.join(format!("{name}.tar"));
        let bytes = archive(&name, &entries)?;
        fs::write(&tar, &bytes).with_context(|| format!("cannot write {}", tar.display()))?;
        Ok(Bag { slot: self.clone(), tar, files, sha512: sha512(&bytes) })
    }
}

fn archive(name: &str, entries: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, bytes) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, format!("{name}/{path}"), bytes.as_slice())?;
    }
    Ok(archive.into_inner()?)
}

/// Bytes that do not compress and are the same for the same name and seed.
pub(crate) fn noise(seed: u64, name: &str, size: u64) -> Vec<u8> {
    let digest = Sha512::digest(format!("{seed} {name}"));
    let mut chance = Chance::new(digest[..8].iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < size {
        bytes.extend_from_slice(&chance.next().to_le_bytes());
    }
    bytes.truncate(usize::try_from(size).unwrap_or_default());
    bytes
}

/// The payload files and `bag-info.txt` of a tar, with their SHA-512.
pub(crate) fn files_of_tar(path: &Path) -> Result<BTreeMap<String, String>> {
    let file = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut archive = tar::Archive::new(std::io::BufReader::new(file));
    let mut files = BTreeMap::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let whole = entry.path()?.to_string_lossy().into_owned();
        let Some((_, path)) = whole.split_once('/') else { continue };
        let path = path.to_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes)?;
        files.insert(path, sha512(&bytes));
    }
    Ok(files)
}

pub(crate) fn sha512(bytes: &[u8]) -> String {
    hex(&Sha512::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
