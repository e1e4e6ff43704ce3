//! What is known of copies and the places in which they lie.

use std::collections::{BTreeMap, BTreeSet};

use strongroom_registry::counted;

use super::Answer;
use super::facts::{Facts, Holds, PlacementFact, StoreFact};
use crate::survey::Condition;

/// Answers for each placement that objects have; the worst answer counts.
fn for_each_placement(facts: &Facts, answer: impl Fn(&PlacementFact, &[StoreFact]) -> Answer) -> Answer {
    if facts.is_empty() {
        return Answer::unknown("nothing is kept yet");
    }
    let mut worst: Option<Answer> = None;
    for placement in &facts.placements {
        let found = match placement.stores.as_deref() {
            Some(stores) => answer(placement, stores),
            None => Answer::not_met(format!("the settings have no placement {:?}, which objects have", placement.name)),
        };
        if worst.as_ref().is_none_or(|worst| found.verdict > worst.verdict) {
            worst = Some(found);
        }
    }
    worst.unwrap_or_else(|| Answer::unknown("no placement is known"))
}

fn names(stores: &[StoreFact]) -> String {
    stores.iter().map(|store| store.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Whether so many stores of each placement hold everything that belongs in them.
fn complete(facts: &Facts, wanted: usize) -> Answer {
    for_each_placement(facts, |placement, stores| {
        let whole = stores.iter().filter(|store| store.holds == Holds::Whole).count();
        let reasons: Vec<&str> = stores
            .iter()
            .filter_map(|store| match &store.holds {
                Holds::Whole => None,
                Holds::Unknown(reason) | Holds::NotWhole(reason) => Some(reason.as_str()),
            })
            .collect();
        let maybe = stores.iter().filter(|store| !matches!(store.holds, Holds::NotWhole(_))).count();
        let name = &placement.name;
        if whole >= wanted {
            return Answer::met(format!(
                "{} of placement {name} in use ({}), {whole} of them with every object of it",
                counted(stores.len() as u64, "store", "stores"),
                names(stores)
            ));
        }
        let because = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
        let evidence = format!(
            "placement {name} has {} in use, {whole} with every object of it{because}",
            counted(stores.len() as u64, "store", "stores")
        );
        if maybe >= wanted { Answer::unknown(evidence) } else { Answer::not_met(evidence) }
    })
}

/// A fact that the settings state of a store.
type Said = fn(&StoreFact) -> Option<&str>;

fn given(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

fn location(store: &StoreFact) -> Option<&str> {
    given(store.said.location.as_ref())
}

fn threat(store: &StoreFact) -> Option<&str> {
    given(store.said.disaster_threat.as_ref())
}

fn media(store: &StoreFact) -> Option<&str> {
    given(store.said.media.as_ref())
}

fn distinct(stores: &[StoreFact], said: Said) -> BTreeSet<String> {
    stores.iter().filter_map(|store| said(store).map(str::to_lowercase)).collect()
}

/// Whether the stores of each placement have so many values of something that the settings state. Stores that do not hold everything
/// do not count.
fn differ(facts: &Facts, wanted: usize, (setting, said): (&str, Said)) -> Answer {
    for_each_placement(facts, |placement, stores| {
        let counting: Vec<StoreFact> = stores.iter().filter(|store| store.holds == Holds::Whole).cloned().collect();
        let values = distinct(&counting, said);
        let unsaid: Vec<&str> =
            counting.iter().filter(|store| said(store).is_none()).map(|store| store.name.as_str()).collect();
        by_values(&placement.name, wanted, setting, (&values, &unsaid))
    })
}

fn by_values(placement: &str, wanted: usize, setting: &str, (values, unsaid): (&BTreeSet<String>, &[&str])) -> Answer {
    let listed = values.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let number = values.len();
    if number >= wanted {
        return Answer::met(format!("{setting} of the stores of placement {placement}: {listed}"));
    }
    if number + unsaid.len() >= wanted {
        return Answer::unknown(format!("the settings do not state {setting} of {}", unsaid.join(", ")));
    }
    let what = if listed.is_empty() { "nothing".to_owned() } else { listed };
    Answer::not_met(format!("{setting} of the stores of placement {placement}: {what}, and {wanted} are needed"))
}

/// Whether there are so many locations each with a threat of its own. Of a location with several threats the first one counts.
fn threats(facts: &Facts, wanted: usize) -> Answer {
    for_each_placement(facts, |placement, stores| {
        let counting = stores.iter().filter(|store| store.holds == Holds::Whole);
        let (mut of_locations, mut unsaid) = (BTreeMap::<String, String>::new(), Vec::new());
        for store in counting {
            match (location(store), threat(store)) {
                (Some(location), Some(threat)) => {
                    of_locations.entry(location.to_lowercase()).or_insert_with(|| threat.to_lowercase());
                }
                _ => unsaid.push(store.name.as_str()),
            }
        }
        let values: BTreeSet<String> = of_locations.into_values().collect();
        by_values(&placement.name, wanted, "location and disaster_threat", (&values, &unsaid))
    })
}

/// Two complete copies in separate locations.
pub(super) fn two_copies(facts: &Facts) -> Answer {
    complete(facts, 2).and(|| differ(facts, 2, ("location", location)))
}

/// Three complete copies, one of them in another location.
pub(super) fn three_copies(facts: &Facts) -> Answer {
    complete(facts, 3).and(|| differ(facts, 2, ("location", location)))
}

/// A copy in a location with another disaster threat.
pub(super) fn another_threat(facts: &Facts) -> Answer {
    complete(facts, 2).and(|| threats(facts, 2))
}

/// Three copies in locations with different disaster threats.
pub(super) fn three_threats(facts: &Facts) -> Answer {
    complete(facts, 3).and(|| threats(facts, 3))
}

/// A copy on other media.
pub(super) fn another_medium(facts: &Facts) -> Answer {
    complete(facts, 2).and(|| differ(facts, 2, ("media", media)))
}

/// No two copies of an object have location, threat or media in common.
pub(super) fn diversity(facts: &Facts) -> Answer {
    complete(facts, 2).and(|| {
        for_each_placement(facts, |placement, stores| {
            let mut answers = Vec::new();
            for (setting, said) in
                [("location", location as Said), ("disaster_threat", threat as Said), ("media", media as Said)]
            {
                let values = distinct(stores, said);
                let unsaid: Vec<&str> =
                    stores.iter().filter(|store| said(store).is_none()).map(|store| store.name.as_str()).collect();
                answers.push(by_values(&placement.name, stores.len(), setting, (&values, &unsaid)));
            }
            let worst = answers.iter().max_by_key(|answer| answer.verdict).cloned();
            match worst {
                Some(worst) if worst.verdict != super::Verdict::Met => worst,
                _ => Answer::met(format!(
                    "location, disaster_threat and media of every store of placement {} differ",
                    placement.name
                )),
            }
        })
    })
}

/// The media of each store are stated.
pub(super) fn media_stated(facts: &Facts) -> Answer {
    for_each_placement(facts, |placement, stores| {
        if stores.is_empty() {
            return Answer::not_met(format!("placement {} has no store in use", placement.name));
        }
        let unsaid: Vec<&str> = stores
            .iter()
            .filter(|store| media(store).is_none() || location(store).is_none())
            .map(|store| store.name.as_str())
            .collect();
        if unsaid.is_empty() {
            let said = stores.iter().map(|store| format!("{}: {}", store.name, media(store).unwrap_or_default()));
            Answer::met(format!("the settings state location and media ({})", said.collect::<Vec<_>>().join(", ")))
        } else {
            Answer::unknown(format!("the settings do not state location and media of {}", unsaid.join(", ")))
        }
    })
}

/// What is kept lies in stores that answer and are those that they should be.
pub(super) fn stable(facts: &Facts) -> Answer {
    for_each_placement(facts, |placement, stores| {
        if stores.is_empty() {
            return Answer::not_met(format!("placement {} has no store in use", placement.name));
        }
        available(stores)
    })
}

/// Whether each of the stores can be used.
pub(super) fn available(stores: &[StoreFact]) -> Answer {
    let in_condition = |condition| {
        let found = stores.iter().filter(|store| store.condition == condition);
        found.map(|store| store.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (refused, away) = (in_condition(Condition::Refused), in_condition(Condition::Away));
    let with_problem = stores.iter().find(|store| store.condition == Condition::Available && store.problem.is_some());
    if !refused.is_empty() {
        Answer::not_met(format!("refused: {refused}"))
    } else if let Some(store) = with_problem {
        Answer::not_met(format!("store {}: {}", store.name, store.problem.clone().unwrap_or_default()))
    } else if !away.is_empty() {
        Answer::unknown(format!("away: {away}"))
    } else {
        Answer::met(format!("every store is available: {}", names(stores)))
    }
}

/// How many stores there are, for what people answer.
pub(super) fn stores_for_people(facts: &Facts) -> Answer {
    let stores = counted(facts.stores.len() as u64, "store is in use", "stores are in use");
    Answer::for_people(format!("{stores}: {}", names(&facts.stores)))
}
