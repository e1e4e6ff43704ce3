//! The decision table: every combination of what can be seen of a content item, beside rows that are written out here.

use strongroom_digest::{Algorithm, Digest, hash_reader};
use strongroom_duplication::{Pair, Reason, Seen, Step, decide, decide_compared, description_of_copy};
use strongroom_spaces::{Description, ItemHead, PlainCapabilities, Properties};

/// Whether the store states a digest that is as good as reading, and which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stated {
    Nothing,
    Right,
    Wrong,
    /// Someone declared it: no evidence.
    Declared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Side {
    stated: Stated,
    size: u64,
    has_creator: bool,
    is_readable: bool,
    keeps_properties: bool,
}

fn digest(text: &[u8]) -> Digest {
    let mut text = text;
    hash_reader(&mut text, &[Algorithm::Sha256]).expect("reads").1.get(Algorithm::Sha256).expect("a digest")
}

fn head(side: Side, etag: &str) -> ItemHead {
    let properties = if side.has_creator { vec![("creator".to_owned(), "ann".to_owned())] } else { Vec::new() };
    let stated = match side.stated {
        Stated::Nothing => Vec::new(),
        Stated::Right => vec![(Algorithm::Sha256, digest(b"right"))],
        Stated::Wrong => vec![(Algorithm::Sha256, digest(b"wrong"))],
        Stated::Declared => vec![(Algorithm::Md5, Digest::from_bytes(&[7; 16]).expect("a digest"))],
    };
    ItemHead {
        size: side.size,
        etag: etag.to_owned(),
        revision: None,
        modified: None,
        description: Description::new(Some("text/plain"), Properties::new(properties).expect("properties"))
            .expect("a description"),
        checksums: stated,
        class: None,
        is_archived: !side.is_readable,
        is_readable: side.is_readable,
    }
}

fn capabilities(side: Side) -> PlainCapabilities {
    PlainCapabilities {
        keeps_properties: side.keeps_properties,
        keeps_content_types: true,
        keeps_empty_spaces: true,
        conditional_put: true,
        conditional_delete: true,
        vouched: &[Algorithm::Sha256],
        may_be_archived: true,
    }
}

fn sides() -> Vec<Option<Side>> {
    let mut sides = vec![None];
    for stated in [Stated::Nothing, Stated::Right, Stated::Wrong, Stated::Declared] {
        for size in [5, 6] {
            for bits in 0..8_u8 {
                sides.push(Some(Side {
                    stated,
                    size,
                    has_creator: bits & 1 > 0,
                    is_readable: bits & 2 > 0,
                    keeps_properties: bits & 4 > 0,
                }));
            }
        }
    }
    sides
}

/// The rows, in words: the first one that fits is the answer.
fn expected(source: Option<Side>, destination: Option<Side>, [known, recorded, may]: [bool; 3]) -> &'static str {
    let (source, destination) = match (source, destination) {
        (None, None) => return "nothing: both missing",
        (None, Some(_)) if !recorded => return "lost",
        (None, Some(_)) if may => return "delete",
        (None, Some(_)) => return "nothing: kept",
        (Some(source), None) => return if source.is_readable { "copy new" } else { "retrieve" },
        (Some(source), Some(destination)) => (source, destination),
    };
    let is_vouched = |side: Side| matches!(side.stated, Stated::Right | Stated::Wrong);
    let are_vouched = is_vouched(source) && is_vouched(destination);
    let differs = source.size != destination.size || (are_vouched && source.stated != destination.stated);
    if differs {
        return if source.is_readable { "copy over" } else { "retrieve" };
    }
    if !are_vouched && !known {
        let both = source.is_readable && destination.is_readable;
        return if both { "compare" } else { "nothing: archived" };
    }
    let keep = source.keeps_properties && destination.keeps_properties;
    if !keep || source.has_creator == destination.has_creator {
        return "nothing: equal";
    }
    if destination.is_readable { "describe" } else { "nothing: description of archived" }
}

