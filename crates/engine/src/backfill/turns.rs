//! Which of the objects that stores lack are enqueued next: institutions take turns, and no store has more than there is room for in the queue.
//! Only as many are in memory as may be enqueued of each store.

use std::collections::BTreeMap;

use strongroom_registry::ObjectId;

/// An object that a store lacks something of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) object: ObjectId,
    /// The domain name of its institution.
    pub(super) institution: String,
    pub(super) store: String,
}

/// The candidates, of which as many are kept as may be enqueued.
pub(super) struct Turns {
    limit: usize,
    /// The institution that had the last turn: those behind it come first.
    last: String,
    stores: BTreeMap<String, OfStore>,
}

/// The candidates of one store, by their turns: the first of each institution, then the second of each.
#[derive(Default)]
struct OfStore {
    chosen: BTreeMap<(usize, Place), ObjectId>,
    /// How many of each institution are chosen.
    counts: BTreeMap<String, usize>,
}

/// The place of an institution in a round: whether it comes after those behind the last one, and its name.
type Place = (bool, String);

impl Turns {
    /// At most `limit` candidates, the institutions behind `last` first.
    pub(super) fn new(limit: usize, last: String) -> Self {
        Self { limit, last, stores: BTreeMap::new() }
    }

    /// Adds a candidate, and drops the one whose turn is last where there are too many.
    pub(super) fn add(&mut self, store: &str, institution: &str, object: ObjectId) {
        if self.limit == 0 {
            return;
        }
        let place = (institution <= self.last.as_str(), institution.to_owned());
        let of_store = self.stores.entry(store.to_owned()).or_default();
        let count = of_store.counts.entry(institution.to_owned()).or_default();
        of_store.chosen.insert((*count, place), object);
        *count += 1;
        if of_store.chosen.len() > self.limit
            && let Some(((_, (_, dropped)), _)) = of_store.chosen.pop_last()
            && let Some(count) = of_store.counts.get_mut(&dropped)
        {
            *count -= 1;
        }
    }

    /// The candidates in the order in which they are enqueued, where `room` says how many of a store there is room for.
    pub(super) fn chosen(self, room: impl Fn(&str) -> usize) -> Vec<Candidate> {
        let mut of_institutions: BTreeMap<Place, Vec<(usize, String, ObjectId)>> = BTreeMap::new();
        for (store, of_store) in self.stores {
            for ((round, place), object) in of_store.chosen.into_iter().take(room(&store)) {
                of_institutions.entry(place).or_default().push((round, store.clone(), object));
            }
        }
        let mut in_turn = Vec::new();
        for (place, mut candidates) in of_institutions {
            // An institution has one turn in a round, in however many stores it lacks something.
            candidates.sort();
            let numbered = candidates.into_iter().enumerate();
            in_turn.extend(numbered.map(|(round, (_, store, object))| ((round, place.clone()), store, object)));
        }
        in_turn.sort();
        in_turn.truncate(self.limit);
        let candidate = |((_, (_, institution)), store, object)| Candidate { object, institution, store };
        in_turn.into_iter().map(candidate).collect()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn turns(limit: usize, last: &str, lacking: &[(&str, &str, usize)]) -> Vec<Candidate> {
        let mut turns = Turns::new(limit, last.to_owned());
        let mut number = 0;
        for (store, institution, objects) in lacking {
            for _ in 0..*objects {
                number += 1;
                turns.add(store, institution, ObjectId(Uuid::from_u128(number)));
                assert!(turns.stores.values().all(|of_store| of_store.chosen.len() <= limit));
            }
        }
        turns.chosen(|store| if store == "full" { 1 } else { usize::MAX })
    }

    fn institutions(chosen: &[Candidate]) -> Vec<&str> {
        chosen.iter().map(|one| one.institution.as_str()).collect()
    }

    #[test]
    fn a_large_institution_leaves_the_turns_of_others_to_them() {
        let chosen = turns(6, "", &[("third", "a", 1_000), ("third", "b", 2), ("third", "c", 1)]);
        assert_eq!(institutions(&chosen), ["a", "b", "c", "a", "b", "a"]);
        let chosen = turns(6, "", &[("third", "c", 1), ("third", "b", 2), ("third", "a", 1_000)]);
        assert_eq!(institutions(&chosen), ["a", "b", "c", "a", "b", "a"]);
    }

    #[test]
    fn the_institution_behind_the_last_one_is_the_next() {
        let lacking = [("third", "a", 10), ("third", "b", 10), ("third", "c", 10)];
        let mut last = String::new();
        let mut seen = Vec::new();
        for _ in 0..6 {
            let chosen = turns(1, &last, &lacking);
            last = chosen.first().expect("one").institution.clone();
            seen.push(last.clone());
        }
        assert_eq!(seen, ["a", "b", "c", "a", "b", "c"]);
    }

    #[test]
    fn a_store_without_room_leaves_it_to_others_and_several_stores_are_one_turn() {
        let chosen = turns(4, "", &[("full", "a", 100), ("third", "a", 100), ("third", "b", 100)]);
        assert_eq!(institutions(&chosen), ["a", "b", "a", "b"]);
        assert_eq!(chosen.iter().filter(|one| one.store == "full").count(), 1);
        assert!(turns(0, "", &[("third", "a", 3)]).is_empty());
    }
}
