//! Archives and directories, honest and hostile: what each yields, and that none leads out, hangs or is read two ways.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use strongroom_bagit::{
    BagError, BagFile, CheckOptions, Limits, Report, Scan, Serialization, SingleFile, Source, Verdict, validate,
    validate_stream,
};
use strongroom_digest::Algorithm;
use tempfile::TempDir;

use crate::bags::{Bag, errors, gzip, judge_archive, tar_header, tar_member, warnings};

fn scan_with(archive: Vec<u8>, serialization: Serialization, limits: &Limits) -> (Vec<(String, Vec<u8>)>, Scan) {
    let mut files = Vec::new();
    let source = Source::from_stream(Box::new(io::Cursor::new(archive)), serialization, Some("bag".to_owned()));
    let scan = source.scan(limits, &mut |entry, reader| {
        let mut content = Vec::new();
        reader.read_to_end(&mut content)?;
        assert_eq!(content.len() as u64, entry.size);
        files.push((entry.path.clone(), content));
        Ok(())
    });
    (files, scan.unwrap())
}

fn scan(archive: Vec<u8>, serialization: Serialization) -> (Vec<(String, Vec<u8>)>, Vec<String>) {
    let (files, scan) = scan_with(archive, serialization, &Limits::default());
    (files, scan.problems.into_iter().map(|problem| problem.code).collect())
}

/// A tar archive of members, closed.
fn archive(members: &[Vec<u8>]) -> Vec<u8> {
    let mut archive = members.concat();
    archive.extend([0; 1024]);
    archive
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut data = String::new();
    for (key, value) in records {
        let rest = format!(" {key}={value}\n");
        let mut length = rest.len() + 1;
        while length != rest.len() + length.to_string().len() {
            length += 1;
        }
        data.push_str(&length.to_string());
        data.push_str(&rest);
    }
    tar_member("PaxHeaders/x", b'x', data.as_bytes())
}

#[test]
fn a_bag_is_judged_alike_in_every_serialization() {
    let valid =
        Bag::new("1.0", &[Algorithm::Md5, Algorithm::Sha512], &[("a", "alpha"), ("d/e/f", "beta"), ("empty", "")]);
    let spoilt =
        valid.clone().with("data/a", "other").without("data/d/e/f").with("data/new", "x").with("bag-info.txt", "x");
    for (bag, verdict) in [(valid, Verdict::Valid), (spoilt, Verdict::Invalid)] {
        let directory = bag.judge();
        assert_eq!(directory.verdict, verdict, "{:#?}", directory.problems);
        for (name, archive) in [
            ("bag.tar", bag.tar()),
            ("bag.tar.gz", gzip(&bag.tar())),
            ("bag.tgz", gzip(&bag.tar())),
            ("bag.zip", bag.zip()),
        ] {
            let report = judge_archive(name, &archive);
            assert_eq!(report.problems, directory.problems, "{name}");
            assert_eq!((report.files, report.bytes), (directory.files, directory.bytes), "{name}");
        }
    }
}

#[test]
fn a_bag_that_comes_once_as_a_stream_is_judged_as_where_it_lies() {
    let algorithms = [Algorithm::Md5, Algorithm::Sha512];
    let valid = Bag::new("1.0", &algorithms, &[("a", "alpha"), ("d/e/f", "beta"), ("empty", "")]);
    let spoilt = valid.clone().with("data/a", "other").without("data/d/e/f").with("bag-info.txt", "x");
    for bag in [valid, spoilt] {
        for (name, archive, serialization) in
            [("bag.tar", bag.tar(), Serialization::Tar), ("bag.tgz", gzip(&bag.tar()), Serialization::TarGz)]
        {
            let wanted = judge_archive(name, &archive);
            let stream = Box::new(io::Cursor::new(archive));
            let options = CheckOptions::default();
            let report = validate_stream(stream, serialization, Some(name.to_owned()), &algorithms, &options).unwrap();
            assert_eq!(report, wanted, "{name}");
        }
    }
}

