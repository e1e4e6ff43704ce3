//! Archives: those that writers make, and those that lie about where things are and how large.

use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use flate2::{Compress, Compression, FlushCompress};
use strongroom_pronom::ContainerKind::Zip;
use strongroom_pronom::container::{ContainerError, visit_members};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{Watched, paths, read_all, reason};

const MANY: usize = 1_000_000;

/// A deflated archive of members by name; names that end in `/` are folders.
pub(super) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    archive_with(members, SimpleFileOptions::default().compression_method(CompressionMethod::Deflated), b"")
}

fn archive_with(members: &[(&str, &[u8])], options: SimpleFileOptions, comment: &[u8]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.set_raw_comment(comment.into()).expect("a comment");
    for (name, content) in members {
        if name.ends_with('/') {
            writer.add_directory(*name, options).expect("a folder");
        } else {
            writer.start_file(*name, options).expect("a member");
            writer.write_all(content).expect("its content");
        }
    }
    writer.finish().expect("an archive").into_inner()
}

/// A file header of the central directory and, with the fields they share, of the data.
#[derive(Default)]
struct Header<'h> {
    name: &'h [u8],
    flags: u16,
    method: u16,
    compressed: u32,
    size: u32,
    extra: &'h [u8],
    offset: u32,
}

impl Header<'_> {
    fn shared(&self) -> Vec<u8> {
        let mut bytes = vec![20, 0];
        bytes.extend(self.flags.to_le_bytes());
        bytes.extend(self.method.to_le_bytes());
        bytes.extend([0; 8]); // time, date, CRC-32
        bytes.extend(self.compressed.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend((self.name.len() as u16).to_le_bytes());
        bytes.extend((self.extra.len() as u16).to_le_bytes());
        bytes
    }

    fn local(&self) -> Vec<u8> {
        [b"PK\x03\x04".as_slice(), &self.shared(), self.name, self.extra].concat()
    }

    fn central(&self) -> Vec<u8> {
        let offset = self.offset.to_le_bytes();
        [b"PK\x01\x02\x14\0", self.shared().as_slice(), &[0; 10], &offset, self.name, self.extra].concat()
    }
}

fn end_record(members: u16, size: u32, offset: u32) -> Vec<u8> {
    let (members, size, offset) = (members.to_le_bytes(), size.to_le_bytes(), offset.to_le_bytes());
    [b"PK\x05\x06\0\0\0\0".as_slice(), &members, &members, &size, &offset, &[0, 0]].concat()
}

/// The ZIP64 end record and its locator, for a record that stands at an offset.
fn zip64_end(members: u64, size: u64, offset: u64, position: u64) -> Vec<u8> {
    let mut bytes = b"PK\x06\x06".to_vec();
    bytes.extend(44_u64.to_le_bytes());
    bytes.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for number in [members, members, size, offset] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(b"PK\x06\x07\0\0\0\0");
    bytes.extend(position.to_le_bytes());
    bytes.extend(1_u32.to_le_bytes());
    bytes
}

/// An archive of one member, whose central header may differ from what is true.
fn single(local: &Header<'_>, data: &[u8], central: &Header<'_>) -> Vec<u8> {
    let mut bytes = local.local();
    bytes.extend(data);
    let (offset, directory) = (bytes.len() as u32, central.central());
    bytes.extend(&directory);
    bytes.extend(end_record(1, directory.len() as u32, offset));
    bytes
}

fn position_of(bytes: &[u8], signature: &[u8]) -> usize {
    memchr::memmem::find(bytes, signature).expect("the signature")
}

#[test]
fn stored_and_deflated_members_are_read_in_order() {
    let content = vec![b'x'; 100_000];
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let options = SimpleFileOptions::default().compression_method(method);
        let bytes = archive_with(&[("z.txt", &content), ("folder/", b""), ("a\\b.txt", b"")], options, b"");
        let (found, ended) = read_all(Zip, bytes.as_slice());
        ended.expect("a sound archive");
        let told: Vec<_> = found.iter().map(|member| (member.path.as_str(), member.is_folder)).collect();
        assert_eq!(told, [("z.txt", false), ("folder/", true), ("a\\b.txt", false)]);
        assert!(found.iter().all(|member| member.trouble.is_none()));
        assert!(found[0].content == content);
    }
}

