//! What every home for tests of the engine begins with: its settings, stores, an institution, and bags that the APTrust
//! profile accepts. Also a module of the interleavings.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use strongroom_bagit::{BagWriter, NewFile, Serialization, WriterOptions};
use strongroom_digest::Algorithm;
use strongroom_registry::{InstitutionId, Registry, tenants};
use strongroom_s3::{S3Settings, Secret};
use strongroom_s3_double::{ACCESS_KEY, BUCKET, Double, SECRET_KEY};
use strongroom_storage::FolderStore;

/// The one institution.
pub(crate) const INSTITUTION: &str = "test.edu";
/// The stores of every placement.
pub(crate) const KEPT_IN: [&str; 2] = ["primary", "secondary"];
/// All stores.
pub(crate) const STORES: [&str; 6] = ["receiving", "staging", "primary", "secondary", "restoration", "quarantine"];

const PLACEMENTS: [&str; 10] = [
    "Standard",
    "Glacier-OH",
    "Glacier-OR",
    "Glacier-VA",
    "Glacier-Deep-OH",
    "Glacier-Deep-OR",
    "Glacier-Deep-VA",
    "Wasabi-OR",
    "Wasabi-VA",
    "Wasabi-TX",
];

/// The settings, as TOML: every placement is [`KEPT_IN`], and [`STORES`] are folders.
pub(crate) fn settings() -> String {
    let mut text = String::from("[placements]\n");
    for placement in PLACEMENTS {
        writeln!(text, "{placement} = {KEPT_IN:?}").expect("writes");
    }
    for store in STORES {
        write!(text, "[stores.{store}]\nkind = \"folder\"\npath = \"stores/{store}\"\n").expect("writes");
    }
    text
}

/// Makes the empty folders of [`STORES`] in a home.
pub(crate) fn make_stores(home: &Path) {
    for store in STORES {
        FolderStore::create(store, home.join("stores").join(store)).expect("makes a store");
    }
}

/// Adds the institution.
pub(crate) fn add_institution(registry: &Registry) {
    registry
        .write(|tx| tenants::add_institution(tx, InstitutionId::new(), INSTITUTION, "Test University"))
        .expect("adds the institution");
}

/// The settings of a store below a prefix of the bucket of a server.
pub(crate) fn bucket(double: &Double, prefix: &str) -> S3Settings {
    S3Settings {
        bucket: BUCKET.into(),
        prefix: prefix.into(),
        endpoint: Some(double.endpoint()),
        access_key: Some(ACCESS_KEY.into()),
        secret_key: Some(Secret::new(SECRET_KEY)),
        first_wait: Duration::from_millis(1),
        ..S3Settings::default()
    }
}

/// Writes a bag as a tar file, with these files, whose paths begin with `data/`. `option` is the storage option that it
/// asks for.
pub(crate) fn write_bag(
    path: &Path,
    title: &str,
    option: &str,
    algorithms: &[Algorithm],
    files: &[(impl AsRef<str>, &[u8])],
) {
    let options = WriterOptions { algorithms: algorithms.to_vec(), ..WriterOptions::default() };
    let mut writer = BagWriter::create(path, Serialization::Tar, options).expect("begins a bag");
    for (name, bytes) in files {
        writer.add_payload(&NewFile::new(name.as_ref(), bytes.len() as u64), *bytes).expect("adds a file");
    }
    let info = format!("Title: {title}\nAccess: Institution\nStorage-Option: {option}\n");
    writer.add_tag_file(&NewFile::new("aptrust-info.txt", info.len() as u64), info.as_bytes()).expect("adds tags");
    let tags = [
        ("Source-Organization", "Test University"),
        ("Bagging-Date", "2026-01-31"),
        ("Bag-Count", ""),
        ("Bag-Group-Identifier", ""),
        ("Internal-Sender-Description", ""),
        ("Internal-Sender-Identifier", ""),
    ];
    let tags = tags.map(|(label, value)| (label.to_owned(), value.to_owned()));
    writer.finish(&tags).expect("finishes the bag");
}
