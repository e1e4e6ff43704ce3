//! Policies come back from TOML and JSON as they were, and their differences are said in words.

use proptest::prelude::*;
use strongroom_duplication::{Draft, Glob, Policy, Rule, Rules, SpaceRules, changes};

fn rules() -> impl Strategy<Value = Rules> {
    let rule = ("[a-z\"\\\\\u{1}é]{1,5}", "[a-z]{1,5}", any::<bool>());
    let rule = rule.prop_map(|(source, destination, delete)| Rule { source, destination, delete });
    prop_oneof![Just(Rules::None), proptest::collection::vec(rule, 1..4).prop_map(Rules::Some)]
}

fn glob() -> impl Strategy<Value = Glob> {
    r#"([a-z"é]|\\\\|\\\*|\*[a-z]){1,6}"#.prop_map(|text| text.parse().expect("a pattern"))
}

fn policy() -> impl Strategy<Value = Policy> {
    let space = (glob(), rules()).prop_map(|(space, rules)| SpaceRules { space, rules });
    let parts = (
        proptest::collection::vec(glob(), 0..4),
        proptest::option::of(rules()),
        proptest::collection::vec(space, 0..4),
    );
    parts.prop_map(|(ignore, default, spaces)| Policy { ignore, default, spaces })
}

proptest! {
    #[test]
    fn a_policy_comes_back_from_toml_and_json(policy in policy(), version in proptest::option::of(1..1_000_u64)) {
        let text = policy.to_toml(version);
        let (draft, problems) = Draft::read(text.as_bytes());
        prop_assert_eq!(problems, [], "{}", text);
        prop_assert_eq!(draft.based_on(), version);
        prop_assert_eq!(&draft.into_policy(), &policy);
        prop_assert_eq!(&Policy::from_json(&policy.to_json()).expect("reads"), &policy);
        prop_assert_eq!(changes(&policy, &policy), Vec::<String>::new());
    }

    #[test]
    fn no_text_makes_reading_fail(text in ".{0,200}") {
        Draft::read(text.as_bytes());
        let _ = Policy::from_json(&text);
    }
}

fn read(text: &str) -> Policy {
    let (draft, problems) = Draft::read(text.as_bytes());
    assert_eq!(problems, []);
    draft.into_policy()
}

#[test]
fn kept_json_that_means_nothing_is_refused() {
    for text in [
        "",
        "[]",
        r#"{"defaults":"none"}"#,
        r#"{"default":[]}"#,
        r#"{"default":"nothing"}"#,
        r#"{"default":[{"source":"a","destination":"b","to":"c"}]}"#,
        r#"{"ignore":["a**"]}"#,
        r#"{"spaces":[{"space":"a"}]}"#,
    ] {
        assert!(Policy::from_json(text).is_err(), "{text}");
    }
    assert_eq!(Policy::from_json("{}").expect("reads"), Policy::default());
}

#[test]
fn a_policy_is_written_as_people_write_it() {
    let text = r#"based_on = 2
ignore = ["x-*"]
default = [
  { source = "disk", destination = "cloud" },
]

[[spaces]]
space = "maps-*"
rules = [
  { source = "disk", destination = "tape", delete = true },
]

[[spaces]]
space = "private"
rules = "none"
"#;
    assert_eq!(read(text).to_toml(Some(2)), text);
    assert!(read(text).deletes() && !Policy::default().deletes());
}

#[test]
fn what_differs_is_said_in_words() {
    let old = read(
        r#"ignore = ["x-*", "scratch"]
default = [{ source = "disk", destination = "cloud" }, { source = "disk", destination = "tape", delete = true }]
spaces = [{ space = "maps", rules = "none" }, { space = "letters", rules = "none" }]
"#,
    );
    let new = read(
        r#"ignore = ["tmp-*", "x-*"]
default = [{ source = "disk", destination = "cloud", delete = true }, { source = "cloud", destination = "tape" }]
spaces = [{ space = "maps", rules = [{ source = "disk", destination = "cloud" }] }, { space = "plans", rules = "none" }]
"#,
    );
    assert_eq!(
        changes(&old, &new),
        [
            "tmp-* is ignored",
            "scratch is not ignored any more",
            "default: copies cloud -> tape",
            "default: deletes disk -> cloud",
            "default: does not copy disk -> tape any more",
            "space maps: disk -> cloud in place of \"none\"",
            "space plans has rules of its own: \"none\"",
            "space letters has no rules of its own any more",
        ]
    );
    assert_eq!(changes(&Policy::default(), &read("default = \"none\"")), ["there are default rules: \"none\""]);
    assert_eq!(changes(&read("default = \"none\""), &Policy::default()), ["there are no default rules any more"]);
}