fn told(step: &Step) -> &'static str {
    match step {
        Step::Nothing(Reason::BothMissing) => "nothing: both missing",
        Step::Nothing(Reason::Kept) => "nothing: kept",
        Step::Nothing(Reason::Archived) => "nothing: archived",
        Step::Nothing(Reason::Equal) => "nothing: equal",
        Step::Nothing(Reason::DescriptionOfArchived) => "nothing: description of archived",
        Step::Copy { replaces: None } => "copy new",
        Step::Copy { replaces: Some(etag) } if etag == "destination" => "copy over",
        Step::Copy { .. } => "copy over something else",
        Step::Retrieve => "retrieve",
        Step::Compare => "compare",
        Step::Describe { etag, .. } if etag == "destination" => "describe",
        Step::Describe { .. } => "describe something else",
        Step::Delete { etag } if etag == "destination" => "delete",
        Step::Delete { .. } => "delete something else",
        Step::ReportLost => "lost",
    }
}

#[test]
fn every_combination_has_the_step_of_its_row() {
    let mut combinations = 0;
    let mut steps = std::collections::BTreeMap::<&str, u32>::new();
    for source in sides() {
        for destination in sides() {
            for bits in 0..8_u8 {
                let facts = [bits & 1 > 0, bits & 2 > 0, bits & 4 > 0];
                let heads =
                    (source.map(|side| head(side, "source")), destination.map(|side| head(side, "destination")));
                let pair = Pair {
                    source: source
                        .zip(heads.0.as_ref())
                        .map(|(side, head)| Seen { head, capabilities: capabilities(side) }),
                    destination: destination
                        .zip(heads.1.as_ref())
                        .map(|(side, head)| Seen { head, capabilities: capabilities(side) }),
                    is_known_equal: facts[0],
                    is_deletion_recorded: facts[1],
                    may_delete: facts[2],
                };
                let step = decide(&pair).expect("decides");
                assert_eq!(
                    told(&step),
                    expected(source, destination, facts),
                    "{source:?}, {destination:?}, known equal, deletion recorded, may delete: {facts:?}"
                );
                combinations += 1;
                *steps.entry(told(&step)).or_default() += 1;
            }
        }
    }
    assert_eq!(combinations, 65 * 65 * 8);
    assert_eq!(steps.len(), 12, "every step is reached: {steps:?}");
}

#[test]
fn what_was_compared_is_copied_where_it_differs_and_described_where_it_does_not() {
    let side =
        |has_creator| Side { stated: Stated::Nothing, size: 5, has_creator, is_readable: true, keeps_properties: true };
    let (one, other) = (head(side(true), "source"), head(side(false), "destination"));
    let seen = |head| Some(Seen { head, capabilities: capabilities(side(true)) });
    let pair = Pair {
        source: seen(&one),
        destination: seen(&other),
        is_known_equal: false,
        is_deletion_recorded: false,
        may_delete: false,
    };
    assert_eq!(told(&decide(&pair).expect("decides")), "compare");
    assert_eq!(told(&decide_compared(&pair, false).expect("decides")), "copy over");
    let Step::Describe { description, .. } = decide_compared(&pair, true).expect("decides") else {
        panic!("it is described");
    };
    assert_eq!(description.properties().get("creator"), Some("ann"));
}

#[test]
fn what_stores_say_of_the_bytes_is_neither_copied_nor_compared() {
    let properties = [("content-md5", "x"), ("content-mimetype", "text/plain"), ("etag", "y"), ("creator", "ann")];
    let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let description = Description::new(None, Properties::new(properties).expect("properties")).expect("a description");
    let copied = description_of_copy(&description).expect("a description");
    assert_eq!(
        copied.properties().iter().collect::<Vec<_>>(),
        [("content-mimetype", "text/plain"), ("creator", "ann")]
    );
}
