//! Every rule of the format, by a manifest that breaks it.

use strongroom_checkm::{CODES, Column, ManifestProfile, Mode, ReadOptions, Reader, ValidateOptions, validate};

use crate::manifests::{found, in_mode, judge, of_files, with};

const MD5: &str = "900150983cd24fb0d6963f7d28e17f72";
const A: &str = "https://example.org/a.jpg";

#[test]
fn a_manifest_without_fault_has_no_problem() {
    let manifest = of_files(&[
        &format!("{A} | MD5 | {} | 3 | 2009-09-01 | a.jpg | image/jpeg", MD5.to_uppercase()),
        "",
        "  # a comment",
        "https://example.org/b/c%20d.jpg",
        "https://example.org/e\t|  | | 0 | - | folder/e%20%7cf.jpg",
    ]);
    assert_eq!(found(&manifest), []);
    assert_eq!(found(manifest.replace('\n', "\r\n")), []);
    assert_eq!(found(manifest.trim_end()), []);
    assert_eq!(found(manifest.clone() + "\n \n# done\n\n"), []);
    assert_eq!(found(manifest.replace("#%eof", "#%EOF ")), []);
    assert_eq!(found(format!("\n\n{manifest}")), []);
}

#[test]
fn columns_are_found_by_their_names_in_any_order() {
    let manifest = "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-batch-manifest\n\
        #%fields | mrt:title | nfo:fileName | mrt:resourceType | nfo:fileUrl | nfo:fileSize | mrt:localIdentifier | mrt:subject\n\
        One%7ctwo; 100%sc | a.checkm | image | https://example.org/%7c | 12 | x1; y%20; ;x1 | Doors; Windows%sc Blinds\n#%eof";
    let mut report = |problem| panic!("{problem:?}");
    let mut reader = Reader::new(manifest.as_bytes(), &ReadOptions::default(), &mut report).unwrap();
    assert_eq!(reader.header().profile(), Some(ManifestProfile::Batch));
    assert_eq!(reader.header().columns()[0], Some(Column::Title));
    let row = reader.next_row(&mut report).unwrap().unwrap();
    assert_eq!((row.number(), row.line(), row.url()), (1, 4, "https://example.org/%7c"));
    assert_eq!((row.file_name(), row.size(), row.checksum()), ("a.checkm", Some(12), None));
    assert_eq!(row.text(Column::Title).as_deref(), Some("One|two; 100;"));
    assert_eq!(row.text(Column::Creator), None);
    assert_eq!(row.values(Column::LocalIdentifier), ["x1", "y "]);
    assert_eq!(row.values(Column::Subject), ["Doors", "Windows; Blinds"]);
    assert_eq!(row.values(Column::ResourceType), ["image"]);
    assert!(reader.next_row(&mut report).unwrap().is_none());
    assert!(reader.next_row(&mut report).unwrap().is_none());
}

#[test]
fn the_columns_of_storage_manifests_are_read_too() {
    let manifest = format!(
        "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/store/manifest/mrt-add-manifest\n\
        #%prefix | nfo:<http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#>\n\
        #%columns | nfo:fileURL | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName | nie:mimeType\n\
        {A} | md5 | {MD5} | 3 | | producer/a.jpg | image/jpeg\n#%eof\n"
    );
    assert_eq!(found(manifest), []);
}

#[test]
fn every_algorithm_of_merritt_is_known_in_any_form() {
    for (name, digits) in [
        ("adler32", 8),
        ("CRC-32", 8),
        ("md2", 32),
        ("MD5", 32),
        ("sha1", 40),
        ("SHA-256", 64),
        ("sha384", 96),
        ("Sha-512", 128),
    ] {
        let row = |digits: usize| of_files(&[&format!("{A} | {name} | {}", "aB".repeat(digits / 2))]);
        assert_eq!(found(row(digits)), [], "{name}");
        assert_eq!(found(row(digits - 2)), [("digest.malformed", Some(1))], "{name}");
    }
}

