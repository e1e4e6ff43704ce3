//! What differs between two versions of a policy, in words.

use std::collections::BTreeMap;

use crate::{Policy, Rule, Rules};

/// What differs, a line for each change; none where both mean the same. The order of lists has no meaning.
pub fn changes(old: &Policy, new: &Policy) -> Vec<String> {
    let mut changes = Vec::new();
    let known = |policy: &Policy, glob| policy.ignore.contains(glob);
    for glob in new.ignore.iter().filter(|glob| !known(old, glob)) {
        changes.push(format!("{glob} is ignored"));
    }
    for glob in old.ignore.iter().filter(|glob| !known(new, glob)) {
        changes.push(format!("{glob} is not ignored any more"));
    }
    match (&old.default, &new.default) {
        (None, Some(rules)) => changes.push(format!("there are default rules: {}", listed(rules))),
        (Some(_), None) => changes.push("there are no default rules any more".to_owned()),
        (Some(before), Some(after)) => between("default", before, after, &mut changes),
        (None, None) => {}
    }
    let of = |policy: &Policy| -> BTreeMap<String, Rules> {
        policy.spaces.iter().map(|entry| (entry.space.to_string(), entry.rules.clone())).collect()
    };
    let (before, after) = (of(old), of(new));
    for (space, rules) in &after {
        match before.get(space) {
            None => changes.push(format!("space {space} has rules of its own: {}", listed(rules))),
            Some(known) => between(&format!("space {space}"), known, rules, &mut changes),
        }
    }
    for space in before.keys().filter(|space| !after.contains_key(*space)) {
        changes.push(format!("space {space} has no rules of its own any more"));
    }
    changes
}

fn between(what: &str, before: &Rules, after: &Rules, changes: &mut Vec<String>) {
    if (before == &Rules::None) != (after == &Rules::None) {
        changes.push(format!("{what}: {} in place of {}", listed(after), listed(before)));
        return;
    }
    let of = |rules: &Rules| -> BTreeMap<(String, String), bool> {
        let pair = |rule: &Rule| ((rule.source.clone(), rule.destination.clone()), rule.delete);
        rules.as_slice().iter().map(pair).collect()
    };
    let (before, after) = (of(before), of(after));
    for ((source, destination), delete) in &after {
        let pair = format!("{source} -> {destination}");
        match before.get(&(source.clone(), destination.clone())) {
            None if *delete => changes.push(format!("{what}: copies {pair}, with deletions")),
            None => changes.push(format!("{what}: copies {pair}")),
            Some(known) if known == delete => {}
            Some(_) if *delete => changes.push(format!("{what}: deletes {pair}")),
            Some(_) => changes.push(format!("{what}: does not delete {pair} any more")),
        }
    }
    for (source, destination) in before.keys().filter(|pair| !after.contains_key(*pair)) {
        changes.push(format!("{what}: does not copy {source} -> {destination} any more"));
    }
}

fn listed(rules: &Rules) -> String {
    match rules {
        Rules::None => "\"none\"".to_owned(),
        Rules::Some(rules) => rules.iter().map(Rule::to_string).collect::<Vec<_>>().join("; "),
    }
}
