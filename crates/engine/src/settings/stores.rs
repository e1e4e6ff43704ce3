//! What can be set of a store: a folder, or a part of a bucket. The S3 side's defaults are those of its crate, which a test
//! holds against the table.

use std::fmt;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
#[cfg(feature = "s3")]
use strongroom_s3::S3Store;
use strongroom_s3::{BucketLocation, S3Settings};
use strongroom_storage::{FolderLocation, FolderMode, FolderStore, Overlap, StorageError, Store};

use super::kind::Kind;
use super::tree::{Section, Setting, Shape, Unset};

/// A lower limit of bytes a second would keep what cannot be interrupted, such as an inventory, for too long.
pub(super) const LEAST_BYTES_PER_SECOND: u64 = 64 << 10;

pub(super) const FOLDER: &str = "folder";
pub(super) const S3: &str = "s3";

pub(super) const fn all(name: &'static str, unset: Unset, kind: Kind, meaning: &'static str) -> Setting {
    Setting { name, unset, kind, meaning, only_for: &[] }
}

pub(super) const fn s3(name: &'static str, unset: Unset, kind: Kind, meaning: &'static str) -> Setting {
    Setting { name, unset, kind, meaning, only_for: &[S3] }
}

/// The name of the setting that says of which kind a store is.
pub(super) const KIND: &str = "kind";

/// The settings that tell reports of a store, and are not needed to use it: they are apart from those of its kind, as [`StoreFacts`].
pub(super) const FACTS: [&str; 3] = [LOCATION, THREAT, MEDIA];
/// The key in the tree of what they state.
pub(super) const FACTS_KEY: &str = "store_facts";
const LOCATION: &str = "location";
const THREAT: &str = "disaster_threat";
const MEDIA: &str = "media";

/// What people say of a store, for reports. An empty text says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreFacts {
    /// Where it is.
    pub location: Option<String>,
    /// The disaster that threatens that place.
    pub disaster_threat: Option<String>,
    /// The storage media.
    pub media: Option<String>,
}

// Settings of connections to object storage, which plain stores have as well.
pub(super) const ENDPOINT: Setting = s3("endpoint", Unset::Absent, Kind::Text, "the URL of the service; none: AWS");
pub(super) const REGION: Setting =
    s3("region", Unset::Absent, Kind::Text, "the region; none: that of environment or profile, else us-east-1");
pub(super) const PATH_STYLE: Setting = s3(
    "path_style",
    Unset::Absent,
    Kind::Flag,
    "whether URLs name the bucket in their path rather than in the host; none: in the path, but on AWS in the host",
);
pub(super) const ACCESS_KEY: Setting = s3(
    "access_key",
    Unset::Absent,
    Kind::Text,
    "the access key; none: environment, profile, or the role of the machine",
);
pub(super) const SECRET_KEY: Setting = s3("secret_key", Unset::Absent, Kind::Secret, "the secret key");
pub(super) const SECRET_KEY_FILE: Setting =
    s3("secret_key_file", Unset::Absent, Kind::Path, "the absolute path of a file whose first line is the secret key");
pub(super) const PROFILE: Setting = s3(
    "profile",
    Unset::Absent,
    Kind::Text,
    "the profile in the AWS configuration files with the credentials, where no access key is set",
);
pub(super) const ENCRYPTION: Setting = s3(
    "encryption",
    Unset::Absent,
    Kind::Text,
    "server-side encryption to request, such as AES256 or aws:kms; none: the default of the bucket",
);
pub(super) const KMS_KEY: Setting = s3("kms_key", Unset::Absent, Kind::Text, "the KMS key to encrypt with");
pub(super) const CHECKSUMS: Setting = s3(
    "checksums",
    Unset::Is("\"sha256\""),
    Kind::Choice(&["sha256", "md5", "none"]),
    "the checksum that is sent with each upload; another than sha256 only for services that refuse it",
);
pub(super) const PART_SIZE: Setting = s3(
    "part_size",
    Unset::Is("\"8 MiB\""),
    Kind::Size,
    "the size of the parts of large uploads, from 5 MiB to 1 GiB; what is not larger is sent in one request",
);
pub(super) const PARTS_AT_ONCE: Setting = s3(
    "parts_at_once",
    Unset::Is("3"),
    Kind::Count(1),
    "parts of one upload that are sent at the same time; each is in memory",
);
pub(super) const MAX_REQUESTS: Setting =
    s3("max_requests", Unset::Is("32"), Kind::Count(1), "requests at the same time in each process");