#[test]
fn each_value_of_a_row_is_checked_and_every_problem_told_at_once() {
    let manifest = of_files(&[
        A,
        "http://h/a b | md5xxx | 12 | 3kb | yesterday | ../b.jpg | jpeg | one more",
        &format!("| md5 | {MD5}"),
        "ftp://example.org/ | | 12",
        &format!("{A} | sha-256 | {MD5} | 99999999999999999999"),
        "https://u:p@example.org/",
    ]);
    assert_eq!(
        found(&manifest),
        [
            ("row.extra_value", Some(2)),
            ("url.characters", Some(2)),
            ("url.host", Some(2)),
            ("digest.algorithm", Some(2)),
            ("size.malformed", Some(2)),
            ("modified.malformed", Some(2)),
            ("name.unsafe", Some(2)),
            ("media_type.malformed", Some(2)),
            ("url.missing", Some(3)),
            ("url.scheme", Some(4)),
            ("digest.incomplete", Some(4)),
            ("name.missing", Some(4)),
            ("digest.malformed", Some(5)),
            ("size.malformed", Some(5)),
            ("name.duplicate", Some(5)),
            ("url.credentials", Some(6)),
            ("name.missing", Some(6)),
        ]
    );
    let report = judge(&manifest, Mode::Strict);
    let problem = report.problems.iter().find(|problem| problem.code == "size.malformed").unwrap();
    assert_eq!((problem.row, problem.line, problem.column), (Some(2), Some(5), Some("nfo:fileSize")));
    assert_eq!(problem.value.as_deref(), Some("3kb"));
    assert_eq!(problem.message, "the size \"3kb\" is not a number of bytes; expected digits, such as 1024");
    assert_eq!((report.rows, report.errors, report.warnings), (6, 16, 1));
}

#[test]
fn what_describes_an_object_is_checked() {
    let row = |primary: &str, date: &str| {
        let row = format!("{A} | | | | | | {primary} | a;b | Ann | Letters | {date}");
        found(with(ManifestProfile::SingleFileBatch, &[], &[&row]))
    };
    assert_eq!(row("ark:/13030/m5xyz", "1914/1918"), []);
    assert_eq!(row("", "2009-09-01T00:00:00"), []);
    assert_eq!(row("doi:10.5060/x", ""), [("primary_identifier.malformed", Some(1))]);
    assert_eq!(row("", "about 1900"), [("date.malformed", Some(1))]);
}

#[test]
fn names_are_unique_within_an_object_and_not_within_a_batch() {
    let rows = ["https://example.org/1/a.jpg", "https://example.org/2/a.jpg", "https://example.org/3/A.JPG"];
    assert_eq!(found(of_files(&rows)), [("name.duplicate", Some(2)), ("name.case", Some(3))]);
    assert_eq!(found(with(ManifestProfile::SingleFileBatch, &[], &rows)), []);
    let elsewhere = ["https://example.org/1 | | | | | a/x.jpg", "https://example.org/2 | | | | | b/x.jpg"];
    assert_eq!(found(of_files(&elsewhere)), []);
}

#[test]
fn names_are_compared_in_little_memory_too() {
    let names: Vec<String> =
        (0..20_000).map(|number| format!("https://example.org/{:05}.jpg", number % 19_999)).collect();
    let rows: Vec<&str> = names.iter().map(String::as_str).collect();
    let options = ValidateOptions { memory: 0, ..ValidateOptions::default() };
    let report = validate(of_files(&rows).as_bytes(), &options).unwrap();
    assert_eq!((report.errors, report.rows), (1, 20_000));
    assert_eq!(report.problems[0].row, Some(20_000));
    assert!(report.problems[0].message.contains("of row 1 too"), "{}", report.problems[0].message);
}

