//! Which rules of a policy apply to a space.

use std::collections::HashMap;
use std::fmt;

use crate::{Glob, Policy, Rule, Rules, SpaceRules};

/// A policy, arranged for questions about spaces.
#[derive(Debug, Clone)]
pub struct Lookup {
    policy: Policy,
    /// The entries whose patterns are names, by these.
    named: HashMap<String, usize>,
    /// The other entries, the most specific first.
    patterns: Vec<usize>,
    /// The ignored names and their places.
    ignored: HashMap<String, usize>,
    /// The places of the other ignored patterns.
    ignored_patterns: Vec<usize>,
}

/// Why a space has the rules that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied<'p> {
    /// It is ignored, by this pattern.
    Ignored(&'p Glob),
    /// It has rules of its own, by the most specific pattern that matches.
    Own(&'p SpaceRules),
    /// It has the default rules.
    Default(&'p Rules),
    /// No entry matches, and there are no default rules.
    Nothing,
}

impl<'p> Applied<'p> {
    /// The rules; none where nothing is copied.
    pub fn rules(self) -> &'p [Rule] {
        match self {
            Self::Ignored(_) | Self::Nothing => &[],
            Self::Own(entry) => entry.rules.as_slice(),
            Self::Default(rules) => rules.as_slice(),
        }
    }
}

/// Why, as a part of a sentence: `by the entry maps-*`.
impl fmt::Display for Applied<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ignored(glob) => write!(formatter, "ignored by {glob}"),
            Self::Own(entry) if entry.rules == Rules::None => {
                write!(formatter, "\"none\" by the entry {}", entry.space)
            }
            Self::Own(entry) => write!(formatter, "by the entry {}", entry.space),
            Self::Default(Rules::None) => formatter.write_str("\"none\" by default"),
            Self::Default(_) => formatter.write_str("by default"),
            Self::Nothing => formatter.write_str("no entry matches, and there are no default rules"),
        }
    }
}

impl Lookup {
    /// Arranges a policy.
    pub fn new(policy: Policy) -> Self {
        let (named, mut patterns) = split(policy.spaces.iter().map(|entry| &entry.space));
        let (ignored, ignored_patterns) = split(policy.ignore.iter());
        let specificity = |index: &usize| policy.spaces.get(*index).map(|entry| entry.space.specificity());
        patterns.sort_by(|one, other| specificity(one).cmp(&specificity(other)));
        Self { policy, named, patterns, ignored, ignored_patterns }
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The rules of a space, and why it has these: none where it is ignored; else those of the most specific entry that matches its name;
    /// else the default ones.
    pub fn rules_for(&self, space: &str) -> Applied<'_> {
        let ignored = self.ignored.get(space).and_then(|index| self.policy.ignore.get(*index));
        let by_pattern = || {
            self.ignored_patterns
                .iter()
                .filter_map(|index| self.policy.ignore.get(*index))
                .find(|glob| glob.matches(space))
        };
        if let Some(glob) = ignored.or_else(by_pattern) {
            return Applied::Ignored(glob);
        }
        match (self.entries_for(space).next(), &self.policy.default) {
            (Some(entry), _) => Applied::Own(entry),
            (None, Some(rules)) => Applied::Default(rules),
            (None, None) => Applied::Nothing,
        }
    }

    /// The entries that match the name of a space, the most specific first. Only the first one applies.
    pub fn entries_for(&self, space: &str) -> impl Iterator<Item = &SpaceRules> {
        let named = self.named.get(space).and_then(|index| self.policy.spaces.get(*index));
        let by_pattern = self.patterns.iter().filter_map(|index| self.policy.spaces.get(*index));
        named.into_iter().chain(by_pattern.filter(move |entry| entry.space.matches(space)))
    }

    /// The rules that copy a space from this store: a change in it makes one task for each.
    pub fn rules_from<'p>(&'p self, source: &'p str, space: &str) -> impl Iterator<Item = &'p Rule> {
        self.rules_for(space).rules().iter().filter(move |rule| rule.source == source)
    }

    /// The stores from which rules copy, in order.
    pub fn sources(&self) -> Vec<&str> {
        let mut sources: Vec<&str> = self.policy.rules().map(|rule| rule.source.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// The stores to which rules copy, in order.
    pub fn destinations(&self) -> Vec<&str> {
        let mut destinations: Vec<&str> = self.policy.rules().map(|rule| rule.destination.as_str()).collect();
        destinations.sort_unstable();
        destinations.dedup();
        destinations
    }
}

/// The patterns that are names by these, and the places of the others. Of two equal ones the first counts.
fn split<'g>(globs: impl Iterator<Item = &'g Glob>) -> (HashMap<String, usize>, Vec<usize>) {
    let (mut named, mut patterns) = (HashMap::new(), Vec::new());
    for (index, glob) in globs.enumerate() {
        match glob.as_literal() {
            Some(name) => {
                named.entry(name).or_insert(index);
            }
            None => patterns.push(index),
        }
    }
    (named, patterns)
}