#[test]
fn a_stream_is_not_valid_where_a_manifest_has_an_algorithm_that_was_not_computed() {
    let bag = Bag::new("1.0", &[Algorithm::Sha256], &[("a", "alpha")]);
    let stream = Box::new(io::Cursor::new(bag.tar()));
    let options = CheckOptions::default();
    let report = validate_stream(stream, Serialization::Tar, None, &[Algorithm::Md5], &options).unwrap();
    assert_eq!(report.verdict, Verdict::Invalid);
    assert!(errors(&report).contains(&"entry.unreadable"), "{:?}", report.problems);
}

#[test]
fn algorithms_that_a_stream_was_not_hashed_with_are_computed_afterwards() {
    let bag = Bag::new("1.0", &[Algorithm::Sha3_256, Algorithm::Sha224], &[("a", "alpha")]);
    assert_eq!(judge_archive("bag.tgz", &gzip(&bag.tar())).verdict, Verdict::Valid);
    let report = judge_archive("bag.tgz", &gzip(&bag.with("data/a", "alphb").tar()));
    assert_eq!(errors(&report), ["manifest.digest_mismatch"]);
}

#[test]
fn the_serialization_is_told_by_the_first_bytes_and_then_by_the_name() {
    let bag = Bag::plain();
    assert_eq!(Serialization::detect(&bag.tar(), "x.zip"), Some(Serialization::Tar));
    assert_eq!(Serialization::detect(&bag.zip(), "x.tar"), Some(Serialization::Zip));
    assert_eq!(Serialization::detect(&gzip(b"x"), "x"), Some(Serialization::TarGz));
    assert_eq!(Serialization::detect(b"", "x.TAR"), Some(Serialization::Tar));
    assert_eq!(Serialization::detect(b"plain text", "notes"), None);
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("notes");
    fs::write(&path, "plain text").unwrap();
    assert!(matches!(validate(&path, &CheckOptions::default()), Err(BagError::UnknownSerialization { .. })));
    assert!(validate(&path.join("none"), &CheckOptions::default()).is_err());
    assert!(matches!(validate(Path::new("no such bag"), &CheckOptions::default()), Err(BagError::NotFound { .. })));
}

#[test]
fn a_visitor_may_skip_and_its_own_error_comes_back_as_it_is() {
    for (serialization, archive) in [
        (Serialization::Tar, Bag::plain().tar()),
        (Serialization::TarGz, gzip(&Bag::plain().tar())),
        (Serialization::Zip, Bag::plain().zip()),
    ] {
        let mut seen = 0;
        let source = Source::from_stream(Box::new(io::Cursor::new(archive.clone())), serialization, None);
        let scan = source.scan(&Limits::default(), &mut |_: &BagFile, _: &mut dyn Read| {
            seen += 1;
            Ok(())
        });
        let scan = scan.unwrap();
        assert_eq!((seen, scan.files, scan.problems), (6, 6, vec![]));
        assert_eq!((scan.base_directory.as_deref(), scan.has_payload_directory), (Some("bag"), true));
        let source = Source::from_stream(Box::new(io::Cursor::new(archive)), serialization, None);
        let outcome = source.scan(&Limits::default(), &mut |_, _| Err(io::Error::other("lease lost")));
        assert!(matches!(outcome, Err(BagError::Visit(error)) if error.to_string() == "lease lost"));
    }
}

#[test]
fn archives_that_end_early_are_truncated_wherever_they_are_cut() {
    let tar = Bag::plain().tar();
    let end = tar.len() - 1024;
    for cut in (1..end).step_by(97).filter(|cut| cut % 512 != 0) {
        let (_, scan) = scan_with(tar[..cut].to_vec(), Serialization::Tar, &Limits::default());
        assert!(
            scan.truncated && scan.problems.iter().any(|problem| problem.code == "archive.truncated"),
            "cut at {cut}"
        );
        assert_eq!(judge_archive("bag.tar", &tar[..cut]).verdict, Verdict::Invalid);
    }
    let packed = gzip(&tar);
    for cut in (20..packed.len()).step_by(13) {
        let report = judge_archive("bag.tgz", &packed[..cut]);
        assert_eq!(errors(&report), ["archive.truncated"], "cut at {cut}");
    }
    let zip = Bag::plain().zip();
    for cut in (40..zip.len()).step_by(41) {
        assert_eq!(errors(&judge_archive("bag.zip", &zip[..cut])), ["archive.truncated"], "cut at {cut}");
    }
}