pub(super) const CONNECT_TIMEOUT: Setting =
    s3("connect_timeout", Unset::Is("\"10s\""), Kind::Duration, "how long a connection may take to be established");
pub(super) const ANSWER_TIMEOUT: Setting = s3(
    "answer_timeout",
    Unset::Is("\"60s\""),
    Kind::Duration,
    "how long a response may take to begin after the request was sent",
);
pub(super) const STALL_TIMEOUT: Setting = s3(
    "stall_timeout",
    Unset::Is("\"30s\""),
    Kind::Duration,
    "how long a transfer may be without a byte before it is repeated",
);
pub(super) const ATTEMPTS: Setting =
    s3("attempts", Unset::Is("5"), Kind::Count(1), "attempts for each request, the first included");
pub(super) const FIRST_WAIT: Setting = s3(
    "first_wait",
    Unset::Is("\"1s\""),
    Kind::Duration,
    "the longest wait before the second attempt; doubled for each further one, and shortened at random",
);

/// The section of the stores.
pub(super) const SECTION: Section = Section {
    key: "stores",
    shape: Shape::Named,
    about: "The stores, by name.",
    settings: &[
        all(KIND, Unset::Is("\"folder\""), Kind::Choice(&[FOLDER, S3]), "the kind of the store"),
        Setting {
            name: "path",
            unset: Unset::Required,
            kind: Kind::Path,
            meaning: "the folder; a relative path begins at the data directory",
            only_for: &[FOLDER],
        },
        Setting {
            name: "mode",
            unset: Unset::Absent,
            kind: Kind::Mode,
            meaning: "the mode of folders that are made in it; files have the same without execution; the umask may \
                      remove rights; none: \"0700\" for staging, quarantine and preservation, else as the umask says",
            only_for: &[FOLDER],
        },
        all(
            "max_bytes_per_second",
            Unset::Is("\"0\""),
            Kind::Size,
            "limit of the bytes that are read and written in a second, together, by all threads of a process, at least \
             64 KiB; each process has its own limit; 0: no limit",
        ),
        all(
            LOCATION,
            Unset::Absent,
            Kind::Text,
            "where the store is, for reports, such as Ithaca; stores with the same text are in one place; none: not known",
        ),
        all(
            THREAT,
            Unset::Absent,
            Kind::Text,
            "the disaster that threatens that place, for reports, such as flood; stores with the same text have the same \
             threat; none: not known",
        ),
        all(
            MEDIA,
            Unset::Absent,
            Kind::Text,
            "the storage media, for reports, such as disk or tape; stores with the same text have the same media; none: not known",
        ),
        s3("bucket", Unset::Required, Kind::Text, "the bucket, which must exist"),
        s3(
            "prefix",
            Unset::Is("\"\""),
            Kind::Text,
            "the prefix of the store's keys in the bucket; empty: all of the bucket",
        ),
        ENDPOINT,
        REGION,
        PATH_STYLE,
        s3(
            "storage_class",
            Unset::Absent,
            Kind::Text,
            "the storage class of contents; inventories, records and bookkeeping stay in the standard class",
        ),
        ACCESS_KEY,
        SECRET_KEY,
        SECRET_KEY_FILE,
        PROFILE,
        ENCRYPTION,
        KMS_KEY,
        CHECKSUMS,
        PART_SIZE,
        PARTS_AT_ONCE,
        MAX_REQUESTS,
        CONNECT_TIMEOUT,
        ANSWER_TIMEOUT,
        STALL_TIMEOUT,
        ATTEMPTS,
        FIRST_WAIT,
        s3(
            "probe_interval",
            Unset::Is("\"7d\""),
            Kind::Duration,
            "how long the result of the test of what the service supports is used",
        ),
        s3(
            "id_interval",
            Unset::Is("\"1m\""),
            Kind::Duration,
            "how long the id that was read in the bucket is used before it is read again; it is always read before a version is published",
        ),
    ],
};

/// A store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum StoreSettings {
    /// A folder of a file system.
    Folder(FolderSettings),
    /// A bucket, or a part of one.
    S3(Box<S3Settings>),
}

