//! Content type and properties as extended attributes of a file.
//!
//! The content type is `user.mime_type`, as freedesktop.org's conventions for extended attributes have it and curl writes it. The property
//! NAME is `user.strongroom.NAME`: other programs keep attributes of their own in `user.` (`user.xdg.*`, `user.checksum`), which
//! are no properties and must be neither compared nor removed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
use rustix::io::Errno;

use crate::{Description, Properties, PropertyError};

const CONTENT_TYPE: &str = "user.mime_type";
const PROPERTY: &[u8] = b"user.strongroom.";
/// Bytes that are read at first of the names, or of a value.
const FIRST_BUFFER: usize = 1 << 10;
/// Most bytes that the kernel has of them (Linux: `XATTR_LIST_MAX`, `XATTR_SIZE_MAX`).
const MOST: usize = 64 << 10;

/// The attributes of a description.
pub(super) fn of(description: &Description) -> Vec<(String, Vec<u8>)> {
    let content_type = description.content_type().map(|text| (CONTENT_TYPE.to_owned(), text.as_bytes().to_vec()));
    let prefix = String::from_utf8_lossy(PROPERTY);
    let properties = description.properties().iter();
    let properties = properties.map(|(name, value)| (format!("{prefix}{name}"), value.as_bytes().to_vec()));
    content_type.into_iter().chain(properties).collect()
}

/// The description of a file, or why it has none that every store can keep.
pub(super) fn read(file: &File) -> io::Result<Result<Description, PropertyError>> {
    let mut properties = BTreeMap::new();
    let mut content_type = None;
    for name in names(file)? {
        let is_content_type = name == CONTENT_TYPE.as_bytes();
        let property = name.strip_prefix(PROPERTY);
        if !is_content_type && property.is_none() {
            continue;
        }
        // Removed since the names were read.
        let Some(value) = value(file, &name)? else { continue };
        let value = String::from_utf8(value);
        match property {
            None => match value {
                Ok(text) => content_type = Some(text),
                Err(error) => {
                    let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                    return Ok(Err(PropertyError::ContentType { text, reason: "is not UTF-8" }));
                }
            },
            Some(name) => {
                let name = String::from_utf8_lossy(name).into_owned();
                match value {
                    Ok(value) => properties.insert(name, value),
                    Err(_) => return Ok(Err(PropertyError::Value { name, reason: "is not UTF-8" })),
                };
            }
        }
    }
    Ok(Properties::new(properties).and_then(|properties| Description::new(content_type.as_deref(), properties)))
}

/// Gives a file the attributes of a description, and takes those of an earlier one away. New ones come first, so that a file
/// on a full disk keeps what it has.
pub(super) fn replace(file: &File, description: &Description) -> io::Result<()> {
    let wanted = of(description);
    for (name, value) in &wanted {
        if self::value(file, name.as_bytes())?.as_ref() != Some(value) {
            fsetxattr(file, name.as_str(), value, XattrFlags::empty())?;
        }
    }
    for name in names(file)? {
        let is_ours = name == CONTENT_TYPE.as_bytes() || name.starts_with(PROPERTY);
        if is_ours && !wanted.iter().any(|(wanted, _)| wanted.as_bytes() == name) {
            match fremovexattr(file, name.as_slice()) {
                Ok(()) | Err(Errno::NODATA) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    Ok(())
}

/// The names of all attributes. The kernel gives at most 64 KiB of them.
fn names(file: &File) -> io::Result<Vec<Vec<u8>>> {
    let read = read_whole(|buffer| flistxattr(file, buffer))?;
    Ok(read.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect())
}

/// The value of an attribute; nothing where there is none. The kernel gives at most 64 KiB.
fn value(file: &File, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
    match read_whole(|buffer| fgetxattr(file, name, buffer)) {
        Ok(value) => Ok(Some(value)),
        Err(Errno::NODATA) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

fn read_whole(read: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut length = FIRST_BUFFER;
    loop {
        let mut buffer = vec![0; length];
        match read(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) if length < MOST => length *= 4,
            Err(errno) => return Err(errno),
        }
    }
}
