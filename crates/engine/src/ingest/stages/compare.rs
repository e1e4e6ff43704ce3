//! compare: what is new, changed and unchanged against what is kept. From here to `record` the object's lease is held.
//! Identifiers of what is new are fixed in the interim rows before anything uses them. A deposit that changes nothing
//! makes no version, unless it is a part that did not come in before: the stores must know of it too.

use std::collections::HashSet;

use strongroom_ocfl::{OcflError, object_id};
use strongroom_registry::interim::{self, InterimFile};
use strongroom_registry::leases::Hold;
use strongroom_registry::objects::{self, DEPOSIT, Object};
use strongroom_registry::versions::{self, NewContent, NewVersion, Version};
use strongroom_registry::{ContentId, Decision, FileId, RegistryError, VersionState, discarding, parts};

use super::Findings;
use super::resolve::Resolved;
use crate::fixity;
use crate::ingest::deposit::DepositOptions;
use crate::ingest::intake::is_submission_file;
use crate::ingest::kept_copies::heal;
use crate::ingest::lease::{hold_object, waits_for_object};
use crate::ingest::paging::for_each_page;
use crate::ingest::placement::{bring_up, placement};
use crate::ingest::sweep;
use crate::ingest::version::{going_forward, object, open_version, previous_inventory, standing};
use crate::ingest::workflow::{NOTIFY, RESOLVE};
use crate::workflow::{Outcome, StageContext, StageError};

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let resolved: Resolved = context.expect("resolved")?;
    if let Hold::Busy { until } = hold_object(context, &resolved)? {
        return Err(waits_for_object(until));
    }
    let object = object(context, &resolved)?;
    let placement = object.description.placement.as_ref().filter(|_| object.head > 0);
    if placement.is_some_and(|placement| *placement != resolved.placement) {
        // Another part made the object since, elsewhere: an object's files are never split.
        let note = "the object was made in between; resolving anew".to_owned();
        return Ok(Outcome::RestartFrom { stage: RESOLVE, note });
    }
    discard_stale_versions(context, &object)?;
    let healed_first = match bring_stores_up(context, &resolved, &object) {
        Err(StageError::Transient(_)) => {
            // What no store has to be brought from may be what the deposit brings back.
            decide(context, &object)?;
            let healed = healed(context, &resolved, &object)?;
            bring_stores_up(context, &resolved, &object)?;
            healed
        }
        outcome => outcome.map(|()| String::new())?,
    };
    check_stores(context, &resolved, &object)?;
    let counts = decide(context, &object)?;
    let findings: Findings = context.expect("findings")?;
    if counts.new + counts.changed == 0 && !is_new_part(context, &findings, &object)? {
        let standing = standing(context, &findings.description, object.id, object.generation, object.head)?;
        let unchanged = counts.unchanged;
        let healed = healed(context, &resolved, &object)?;
        let note = format!(
            "nothing changed: all {unchanged} files are kept already, no version is made{standing}{healed_first}{healed}"
        );
        return Ok(Outcome::Skip { to: NOTIFY, note });
    }
    let version = prepare(context, &resolved, &object, findings)?;
    put_contents(context, &version)?;
    let healed = healed(context, &resolved, &object)?;
    let note = format!(
        "{} new, {} changed, {} unchanged files{healed_first}{healed}",
        counts.new, counts.changed, counts.unchanged
    );
    Ok(Outcome::Done { note })
}

/// Repairs from the deposit what the stores lack of its contents; what was repaired, to be put behind a note.
fn healed(context: &StageContext<'_>, resolved: &Resolved, object: &Object) -> Result<String, StageError> {
    let (_, stores) = placement(context, resolved)?;
    Ok(heal(context, object, &stores)?.map_or_else(String::new, |healed| format!("; {healed}")))
}