#[test]
fn a_tar_archive_without_its_end_mark_is_taken_with_a_warning() {
    let tar = Bag::plain().tar();
    let report = judge_archive("bag.tar", &tar[..tar.len() - 1024]);
    assert_eq!((report.verdict, warnings(&report)), (Verdict::ValidWithWarnings, vec!["archive.no_end_mark"]));
    let trailing = [tar, tar_member("bag/hidden", b'0', b"x")].concat();
    assert_eq!(warnings(&judge_archive("bag.tar", &trailing)), ["archive.second_archive"]);
    let trailing = [Bag::plain().tar(), vec![0; 512 * 300], b"signed by x".to_vec()].concat();
    assert_eq!(warnings(&judge_archive("bag.tar", &trailing)), ["archive.trailing_data"]);
}

#[test]
fn a_tar_archive_behind_another_one_is_told_however_far_it_is() {
    let one = archive(&[tar_member("a.txt", b'0', b"a")]);
    let two = archive(&[tar_member("b.txt", b'0', b"b")]);
    for zeros in [0, 512, 9 * 512, 200 * 512] {
        let both = [one.clone(), vec![0; zeros], two.clone()].concat();
        for (bytes, serialization) in [
            (both.clone(), Serialization::Tar),
            (gzip(&both), Serialization::TarGz),
            ([gzip(&[one.clone(), vec![0; zeros]].concat()), gzip(&two)].concat(), Serialization::TarGz),
        ] {
            let source = Source::from_stream(Box::new(io::Cursor::new(bytes)), serialization, Some("c".to_owned()));
            let scan = source.with_plain_paths().scan(&Limits::default(), &mut |_, _| Ok(())).unwrap();
            let codes: Vec<&str> = scan.problems.iter().map(|problem| problem.code.as_str()).collect();
            assert_eq!((codes, scan.files), (vec!["archive.second_archive"], 1), "{zeros} in {serialization:?}");
        }
    }
}

/// The central directory of a ZIP without comment: where it begins, and where its end record does.
fn directory(zip: &[u8]) -> (usize, usize) {
    let end = zip.len() - 22;
    assert!(zip[end..].starts_with(b"PK\x05\x06"));
    (u32::from_le_bytes(*zip[end + 16..].first_chunk().unwrap()) as usize, end)
}

/// The same ZIP with a central directory that lacks its first or its last entry.
fn without_entry(zip: &[u8], is_first: bool) -> Vec<u8> {
    let (start, end) = directory(zip);
    let entries: Vec<usize> = (start..end).filter(|at| zip[*at..].starts_with(b"PK\x01\x02")).collect();
    let (from, to) = if is_first { (entries[0], entries[1]) } else { (entries[entries.len() - 1], end) };
    let mut changed = [&zip[..from], &zip[to..]].concat();
    let end = changed.len() - 22;
    let members = u16::try_from(entries.len() - 1).unwrap().to_le_bytes();
    changed[end + 8..end + 10].copy_from_slice(&members);
    changed[end + 10..end + 12].copy_from_slice(&members);
    let size = u32::try_from(end - start).unwrap().to_le_bytes();
    changed[end + 12..end + 16].copy_from_slice(&size);
    changed
}

