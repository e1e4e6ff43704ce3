//! The matcher held against a plain one that tries every position, over random sequences, bytes and ways of cutting them.

use proptest::prelude::*;

use super::index::Index;
use super::open::{Open, Pattern, Run};
use crate::answer::Span;
use crate::pattern::{Anchor, ByteClass, ByteSet, Gap, Link, Piece, Sequence};

/// All spans at which a sequence matches, by trying everything.
fn plain(sequence: &Sequence, bytes: &[u8]) -> Vec<Span> {
    let mut spans = Vec::new();
    match sequence.anchor {
        Anchor::Beginning => forward(&sequence.links, bytes, 0, None, &mut spans),
        Anchor::End => backward(&sequence.links, bytes, bytes.len(), None, &mut spans),
    }
    spans
}

fn lies_at(piece: &Piece, bytes: &[u8], start: usize) -> bool {
    start + piece.len() <= bytes.len() && piece.0.iter().zip(&bytes[start..]).all(|(class, byte)| class.accepts(*byte))
}

fn forward(links: &[Link], bytes: &[u8], from: usize, origin: Option<usize>, spans: &mut Vec<Span>) {
    let Some((link, rest)) = links.split_first() else {
        let origin = origin.unwrap();
        spans.push(Span { offset: origin as u64, length: (from - origin) as u64 });
        return;
    };
    for start in from..=bytes.len() {
        let gap = (start - from) as u64;
        if gap < link.gap.min || link.gap.max.is_some_and(|max| gap > max) {
            continue;
        }
        for piece in link.choices.iter().filter(|piece| lies_at(piece, bytes, start)) {
            forward(rest, bytes, start + piece.len(), origin.or(Some(start)), spans);
        }
    }
}

fn backward(links: &[Link], bytes: &[u8], to: usize, end: Option<usize>, spans: &mut Vec<Span>) {
    let Some((link, rest)) = links.split_first() else {
        spans.push(Span { offset: to as u64, length: (end.unwrap() - to) as u64 });
        return;
    };
    for piece in &link.choices {
        for start in (0..=to).rev().filter(|start| start + piece.len() <= to) {
            let gap = (to - start - piece.len()) as u64;
            let fits = gap >= link.gap.min && link.gap.max.is_none_or(|max| gap <= max);
            if fits && lies_at(piece, bytes, start) {
                backward(rest, bytes, start, end.or(Some(start + piece.len())), spans);
            }
        }
    }
}

/// Few different bytes, so that much matches nearly.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![Just(b'a'), Just(b'b'), Just(b'c'), Just(0)]
}

fn class() -> impl Strategy<Value = ByteClass> {
    prop_oneof![
        6 => byte().prop_map(ByteClass::Is),
        1 => Just(ByteClass::Any),
        1 => prop::collection::vec(byte(), 1..3).prop_map(|bytes| {
            let mut set = ByteSet::default();
            for byte in bytes {
                set.insert(byte);
            }
            ByteClass::In(set)
        }),
    ]
}

fn gap() -> impl Strategy<Value = Gap> {
    prop_oneof![
        3 => (0_u64..4).prop_map(Gap::exactly),
        3 => (0_u64..4, 0_u64..12).prop_map(|(min, width)| Gap { min, max: Some(min + width) }),
        2 => (0_u64..4).prop_map(Gap::at_least),
    ]
}

fn link() -> impl Strategy<Value = Link> {
    let piece = prop::collection::vec(class(), 1..5).prop_map(Piece);
    (gap(), prop::collection::vec(piece, 1..3)).prop_map(|(gap, choices)| Link { gap, choices })
}

fn sequence() -> impl Strategy<Value = Sequence> {
    let anchor = prop_oneof![2 => Just(Anchor::Beginning), 1 => Just(Anchor::End)];
    (anchor, prop::collection::vec(link(), 1..4)).prop_map(|(anchor, links)| Sequence { anchor, links })
}

fn sequences() -> impl Strategy<Value = Vec<Sequence>> {
    prop::collection::vec(sequence(), 1..3)
}

/// Bytes with long runs, and some that nothing matches.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let stretch = prop_oneof![
        prop::collection::vec(byte(), 0..12),
        (byte(), 0_usize..30).prop_map(|(byte, length)| vec![byte; length]),
        (0_usize..30).prop_map(|length| vec![b'-'; length]),
    ];
    prop::collection::vec(stretch, 0..5).prop_map(|stretches| stretches.concat())
}

