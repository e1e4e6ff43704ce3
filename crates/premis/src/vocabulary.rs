//! Terms of the other controlled vocabularies that a document uses, with their places at `id.loc.gov`.

use strongroom_digest::Algorithm;

const BASE: &str = "http://id.loc.gov/vocabulary/preservation/";

/// A value of a controlled vocabulary, or a local one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term<'a> {
    /// What people read.
    pub(crate) label: &'a str,
    /// Scheme and key, such as `eventType` and `fix`.
    listed: Option<(&'static str, &'static str)>,
}

impl<'a> Term<'a> {
    pub(crate) fn listed(label: &'a str, scheme: &'static str, key: &'static str) -> Self {
        Self { label, listed: Some((scheme, key)) }
    }

    pub(crate) fn local(label: &'a str) -> Self {
        Self { label, listed: None }
    }

    pub(crate) fn scheme(&self) -> Option<&'static str> {
        self.listed.map(|(scheme, _)| scheme)
    }

    pub(crate) fn scheme_uri(&self) -> Option<String> {
        self.listed.map(|(scheme, _)| format!("{BASE}{scheme}"))
    }

    pub(crate) fn uri(&self) -> Option<String> {
        self.listed.map(|(scheme, key)| format!("{BASE}{scheme}/{key}"))
    }
}

/// How an act ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// As wanted.
    Success,
    /// Not as wanted.
    Failure,
    /// As wanted, with something to inspect.
    Warning,
    /// Another word.
    Other(String),
}

impl Outcome {
    pub(crate) fn term(&self) -> Term<'_> {
        match self {
            Self::Success => Term::listed("success", "eventOutcome", "suc"),
            Self::Failure => Term::listed("fail", "eventOutcome", "fai"),
            Self::Warning => Term::listed("warning", "eventOutcome", "war"),
            Self::Other(label) => Term::local(label),
        }
    }
}

impl From<&str> for Outcome {
    /// Takes the words that records and other systems use, in any letter case.
    fn from(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "success" | "succeeded" | "pass" | "passed" => Self::Success,
            "fail" | "failure" | "failed" => Self::Failure,
            "warning" | "warn" => Self::Warning,
            _ => Self::Other(word.to_owned()),
        }
    }
}

/// What an agent had to do with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentRole {
    /// Allowed it.
    Authorizer,
    /// The program that did it.
    ExecutingProgram,
    /// Did it, or had it done.
    Implementer,
}

impl AgentRole {
    pub(crate) fn term(self) -> Term<'static> {
        match self {
            Self::Authorizer => Term::listed("authorizer", "eventRelatedAgentRole", "aut"),
            Self::ExecutingProgram => Term::listed("executing program", "eventRelatedAgentRole", "exe"),
            Self::Implementer => Term::listed("implementer", "eventRelatedAgentRole", "imp"),
        }
    }
}

/// The term of a digest algorithm. SHA-224 and SHA-3 are not in the vocabulary and keep their names.
pub(crate) fn algorithm(algorithm: Algorithm) -> Term<'static> {
    const SCHEME: &str = "cryptographicHashFunctions";
    match algorithm {
        Algorithm::Md5 => Term::listed("MD5", SCHEME, "md5"),
        Algorithm::Sha1 => Term::listed("SHA-1", SCHEME, "sha1"),
        Algorithm::Sha256 => Term::listed("SHA-256", SCHEME, "sha256"),
        Algorithm::Sha384 => Term::listed("SHA-384", SCHEME, "sha384"),
        Algorithm::Sha512 => Term::listed("SHA-512", SCHEME, "sha512"),
        Algorithm::Sha224 => Term::local("SHA-224"),
        Algorithm::Sha3_224 => Term::local("SHA3-224"),
        Algorithm::Sha3_256 => Term::local("SHA3-256"),
        Algorithm::Sha3_384 => Term::local("SHA3-384"),
        Algorithm::Sha3_512 => Term::local("SHA3-512"),
        other => Term::local(other.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_words_of_other_systems_are_understood() {
        assert_eq!(Outcome::from("Success"), Outcome::Success);
        assert_eq!(Outcome::from("Failed"), Outcome::Failure);
        assert_eq!(Outcome::from("WARN"), Outcome::Warning);
        assert_eq!(Outcome::from("attested"), Outcome::Other("attested".into()));
    }

    #[test]
    fn recorded_algorithms_have_uris() {
        for recorded in Algorithm::RECORDED {
            assert!(algorithm(recorded).uri().is_some(), "{recorded}");
        }
    }
}