/// Discards versions of the object that no item can go on with: what another item began, which has lost the object's lease
/// since and compares anew when it comes back; or what this item began, if the object has moved on. Then no version that
/// was discarded keeps its number.
fn discard_stale_versions(context: &StageContext<'_>, object: &Object) -> Result<(), StageError> {
    let begun = context.registry().read(|tx| versions::open_of_object(tx, object.id))?;
    if let Some(version) = begun {
        let is_own = version.item == Some(context.item.id);
        let goes_on = version.state != VersionState::Preparing || version.number == object.head + 1;
        if !(is_own && goes_on) {
            sweep::discard(context.home, &context.authority(), &version)?;
        }
    }
    for version in context.registry().read(|tx| discarding::unswept_of_object(tx, object.id))? {
        context.task.check()?;
        sweep::finish_discarding(context.home, &version)?;
    }
    Ok(())
}

/// Brings stores of the placement that lack earlier versions of the object up to date first.
fn bring_stores_up(context: &StageContext<'_>, resolved: &Resolved, object: &Object) -> Result<(), StageError> {
    let is_committing = open_version(context)?.is_some_and(|version| version.state == VersionState::Committing);
    if is_committing {
        // Its stores were brought up before it was begun, and may hold its inventories by now.
        return Ok(());
    }
    bring_up(context, object, &placement(context, resolved)?.1)
}

/// Refuses to build on a store that does not hold the object as the record has it. A root inventory that is damaged, or that
/// its medium cannot read, is put back here: no repair can hold the object while the item holds it.
fn check_stores(context: &StageContext<'_>, resolved: &Resolved, object: &Object) -> Result<(), StageError> {
    let expected = previous_inventory(context.home, object)?;
    let (_, stores) = placement(context, resolved)?;
    for (name, store) in &stores {
        let root = context.open_root(name, store.as_ref())?;
        let in_store = root.object(&object_id(&object.generation.to_string())?)?;
        let found = || in_store.root_inventory().map(|inventory| inventory.map(|inventory| inventory.seal.digest));
        let is_right = match found() {
            Ok(found) => found == expected,
            Err(OcflError::Storage(error)) if fixity::is_unreadable(&error) => false,
            Err(error) => return Err(error.into()),
        };
        let is_right = is_right || put_right(context, object, name)? && found()? == expected;
        if !is_right {
            return Err(StageError::Transient(format!(
                "store {name} does not hold {} as the record has it at version {}; `store check` and `fixity run` tell more",
                object.identifier, object.head
            )));
        }
    }
    Ok(())
}

fn put_right(context: &StageContext<'_>, object: &Object, store: &str) -> Result<bool, StageError> {
    let go_on = || context.task.check();
    fixity::put_right(context.home, (object.id, context.claim), store, &go_on)
        .map_err(|halt| StageError::of_halt(halt, going_forward))
}

#[derive(Default)]
struct Counts {
    new: u64,
    changed: u64,
    unchanged: u64,
}

/// Decides file by file. Submission files are decided with the rest: they are kept when anything else is.
fn decide(context: &StageContext<'_>, object: &Object) -> Result<Counts, StageError> {
    let mut counts = Counts::default();
    let mut known_parents = HashSet::new();
    for_each_page(context, |mut rows| {
        context.registry().read(|tx| {
            for row in &mut rows {
                row.content = None;
                if is_submission_file(&row.path) {
                    row.decision = Some(Decision::New);
                    row.file.get_or_insert_with(FileId::new);
                    continue;
                }
                let current = objects::current(tx, object.id, &format!("{DEPOSIT}{}", row.path))?;
                let decision = match &current {
                    Some((_, Some((_, sha512, size)))) if *sha512 == row.digests.sha512 && *size == row.size => {
                        Decision::Unchanged
                    }
                    Some((_, Some(_))) => Decision::Changed,
                    // A path that was once taken out has its identifier, and is new again.
                    Some((_, None)) | None => Decision::New,
                };
                row.decision = Some(decision);
                match current {
                    Some((file, content)) => {
                        row.file = Some(file);
                        row.content = content.filter(|_| decision == Decision::Unchanged).map(|(content, ..)| content);
                    }
                    None => _ = row.file.get_or_insert_with(FileId::new),
                }
                match decision {
                    Decision::New => counts.new += 1,
                    Decision::Changed => counts.changed += 1,
                    Decision::Unchanged => counts.unchanged += 1,
                }
            }
            Ok::<_, RegistryError>(())
        })?;
        refuse_conflicts(context, object, &rows, &mut known_parents)?;
        context.write(move |tx, claim| interim::set_decisions(tx, claim, &rows))
    })?;
    Ok(counts)
}

