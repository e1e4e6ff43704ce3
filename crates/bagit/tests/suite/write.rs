//! Writing bags: what lies at the target, byte for byte, and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use strongroom_bagit::{
    BagOptions, BagWriter, CheckOptions, NamePolicy, NewFile, Profile, ProfileChoice, Reaction, Serialization,
    Severity, Verdict, WriteError, WriterOptions, create, create_in_place, validate,
};
use strongroom_digest::{Algorithm, DigestSet, hash_reader};

const FORMS: [Serialization; 4] =
    [Serialization::Directory, Serialization::Tar, Serialization::TarGz, Serialization::Zip];
const ARCHIVES: [Serialization; 3] = [Serialization::Tar, Serialization::TarGz, Serialization::Zip];

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn options(algorithms: &[Algorithm]) -> WriterOptions {
    WriterOptions {
        algorithms: algorithms.to_vec(),
        base_directory: Some("bag".to_owned()),
        timestamp: at(1_700_000_000),
        ..WriterOptions::default()
    }
}

fn tags(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|&(label, value)| (label.to_owned(), value.to_owned())).collect()
}

/// Paths in the bag with their bytes, whatever the form.
fn contents(target: &Path, form: Serialization) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut take = |name: &str, mut reader: Box<dyn Read + '_>| {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert!(found.insert(name.to_owned(), bytes).is_none(), "{name} twice");
    };
    match form {
        Serialization::Directory => {
            let mut pending = vec![target.to_owned()];
            while let Some(directory) = pending.pop() {
                for entry in fs::read_dir(directory).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        pending.push(path);
                    } else {
                        let name = path.strip_prefix(target).unwrap().to_str().unwrap();
                        take(name, Box::new(fs::File::open(&path).unwrap()));
                    }
                }
            }
        }
        Serialization::Zip => {
            let mut archive = zip::ZipArchive::new(fs::File::open(target).unwrap()).unwrap();
            for index in 0..archive.len() {
                let file = archive.by_index(index).unwrap();
                let name = String::from_utf8(file.name_raw().to_vec()).unwrap();
                let name = name.strip_prefix("bag/").unwrap().to_owned();
                if !file.is_dir() {
                    take(&name, Box::new(file));
                }
            }
        }
        Serialization::Tar | Serialization::TarGz | Serialization::TarBz2 => {
            let file = fs::File::open(target).unwrap();
            let stream: Box<dyn Read> =
                if form == Serialization::Tar { Box::new(file) } else { Box::new(flate2::read::GzDecoder::new(file)) };
            for entry in tar::Archive::new(stream).entries().unwrap() {
                let entry = entry.unwrap();
                let path = entry.path_bytes().into_owned();
                let name = String::from_utf8(path).unwrap().strip_prefix("bag/").unwrap().to_owned();
                if !entry.header().entry_type().is_dir() {
                    take(&name, Box::new(entry));
                }
            }
        }
    }
    found
}

fn text(contents: &BTreeMap<String, Vec<u8>>, path: &str) -> String {
    String::from_utf8(contents.get(path).unwrap_or_else(|| panic!("no {path}")).clone()).unwrap()
}

fn digest(bytes: &[u8], algorithm: Algorithm) -> String {
    let (_, digests) = hash_reader(bytes, &[algorithm]).unwrap();
    digests.get(algorithm).unwrap().to_hex()
}

fn long_path() -> String {
    format!("data/{}/{}.txt", "d".repeat(120), "f".repeat(150))
}

/// A bag with all kinds of names and sizes.
fn write_sample(mut writer: BagWriter<'_>) {
    let big = vec![7_u8; 600_000];
    let long = long_path();
    let files: [(&str, &[u8]); 6] = [
        ("data/z.txt", b"z"),
        ("data/100%\r\n.txt", b"odd"),
        ("data/ü/日本.txt", "ü".as_bytes()),
        (&long, b"long"),
        ("data/empty", b""),
        ("data/big.bin", &big),
    ];
    for (path, bytes) in files {
        let file = NewFile::new(path, bytes.len() as u64).modified(at(1_000_000_000));
        let digests = writer.add_payload(&file, bytes).unwrap();
        assert_eq!(digests.get(Algorithm::Md5).unwrap().to_hex(), digest(bytes, Algorithm::Md5));
    }
    writer.add_tag_file(&NewFile::new("meta/note.txt", 4), &b"note"[..]).unwrap();
    let written = writer.finish(&tags(&[("Title", "A\nB"), ("payload-oxum", "1.1")])).unwrap();
    assert_eq!((written.payload_files, written.payload_bytes), (6, 600_010));
    assert_eq!(written.warnings, []);
}