/// A folder that is a store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderSettings {
    /// Where it is; a relative path starts at the home.
    pub path: PathBuf,
    /// The bits of the access rights of what is made in it; none: as the umask says.
    pub mode: Option<u32>,
    /// Bytes a second that a process reads from it and puts into it; 0: no limit.
    #[serde(default)]
    pub max_bytes_per_second: u64,
}

impl FolderSettings {
    /// The access rights of what is made in it.
    pub fn folder_mode(&self) -> FolderMode {
        self.mode.map_or(FolderMode::ANY, |bits| FolderMode::new(bits).unwrap_or(FolderMode::PRIVATE))
    }
}

impl StoreSettings {
    /// The same store for a person who waits to see how it is: a request is made once, and its answer begins within this time, or else the
    /// store is away.
    pub(crate) fn answering_within(mut self, limit: Duration) -> Self {
        if let Self::S3(settings) = &mut self {
            settings.attempts = 1;
            settings.connect_timeout = settings.connect_timeout.min(limit);
            settings.answer_timeout = settings.answer_timeout.min(limit);
            settings.stall_timeout = settings.stall_timeout.min(limit);
        }
        self
    }

    /// Makes the folder where the store is one and has none yet.
    pub fn make_folder(&self, home: &Path) -> std::io::Result<()> {
        let folder = match self {
            Self::Folder(folder) => folder,
            Self::S3(_) => return Ok(()),
        };
        let path = home.join(&folder.path);
        if path.is_dir() {
            return Ok(());
        }
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        DirBuilder::new().mode(folder.folder_mode().directory()).create(&path)
    }

    /// The word for its kind, as the settings have it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Folder(_) => FOLDER,
            Self::S3(_) => S3,
        }
    }

    /// Where the store lies, for people: a folder, or a URL without secrets.
    pub fn place(&self, home: &Path) -> String {
        match self {
            Self::Folder(folder) => home.join(&folder.path).display().to_string(),
            Self::S3(settings) => BucketPlace(settings).to_string(),
        }
    }

    /// The folder, where it is one.
    pub fn folder(&self, home: &Path) -> Option<PathBuf> {
        match self {
            Self::Folder(folder) => Some(home.join(&folder.path)),
            Self::S3(_) => None,
        }
    }

    /// Bytes a second that this process reads from it and puts into it, by all threads together; 0: no limit.
    pub fn max_bytes_per_second(&self) -> u64 {
        match self {
            Self::Folder(folder) => folder.max_bytes_per_second,
            Self::S3(settings) => settings.max_bytes_per_second,
        }
    }

    /// The storage class in which contents belong, where one is set.
    pub fn content_class(&self) -> Option<&str> {
        match self {
            Self::Folder(_) => None,
            Self::S3(settings) => settings.storage_class.as_deref(),
        }
    }

    /// Opens the store, which must have been made. Requests are repeated nowhere else: the S3 engine limits and repeats them
    /// itself, and what a folder's disk refuses once it refuses again. The caller applies [`Self::max_bytes_per_second`].
    pub fn open(&self, name: &str, home: &Path) -> Result<Arc<dyn Store>, StorageError> {
        Ok(match self {
            Self::Folder(folder) => {
                Arc::new(FolderStore::open_with_mode(name, home.join(&folder.path), folder.folder_mode())?)
            }
            #[cfg(feature = "s3")]
            Self::S3(settings) => Arc::new(S3Store::open(name, settings.as_ref().clone())?),
            #[cfg(not(feature = "s3"))]
            Self::S3(_) => return Err(without_object_storage(name)),
        })
    }

    /// Makes the place a store, and opens it; a store that is there already is only opened. Folder and bucket must exist.
    pub fn create(&self, name: &str, home: &Path) -> Result<Arc<dyn Store>, StorageError> {
        Ok(match self {
            Self::Folder(folder) => {
                Arc::new(FolderStore::create_with_mode(name, home.join(&folder.path), folder.folder_mode())?)
            }
            #[cfg(feature = "s3")]
            Self::S3(settings) => Arc::new(S3Store::create(name, settings.as_ref().clone())?),
            #[cfg(not(feature = "s3"))]
            Self::S3(_) => return Err(without_object_storage(name)),
        })
    }

    /// Where the store really lies. Folders are inspected, object storage is not.
    pub fn location(&self, home: &Path) -> Location {
        match self {
            Self::Folder(folder) => Location::Folder(FolderLocation::of(&home.join(&folder.path))),
            Self::S3(settings) => Location::Bucket(BucketLocation::of(settings)),
        }
    }

    /// How both places relate as they are written, without an inspection of any folder: none where they seem to be apart.
    pub(super) fn overlap_as_written(&self, other: &Self) -> Option<Overlap> {
        match (self, other) {
            (Self::Folder(one), Self::Folder(other)) => paths_overlap(&one.path, &other.path),
            (Self::S3(one), Self::S3(other)) => BucketLocation::of(one).overlap(&BucketLocation::of(other)),
            (Self::Folder(_), Self::S3(_)) | (Self::S3(_), Self::Folder(_)) => None,
        }
    }

    /// The setting, or settings, to change for another place.
    pub(super) fn place_setting(&self) -> &'static str {
        match self {
            Self::Folder(_) => "path",
            Self::S3(_) => "prefix or bucket",
        }
    }

    /// Whether several files appear in it at once, as far as that is known before it is opened.
    pub(crate) fn has_atomic_assembly(&self) -> bool {
        match self {
            Self::Folder(_) => true,
            Self::S3(_) => false,
        }
    }

    /// The folder whose access rights are checked, and the rights it should have.
    pub(crate) fn rights(&self, home: &Path) -> Option<(PathBuf, u32)> {
        match self {
            Self::Folder(folder) => Some((home.join(&folder.path), folder.folder_mode().directory())),
            Self::S3(_) => None,
        }
    }

    /// Gives what is made in it to its owner only, where the settings say nothing of it and it has access rights.
    pub(super) fn make_private(&mut self) {
        match self {
            Self::Folder(folder) => {
                folder.mode.get_or_insert(FolderMode::PRIVATE.directory());
            }
            Self::S3(_) => {}
        }
    }
}