/// A new path may not be a folder of a kept file, nor a file a kept folder: together they could not be given back.
fn refuse_conflicts(
    context: &StageContext<'_>,
    object: &Object,
    rows: &[InterimFile],
    known_parents: &mut HashSet<String>,
) -> Result<(), StageError> {
    for row in rows.iter().filter(|row| row.decision == Some(Decision::New)) {
        let conflict = context.registry().read(|tx| {
            let mut parent = row.path.as_str();
            while let Some((up, _)) = parent.rsplit_once('/') {
                if !known_parents.insert(up.to_owned()) {
                    break;
                }
                let kept = objects::current(tx, object.id, &format!("{DEPOSIT}{up}"))?;
                let is_kept_file = matches!(kept, Some((_, Some(_))));
                if is_kept_file || interim::file(tx, context.item.id, up)?.is_some() {
                    return Ok(Some(up.to_owned()));
                }
                parent = up;
            }
            if object.head == 0 {
                return Ok(None);
            }
            let below = format!("{DEPOSIT}{}/", row.path);
            let kept = objects::files(tx, object.id, object.head, &below, "", 1)?;
            Ok::<_, RegistryError>(kept.first().map(|file| file.path.clone()))
        })?;
        if let Some(other) = conflict {
            let note =
                format!("{:?} cannot be kept beside {other:?}: one is a file where the other needs a folder", row.path);
            return Err(StageError::fatal(note));
        }
        // The set is only a memory of folders seen lately.
        if known_parents.len() > 10_000 {
            known_parents.clear();
        }
    }
    Ok(())
}

/// Whether the deposit is a part that the set which was named last does not have.
fn is_new_part(context: &StageContext<'_>, findings: &Findings, object: &Object) -> Result<bool, StageError> {
    let Some(part) = findings.description.part else { return Ok(false) };
    let all = context.registry().read(|tx| parts::at(tx, object.id, object.generation, object.head))?;
    Ok(!all.is_some_and(|all| all.has(part)))
}

fn prepare(
    context: &StageContext<'_>,
    resolved: &Resolved,
    object: &Object,
    findings: Findings,
) -> Result<Version, StageError> {
    let options: DepositOptions = serde_json::from_str(&context.item.options)?;
    let mut description = findings.description;
    description.placement = Some(resolved.placement.clone());
    let (id, generation, number) = (object.id, object.generation, object.head + 1);
    let message = options.note.unwrap_or_else(|| format!("deposit of {}", context.item.name));
    let user = options.submitted_by;
    context.write(move |tx, claim| {
        let new =
            NewVersion { object: id, generation, number, message: &message, user: &user, description: &description };
        versions::prepare(tx, claim, &new)
    })
}

/// Puts the contents that the version brings, and fixes in the interim rows which content each file gets.
fn put_contents(context: &StageContext<'_>, version: &Version) -> Result<(), StageError> {
    for_each_page(context, |rows| {
        let version = version.clone();
        context.write(move |tx, claim| {
            let mut rows = rows.clone();
            rows.retain(|row| row.decision != Some(Decision::Unchanged));
            for row in &mut rows {
                let content = NewContent { id: ContentId::new(), size: row.size, digests: row.digests };
                row.content = Some(versions::put_content(tx, &version, &content)?.0);
            }
            interim::set_decisions(tx, claim, &rows)
        })
    })
}