#[test]
fn every_form_holds_the_same_bag() {
    let folder = tempfile::tempdir().unwrap();
    for (number, form) in FORMS.into_iter().enumerate() {
        let target = folder.path().join(format!("t{number}"));
        write_sample(BagWriter::create(&target, form, options(&[Algorithm::Sha512, Algorithm::Md5])).unwrap());
        let bag = contents(&target, form);
        assert_eq!(text(&bag, "bagit.txt"), "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n");
        let agent = concat!("strongroom-bagit ", env!("CARGO_PKG_VERSION"));
        assert_eq!(
            text(&bag, "bag-info.txt"),
            format!("Title: A\n  B\nBagging-Date: 2023-11-14\nBag-Software-Agent: {agent}\nPayload-Oxum: 600010.6\n")
        );
        for algorithm in [Algorithm::Md5, Algorithm::Sha512] {
            let mut lines: Vec<(String, String)> = bag
                .iter()
                .filter(|(path, _)| path.starts_with("data/"))
                .map(|(path, bytes)| {
                    let listed = path.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
                    (listed, digest(bytes, algorithm))
                })
                .collect();
            lines.sort();
            let as_text = |lines: &[(String, String)]| {
                lines.iter().fold(String::new(), |text, (path, digest)| text + digest + "  " + path + "\n")
            };
            assert_eq!(text(&bag, &format!("manifest-{algorithm}.txt")), as_text(&lines));
            let expected = as_text(
                &["bag-info.txt", "bagit.txt", "manifest-md5.txt", "manifest-sha512.txt", "meta/note.txt"]
                    .map(|path| (path.to_owned(), digest(&bag[path], algorithm))),
            );
            assert_eq!(text(&bag, &format!("tagmanifest-{algorithm}.txt")), expected);
        }
        assert_eq!(bag[&long_path()], b"long");
        assert_eq!(bag.len(), 13);
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "temporary files remain: {left:?}");
}

#[test]
fn equal_input_gives_equal_bytes_also_on_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    for form in ARCHIVES {
        let target = folder.path().join(format!("{form:?}"));
        write_sample(BagWriter::create(&target, form, options(&[Algorithm::Md5])).unwrap());
        let mut stream = Vec::new();
        write_sample(BagWriter::to_writer(&mut stream, form, options(&[Algorithm::Md5])).unwrap());
        assert_eq!(fs::read(&target).unwrap(), stream, "{form:?}");
    }
}

#[test]
fn spilled_records_give_the_same_manifests() {
    let mut bags = Vec::new();
    for memory_limit in [1, 64 << 20] {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("bag.tar");
        let options = WriterOptions { memory_limit, ..options(&[Algorithm::Md5, Algorithm::Sha256]) };
        let mut writer = BagWriter::create(&target, Serialization::Tar, options).unwrap();
        for number in (0..5_000).rev() {
            let content = number.to_string();
            let path = format!("data/{}/file {number}", number % 7);
            writer.add_payload(&NewFile::new(&path, content.len() as u64), content.as_bytes()).unwrap();
        }
        writer.finish(&[]).unwrap();
        bags.push(fs::read(target).unwrap());
    }
    assert!(bags[0] == bags[1]);
}

#[test]
fn a_zip_archive_with_more_than_65535_entries_is_read_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("bag.zip");
    let mut writer = BagWriter::create(&target, Serialization::Zip, options(&[Algorithm::Md5])).unwrap();
    for number in 0..66_000 {
        writer.add_payload(&NewFile::new(&format!("data/{number}"), 0), io::empty()).unwrap();
    }
    writer.finish(&[]).unwrap();
    let bag = contents(&target, Serialization::Zip);
    assert_eq!(bag.len(), 66_004);
    assert_eq!(text(&bag, "manifest-md5.txt").lines().count(), 66_000);
}

