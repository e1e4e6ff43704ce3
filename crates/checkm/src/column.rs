//! The columns that manifests have.

use std::fmt;

/// A column of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// Where the file, container or manifest is fetched from; the only value that every row must have. The only one in which percent
    /// forms are not decoded.
    FileUrl,
    /// The algorithm of the digest.
    HashAlgorithm,
    /// The digest, in hexadecimal.
    HashValue,
    /// The size in bytes.
    FileSize,
    /// When the file was last modified (ISO 8601); `-` is the same as nothing.
    FileLastModified,
    /// The path of the file in the object; without it, the last part of the URL.
    FileName,
    /// The media type.
    MimeType,
    /// The ARK of the object.
    PrimaryIdentifier,
    /// The depositor's identifiers of the object, separated by semicolons.
    LocalIdentifier,
    /// Who made it.
    Creator,
    /// What it is called.
    Title,
    /// When it was made (ISO 8601).
    Date,
    /// Dublin Core: contributor.
    Contributor,
    /// Dublin Core: coverage.
    Coverage,
    /// Dublin Core: description.
    Description,
    /// Dublin Core: format.
    Format,
    /// Dublin Core: language.
    Language,
    /// Dublin Core: publisher.
    Publisher,
    /// Dublin Core: relation.
    Relation,
    /// Dublin Core: rights.
    Rights,
    /// Dublin Core: source.
    Source,
    /// Dublin Core: subject.
    Subject,
    /// Dublin Core: type.
    Type,
    /// `DataCite`: resource type.
    ResourceType,
}

impl Column {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::ALL.len();

    /// Every column.
    pub const ALL: [Self; 24] = [
        Self::FileUrl,
        Self::HashAlgorithm,
        Self::HashValue,
        Self::FileSize,
        Self::FileLastModified,
        Self::FileName,
        Self::MimeType,
        Self::PrimaryIdentifier,
        Self::LocalIdentifier,
        Self::Creator,
        Self::Title,
        Self::Date,
        Self::Contributor,
        Self::Coverage,
        Self::Description,
        Self::Format,
        Self::Language,
        Self::Publisher,
        Self::Relation,
        Self::Rights,
        Self::Source,
        Self::Subject,
        Self::Type,
        Self::ResourceType,
    ];

    /// The column of which something is compared that an unknown name is nearly the name of: at most two letters differ.
    pub(crate) fn misspelled(name: &str) -> Option<Self> {
        let bare = |name: &str| name.rsplit(':').next().unwrap_or_default().trim().to_ascii_lowercase();
        let found = bare(name);
        // A longer one is none of them.
        if found.len() > 40 {
            return None;
        }
        let compared = [Self::HashAlgorithm, Self::HashValue, Self::FileSize];
        compared.into_iter().find(|column| strsim::osa_distance(&found, &bare(column.name())) <= 2)
    }

    /// The name with its prefix, as Merritt writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::FileUrl => "nfo:fileUrl",
            Self::HashAlgorithm => "nfo:hashAlgorithm",
            Self::HashValue => "nfo:hashValue",
            Self::FileSize => "nfo:fileSize",
            Self::FileLastModified => "nfo:fileLastModified",
            Self::FileName => "nfo:fileName",
            Self::MimeType => "mrt:mimeType",
            Self::PrimaryIdentifier => "mrt:primaryIdentifier",
            Self::LocalIdentifier => "mrt:localIdentifier",
            Self::Creator => "mrt:creator",
            Self::Title => "mrt:title",
            Self::Date => "mrt:date",
            Self::Contributor => "mrt:contributor",
            Self::Coverage => "mrt:coverage",
            Self::Description => "mrt:description",
            Self::Format => "mrt:format",
            Self::Language => "mrt:language",
            Self::Publisher => "mrt:publisher",
            Self::Relation => "mrt:relation",
            Self::Rights => "mrt:rights",
            Self::Source => "mrt:source",
            Self::Subject => "mrt:subject",
            Self::Type => "mrt:type",
            Self::ResourceType => "mrt:resourceType",
        }
    }

    /// Whether a value may be several, separated by semicolons.
    pub fn is_list(self) -> bool {
        matches!(self, Self::LocalIdentifier | Self::Creator | Self::Relation | Self::Subject)
    }

    /// Whether the value describes the object; in such values `%sc` stands for a semicolon.
    pub fn is_metadata(self) -> bool {
        self >= Self::LocalIdentifier
    }

    /// The column of a name in a `#%fields` line, in any letter case, and whether its prefix is the right one. Merritt's own programs
    /// write `nie:mimeType` too.
    pub(crate) fn named(text: &str) -> Option<(Self, bool)> {
        let (prefix, local) = text.split_once(':').unwrap_or(("", text));
        Self::ALL.into_iter().find_map(|column| {
            let (own_prefix, own_local) = column.name().split_once(':')?;
            let is_right = prefix.eq_ignore_ascii_case(own_prefix)
                || (column == Self::MimeType && prefix.eq_ignore_ascii_case("nie"));
            own_local.eq_ignore_ascii_case(local).then_some((column, is_right))
        })
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Column;

    #[test]
    fn all_are_in_order_and_found_by_name() {
        for (at, column) in Column::ALL.into_iter().enumerate() {
            assert_eq!(column as usize, at);
            assert_eq!(Column::named(column.name()), Some((column, true)));
        }
        assert_eq!(Column::named("NFO:fileURL"), Some((Column::FileUrl, true)));
        assert_eq!(Column::named("nie:mimetype"), Some((Column::MimeType, true)));
        assert_eq!(Column::named("dc:title"), Some((Column::Title, false)));
        assert_eq!(Column::named("title"), Some((Column::Title, false)));
        assert_eq!(Column::named("mrt:shelf"), None);
    }
}
