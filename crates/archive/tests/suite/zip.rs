//! ZIP archives: those that writers make, and those that lie about where things are and how large.

use std::io::{Cursor, ErrorKind, Read, Write};

use flate2::{Compress, Compression, FlushCompress};
use proptest::prelude::*;
use strongroom_archive::zip::{Entry, Index, Placement};
use strongroom_archive::{ArchiveError, Source};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::sources::{Failing, Watched};

/// What was found of a member: its name, its content as far as it could be read, and why not further.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    path: String,
    content: Vec<u8>,
    trouble: Option<String>,
}

/// Reads no more of a member than this.
const MOST: u64 = 1 << 20;

fn read_member<S: Source + ?Sized>(source: &S, entry: &Entry) -> (Vec<u8>, Result<(), ArchiveError>) {
    let mut content = Vec::new();
    let outcome = entry.local_header(source).and_then(|local| entry.open(source, &local)).and_then(|reader| {
        let place = "the member".to_owned();
        reader.take(MOST).read_to_end(&mut content).map_err(|source| ArchiveError::Io { place, source })
    });
    (content, outcome.map(drop))
}

/// The text of an error, without the part that was read.
fn text(error: ArchiveError) -> String {
    match error {
        ArchiveError::Io { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

/// Every member of an archive that other bytes may surround, and how the list ended.
fn read_all<S: Source + ?Sized>(source: &S) -> (Vec<Found>, Result<(), ArchiveError>) {
    read_placed(source, Placement::Embedded)
}

fn read_placed<S: Source + ?Sized>(source: &S, placement: Placement) -> (Vec<Found>, Result<(), ArchiveError>) {
    let mut found = Vec::new();
    let index = match Index::open(source, placement) {
        Ok(index) => index,
        Err(error) => return (found, Err(error)),
    };
    for entry in index.entries() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return (found, Err(error)),
        };
        let (content, outcome) = read_member(source, &entry);
        let path = String::from_utf8_lossy(&entry.name).into_owned();
        found.push(Found { path, content, trouble: outcome.err().map(text) });
    }
    (found, Ok(()))
}

/// The names in an archive that is in order.
fn paths<S: Source + ?Sized>(source: &S) -> Vec<String> {
    let (found, ended) = read_all(source);
    ended.expect("a sound archive");
    found.into_iter().map(|member| member.path).collect()
}

fn reason(ended: Result<(), ArchiveError>) -> String {
    text(ended.expect_err("an archive that is not in order"))
}

const MANY: usize = 1_000_000;

/// A deflated archive of members by name; names that end in `/` are folders.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
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
        let (found, ended) = read_all(bytes.as_slice());
        ended.expect("a sound archive");
        let told: Vec<_> = found.iter().map(|member| member.path.as_str()).collect();
        assert_eq!(told, ["z.txt", "folder/", "a\\b.txt"]);
        assert!(found.iter().all(|member| member.trouble.is_none()));
        assert!(found[0].content == content);
    }
}

#[test]
fn an_archive_without_members_is_sound() {
    assert!(paths(archive(&[]).as_slice()).is_empty());
}

#[test]
fn what_stands_before_and_behind_an_archive_is_passed_over() {
    let plain = archive(&[("a", b"alpha".as_slice()), ("b", b"beta")]);
    let before = [b"#!/bin/sh\n".repeat(5000), plain.clone()].concat();
    let behind = [plain.as_slice(), &[0; 300]].concat();
    for bytes in [before, behind] {
        let (found, ended) = read_all(bytes.as_slice());
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
        assert_eq!(paths(bytes.as_slice()), ["a"]);
    }
}

#[test]
fn zip64_archives_are_read() {
    let options = SimpleFileOptions::default().large_file(true);
    let bytes = archive_with(&[("a", b"alpha".as_slice())], options, b"");
    let (found, ended) = read_all(bytes.as_slice());
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
        let (found, ended) = read_all(bytes.as_slice());
        ended.expect("a sound archive");
        assert_eq!((found[0].path.as_str(), found[0].content.as_slice()), ("b", b"gamma".as_slice()));
    }
}