#[test]
fn what_exists_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    for form in FORMS {
        let target = folder.path().join("there");
        fs::write(&target, "mine").unwrap();
        let refused = BagWriter::create(&target, form, options(&[Algorithm::Md5]));
        assert!(matches!(refused, Err(WriteError::TargetExists { .. })), "{form:?}");
        fs::remove_file(&target).unwrap();

        let writer = BagWriter::create(&target, form, options(&[Algorithm::Md5])).unwrap();
        fs::write(&target, "mine").unwrap();
        assert!(
            matches!(writer.finish(&[]), Err(WriteError::Finish(error)) if error.kind() == io::ErrorKind::AlreadyExists)
        );
        assert_eq!(fs::read(&target).unwrap(), b"mine");
        fs::remove_file(&target).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{form:?} leaves something");
    }
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for form in FORMS {
        let mut writer = BagWriter::create(&folder.path().join("bag"), form, options(&[Algorithm::Md5])).unwrap();
        writer.add_payload(&NewFile::new("data/a", 1), &b"a"[..]).unwrap();
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{form:?}");
    }
}

type IsExpected = fn(&WriteError) -> bool;

#[test]
fn a_file_that_is_not_as_announced_breaks_the_bag() {
    let expected: DigestSet = hash_reader(&b"ab"[..], &[Algorithm::Sha1]).unwrap().1;
    let cases: [(NewFile<'_>, IsExpected); 3] = [
        (NewFile::new("data/a", 1), |error| matches!(error, WriteError::Size { announced: 1, found: 2, .. })),
        (NewFile::new("data/a", 3), |error| matches!(error, WriteError::Size { announced: 3, found: 2, .. })),
        (NewFile::new("data/a", 2).expecting(&expected), |error| {
            matches!(error, WriteError::Digest { algorithm: Algorithm::Sha1, .. })
        }),
    ];
    for (file, is_expected) in cases {
        let mut writer = BagWriter::to_writer(io::sink(), Serialization::Tar, options(&[Algorithm::Md5])).unwrap();
        let error = writer.add_payload(&file, &b"xy"[..]).unwrap_err();
        assert!(is_expected(&error), "{error}");
        assert!(!error.is_transient());
        assert!(matches!(writer.add_payload(&NewFile::new("data/b", 0), io::empty()), Err(WriteError::Broken)));
        assert!(matches!(writer.finish(&[]), Err(WriteError::Broken)));
    }
    let mut writer = BagWriter::to_writer(io::sink(), Serialization::Tar, options(&[Algorithm::Md5])).unwrap();
    let digests = writer.add_payload(&NewFile::new("data/a", 2).expecting(&expected), &b"ab"[..]).unwrap();
    assert_eq!(digests.len(), 2, "the expected algorithm is computed beside the manifest's");
}

#[test]
fn paths_that_do_not_belong_there_are_refused() {
    let mut writer = BagWriter::to_writer(io::sink(), Serialization::Zip, options(&[Algorithm::Md5])).unwrap();
    for path in ["", "a", "data", "data/", "/data/a", "data/../a", "data//a", "data/./a", "data/a\0", "~/a"] {
        let refused = writer.add_payload(&NewFile::new(path, 0), io::empty());
        assert!(matches!(refused, Err(WriteError::Path { .. })), "{path:?}");
    }
    for path in
        ["data", "data/a", "bagit.txt", "bag-info.txt", "manifest-md5.txt", "tagmanifest-x.txt", "fetch.txt", "../a"]
    {
        let refused = writer.add_tag_file(&NewFile::new(path, 0), io::empty());
        assert!(matches!(refused, Err(WriteError::Path { .. })), "{path:?}");
    }
    assert!(writer.add_verbatim(&NewFile::new("note.txt", 0), io::empty()).is_err());
    writer.add_payload(&NewFile::new("data/a", 0), io::empty()).unwrap();
    writer.add_payload(&NewFile::new("data/a", 0), io::empty()).unwrap();
    assert!(matches!(writer.finish(&[]), Err(WriteError::Duplicate { path }) if path == "data/a"));
}

#[test]
fn options_that_make_no_bag_are_refused() {
    let no_name = WriterOptions { base_directory: None, ..options(&[Algorithm::Md5]) };
    for (form, options) in [
        (Serialization::Tar, options(&[])),
        (Serialization::Tar, no_name),
        (Serialization::Directory, options(&[Algorithm::Md5])),
    ] {
        assert!(matches!(BagWriter::to_writer(io::sink(), form, options), Err(WriteError::Options { .. })));
    }
    for name in ["..", "a/b", ""] {
        let options = WriterOptions { base_directory: Some(name.to_owned()), ..options(&[Algorithm::Md5]) };
        assert!(matches!(BagWriter::to_writer(io::sink(), Serialization::Tar, options), Err(WriteError::Path { .. })));
    }
}

#[test]
fn colliding_names_are_met_as_the_policy_says() {
    let write = |paths: [&str; 2], names: NamePolicy| {
        let options = WriterOptions { names, ..options(&[Algorithm::Md5]) };
        let mut writer = BagWriter::to_writer(io::sink(), Serialization::Tar, options).unwrap();
        for path in paths {
            writer.add_payload(&NewFile::new(path, 0), io::empty()).unwrap();
        }
        writer.finish(&[])
    };
    let (case, form) = (["data/A", "data/a"], ["data/\u{e9}", "data/e\u{301}"]);
    let warned = write(case, NamePolicy::default()).unwrap().warnings;
    assert_eq!(warned.iter().map(|problem| problem.code.as_str()).collect::<Vec<_>>(), ["write.name_case"]);
    assert!(matches!(write(form, NamePolicy::default()), Err(WriteError::Path { .. })));
    assert_eq!(write(form, NamePolicy::WARN).unwrap().warnings[0].code, "write.name_normal_form");
    assert_eq!(write(form, NamePolicy::ACCEPT).unwrap().warnings, []);
    let strict = NamePolicy { case: Reaction::Refuse, normal_form: Reaction::Accept };
    assert!(matches!(write(case, strict), Err(WriteError::Path { .. })));
    assert_eq!(write(["data/a", "data/b"], NamePolicy::default()).unwrap().warnings, []);
}

#[test]
fn a_bag_is_given_back_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("first");
    let mut writer = BagWriter::create(&first, Serialization::Directory, options(&[Algorithm::Sha256])).unwrap();
    writer.add_payload(&NewFile::new("data/a", 1), &b"a"[..]).unwrap();
    writer.add_tag_file(&NewFile::new("note.txt", 1), &b"n"[..]).unwrap();
    writer.finish(&tags(&[("Title", "T")])).unwrap();
    let bag = contents(&first, Serialization::Directory);

    let second = folder.path().join("second");
    let later = WriterOptions { timestamp: at(1_800_000_000), ..options(&[Algorithm::Sha256]) };
    let mut writer = BagWriter::create(&second, Serialization::Directory, later).unwrap();
    for path in ["bagit.txt", "bag-info.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"] {
        writer.add_verbatim(&NewFile::new(path, bag[path].len() as u64), &bag[path][..]).unwrap();
    }
    writer.add_payload(&NewFile::new("data/a", 1), &b"a"[..]).unwrap();
    writer.add_tag_file(&NewFile::new("note.txt", 1), &b"n"[..]).unwrap();
    writer.finish(&[]).unwrap();
    assert_eq!(contents(&second, Serialization::Directory), bag);
}