#[test]
fn names_of_batches_have_the_endings_of_their_kind() {
    let batch = |profile| {
        found(with(
            profile,
            &[],
            &["https://example.org/a.zip", "https://example.org/a.checkm", "https://example.org/a.jpg"],
        ))
    };
    assert_eq!(
        batch(ManifestProfile::ContainerBatch),
        [("name.not_a_container", Some(2)), ("name.not_a_container", Some(3))]
    );
    assert_eq!(batch(ManifestProfile::Batch), [("name.not_a_manifest", Some(1)), ("name.not_a_manifest", Some(3))]);
    assert_eq!(batch(ManifestProfile::SingleFileBatch), []);
}

#[test]
fn each_line_of_the_header_is_checked() {
    let manifest = of_files(&[A]);
    let changed = |from: &str, to: &str| found(manifest.replacen(from, to, 1));
    let uri = "http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest";
    for (from, to, code) in [
        ("#%checkm_0.7\n", "", "declaration.missing"),
        ("#%checkm_0.7\n", "# first\n#%checkm_0.7\n", "declaration.missing"),
        ("checkm_0.7", "checkm_0.1", "declaration.version"),
        ("#%profile |", "#%note |", "profile.missing"),
        ("mrt-ingest-manifest", "mrt-shelf-manifest", "profile.unknown"),
        (uri, "https://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest", "profile.spelling"),
        ("#%fields", "#%prefix | mrt\n#%fields", "prefix.malformed"),
        ("#%fields", "#%fields | nfo:fileUrl\n#%fields", "directive.repeated"),
        ("#%fields", "#%shelf | 3\n#%fields", "directive.unknown"),
        ("mrt:mimeType", "mrt:shelf", "fields.unknown"),
        ("nfo:fileName", "fileName", "fields.prefix"),
        ("mrt:mimeType", "nfo:fileName", "fields.repeated"),
        ("mrt:mimeType", "mrt:title", "fields.not_of_profile"),
        ("nfo:hashValue", "mrt:mimeType", "fields.digest"),
        ("nfo:fileUrl |", "", "fields.no_url"),
        ("#%eof", "#%profile | x\n#%eof", "directive.late"),
        ("#%eof", "", "eof.missing"),
        ("#%eof", "#%eof\nhttps://example.org/b.jpg", "eof.content_after"),
        (A, "", "rows.none"),
        ("#%checkm", "\u{FEFF}#%checkm", "text.bom"),
    ] {
        let codes: Vec<&str> = changed(from, to).into_iter().map(|(code, _)| code).collect();
        assert!(codes.contains(&code), "{to}: {codes:?}");
    }
    let with_fields = |line: &&str| line.starts_with("#%fields");
    let without_fields: Vec<&str> = manifest.lines().filter(|line| !with_fields(line)).collect();
    let without_fields = without_fields.join("\n");
    assert_eq!(found(without_fields), [("fields.missing", None)]);
    let codes: Vec<&str> = found("").into_iter().map(|(code, _)| code).collect();
    assert_eq!(codes, ["declaration.missing", "profile.missing", "fields.missing", "rows.none", "eof.missing"]);
}

#[test]
fn the_profile_that_the_caller_states_is_compared_or_taken() {
    let mut options = in_mode(Mode::Lenient);
    options.read.profile = Some(ManifestProfile::Object);
    let codes = |manifest: &str, options: &ValidateOptions| -> Vec<&'static str> {
        validate(manifest.as_bytes(), options).unwrap().problems.iter().map(|problem| problem.code).collect()
    };
    let manifest = of_files(&[A]);
    assert_eq!(codes(&manifest, &options), [""; 0]);
    let nameless = manifest.replace("#%profile", "# profile");
    assert_eq!(codes(&nameless, &options), ["profile.assumed"]);
    assert_eq!(validate(nameless.as_bytes(), &options).unwrap().errors, 0);
    options.read.profile = Some(ManifestProfile::Batch);
    assert_eq!(codes(&manifest, &options), ["profile.mismatch"]);
}

#[test]
fn every_code_says_how_bad_it_is_in_both_modes() {
    assert!(CODES.len() > 40);
    for rule in CODES {
        assert!(rule.severity(Mode::Strict) <= rule.severity(Mode::Lenient), "{}", rule.code);
    }
}
