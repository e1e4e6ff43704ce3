//! What is known of users, rights, and the record of acts.

use strongroom_registry::counted;

use super::Answer;
use super::facts::Facts;

fn by_role(facts: &Facts) -> String {
    let roles = facts.users.iter().map(|(role, users)| format!("{users} {}", role.replace('_', " ")));
    roles.collect::<Vec<_>>().join(", ")
}

/// It is determined who may do what: there are users with roles.
pub(super) fn determined(facts: &Facts) -> Answer {
    if facts.users.is_empty() {
        return Answer::not_met("there are no users: everything is done by accounts of the operating system");
    }
    Answer::met(format!("active users by role: {}", by_role(facts)))
}

/// What was determined is applied: there are users, two of them can delete, and others have no access beside the program.
pub(super) fn applied(facts: &Facts) -> Answer {
    determined(facts).and(|| {
        if let Some(first) = facts.too_wide.first() {
            let paths = counted(facts.too_wide.len() as u64, "path gives", "paths give");
            return Answer::not_met(format!("{paths} other accounts access, first: {first}"));
        }
        if facts.without_second_admin > 0 {
            let of = counted(facts.without_second_admin, "institution has", "institutions have");
            return Answer::not_met(format!("{of} no second admin, whom a deletion needs"));
        }
        Answer::met("files and folders give no other account access; every institution has two admins")
    })
}

/// The chains, and how much is in them.
fn in_chains(facts: &Facts) -> String {
    let entries: u64 = facts.chains.iter().map(|chain| chain.sequence).sum();
    let published: u64 = facts.chains.iter().map(|chain| chain.published).sum();
    let signed = facts.chains.iter().filter(|chain| chain.signing_key.is_some()).count();
    format!(
        "{} with {}, {published} published, {signed} signed",
        counted(facts.chains.len() as u64, "audit chain", "audit chains"),
        counted(entries, "entry", "entries")
    )
}

/// What was done and by whom is recorded, and lies in every store.
pub(super) fn recorded(facts: &Facts) -> Answer {
    if facts.stores.is_empty() {
        return Answer::not_met("no store is in use");
    }
    if facts.is_audit_suspended {
        return Answer::not_met("the audit chains are suspended until those in the stores can be read");
    }
    if let Some(error) = facts.audit_task.as_ref().and_then(|task| task.error.as_ref()) {
        return Answer::not_met(format!("the background task audit fails: {error}"));
    }
    let published: u64 = facts.chains.iter().map(|chain| chain.published).sum();
    if published == 0 {
        return Answer::not_met("no entry of an audit chain is published");
    }
    let lacking = facts.stores.iter().filter(|store| store.lacks_audit);
    let lacking: Vec<&str> = lacking.map(|store| store.name.as_str()).collect();
    if !lacking.is_empty() {
        return Answer::not_met(format!("published entries are not in {}", lacking.join(", ")));
    }
    let unpublished = facts.chains.iter().any(|chain| chain.sequence > chain.published);
    let is_open = facts.pending_acts > 0 || unpublished;
    if is_open && facts.audit_task.as_ref().is_none_or(|task| task.is_overdue) {
        let acts = counted(facts.pending_acts, "act is", "acts are");
        return Answer::unknown(format!(
            "{acts} in no chain yet, or entries are not published, and no process runs the background task audit"
        ));
    }
    Answer::met(format!("{}; as the stores were last read", in_chains(facts)))
}

/// What people answer about reviews.
pub(super) fn reviewed(facts: &Facts) -> Answer {
    Answer::for_people(in_chains(facts))
}