#[test]
fn a_member_of_a_zip_archive_that_its_directory_does_not_name_is_told() {
    let zip = Bag::plain().zip();
    let codes = |zip: Vec<u8>| scan(zip, Serialization::Zip).1;
    assert_eq!(codes(zip.clone()), Vec::<String>::new());
    for is_first in [true, false] {
        assert_eq!(codes(without_entry(&zip, is_first)), ["archive.hidden_member"], "first: {is_first}");
    }
    let both = without_entry(&without_entry(&zip, true), false);
    let scan = scan_with(both, Serialization::Zip, &Limits::default()).1;
    assert!(scan.problems[0].message.contains("and in 1 more places"), "{:?}", scan.problems);
    // Other bytes between the members, as signatures of programs are.
    let (start, end) = directory(&zip);
    for between in [vec![7; 200_000], [vec![7; 65_530], b"PK\x03\x04 no header".to_vec()].concat()] {
        let mut changed = [&zip[..start], &between, &zip[start..]].concat();
        let moved = u32::try_from(start + between.len()).unwrap().to_le_bytes();
        let end = end + between.len();
        changed[end + 16..end + 20].copy_from_slice(&moved);
        assert_eq!(codes(changed), Vec::<String>::new());
    }
    // A header that lies across the pieces in which the bytes are read.
    let header = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0a.";
    for before in [0, 65_500, 65_506, 65_507, 65_530, 65_536, 131_000] {
        let between = [vec![7; before], header.to_vec()].concat();
        let mut changed = [&zip[..start], &between, &zip[start..]].concat();
        let moved = u32::try_from(start + between.len()).unwrap().to_le_bytes();
        let end = end + between.len();
        changed[end + 16..end + 20].copy_from_slice(&moved);
        assert_eq!(codes(changed), ["archive.hidden_member"], "behind {before} bytes");
    }
}

#[test]
fn damaged_archives_are_corrupt() {
    let mut tar = Bag::plain().tar();
    tar[5] ^= 1;
    assert_eq!(errors(&judge_archive("bag.tar", &tar)), ["archive.corrupt"]);
    let mut packed = gzip(&Bag::plain().tar());
    let checksum = packed.len() - 8;
    packed[checksum] ^= 1;
    assert_eq!(errors(&judge_archive("bag.tgz", &packed)), ["archive.corrupt"]);
    let mut zip = Bag::plain().zip();
    let name = b"bag/data/a.txt";
    let data = zip.windows(name.len()).position(|window| window == name).unwrap() + name.len();
    zip[data + 1] ^= 0x10;
    let report = judge_archive("bag.zip", &zip);
    assert_eq!(errors(&report), ["archive.corrupt", "manifest.file_missing"]);
    assert_eq!(report.verdict, Verdict::Invalid);
}

#[test]
fn members_with_unsafe_names_are_reported_and_never_shown() {
    for name in
        ["../evil", "bag/../../evil", "/etc/passwd", "bag/~root/x", "~/x", "C:/x", "bag/data//x", "bag/a\\..\\..\\b"]
    {
        let (files, codes) = scan(
            archive(&[tar_member("bag/bagit.txt", b'0', b"x"), tar_member(name, b'0', b"evil")]),
            Serialization::Tar,
        );
        assert_eq!((files.len(), codes), (1, vec!["path.unsafe".to_owned()]), "{name}");
    }
}

#[test]
fn links_devices_and_fifos_are_reported_and_never_shown() {
    for kind in *b"12346" {
        let (files, codes) = scan(archive(&[tar_member("bag/data/x", kind, b"")]), Serialization::Tar);
        assert_eq!((files.len(), codes), (0, vec!["entry.not_a_file".to_owned()]), "{}", char::from(kind));
    }
}

#[test]
fn members_with_the_same_path_are_reported_and_the_first_is_shown() {
    let twice = archive(&[tar_member("bag/a", b'0', b"1"), tar_member("./bag/a", b'0', b"2")]);
    let (files, codes) = scan(twice.clone(), Serialization::Tar);
    assert_eq!((files, codes), (vec![("a".to_owned(), b"1".to_vec())], vec!["entry.duplicate".to_owned()]));
    let limits = Limits { memory: 0, ..Limits::default() };
    let (_, scan) = scan_with(twice, Serialization::Tar, &limits);
    assert_eq!(scan.problems[0].code, "entry.duplicate");
}