#[test]
fn sizes_that_follow_the_data_are_taken_from_the_central_directory() {
    let local = Header { name: b"a", flags: 8, ..Header::default() };
    let central = Header { compressed: 5, size: 5, ..local };
    let bytes = single(&local, b"alphaPK\x07\x08\0\0\0\0\x05\0\0\0\x05\0\0\0", &central);
    let (found, ended) = read_all(bytes.as_slice());
    ended.expect("a sound archive");
    assert_eq!(found[0].content, b"alpha");
    assert_eq!(found[0].trouble, None);
}

#[test]
fn encrypted_members_are_named_and_not_read() {
    for (flags, method) in [(1, 8), (1 | 1 << 6, 8), (0, 99)] {
        let header = Header { name: b"secret", flags, method, compressed: 5, size: 5, ..Header::default() };
        let bytes = single(&header, b"?????", &header);
        let index = Index::open(bytes.as_slice(), Placement::Exact).expect("a sound archive");
        let entries: Vec<Entry> = index.entries().collect::<Result<_, _>>().expect("a sound directory");
        assert!(entries[0].is_encrypted());
        let (content, outcome) = read_member(bytes.as_slice(), &entries[0]);
        assert!(content.is_empty() && matches!(outcome, Err(ArchiveError::Unsupported(_))), "{outcome:?}");
    }
}

#[test]
fn members_compressed_by_other_methods_are_named_and_not_read() {
    let header = Header { name: b"a", method: 12, compressed: 5, size: 5, ..Header::default() };
    let (found, ended) = read_all(single(&header, b"?????", &header).as_slice());
    ended.expect("a sound archive");
    assert_eq!(found[0].trouble.as_deref(), Some("compression method 12 is not supported"));
}

#[test]
fn content_of_another_length_than_promised_is_told() {
    let local = Header { name: b"a", compressed: 5, size: 5, ..Header::default() };
    let long = Header { compressed: 5, size: 6, ..local };
    let beyond_the_end = Header { compressed: u32::MAX, size: u32::MAX, ..local };
    for central in [long, beyond_the_end] {
        let (found, _) = read_all(single(&local, b"alpha", &central).as_slice());
        assert!(found[0].content.starts_with(b"alpha"));
        assert!(found[0].trouble.is_some());
    }
}

#[test]
fn data_that_is_no_deflate_stream_is_damaged() {
    let header = Header { name: b"a", method: 8, compressed: 5, size: 5, ..Header::default() };
    for data in [b"\xFF\xFF\xFF\xFF\xFF", b"\x00\xFF\xFF\x00\x00"] {
        let bytes = single(&header, data, &header);
        let index = Index::open(bytes.as_slice(), Placement::Exact).expect("a sound archive");
        let entry = index.entries().next().expect("an entry").expect("a sound entry");
        let error = std::io::Error::from(read_member(bytes.as_slice(), &entry).1.expect_err("damage"));
        assert!(matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof), "{error:?}");
    }
}

#[test]
fn content_that_is_read_with_its_checksum_must_have_it() {
    let sound = archive(&[("a", b"alpha".as_slice())]);
    let mut damaged = sound.clone();
    let directory = position_of(&sound, b"PK\x01\x02");
    damaged[directory + 16] ^= 1;
    for (bytes, is_sound) in [(sound, true), (damaged, false)] {
        let source = bytes.as_slice();
        let index = Index::open(source, Placement::Exact).expect("a sound archive");
        let entry = index.entries().next().expect("an entry").expect("a sound entry");
        let again = Entry::read(source, entry.position).expect("the entry at its place");
        let local = again.local_header(source).expect("a local header");
        let mut content = Vec::new();
        let outcome = again.open_verified(source, &local).expect("a member").read_to_end(&mut content);
        assert_eq!((content.as_slice(), outcome.is_ok()), (b"alpha".as_slice(), is_sound));
    }
}

#[test]
fn content_is_never_longer_than_the_directory_states() {
    let mut bytes = archive(&[("a", &[b'x'; 1000])]);
    let directory = position_of(&bytes, b"PK\x01\x02");
    bytes[directory + 24..directory + 28].copy_from_slice(&10_u32.to_le_bytes());
    let (found, _) = read_all(bytes.as_slice());
    assert_eq!(found[0].content, [b'x'; 10]);
    assert_eq!(found[0].trouble.as_deref(), Some("the member is longer than its header states"));
}

