//! What the end and the output of a tool mean.

use strongroom_tool::{End, Outcome, Run};

use crate::place::Place;

const RULES: &str = r#"
rules = [
  { exit = [0], outcome = "pass" },
  { exit = [2], matches = "(?i)server is away", outcome = "transient" },
  { exit = [1, 2], outcome = "fail" },
]
"#;

fn run(script: &str, more: &str) -> Run {
    let place = Place::new();
    place.run(place.shell(script, more))
}

#[test]
fn exit_codes_mean_what_the_first_rule_says_that_applies() {
    for (script, outcome, message) in [
        ("echo all well", Outcome::Pass, ""),
        ("echo found; exit 1", Outcome::Fail, "found"),
        ("exit 1", Outcome::Fail, "it ended with exit code 1"),
        ("echo out; echo The Server Is Away >&2; exit 2", Outcome::Transient, "The Server Is Away"),
        ("exit 2", Outcome::Fail, "it ended with exit code 2"),
        ("exit 3", Outcome::Error, "it ended with exit code 3, for which no rule applies"),
        ("echo why >&2; exit 3", Outcome::Error, "it ended with exit code 3, for which no rule applies: why"),
    ] {
        let run = run(script, RULES);
        assert_eq!((run.outcome, run.message.as_str()), (outcome, message), "{script}");
    }
}

#[test]
fn without_rules_zero_is_a_pass_and_the_rest_an_error() {
    assert_eq!(run("exit 0", "").outcome, Outcome::Pass);
    assert_eq!(run("exit 1", "").outcome, Outcome::Error);
}

#[test]
fn a_tool_that_ends_by_a_signal_could_not_tell() {
    let run = run("kill -SEGV $$", RULES);
    assert_eq!((run.outcome, run.end, run.limit), (Outcome::Error, End::Signaled(libc::SIGSEGV), None));
    assert_eq!(run.message, "it was ended by signal 11");
}

#[test]
fn output_that_is_no_text_becomes_printable_and_is_kept_as_it_came() {
    let run = run(r"printf '\377\376 \033[2J bad\n'; exit 1", RULES);
    assert_eq!(run.message, "\u{fffd}\u{fffd} \u{fffd}[2J bad");
    assert_eq!(run.stdout, b"\xff\xfe \x1b[2J bad\n");
    let run = self::run("head -c 100000 /dev/zero | tr '\\0' x; exit 1", RULES);
    assert_eq!(run.message.chars().count(), 500);
    assert!(run.message.ends_with('…'));
}

const JSON: &str = r#"
rules = [
  { exit = [0], field = "valid", matches = "^true$", outcome = "pass" },
  { exit = [0], field = "valid", matches = "^false$", outcome = "fail" },
]
[output]
format = "json"
message = "problem"
fields = { valid = "/valid", problem = "/problems/*/text", pages = "/pages" }
"#;

#[test]
fn fields_of_json_decide() {
    let valid = run(r#"echo '{"valid": true, "pages": 3}'"#, JSON);
    assert_eq!((valid.outcome, valid.message.as_str()), (Outcome::Pass, ""));
    assert_eq!(valid.fields["pages"], ["3"]);
    let not = run(r#"echo '{"valid": false, "problems": [{"text": "first"}, {"text": "second"}]}'"#, JSON);
    assert_eq!((not.outcome, not.message.as_str()), (Outcome::Fail, "first"));
    assert_eq!(not.fields["problem"], ["first", "second"]);
    let neither = run("echo '{}'", JSON);
    assert_eq!(neither.outcome, Outcome::Error);
}

#[test]
fn a_pass_whose_output_cannot_be_read_is_an_error_and_a_finding_stays_one() {
    let more = format!("{RULES}\n[output]\nformat = \"json\"");
    let cut = run("echo '{\"valid\": tr'", &more);
    assert_eq!(cut.outcome, Outcome::Error);
    assert!(cut.message.starts_with("the output is no JSON"), "{}", cut.message);
    assert_eq!(run("echo '{\"valid\": tr'; exit 1", &more).outcome, Outcome::Fail);
    assert_eq!(run(r#"printf '{"a": "\377"}'"#, &more).outcome, Outcome::Error);
    let xml = format!("{RULES}\n[output]\nformat = \"xml\"");
    assert_eq!(run("echo '<a><b></a>'", &xml).outcome, Outcome::Error);
    assert_eq!(run("echo '<a><b/></a>'", &xml).outcome, Outcome::Pass);
}

#[test]
fn named_groups_are_fields_from_either_output() {
    let more = "[output]\nformat = \"pattern\"\nstream = \"stderr\"\npattern = '(?m)^(?P<key>\\w+)=(?P<value>.*)$'";
    let run = run("echo no=1; echo a=1 >&2; echo b=2 >&2", more);
    assert_eq!(run.fields["key"], ["a", "b"]);
    assert_eq!(run.fields["value"], ["1", "2"]);
}

#[test]
fn fields_are_bounded() {
    let more = "[output]\nformat = \"pattern\"\npattern = '(?m)^(?P<line>.+)$'";
    let run = run("i=0; while [ $i -lt 200 ]; do echo $i; i=$((i+1)); done", more);
    assert_eq!(run.fields["line"].len(), 100);
    let run = self::run("head -c 5000 /dev/zero | tr '\\0' x", more);
    assert_eq!(run.fields["line"][0].chars().count(), 1_000);
}

#[test]
fn a_tool_says_its_version() {
    let more = "version = { arguments = [\"-c\", \"echo Scanner 1.2/3 of today\"], pattern = 'Scanner (\\S+)' }";
    assert_eq!(run("exit 0", more).version.as_deref(), Some("1.2/3"));
    let more = "version = { arguments = [\"-c\", \"echo; echo first line; echo second\"] }";
    assert_eq!(run("exit 0", more).version.as_deref(), Some("first line"));
    let more = "version = { arguments = [\"-c\", \"exit 1\"] }";
    assert_eq!(run("exit 0", more).version, None);
}
