//! compare: what is new, changed and unchanged against what is kept. From here to `record` the object's lease is held.
//! Identifiers of what is new are fixed in the interim rows before anything uses them. A deposit that changes nothing
//! makes no version, unless it is a part that did not come in before: the stores must know of it too.

use std::collections::HashSet;

use strongroom_digest::Digest;
use strongroom_ocfl::{OcflError, object_id};
use strongroom_registry::interim::{self, Facts, InterimFile};
use strongroom_registry::leases::Hold;
use strongroom_registry::object_ids::{self, IdKind};
use strongroom_registry::objects::{self, DEPOSIT, Object};
use strongroom_registry::versions::{self, NewContent, NewVersion, Version};
use strongroom_registry::{
    ContentId, Decision, Description, FileId, GenerationId, ItemId, Layout, ObjectState, RegistryError, Scope,
    Transaction, VersionState, deletions, discarding, parts,
};

use super::Findings;
use super::package::problem;
use super::resolve::Resolved;
use crate::content_name::in_package;
use crate::fixity;
use crate::home::NamedStore;
use crate::ingest::area::{is_deposited, logical_path};
use crate::ingest::deposit::DepositOptions;
use crate::ingest::kept_copies::heal;
use crate::ingest::kind::{DepositKind, DepositMode};
use crate::ingest::lease::{expect, fact, hold_object, stores, waits_for_object};
use crate::ingest::metadata::completed;
use crate::ingest::paging::{ROWS_AT_ONCE, files_behind, first_page, for_each_page};
use crate::ingest::placement::bring_up;
use crate::ingest::storage_quota;
use crate::ingest::sweep;
use crate::ingest::version::{going_forward, standing};
use crate::ingest::workflow::{NOTIFY, RESOLVE};
use crate::workflow::{Outcome, StageContext, StageError};

/// Problems of a delete list that are told.
const MOST_PROBLEMS: usize = 1_000;

/// What the comparison knows when it begins, under the object's lease.
struct Known {
    facts: Facts,
    object: Object,
    /// The version that this item makes.
    own: Option<Version>,
    /// The version of the object that is being made, by this work item or another.
    begun: Option<Version>,
    /// Discarded versions that keep their numbers.
    unswept: Vec<Version>,
    /// The digest of the root inventory that the stores should hold now; none before the first version.
    head_inventory: Option<Digest>,
    stores: Vec<NamedStore>,
    /// The first page of files of a deposit that makes a new object, where nothing has to be brought in order before.
    first: Option<DecidedPage>,
}

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let (hold, facts, resolved) = hold_object(context)?;
    if let Hold::Busy { until } = hold {
        return Err(waits_for_object(until));
    }
    let mut known = look(context, &facts, &resolved)?;
    let first = known.first.take();
    let object = &known.object;
    let placement = object.description.placement.as_ref().filter(|_| object.head > 0);
    if placement.is_some_and(|placement| *placement != resolved.placement) {
        // Another part made the object since, elsewhere: an object's files are never split.
        let note = "the object was made in between; resolving anew".to_owned();
        return Ok(Outcome::RestartFrom { stage: RESOLVE, note });
    }
    check_identifiers(context, &facts, object)?;
    discard_stale_versions(context, &known)?;
    let healed_first = match bring_stores_up(context, &known) {
        Err(StageError::Transient(_)) => {
            // What no store has to be brought from may be what the deposit brings back.
            decide(context, &known.facts, object, None)?.write(context)?;
            match_kept(context, object)?;
            let healed = healed(context, &known)?;
            bring_stores_up(context, &known).map_err(with_advice)?;
            healed
        }
        outcome => outcome.map(|()| String::new())?,
    };
    check_stores(context, &known)?;
    let decided = decide(context, &known.facts, object, first)?;
    let findings: Findings = expect(&known.facts, "findings")?;
    let removed = removals(context, &known)?;
    let Counts { new, changed, unchanged } = decided.counts;
    // The stores must know of it too.
    let has_new_ark = object.head > 0 && object.ark.is_none() && resolved.ark.is_some();
    let is_described_anew = has_new_ark || is_described_anew(context, &findings, object)?;
    if new + changed + removed == 0 && !is_described_anew && !is_new_part(context, &findings, object)? {
        decided.write(context)?;
        let standing = standing(context, &findings.description, object.id, object.generation, object.head)?;
        let healed = healed(context, &known)?;
        if unchanged == 0 && DepositOptions::of(context.item)?.kind() == DepositKind::Metadata {
            let note = "nothing changed: the object is described so already, no version is made".to_owned();
            return Ok(Outcome::Skip { to: NOTIFY, note });
        }
        let kept = if unchanged == 1 { "the file is".to_owned() } else { format!("all {unchanged} files are") };
        let note = format!("nothing changed: {kept} kept already, no version is made{standing}{healed_first}{healed}");
        return Ok(Outcome::Skip { to: NOTIFY, note });
    }
    let has_more = decided.has_written;
    let version = prepare(context, &resolved, object, &findings, decided.last)?;
    if has_more {
        put_contents(context, &version)?;
    }
    let is_committing = known.own.as_ref().is_some_and(|version| version.state == VersionState::Committing);
    let quota = if is_committing { String::new() } else { storage_quota::reserve(context, &version)? };
    let healed = healed(context, &known)?;
    let removed = if removed > 0 { format!(", {removed} not kept in this version") } else { String::new() };
    let note =
        format!("{new} new, {changed} changed, {unchanged} unchanged files{removed}{healed_first}{healed}{quota}");
    Ok(Outcome::Done { note })
}