#[test]
fn an_archive_without_members_is_sound() {
    assert!(paths(Zip, archive(&[]).as_slice()).is_empty());
}

#[test]
fn what_stands_before_and_behind_an_archive_is_passed_over() {
    let plain = archive(&[("a", b"alpha".as_slice()), ("b", b"beta")]);
    let before = [b"#!/bin/sh\n".repeat(5000), plain.clone()].concat();
    let behind = [plain.as_slice(), &[0; 300]].concat();
    for bytes in [before, behind] {
        let (found, ended) = read_all(Zip, bytes.as_slice());
        ended.expect("a sound archive");
        let contents: Vec<_> = found.iter().map(|member| member.content.as_slice()).collect();
        assert_eq!(contents, [b"alpha".as_slice(), b"beta"]);
    }
}

#[test]
fn a_comment_may_be_long_and_hold_the_signature_of_the_end_record() {
    let fake = [b"PK\x05\x06".as_slice(), &[0; 18], b"PK\x05\x06", &[0xFF; 30], b"PK\x05\x06"].concat();
    let long = b"comment ".repeat(8191);
    for comment in [fake, long] {
        let bytes = archive_with(&[("a", b"alpha".as_slice())], SimpleFileOptions::default(), &comment);
        assert_eq!(paths(Zip, bytes.as_slice()), ["a"]);
    }
}

#[test]
fn zip64_archives_are_read() {
    let options = SimpleFileOptions::default().large_file(true);
    let bytes = archive_with(&[("a", b"alpha".as_slice())], options, b"");
    let (found, ended) = read_all(Zip, bytes.as_slice());
    ended.expect("a sound archive");
    assert_eq!(found[0].content, b"alpha");

    // All numbers that can be are in the ZIP64 fields.
    let numbers = [5_u64, 5, 0].map(u64::to_le_bytes).concat();
    let extra = [b"\x99\x99\x02\0zz\x01\0\x18\0".as_slice(), &numbers].concat();
    let local = Header { name: b"b", ..Header::default() };
    let central = Header { compressed: u32::MAX, size: u32::MAX, offset: u32::MAX, extra: &extra, ..local };
    let mut bytes = [local.local().as_slice(), b"gamma"].concat();
    let (start, directory) = (bytes.len() as u64, central.central());
    bytes.extend(&directory);
    bytes.extend(zip64_end(1, directory.len() as u64, start, start + directory.len() as u64));
    bytes.extend(end_record(u16::MAX, u32::MAX, u32::MAX));
    for prepended in [0, 1000] {
        let bytes = [vec![b'-'; prepended], bytes.clone()].concat();
        let (found, ended) = read_all(Zip, bytes.as_slice());
        ended.expect("a sound archive");
        assert_eq!((found[0].path.as_str(), found[0].content.as_slice()), ("b", b"gamma".as_slice()));
    }
}

#[test]
fn sizes_that_follow_the_data_are_taken_from_the_central_directory() {
    let local = Header { name: b"a", flags: 8, ..Header::default() };
    let central = Header { compressed: 5, size: 5, ..local };
    let bytes = single(&local, b"alphaPK\x07\x08\0\0\0\0\x05\0\0\0\x05\0\0\0", &central);
    let (found, ended) = read_all(Zip, bytes.as_slice());
    ended.expect("a sound archive");
    assert_eq!(found[0].content, b"alpha");
    assert_eq!(found[0].trouble, None);
}

#[test]
fn encrypted_members_are_named_and_not_read() {
    for (flags, method) in [(1, 8), (1 | 1 << 6, 8), (0, 99)] {
        let header = Header { name: b"secret", flags, method, compressed: 5, size: 5, ..Header::default() };
        let mut seen = Vec::new();
        visit_members(Zip, &single(&header, b"?????", &header).as_slice(), None, &mut |member| {
            let error = member.open().err();
            assert!(matches!(error, Some(ContainerError::Unsupported(_))), "{error:?}");
            seen.push((member.path().to_owned(), member.is_encrypted()));
            true
        })
        .expect("a sound archive");
        assert_eq!(seen, [("secret".to_owned(), true)]);
    }
}

