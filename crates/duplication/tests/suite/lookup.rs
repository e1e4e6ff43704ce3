//! Look-ups beside a slow one that asks every entry, and the cases of DuraCloud.

use proptest::prelude::*;
use strongroom_duplication::{Applied, Glob, Lookup, Policy, Rule, Rules, SpaceRules};

use crate::globs::matches_slowly;

fn glob(text: &str) -> Glob {
    text.parse().expect(text)
}

fn rule(source: &str, destination: &str) -> Rule {
    Rule { source: source.to_owned(), destination: destination.to_owned(), delete: false }
}

fn own(space: &str, rules: Rules) -> SpaceRules {
    SpaceRules { space: glob(space), rules }
}

/// With the slow matcher.
fn is_match(pattern: &str, space: &str) -> bool {
    let (pattern, space): (Vec<char>, Vec<char>) = (pattern.chars().collect(), space.chars().collect());
    matches_slowly(&pattern, &space)
}

/// Whether one pattern comes before another one that matches, too, as the documentation says it.
fn is_before(one: &str, other: &str) -> bool {
    let facts = |text: &str| {
        let asterisks = text.matches('*').count();
        (asterisks, text.chars().count() - asterisks)
    };
    let ((one_asterisks, one_characters), (other_asterisks, other_characters)) = (facts(one), facts(other));
    if (one_asterisks == 0) != (other_asterisks == 0) {
        return one_asterisks == 0;
    }
    if one_characters != other_characters {
        return one_characters > other_characters;
    }
    if one_asterisks != other_asterisks {
        return one_asterisks < other_asterisks;
    }
    one < other
}

proptest! {
    #[test]
    fn a_space_has_the_rules_that_a_slow_look_up_finds(
        entries in proptest::collection::btree_set("[ab*]{1,4}", 0..8),
        ignored in proptest::collection::btree_set("[ab*]{2,4}", 0..3),
        has_default in any::<bool>(),
        space in "[ab]{1,6}",
    ) {
        let valid = |text: &&String| text.parse::<Glob>().is_ok();
        let entries: Vec<&String> = entries.iter().filter(valid).collect();
        let ignored: Vec<&String> = ignored.iter().filter(valid).collect();
        let policy = Policy {
            ignore: ignored.iter().map(|text| glob(text)).collect(),
            default: has_default.then(|| Rules::Some(vec![rule("default", "x")])),
            spaces: entries.iter().map(|text| own(text, Rules::Some(vec![rule(text, "x")]))).collect(),
        };
        let lookup = Lookup::new(policy);
        let mut best: Option<&str> = None;
        for entry in entries.iter().filter(|entry| is_match(entry, &space)) {
            if best.is_none_or(|best| is_before(entry, best)) {
                best = Some(entry);
            }
        }
        let expected: Vec<&str> = if ignored.iter().any(|one| is_match(one, &space)) {
            Vec::new()
        } else {
            best.or(has_default.then_some("default")).into_iter().collect()
        };
        let found: Vec<&str> = lookup.rules_for(&space).rules().iter().map(|rule| rule.source.as_str()).collect();
        prop_assert_eq!(found, expected);
        let matching: Vec<&str> = lookup.entries_for(&space).map(|entry| entry.space.as_str()).collect();
        prop_assert_eq!(matching.len(), entries.iter().filter(|entry| is_match(entry, &space)).count());
        prop_assert!(matching.windows(2).all(|two| is_before(two[0], two[1])));
    }
}

#[test]
fn an_unlisted_space_has_the_default_rules_and_an_ignored_one_none() {
    let lookup = Lookup::new(Policy {
        ignore: vec![glob("x-*"), glob("scratch")],
        default: Some(Rules::Some(vec![rule("0", "1")])),
        spaces: vec![
            own("maps-*", Rules::Some(vec![rule("0", "2")])),
            own("maps-2024", Rules::None),
            own("private", Rules::None),
        ],
    });
    let told = |space: &str| {
        let applied = lookup.rules_for(space);
        (applied.to_string(), applied.rules().iter().map(Rule::to_string).collect::<Vec<_>>().join(", "))
    };
    let expected = |why: &str, rules: &str| (why.to_owned(), rules.to_owned());
    assert_eq!(told("letters"), expected("by default", "0 -> 1"));
    assert_eq!(told("maps-2023"), expected("by the entry maps-*", "0 -> 2"));
    assert_eq!(told("maps-2024"), expected("\"none\" by the entry maps-2024", ""));
    assert_eq!(told("private"), expected("\"none\" by the entry private", ""));
    assert_eq!(told("x-snapshot-metadata"), expected("ignored by x-*", ""));
    assert_eq!(told("scratch"), expected("ignored by scratch", ""));
    assert_eq!(lookup.sources(), ["0"]);
    let entries: Vec<&str> = lookup.entries_for("maps-2024").map(|entry| entry.space.as_str()).collect();
    assert_eq!(entries, ["maps-2024", "maps-*"]);
}

#[test]
fn names_with_x_are_ignored_only_where_the_policy_says_so() {
    let default = Some(Rules::Some(vec![rule("0", "1")]));
    let lookup = Lookup::new(Policy { default, ..Policy::default() });
    assert_eq!(lookup.rules_for("x-duracloud-admin").rules().len(), 1);
    assert_eq!(Lookup::new(Policy::default()).rules_for("maps"), Applied::Nothing);
    let none = Lookup::new(Policy { default: Some(Rules::None), ..Policy::default() });
    assert_eq!(none.rules_for("maps"), Applied::Default(&Rules::None));
    assert_eq!(none.rules_for("maps").to_string(), "\"none\" by default");
}

#[test]
fn each_of_ten_rules_of_the_store_applies_to_a_change() {
    let mut rules: Vec<Rule> = (1..=10).map(|number| rule("0", &number.to_string())).collect();
    rules.push(rule("1", "0"));
    let lookup = Lookup::new(Policy { default: Some(Rules::Some(rules)), ..Policy::default() });
    assert_eq!(lookup.rules_from("0", "maps").count(), 10);
    assert_eq!(lookup.rules_from("2", "maps").count(), 0);
}

#[test]
fn what_is_compared_of_the_spaces_of_a_store_comes_one_by_one() {
    let lookup = Lookup::new(Policy {
        ignore: vec![glob("x-*")],
        default: Some(Rules::Some(vec![rule("0", "1"), rule("1", "2")])),
        spaces: vec![own("private", Rules::None), own("maps", Rules::Some(vec![rule("0", "1"), rule("0", "2")]))],
    });
    let pairs = |source: &str| -> Vec<String> {
        let of = |space: &'static str| lookup.rules_from(source, space).map(move |rule| format!("{space}: {rule}"));
        ["letters", "maps", "private", "x-admin"].into_iter().flat_map(of).collect()
    };
    assert_eq!(lookup.sources(), ["0", "1"]);
    assert_eq!(pairs("0"), ["letters: 0 -> 1", "maps: 0 -> 1", "maps: 0 -> 2"]);
    assert_eq!(pairs("1"), ["letters: 1 -> 2"]);
}