/// Fails where an identifier of the deposit belongs to another object by now: the item had ended in between.
fn check_identifiers(context: &StageContext<'_>, facts: &Facts, object: &Object) -> Result<(), StageError> {
    let findings: Findings = expect(facts, "findings")?;
    let ids = &findings.description.deposit_ids;
    let ark = object.ark.as_ref();
    let other = context.registry().read(|tx| {
        let ids = ids.iter().map(|id| (IdKind::Local, id)).chain(ark.map(|ark| (IdKind::Ark, ark)));
        for (kind, id) in ids {
            let owner = object_ids::find(tx, object.institution, kind, id)?;
            if let Some(owner) = owner.filter(|owner| *owner != object.identifier) {
                return Ok(Some((id.clone(), owner)));
            }
        }
        Ok::<_, RegistryError>(None)
    })?;
    let Some((id, owner)) = other else { return Ok(()) };
    let note = format!("{id} is an identifier of {owner} by now, and not of {}", object.identifier);
    let problems = vec![problem("error", "deposit.identifiers_contradict", None, note.clone())];
    Err(StageError::Fatal { note, problems })
}

/// Notes which files of the deposit are contents of any published version, also one that the head does not have any more.
fn match_kept(context: &StageContext<'_>, object: &Object) -> Result<(), StageError> {
    for_each_page(context, |rows| {
        let object = object.clone();
        context.write(move |tx, claim| interim::match_kept(tx, claim, &rows, &object))
    })
}

/// Says what a person can do where no store and not the deposit has what is lost.
fn with_advice(error: StageError) -> StageError {
    match error {
        StageError::Transient(note) => StageError::Transient(format!(
            "{note}; where no store has these bytes any more, deposit a package that has them: the object takes new \
             versions when they are kept again (`fixity problems` names them)"
        )),
        other => other,
    }
}

/// Reads what the comparison begins with.
fn look(context: &StageContext<'_>, facts: &Facts, resolved: &Resolved) -> Result<Known, StageError> {
    let mode = Deciding::of(context, facts)?;
    context.registry().read(|tx| {
        let gone = || StageError::Transient(format!("the object {} is gone from the registry", resolved.object));
        let object = objects::get(tx, Scope::System, resolved.object)?.ok_or_else(gone)?;
        let own = versions::of_item(tx, context.item.id)?;
        let object = match object.for_version(own.as_ref()) {
            // What was deleted begins anew: other bytes, other folders, the same identifiers of its files.
            deleted if deleted.state == ObjectState::Deleted => {
                let generation = GenerationId::after(deleted.generation);
                deleted.anew(generation)
            }
            object => object,
        };
        let published =
            if object.head > 0 { versions::list(tx, object.id, object.generation, false)? } else { Vec::new() };
        let begun = versions::open_of_object(tx, object.id)?;
        let unswept = discarding::unswept_of_object(tx, object.id)?;
        let first = if object.head == 0 && begun.is_none() && unswept.is_empty() {
            let rows = first_page(tx, context.item.id)?;
            Some(DecidedPage::of(tx, (context.item.id, &mode), &object, rows, &HashSet::new())?)
        } else {
            None
        };
        Ok(Known {
            facts: facts.clone(),
            own,
            begun,
            unswept,
            first,
            head_inventory: published.last().and_then(|version| version.inventory),
            stores: stores(context, tx, resolved)?,
            object,
        })
    })
}

