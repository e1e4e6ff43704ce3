//! What is wrong with what a policy means: every problem at once.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::Glob;
use crate::draft::{DEFAULT, Draft, DraftRule, DraftRules, Lined, place};
use crate::policy::{LONGEST_SPACE, MOST_ENTRIES, MOST_PATTERNS, MOST_RULES};
use crate::problem::{Problem, Problems, Severity};

/// What a store of an installation is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreUse {
    /// Its spaces belong to others, who write to it.
    Plain,
    /// The installation itself keeps something in it.
    Managed,
}

impl Draft {
    /// Everything that is wrong with the policy, and what is easily overlooked in it, in the order of its lines; `stores` are those that
    /// the installation has.
    pub fn check(&self, stores: &BTreeMap<String, StoreUse>) -> Vec<Problem> {
        let mut checker = Checker { stores, problems: Problems::default() };
        checker.ignored(&self.ignore);
        checker.spaces(self);
        if let Some(rules) = &self.default {
            checker.rules(DEFAULT, rules);
        } else {
            let text = "there are no default rules: a space that no entry matches is not copied".to_owned();
            checker.tell(
                Severity::Notice,
                "no_default",
                None,
                None,
                text,
                "write default = \"none\" where that is meant",
            );
        }
        if self.deletes() {
            let text =
                "rules with delete = true delete nothing until a second person has approved this version".to_owned();
            checker.tell(
                Severity::Notice,
                "needs_approval",
                None,
                None,
                text,
                "another user approves it with \"strongroom duplicate policy approve VERSION\"",
            );
        }
        checker.problems.finish()
    }

    fn deletes(&self) -> bool {
        let of_spaces = self.spaces.iter().filter_map(|space| space.rules.as_ref());
        self.default
            .iter()
            .chain(of_spaces)
            .flat_map(|rules| rules.value.iter().flatten())
            .any(|rule| rule.value.delete == Some(true))
    }
}

struct Checker<'s> {
    stores: &'s BTreeMap<String, StoreUse>,
    problems: Problems,
}

