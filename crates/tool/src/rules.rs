//! What the end of a tool means for the file.

use std::fmt;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::output::{Fields, Reader, pattern};

/// What a run says of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The tool looked at the file and has nothing against it.
    Pass,
    /// The tool found something, such as a virus or a file that is not valid.
    Fail,
    /// The tool could not tell. The same run would end alike.
    Error,
    /// The tool could not tell now, such as where its server is away. A later run may tell.
    Transient,
}

impl Outcome {
    /// The word for it, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
            Self::Transient => "transient",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an end of a tool means. A rule applies where everything that it asks for is so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The exit code is one of these. Without them, any is.
    #[serde(default)]
    pub exit: Vec<i32>,
    /// A value of the field matches, instead of the output.
    #[serde(default)]
    pub field: Option<String>,
    /// A regular expression for the values of the field, or for standard output or standard error.
    #[serde(default)]
    pub matches: Option<String>,
    /// What it means.
    pub outcome: Outcome,
}

/// Rules that were checked.
#[derive(Debug, Clone)]
pub(crate) struct Rules(Vec<(Rule, Option<Regex>)>);

/// How a tool ended that was not killed.
pub(crate) struct Answer<'a> {
    pub(crate) code: i32,
    pub(crate) stdout: &'a [u8],
    pub(crate) stderr: &'a [u8],
    pub(crate) fields: &'a Fields,
}

impl Rules {
    pub(crate) fn new(rules: &[Rule], reader: &Reader) -> Result<Self, String> {
        let mut checked = Vec::new();
        for rule in rules {
            if let Some(field) = &rule.field {
                if !reader.has(field) {
                    return Err(format!("a rule asks for the field {field:?}, which its output does not have"));
                }
                if rule.matches.is_none() {
                    return Err(format!("the rule for the field {field:?} does not say what it `matches`"));
                }
            }
            checked.push((rule.clone(), rule.matches.as_deref().map(pattern).transpose()?));
        }
        if checked.is_empty() {
            checked.push((Rule { exit: vec![0], field: None, matches: None, outcome: Outcome::Pass }, None));
        }
        Ok(Self(checked))
    }

    /// What the first rule says that applies.
    pub(crate) fn outcome(&self, answer: &Answer<'_>) -> Option<Outcome> {
        let applies = |rule: &Rule, pattern: Option<&Regex>| {
            if !rule.exit.is_empty() && !rule.exit.contains(&answer.code) {
                return false;
            }
            match (pattern, &rule.field) {
                (None, _) => true,
                (Some(pattern), Some(field)) => {
                    answer.fields.get(field).is_some_and(|values| values.iter().any(|value| pattern.is_match(value)))
                }
                (Some(pattern), None) => [answer.stdout, answer.stderr]
                    .into_iter()
                    .any(|bytes| pattern.is_match(&String::from_utf8_lossy(bytes))),
            }
        };
        self.0.iter().find(|(rule, pattern)| applies(rule, pattern.as_ref())).map(|(rule, _)| rule.outcome)
    }
}
