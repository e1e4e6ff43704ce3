//! Which deletions a run requests, and what people do about them: chosen by the seed alone.

use crate::bags::slots;
use crate::chance::Chance;
use crate::packages;

/// Fail points of deletions that a worker may sleep at, or be killed at by itself.
pub(crate) const POINTS: [&str; 8] = [
    "deletion.begun",
    "deletion.rows",
    "deletion.rows.page",
    "deletion.store.change",
    "deletion.stores",
    "deletion.settled",
    "deletion.store.done",
    "deletion.expand.page",
];

/// Files that bags have, or some of them.
const OF_BAGS: [&str; 3] = ["bag-info.txt", "data/1.bin", "data/part 2/3.bin"];

/// What is named of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// Some of the files that it has at that moment, by numbers that choose them.
    Files(Vec<u64>),
    /// A file that every package of the object may have had, and that its newest version need not have.
    Named(String),
}

/// An object, and what is named of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its name below the institution.
    pub(crate) object: String,
    pub(crate) part: Part,
}

/// How a person ends a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Cancel,
    Deny,
}

/// What a person asks of the work items of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemWish {
    Cancel,
    Hold,
    Requeue,
}

/// A deletion as it is planned. Times are in milliseconds after the request was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planned {
    /// Counted from 1.
    pub(crate) number: u64,
    pub(crate) targets: Vec<Target>,
    /// Which of the two users requests; the other one approves.
    pub(crate) requester: usize,
    /// How often it is requested until nothing stands against it, and how often it is approved.
    pub(crate) tries: u64,
    /// When it is approved; none: at the end of the run.
    pub(crate) approval: Option<u64>,
    /// Whether both users try to approve it at once, one of them twice.
    pub(crate) is_contested: bool,
    /// The fail points of the command that approves.
    pub(crate) slow: String,
    pub(crate) end: Option<(u64, End)>,
    /// From when to when there is a legal hold on the first object.
    pub(crate) legal_hold: Option<(u64, u64)>,
    pub(crate) wishes: Vec<(u64, ItemWish)>,
}

impl Planned {
    pub(crate) fn any(chance: &mut Chance, number: u64) -> Self {
        let count = if chance.percent(25) { chance.between(2, 4) } else { 1 };
        let mut targets: Vec<Target> = Vec::new();
        for _ in 0..count {
            let target = target(chance);
            if targets.iter().all(|other| other.object != target.object) {
                targets.push(target);
            }
        }
        let approval = chance.below(1_500);
        let around = |chance: &mut Chance| (approval + chance.below(800)).saturating_sub(300);
        let end = chance.percent(20).then(|| (around(chance), *chance.pick(&[End::Cancel, End::Cancel, End::Deny])));
        let legal_hold = chance.percent(20).then(|| {
            let from = around(chance);
            (from, from + chance.between(50, 1_500))
        });
        let mut wishes = Vec::new();
        if chance.percent(25) {
            let at = around(chance) + 100;
            wishes.push((at, *chance.pick(&[ItemWish::Cancel, ItemWish::Hold, ItemWish::Hold, ItemWish::Requeue])));
            wishes.push((at + chance.below(700), ItemWish::Requeue));
        }
        let slow = match chance.below(10) {
            0 => "deletion.approve.checked=return".to_owned(),
            1..4 => format!("deletion.approve.checked=sleep({})", chance.between(50, 900)),
            _ => String::new(),
        };
        Self {
            number,
            targets,
            requester: usize::try_from(chance.below(2)).unwrap(),
            tries: chance.between(8, 60),
            approval: chance.percent(92).then_some(approval),
            is_contested: chance.percent(20),
            slow,
            end,
            legal_hold,
            wishes,
        }
    }
}

fn target(chance: &mut Chance) -> Target {
    let slots = slots();
    let of_bags = chance.percent(30);
    let object = if of_bags { chance.pick(&slots).object } else { packages::any_name(chance) };
    let part = match chance.below(10) {
        0..4 => Part::Whole,
        4 if of_bags => Part::Named((*chance.pick(&OF_BAGS)).to_owned()),
        4 => Part::Named(packages::any_path(chance).to_owned()),
        _ => Part::Files((0..chance.between(1, 4)).map(|_| chance.next()).collect()),
    };
    Target { object: object.to_owned(), part }
}

#[test]
fn some_hundred_deletions_have_everything_that_people_do() {
    let mut chance = Chance::new(1);
    let all: Vec<Planned> = (0..300).map(|number| Planned::any(&mut chance, number)).collect();
    let targets = || all.iter().flat_map(|planned| &planned.targets);
    assert!(targets().any(|target| target.part == Part::Whole));
    assert!(targets().any(|target| matches!(target.part, Part::Files(_))));
    assert!(targets().any(|target| matches!(target.part, Part::Named(_))));
    assert!(all.iter().any(|planned| planned.targets.len() > 1));
    assert!(all.iter().any(|planned| planned.is_contested));
    assert!(all.iter().any(|planned| planned.approval.is_none()));
    assert!(all.iter().any(|planned| planned.legal_hold.is_some()));
    for end in [End::Cancel, End::Deny] {
        assert!(all.iter().any(|planned| planned.end.is_some_and(|(_, other)| other == end)), "{end:?}");
    }
    for wish in [ItemWish::Cancel, ItemWish::Hold, ItemWish::Requeue] {
        assert!(all.iter().any(|planned| planned.wishes.iter().any(|(_, other)| *other == wish)), "{wish:?}");
    }
}
