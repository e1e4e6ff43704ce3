//! Bags of other people, where they are at hand, and a large one made here.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use strongroom_bagit::{BagWriter, NewFile, Serialization, WriterOptions};
use strongroom_digest::Algorithm;

/// A folder or file of the fixtures; says so where it is absent.
pub(crate) fn fixture(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures").join(name);
    if path.exists() {
        return path.canonicalize().ok();
    }
    println!("SKIPPED: what needs the fixtures {name}: they are not there");
    None
}

/// The entries of a folder whose names end so, in order.
pub(crate) fn listed(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.to_string_lossy().ends_with(ending));
    found.sort();
    found
}

/// What a bag made here has in it.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    /// Files of some hundred bytes.
    pub(crate) small: usize,
    /// Files of so many bytes each.
    pub(crate) large: (usize, u64),
    /// What every third small file says, and every large one is filled with.
    pub(crate) says: &'static str,
}

/// Makes a bag, `<name>.tar` in `folder`, that keeps APTrust's profile. Equal wishes give equal payloads.
pub(crate) fn make_bag(folder: &Path, name: &str, made: Made) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(format!("{name}.tar"));
    let options = WriterOptions {
        algorithms: vec![Algorithm::Md5, Algorithm::Sha256],
        base_directory: Some(name.to_owned()),
        ..WriterOptions::default()
    };
    let mut writer = BagWriter::create(&path, Serialization::Tar, options).unwrap();
    for number in 0..made.small {
        let says = if number % 3 == 0 { made.says } else { "as ever" };
        let text = format!("letter {number}, {says}\n").repeat(1 + number % 20);
        let path = format!("data/box {:02}/letter {number:05}.txt", number % 40);
        writer.add_payload(&NewFile::new(&path, text.len() as u64), text.as_bytes()).unwrap();
    }
    let (count, size) = made.large;
    for number in 0..count {
        // Each differs from the others, and from those of another bag.
        let pattern = format!("{number} {}\n", made.says).repeat(4096);
        let bytes = Cycle { pattern: pattern.as_bytes(), at: 0 }.take(size);
        writer.add_payload(&NewFile::new(&format!("data/scan {number}.tif"), size), bytes).unwrap();
    }
    let info = "Title: Letters\nAccess: Institution\nStorage-Option: Standard\n";
    writer.add_tag_file(&NewFile::new("aptrust-info.txt", info.len() as u64), info.as_bytes()).unwrap();
    writer.finish(&[("Source-Organization".to_owned(), "Example University".to_owned())]).unwrap();
    path
}

/// Bytes that come again and again.
struct Cycle<'p> {
    pattern: &'p [u8],
    at: usize,
}

impl std::io::Read for Cycle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = &self.pattern[self.at..];
        let length = left.len().min(buffer.len());
        buffer[..length].copy_from_slice(&left[..length]);
        self.at = (self.at + length) % self.pattern.len();
        Ok(length)
    }
}