#[test]
fn members_that_share_their_data_are_read_each() {
    let mut bytes = archive(&[("a", b"alpha".as_slice()), ("b", b"alpha")]);
    let second = memchr::memmem::rfind(&bytes, b"PK\x01\x02").expect("a second header");
    bytes[second + 42..second + 46].fill(0);
    let (found, ended) = read_all(bytes.as_slice());
    ended.expect("a sound archive");
    assert!(found.iter().all(|member| member.content == b"alpha" && member.trouble.is_none()));
}

#[test]
fn a_member_without_a_local_header_is_named_and_not_read() {
    for offset in [1_u32, 1_000_000, u32::MAX] {
        let local = Header { name: b"a", compressed: 5, size: 5, ..Header::default() };
        let central = Header { offset, ..local };
        let (found, ended) = read_all(single(&local, b"alpha", &central).as_slice());
        ended.expect("a sound directory");
        assert_eq!(found[0].path, "a");
        assert!(found[0].trouble.as_deref().is_some_and(|reason| reason.starts_with("no local header")));
    }
}

#[test]
fn a_directory_beyond_the_file_is_malformed() {
    for (members, size, offset) in [(1, 46, 1_000_000), (1, u32::MAX, 0), (1, 46, u32::MAX), (u16::MAX, 0, 0)] {
        let bytes = [vec![b'-'; 500], end_record(members, size, offset)].concat();
        let (found, ended) = read_all(bytes.as_slice());
        assert!(found.is_empty());
        assert_eq!(reason(ended), "no central directory where the end record says");
    }
}

#[test]
fn an_archive_without_its_end_is_malformed() {
    let bytes = archive(&[("a", b"alpha".as_slice())]);
    let cut = &bytes[..position_of(&bytes, b"PK\x05\x06")];
    assert_eq!(reason(read_all(cut).1), "no end of central directory");
}

#[test]
fn an_archive_over_several_disks_is_malformed() {
    let mut bytes = archive(&[("a", b"alpha".as_slice())]);
    let end = position_of(&bytes, b"PK\x05\x06");
    bytes[end + 4] = 1;
    assert_eq!(reason(read_all(bytes.as_slice()).1), "the archive spans several disks");
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
    for placement in [Placement::Exact, Placement::Embedded] {
        let index = Index::open(bytes.as_slice(), placement).expect("a directory");
        assert_eq!((index.entries().count(), index.stated_members()), (1, 1 << 32));
    }
}

/// A directory with something else between its entries and its end.
#[test]
fn an_exact_directory_holds_nothing_but_entries() {
    let header = Header { name: b"a", ..Header::default() };
    let (local, directory) = (header.local(), [header.central(), b"?".repeat(50)].concat());
    let end = end_record(1, directory.len() as u32, local.len() as u32);
    let bytes = [local, directory, end].concat();
    assert_eq!(read_placed(bytes.as_slice(), Placement::Embedded).1.map_err(text), Ok(()));
    let (found, ended) = read_placed(bytes.as_slice(), Placement::Exact);
    assert_eq!(found.len(), 1);
    assert!(reason(ended).starts_with("no whole header in the central directory at byte"));
}

#[test]
fn an_exact_archive_is_the_whole_source() {
    let plain = archive_with(&[("a", b"alpha".as_slice())], SimpleFileOptions::default(), b"a comment");
    assert_eq!(read_placed(plain.as_slice(), Placement::Exact).0.len(), 1);
    let before = [b"#!/bin/sh\n".as_slice(), &plain].concat();
    let behind = [plain.as_slice(), &[0; 300]].concat();
    for (bytes, why) in
        [(before, "the central directory is not where its end says"), (behind, "no end of central directory")]
    {
        assert_eq!(read_all(bytes.as_slice()).0.len(), 1);
        assert_eq!(reason(read_placed(bytes.as_slice(), Placement::Exact).1), why);
    }
}