/// What a pattern says about bytes, cut into pieces of these lengths.
fn said(pattern: &Pattern, bytes: &[u8], cuts: &[usize]) -> Option<Vec<Span>> {
    let mut run = Run::new(vec![Open::new(0, pattern)], &[], true);
    let mut rest = bytes;
    let mut found = Vec::new();
    for cut in cuts.iter().copied().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(cut.clamp(1, rest.len()));
        run.update(piece, None);
        found.extend(run.take_matched());
        rest = after;
    }
    found.extend(run.finish());
    found.pop().map(|(_, spans)| spans)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_cuts_the_answer_is_that_of_trying_every_position(
        sequences in sequences(), bytes in bytes(), cuts in prop::collection::vec(1_usize..40, 1..6),
    ) {
        let pattern = Pattern::new(&sequences);
        let expected = sequences.iter().all(|sequence| !plain(sequence, &bytes).is_empty());
        prop_assert_eq!(said(&pattern, &bytes, &cuts).is_some(), expected);
    }

    #[test]
    fn where_a_sequence_is_said_to_match_it_does(
        mut links in prop::collection::vec(link(), 1..4), from_end in any::<bool>(), bytes in bytes(),
        cuts in prop::collection::vec(1_usize..40, 1..6),
    ) {
        let anchor = if from_end { Anchor::End } else { Anchor::Beginning };
        if from_end {
            // With an unbounded gap it is reported as two parts.
            for link in &mut links {
                link.gap.max = link.gap.max.or(Some(link.gap.min + 8));
            }
        }
        let sequence = Sequence { anchor, links };
        if let Some(spans) = said(&Pattern::new(std::slice::from_ref(&sequence)), &bytes, &cuts) {
            prop_assert_eq!(spans.len(), 1);
            prop_assert!(plain(&sequence, &bytes).contains(&spans[0]), "{:?} of {:?}", spans, plain(&sequence, &bytes));
        }
    }

    #[test]
    fn the_index_leaves_open_whatever_matches(
        patterns in prop::collection::vec(sequences(), 1..6), bytes in bytes(), cut in 0_usize..120,
    ) {
        let prepared: Vec<Pattern> = patterns.iter().map(|sequences| Pattern::new(sequences)).collect();
        let index = Index::new(prepared.iter());
        let first = &bytes[..cut.min(bytes.len())];
        let mut open = index.candidates(first, first.len() == bytes.len());
        open.extend(index.at_end());
        for (id, sequences) in patterns.iter().enumerate() {
            if sequences.iter().all(|sequence| !plain(sequence, &bytes).is_empty()) {
                prop_assert!(open.contains(&(id as u32)), "{id} of {open:?}");
            }
        }
    }
}

/// Many patterns over long blocks, where a block is asked first which of them it may advance.
#[test]
fn a_set_of_patterns_finds_each_wherever_it_lies_in_long_blocks() {
    let literal = |text: &str| Piece(text.bytes().map(ByteClass::Is).collect());
    let patterns: Vec<Pattern> = (0..40)
        .map(|number| {
            let links = vec![
                Link { gap: Gap::at_least(0), choices: vec![literal(&format!("<first {number:02}>"))] },
                Link { gap: Gap::at_least(0), choices: vec![literal(&format!("<second {number:02}>"))] },
            ];
            Pattern::new(&[Sequence { anchor: Anchor::Beginning, links }])
        })
        .collect();
    for block in [20_000, 32_768, 65_536] {
        let mut bytes = vec![b'.'; 400_000];
        for number in 0..40_usize {
            // Every other one is there in full; all lie across the edges of blocks, or near them.
            let first = format!("<first {number:02}>");
            let at = block * (1 + number % 3) - 9 + number / 3;
            bytes[at + 20 * number..][..first.len()].copy_from_slice(first.as_bytes());
            if number % 2 == 0 {
                let second = format!("<second {number:02}>");
                let at = block * 4 + 30 * number - 11;
                bytes[at..][..second.len()].copy_from_slice(second.as_bytes());
            }
        }
        let open = (0..).zip(&patterns).map(|(id, pattern)| Open::new(id, pattern)).collect();
        let mut run = Run::new(open, &[], true);
        let mut found: Vec<u32> = Vec::new();
        for piece in bytes.chunks(block) {
            run.update(piece, None);
            found.extend(run.take_matched().into_iter().map(|(id, _)| id));
        }
        found.sort_unstable();
        let expected: Vec<u32> = (0..40).filter(|id| id % 2 == 0).collect();
        assert_eq!(found, expected, "in blocks of {block}");
    }
}

/// A link that comes to be waited for again, while a later one is waited for all along, is asked for again.
#[test]
fn a_link_that_is_waited_for_anew_in_a_later_block_is_not_passed_over() {
    let literal = |text: &str| Piece(text.bytes().map(ByteClass::Is).collect());
    let link = |gap, text| Link { gap, choices: vec![literal(text)] };
    let within = |max| Gap { min: 0, max: Some(max) };
    let links = vec![link(Gap::at_least(0), "<one>"), link(within(1_000), "<two>"), link(within(100_000), "<three>")];
    let absent = |text| vec![link(Gap::at_least(0), text)];
    let patterns: Vec<Pattern> = [links, absent("<absent>"), absent("<missing>"), absent("<gone>")]
        .into_iter()
        .map(|links| Pattern::new(&[Sequence { anchor: Anchor::Beginning, links }]))
        .collect();
    let mut bytes = vec![b'.'; 200_000];
    for (at, text) in [(0, "<one>"), (20, "<two>"), (79_900, "<one>"), (80_400, "<two>"), (150_000, "<three>")] {
        bytes[at..][..text.len()].copy_from_slice(text.as_bytes());
    }
    let open = (0..).zip(&patterns).map(|(id, pattern)| Open::new(id, pattern)).collect();
    let mut run = Run::new(open, &[], true);
    let mut found = Vec::new();
    for piece in bytes.chunks(20_000) {
        run.update(piece, None);
        found.extend(run.take_matched());
    }
    assert_eq!(found, [(0, vec![Span { offset: 79_900, length: 70_107 }])]);
}
