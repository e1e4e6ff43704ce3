//! The profiles that come with the crate, by name and by the identifiers that bags carry.

use super::Profile;

struct Builtin {
    name: &'static str,
    document: &'static str,
    spellings: &'static [&'static str],
}

const APTRUST_2_3: &str = "aptrust-2.3";
const APTRUST_2_2: &str = "aptrust-2.2";
const BTR_1_0: &str = "btr-1.0";

const BUILTINS: [Builtin; 3] = [
    Builtin { name: APTRUST_2_3, document: include_str!("aptrust-2.3.json"), spellings: &[] },
    Builtin {
        name: APTRUST_2_2,
        document: include_str!("aptrust-2.2.json"),
        spellings: &["https://wiki.aptrust.org/APTrust_BagIt_Profile-2.2"],
    },
    Builtin {
        name: BTR_1_0,
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

impl Profile {
    /// Names of the profiles that come with the crate.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTINS.iter().map(|builtin| builtin.name)
    }

    /// A profile that comes with the crate: `aptrust-2.3`, `aptrust-2.2` or `btr-1.0`, in any letter case; `aptrust` and
    /// `btr` mean the newest.
    pub fn builtin(name: &str) -> Option<Self> {
        let name = match name.to_ascii_lowercase().as_str() {
            "aptrust" => APTRUST_2_3.to_owned(),
            "btr" => BTR_1_0.to_owned(),
            other => other.to_owned(),
        };
        let builtin = BUILTINS.iter().find(|builtin| builtin.name == name)?;
        // The documents are proved by a test; one that could not be read would be no profile.
        let (mut profile, _) = Self::parse(builtin.document.as_bytes()).ok()?;
        builtin.name.clone_into(&mut profile.name);
        profile.spellings.extend(builtin.spellings.iter().map(|&spelling| spelling.to_owned()));
        Some(profile)
    }

    /// The profile that comes with the crate and is meant by a `BagIt-Profile-Identifier`, in any of its known spellings;
    /// `None` for any other.
    pub fn for_identifier(identifier: &str) -> Option<Self> {
        let identifier = identifier.trim();
        if BTR_MARKS.iter().any(|mark| identifier.contains(mark)) {
            return Self::builtin(BTR_1_0).map(|mut profile| {
                profile.spellings.push(identifier.to_owned());
                profile
            });
        }
        Self::builtin_names().filter_map(Self::builtin).find(|profile| profile.is_named_by(identifier))
    }
}
