//! What is known of metadata and formats.

use strongroom_registry::counted;

use super::Answer;
use super::facts::{Facts, Holds};
use super::integrity::{examined, files};

/// There is an inventory with the places of copies, and it says what is true.
pub(super) fn inventory(facts: &Facts) -> Answer {
    if let Some(reason) = &facts.read_only {
        return Answer::not_met(format!("the registry can only be read: {reason}"));
    }
    if facts.is_empty() {
        return Answer::unknown("nothing is kept yet");
    }
    if facts.stores.is_empty() {
        return Answer::not_met("no store is in use");
    }
    for store in &facts.stores {
        if let Holds::Unknown(reason) = &store.holds {
            return Answer::unknown(reason.clone());
        }
    }
    let at_least = if facts.objects.is_all { "" } else { "at least " };
    Answer::met(format!("{at_least}{}, with the store of each copy", counted(facts.objects.kept, "object", "objects")))
}

/// The inventory is in more than one place: every store has what a registry is made from.
pub(super) fn inventory_apart(facts: &Facts) -> Answer {
    if facts.is_empty() {
        return Answer::unknown("nothing is kept yet");
    }
    let of = |is_counted: &dyn Fn(&super::facts::StoreFact) -> bool| -> Vec<&str> {
        facts.stores.iter().filter(|store| is_counted(store)).map(|store| store.name.as_str()).collect()
    };
    let with = of(&|store| store.has_watermark && matches!(store.holds, Holds::Whole));
    let unknown = of(&|store| matches!(store.holds, Holds::Unknown(_)));
    if with.len() >= 2 {
        Answer::met(format!("{} have the inventory of their objects, from which a registry is made", with.join(", ")))
    } else if with.len() + unknown.len() >= 2 {
        Answer::unknown(format!("away, or not compared: {}", unknown.join(", ")))
    } else {
        Answer::not_met("fewer than two stores have the inventory of every object, from which a registry is made")
    }
}

const UNDESCRIBED: &str = "without title and description";

/// Every object has a title or a description.
pub(super) fn described(facts: &Facts) -> Answer {
    examined(facts.objects, facts.undescribed, (counted(facts.objects.kept, "object", "objects"), UNDESCRIBED))
}

/// The same for what people answer.
pub(super) fn described_for_people(facts: &Facts) -> Answer {
    let of = counted(facts.objects.kept, "object", "objects");
    Answer::for_people(format!("{of} examined, {} {UNDESCRIBED}", facts.undescribed))
}

/// What was done with each file is recorded, with its time.
pub(super) fn acts_recorded(facts: &Facts) -> Answer {
    if facts.is_audit_suspended {
        return Answer::not_met("the audit chains are suspended until those in the stores can be read");
    }
    files(facts, facts.unrecorded, "without an event of the ingest")
}

const UNIDENTIFIED: &str = "without a known format";

/// The format of every file is known.
pub(super) fn identified(facts: &Facts) -> Answer {
    files(facts, facts.unidentified, UNIDENTIFIED)
}

/// The format of every file was found in its bytes.
pub(super) fn verified(facts: &Facts) -> Answer {
    files(facts, facts.unverified_formats, "without a format that was found in the bytes and agrees with the name")
}

/// The same for what people answer.
pub(super) fn formats_for_people(facts: &Facts) -> Answer {
    let of = counted(facts.files.kept, "file", "files");
    Answer::for_people(format!("{of} examined, {} {UNIDENTIFIED}", facts.unidentified))
}

/// What people answer, and nothing here says anything of.
pub(super) fn for_people(_: &Facts) -> Answer {
    Answer::for_people("not known to the program")
}