#[test]
fn a_declaration_cannot_follow_other_files() {
    let mut writer = BagWriter::to_writer(io::sink(), Serialization::Tar, options(&[Algorithm::Md5])).unwrap();
    writer.add_payload(&NewFile::new("data/a", 0), io::empty()).unwrap();
    let late = writer.add_verbatim(&NewFile::new("bagit.txt", 0), io::empty());
    assert!(matches!(late, Err(WriteError::Duplicate { .. })));
}

#[test]
fn a_directory_is_bagged_whole_with_its_times() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir_all(source.join("sub/empty")).unwrap();
    fs::write(source.join("b.txt"), "b").unwrap();
    fs::write(source.join("sub/a.txt"), "a").unwrap();
    fs::File::options().write(true).open(source.join("b.txt")).unwrap().set_modified(at(1_000_000_000)).unwrap();
    let note = folder.path().join("note");
    fs::write(&note, "n").unwrap();

    let mut bag_options = BagOptions {
        bag_info: tags(&[("Source-Organization", "example.edu")]),
        tag_files: vec![("meta/note.txt".to_owned(), note)],
        writer: options(&[Algorithm::Sha512]),
        ..BagOptions::default()
    };
    let target = folder.path().join("plain");
    let written = create(&source, &target, &bag_options).unwrap();
    assert_eq!((written.payload_files, written.payload_bytes), (2, 2));
    assert_eq!(written.warnings.len(), 1);
    assert_eq!(written.warnings[0].code, "write.empty_directory");
    assert_eq!(fs::metadata(target.join("data/b.txt")).unwrap().modified().unwrap(), at(1_000_000_000));
    let bag = contents(&target, Serialization::Directory);
    assert_eq!(
        bag.keys().map(String::as_str).collect::<Vec<_>>(),
        [
            "bag-info.txt",
            "bagit.txt",
            "data/b.txt",
            "data/sub/a.txt",
            "manifest-sha512.txt",
            "meta/note.txt",
            "tagmanifest-sha512.txt"
        ]
    );

    bag_options.keep_empty_directories = true;
    bag_options.form = Serialization::Tar;
    let target = folder.path().join("kept.tar");
    let written = create(&source, &target, &bag_options).unwrap();
    assert_eq!(written.warnings, []);
    let bag = contents(&target, Serialization::Tar);
    assert_eq!(bag["data/sub/empty/.keep"], b"");
    assert_eq!(written.payload_files, 3);
}