/// How two folders relate as they are written.
pub(super) fn paths_overlap(one: &Path, other: &Path) -> Option<Overlap> {
    // What `..` leads to is known only when the folders are inspected.
    let has_parent = |path: &Path| path.components().any(|part| matches!(part, Component::ParentDir));
    if has_parent(one) || has_parent(other) {
        return None;
    }
    let plain =
        |path: &Path| -> PathBuf { path.components().filter(|part| !matches!(part, Component::CurDir)).collect() };
    let (one, other) = (plain(one), plain(other));
    if one == other {
        Some(Overlap::Same)
    } else if one.starts_with(&other) {
        Some(Overlap::Within)
    } else {
        other.starts_with(one).then_some(Overlap::Around)
    }
}

/// Where a store really lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// In a folder.
    Folder(FolderLocation),
    /// In object storage.
    Bucket(BucketLocation),
}

impl Location {
    /// How this place relates to another; none where they are apart.
    pub fn overlap(&self, other: &Self) -> Option<Overlap> {
        match (self, other) {
            (Self::Folder(one), Self::Folder(other)) => one.overlap(other),
            (Self::Bucket(one), Self::Bucket(other)) => one.overlap(other),
            (Self::Folder(_), Self::Bucket(_)) | (Self::Bucket(_), Self::Folder(_)) => None,
        }
    }
}

/// A place in a bucket as people read it.
pub(super) struct BucketPlace<'s>(pub(super) &'s S3Settings);

impl fmt::Display for BucketPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.0.bucket)?;
        if !self.0.prefix.is_empty() {
            write!(f, "/{}", self.0.prefix)?;
        }
        match &self.0.endpoint {
            Some(endpoint) => write!(f, " at {endpoint}"),
            None => Ok(()),
        }
    }
}