#[test]
fn an_archive_has_one_base_directory() {
    let (files, codes) =
        scan(archive(&[tar_member("bag/a", b'0', b"1"), tar_member("other/a", b'0', b"2")]), Serialization::Tar);
    assert_eq!((files.len(), codes), (1, vec!["archive.several_directories".to_owned()]));
    let (_, codes) =
        scan(archive(&[tar_member("bagit.txt", b'0', b"1"), tar_member("data/a", b'0', b"2")]), Serialization::Tar);
    assert_eq!(codes, ["archive.no_base_directory"]);
}

/// CVE-2025-62518: a program that reads the ustar size sees members that one that reads the pax size skips as bytes.
#[test]
fn a_member_whose_headers_state_two_sizes_smuggles_nothing() {
    let hidden = archive(&[tar_member("bag/evil", b'0', b"evil")]);
    for (stated, real) in [(0, hidden.len() as u64), (hidden.len() as u64, 0), (512, hidden.len() as u64)] {
        let mut members = vec![tar_member("bag/bagit.txt", b'0', b"x"), pax(&[("size", &real.to_string())])];
        let mut member = tar_header("bag/inner.tar", b'0', stated).to_vec();
        member.extend_from_slice(&hidden);
        members.push(member);
        let (files, codes) = scan(archive(&members), Serialization::Tar);
        assert_eq!((files.len(), codes), (1, vec!["archive.size_conflict".to_owned()]));
    }
    let mut link = tar_header("bag/link", b'1', 1024).to_vec();
    link.extend(tar_member("bag/evil", b'0', b"evil"));
    assert_eq!(scan(archive(&[link]), Serialization::Tar), (vec![], vec!["archive.size_conflict".to_owned()]));
}

#[test]
fn sparse_members_and_unknown_kinds_are_unsupported_and_never_shown() {
    let sparse =
        archive(&[pax(&[("GNU.sparse.major", "1"), ("GNU.sparse.name", "bag/x")]), tar_member("bag/x", b'0', b"map")]);
    assert_eq!(scan(sparse, Serialization::Tar), (vec![], vec!["archive.unsupported_entry".to_owned()]));
    assert_eq!(
        scan(archive(&[tar_member("bag/x", b'S', b"map")]), Serialization::Tar),
        (vec![], vec!["archive.unsupported_entry".to_owned()])
    );
}

#[test]
fn bounds_on_files_bytes_and_ratio_hold() {
    let files = Limits { files: 3, ..Limits::default() };
    let (shown, found) = scan_with(Bag::plain().tar(), Serialization::Tar, &files);
    assert!(shown.len() == 3 && found.truncated && found.problems[0].code == "archive.bomb");
    let bytes = Limits { bytes: 20, ..Limits::default() };
    for (serialization, archive) in [
        (Serialization::Tar, Bag::plain().tar()),
        (Serialization::Zip, Bag::plain().zip()),
        (Serialization::TarGz, gzip(&Bag::plain().tar())),
    ] {
        let (_, found) = scan_with(archive, serialization, &bytes);
        assert!(found.truncated && found.problems[0].code == "archive.bomb", "{:?}", found.problems);
    }
}

/// Zeros by the gigabyte in a few kilobytes.
#[test]
fn an_archive_that_unpacks_out_of_all_proportion_is_refused() {
    const MEBIBYTES: usize = 1100;
    let zeros = gzip(&vec![0; 1 << 20]);
    let header = gzip(&tar_header("bag/data/zeros", b'0', (MEBIBYTES as u64) << 20));
    let bomb = [header, zeros.repeat(MEBIBYTES)].concat();
    let source = Source::from_stream(Box::new(io::Cursor::new(bomb)), Serialization::TarGz, None);
    let mut read = 0;
    let scan = source.scan(&Limits::default(), &mut |_, reader| {
        read = io::copy(reader, &mut io::sink())?;
        Ok(())
    });
    let scan = scan.unwrap();
    assert!(scan.truncated && scan.problems[0].code == "archive.bomb", "{:?}", scan.problems);
    assert_eq!(read, 0, "the visitor is stopped, too");
}

