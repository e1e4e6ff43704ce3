//! The paths of a list, read as they are needed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use strongroom_identify::{Target, Unidentified, UnidentifiedKind};

use crate::failure::Failure;

/// Stands for standard input.
const STANDARD_INPUT: &str = "-";
/// No path of a system is longer; what is, is no path.
const LONGEST: u64 = 64 << 10;

/// A list of paths, one after the other. Names are bytes and need not be UTF-8.
pub(super) struct ListedPaths {
    list: Box<dyn BufRead + Send>,
    name: OsString,
    separator: u8,
    is_over: bool,
}

impl ListedPaths {
    /// Opens a list in a file, or `-` for standard input, whose paths each end in `separator`.
    pub(super) fn open(path: &Path, separator: u8) -> Result<Self, Failure> {
        let list: Box<dyn BufRead + Send> = if path.as_os_str() == STANDARD_INPUT {
            Box::new(BufReader::new(io::stdin()))
        } else {
            let file = File::open(path).map_err(|error| Failure::io("read the list", path, &error))?;
            if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
                return Err(Failure::usage(format!("{} is a folder, not a list of paths", path.display()))
                    .next("name the folder itself to identify what is in it"));
            }
            Box::new(BufReader::new(file))
        };
        Ok(Self { list, name: path.as_os_str().to_owned(), separator, is_over: false })
    }

    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut path = Vec::new();
        let length = self.list.by_ref().take(LONGEST).read_until(self.separator, &mut path)?;
        if length == 0 {
            return Ok(None);
        }
        if path.last() == Some(&self.separator) {
            path.pop();
        } else if length as u64 == LONGEST {
            let separator = if self.separator == 0 { "NUL" } else { "line end" };
            let message =
                format!("a path in it has more than {LONGEST} bytes before a {separator}; the rest is not read");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Some(path))
    }
}

impl Iterator for ListedPaths {
    type Item = Result<Target, Unidentified>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            match self.read() {
                Ok(Some(path)) if path.is_empty() => {}
                Ok(Some(path)) => return Some(Ok(Target::File(PathBuf::from(OsString::from_vec(path))))),
                Ok(None) => self.is_over = true,
                Err(error) => {
                    self.is_over = true;
                    let name: &OsStr = &self.name;
                    return Some(Err(Unidentified::new(name, UnidentifiedKind::Unreadable, error.to_string())));
                }
            }
        }
        None
    }
}
