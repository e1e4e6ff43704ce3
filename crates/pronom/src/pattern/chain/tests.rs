//! Joined links match what the parts match, are as few as they can be, and do not grow without bound.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::{Chain, MAX_CHOICES, MAX_PIECE};
use crate::pattern::{Anchor, ByteClass, Gap, Link, Piece, parse_chain};

fn chain(pattern: &str) -> Chain {
    parse_chain("17", pattern).expect("a pattern")
}

/// Links as text: `{0-0}3030|3031`, with `..` for any byte and `[n]` for a set of n.
fn shown(links: &[Link]) -> String {
    let mut text = String::new();
    for link in links {
        let max = link.gap.max.map_or_else(|| "*".to_owned(), |max| max.to_string());
        let choices: Vec<String> = link.choices.iter().map(|piece| piece.0.iter().map(class).collect()).collect();
        write!(text, "{{{}-{max}}}{}", link.gap.min, choices.join("|")).expect("a string takes everything");
    }
    text
}

fn class(class: &ByteClass) -> String {
    match class {
        ByteClass::Is(byte) => format!("{byte:02X}"),
        ByteClass::Any => "..".to_owned(),
        ByteClass::In(set) => format!("[{}]", set.len()),
    }
}

#[test]
fn what_adjoins_becomes_one_link() {
    let cases = [
        ("00 01 '2'", "{0-0}000132"),
        ("00 ?? 01", "{0-0}00..01"),
        ("00 {16} 01", &format!("{{0-0}}00{}01", "..".repeat(16))),
        ("00 {17} 01", "{0-0}00{17-17}01"),
        ("?? {2} 00", "{3-3}00"),
        ("[00:FF] 00 [00:01]", "{1-1}00[2]"),
        ("00 * 01", "{0-0}00{0-*}01"),
        ("00 {3} * {2-4} 01", "{0-0}00{5-*}01"),
        ("00 {3-5} ?? 01", "{0-0}00{4-6}01"),
        ("(22|27) '1' (22|27)", "{0-0}223122|223127|273122|273127"),
        ("(0D 0A|0A) 30", "{0-0}0D0A30|0A30"),
        ("(00|00) 30", "{0-0}0030"),
        ("(0D 0A|0A) ?? 30", "{0-0}0D0A|0A{1-1}30"),
        ("(00|0000) (00|0000)", "{0-0}0000|000000|00000000"),
    ];
    for (pattern, expected) in cases {
        let (links, trailing) = chain(pattern).into_parts();
        assert_eq!((shown(&links).as_str(), trailing), (expected, Gap::exactly(0)), "{pattern}");
    }
}

#[test]
fn choices_are_multiplied_up_to_their_limit() {
    let sixfold = "(00|01)".repeat(6);
    let (links, _) = chain(&sixfold).into_parts();
    assert_eq!(links.iter().map(|link| link.choices.len()).collect::<Vec<_>>(), [MAX_CHOICES]);
    let (links, _) = chain(&format!("{sixfold}(00|01)")).into_parts();
    assert_eq!(links.iter().map(|link| link.choices.len()).collect::<Vec<_>>(), [MAX_CHOICES, 2]);
    let (links, _) = chain(&"00".repeat(MAX_PIECE + 1)).into_parts();
    assert_eq!(links.iter().map(|link| link.choices[0].len()).collect::<Vec<_>>(), [MAX_PIECE, 1]);
}

#[test]
fn a_hostile_pattern_does_not_grow() {
    let hostile = format!("{}{}", "(00|01)".repeat(6), "00".repeat(250)).repeat(200);
    let (links, _) = chain(&hostile).into_parts();
    let bytes: usize = links.iter().flat_map(|link| &link.choices).map(Piece::len).sum();
    assert!(bytes < 300_000, "{bytes}");
}

#[test]
fn links_run_away_from_their_anchor() {
    let mut chain = chain("00 {20} 01 * 02");
    chain.push_gap(Gap { min: 3, max: Some(7) });
    assert_eq!(shown(&chain.clone().into_links(Anchor::Beginning)), "{0-0}00{20-20}01{0-*}02{2-6}..");
    assert_eq!(shown(&chain.into_links(Anchor::End)), "{3-7}02{0-*}01{20-20}00");
}

