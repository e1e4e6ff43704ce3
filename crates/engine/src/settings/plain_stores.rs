//! What can be set of a plain store: a folder whose subfolders are spaces, or prefixes or buckets in object storage that are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
#[cfg(feature = "s3")]
use strongroom_s3::S3Spaces;
use strongroom_s3::{BucketLocation, S3Settings};
use strongroom_spaces::{FolderSpaces, PlainStore};
use strongroom_storage::{FolderLocation, FolderMode, Key, Overlap, StorageError};

use super::kind::Kind;
use super::stores::{self, BucketPlace, FOLDER, KIND, Location, S3, StoreSettings, all, paths_overlap, s3};
use super::tree::{Section, Setting, Shape, Unset};

/// The section of the plain stores.
pub(super) const SECTION: Section = Section {
    key: "plain_stores",
    shape: Shape::Named,
    about: "Plain stores, by name: content in spaces that others write to. They have no role and no placement.",
    settings: &[
        all(KIND, Unset::Is("\"folder\""), Kind::Choice(&[FOLDER, S3]), "the kind of the store"),
        Setting {
            name: "path",
            unset: Unset::Required,
            kind: Kind::Path,
            meaning: "the folder, whose subfolders are the spaces; a relative path begins at the data directory",
            only_for: &[FOLDER],
        },
        Setting {
            name: "mode",
            unset: Unset::Absent,
            kind: Kind::Mode,
            meaning: "the mode of folders that are made in it; files have the same without execution; the umask may \
                      remove rights; none: as the umask says",
            only_for: &[FOLDER],
        },
        Setting {
            name: "marker",
            unset: Unset::Absent,
            kind: Kind::Text,
            meaning: "a file in the folder that is there while its disk is mounted; none: a folder with nothing in it \
                      counts as not mounted",
            only_for: &[FOLDER],
        },
        Setting {
            name: "watch",
            unset: Unset::Is("false"),
            kind: Kind::Flag,
            meaning: "whether what changes in the folder is reported as events while \"serve\" or \"schedule\" runs, where a duplication policy copies \
                      from it; for local disks",
            only_for: &[FOLDER],
        },
        s3(
            "bucket",
            Unset::Required,
            Kind::Text,
            "the bucket, which must exist, and whose first-level prefixes are the spaces; with a *, such as archive-*, each \
             bucket whose name matches is a space, and the * stands for its name",
        ),
        s3(
            "prefix",
            Unset::Is("\"\""),
            Kind::Text,
            "the prefix in the bucket below which the spaces are; empty: all of the bucket",
        ),
        s3(
            "storage_class",
            Unset::Absent,
            Kind::Text,
            "the storage class of what is put there; none: the standard class of the bucket",
        ),
        stores::ENDPOINT,
        stores::REGION,
        stores::PATH_STYLE,
        stores::ACCESS_KEY,
        stores::SECRET_KEY,
        stores::SECRET_KEY_FILE,
        stores::PROFILE,
        stores::ENCRYPTION,
        stores::KMS_KEY,
        stores::CHECKSUMS,
        stores::PART_SIZE,
        stores::PARTS_AT_ONCE,
        stores::MAX_REQUESTS,
        stores::CONNECT_TIMEOUT,
        stores::ANSWER_TIMEOUT,
        stores::STALL_TIMEOUT,
        stores::ATTEMPTS,
        stores::FIRST_WAIT,
    ],
};

/// A plain store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PlainStoreSettings {
    /// A folder of a file system.
    Folder(PlainFolderSettings),
    /// Prefixes of a bucket, or buckets.
    S3(Box<S3Settings>),
}

/// A folder that is a plain store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainFolderSettings {
    /// Where it is; a relative path starts at the home.
    pub path: PathBuf,
    /// The bits of the access rights of what is made in it; none: as the umask says.
    pub mode: Option<u32>,
    /// A file in it that is there while its disk is mounted.
    pub marker: Option<String>,
    /// Whether what changes in it is reported as events.
    pub watch: bool,
}

