//! What a profile check needs to know of a bag, gathered by the caller that has read it.

use std::fmt;

/// Calls its argument once per path, in any order. The paths need not be held in memory, and the function may be called
/// more than once. The caller that supplies it keeps its own read errors.
pub type Paths<'a> = &'a dyn Fn(&mut dyn FnMut(&str));

/// One tag of a tag file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagFact<'a> {
    /// The tag file, relative to the bag.
    pub file: &'a str,
    /// The label as written.
    pub label: &'a str,
    /// The value, continuation lines joined.
    pub value: &'a str,
    /// The line of the label in the file, from 1.
    pub line: Option<u64>,
}

/// Facts of one bag. Paths are relative to the bag, with `/`, decoded.
#[derive(Clone, Copy)]
pub struct BagFacts<'a> {
    /// `BagIt-Version` of `bagit.txt`, where it could be read.
    pub version: Option<&'a str>,
    /// `Tag-File-Character-Encoding` of `bagit.txt`, where it could be read.
    pub encoding: Option<&'a str>,
    /// MIME type of the archive the bag came in, such as `application/tar`; `None` for a directory.
    pub serialization: Option<&'a str>,
    /// Whether the bag has a `fetch.txt`.
    pub has_fetch: bool,
    /// Algorithms of the payload manifests, as in their names.
    pub payload_manifests: &'a [String],
    /// Algorithms of the tag manifests, as in their names.
    pub tag_manifests: &'a [String],
    /// Every file outside `data/`; manifests and the declaration may be among them.
    pub tag_files: Paths<'a>,
    /// Tags of the parsed tag files (`bag-info.txt` and those of [`super::Profile::tag_files_with_rules`]).
    pub tags: &'a [TagFact<'a>],
    /// Every file in `data/`.
    pub payload_paths: Paths<'a>,
    /// How many files the payload has.
    pub payload_files: u64,
    /// How many bytes the payload has.
    pub payload_bytes: u64,
    /// Name of the bag's top directory.
    pub base_directory: Option<&'a str>,
    /// File name of the archive, with its extension; `None` for a directory.
    pub archive_name: Option<&'a str>,
    /// The depositing institution's identifier, where known: only this may stand before the bag's name in
    /// `archive_name`. Where it is unknown, anything that looks like a domain name may.
    pub institution: Option<&'a str>,
}

impl fmt::Debug for BagFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BagFacts")
            .field("version", &self.version)
            .field("serialization", &self.serialization)
            .field("base_directory", &self.base_directory)
            .finish_non_exhaustive()
    }
}
