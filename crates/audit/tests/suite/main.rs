//! Chains as they are written, and everything that can be done to one: each is found, and the first entry that does not hold is named.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use strongroom_audit::{AuditError, Broken, Fault, Head, LONGEST_LINE, Link, Range, Sha256, Verifier};

mod files;

const CHAIN: &str = "example.edu";
const TIME: &str = "2026-05-04T09:30:00Z";

fn body(number: usize) -> Map<String, Value> {
    json!({"act": "items.hold", "actor": "ann@example.edu", "target": format!("example.edu/letters-{number}"), "detail": "Grüße \u{20ac} \"\\\n"})
        .as_object()
        .expect("an object")
        .clone()
}

/// A chain with its link behind each entry.
fn chain(name: &str, entries: usize) -> (Vec<String>, Vec<Link>) {
    let (mut lines, mut links) = (Vec::new(), vec![Link::start(name)]);
    for number in 1..=entries {
        let (line, link) = links[number - 1].append(TIME, &body(number)).expect("appends");
        lines.push(line);
        links.push(link);
    }
    (lines, links)
}

/// A head of a link, of which the range does not matter.
fn head(link: &Link) -> Head {
    let range = Range { first: 1, previous: Sha256::NOTHING, bytes: 0, sha256: Sha256::NOTHING };
    Head::of(link, range, TIME)
}

fn verify<L: AsRef<[u8]>>(lines: &[L], heads: &[Head]) -> Result<Link, Broken> {
    let mut verifier = Verifier::new(heads.iter().cloned());
    lines.iter().try_for_each(|line| verifier.take(line.as_ref()))?;
    verifier.finish()
}

fn broken(sequence: u64, fault: Fault) -> Broken {
    Broken { sequence, fault }
}

#[test]
fn a_chain_is_written_in_the_canonical_form_and_verified() {
    let (lines, links) = chain(CHAIN, 3);
    assert!(lines[0].starts_with(
        "{\"act\":\"items.hold\",\"actor\":\"ann@example.edu\",\"chain\":\"example.edu\",\"detail\":\"Grüße € \\\"\\\\\\n\","
    ));
    assert!(lines[0].contains(&format!("\"previous\":\"{}\",\"sequence\":1", "0".repeat(64))));
    assert_eq!(verify(&lines, &[head(&links[2])]).expect("holds"), links[3]);
}

#[test]
fn an_entry_that_was_changed_is_named_by_the_one_behind_it_and_the_last_one_by_the_head() {
    let (lines, links) = chain(CHAIN, 5);
    let mut changed = lines.clone();
    changed[1] = changed[1].replace("letters-2", "letters-7");
    assert_eq!(verify(&changed, &[]), Err(broken(3, Fault::Previous)));
    let mut changed = lines.clone();
    changed[4] = changed[4].replace("letters-5", "letters-7");
    assert_eq!(verify(&changed, &[head(&links[5])]), Err(broken(5, Fault::Head)));
}

#[test]
fn entries_that_are_left_out_swapped_or_cut_off_are_found() {
    let (lines, links) = chain(CHAIN, 6);
    let mut dropped = lines.clone();
    dropped.remove(3);
    assert_eq!(verify(&dropped, &[]), Err(broken(4, Fault::Sequence(5))));
    let mut swapped = lines.clone();
    swapped.swap(2, 3);
    assert_eq!(verify(&swapped, &[]), Err(broken(3, Fault::Sequence(4))));
    assert!(verify(&lines[..4], &[]).is_ok(), "a chain does not know its own end");
    assert_eq!(verify(&lines[..4], &[head(&links[6])]), Err(broken(5, Fault::Cut(6))));
    assert_eq!(verify(&lines[..0], &[head(&links[6])]), Err(broken(1, Fault::Cut(6))));
}

#[test]
fn entries_of_another_chain_are_found() {
    let (lines, links) = chain(CHAIN, 4);
    let (others, _) = chain("test.edu", 4);
    let mixed = [&lines[..2], &others[2..]].concat();
    assert_eq!(verify(&mixed, &[]), Err(broken(3, Fault::Chain("test.edu".to_owned()))));
    // All of it, where a head says whose it is.
    assert_eq!(verify(&others, &[head(&links[1])]), Err(broken(1, Fault::Chain("test.edu".to_owned()))));
}

#[test]
fn a_chain_that_was_made_anew_from_its_middle_is_found_by_the_heads() {
    let (lines, links) = chain(CHAIN, 6);
    let mut forged = lines[..2].to_vec();
    let mut link = links[2].clone();
    for number in 3..=6 {
        let (line, next) = link.append(TIME, &body(number + 10)).expect("appends");
        forged.push(line);
        link = next;
    }
    assert!(verify(&forged, &[]).is_ok());
    let heads = [head(&links[2]), head(&links[4])];
    assert_eq!(verify(&forged, &heads), Err(broken(4, Fault::Head)));
}

