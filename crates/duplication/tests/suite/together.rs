//! Cycles that the policies of several institutions form together.

use strongroom_duplication::{Draft, Lookup, shared_cycles};

fn lookup(text: &str) -> Lookup {
    let (draft, problems) = Draft::read(text.as_bytes());
    assert_eq!(problems, [], "{text}");
    Lookup::new(draft.into_policy())
}

fn rule(from: &str, to: &str) -> String {
    format!("[{{ source = \"{from}\", destination = \"{to}\" }}]")
}

/// The cycles of a policy with others, as lines.
fn found(own: &str, others: &[(&str, &str)]) -> Vec<String> {
    let others: Vec<(&str, Lookup)> = others.iter().map(|(name, text)| (*name, lookup(text))).collect();
    let others: Vec<(&str, &Lookup)> = others.iter().map(|(name, lookup)| (*name, lookup)).collect();
    let line = |cycle: &strongroom_duplication::SharedCycle| {
        format!("{}: {} with {}", cycle.space, cycle.stores.join(" -> "), cycle.others.join(", "))
    };
    shared_cycles(&lookup(own), &others).iter().map(line).collect()
}

#[test]
fn opposite_directions_of_the_same_space_are_a_cycle() {
    let of =
        |space: &str, from: &str, to: &str| format!("spaces = [{{ space = \"{space}\", rules = {} }}]", rule(from, to));
    let maps = of("maps", "disk", "cloud");
    assert_eq!(found(&maps, &[("b.edu", &of("maps", "cloud", "disk"))]), ["maps: cloud -> disk -> cloud with b.edu"]);
    assert_eq!(found(&maps, &[("b.edu", &of("m*", "cloud", "disk"))]), ["maps: cloud -> disk -> cloud with b.edu"]);
    assert_eq!(found(&of("maps-*", "disk", "cloud"), &[("b.edu", &of("*-old", "cloud", "disk"))]).len(), 1);
    // Of other spaces, or in the same direction, it is none.
    assert_eq!(found(&maps, &[("b.edu", &of("letters", "cloud", "disk"))]), [""; 0]);
    assert_eq!(found(&maps, &[("b.edu", &of("maps", "disk", "cloud"))]), [""; 0]);
    assert_eq!(found(&of("maps-*", "disk", "cloud"), &[("b.edu", &of("letters-*", "cloud", "disk"))]), [""; 0]);
}

#[test]
fn default_rules_ignored_spaces_and_longer_ways_count() {
    let default = |from: &str, to: &str| format!("default = {}\n", rule(from, to));
    let own = default("disk", "cloud");
    assert_eq!(found(&own, &[("b.edu", &default("cloud", "disk"))]).len(), 1);
    let ignoring = format!("ignore = [\"*\"]\n{}", default("cloud", "disk"));
    assert_eq!(found(&own, &[("b.edu", &ignoring)]), [""; 0]);
    assert_eq!(
        found(&own, &[("b.edu", &default("cloud", "tape")), ("c.edu", &default("tape", "disk"))]),
        ["any-other-space: cloud -> tape -> disk -> cloud with b.edu, c.edu"]
    );
    // A cycle of its own rules is no cycle of others.
    let both =
        "default = [{ source = \"disk\", destination = \"cloud\" }, { source = \"cloud\", destination = \"disk\" }]";
    assert_eq!(found(both, &[("b.edu", &default("tape", "disk"))]), [""; 0]);
}

#[test]
fn many_patterns_are_compared_within_bounds() {
    let many = |from: &str, to: &str| -> String {
        let entry = |number| format!("[[spaces]]\nspace = \"*a{number}*\"\nrules = {}\n", rule(from, to));
        (0..1_000).map(entry).collect()
    };
    let cycles = found(&many("disk", "cloud"), &[("b.edu", &many("cloud", "disk"))]);
    assert_eq!(cycles.len(), 1, "{cycles:?}");
}
