//! Compound files: those that writers make, and those that loop, point nowhere or promise too much.

use std::io::{ErrorKind, Read};

use strongroom_pronom::ContainerKind::Ole2;
use strongroom_pronom::container::visit_members;

use super::compound::{Compound, END};
use super::{Found, Watched, paths, read_all, reason};

fn found(path: &str, content: &[u8]) -> Found {
    Found { path: path.to_owned(), is_folder: false, content: content.to_vec(), trouble: None }
}

fn folder(path: &str) -> Found {
    Found { is_folder: true, ..found(path, b"") }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}

/// The only member of a file with one stream named `S`.
fn only(file: &[u8]) -> Found {
    let (mut members, ended) = read_all(Ole2, file);
    ended.expect("a directory in order");
    assert_eq!(members.len(), 1);
    members.remove(0)
}

#[test]
fn streams_of_any_length_are_found_with_their_paths_in_both_versions() {
    let (short, long) = (pattern(4095), pattern(20_000));
    let members: [(&str, &[u8]); 5] =
        [("Empty", b""), ("Store/Mini", &short), ("Store/Deep/One", b"1"), ("Long", &long), ("Cutoff", &long[..4096])];
    for shift in [9, 12] {
        let file = Compound::new(shift, &members);
        let (members, ended) = read_all(Ole2, file.bytes.as_slice());
        ended.expect("a sound file");
        let expected = [
            found("Empty", b""),
            folder("Store"),
            found("Store/Mini", &short),
            folder("Store/Deep"),
            found("Store/Deep/One", b"1"),
            found("Long", &long),
            found("Cutoff", &long[..4096]),
        ];
        assert_eq!(members, expected, "sectors of {} bytes", 1 << shift);
    }
}

#[test]
fn the_control_character_before_a_name_is_left_out() {
    let file = Compound::new(9, &[("\u{1}CompObj", b"a".as_slice()), ("\u{5}Store/\u{3}Öbj", b"b")]);
    assert_eq!(paths(Ole2, file.bytes.as_slice()), ["CompObj", "Store", "Store/Öbj"]);
}

#[test]
fn a_file_too_large_for_the_allocation_table_in_its_header_is_read() {
    let content = pattern(16 << 20);
    let file = Compound::new(9, &[("S", &content)]);
    let mut read = Vec::new();
    visit_members(Ole2, &file.bytes.as_slice(), None, &mut |member| {
        member.open().expect("a stream").read_to_end(&mut read).expect("its content");
        true
    })
    .expect("a sound file");
    assert!(read == content);
}

#[test]
fn a_last_sector_that_is_cut_off_behind_the_content_does_no_harm() {
    let content = pattern(600 * 8);
    let file = Compound::new(9, &[("S", &content)]);
    // The FAT is last; most of it is free.
    let cut = &file.bytes[..file.bytes.len() - 400];
    assert_eq!(only(cut), found("S", &content));
}

#[test]
fn a_stream_longer_than_its_chain_is_read_up_to_the_end_of_the_chain() {
    for length in [700, 5000] {
        let content = pattern(length);
        let mut file = Compound::new(9, &[("S", &content)]);
        let size = file.entry("S") + 120;
        file.put(size, if length < 4096 { 4095 } else { u32::MAX });
        let member = only(&file.bytes);
        assert!(member.content.starts_with(&content));
        assert!(member.content.len() < content.len() + 512);
        assert!(member.trouble.expect("an early end").starts_with("the stream ends after"));
    }
}

#[test]
fn only_sectors_of_4096_bytes_have_sizes_beyond_32_bits() {
    for (shift, trouble) in [(9, false), (12, true)] {
        let content = pattern(5000);
        let mut file = Compound::new(shift, &[("S", &content)]);
        let upper_half = file.entry("S") + 124;
        file.put(upper_half, 0x7FFF_FFFF);
        let member = only(&file.bytes);
        assert!(member.content.starts_with(&content));
        assert_eq!(member.trouble.is_some(), trouble);
    }
}

#[test]
fn a_chain_of_sectors_that_loops_is_told() {
    let content = pattern(50_000);
    for back in [0, 1, 40] {
        let mut file = Compound::new(9, &[("S", &content)]);
        let (start, size) = (file.start("S"), file.entry("S") + 120);
        file.link(start + 40, start + back);
        file.put(size, u32::MAX);
        let member = only(&file.bytes);
        assert!(member.content.len() < 4 * content.len());
        assert!(member.trouble.expect("a loop").starts_with("the chain of sectors loops"));
    }
}

#[test]
fn damaged_content_is_told_by_the_kind_of_the_error() {
    let mut file = Compound::new(9, &[("S", &pattern(50_000))]);
    let start = file.start("S");
    file.link(start + 1, start);
    visit_members(Ole2, &file.bytes.as_slice(), None, &mut |member| {
        let error = member.open().expect("a stream").read_to_end(&mut Vec::new()).expect_err("a loop");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        true
    })
    .expect("a directory in order");
}

#[test]
fn a_mini_sector_that_follows_itself_is_told() {
    let mut file = Compound::new(9, &[("S", &pattern(1000))]);
    let mini_fat = file.offset(file.mini_fat);
    file.put(mini_fat, 0);
    let member = only(&file.bytes);
    assert!(member.content.len() <= 1000);
    assert!(member.trouble.expect("a loop").starts_with("the chain of sectors loops"));
}