/// Why a store in object storage cannot be opened by a program that was built without it.
#[cfg(not(feature = "s3"))]
pub(super) fn without_object_storage(name: &str) -> StorageError {
    let reason =
        "this program is built without object storage (its feature s3); use one that is built with it".to_owned();
    StorageError::Away { store: name.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::super::Settings;
    use super::super::document::starting_file;
    use super::*;

    fn with_store(table: &str) -> Result<Settings, String> {
        Settings::from_toml(&format!("{}\n{table}", starting_file())).map_err(|error| error.to_string())
    }

    #[test]
    fn the_table_has_the_defaults_of_the_engine() {
        let settings = with_store("[stores.far]\nkind = \"s3\"\nbucket = \"b\"").expect("reads");
        let wanted = S3Settings { bucket: "b".into(), ..S3Settings::default() };
        assert_eq!(settings.stores["far"], StoreSettings::S3(Box::new(wanted)));
    }

    #[test]
    fn every_setting_of_a_bucket_can_be_given() {
        let mut table = String::from("[stores.far]\nkind = \"s3\"\n");
        for setting in SECTION.settings.iter().filter(|setting| setting.only_for.contains(&S3)) {
            let value = setting.default().map_or_else(|| setting.kind.example(), str::to_owned);
            let _ = writeln!(table, "{} = {value}", setting.name);
        }
        assert!(matches!(with_store(&table).expect("reads").stores["far"], StoreSettings::S3(_)));
    }

    #[test]
    fn a_setting_of_another_kind_of_store_is_refused() {
        let error = with_store("[stores.far]\nkind = \"s3\"\nbucket = \"b\"\npath = \"x\"").unwrap_err();
        assert!(error.contains("stores.far.path") && error.contains("folder"), "{error}");
        let error = with_store("[stores.near]\npath = \"x\"\nbucket = \"b\"").unwrap_err();
        assert!(error.contains("stores.near.bucket") && error.contains("s3"), "{error}");
        let error = with_store("[stores.far]\nkind = \"s3\"").unwrap_err();
        assert!(error.contains("stores.far.bucket is not set"), "{error}");
    }

    #[test]
    fn every_kind_of_store_can_be_limited_in_bytes_a_second() {
        for kind in ["kind = \"folder\"\npath = \"stores/far\"", "kind = \"s3\"\nbucket = \"b\""] {
            let limit = |line: &str| {
                with_store(&format!("[stores.far]\n{kind}\n{line}"))
                    .map(|settings| settings.stores["far"].max_bytes_per_second())
            };
            assert_eq!(limit(""), Ok(0));
            assert_eq!(limit("max_bytes_per_second = 0"), Ok(0));
            assert_eq!(limit("max_bytes_per_second = \"64 KiB\""), Ok(65_536));
            let error = limit("max_bytes_per_second = \"63 KiB\"").unwrap_err();
            assert!(error.contains("stores.far.max_bytes_per_second") && error.contains("64 KiB"), "{error}");
        }
    }

    #[test]
    fn what_is_said_of_a_store_is_apart_from_its_settings() {
        for kind in ["path = \"stores/far\"", "kind = \"s3\"\nbucket = \"b\""] {
            let settings =
                with_store(&format!("[stores.far]\n{kind}\nlocation = \"Ithaca\"\nmedia = \"tape\"")).expect("reads");
            let wanted =
                StoreFacts { location: Some("Ithaca".into()), disaster_threat: None, media: Some("tape".into()) };
            assert_eq!(settings.store_facts.get("far"), Some(&wanted));
            assert_eq!(settings.store_facts.len(), 1);
        }
        assert!(with_store("[store_facts.far]\nlocation = \"x\"").is_err());
    }

    #[test]
    fn folders_within_each_other_are_refused_as_they_are_written() {
        for (path, is_refused) in [
            ("stores/primary/", true),
            ("./stores/primary", true),
            ("stores/primary/inner", true),
            ("stores", true),
            ("stores/primary2", false),
        ] {
            let refused = with_store(&format!("[stores.near]\npath = \"{path}\""));
            assert_eq!(refused.is_err(), is_refused, "{path}");
        }
    }

    #[test]
    fn two_stores_never_lie_within_each_other() {
        for (one, other, is_refused) in [("", "a", true), ("a", "a/b", true), ("a", "ab", false), ("a/b", "a/c", false)]
        {
            let table = format!(
                "[stores.far]\nkind = \"s3\"\nbucket = \"b\"\nprefix = \"{one}\"\n\
                 [stores.farther]\nkind = \"s3\"\nbucket = \"b\"\nprefix = \"{other}\""
            );
            assert_eq!(with_store(&table).is_err(), is_refused, "{one:?} and {other:?}");
        }
    }
}
