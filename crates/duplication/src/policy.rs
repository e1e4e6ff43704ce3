//! The policy of an institution, and the JSON in which a registry keeps it.

use serde::{Deserialize, Serialize};

use crate::object::Object;
use crate::{DuplicationError, Glob};

/// The longest text of a policy in bytes, as people write it and as a registry keeps it.
pub const LONGEST_POLICY: usize = 4 << 20;
/// The longest name of a space in bytes.
pub const LONGEST_SPACE: usize = 255;
/// The most entries of ignored spaces, and the most of spaces with rules of their own.
pub const MOST_ENTRIES: usize = 10_000;
/// How many of these may have asterisks.
pub const MOST_PATTERNS: usize = 1_000;
/// The most rules of one list.
pub const MOST_RULES: usize = 50;

/// Which spaces of an institution are copied where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Spaces that no rule applies to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<Glob>,
    /// The rules of every other space that has none of its own; absent: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Rules>,
    /// Spaces with rules of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spaces: Vec<SpaceRules>,
}

/// The rules of the spaces that match a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpaceRules {
    /// Which spaces.
    pub space: Glob,
    /// Their rules.
    pub rules: Rules,
}

/// A list of rules that is not empty, or the word `none`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredRules", into = "StoredRules")]
pub enum Rules {
    /// Nothing is copied.
    None,
    /// What is copied where.
    Some(Vec<Rule>),
}

/// A space of one store is copied to the space of the same name of another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The store that is read, and never written for this rule.
    pub source: String,
    /// The store that is written.
    pub destination: String,
    /// Whether what was deleted in the source is deleted in the destination, too. A second person has to approve that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete: bool,
}

impl std::fmt::Display for Rule {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} -> {}", self.source, self.destination)?;
        if self.delete { formatter.write_str(", with deletions") } else { Ok(()) }
    }
}

impl Rules {
    /// The word for no rules.
    pub const NONE: &str = "none";

    /// The rules; none where nothing is copied.
    pub fn as_slice(&self) -> &[Rule] {
        match self {
            Self::None => &[],
            Self::Some(rules) => rules,
        }
    }
}

/// Rules as they are written in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "neither \"none\" nor a list of rules with source, destination and delete")]
enum StoredRules {
    Word(String),
    List(Vec<Rule>),
}

impl TryFrom<StoredRules> for Rules {
    type Error = &'static str;

    fn try_from(stored: StoredRules) -> Result<Self, Self::Error> {
        match stored {
            StoredRules::Word(word) if word == Self::NONE => Ok(Self::None),
            StoredRules::Word(_) => Err("a word in place of rules that is not \"none\""),
            StoredRules::List(rules) if rules.is_empty() => Err("an empty list of rules, which is written \"none\""),
            StoredRules::List(rules) => Ok(Self::Some(rules)),
        }
    }
}

impl From<Rules> for StoredRules {
    fn from(rules: Rules) -> Self {
        match rules {
            Rules::None => Self::Word(Rules::NONE.to_owned()),
            Rules::Some(rules) => Self::List(rules),
        }
    }
}

impl Policy {
    /// Reads the JSON of a registry.
    ///
    /// # Errors
    /// It is none of a policy.
    pub fn from_json(text: &str) -> Result<Self, DuplicationError> {
        let Object(policy) = serde_json::from_str(text).map_err(DuplicationError::Unreadable)?;
        Ok(policy)
    }

    /// The JSON that a registry keeps.
    pub fn to_json(&self) -> String {
        // Texts, lists and booleans only: it cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Every rule: those of the default first.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.default.iter().chain(self.spaces.iter().map(|space| &space.rules)).flat_map(Rules::as_slice)
    }

    /// Whether a rule deletes, so that a second person has to approve the policy before it does.
    pub fn deletes(&self) -> bool {
        self.rules().any(|rule| rule.delete)
    }
}
