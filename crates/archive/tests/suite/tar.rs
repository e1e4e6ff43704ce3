//! Tars: those that writers make, and those whose headers lie.

use std::io::{Cursor, Read};

use proptest::prelude::*;
use strongroom_archive::tar::{End, Input, Reader, SourceInput, StreamInput, is_header};
use strongroom_archive::{ArchiveError, MemberKind, Source as _};
use tar::{EntryType, Header};

use crate::sources::{Failing, Watched};

const BLOCK: usize = 512;

/// Names and contents of the files in order, and how the tar ended.
type Listed = (Vec<(String, Vec<u8>)>, Result<End, ArchiveError>);

fn list<I: Input>(mut reader: Reader<I>) -> Listed {
    let mut found = Vec::new();
    loop {
        match reader.next_member() {
            Ok(Some(member)) if member.kind == MemberKind::File => {
                let mut content = Vec::new();
                if reader.content().read_to_end(&mut content).is_ok() {
                    found.push((String::from_utf8_lossy(&member.name).into_owned(), content));
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => return (found, Ok(reader.end().expect("an end"))),
            Err(error) => return (found, Err(error)),
        }
    }
}

/// What is listed, which must not depend on how it is read.
fn listed(bytes: &[u8]) -> Listed {
    let streamed = list(Reader::new(StreamInput(Cursor::new(bytes))));
    let source = list(Reader::new(SourceInput::new(bytes)));
    assert_eq!(streamed.0, source.0);
    assert_eq!(streamed.1.as_ref().map_err(ToString::to_string), source.1.as_ref().map_err(ToString::to_string));
    streamed
}

fn reason(listed: Listed) -> String {
    listed.1.expect_err("a tar that is not in order").to_string()
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

/// A member that states a size, whatever its content has.
fn member(name: &str, kind: EntryType, size: u64, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.set_path(name).unwrap();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mtime(7);
    header.set_cksum();
    let mut bytes = [header.as_bytes().as_slice(), content].concat();
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    member(name, EntryType::Regular, content.len() as u64, content)
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_pax_extensions(records.iter().map(|(key, value)| (*key, value.as_bytes()))).unwrap();
    let mut bytes = builder.into_inner().unwrap();
    bytes.truncate(bytes.len() - 2 * BLOCK);
    bytes
}

fn closed(members: &[Vec<u8>]) -> Vec<u8> {
    [members.concat(), vec![0; 2 * BLOCK]].concat()
}

#[test]
fn members_are_found_where_they_lie_with_names_of_any_length() {
    let long = format!("{}/name", "folder/".repeat(40));
    let bytes = archive(&[("a", b"one"), (&long, &[7; 600]), ("empty", b"")]);
    let (found, ended) = listed(&bytes);
    assert_eq!(ended.expect("a sound tar"), End::Marked);
    let expected = [("a", b"one".to_vec()), (long.as_str(), vec![7; 600]), ("empty", vec![])];
    assert!(found.iter().map(|(name, content)| (name.as_str(), content.clone())).eq(expected));

    let mut reader = Reader::new(SourceInput::new(bytes.as_slice()));
    while let Some(member) = reader.next_member().expect("a sound tar") {
        let mut content = vec![0; member.size as usize];
        bytes.as_slice().read_at(member.offset, &mut content).expect("bytes");
        assert!(found.iter().any(|(name, read)| name.as_bytes() == member.name && *read == content));
    }
    assert!(is_header(&bytes) && !is_header(&bytes[1..]) && !is_header(&bytes[..511]) && !is_header(&[0; 512]));
}

#[test]
fn pax_and_gnu_names_sizes_and_times_are_read() {
    let long = format!("folder/{}/file", "d".repeat(120));
    let longer = format!("{long}2\0");
    let bytes = closed(&[
        pax(&[("path", &long), ("mtime", "1700000000.25"), ("size", "3")]),
        file("short", b"pax"),
        member("././@LongLink", EntryType::GNULongName, longer.len() as u64, longer.as_bytes()),
        file("short", b"gnu!"),
        file("plain", b""),
    ]);
    let mut reader = Reader::new(SourceInput::new(bytes.as_slice()));
    let mut found = Vec::new();
    while let Some(member) = reader.next_member().expect("a sound tar") {
        let name = String::from_utf8(member.name).expect("a name");
        found.push((name, member.size, member.modified.map(jiff::Timestamp::as_second)));
    }
    let expected = [(long.clone(), 3, 1_700_000_000), (format!("{long}2"), 4, 7), ("plain".to_owned(), 0, 7)];
    assert_eq!(found, expected.map(|(name, size, time)| (name, size, Some(time))));
}

/// CVE-2025-62518: a program that reads the ustar size sees members that one that reads the pax size skips as bytes.
#[test]
fn headers_that_state_two_sizes_are_a_conflict() {
    for (stated, real) in [("0", 1024), ("1024", 0), ("512", 1024)] {
        let bytes = closed(&[pax(&[("size", stated)]), member("a", EntryType::Regular, real, &[0; 1024])]);
        let (found, ended) = listed(&bytes);
        assert!(found.is_empty() && matches!(ended, Err(ArchiveError::Conflict(_))), "{ended:?}");
    }
    let link = closed(&[member("link", EntryType::Symlink, 512, &file("hidden", b""))]);
    assert!(matches!(listed(&link).1, Err(ArchiveError::Conflict(_))));
    let global = closed(&[member("g", EntryType::XGlobalHeader, 10, b"10 size=5\n"), file("a", b"")]);
    assert!(matches!(listed(&global).1, Err(ArchiveError::Conflict(_))));
}

#[test]
fn a_size_that_only_the_extended_header_holds_counts() {
    let size = (1_u64 << 33) + 5;
    let bytes = [pax(&[("size", &size.to_string())]), file("large", b"")].concat();
    let member = Reader::new(StreamInput(Cursor::new(&bytes))).next_member().expect("a header").expect("a member");
    assert_eq!((member.size, member.kind), (size, MemberKind::File));
}

#[test]
fn sparse_members_are_told_from_files() {
    let bytes =
        closed(&[pax(&[("GNU.sparse.major", "1"), ("GNU.sparse.name", "x")]), file("x", b"map"), file("y", b"")]);
    let mut reader = Reader::new(StreamInput(Cursor::new(&bytes)));
    let kinds: Vec<_> =
        std::iter::from_fn(|| reader.next_member().expect("a sound tar")).map(|found| found.kind).collect();
    assert_eq!(kinds, [MemberKind::Sparse, MemberKind::File]);
    let mut extended = member("x", EntryType::GNUSparse, 0, b"");
    extended[482] = 1;
    let sum: u32 = extended
        .iter()
        .enumerate()
        .map(|(at, byte)| u32::from(if (148..156).contains(&at) { b' ' } else { *byte }))
        .sum();
    extended[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert!(matches!(listed(&closed(&[extended])).1, Err(ArchiveError::Unsupported(_))));
}

#[test]
fn what_is_damaged_ends_the_listing_and_says_where() {
    let whole = archive(&[("a", b"one"), ("b", b"two")]);
    let (found, error) = listed(&whole[..1100]);
    assert_eq!(found.len(), 1);
    assert_eq!(error.expect_err("an end").to_string(), "the archive ends in the middle of the header at byte 1024");
    let mut damaged = whole.clone();
    damaged[1030] ^= 1;
    assert_eq!(reason(listed(&damaged)), "the header at byte 1024 is damaged: its checksum does not hold");
    assert_eq!(reason(listed(&whole[..514])), "the archive ends in the middle of the member at byte 512");
    assert_eq!(listed(&whole[..2048]).1.expect("members"), End::Unmarked);
    assert!(matches!(listed(b"").1, Err(ArchiveError::Truncated(_))));
}

#[test]
fn an_extended_header_without_end_is_refused_unread() {
    for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader, EntryType::XGlobalHeader] {
        let huge = member("x", kind, 1 << 32, b"");
        assert_eq!(reason(listed(&huge)), "the extended header at byte 512 has 4294967296 bytes");
    }
    for records in [&b"0 path=x\n"[..], b"99999999999999999999 path=x\n", b"9 path=xx\n", b"path", b"10 size=-1\n"] {
        let broken = closed(&[member("x", EntryType::XHeader, records.len() as u64, records), file("x", b"")]);
        assert_eq!(reason(listed(&broken)), "the extended header at byte 512 is malformed", "{records:?}");
    }
}

#[test]
fn a_file_is_skipped_without_being_read() {
    let source = Watched::new(archive(&[("a", &vec![1; 10 << 20]), ("b", &vec![2; 10 << 20])]));
    let mut reader = Reader::new(SourceInput::new(&source));
    while reader.next_member().expect("a sound tar").is_some() {}
    assert_eq!(reader.end(), Some(End::Marked));
    assert!(source.read.borrow().0 < 1 << 20);
}

#[test]
fn a_source_that_fails_is_no_damage_of_the_archive() {
    let error = Reader::new(SourceInput::new(&Failing)).next_member().err();
    assert!(matches!(error, Some(ArchiveError::Io { .. })), "{error:?}");
}

proptest! {
    #[test]
    fn damaged_tars_are_read_alike_from_streams_and_sources(
        changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..6),
    ) {
        let mut bytes = closed(&[pax(&[("path", "p")]), file("a", b"one"), file("b", &[7; 700])]);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        // A changed header is mostly caught by its checksum; one that is mended reaches further.
        for block in bytes.chunks_exact_mut(BLOCK).filter(|block| &block[257..262] == b"ustar") {
            block[148..156].copy_from_slice(b"        ");
            let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
        drop(listed(&bytes));
    }
}