/// Repairs from the deposit what the stores lack of its contents; what was repaired, to be put behind a note.
fn healed(context: &StageContext<'_>, known: &Known) -> Result<String, StageError> {
    Ok(heal(context, &known.object, &known.stores)?.map_or_else(String::new, |healed| format!("; {healed}")))
}

/// Discards versions of the object that no item can go on with: what another item began, which has lost the object's lease
/// since and compares anew when it comes back; or what this item began, if the object has moved on. Then no version that
/// was discarded keeps its number.
fn discard_stale_versions(context: &StageContext<'_>, known: &Known) -> Result<(), StageError> {
    if let Some(version) = &known.begun {
        let is_own = version.item == Some(context.item.id);
        let goes_on = version.state != VersionState::Preparing || version.number == known.object.head + 1;
        if !(is_own && goes_on) {
            sweep::discard(context.home, &context.authority(), version)?;
        }
    }
    for version in &known.unswept {
        context.task.check()?;
        sweep::finish_discarding(context.home, version)?;
    }
    Ok(())
}

/// Brings stores of the placement that lack earlier versions of the object up to date first.
fn bring_stores_up(context: &StageContext<'_>, known: &Known) -> Result<(), StageError> {
    let is_committing = known.own.as_ref().is_some_and(|version| version.state == VersionState::Committing);
    if is_committing {
        // Its stores were brought up before it was begun, and may hold its inventories by now.
        return Ok(());
    }
    bring_up(context, &known.object, &known.stores)
}

/// Notes which files of the version before the new one does not have; how many.
fn removals(context: &StageContext<'_>, known: &Known) -> Result<u64, StageError> {
    let options = DepositOptions::of(context.item)?;
    let deleted: Vec<String> = fact(&known.facts, "deleted")?.unwrap_or_default();
    let replaces = options.mode() == DepositMode::Replace && options.kind() != DepositKind::Metadata;
    context.write(interim::clear_removals)?;
    if replaces && known.object.head > 0 {
        remove_unsent(context, &known.object)?;
    } else if deleted.is_empty() {
        return Ok(0);
    } else {
        remove_listed(context, &known.object, &deleted)?;
    }
    Ok(context.registry().read(|tx| interim::count_removals(tx, context.item.id))?)
}

/// Notes every file of the object that was not sent.
fn remove_unsent(context: &StageContext<'_>, object: &Object) -> Result<(), StageError> {
    let mut after = String::new();
    loop {
        context.task.check()?;
        let (item, from) = (context.item.id, after.clone());
        let (page, are_sent) = context.registry().read(|tx| {
            let page = objects::files(tx, object.id, object.head, DEPOSIT, &from, ROWS_AT_ONCE)?;
            let paths: Vec<&str> = page.iter().map(|file| in_package(&file.path)).collect();
            let are_sent = interim::are_files(tx, item, &mut paths.iter().copied())?;
            Ok::<_, RegistryError>((page, are_sent))
        })?;
        let Some(last) = page.last() else { return Ok(()) };
        after.clone_from(&last.path);
        let gone: Vec<(FileId, String)> = page
            .into_iter()
            .zip(are_sent)
            .filter(|(_, is_sent)| !is_sent)
            .map(|(file, _)| (file.id, file.path))
            .collect();
        if !gone.is_empty() {
            context.write(move |tx, claim| interim::add_removals(tx, claim, &gone))?;
        }
    }
}

/// Notes the files of the object that a delete list names.
///
/// # Errors
/// A path was sent too, or the object does not have it: all of them.
fn remove_listed(context: &StageContext<'_>, object: &Object, deleted: &[String]) -> Result<(), StageError> {
    let mut problems = Vec::new();
    for page in deleted.chunks(ROWS_AT_ONCE) {
        context.task.check()?;
        let item = context.item.id;
        let (current, are_sent) = context.registry().read(|tx| {
            let paths: Vec<String> = page.iter().map(|path| format!("{DEPOSIT}{path}")).collect();
            let current = objects::current_of(tx, object.id, &mut paths.iter().map(String::as_str))?;
            let are_sent = interim::are_files(tx, item, &mut page.iter().map(String::as_str))?;
            Ok::<_, RegistryError>((current, are_sent))
        })?;
        let mut gone = Vec::new();
        for ((path, current), is_sent) in page.iter().zip(current).zip(are_sent) {
            let wrong = |code: &str, text: &str| problem("error", code, Some(path.as_str()), text.to_owned());
            match current {
                _ if is_sent => problems.push(wrong("delete.also_sent", "the package has this path too")),
                Some((file, Some(_))) => gone.push((file, format!("{DEPOSIT}{path}"))),
                _ => problems.push(wrong("delete.no_such_path", "the object does not have this path")),
            }
        }
        if !gone.is_empty() {
            context.write(move |tx, claim| interim::add_removals(tx, claim, &gone))?;
        }
    }
    let Some(first) = problems.first() else { return Ok(()) };
    let path = first.path.as_deref().unwrap_or_default();
    let note =
        format!("the delete list cannot be followed (errors: {}); first: {path}: {}", problems.len(), first.message);
    problems.truncate(MOST_PROBLEMS);
    Err(StageError::Invalid { note, problems })
}