impl Checker<'_> {
    fn tell(
        &mut self,
        severity: Severity,
        code: &'static str,
        line: Option<usize>,
        place: Option<&str>,
        problem: String,
        next: &str,
    ) {
        let (place, next) = (place.map(str::to_owned), next.to_owned());
        self.problems.add(Problem { severity, code, line, place, problem, next });
    }

    fn error(&mut self, code: &'static str, at: (Option<usize>, &str), problem: String, next: &str) {
        self.tell(Severity::Error, code, at.0, Some(at.1), problem, next);
    }

    fn ignored(&mut self, globs: &[Lined<Glob>]) {
        let mut seen = BTreeSet::new();
        self.not_too_many("ignore", globs.iter().map(|glob| &glob.value));
        for glob in globs {
            let at = (glob.line, "ignore");
            self.name(&glob.value, at);
            if !seen.insert(glob.value.as_str()) {
                self.error("duplicate", at, format!("{} is there twice", glob.value), "remove one of them");
            }
        }
    }

    /// The bounds keep what a look-up costs small, and a check of the whole policy.
    fn not_too_many<'g>(&mut self, place: &str, globs: impl Iterator<Item = &'g Glob> + Clone) {
        let entries = globs.clone().count();
        if entries > MOST_ENTRIES {
            let problem = format!("it has {entries} entries, and may have {MOST_ENTRIES}");
            self.error("too_many", (None, place), problem, "use patterns in place of single names");
        }
        let patterns = globs.filter(|glob| glob.as_literal().is_none()).count();
        if patterns > MOST_PATTERNS {
            let problem = format!("it has {patterns} entries with asterisks, and may have {MOST_PATTERNS}");
            self.error("too_many", (None, place), problem, "write several of them as one pattern");
        }
    }

    /// Whether a pattern can match the name of a space.
    fn name(&mut self, glob: &Glob, at: (Option<usize>, &str)) -> bool {
        let problem = if !glob.is_name() {
            format!("{glob} matches no space: the name of a space has no slash")
        } else if glob.shortest() > LONGEST_SPACE {
            format!("{glob} matches no space: the name of a space has {LONGEST_SPACE} bytes at most")
        } else {
            return true;
        };
        self.error("cannot_match", at, problem, "write the name of a space, or a pattern such as \"maps-*\"");
        false
    }

    fn spaces(&mut self, draft: &Draft) {
        self.not_too_many("spaces", draft.spaces.iter().filter_map(|entry| Some(&entry.space.as_ref()?.value)));
        let (literal, others): (Vec<_>, Vec<_>) =
            draft.ignore.iter().map(|glob| &glob.value).partition(|glob| glob.as_literal().is_some());
        let literal: HashMap<Option<String>, &Glob> =
            literal.into_iter().map(|glob| (glob.as_literal(), glob)).collect();
        let mut first: HashMap<&str, usize> = HashMap::new();
        for entry in &draft.spaces {
            let written = entry.space.as_ref().map(|space| space.value.as_str());
            let named = place(entry.number, written);
            if let Some(space) = &entry.space {
                let (glob, at) = (&space.value, (space.line, named.as_str()));
                if self.name(glob, at) {
                    let same = glob.as_literal().and_then(|text| literal.get(&Some(text)).copied());
                    let covering = same.or_else(|| others.iter().copied().find(|ignored| ignored.covers(glob)));
                    if let Some(ignored) = covering {
                        let problem = format!("it never applies: {ignored} of ignore comes first");
                        self.error("cannot_match", at, problem, "remove the entry, or what ignores it");
                    }
                }
                let number = *first.entry(glob.as_str()).or_insert(entry.number);
                if number != entry.number {
                    let problem = format!("entry {number} has the same pattern");
                    self.error("duplicate", at, problem, "write the rules of both in one entry");
                }
            }
            // What is wrong with its rules is wrong whatever its pattern is.
            if let Some(rules) = &entry.rules {
                self.rules(&named, rules);
            }
        }
    }

    fn rules(&mut self, place: &str, rules: &Lined<DraftRules>) {
        let Some(list) = &rules.value else { return };
        if list.len() > MOST_RULES {
            let problem = format!("it has {} rules, and may have {MOST_RULES}", list.len());
            self.error("too_many", (rules.line, place), problem, "write fewer rules");
            return;
        }
        if list.is_empty() {
            let problem = "the list of rules is empty".to_owned();
            self.error("empty_rules", (rules.line, place), problem, "write \"none\" where nothing is to be copied");
        }
        let mut pairs = BTreeMap::new();
        for (number, rule) in (1_usize..).zip(list) {
            let (line, rule) = (rule.line, &rule.value);
            let at = format!("{place}, rule {number}");
            let at = (line, at.as_str());
            if let Some(source) = &rule.source {
                self.store("source", source, at);
            }
            match (rule.stores(), &rule.destination) {
                (Some((source, destination)), _) if source == destination => {
                    let problem = format!("the source {source} is the destination, too");
                    self.error("same_store", at, problem, "name another destination, or remove the rule");
                }
                (_, Some(destination)) => self.store("destination", destination, at),
                (_, None) => {}
            }
            let Some((source, destination)) = rule.stores() else { continue };
            let first = *pairs.entry((source, destination)).or_insert(number);
            if first != number {
                let problem = format!("rule {first} copies {source} -> {destination} already");
                self.error("duplicate", at, problem, "remove one of them");
            }
        }
        self.graph(place, rules.line, list);
    }

    fn store(&mut self, what: &str, name: &str, at: (Option<usize>, &str)) {
        match self.stores.get(name) {
            Some(StoreUse::Plain) => {}
            Some(StoreUse::Managed) => {
                let problem = format!("the {what} {name} is no plain store");
                let next = "name a plain store; where copies of objects are kept is set with \"strongroom collection set \
                            NAME --placement\"";
                self.error("not_plain", at, problem, next);
            }
            None => {
                let plain: Vec<&str> = self
                    .stores
                    .iter()
                    .filter(|(_, used)| **used == StoreUse::Plain)
                    .map(|(name, _)| name.as_str())
                    .take(20)
                    .collect();
                let next = match plain.as_slice() {
                    [] => "add a plain store to strongroom.toml; there is none".to_owned(),
                    plain => format!("name a plain store: {}", plain.join(", ")),
                };
                self.error("unknown_store", at, format!("there is no store {name:?}, the {what}"), &next);
            }
        }
    }

    /// Notes cycles, and destinations whose sources have nothing in common.
    fn graph(&mut self, place: &str, line: Option<usize>, list: &[Lined<DraftRule>]) {
        let edges: BTreeSet<(&str, &str)> = list
            .iter()
            .filter_map(|rule| rule.value.stores())
            .filter(|(source, destination)| source != destination)
            .collect();
        for cycle in cycles(&edges) {
            let problem = format!("the rules form a cycle: {}", cycle.join(" -> "));
            let next = "nothing has to be done: what is equal is not copied again, so a cycle ends";
            self.tell(Severity::Notice, "cycle", line, Some(place), problem, next);
        }
        let destinations: BTreeSet<&str> = edges.iter().map(|(_, destination)| *destination).collect();
        for destination in destinations {
            let into: Vec<&str> = edges.iter().filter(|edge| edge.1 == destination).map(|edge| edge.0).collect();
            let origins: Vec<BTreeSet<&str>> = into.iter().map(|source| reached(&edges, source, true)).collect();
            let unrelated = origins.iter().zip(&into).enumerate().find_map(|(index, (of_one, one))| {
                let others = origins.iter().zip(&into).skip(index + 1);
                others.filter(|(of_other, _)| of_one.is_disjoint(of_other)).map(|(_, other)| (*one, *other)).next()
            });
            if let Some((one, other)) = unrelated {
                let problem = format!(
                    "{destination} gets copies from {one} and {other}, which have no source in common: a key that differs in \
                     them is written again and again"
                );
                self.tell(Severity::Notice, "several_sources", line, Some(place), problem, "copy from one of them");
            }
        }
    }
}