#[test]
fn members_compressed_by_other_methods_are_named_and_not_read() {
    let header = Header { name: b"a", method: 12, compressed: 5, size: 5, ..Header::default() };
    let (found, ended) = read_all(Zip, single(&header, b"?????", &header).as_slice());
    ended.expect("a sound archive");
    assert_eq!(found[0].trouble.as_deref(), Some("compression method 12 is not supported"));
}

#[test]
fn content_of_another_length_than_promised_is_told() {
    let local = Header { name: b"a", compressed: 5, size: 5, ..Header::default() };
    let long = Header { compressed: 5, size: 6, ..local };
    let beyond_the_end = Header { compressed: u32::MAX, size: u32::MAX, ..local };
    for central in [long, beyond_the_end] {
        let (found, _) = read_all(Zip, single(&local, b"alpha", &central).as_slice());
        assert!(found[0].content.starts_with(b"alpha"));
        assert!(found[0].trouble.is_some());
    }
}

#[test]
fn data_that_is_no_deflate_stream_is_damaged() {
    let header = Header { name: b"a", method: 8, compressed: 5, size: 5, ..Header::default() };
    for data in [b"\xFF\xFF\xFF\xFF\xFF", b"\x00\xFF\xFF\x00\x00"] {
        visit_members(Zip, &single(&header, data, &header).as_slice(), None, &mut |member| {
            let error = member.open().expect("a member").read_to_end(&mut Vec::new()).expect_err("damage");
            assert!(matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof), "{error:?}");
            true
        })
        .expect("a sound archive");
    }
}

#[test]
fn members_that_share_their_data_are_read_each() {
    let mut bytes = archive(&[("a", b"alpha".as_slice()), ("b", b"alpha")]);
    let second = memchr::memmem::rfind(&bytes, b"PK\x01\x02").expect("a second header");
    bytes[second + 42..second + 46].fill(0);
    let (found, ended) = read_all(Zip, bytes.as_slice());
    ended.expect("a sound archive");
    assert!(found.iter().all(|member| member.content == b"alpha" && member.trouble.is_none()));
}

#[test]
fn a_member_without_a_local_header_is_named_and_not_read() {
    for offset in [1_u32, 1_000_000, u32::MAX] {
        let local = Header { name: b"a", compressed: 5, size: 5, ..Header::default() };
        let central = Header { offset, ..local };
        let (found, ended) = read_all(Zip, single(&local, b"alpha", &central).as_slice());
        ended.expect("a sound directory");
        assert_eq!(found[0].path, "a");
        assert!(found[0].trouble.as_deref().is_some_and(|reason| reason.starts_with("no local header")));
    }
}

#[test]
fn a_directory_beyond_the_file_is_malformed() {
    for (members, size, offset) in [(1, 46, 1_000_000), (1, u32::MAX, 0), (1, 46, u32::MAX), (u16::MAX, 0, 0)] {
        let bytes = [vec![b'-'; 500], end_record(members, size, offset)].concat();
        let (found, ended) = read_all(Zip, bytes.as_slice());
        assert_eq!(found, []);
        assert_eq!(reason(ended), "no central directory where the end record says");
    }
}

#[test]
fn an_archive_without_its_end_is_malformed() {
    let bytes = archive(&[("a", b"alpha".as_slice())]);
    let cut = &bytes[..position_of(&bytes, b"PK\x05\x06")];
    assert_eq!(reason(read_all(Zip, cut).1), "no end of central directory");
}

#[test]
fn an_archive_over_several_disks_is_malformed() {
    let mut bytes = archive(&[("a", b"alpha".as_slice())]);
    let end = position_of(&bytes, b"PK\x05\x06");
    bytes[end + 4] = 1;
    assert_eq!(reason(read_all(Zip, bytes.as_slice()).1), "the archive spans several disks");
}