/// Whether the deposit says something else of the object than is known of it, where that makes a version.
fn is_described_anew(context: &StageContext<'_>, findings: &Findings, object: &Object) -> Result<bool, StageError> {
    let (said, known) = (&findings.description, &object.description);
    if object.head == 0 {
        return Ok(false);
    }
    // An identifier is the object's for as long as a version says so.
    if said.deposit_ids.iter().any(|id| !known.local_ids.contains(id)) {
        return Ok(true);
    }
    if said.layout == Layout::Bag && said.metadata.is_none() {
        return Ok(false);
    }
    let kind = DepositOptions::of(context.item)?.kind();
    let new = completed(kind, said, Some(object), &context.item.name)?;
    let facts = |of: &Description| {
        (of.title.clone(), of.creator.clone(), of.date.clone(), of.access.clone(), of.metadata.clone())
    };
    Ok(facts(&new) != facts(known))
}

/// Refuses to build on a store that does not hold the object as the record has it. A root inventory that is damaged, or that
/// its medium cannot read, is put back here: no repair can hold the object while the item holds it.
fn check_stores(context: &StageContext<'_>, known: &Known) -> Result<(), StageError> {
    let Known { object, head_inventory: expected, .. } = known;
    for (name, store) in &known.stores {
        let root = context.open_root(name, store.as_ref())?;
        let in_store = root.object(&object_id(&object.generation.to_string())?)?;
        let found = || in_store.root_inventory().map(|inventory| inventory.map(|inventory| inventory.seal.digest));
        let is_right = match found() {
            Ok(found) => found == *expected,
            Err(OcflError::Storage(error)) if fixity::is_unreadable(&error) => false,
            Err(error) => return Err(error.into()),
        };
        let is_right = is_right || put_right(context, object, name)? && found()? == *expected;
        if !is_right {
            return Err(StageError::Transient(format!(
                "store {name} does not hold {} as the registry has it at version {}; `store check` and `fixity run` \
                 show more",
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

/// What was decided of a deposit.
#[derive(Default)]
struct Decided {
    counts: Counts,
    /// The rows of the last page, which are not written yet.
    last: Vec<InterimFile>,
    /// Whether pages before it were.
    has_written: bool,
}

impl Decided {
    /// Writes the last page.
    fn write(self, context: &StageContext<'_>) -> Result<(), StageError> {
        let rows = self.last;
        if rows.is_empty() {
            return Ok(());
        }
        context.write(move |tx, claim| interim::set_decisions(tx, claim, &rows))
    }
}

/// How files are decided.
#[derive(Debug, Clone)]
struct Deciding {
    layout: Layout,
    /// Whether the version has only what was sent.
    replaces: bool,
    /// The paths of the delete list.
    deleted: HashSet<String>,
}

impl Deciding {
    fn of(context: &StageContext<'_>, facts: &Facts) -> Result<Self, StageError> {
        let options = DepositOptions::of(context.item)?;
        let deleted: Option<HashSet<String>> = fact(facts, "deleted")?;
        let replaces = options.mode() == DepositMode::Replace;
        Ok(Self { layout: options.kind().layout(), replaces, deleted: deleted.unwrap_or_default() })
    }
}

/// A page of files with what was decided of them.
struct DecidedPage {
    rows: Vec<InterimFile>,
    /// The first of them that conflicts, with what it conflicts with.
    conflict: Option<(String, String)>,
    /// The folders that were inspected for it.
    parents: HashSet<String>,
}

impl DecidedPage {
    /// Decides a page of files; `known_parents` are folders that were inspected before.
    fn of(
        tx: &mut dyn Transaction,
        (item, mode): (ItemId, &Deciding),
        object: &Object,
        mut rows: Vec<InterimFile>,
        known_parents: &HashSet<String>,
    ) -> Result<Self, RegistryError> {
        decide_page(tx, object, mode.layout, &mut rows)?;
        let mut parents = HashSet::new();
        let conflict = conflict(tx, (item, object, mode), &rows, known_parents, &mut parents)?;
        Ok(Self { rows, conflict, parents })
    }
}

/// Decides file by file, where `first` is the first page where that was decided. Submission files are decided with the rest: they
/// are kept when anything else is.
fn decide(
    context: &StageContext<'_>,
    facts: &Facts,
    object: &Object,
    first: Option<DecidedPage>,
) -> Result<Decided, StageError> {
    let mode = Deciding::of(context, facts)?;
    let layout = mode.layout;
    let mut decided = Decided::default();
    let mut known_parents = HashSet::new();
    let mut first = first;
    let rows_of_first = first.as_ref().map(|first| first.rows.clone());
    for page in files_behind(context, rows_of_first) {
        let rows = page?;
        let before = std::mem::take(&mut decided.last);
        if !before.is_empty() {
            context.write(move |tx, claim| interim::set_decisions(tx, claim, &before))?;
            decided.has_written = true;
        }
        let page = match first.take() {
            Some(first) => first,
            None => context
                .registry()
                .read(|tx| DecidedPage::of(tx, (context.item.id, &mode), object, rows.clone(), &known_parents))?,
        };
        if let Some((path, other)) = page.conflict {
            let note =
                format!("{path:?} cannot be kept beside {other:?}: one is a file where the other needs a folder");
            return Err(StageError::fatal(note));
        }
        for row in page.rows.iter().filter(|row| is_deposited(layout, &row.path)) {
            match row.decision {
                Some(Decision::New) => decided.counts.new += 1,
                Some(Decision::Changed) => decided.counts.changed += 1,
                Some(Decision::Unchanged) => decided.counts.unchanged += 1,
                None => {}
            }
        }
        // The set is only a memory of folders seen lately.
        if known_parents.len() > 10_000 {
            known_parents.clear();
        }
        known_parents.extend(page.parents);
        decided.last = page.rows;
    }
    Ok(decided)
}

fn decide_page(
    tx: &mut dyn Transaction,
    object: &Object,
    layout: Layout,
    rows: &mut [InterimFile],
) -> Result<(), RegistryError> {
    let kept = |row: &InterimFile| is_deposited(layout, &row.path);
    let paths: Vec<String> = rows.iter().filter(|row| kept(row)).map(|row| format!("{DEPOSIT}{}", row.path)).collect();
    let current = objects::current_of(tx, object.id, &mut paths.iter().map(String::as_str))?;
    let mut current = current.into_iter();
    let is_first = object.head == 0 && !object.is_anew;
    let may_have_path = !is_first && deletions::was_deleted(tx, object.id)?;
    for row in rows {
        row.content = None;
        if !kept(row) {
            row.decision = Some(Decision::New);
            if may_have_path {
                // A generation that was deleted may have had the path.
                let path = logical_path(layout, &row.path, object.head + 1);
                row.file = deletions::file_of_path(tx, object.id, &path)?.or(row.file);
            }
            row.file.get_or_insert_with(FileId::new);
            continue;
        }
        let current = current.next().flatten();
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
    }
    Ok(())
}

/// A new path may not be a folder of a kept file, nor a file a kept folder: together they could not be restored. The
/// first of these files that conflicts, with what it conflicts with.
fn conflict(
    tx: &mut dyn Transaction,
    (item, object, mode): (ItemId, &Object, &Deciding),
    rows: &[InterimFile],
    known_parents: &HashSet<String>,
    seen: &mut HashSet<String>,
) -> Result<Option<(String, String)>, RegistryError> {
    let is_new = |row: &&InterimFile| row.decision == Some(Decision::New) && is_deposited(mode.layout, &row.path);
    // Of a version that has only what was sent, what is kept stands in the way of nothing.
    let keeps_others = object.head > 0 && !mode.replaces;
    // Each folder with the first file in it.
    let mut parents: Vec<(&str, &str)> = Vec::new();
    for row in rows.iter().filter(is_new) {
        let mut parent = row.path.as_str();
        while let Some((up, _)) = parent.rsplit_once('/') {
            if known_parents.contains(up) || !seen.insert(up.to_owned()) {
                break;
            }
            parents.push((up, &row.path));
            parent = up;
        }
    }
    if !parents.is_empty() {
        let are_files = interim::are_files(tx, item, &mut parents.iter().map(|(parent, _)| *parent))?;
        let mut kept = vec![None; parents.len()];
        if keeps_others {
            let paths: Vec<String> = parents.iter().map(|(parent, _)| format!("{DEPOSIT}{parent}")).collect();
            kept = objects::current_of(tx, object.id, &mut paths.iter().map(String::as_str))?;
        }
        for (((parent, path), is_file), kept) in parents.iter().zip(are_files).zip(kept) {
            let is_kept = matches!(kept, Some((_, Some(_)))) && !mode.deleted.contains(*parent);
            if is_file || is_kept {
                return Ok(Some(((*path).to_owned(), (*parent).to_owned())));
            }
        }
    }
    if !keeps_others {
        return Ok(None);
    }
    for row in rows.iter().filter(is_new) {
        let below = format!("{DEPOSIT}{}/", row.path);
        if let Some(kept) = first_kept(tx, object, &below, &mode.deleted)? {
            return Ok(Some((row.path.clone(), kept)));
        }
    }
    Ok(None)
}

/// The first file of the object whose path begins so and that stays.
fn first_kept(
    tx: &mut dyn Transaction,
    object: &Object,
    prefix: &str,
    deleted: &HashSet<String>,
) -> Result<Option<String>, RegistryError> {
    let mut after = String::new();
    loop {
        let page = objects::files(tx, object.id, object.head, prefix, &after, ROWS_AT_ONCE)?;
        let Some(last) = page.last() else { return Ok(None) };
        after.clone_from(&last.path);
        if let Some(kept) = page.iter().find(|file| !deleted.contains(in_package(&file.path))) {
            return Ok(Some(kept.path.clone()));
        }
    }
}

/// Whether the deposit is a part that the set which was named last does not have.
fn is_new_part(context: &StageContext<'_>, findings: &Findings, object: &Object) -> Result<bool, StageError> {
    let Some(part) = findings.description.part else { return Ok(false) };
    let all = context.registry().read(|tx| parts::at(tx, object.id, object.generation, object.head))?;
    Ok(!all.is_some_and(|all| all.has(part)))
}

/// Begins the version, with the contents of the last page of files.
fn prepare(
    context: &StageContext<'_>,
    resolved: &Resolved,
    object: &Object,
    findings: &Findings,
    last: Vec<InterimFile>,
) -> Result<Version, StageError> {
    let options = DepositOptions::of(context.item)?;
    let mut description = completed(options.kind(), &findings.description, Some(object), &context.item.name)?;
    description.placement = Some(resolved.placement.clone());
    description.placement_requested = resolved.placement_requested;
    let (id, generation, number) = (object.id, object.generation, object.head + 1);
    let message = options.note.unwrap_or_else(|| format!("deposit of {}", context.item.name));
    let (user, harvested_from) = (options.submitted_by, options.harvested_from);
    context.write(move |tx, claim| {
        let new = NewVersion {
            object: id,
            generation,
            number,
            message: &message,
            user: &user,
            harvested_from: harvested_from.as_ref(),
            description: &description,
        };
        let version = versions::prepare(tx, claim, &new)?;
        let mut rows = last.clone();
        fix_contents(tx, &version, &mut rows)?;
        interim::write_decisions(tx, claim.item, &rows)?;
        Ok(version)
    })
}

/// Puts the contents that the version brings, and fixes in the interim rows which content each file gets.
fn put_contents(context: &StageContext<'_>, version: &Version) -> Result<(), StageError> {
    for_each_page(context, |rows| {
        let version = version.clone();
        context.write(move |tx, claim| {
            let mut rows = rows.clone();
            rows.retain(|row| row.decision != Some(Decision::Unchanged));
            fix_contents(tx, &version, &mut rows)?;
            interim::set_decisions(tx, claim, &rows)
        })
    })
}

/// Puts the contents of files that are not unchanged; each row then has its own.
fn fix_contents(tx: &mut dyn Transaction, version: &Version, rows: &mut [InterimFile]) -> Result<(), RegistryError> {
    let mut changed: Vec<&mut InterimFile> =
        rows.iter_mut().filter(|row| row.decision != Some(Decision::Unchanged)).collect();
    let contents: Vec<NewContent> =
        changed.iter().map(|row| NewContent { id: ContentId::new(), size: row.size, digests: row.digests }).collect();
    if contents.is_empty() {
        return Ok(());
    }
    let put = versions::put_contents(tx, version, &contents)?;
    for (row, content) in changed.iter_mut().zip(put) {
        row.content = Some(content);
    }
    Ok(())
}
