//! Packages made to cost memory, output or trust: names without end, floods of problems and tags, folders that change while
//! they are read.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;

use strongroom_bagit::{CheckOptions, Limits, Serialization, Severity, Source, Verdict, validate};
use strongroom_digest::Algorithm;
use tempfile::TempDir;

use crate::bags::{Bag, digest, errors, gzip, judge_archive, tar_member};

/// A pax header that gives the next member this path, and that member.
fn member_called(path: &str) -> Vec<u8> {
    let rest = format!(" path={path}\n");
    let mut length = rest.len() + 1;
    while length != rest.len() + length.to_string().len() {
        length += 1;
    }
    let mut bytes = tar_member("PaxHeaders/x", b'x', format!("{length}{rest}").as_bytes());
    bytes.extend(tar_member("bag/x", b'0', b"x"));
    bytes
}

#[test]
fn paths_over_4096_bytes_and_names_over_255_are_refused_in_every_serialization() {
    let plain = Bag::plain();
    let name_of_255 = "n".repeat(255);
    let path_of_4096 = format!("bag/data/{}{}", "d/".repeat(2_043), "x");
    assert_eq!(path_of_4096.len(), 4_096);
    for (path, is_refused) in [
        (format!("bag/data/{name_of_255}"), false),
        (format!("bag/data/{name_of_255}n"), true),
        (format!("bag/data/{name_of_255}n/x"), true),
        (path_of_4096.clone(), false),
        (format!("{path_of_4096}y"), true),
    ] {
        let mut archive = plain.tar();
        archive.truncate(archive.len() - 1024);
        archive.extend(member_called(&path));
        archive.extend([0; 1024]);
        for (archive, serialization) in [(gzip(&archive), Serialization::TarGz), (archive, Serialization::Tar)] {
            let source = Source::from_stream(Box::new(io::Cursor::new(archive)), serialization, None);
            let mut seen = Vec::new();
            let scan = source.scan(&Limits::default(), &mut |entry, _| {
                seen.push(entry.path.clone());
                Ok(())
            });
            let codes: Vec<String> = scan.unwrap().problems.into_iter().map(|problem| problem.code).collect();
            let expected: &[&str] = if is_refused { &["path.too_long"] } else { &[] };
            assert_eq!(codes, expected, "{} bytes", path.len());
            assert_eq!(seen.iter().any(|seen| path.ends_with(seen.as_str())), !is_refused, "{} bytes", path.len());
        }
    }
    let zipped = Bag::plain().with(&format!("data/{name_of_255}n"), "x").zip();
    assert!(errors(&judge_archive("bag.zip", &zipped)).contains(&"path.too_long"));
    let listed = format!("{}  data/{name_of_255}n\n", digest(Algorithm::Sha512, b"x"));
    let report = Bag::new("1.0", &[Algorithm::Sha512], &[]).adding("manifest-sha512.txt", &listed).sealed().judge();
    assert_eq!(errors(&report), ["path.too_long"], "{:#?}", report.problems);
}

#[test]
fn a_small_archive_of_endless_names_gets_a_small_report_that_counts_them_all() {
    let mut archive = Bag::plain().tar();
    archive.truncate(archive.len() - 1024);
    let endless = format!("bag/data/{}", "\u{1}".repeat(1_000_000));
    for _ in 0..200 {
        archive.extend(member_called(&endless));
    }
    // Refused for something else than their lengths.
    for number in 0..30_000 {
        archive.extend(tar_member(&format!("bag/../{number}"), b'0', b""));
    }
    archive.extend([0; 1024]);
    let packed = gzip(&archive);
    assert!(packed.len() < 1 << 20, "{}", packed.len());
    let report = judge_archive("bag.tgz", &packed);
    assert_eq!((report.verdict, report.errors), (Verdict::Invalid, 30_200));
    let shown = serde_json::to_string(&report).unwrap();
    assert!(shown.len() < 5 << 20, "{} bytes of JSON", shown.len());
    let last = report.problems.last().unwrap();
    assert_eq!(last.code, "problems.truncated");
    assert!(last.message.contains("30200 in all"), "{}", last.message);
}

#[test]
fn a_flood_of_tags_is_kept_up_to_a_bound() {
    let mut bag = Bag::plain();
    for number in 0..5 {
        bag.set(&format!("{number}-info.txt"), &"a:\n".repeat(100_000));
    }
    let report = bag.sealed().judge();
    assert!(report.tags.len() < 100_000, "{} tags", report.tags.len());
}

