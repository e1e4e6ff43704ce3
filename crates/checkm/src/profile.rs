//! The profiles of manifests: what the rows of a manifest are.

use std::fmt;

use crate::column::Column;

/// What a manifest lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ManifestProfile {
    /// `mrt-ingest-manifest`: the files of one object.
    Object,
    /// `mrt-batch-manifest`: object manifests, each of them one object.
    Batch,
    /// `mrt-single-file-batch-manifest`: files, each of them one object.
    SingleFileBatch,
    /// `mrt-container-batch-manifest`: containers, each of them one object.
    ContainerBatch,
    /// `mrt-add-manifest`: the files of one version, as Merritt's ingest hands them to its storage.
    Add,
}

const REGISTRY: &str = "http://uc3.cdlib.org/registry/";

const OF_FILES: [Column; 7] = [
    Column::FileUrl,
    Column::HashAlgorithm,
    Column::HashValue,
    Column::FileSize,
    Column::FileLastModified,
    Column::FileName,
    Column::MimeType,
];

const OF_BATCHES: [Column; 11] = [
    Column::FileUrl,
    Column::HashAlgorithm,
    Column::HashValue,
    Column::FileSize,
    Column::FileLastModified,
    Column::FileName,
    Column::PrimaryIdentifier,
    Column::LocalIdentifier,
    Column::Creator,
    Column::Title,
    Column::Date,
];

/// Endings of the containers that Merritt unpacks.
const CONTAINERS: [&str; 9] = [".zip", ".tar", ".tar.gz", ".tgz", ".tarz", ".tar.bz2", ".tbz2", ".bz2", ".gz"];

impl ManifestProfile {
    /// Every profile.
    pub const ALL: [Self; 5] = [Self::Object, Self::Batch, Self::SingleFileBatch, Self::ContainerBatch, Self::Add];

    /// The last part of the URI, such as `mrt-ingest-manifest`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "mrt-ingest-manifest",
            Self::Batch => "mrt-batch-manifest",
            Self::SingleFileBatch => "mrt-single-file-batch-manifest",
            Self::ContainerBatch => "mrt-container-batch-manifest",
            Self::Add => "mrt-add-manifest",
        }
    }

    /// The URI in a `#%profile` line.
    pub fn uri(self) -> String {
        let kind = if self == Self::Add { "store" } else { "ingest" };
        format!("{REGISTRY}{kind}/manifest/{}", self.name())
    }

    /// The profile of a URI, and whether it is spelled as Merritt does: the last part is compared in any letter case.
    pub(crate) fn of_uri(uri: &str) -> Option<(Self, bool)> {
        let last = uri.trim_end_matches('/').rsplit('/').next()?;
        let profile = Self::ALL.into_iter().find(|profile| profile.name().eq_ignore_ascii_case(last))?;
        // Merritt's parser takes this one too.
        let is_older = profile == Self::Object && uri == "http://uc3.cdlib.org/registry/mrt/mrt-ingest-manifest";
        Some((profile, is_older || uri == profile.uri()))
    }

    /// The columns, in the order in which Merritt has them.
    pub fn columns(self) -> &'static [Column] {
        if self.is_batch() { &OF_BATCHES } else { &OF_FILES }
    }

    /// Whether a column may be there: those of the profile, and for batches the further ones that describe an object.
    pub fn has(self, column: Column) -> bool {
        self.columns().contains(&column) || (self.is_batch() && column >= Column::Contributor)
    }

    /// Whether each row is an object; else the rows together are one.
    pub fn is_batch(self) -> bool {
        matches!(self, Self::Batch | Self::SingleFileBatch | Self::ContainerBatch)
    }
}

impl fmt::Display for ManifestProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn ends_in(name: &str, ending: &str) -> bool {
    let start = name.len().checked_sub(ending.len());
    start
        .filter(|start| *start > 0)
        .and_then(|start| name.get(start..))
        .is_some_and(|end| end.eq_ignore_ascii_case(ending))
}

/// Whether a name has the ending of a container.
pub(crate) fn is_container_name(name: &str) -> bool {
    CONTAINERS.iter().any(|ending| ends_in(name, ending))
}

/// Whether a name has the ending of a manifest.
pub(crate) fn is_manifest_name(name: &str) -> bool {
    ends_in(name, ".checkm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_known_by_their_uri() {
        for profile in ManifestProfile::ALL {
            assert_eq!(ManifestProfile::of_uri(&profile.uri()), Some((profile, true)));
        }
        let older = "http://uc3.cdlib.org/registry/mrt/mrt-ingest-manifest";
        assert_eq!(ManifestProfile::of_uri(older), Some((ManifestProfile::Object, true)));
        let other = "https://example.org/MRT-Batch-Manifest/";
        assert_eq!(ManifestProfile::of_uri(other), Some((ManifestProfile::Batch, false)));
        assert_eq!(ManifestProfile::of_uri("mrt-shelf-manifest"), None);
    }

    #[test]
    fn endings_are_compared_in_any_letter_case_and_are_not_the_whole_name() {
        assert!(is_container_name("a.ZIP") && is_container_name("a/b.tar.gz") && is_manifest_name("é.Checkm"));
        assert!(!is_container_name(".zip") && !is_container_name("a.zip.txt") && !is_manifest_name("a.checkm.txt"));
    }
}