#[test]
fn a_zip_member_is_bound_to_what_its_headers_state() {
    let zip = Bag::plain().zip();
    let central = zip.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    let find =
        |name: &[u8], from: usize| from + zip[from..].windows(name.len()).position(|window| window == name).unwrap();
    // Another name in the central directory than in the local header.
    let mut renamed = zip.clone();
    renamed[find(b"bag/data/a.txt", central) + 9] = b'z';
    assert!(errors(&judge_archive("bag.zip", &renamed)).contains(&"archive.name_conflict"));
    // Another size.
    let mut resized = zip.clone();
    resized[find(b"bag/data/a.txt", central) - 22] ^= 1;
    assert!(errors(&judge_archive("bag.zip", &resized)).contains(&"archive.size_conflict"));
    // Encrypted, as both headers say.
    let mut encrypted = zip.clone();
    encrypted[find(b"bag/data/a.txt", central) - 38] |= 1;
    assert!(errors(&judge_archive("bag.zip", &encrypted)).contains(&"archive.encrypted"));
    // A member that lies within another.
    let mut overlapping = zip.clone();
    let first = find(b"bag/data/a.txt", central) - 4;
    let other = find(b"bag/data/sub/b.txt", central) - 4;
    let place: [u8; 4] = zip[other..other + 4].try_into().unwrap();
    overlapping[first..first + 4].copy_from_slice(&place);
    assert!(errors(&judge_archive("bag.zip", &overlapping)).iter().any(|code| code.starts_with("archive.")));
}