#[test]
fn a_folder_that_becomes_a_link_while_it_is_read_is_noticed_and_not_followed() {
    let place = TempDir::new().unwrap();
    let (bag, elsewhere) = (place.path().join("bag"), place.path().join("elsewhere"));
    Bag::new("1.0", &[Algorithm::Sha512], &[("a", "kept"), ("sub/b", "kept"), ("sub/c", "kept")]).write(&bag);
    fs::create_dir_all(elsewhere.join("sub")).unwrap();
    for name in ["a", "sub/b", "sub/c"] {
        fs::write(elsewhere.join(name), "secret").unwrap();
    }
    let mut read = Vec::new();
    let mut is_swapped = false;
    let scan = Source::open(&bag).unwrap().scan(&Limits::default(), &mut |entry, reader| {
        if entry.path == "data/a" && !std::mem::replace(&mut is_swapped, true) {
            fs::rename(bag.join("data"), place.path().join("aside")).unwrap();
            symlink(&elsewhere, bag.join("data")).unwrap();
        }
        let mut content = String::new();
        let outcome = reader.read_to_string(&mut content);
        read.push((entry.path.clone(), content));
        outcome.map(drop)
    });
    let scan = scan.unwrap();
    assert!(read.iter().all(|(_, content)| content != "secret"), "{read:?}");
    let unreadable: Vec<&str> = scan.problems.iter().filter_map(|problem| problem.path.as_deref()).collect();
    assert_eq!(unreadable, ["data/a", "data/sub/b", "data/sub/c"]);
    assert!(scan.problems[0].message.contains("symbolic link"), "{}", scan.problems[0].message);
}

#[test]
fn a_zip_that_comes_as_a_stream_is_spooled_only_as_far_as_is_allowed() {
    let zip = Bag::plain().zip();
    let length = zip.len() as u64;
    let source = |zip: &[u8]| Source::from_stream(Box::new(io::Cursor::new(zip.to_vec())), Serialization::Zip, None);
    let mut most = 0;
    let spooled = source(&zip).spooled(&Limits::default(), &mut |bytes| {
        most = bytes;
        Ok(())
    });
    assert_eq!(most, length);
    let mut files = 0;
    let scan = spooled.unwrap().scan(&Limits::default(), &mut |_, _| {
        files += 1;
        Ok(())
    });
    assert_eq!((scan.unwrap().files, files > 0), (files, true));
    let refused = source(&zip).spooled(&Limits::default(), &mut |_| Err(io::Error::other("no room")));
    assert!(refused.is_err());
}

const UNKNOWN: &str = "BagIt-Profile-Identifier: https://example.edu/our-own-profile.json\n";

#[test]
fn a_profile_that_is_not_known_is_an_error_or_by_choice_a_warning() {
    let bag = Bag::plain().adding("bag-info.txt", UNKNOWN).sealed();
    let report = bag.judge();
    assert_eq!((report.verdict, errors(&report)), (Verdict::Invalid, vec!["profile.unknown"]));
    assert_eq!((report.profile, report.profile_reason), (None, None));
    let options = CheckOptions { unknown_profile_is_warning: true, ..CheckOptions::default() };
    let report = bag.judge_with(&options);
    assert_eq!(report.verdict, Verdict::ValidWithWarnings, "{:#?}", report.problems);
    let found: Vec<_> = report.problems.iter().map(|found| (found.code.as_str(), found.severity)).collect();
    assert_eq!(found, [("profile.unknown", Severity::Warning)]);
}

#[test]
fn a_report_says_which_profile_applied_and_why() {
    use strongroom_bagit::{Profile, ProfileChoice, ProfileReason};
    let btr = || Box::new(Profile::builtin("btr").unwrap());
    let for_aptrust = Bag::plain().with("aptrust-info.txt", "Title: x\nAccess: Consortia\n").sealed();
    let declared = format!("BagIt-Profile-Identifier: {}\n", btr().identifier());
    let declaring = for_aptrust.clone().adding("bag-info.txt", &declared).sealed();
    let plain = CheckOptions::default;
    let with_default = || CheckOptions { default_profile: Some(btr()), ..plain() };
    let given = || CheckOptions { profile: ProfileChoice::Given(btr()), ..plain() };
    for (bag, options, expected) in [
        (&for_aptrust, plain(), Some(("aptrust-2.3", ProfileReason::AptrustInfo))),
        (&for_aptrust, with_default(), Some(("btr-1.0", ProfileReason::Default))),
        (&for_aptrust, given(), Some(("btr-1.0", ProfileReason::Given))),
        (&declaring, plain(), Some(("btr-1.0", ProfileReason::Declared))),
        (&Bag::plain(), plain(), None),
        (&Bag::plain(), with_default(), Some(("btr-1.0", ProfileReason::Default))),
    ] {
        let report = bag.judge_with(&options);
        assert_eq!(report.profile.as_deref().zip(report.profile_reason), expected);
    }
    let place = TempDir::new().unwrap();
    Bag::plain().write(place.path());
    assert_eq!(validate(place.path(), &plain()).unwrap().profile, None);
}
