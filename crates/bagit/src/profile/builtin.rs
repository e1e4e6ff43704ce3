//! The profiles that come with the crate, by name and by the identifiers that bags carry.

use super::Profile;

struct Builtin {
    name: &'static str,
    /// The number of its version, from 1: a document that changes gets the next one.
    number: u64,
    document: &'static str,
    spellings: &'static [&'static str],
}

const APTRUST_2_3: &str = "aptrust-2.3";
const APTRUST_2_2: &str = "aptrust-2.2";
const BTR_1_0: &str = "btr-1.0";

const BUILTINS: [Builtin; 3] = [
    Builtin { name: APTRUST_2_3, number: 1, document: include_str!("aptrust-2.3.json"), spellings: &[] },
    Builtin {
        name: APTRUST_2_2,
        number: 1,
        document: include_str!("aptrust-2.2.json"),
        spellings: &["https://wiki.aptrust.org/APTrust_BagIt_Profile-2.2"],
    },
    Builtin {
        name: BTR_1_0,
        number: 1,
        document: include_str!("btr-1.0.json"),
        // The two that APTrust preservation-services corrects when it reads a bag, and the page of the release.
        spellings: &[
            "https://raw.githubusercontent.com/APTrust/dart/master/profiles/btr-v0.1.json",
            "https://raw.githubusercontent.com/dpscollaborative/btr_bagit_profile/master/btr-bagit-profile.json",
            "https://github.com/dpscollaborative/btr_bagit_profile/blob/1.0/btr-bagit-profile.json",
        ],
    },
];

/// APTrust takes a bag for one of "Beyond the Repository" if its identifier contains either.
const BTR_MARKS: [&str; 2] = ["/btr_bagit_profile", "/btr-bagit-profile"];

/// A profile that comes with the crate, as a document for a registry of profiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuiltinProfile {
    /// The name it is chosen by.
    pub name: &'static str,
    /// The number of its version, from 1. A document that changes in a later release has a greater one.
    pub number: u64,
    /// The document.
    pub document: &'static str,
}

impl Profile {
    /// Every profile that comes with the crate.
    pub fn builtins() -> impl Iterator<Item = BuiltinProfile> {
        BUILTINS.iter().map(|&Builtin { name, number, document, .. }| BuiltinProfile { name, number, document })
    }

    /// Names of the profiles that come with the crate.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTINS.iter().map(|builtin| builtin.name)
    }

    /// The name that a person means: in lower case, and for `aptrust` and `btr` the newest built-in profile of theirs.
    pub fn canonical_name(name: &str) -> String {
        match name.to_ascii_lowercase() {
            short if short == "aptrust" => APTRUST_2_3.to_owned(),
            short if short == "btr" => BTR_1_0.to_owned(),
            other => other,
        }
    }

    /// A profile that comes with the crate: `aptrust-2.3`, `aptrust-2.2` or `btr-1.0`, in any letter case; `aptrust` and
    /// `btr` mean the newest.
    pub fn builtin(name: &str) -> Option<Self> {
        let name = Self::canonical_name(name);
        let builtin = BUILTINS.iter().find(|builtin| builtin.name == name)?;
        // The documents are proved by a test; one that could not be read would be no profile.
        let (profile, _) = Self::parse(builtin.document.as_bytes()).ok()?;
        Some(profile.recorded_as(builtin.name, builtin.number))
    }

    /// The profile as a registry of profiles has it: under a name, as the version of a number. One with the name of a built-in
    /// profile answers to all identifiers by which bags name that one.
    #[must_use]
    pub fn recorded_as(mut self, name: &str, number: u64) -> Self {
        name.clone_into(&mut self.name);
        self.number = Some(number);
        let builtin = BUILTINS.iter().find(|builtin| builtin.name == name);
        let spellings = builtin.map(|builtin| builtin.spellings).unwrap_or_default();
        self.spellings.extend(spellings.iter().map(|&spelling| spelling.to_owned()));
        self
    }

    /// The same, which answers to this identifier as well.
    #[must_use]
    pub fn answering_to(mut self, identifier: &str) -> Self {
        if !self.is_named_by(identifier) {
            self.spellings.push(identifier.trim().to_owned());
        }
        self
    }

    /// The profile that comes with the crate and is meant by a `BagIt-Profile-Identifier`, in any of its known spellings;
    /// `None` for any other.
    pub fn for_identifier(identifier: &str) -> Option<Self> {
        let identifier = identifier.trim();
        if BTR_MARKS.iter().any(|mark| identifier.contains(mark)) {
            return Self::builtin(BTR_1_0).map(|profile| profile.answering_to(identifier));
        }
        Self::builtin_names().filter_map(Self::builtin).find(|profile| profile.is_named_by(identifier))
    }
}
