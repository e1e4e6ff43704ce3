//! What the rules of several policies come to together. Policies of other institutions name the same stores, and a space of one name is the
//! same space for all of them: where one copies it in one direction and another one back, each overwrites what the other has copied.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{Glob, Lookup, Rule};

/// The most cycles that are found.
const MOST_CYCLES: usize = 20;
/// The most pairs of patterns that are compared, and the most spaces. Beyond it, cycles are not found.
const MOST_PAIRS: usize = 100_000;
const MOST_SPACES: usize = 20_000;

/// A cycle that the rules of a policy form with those of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedCycle {
    /// A space that is copied so.
    pub space: String,
    /// The stores, the first one again at the end.
    pub stores: Vec<String>,
    /// The names of the others whose rules it needs, in order.
    pub others: Vec<String>,
}

/// Cycles of which at least one rule is of this policy and one of another, each with a space as an example; of those that have the same stores
/// and the same others, the first one. Spaces are those that policies name, and for each pattern one that it matches.
pub fn shared_cycles(own: &Lookup, others: &[(&str, &Lookup)]) -> Vec<SharedCycle> {
    let others: Vec<(&str, &Lookup)> = concerned(own, others);
    let mut found: BTreeMap<(Vec<String>, Vec<String>), String> = BTreeMap::new();
    for space in spaces(own, &others) {
        let mine: Vec<&Rule> = own.rules_for(&space).rules().iter().collect();
        if mine.is_empty() {
            continue;
        }
        let theirs: Vec<(&str, &Rule)> = others
            .iter()
            .flat_map(|(name, lookup)| lookup.rules_for(&space).rules().iter().map(|rule| (*name, rule)))
            .collect();
        for (stores, names) in cycles(&mine, &theirs) {
            found.entry((stores, names)).or_insert_with(|| space.clone());
        }
        if found.len() >= MOST_CYCLES {
            break;
        }
    }
    let cycle = |((stores, others), space)| SharedCycle { space, stores, others };
    found.into_iter().map(cycle).take(MOST_CYCLES).collect()
}

/// Those whose rules can be part of a cycle, whatever spaces they are about.
fn concerned<'o>(own: &Lookup, others: &[(&'o str, &'o Lookup)]) -> Vec<(&'o str, &'o Lookup)> {
    let rules = || own.policy().rules().chain(others.iter().flat_map(|(_, lookup)| lookup.policy().rules()));
    let edges: BTreeSet<(&str, &str)> = rules().map(|rule| (rule.source.as_str(), rule.destination.as_str())).collect();
    let reached = |start: BTreeSet<&str>, is_back: bool| {
        let mut from: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (source, destination) in &edges {
            let (one, other) = if is_back { (*destination, *source) } else { (*source, *destination) };
            from.entry(one).or_default().push(other);
        }
        let (mut found, mut open): (BTreeSet<&str>, Vec<&str>) = (start.clone(), start.into_iter().collect());
        while let Some(store) = open.pop() {
            for next in from.get(store).into_iter().flatten() {
                if found.insert(next) {
                    open.push(next);
                }
            }
        }
        found.into_iter().map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let behind = reached(own.policy().rules().map(|rule| rule.destination.as_str()).collect(), false);
    let before = reached(own.policy().rules().map(|rule| rule.source.as_str()).collect(), true);
    let is_between = |rule: &Rule| behind.contains(&rule.source) && before.contains(&rule.destination);
    others.iter().filter(|(_, lookup)| lookup.policy().rules().any(is_between)).copied().collect()
}

/// Names of spaces, one for each way in which entries of policies can apply.
fn spaces(own: &Lookup, others: &[(&str, &Lookup)]) -> BTreeSet<String> {
    if others.is_empty() {
        return BTreeSet::new();
    }
    let globs = |lookup: &'_ Lookup| -> Vec<Glob> {
        let policy = lookup.policy();
        let named = policy.spaces.iter().map(|entry| entry.space.clone());
        named.filter(Glob::is_name).collect()
    };
    let mine = globs(own);
    let theirs: Vec<Glob> = others.iter().flat_map(|(_, lookup)| globs(lookup)).collect();
    let is_pattern = |glob: &&Glob| glob.as_literal().is_none();
    // What no entry names has the default rules.
    let mut spaces: BTreeSet<String> = BTreeSet::from(["any-other-space".to_owned()]);
    spaces.extend(mine.iter().chain(&theirs).filter_map(|glob| glob.example(None)));
    let patterns: Vec<&Glob> = theirs.iter().filter(is_pattern).collect();
    let pairs = mine.iter().filter(is_pattern).flat_map(|one| patterns.iter().map(move |other| (one, *other)));
    spaces.extend(pairs.take(MOST_PAIRS).filter_map(|(one, other)| one.example(Some(other))));
    spaces.into_iter().take(MOST_SPACES).collect()
}

/// The shortest way back for each own rule, where it needs rules of others: its stores and these others.
fn cycles(mine: &[&Rule], theirs: &[(&str, &Rule)]) -> Vec<(Vec<String>, Vec<String>)> {
    // Own rules first: where they lead back alone, it is no cycle of others.
    let mut edges: BTreeMap<&str, Vec<(&str, Option<&str>)>> = BTreeMap::new();
    for rule in mine {
        edges.entry(&rule.source).or_default().push((&rule.destination, None));
    }
    for (name, rule) in theirs {
        edges.entry(&rule.source).or_default().push((&rule.destination, Some(name)));
    }
    let mut found = Vec::new();
    for rule in mine {
        let (start, end) = (rule.destination.as_str(), rule.source.as_str());
        let mut before: BTreeMap<&str, (&str, Option<&str>)> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(store) = open.pop_front() {
            for (next, name) in edges.get(store).into_iter().flatten() {
                if *next != start && !before.contains_key(next) {
                    before.insert(next, (store, *name));
                    open.push_back(next);
                }
            }
        }
        let (mut stores, mut names, mut at) = (vec![end.to_owned()], BTreeSet::new(), end);
        while let Some((store, name)) = before.get(at) {
            stores.push((*store).to_owned());
            names.extend(name.map(str::to_owned));
            at = store;
        }
        if at != start || names.is_empty() {
            continue;
        }
        // From the first store by name, so that one cycle is written in one way.
        stores.reverse();
        let first = stores.iter().enumerate().min_by_key(|(_, store)| *store).map_or(0, |(index, _)| index);
        stores.rotate_left(first);
        stores.extend(stores.first().cloned());
        found.push((stores, names.into_iter().collect()));
    }
    found
}
