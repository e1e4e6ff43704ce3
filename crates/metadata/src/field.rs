//! What a description says: the fields of ERC, the elements of Dublin Core, and the resource type of DataCite.

use std::fmt;

/// One of the 15 elements of Dublin Core (DCMI Metadata Element Set 1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Element {
    Contributor,
    Coverage,
    Creator,
    Date,
    Description,
    Format,
    Identifier,
    Language,
    Publisher,
    Relation,
    Rights,
    Source,
    Subject,
    Title,
    Type,
}

impl Element {
    /// All of them, by name.
    pub const ALL: [Self; 15] = [
        Self::Contributor,
        Self::Coverage,
        Self::Creator,
        Self::Date,
        Self::Description,
        Self::Format,
        Self::Identifier,
        Self::Language,
        Self::Publisher,
        Self::Relation,
        Self::Rights,
        Self::Source,
        Self::Subject,
        Self::Title,
        Self::Type,
    ];

    /// The name, in lower case and without a prefix.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Contributor => "contributor",
            Self::Coverage => "coverage",
            Self::Creator => "creator",
            Self::Date => "date",
            Self::Description => "description",
            Self::Format => "format",
            Self::Identifier => "identifier",
            Self::Language => "language",
            Self::Publisher => "publisher",
            Self::Relation => "relation",
            Self::Rights => "rights",
            Self::Source => "source",
            Self::Subject => "subject",
            Self::Title => "title",
            Self::Type => "type",
        }
    }

    /// The element of a name in lower case, without a prefix.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.as_str() == name)
    }

    /// The element that a property of the namespace `http://purl.org/dc/terms/` refines, or is the same as (DCMI Metadata Terms).
    pub fn of_term(term: &str) -> Option<Self> {
        Self::of_name(term).or(match term {
            "alternative" => Some(Self::Title),
            "abstract" | "tableOfContents" => Some(Self::Description),
            "available" | "created" | "dateAccepted" | "dateCopyrighted" | "dateSubmitted" | "issued" | "modified"
            | "valid" => Some(Self::Date),
            "extent" | "medium" => Some(Self::Format),
            "bibliographicCitation" => Some(Self::Identifier),
            "conformsTo" | "hasFormat" | "hasPart" | "hasVersion" | "isFormatOf" | "isPartOf" | "isReferencedBy"
            | "isReplacedBy" | "isRequiredBy" | "isVersionOf" | "references" | "replaces" | "requires" => {
                Some(Self::Relation)
            }
            "accessRights" | "license" => Some(Self::Rights),
            "spatial" | "temporal" => Some(Self::Coverage),
            _ => None,
        })
    }
}

/// A field of a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// ERC: who is responsible for the object.
    Who,
    /// ERC: what it is called.
    What,
    /// ERC: when it was made or published.
    When,
    /// ERC: where it is found, that is its identifiers.
    Where,
    /// An element of Dublin Core.
    Element(Element),
    /// The resource type of DataCite: `GENERAL` or `GENERAL/TEXT`, such as `Dataset/Census data`.
    ResourceType,
}

impl Field {
    /// The fields of ERC, in the order of a file.
    pub const ERC: [Self; 4] = [Self::Who, Self::What, Self::When, Self::Where];

    /// Every field.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ERC.into_iter().chain(Element::ALL.map(Self::Element)).chain([Self::ResourceType])
    }

    /// The name in JSON and CSV.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Who => "who",
            Self::What => "what",
            Self::When => "when",
            Self::Where => "where",
            Self::Element(element) => element.as_str(),
            Self::ResourceType => "resourceType",
        }
    }

    /// The field of a name, in any case; elements of Dublin Core also with the prefix `dc:` or `dc.`, the others also with `erc.` and
    /// `datacite.`.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        let element = |name: &str| Element::of_name(name).map(Self::Element);
        if let Some(name) = name.strip_prefix("dc:").or_else(|| name.strip_prefix("dc.")) {
            return element(name);
        }
        if let Some(name) = name.strip_prefix("erc.") {
            return Self::of_erc(name);
        }
        if matches!(name.as_str(), "resourcetype" | "datacite.resourcetype") {
            return Some(Self::ResourceType);
        }
        Self::of_erc(&name).or_else(|| element(&name))
    }

    /// The field of ERC of a name, in any case.
    pub(crate) fn of_erc(name: &str) -> Option<Self> {
        Self::ERC.into_iter().find(|field| field.as_str().eq_ignore_ascii_case(name))
    }

    /// Whether one text may have several values with `;` between them: creator, subject, relation, identifier, and where. A `;` in any
    /// other field is part of its value.
    pub fn is_split(self) -> bool {
        match self {
            Self::Where => true,
            Self::Element(element) => {
                matches!(element, Element::Creator | Element::Subject | Element::Relation | Element::Identifier)
            }
            _ => false,
        }
    }

    pub(crate) fn names() -> String {
        Self::all().map(Self::as_str).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