#[test]
fn a_gap_that_nothing_follows_still_asks_for_its_bytes() {
    let open = chain("?? 00 ?? *");
    assert_eq!(shown(&open.clone().into_links(Anchor::Beginning)), "{1-1}00{0-*}..");
    assert_eq!(shown(&open.into_links(Anchor::End)), "{1-*}00{0-0}..");
    assert_eq!(shown(&chain("00 *").into_links(Anchor::Beginning)), "{0-0}00");
}

#[test]
fn alternatives_are_runs_without_open_gaps() {
    let choices = |pattern: &str| {
        let choices = chain(pattern).into_choices()?;
        Some(shown(&[Link { gap: Gap::exactly(0), choices }]))
    };
    assert_eq!(choices("00 01").as_deref(), Some("{0-0}0001"));
    assert_eq!(choices("?? 00 (01|02) ?? ??").as_deref(), Some("{0-0}..0001....|..0002...."));
    assert_eq!(choices(&"00".repeat(300)), Some(format!("{{0-0}}{}", "00".repeat(300))));
    assert_eq!(choices("00 * 01"), None);
    assert_eq!(choices("00 {17} 01"), None);
    assert_eq!(choices("00 {0-1} 01"), None);
    assert_eq!(choices(&"(00|01)".repeat(7)), None);
}

/// A part of a pattern over the bytes 0 and 1.
#[derive(Clone, Debug)]
enum Part {
    Byte(ByteClass),
    Gap(Gap),
    Choices(Vec<Piece>),
}

fn part() -> impl Strategy<Value = Part> {
    let class = || prop_oneof![3 => (0..2_u8).prop_map(ByteClass::Is), 1 => Just(ByteClass::Any)];
    let piece = prop::collection::vec(class(), 1..3).prop_map(Piece);
    let gap = (0..3_u64, prop::option::of(0..3_u64));
    prop_oneof![
        3 => class().prop_map(Part::Byte),
        1 => gap.prop_map(|(min, more)| Part::Gap(Gap { min, max: more.map(|more| min + more) })),
        2 => prop::collection::vec(piece, 1..4).prop_map(Part::Choices),
    ]
}

/// Every place where a match can end that begins at one of these.
fn after_gap(starts: &BTreeSet<usize>, gap: Gap, length: usize) -> BTreeSet<usize> {
    let max = gap.max.map_or(length, |max| max as usize);
    starts.iter().flat_map(|start| (start + gap.min as usize)..=(start + max)).filter(|end| *end <= length).collect()
}

fn after_choices(starts: &BTreeSet<usize>, choices: &[Piece], bytes: &[u8]) -> BTreeSet<usize> {
    let fits = |start: usize, piece: &Piece| {
        let run = bytes.get(start..start + piece.len())?;
        run.iter().zip(&piece.0).all(|(byte, class)| class.accepts(*byte)).then_some(start + piece.len())
    };
    starts.iter().flat_map(|start| choices.iter().filter_map(move |piece| fits(*start, piece))).collect()
}

proptest! {
    #[test]
    fn joined_links_match_what_the_parts_match(
        parts in prop::collection::vec(part(), 0..8),
        bytes in prop::collection::vec(0..2_u8, 0..16),
    ) {
        let mut chain = Chain::new();
        let mut expected = BTreeSet::from([0]);
        for part in parts {
            match part {
                Part::Byte(class) => {
                    expected = after_choices(&expected, &[Piece(vec![class.clone()])], &bytes);
                    chain.push_byte(class);
                }
                Part::Gap(gap) => {
                    expected = after_gap(&expected, gap, bytes.len());
                    chain.push_gap(gap);
                }
                Part::Choices(choices) => {
                    expected = after_choices(&expected, &choices, &bytes);
                    chain.push_choices(choices);
                }
            }
        }
        let mut appended = Chain::new();
        appended.append(chain.clone());
        prop_assert_eq!(&appended, &chain);
        let (links, trailing) = chain.into_parts();
        let mut ends = BTreeSet::from([0]);
        for link in &links {
            ends = after_choices(&after_gap(&ends, link.gap, bytes.len()), &link.choices, &bytes);
        }
        prop_assert_eq!(after_gap(&ends, trailing, bytes.len()), expected, "{}", shown(&links));
    }
}