#[test]
fn a_directory_that_claims_more_members_than_it_has_ends_with_what_it_has() {
    let header = Header { name: b"a", ..Header::default() };
    let mut bytes = header.local();
    let start = bytes.len() as u64;
    let directory = header.central();
    bytes.extend(&directory);
    bytes.extend(zip64_end(1 << 32, directory.len() as u64, start, start + directory.len() as u64));
    bytes.extend(end_record(u16::MAX, u32::MAX, u32::MAX));
    let (found, ended) = read_all(Zip, bytes.as_slice());
    assert_eq!(found.len(), 1);
    assert_eq!(reason(ended), "the central directory ends after 1 of 4294967296 members");
}

#[test]
fn a_million_members_are_listed_through_a_small_window() {
    let directory = Header { name: b"member", ..Header::default() }.central().repeat(MANY);
    let size = directory.len() as u64;
    let mut bytes = directory;
    bytes.extend(zip64_end(MANY as u64, size, 0, size));
    bytes.extend(end_record(u16::MAX, u32::MAX, u32::MAX));
    let source = Watched::new(bytes);
    let mut visited = 0;
    visit_members(Zip, &source, None, &mut |member| {
        visited += usize::from(member.path() == "member");
        true
    })
    .expect("a sound directory");
    assert_eq!(visited, MANY);
    let (read, most) = *source.read.borrow();
    assert!(most <= 64 << 10, "{most} bytes were read at once");
    assert!(read < size + size / 10, "{read} bytes were read of {size}");
}

#[test]
fn more_members_than_the_end_record_can_count_are_all_listed() {
    let header = Header { name: b"m", ..Header::default() }.central();
    let directory = header.repeat(70_000);
    let end = end_record((70_000 % 65_536) as u16, directory.len() as u32, 0);
    assert_eq!(paths(Zip, [directory, end].concat().as_slice()).len(), 70_000);
}

/// An archive of one member, of so many zeros as the number says.
fn bomb() -> (Vec<u8>, u64) {
    // Each piece ends at a byte with an empty dictionary, so the same piece again is more of the same.
    const PIECE: usize = 64 << 20;
    const PIECES: usize = 160;
    let (zeros, mut piece) = (vec![0; PIECE], Vec::with_capacity(PIECE / 100));
    Compress::new(Compression::best(), false).compress_vec(&zeros, &mut piece, FlushCompress::Full).expect("room");
    let data = [piece.repeat(PIECES).as_slice(), b"\x03\0"].concat();
    let total = (PIECE * PIECES) as u64;

    let extra = [b"\x01\0\x08\0".as_slice(), &total.to_le_bytes()].concat();
    let compressed = data.len() as u32;
    let header = Header { name: b"bomb", method: 8, compressed, size: u32::MAX, extra: &extra, ..Header::default() };
    (single(&header, &data, &header), total)
}

#[test]
fn a_prefix_of_ten_gigabytes_of_zeros_costs_a_prefix() {
    let (bytes, total) = bomb();
    let source = Watched::new(bytes);
    visit_members(Zip, &source, None, &mut |member| {
        assert_eq!(member.size(), total);
        let mut prefix = vec![1; 1 << 20];
        member.open().expect("a member").read_exact(&mut prefix).expect("a prefix");
        assert!(prefix.iter().all(|byte| *byte == 0));
        true
    })
    .expect("a sound archive");
    let (read, most) = *source.read.borrow();
    assert!(read < 256 << 10 && most <= 128 << 10, "{read} bytes were read, at most {most} at once");
}

#[test]
fn reading_a_member_ends_when_its_time_is_spent() {
    let (bytes, _) = bomb();
    let deadline = Instant::now() + Duration::from_millis(50);
    let ended = visit_members(Zip, &bytes.as_slice(), Some(deadline), &mut |member| {
        // On a slow machine the time may be over before the member is opened.
        if let Ok(mut content) = member.open() {
            let error = io::copy(&mut content, &mut io::sink()).expect_err("ten gigabytes take longer");
            assert_eq!(error.kind(), ErrorKind::TimedOut);
        }
        false
    });
    assert!(matches!(ended, Ok(()) | Err(ContainerError::TimeSpent)), "{ended:?}");
}
