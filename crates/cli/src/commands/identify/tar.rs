//! Lists the members of a tar (POSIX.1-2001 ustar and pax, GNU long names) where they lie, in bounded memory. Headers are
//! read as the `tar` crate reads them; names longer than a header holds are bounded here.

use std::io;

use strongroom_pronom::Source;
use tar::{EntryType, Header, PaxExtensions};

const BLOCK: usize = 512;
/// No name or extended header is longer.
const LARGEST_EXTENSION: u64 = 1 << 20;

/// A regular file in a tar.
pub(super) struct Member {
    pub(super) path: Vec<u8>,
    /// Where its content lies.
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) modified: Option<jiff::Timestamp>,
}

/// What extended headers say of the member behind them.
#[derive(Default)]
struct Extension {
    path: Option<Vec<u8>>,
    size: Option<u64>,
}

/// Whether this begins with the header of a tar.
pub(super) fn is_header(beginning: &[u8]) -> bool {
    beginning.first_chunk::<BLOCK>().is_some_and(|block| block.first() != Some(&0) && is_intact(block))
}

/// Visits the regular files of a tar in its order. `visit` says whether to go on.
pub(super) fn visit(source: &dyn Source, visit: &mut dyn FnMut(&Member) -> bool) -> io::Result<()> {
    let mut position = 0_u64;
    let mut extension = Extension::default();
    loop {
        let mut block = [0; BLOCK];
        match source.read_at(position, &mut block)? {
            0 => return Ok(()),
            BLOCK => {}
            _ => return Err(malformed(format!("it ends in the middle of the header at byte {position}"))),
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        if !is_intact(&block) {
            return Err(malformed(format!("the header at byte {position} is damaged")));
        }
        let header = Header::from_byte_slice(&block);
        let stated = header.entry_size()?;
        let offset = position.saturating_add(BLOCK as u64);
        let kind = header.entry_type();
        if matches!(kind, EntryType::GNULongName | EntryType::XHeader) {
            let data = read_extension(source, offset, stated)?;
            extension.take(kind, &data)?;
            position = behind(offset, stated);
            continue;
        }
        if matches!(kind, EntryType::GNULongLink | EntryType::XGlobalHeader) {
            position = behind(offset, stated);
            continue;
        }
        let Extension { path, size } = std::mem::take(&mut extension);
        let path = path.unwrap_or_else(|| header.path_bytes().into_owned());
        let size = size.unwrap_or(stated);
        position = behind(offset, size);
        let is_file = matches!(kind, EntryType::Regular | EntryType::Continuous) && !path.ends_with(b"/");
        if is_file {
            let seconds = header.mtime().ok().and_then(|seconds| i64::try_from(seconds).ok());
            let modified = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
            if offset.saturating_add(size) > source.size() {
                return Err(malformed(format!("it ends in the middle of the member at byte {offset}")));
            }
            if !visit(&Member { path, offset, size, modified }) {
                return Ok(());
            }
        }
    }
}

impl Extension {
    fn take(&mut self, kind: EntryType, data: &[u8]) -> io::Result<()> {
        if kind == EntryType::GNULongName {
            self.path = Some(data.split(|byte| *byte == 0).next().unwrap_or_default().to_vec());
            return Ok(());
        }
        for record in PaxExtensions::new(data) {
            let record = record?;
            match record.key_bytes() {
                b"path" => self.path = Some(record.value_bytes().to_vec()),
                b"size" => {
                    let size = record.value().ok().and_then(|digits| digits.parse().ok());
                    self.size = Some(size.ok_or_else(|| malformed("an extended header states no size"))?);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn read_extension(source: &dyn Source, offset: u64, size: u64) -> io::Result<Vec<u8>> {
    if size > LARGEST_EXTENSION {
        return Err(malformed(format!("an extended header of {size} bytes")));
    }
    let mut data = vec![0; usize::try_from(size).unwrap_or_default()];
    let length = source.read_at(offset, &mut data)?;
    if length < data.len() {
        return Err(malformed("it ends in the middle of an extended header"));
    }
    Ok(data)
}

/// Where the next header begins.
fn behind(offset: u64, size: u64) -> u64 {
    offset.saturating_add(size).saturating_add(size.wrapping_neg() % BLOCK as u64)
}

/// Whether the sum of the header's bytes is as it states, its own field counted as blanks.
fn is_intact(block: &[u8; BLOCK]) -> bool {
    let sum = block
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { u32::from(b' ') } else { u32::from(*byte) })
        .sum::<u32>();
    Header::from_byte_slice(block).cksum().is_ok_and(|stated| stated == sum)
}

fn malformed(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(bytes: &[u8]) -> (Vec<(String, Vec<u8>)>, Option<String>) {
        let mut found = Vec::new();
        let outcome = visit(&bytes, &mut |member| {
            let (start, end) = (member.offset as usize, (member.offset + member.size) as usize);
            found.push((String::from_utf8(member.path.clone()).unwrap(), bytes[start..end].to_vec()));
            true
        });
        (found, outcome.err().map(|error| error.to_string()))
    }

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_cksum();
            builder.append_data(&mut header, name, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn members_are_found_where_they_lie_with_names_of_any_length() {
        let long = format!("{}/name", "folder/".repeat(40));
        let bytes = archive(&[("a", b"one"), (&long, &[7; 600]), ("empty", b"")]);
        let (found, error) = listed(&bytes);
        assert_eq!(error, None);
        let expected = [("a", b"one".to_vec()), (long.as_str(), vec![7; 600]), ("empty", vec![])];
        assert!(found.iter().map(|(name, content)| (name.as_str(), content.clone())).eq(expected));
    }

    #[test]
    fn a_size_that_only_the_extended_header_holds_counts() {
        let mut builder = tar::Builder::new(Vec::new());
        builder.append_pax_extensions([("size", b"5".as_slice()), ("path", b"truly".as_slice())]).unwrap();
        let mut bytes = builder.into_inner().unwrap();
        bytes.truncate(bytes.len() - 1024);
        let mut header = Header::new_ustar();
        header.set_path("shown").unwrap();
        header.set_size(0);
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(b"bytes");
        bytes.resize(bytes.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
        assert_eq!(listed(&bytes), (vec![("truly".to_owned(), b"bytes".to_vec())], None));
    }

    #[test]
    fn what_is_damaged_ends_the_listing_and_says_where() {
        let whole = archive(&[("a", b"one"), ("b", b"two")]);
        let (found, error) = listed(&whole[..1100]);
        assert_eq!(found.len(), 1);
        assert!(error.unwrap().contains("byte 1024"));
        let mut damaged = whole.clone();
        damaged[1030] ^= 1;
        assert!(listed(&damaged).1.unwrap().contains("byte 1024"));
        assert!(listed(&whole[..514]).1.unwrap().contains("byte 512"));
    }

    #[test]
    fn a_name_without_end_is_refused_unread() {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::GNULongName);
        header.set_size(1 << 40);
        header.set_cksum();
        assert!(listed(header.as_bytes()).1.unwrap().contains("1099511627776 bytes"));
    }
}