#[test]
fn heads_that_contradict_each_other_are_found() {
    let (lines, links) = chain(CHAIN, 3);
    let forged = head(&Link::at(CHAIN, 2, Sha256([7; 32])));
    let real = head(&links[2]);
    assert_eq!(verify(&lines, &[forged, real.clone()]), Err(broken(2, Fault::Heads)));
    assert!(verify(&lines, &[real.clone(), real]).is_ok());
}

#[test]
fn a_part_of_a_chain_is_verified_behind_its_link() {
    let (lines, links) = chain(CHAIN, 5);
    let mut verifier = Verifier::new([head(&links[5])]).behind(links[3].clone());
    lines[3..].iter().try_for_each(|line| verifier.take(line.as_bytes())).expect("holds");
    assert_eq!(verifier.finish().expect("holds"), links[5]);
    let mut verifier = Verifier::new([]).behind(links[2].clone());
    assert_eq!(verifier.take(lines[3].as_bytes()), Err(broken(3, Fault::Sequence(4))));
}

#[test]
fn what_is_no_entry_in_the_canonical_form_is_refused() {
    let (lines, _) = chain(CHAIN, 1);
    let line = &lines[0];
    for wrong in [
        String::new(),
        "[]".to_owned(),
        "{}".to_owned(),
        format!(" {line}"),
        format!("{line}\r"),
        line.replace("\"sequence\":1", "\"sequence\": 1"),
        line.replace("\"sequence\":1", "\"sequence\":1.0"),
        line.replace("\"sequence\":1", "\"sequence\":\"1\""),
        line.replace("\"time\"", "\"tim\""),
        line.replacen("{\"act\"", "{\"act\":\"x\",\"act\"", 1),
        line.replace("Grüße", "Gr\\u00fc\\u00dfe"),
        line.replace(&"0".repeat(64), &"0".repeat(63)),
    ] {
        let found = verify(&[&wrong], &[]).expect_err(&wrong);
        assert!(matches!(found, Broken { sequence: 1, fault: Fault::Form(_) }), "{wrong}: {found}");
    }
    let mut not_text = line.clone().into_bytes();
    not_text[10] = 0xff;
    assert!(matches!(verify(&[not_text], &[]), Err(Broken { sequence: 1, fault: Fault::Form(_) })));
    assert_eq!(verify(&[vec![b' '; LONGEST_LINE + 1]], &[]), Err(broken(1, Fault::Long)));
}

#[test]
fn what_cannot_be_an_entry_is_not_appended() {
    let start = Link::start(CHAIN);
    let of = |value: Value| start.append(TIME, value.as_object().expect("an object"));
    assert!(matches!(of(json!({"sequence": 3})), Err(AuditError::Reserved(_))));
    assert!(matches!(of(json!({"bytes": [1, {"all": 9_007_199_254_740_992_u64}]})), Err(AuditError::Number(_))));
    assert!(matches!(of(json!({"share": 0.5})), Err(AuditError::Number(_))));
    assert!(of(json!({"bytes": 9_007_199_254_740_991_u64, "change": -3})).is_ok());
    assert!(matches!(of(json!({"detail": "x".repeat(LONGEST_LINE)})), Err(AuditError::Long(_))));
}

#[test]
fn a_head_is_read_as_it_was_written() {
    let (_, links) = chain(CHAIN, 2);
    let head = head(&links[2]).counting([("items.hold".to_owned(), 2)].into());
    let text = head.to_text().expect("writes");
    assert!(
        text.starts_with("{\"at\":\"2026-05-04T09:30:00Z\",\"chain\":\"example.edu\",\"counts\":{\"items.hold\":2},")
    );
    assert_eq!(Head::read(&text).expect("reads"), head);
    assert!(matches!(Head::read(&text.replace("\"sha256\":\"", "\"sha256\":\"g")), Err(AuditError::Digest(_))));
    assert!(matches!(Head::read("{}"), Err(AuditError::Json(_))));
}

proptest! {
    #[test]
    fn one_byte_that_is_changed_anywhere_is_found(at in 0.0..1.0_f64, with in any::<u8>()) {
        let (lines, links) = chain(CHAIN, 4);
        let mut text = lines.join("\n").into_bytes();
        let at = ((text.len() - 1) as f64 * at) as usize;
        prop_assume!(text[at] != with);
        text[at] = with;
        let changed: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        prop_assert!(verify(&changed, &[head(&links[4])]).is_err());
    }

    #[test]
    fn no_text_makes_the_verifier_panic(text in "\\PC{0,200}") {
        let _ = verify(&[text], &[]);
    }
}