impl PlainStoreSettings {
    /// The word for its kind, as the settings have it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Folder(_) => FOLDER,
            Self::S3(_) => S3,
        }
    }

    /// Whether what changes in it is to be reported as events.
    pub fn is_watched(&self) -> bool {
        matches!(self, Self::Folder(folder) if folder.watch)
    }

    /// Where the store lies, for people: a folder, or a URL without secrets.
    pub fn place(&self, home: &Path) -> String {
        match self {
            Self::Folder(folder) => home.join(&folder.path).display().to_string(),
            Self::S3(settings) => BucketPlace(settings).to_string(),
        }
    }

    /// Where the store really lies. Folders are inspected, object storage is not.
    pub fn location(&self, home: &Path) -> Location {
        match self {
            Self::Folder(folder) => Location::Folder(FolderLocation::of(&home.join(&folder.path))),
            Self::S3(settings) => Location::Bucket(BucketLocation::of(settings)),
        }
    }

    /// Opens the store. Nothing is made in it.
    pub fn open(&self, name: &str, home: &Path) -> Result<Arc<dyn PlainStore>, StorageError> {
        Ok(match self {
            Self::Folder(folder) => {
                let mode = folder.mode.and_then(FolderMode::new).unwrap_or(FolderMode::ANY);
                let marker = folder.marker.as_deref().map(Key::new).transpose()?;
                Arc::new(FolderSpaces::open(name, home.join(&folder.path), mode, marker.as_ref())?)
            }
            #[cfg(feature = "s3")]
            Self::S3(settings) => Arc::new(S3Spaces::open(name, settings.as_ref().clone())?),
            #[cfg(not(feature = "s3"))]
            Self::S3(_) => return Err(stores::without_object_storage(name)),
        })
    }

    /// What is wrong with the settings by themselves: the setting, and why.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Folder(folder) => {
                let marker = folder.marker.as_deref()?;
                match Key::new(marker) {
                    Ok(key) if !key.is_root() => None,
                    Ok(_) => Some(("marker", "it names no file; leave it out where there is none".to_owned())),
                    Err(error) => Some(("marker", format!("it is no path below the folder: {error}"))),
                }
            }
            Self::S3(settings) => {
                let stars = settings.bucket.matches('*').count();
                if stars > 1 {
                    return Some(("bucket", "one * stands for the name of a space, and it has more".to_owned()));
                }
                let is_both = stars == 1 && !settings.prefix.is_empty();
                is_both.then(|| {
                    ("prefix", "with a * in bucket each bucket is a space as a whole; leave prefix out".to_owned())
                })
            }
        }
    }

    /// How its place relates to that of another plain store as they are written: none where they seem to be apart.
    pub(super) fn overlap_as_written(&self, other: &Self) -> Option<Overlap> {
        match (self, other) {
            (Self::Folder(one), Self::Folder(other)) => paths_overlap(&one.path, &other.path),
            (Self::S3(one), Self::S3(other)) => BucketLocation::of(one).overlap(&BucketLocation::of(other)),
            (Self::Folder(_), Self::S3(_)) | (Self::S3(_), Self::Folder(_)) => None,
        }
    }

    /// The same for a store with a role or a placement.
    pub(super) fn overlap_with_store(&self, store: &StoreSettings) -> Option<Overlap> {
        match (self, store) {
            (Self::Folder(one), StoreSettings::Folder(other)) => paths_overlap(&one.path, &other.path),
            (Self::S3(one), StoreSettings::S3(other)) => BucketLocation::of(one).overlap(&BucketLocation::of(other)),
            (Self::Folder(_), StoreSettings::S3(_)) | (Self::S3(_), StoreSettings::Folder(_)) => None,
        }
    }

    /// The setting, or settings, to change for another place.
    pub(super) fn place_setting(&self) -> &'static str {
        match self {
            Self::Folder(_) => "path",
            Self::S3(_) => "prefix or bucket",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::super::document::starting_file;
    use super::*;

    fn with(tables: &str) -> Result<Settings, String> {
        Settings::from_toml(&format!("{}\n{tables}", starting_file())).map_err(|error| error.to_string())
    }

    #[test]
    fn plain_stores_are_read_with_the_defaults_of_their_engine() {
        let settings = with(
            "[plain_stores.partner]\npath = \"/mnt/partner\"\nmarker = \"MOUNTED\"\n\
             [plain_stores.cloud]\nkind = \"s3\"\nbucket = \"archive-*\"",
        )
        .expect("reads");
        let wanted = S3Settings { bucket: "archive-*".into(), ..S3Settings::default() };
        assert_eq!(settings.plain_stores["cloud"], PlainStoreSettings::S3(Box::new(wanted)));
        assert_eq!(settings.plain_stores["partner"].place(Path::new("/home")), "/mnt/partner");
        assert!(with("").expect("reads").plain_stores.is_empty());
    }

    #[test]
    fn a_plain_store_has_no_role_and_no_placement_and_a_place_and_name_of_its_own() {
        let partner = "[plain_stores.partner]\npath = \"/mnt/partner\"\n";
        for (more, wanted) in [
            ("[roles]\nstaging = \"partner\"", "is a plain store"),
            ("[institutions.\"example.edu\"]\nreceiving = \"partner\"", "is a plain store"),
            ("[stores.partner]\npath = \"/mnt/other\"", "both a store and a plain store"),
            ("[stores.other]\npath = \"/mnt/partner/inner\"", "other is within store partner"),
            ("[stores.other]\npath = \"/mnt\"", "partner is within store other"),
            ("[plain_stores.other]\npath = \"/mnt/partner\"", "in one place"),
            ("[plain_stores.Other]\npath = \"/mnt/other\"", "lower-case"),
            ("[plain_stores.other]\npath = \"/mnt/other\"\nmarker = \"../x\"", "plain_stores.other.marker"),
            ("[plain_stores.other]\nkind = \"s3\"\nbucket = \"a*b*\"", "plain_stores.other.bucket"),
            ("[plain_stores.other]\nkind = \"s3\"\nbucket = \"a*\"\nprefix = \"p\"", "plain_stores.other.prefix"),
            ("[plain_stores.other]\npath = \"stores\"", "within store other"),
        ] {
            let text = format!("{}\n{partner}{more}", starting_file().replace("[roles]", ""));
            let error = Settings::from_toml(&text).map(|_| ()).expect_err(more).to_string();
            assert!(error.contains(wanted), "{more}: {error}");
        }
        let text = starting_file().replacen("[\"primary\", \"secondary\"]", "[\"primary\", \"partner\"]", 1);
        let error = Settings::from_toml(&format!("{text}\n{partner}")).map(|_| ()).expect_err("a refusal").to_string();
        assert!(error.contains("is a plain store"), "{error}");
    }

    #[test]
    fn buckets_by_a_pattern_are_apart_from_stores() {
        for (bucket, is_refused) in
            [("archive-maps", true), ("archive-", false), ("archives-maps", false), ("archive-a.b", true)]
        {
            let text = format!(
                "[plain_stores.cloud]\nkind = \"s3\"\nbucket = \"archive-*\"\n\
                 [stores.far]\nkind = \"s3\"\nbucket = \"{bucket}\"\nprefix = \"p\""
            );
            assert_eq!(with(&text).is_err(), is_refused, "{bucket}");
        }
        let two = "[plain_stores.a]\nkind = \"s3\"\nbucket = \"archive-*\"\n\
                   [plain_stores.b]\nkind = \"s3\"\nbucket = \"archive-x*\"";
        assert!(with(two).is_err());
    }
}