/// Some programs read the ZIP64 end record wherever there is one, others only where the end record asks for it.
#[test]
fn an_exact_archive_has_one_end_or_two_that_agree() {
    let header = Header { name: b"a", ..Header::default() };
    let (local, directory) = (header.local(), header.central());
    let (start, size) = (local.len() as u32, directory.len() as u32);
    let archive = |end: Vec<u8>| {
        let position = u64::from(start + size);
        let large = zip64_end(1, u64::from(size), u64::from(start), position);
        [local.as_slice(), &directory, &large, &end].concat()
    };
    for end in [end_record(1, size, start), end_record(u16::MAX, u32::MAX, u32::MAX), end_record(1, u32::MAX, start)] {
        let (found, ended) = read_placed(archive(end).as_slice(), Placement::Exact);
        ended.expect("a sound archive");
        assert_eq!(found.len(), 1);
    }
    for end in [end_record(2, size, start), end_record(1, size - 1, start), end_record(1, size, start + 1)] {
        let ended = read_placed(archive(end).as_slice(), Placement::Exact).1;
        assert_eq!(reason(ended), "the two ends of the central directory differ");
    }
}

#[test]
fn a_member_without_the_numbers_that_it_leaves_to_zip64_is_named_and_not_read() {
    let local = Header { name: b"a", compressed: 5, size: 5, ..Header::default() };
    let central = Header { size: u32::MAX, extra: b"\x01\0\x04\0\x05\0\0\0", ..local };
    let (found, ended) = read_all(single(&local, b"alpha", &central).as_slice());
    ended.expect("a sound directory");
    assert_eq!(found[0].path, "a");
    assert!(found[0].trouble.as_deref().is_some_and(|why| why.starts_with("the ZIP64 field of the member lacks")));
}

#[test]
fn a_source_that_fails_is_no_damage_of_the_archive() {
    for placement in [Placement::Exact, Placement::Embedded] {
        let ended = Index::open(&Failing, placement).err();
        assert!(matches!(ended, Some(ArchiveError::Io { .. })), "{ended:?}");
    }
}

#[test]
fn archives_cut_off_anywhere_come_to_an_end() {
    let bytes = archive(&[("a.txt", b"alpha".as_slice()), ("b/", b""), ("b/c.bin", &[7; 3000])]);
    for length in 0..bytes.len() {
        for placement in [Placement::Exact, Placement::Embedded] {
            let (found, ended) = read_placed(&bytes[..length], placement);
            assert!(found.is_empty() && ended.is_err(), "cut to {length} bytes");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_archives_neither_panic_nor_grow(
        changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..8),
    ) {
        let mut bytes = archive(&[("a.txt", b"alpha".as_slice()), ("b/", b""), ("b/c.bin", &[7; 3000])]);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for placement in [Placement::Exact, Placement::Embedded] {
            let (found, _) = read_placed(&Watched::new(bytes.clone()), placement);
            prop_assert!(found.len() <= bytes.len() / 46, "{} members in {} bytes", found.len(), bytes.len());
        }
    }
}

#[test]
fn a_million_members_are_listed_through_a_small_window() {
    let directory = Header { name: b"member", ..Header::default() }.central().repeat(MANY);
    let size = directory.len() as u64;
    let mut bytes = directory;
    bytes.extend(zip64_end(MANY as u64, size, 0, size));
    bytes.extend(end_record(u16::MAX, u32::MAX, u32::MAX));
    let source = Watched::new(bytes);
    let index = Index::open(&source, Placement::Exact).expect("a sound directory");
    let listed = index.entries().filter(|entry| entry.as_ref().is_ok_and(|entry| entry.name == b"member")).count();
    assert_eq!(listed, MANY);
    let (read, most) = *source.read.borrow();
    assert!(most <= 64 << 10, "{most} bytes were read at once");
    assert!(read < size + size / 10, "{read} bytes were read of {size}");
}

#[test]
fn more_members_than_the_end_record_can_count_are_all_listed() {
    let header = Header { name: b"m", ..Header::default() }.central();
    let directory = header.repeat(70_000);
    let end = end_record((70_000 % 65_536) as u16, directory.len() as u32, 0);
    assert_eq!(paths([directory, end].concat().as_slice()).len(), 70_000);
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
    let index = Index::open(&source, Placement::Exact).expect("a sound archive");
    let entry = index.entries().next().expect("an entry").expect("a sound entry");
    assert_eq!(entry.size, total);
    let (prefix, outcome) = read_member(&source, &entry);
    outcome.expect("a prefix");
    assert!(prefix.len() as u64 == MOST && prefix.iter().all(|byte| *byte == 0));
    let (read, most) = *source.read.borrow();
    assert!(read < 256 << 10 && most <= 128 << 10, "{read} bytes were read, at most {most} at once");
}
