//! Everything that can be wrong with a policy is found at once, with its place and what to do.

use std::collections::BTreeMap;

use strongroom_duplication::{Draft, Policy, Problem, Severity, StoreUse};

fn stores() -> BTreeMap<String, StoreUse> {
    let plain = ["disk", "cloud", "tape"].map(|name| (name.to_owned(), StoreUse::Plain));
    plain.into_iter().chain([("primary".to_owned(), StoreUse::Managed)]).collect()
}

fn line(problem: &Problem) -> String {
    let line = problem.line.map(|line| format!("{line}: ")).unwrap_or_default();
    let place = problem.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    format!("{line}{place}{} [{}]", problem.problem, problem.code)
}

fn unreadable(text: &str) -> Vec<String> {
    let (_, problems) = Draft::read(text.as_bytes());
    assert!(problems.iter().all(|problem| problem.is_error() && !problem.next.is_empty()));
    problems.iter().map(line).collect()
}

fn checked(text: &str, severity: Severity) -> Vec<String> {
    let (draft, problems) = Draft::read(text.as_bytes());
    assert_eq!(problems, [], "{text}");
    let problems = draft.check(&stores());
    assert!(problems.iter().all(|problem| !problem.next.is_empty()));
    problems.iter().filter(|problem| problem.severity == severity).map(line).collect()
}

#[test]
fn everything_that_cannot_be_read_is_found_at_once() {
    let text = r#"based_on = "two"
ignored = []
ignore = ["a**", 3]
default = []

[[spaces]]
space = "a//b"
rules = "nothing"

[[spaces]]
space = "maps"
rule = "none"
rules = [{ source = "disk", destination = 3, delete = "yes", to = "cloud" }, 7]

[[spaces]]
rules = "none"

[[spaces]]
space = "letters"
"#;
    assert_eq!(
        unreadable(text),
        [
            "1: based_on is no number of a version [not_a_version]",
            "2: the key \"ignored\" is unknown [unknown_key]",
            "3: ignore: \"a**\" is no pattern: it has ** beside other characters [not_a_glob]",
            "3: ignore: it is no text [not_a_text]",
            "4: default: the list of rules is empty, which does not say whether nothing is to be copied [empty_rules]",
            "7: spaces 1: \"a//b\" is no pattern: it has an empty segment [not_a_glob]",
            "8: spaces 1: these are no rules [not_rules]",
            "12: spaces 2 (maps): the key \"rule\" is unknown [unknown_key]",
            "13: spaces 2 (maps), rule 1: the key \"to\" is unknown [unknown_key]",
            "13: spaces 2 (maps), rule 1: it is no text [not_a_text]",
            "13: spaces 2 (maps), rule 1: its delete is neither true nor false [not_a_boolean]",
            "13: spaces 2 (maps), rule 2: it is no rule [not_a_table]",
            "15: spaces 3: it has no space [missing_key]",
            "18: spaces 4 (letters): it has no rules [missing_key]",
        ]
    );
    let (_, problems) = Draft::read(b"default = []");
    assert!(problems.first().is_some_and(|problem| problem.next.contains("\"none\"")), "{problems:?}");
}

#[test]
fn what_is_readable_is_checked_whatever_stands_beside_it() {
    let text = r#"[[spaces]]
space = "a**"
rules = [{ source = "disk", destination = "tpae" }, { source = "disk", destination = "disk" }]

[[spaces]]
space = "a/b"
rules = []

[[spaces]]
space = "maps"
rules = [
  { source = "dsik", destination = 3 },
  { source = "disk", destination = "primary", delete = "yes" },
]
"#;
    let (draft, unreadable) = Draft::read(text.as_bytes());
    let found = draft.check(&stores());
    let errors: Vec<String> = unreadable.iter().chain(&found).filter(|problem| problem.is_error()).map(line).collect();
    assert_eq!(
        errors,
        [
            "2: spaces 1: \"a**\" is no pattern: it has ** beside other characters [not_a_glob]",
            "7: spaces 2 (a/b): the list of rules is empty, which does not say whether nothing is to be copied [empty_rules]",
            "12: spaces 3 (maps), rule 1: it is no text [not_a_text]",
            "13: spaces 3 (maps), rule 2: its delete is neither true nor false [not_a_boolean]",
            "3: spaces 1, rule 1: there is no store \"tpae\", the destination [unknown_store]",
            "3: spaces 1, rule 2: the source disk is the destination, too [same_store]",
            "6: spaces 2 (a/b): a/b matches no space: the name of a space has no slash [cannot_match]",
            "12: spaces 3 (maps), rule 1: there is no store \"dsik\", the source [unknown_store]",
            "13: spaces 3 (maps), rule 2: the destination primary is no plain store [not_plain]",
        ]
    );
}

#[test]
fn what_is_no_policy_at_all_is_refused() {
    for (text, expected) in [
        ("ignore = 3", "1: ignore: it is no list [not_a_list]"),
        ("spaces = 3", "1: it is no list [not_a_list]"),
        ("spaces = [3]", "1: spaces 1: it is no table [not_a_table]"),
        ("default = 3", "1: default: these are no rules [not_rules]"),
    ] {
        assert_eq!(unreadable(text), [expected], "{text}");
    }
    let broken = unreadable("ignore = [\n\"a\"\ndefault = 1");
    assert!(broken.len() == 1 && broken[0].contains("[not_toml]"), "{broken:?}");
    assert!(Draft::read(b"\xff").1[0].problem.contains("UTF-8"));
    assert!(Draft::read(&vec![b'#'; (4 << 20) + 1]).1[0].problem.contains("longer than"));
    let many = "ignore = [".to_owned() + &"\"a\", ".repeat(10_001) + "]";
    assert!(unreadable(&many)[0].contains("10001 entries"));
}

