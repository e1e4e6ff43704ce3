//! A bag whose files lie one by one in a place that is no directory of a file system, such as a bucket. The caller
//! that keeps the place lists and opens them; here they pass the gate and are shown.

use std::io::{self, Read};

use super::gate::{self, EntryKind, Gate, Passage};
use super::{BagFile, Visitor};
use crate::error::BagError;

/// A place in which the files of one bag lie.
pub trait LooseFiles: Send {
    /// Shows every file, in byte order of its path, with its size in bytes. Paths are relative to the bag. An error of
    /// `show` ends the listing and comes back.
    fn list(&self, show: &mut dyn FnMut(&str, u64) -> io::Result<()>) -> io::Result<()>;

    /// Opens a file by the path it was listed with.
    fn open(&self, path: &str) -> io::Result<Box<dyn Read + Send>>;
}

/// A file that is opened when it is first read.
struct Unopened<'f> {
    files: &'f dyn LooseFiles,
    path: &'f str,
    body: Option<Box<dyn Read + Send>>,
}

impl Read for Unopened<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.body {
            Some(body) => body.read(buffer),
            None => self.body.insert(self.files.open(self.path)?).read(buffer),
        }
    }
}

/// Why the listing was left before its end.
enum Left {
    /// The gate lets nothing more through.
    Enough,
    Failed(BagError),
}

pub(super) fn scan(files: &dyn LooseFiles, gate: &mut Gate, mut visit: Visitor<'_>) -> Result<(), BagError> {
    let mut left = None;
    let listed = files.list(&mut |path, size| {
        let outcome = show(files, path, size, gate, &mut visit);
        outcome.map_err(|reason| {
            left = Some(reason);
            io::Error::other("the scan ends here")
        })
    });
    match (left, listed) {
        (Some(Left::Failed(error)), _) => Err(error),
        (Some(Left::Enough), _) | (None, Ok(())) => Ok(()),
        (None, Err(error)) => Err(BagError::Stream(error)),
    }
}

fn show(files: &dyn LooseFiles, path: &str, size: u64, gate: &mut Gate, visit: &mut Visitor<'_>) -> Result<(), Left> {
    let admitted = match gate.admit(path.as_bytes(), EntryKind::File, size).map_err(Left::Failed)? {
        Passage::File(admitted) => admitted,
        Passage::Skip => return Ok(()),
        Passage::Stop => return Err(Left::Enough),
    };
    let entry = BagFile { path: admitted, size, modified: None, location: 0 };
    let file = Unopened { files, path, body: None };
    match gate::show(&entry, file, visit).map_err(Left::Failed)? {
        Ok(_) => Ok(()),
        // The place failed, not the bag.
        Err(error) => Err(Left::Failed(BagError::Stream(error))),
    }
}