#[test]
fn a_zip_bomb_of_overlapping_members_is_refused() {
    // Two entries of the directory with the same name in both headers, and the same bytes.
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    writer.start_file("bag/x", zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(b"content").unwrap();
    let zip = writer.finish().unwrap().into_inner();
    let central = zip.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    let end = zip.windows(4).position(|window| window == b"PK\x05\x06").unwrap();
    let mut twice = zip[..end].to_vec();
    twice.extend_from_slice(&zip[central..end]);
    let mut tail = zip[end..].to_vec();
    tail[8] = 2;
    tail[10] = 2;
    let size = 2 * (end - central) as u32;
    tail[12..16].copy_from_slice(&size.to_le_bytes());
    twice.extend(tail);
    let (files, codes) = scan(twice, Serialization::Zip);
    assert_eq!((files.len(), codes), (1, vec!["entry.duplicate".to_owned(), "archive.overlap".to_owned()]));
}

fn spoil_directory(spoil: impl FnOnce(&Path)) -> Report {
    let directory = TempDir::new().unwrap();
    let bag = directory.path().join("bag");
    Bag::plain().write(&bag);
    spoil(&bag);
    validate(&bag, &CheckOptions::default()).unwrap()
}

#[test]
fn links_and_fifos_in_a_directory_are_neither_followed_nor_opened() {
    use std::os::unix::fs::symlink;
    let report = spoil_directory(|bag| {
        fs::remove_file(bag.join("data/a.txt")).unwrap();
        symlink("/etc/hostname", bag.join("data/a.txt")).unwrap();
        symlink("/", bag.join("data/root")).unwrap();
        symlink(".", bag.join("data/loop")).unwrap();
    });
    assert_eq!(errors(&report), ["entry.not_a_file", "manifest.file_missing"]);
    assert_eq!(report.problems.iter().filter(|problem| problem.code == "entry.not_a_file").count(), 3);
    let report = spoil_directory(|bag| {
        fs::remove_file(bag.join("data/a.txt")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(bag.join("data/a.txt")).status().unwrap();
        assert!(made.success());
    });
    assert_eq!(errors(&report), ["entry.not_a_file", "manifest.file_missing"]);
}

#[test]
fn a_name_that_is_not_utf8_is_shown_escaped_and_can_be_read() {
    use std::os::unix::ffi::OsStrExt;
    let report = spoil_directory(|bag| {
        let name = std::ffi::OsStr::from_bytes(b"caf\xE9");
        fs::write(bag.join("data").join(name), "x").unwrap();
    });
    let about: Vec<_> = report
        .problems
        .iter()
        .map(|problem| (problem.code.as_str(), problem.path.as_deref().unwrap_or_default()))
        .collect();
    assert!(about.contains(&("path.not_utf8", "data/caf\\xE9")), "{about:?}");
    assert!(about.contains(&("manifest.file_unlisted", "data/caf\\xE9")), "{about:?}");
    assert!(!errors(&report).contains(&"entry.unreadable"));
}

#[test]
fn a_deep_directory_is_walked_without_end_of_stack() {
    let directory = TempDir::new().unwrap();
    let bag = directory.path().join("bag");
    let deep = format!("{}x", "d/".repeat(500));
    Bag::new("1.0", &[Algorithm::Md5], &[(&deep, "x")]).write(&bag);
    let report = validate(&bag, &CheckOptions::default()).unwrap();
    assert_eq!((report.verdict, warnings(&report)), (Verdict::ValidWithWarnings, vec!["path.long"]));
}

/// What a source shows with the paths that stand in it.
fn plain(source: Source) -> (Vec<(String, String)>, Scan) {
    let mut seen = Vec::new();
    let scan = source
        .with_plain_paths()
        .scan(&Limits::default(), &mut |entry, bytes| {
            let mut text = String::new();
            bytes.read_to_string(&mut text)?;
            assert_eq!(entry.size, text.len() as u64);
            seen.push((entry.path.clone(), text));
            Ok(())
        })
        .unwrap();
    (seen, scan)
}

#[test]
fn a_container_that_is_no_bag_keeps_the_paths_that_stand_in_it() {
    let mut archive = ::tar::Builder::new(Vec::new());
    for (path, text) in [("a/one.txt", "1"), ("b/two.txt", "22"), ("three.txt", "333")] {
        let mut header = ::tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    let archive = archive.into_inner().unwrap();
    let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    packed.write_all(&archive).unwrap();
    let packed = packed.finish().unwrap();
    for (head, name) in [(&packed[..], "x"), (b"", "x.tar.bz2"), (b"", "x.TBZ2"), (b"", "x.tbz")] {
        assert_eq!(Serialization::detect(head, name), Some(Serialization::TarBz2), "{name}");
    }
    for (bytes, serialization) in [(archive, Serialization::Tar), (packed, Serialization::TarBz2)] {
        let source = Source::from_stream(Box::new(io::Cursor::new(bytes)), serialization, None);
        let (seen, scan) = plain(source);
        let paths: Vec<&str> = seen.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["a/one.txt", "b/two.txt", "three.txt"]);
        assert_eq!((scan.problems.as_slice(), scan.base_directory, scan.files, scan.bytes), (&[][..], None, 3, 6));
    }
}

#[test]
fn a_file_by_itself_is_shown_under_its_name_also_where_its_size_is_not_known_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("photo \u{e9}.txt");
    fs::write(&path, "abc").unwrap();
    let (seen, _) = plain(Source::open_single(&path).unwrap());
    assert_eq!(seen, [("photo \u{e9}.txt".to_owned(), "abc".to_owned())]);
    let file = SingleFile { name: b"../x".to_vec(), size: Some(1), modified: None };
    let (seen, scan) = plain(Source::single(file, Box::new(&b"x"[..])));
    assert_eq!((seen.len(), scan.problems.len()), (0, 1));
    let unknown = SingleFile { name: b"x".to_vec(), size: None, modified: None };
    let mut told = 0;
    let source = Source::single(unknown, Box::new(&b"12345"[..]));
    let source = source.spooled(&Limits::default(), &mut |bytes| {
        told = bytes;
        Ok(())
    });
    let (seen, _) = plain(source.unwrap());
    assert_eq!((seen, told), (vec![("x".to_owned(), "12345".to_owned())], 5));
}