/// A store and all from which (`back`) or to which something is copied from it.
fn reached<'e>(edges: &BTreeSet<(&'e str, &'e str)>, start: &'e str, back: bool) -> BTreeSet<&'e str> {
    let (mut found, mut open) = (BTreeSet::from([start]), vec![start]);
    while let Some(one) = open.pop() {
        for (source, destination) in edges {
            let (from, to) = if back { (destination, source) } else { (source, destination) };
            if *from == one && found.insert(to) {
                open.push(to);
            }
        }
    }
    found
}

/// One cycle of each set of stores that reach one another: the shortest through the first of them by name, which is written at both ends.
fn cycles<'e>(edges: &BTreeSet<(&'e str, &'e str)>) -> Vec<Vec<&'e str>> {
    let (mut cycles, mut done): (Vec<Vec<&str>>, BTreeSet<&str>) = (Vec::new(), BTreeSet::new());
    for start in edges.iter().map(|(source, _)| *source) {
        if done.contains(start) {
            continue;
        }
        // Breadth first, with the store before each.
        let (mut before, mut open) = (BTreeMap::new(), VecDeque::from([start]));
        while let Some(one) = open.pop_front() {
            for (_, to) in edges.iter().filter(|(source, _)| *source == one) {
                if let Entry::Vacant(entry) = before.entry(*to) {
                    entry.insert(one);
                    open.push_back(to);
                }
            }
        }
        let mut cycle = vec![start];
        let mut at = start;
        while let Some(one) = before.get(at) {
            cycle.push(one);
            at = one;
            if at == start {
                break;
            }
        }
        if cycle.len() > 1 {
            cycle.reverse();
            cycles.push(cycle);
            let back = reached(edges, start, true);
            done.extend(reached(edges, start, false).intersection(&back));
        }
    }
    cycles
}