#[test]
fn an_archive_is_named_by_its_file_unless_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("bag.tar.gz");
    let options = WriterOptions { base_directory: None, ..options(&[Algorithm::Md5]) };
    BagWriter::create(&target, Serialization::TarGz, options).unwrap().finish(&[]).unwrap();
    assert!(contents(&target, Serialization::TarGz).contains_key("bagit.txt"));
}

#[test]
fn an_empty_directory_makes_a_bag_with_an_empty_payload() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    for form in FORMS {
        let target = folder.path().join(format!("{form:?}"));
        let written =
            create(&source, &target, &BagOptions { form, writer: options(&[Algorithm::Md5]), ..BagOptions::default() });
        assert_eq!(written.unwrap().payload_files, 0);
        assert_eq!(text(&contents(&target, form), "manifest-md5.txt"), "");
    }
    assert!(folder.path().join("Directory/data").is_dir());
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_all_at_once_and_never_opened() {
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    fs::create_dir_all(source.join("d")).unwrap();
    fs::write(source.join("file"), "f").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", source.join("d/link")).unwrap();
    std::os::unix::fs::symlink(".", source.join("loop")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(source.join("socket")).unwrap();
    fs::write(source.join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
    fs::write(source.join("\u{e9}"), "").unwrap();
    fs::write(source.join("e\u{301}"), "").unwrap();
    let target = folder.path().join("bag");
    let error = create(&source, &target, &BagOptions::default()).unwrap_err();
    let WriteError::Refused { problems, more: 0, .. } = error else { panic!("{error}") };
    let mut codes: Vec<_> = problems.iter().map(|problem| problem.code.as_str()).collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        ["write.name_normal_form", "write.name_not_utf8", "write.not_a_file", "write.not_a_file", "write.not_a_file"]
    );
    assert!(problems.iter().all(|problem| problem.severity == Severity::Error));
    assert!(!target.exists());
}

#[test]
fn a_target_inside_the_source_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let inside = create(folder.path(), &folder.path().join("bag"), &BagOptions::default());
    assert!(matches!(inside, Err(WriteError::TargetInsideSource { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_written_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    for form in FORMS {
        let target = folder.path().join(format!("{form:?}"));
        write_sample(BagWriter::create(&target, form, options(&Algorithm::ALL)).unwrap());
        let report = validate(&target, &CheckOptions::default()).unwrap();
        // The sample has names that travel badly, which is worth a warning.
        let errors: Vec<_> = report.problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{form:?}: {errors:?}");
        assert_eq!((report.payload_files, report.payload_bytes), (6, 600_010));
    }
}

#[test]
fn what_is_written_of_ordinary_names_gives_no_warning() {
    let folder = tempfile::tempdir().unwrap();
    for form in FORMS {
        let target = folder.path().join(format!("{form:?}"));
        let mut writer = BagWriter::create(&target, form, options(&Algorithm::RECORDED)).unwrap();
        writer.add_payload(&NewFile::new("data/a/b.txt", 1), &b"b"[..]).unwrap();
        writer.finish(&tags(&[("Source-Organization", "example.edu")])).unwrap();
        let report = validate(&target, &CheckOptions::default()).unwrap();
        assert_eq!((report.verdict, report.problems), (Verdict::Valid, vec![]), "{form:?}");
    }
}

#[test]
fn a_directory_becomes_a_bag_in_its_place_or_stays_as_it_was() {
    let place = tempfile::TempDir::new().unwrap();
    let directory = place.path().join("letters");
    fs::create_dir_all(directory.join("data")).unwrap();
    fs::write(directory.join("data/1.txt"), "one").unwrap();
    fs::write(directory.join("bag-info.txt"), "mine").unwrap();
    let before = contents(&directory, Serialization::Directory);
    let interrupt = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let writer = WriterOptions { interrupt: Some(interrupt), ..options(&[Algorithm::Md5]) };
    let interrupted = BagOptions { writer, ..BagOptions::default() };
    assert!(matches!(create_in_place(&directory, &interrupted), Err(WriteError::Interrupted)));
    assert!(matches!(create(&directory, &place.path().join("b"), &interrupted), Err(WriteError::Interrupted)));
    assert_eq!(contents(&directory, Serialization::Directory), before);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);

    let written =
        create_in_place(&directory, &BagOptions { writer: options(&[Algorithm::Md5]), ..BagOptions::default() })
            .unwrap();
    assert_eq!((written.payload_files, written.payload_bytes), (2, 7));
    assert_eq!(validate(&directory, &CheckOptions::default()).unwrap().verdict, Verdict::Valid);
    let after = contents(&directory, Serialization::Directory);
    for (path, bytes) in &before {
        assert_eq!(after[&format!("data/{path}")], *bytes, "{path}");
    }
    assert!(matches!(create_in_place(&directory, &BagOptions::default()), Err(WriteError::AlreadyBag { .. })));
}

#[test]
fn what_would_break_a_profile_is_refused_before_a_byte_is_written() {
    let place = tempfile::TempDir::new().unwrap();
    let (source, target) = (place.path().join("source"), place.path().join("letters.tar"));
    fs::create_dir(&source).unwrap();
    fs::write(source.join("1.txt"), "one").unwrap();
    let profile = Profile::builtin("aptrust-2.3").unwrap();
    let bag_options = BagOptions {
        form: Serialization::Tar,
        info_files: vec![("aptrust-info.txt".to_owned(), tags(&[("Access", "Anyone")]))],
        profile: Some(profile.clone()),
        writer: WriterOptions { algorithms: vec![Algorithm::Sha1], ..WriterOptions::default() },
        ..BagOptions::default()
    };
    let Err(WriteError::Profile { problems, .. }) = create(&source, &target, &bag_options) else { panic!("refused") };
    let mut codes: Vec<&str> = problems.iter().map(|problem| problem.code.as_str()).collect();
    codes.dedup();
    assert!(codes.contains(&"profile.tag_value") && codes.contains(&"profile.tag_required"), "{problems:?}");
    assert!(codes.iter().any(|code| code.starts_with("profile.manifest")), "{problems:?}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);

    let whole = tags(&[("Title", "Letters"), ("Access", "institution"), ("Storage-Option", "Standard")]);
    let info_files = vec![("aptrust-info.txt".to_owned(), whole)];
    let writer = WriterOptions { algorithms: profile.algorithms(), ..WriterOptions::default() };
    create(&source, &target, &BagOptions { info_files, writer, ..bag_options }).unwrap();
    let given = CheckOptions { profile: ProfileChoice::Given(Box::new(profile)), ..CheckOptions::default() };
    assert_eq!(validate(&target, &given).unwrap().verdict, Verdict::Valid);
}
