//! The sample deposits of the demonstration: bags that keep APTrust's profile, and one that is damaged on its way.

use std::path::{Path, PathBuf};

use strongroom_bagit::{BagWriter, NewFile, Serialization, WriterOptions};
use strongroom_digest::Algorithm;

use crate::failure::Failure;

/// A sample: its name, what it says of itself, and its payload.
pub(super) struct Sample {
    pub(super) name: &'static str,
    title: &'static str,
    storage_option: &'static str,
    files: Vec<(String, Vec<u8>)>,
}

/// The object that is deposited a second time with a change, damaged, repaired and restored.
pub(super) const LETTERS: &str = "letters-1871";

/// Three objects to begin with.
pub(super) fn first() -> Vec<Sample> {
    vec![
        letters("Dear sister, the ship has arrived.\n"),
        Sample {
            name: "glass-plates",
            title: "Glass plates of the old observatory",
            storage_option: "Glacier-Deep-OR",
            files: (1..=12_u32).map(|number| (format!("data/plate {number:02}.pgm"), plate(number))).collect(),
        },
        Sample {
            name: "field-notes",
            title: "Field notes with names in many scripts",
            storage_option: "Wasabi-VA",
            files: vec![
                ("data/ReadMe.md".to_owned(), b"# Field notes\n\nOne page a day.\n".to_vec()),
                ("data/день-1.txt".to_owned(), "снег\n".as_bytes().to_vec()),
                ("data/二日目.txt".to_owned(), "雨\n".as_bytes().to_vec()),
                ("data/empty.txt".to_owned(), Vec::new()),
            ],
        },
    ]
}

/// The letters, whose first page is as given.
pub(super) fn letters(first_page: &str) -> Sample {
    let mut files = vec![("data/letters/page-01.txt".to_owned(), first_page.as_bytes().to_vec())];
    files.extend((2..=8).map(|page| {
        (format!("data/letters/page-{page:02}.txt"), format!("Page {page} of the letters of 1871.\n").into_bytes())
    }));
    Sample { name: LETTERS, title: "Letters of 1871", storage_option: "Standard", files }
}

/// A grey picture (Netpbm, binary) that differs from its neighbours.
fn plate(number: u32) -> Vec<u8> {
    const SIDE: u32 = 128;
    let mut bytes = format!("P5\n{SIDE} {SIDE}\n255\n").into_bytes();
    bytes.extend((0..SIDE * SIDE).map(|at| ((at % SIDE) * number + (at / SIDE) * 3) as u8));
    bytes
}

/// Writes a sample as `<name>.tar` into a folder.
pub(super) fn write(sample: &Sample, folder: &Path) -> Result<PathBuf, Failure> {
    let target = folder.join(format!("{}.tar", sample.name));
    let options = WriterOptions { algorithms: vec![Algorithm::Md5, Algorithm::Sha256], ..WriterOptions::default() };
    let mut writer = BagWriter::create(&target, Serialization::Tar, options)?;
    for (path, bytes) in &sample.files {
        writer.add_payload(&NewFile::new(path, bytes.len() as u64), bytes.as_slice())?;
    }
    let info = format!(
        "Title: {}\nAccess: Institution\nDescription: A sample of the demonstration\nStorage-Option: {}\n",
        sample.title, sample.storage_option
    );
    writer.add_tag_file(&NewFile::new("aptrust-info.txt", info.len() as u64), info.as_bytes())?;
    writer.finish(&[
        ("Source-Organization".to_owned(), "Example University".to_owned()),
        ("Internal-Sender-Identifier".to_owned(), format!("demo-{}", sample.name)),
    ])?;
    Ok(target)
}

/// Writes a bag that lost a byte on its way: a page differs from what the manifests say.
pub(super) fn write_damaged(folder: &Path) -> Result<PathBuf, Failure> {
    let sample = Sample {
        name: "damaged-on-its-way",
        title: "A bag that was damaged on its way",
        storage_option: "Standard",
        files: vec![("data/page.txt".to_owned(), b"these words arrived whole\n".to_vec())],
    };
    let path = write(&sample, folder)?;
    let failed = |error: std::io::Error| Failure::io("damage the sample", &path, &error);
    let mut bytes = std::fs::read(&path).map_err(failed)?;
    let words = b"arrived whole";
    if let Some(at) = bytes.windows(words.len()).position(|window| window == words)
        && let Some(byte) = bytes.get_mut(at)
    {
        *byte ^= 0x20;
    }
    std::fs::write(&path, bytes).map_err(failed)?;
    Ok(path)
}