#[test]
fn everything_that_is_wrong_with_what_it_means_is_found_at_once() {
    let text = r#"ignore = [
  "x-*",
  "x-*",
  "a/b",
]
default = [
  { source = "disk", destination = "disk" },
  { source = "disk", destination = "cluod" },
  { source = "primary", destination = "cloud" },
  { source = "disk", destination = "cloud" },
  { source = "disk", destination = "cloud", delete = true },
]

[[spaces]]
space = "x-admin*"
rules = "none"

[[spaces]]
space = "maps"
rules = "none"

[[spaces]]
space = "maps"
rules = [{ source = "disk", destination = "primary" }]

[[spaces]]
space = "**"
rules = "none"
"#;
    assert_eq!(
        checked(text, Severity::Error),
        [
            "3: ignore: x-* is there twice [duplicate]",
            "4: ignore: a/b matches no space: the name of a space has no slash [cannot_match]",
            "7: default, rule 1: the source disk is the destination, too [same_store]",
            "8: default, rule 2: there is no store \"cluod\", the destination [unknown_store]",
            "9: default, rule 3: the source primary is no plain store [not_plain]",
            "11: default, rule 5: rule 4 copies disk -> cloud already [duplicate]",
            "15: spaces 1 (x-admin*): it never applies: x-* of ignore comes first [cannot_match]",
            "23: spaces 3 (maps): entry 2 has the same pattern [duplicate]",
            "24: spaces 3 (maps), rule 1: the destination primary is no plain store [not_plain]",
            "27: spaces 4 (**): ** matches no space: the name of a space has no slash [cannot_match]",
        ]
    );
    let (draft, _) = Draft::read(text.as_bytes());
    let unknown = draft.check(&stores()).into_iter().find(|problem| problem.code == "unknown_store").expect("found");
    assert_eq!(unknown.next, "name a plain store: cloud, disk, tape");
    assert!(draft.check(&BTreeMap::new()).iter().any(|problem| problem.next.contains("there is none")));
}

#[test]
fn a_name_that_is_too_long_for_a_space_matches_none() {
    let text = format!("default = \"none\"\nignore = [\"{}\", \"{}*\"]\n", "a".repeat(256), "a".repeat(255));
    let problems = checked(&text, Severity::Error);
    assert!(problems.len() == 1 && problems[0].contains("255 bytes at most"), "{problems:?}");
}

#[test]
fn a_cycle_is_noted_and_written_out() {
    let text = r#"default = [
  { source = "disk", destination = "cloud" },
  { source = "cloud", destination = "tape" },
  { source = "tape", destination = "disk" },
]
"#;
    assert_eq!(checked(text, Severity::Error), [""; 0]);
    assert_eq!(
        checked(text, Severity::Notice),
        ["1: default: the rules form a cycle: cloud -> tape -> disk -> cloud [cycle]"]
    );
    let chain = text.replace("{ source = \"tape\", destination = \"disk\" },", "");
    assert_eq!(checked(&chain, Severity::Notice), [""; 0]);
}

#[test]
fn a_destination_of_unrelated_sources_is_noted() {
    let text = r#"default = [
  { source = "disk", destination = "tape" },
  { source = "cloud", destination = "tape" },
]
"#;
    let noted = checked(text, Severity::Notice);
    assert!(noted.len() == 1 && noted[0].contains("tape gets copies from cloud and disk"), "{noted:?}");
    let related = text.replace(']', "  { source = \"disk\", destination = \"cloud\" },\n]");
    assert_eq!(checked(&related, Severity::Notice), [""; 0]);
}

#[test]
fn rules_that_delete_and_a_missing_default_are_noted() {
    let text =
        "[[spaces]]\nspace = \"maps\"\nrules = [{ source = \"disk\", destination = \"cloud\", delete = true }]\n";
    let noted = checked(text, Severity::Notice);
    assert!(
        noted.iter().any(|one| one.contains("[no_default]"))
            && noted.iter().any(|one| one.contains("[needs_approval]"))
    );
}

#[test]
fn the_problems_of_a_hostile_policy_are_bounded() {
    let text = format!("default = \"none\"\nignore = [{}]", "\"a/b\", ".repeat(5_000));
    let (draft, _) = Draft::read(text.as_bytes());
    let problems = draft.check(&stores());
    assert_eq!(problems.len(), 201);
    assert!(problems.last().expect("one").problem.contains("more problems"));
    let patterns: Vec<String> = (0..1_001).map(|number| format!("\"{number}*\"")).collect();
    let text = format!("default = \"none\"\nignore = [{}]", patterns.join(", "));
    assert!(checked(&text, Severity::Error)[0].contains("1001 entries with asterisks"));
}

#[test]
fn a_policy_that_was_written_nowhere_is_checked_alike() {
    let text = "default = [{ source = \"disk\", destination = \"disk\" }]";
    let (draft, _) = Draft::read(text.as_bytes());
    let policy: Policy = draft.into_policy();
    let problems = Draft::of(&policy).check(&stores());
    assert_eq!(
        problems.iter().map(line).collect::<Vec<_>>(),
        ["default, rule 1: the source disk is the destination, too [same_store]"]
    );
}