#[test]
fn a_difat_that_loops_is_told() {
    let mut file = Compound::new(9, &[("S", &pattern(8 << 20))]);
    let (difat, last_sector) = (u32_at(&file.bytes, 68), 40_000);
    let next_difat = file.offset(difat) + 508;
    file.put(next_difat, difat);
    // A sector whose place in the FAT would be named by the second sector of the DIFAT.
    let start = file.entry("S") + 116;
    file.put(start, last_sector);
    let source = Watched::of_size(file.bytes, 64 << 20);
    let (members, ended) = read_all(Ole2, &source);
    ended.expect("a directory in order");
    assert_eq!(members[0].content.len(), 512);
    assert_eq!(members[0].trouble.as_deref(), Some("the DIFAT loops"));
}

#[test]
fn a_directory_whose_sectors_loop_ends() {
    let mut file = Compound::new(9, &[("A", b"a".as_slice()), ("B", b"b"), ("C", b"c")]);
    let directory = file.directory;
    file.link(directory, directory);
    let right = file.entry("C") + 72;
    file.put(right, 9);
    let (members, ended) = read_all(Ole2, file.bytes.as_slice());
    assert_eq!(members, [found("A", b"a"), found("B", b"b"), found("C", b"c")]);
    assert!(reason(ended).starts_with("the chain of sectors loops"));
}

#[test]
fn an_entry_is_visited_once_whatever_points_to_it() {
    // Left, right and child of a storage lead back to the root, to itself, or to what is in it.
    for (field, target) in [(68, 0), (72, 0), (76, 0), (68, 1), (72, 1), (76, 1), (68, 2), (72, 2)] {
        let mut file = Compound::new(9, &[("A/Inner", b"i".as_slice()), ("B", b"b")]);
        let pointer = file.entry("A") + field;
        file.put(pointer, target);
        let (members, ended) = read_all(Ole2, file.bytes.as_slice());
        let mut paths: Vec<&str> = members.iter().map(|member| member.path.as_str()).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), members.len(), "{members:?}");
        assert!(reason(ended).ends_with("is reached twice"), "field {field}, target {target}");
    }
}

#[test]
fn entries_beyond_the_directory_are_told_and_the_rest_is_visited() {
    for number in [100, 300_000, 0xFFFF_FFF9] {
        let mut file = Compound::new(9, &[("A", b"a".as_slice()), ("B", b"b")]);
        let left = file.entry("A") + 68;
        file.put(left, number);
        let (members, ended) = read_all(Ole2, file.bytes.as_slice());
        assert_eq!(members, [found("A", b"a"), found("B", b"b")]);
        reason(ended);
    }
}

#[test]
fn storages_within_each_other_have_a_limit() {
    for (depth, is_sound) in [(100, true), (300, false)] {
        let path = vec!["s"; depth].join("/");
        let file = Compound::new(9, &[(&path, b"x".as_slice())]);
        let (members, ended) = read_all(Ole2, file.bytes.as_slice());
        assert_eq!(ended.is_ok(), is_sound, "{depth} deep");
        assert!(members.len() <= 129);
    }
}

#[test]
fn sectors_that_are_not_there_are_told() {
    for sector in [1_000_000, 0xFFFF_FFF9, END, u32::MAX] {
        for length in [100, 5000] {
            let mut file = Compound::new(9, &[("S", &pattern(length))]);
            let start = file.entry("S") + 116;
            file.put(start, sector);
            let member = only(&file.bytes);
            assert_eq!(member.content, b"");
            assert!(member.trouble.is_some());
        }
        // The same for the directory, the mini FAT and the FAT.
        for field in [48, 76] {
            let mut file = Compound::new(9, &[("S", &pattern(5000))]);
            file.put(field, sector);
            let (members, ended) = read_all(Ole2, file.bytes.as_slice());
            assert!(ended.is_err() || members.iter().all(|member| member.trouble.is_some()), "header field {field}");
        }
    }
}

#[test]
fn a_careless_header_does_no_harm() {
    let mut file = Compound::new(9, &[("S", b"s".as_slice())]);
    file.put(24, 0x0004_0021); // minor and major version
    file.put(40, 77); // number of directory sectors
    file.put(44, 0); // number of FAT sectors
    file.put(56, 1); // cutoff of the mini stream
    assert_eq!(only(&file.bytes), found("S", b"s"));
}

#[test]
fn sectors_of_unknown_size_are_malformed() {
    for shift in [0_u32, 8, 10, 16, 31, 32, 64, 0xFFFF] {
        let mut file = Compound::new(9, &[("S", b"s".as_slice())]);
        file.put(30, shift | 6 << 16);
        let (_, ended) = read_all(Ole2, file.bytes.as_slice());
        assert_eq!(reason(ended), "sectors of no known size");
    }
}

#[test]
fn a_prefix_of_a_stream_costs_little_more_than_the_prefix() {
    let file = Compound::new(9, &[("S", &pattern(4 << 20))]);
    let source = Watched::new(file.bytes);
    visit_members(Ole2, &source, None, &mut |member| {
        member.open().expect("a stream").read_exact(&mut [0; 100]).expect("a prefix");
        true
    })
    .expect("a sound file");
    let (read, most) = *source.read.borrow();
    assert!(read < 256 << 10 && most <= 32 << 10, "{read} bytes were read, at most {most} at once");
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
}
