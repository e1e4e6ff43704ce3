//! What must be true when everything has come to rest, by the stores' own word: inventories are read as JSON and contents are
//! compared byte for byte, without the code that wrote them.

use std::collections::BTreeSet;
use std::io::Read;

use serde_json::Value;
use strongroom_bagit::{Limits, Source};
use strongroom_engine::Home;
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::reconcile;
use strongroom_ocfl::{ValidateOptions, validate_object};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{DeletionState, ItemId, ItemStatus, ObjectState, RegistryError, RestoredState, Scope};
use strongroom_registry::{deletions, restored};
use strongroom_storage::{Key, Store};

use crate::disturbing::DAMAGED_BEGINNING;
use crate::expected::{Expected, Files, Generation};
use crate::house::{House, OBJECT};
use crate::installation::{INSTITUTION, KEPT_IN, STORES};

/// Whether everything is as it should be: all that is wrong. What was deleted may lie in the restoration store where it was restored.
pub(crate) fn problems(house: &House, home: &Home, expected: &Expected, was_restored: bool) -> Vec<String> {
    let mut problems = check_rows(home, expected);
    for name in KEPT_IN {
        check_store(house.store(name), &expected.generations, &mut problems);
    }
    problems.extend(check_equality(house).err());
    let left = keys(house.store("staging"));
    if !left.is_empty() {
        problems.push(format!("staging still has {}", left.join(", ")));
    }
    check_absence(house, expected, was_restored, &mut problems);
    let all = FixityRequest { all: true, ..FixityRequest::default() };
    match fixity::run(home, &all, &mut |_| ()) {
        Ok(summary) if (summary.damaged, summary.failed, summary.postponed) == (0, 0, 0) => {}
        Ok(summary) => problems.push(format!("a check of all copies finds {summary:?}")),
        Err(error) => problems.push(format!("copies cannot be checked: {}", error.chain())),
    }
    match fixity::problems(home, None, None, 10) {
        Ok(findings) if findings.is_empty() => {}
        Ok(findings) => problems.push(format!("findings are open: {findings:?}")),
        Err(error) => problems.push(error.chain()),
    }
    for name in STORES {
        let mut differences = Vec::new();
        let note = &mut |difference| {
            differences.push(difference);
            Ok(())
        };
        problems.extend(reconcile::run(home, name, note).err().map(|error| error.chain()));
        if !differences.is_empty() {
            problems.push(format!("{name} differs from the registry: {differences:?}"));
        }
    }
    problems
}

/// What the registry says of the object and of its deletions.
fn check_rows(home: &Home, expected: &Expected) -> Vec<String> {
    let object = home.registry.read(|tx| match objects::find(tx, Scope::System, OBJECT) {
        Ok(object) => Ok(Some(object)),
        Err(RegistryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    });
    let object = object.expect("reads");
    let mut problems = Vec::new();
    let head = object.as_ref().map_or(0, |object: &Object| object.head);
    if head != expected.head() {
        problems.push(format!("the head is {head} and should be {}", expected.head()));
    }
    let Some(object) = object else { return problems };
    if (object.state == ObjectState::Deleted) != expected.is_deleted() {
        problems.push(format!("the object is {}", object.state));
    }
    let last = expected.generations.last().and_then(|last| last.versions.last()).cloned().unwrap_or_default();
    let listed = home.registry.read(|tx| objects::files(tx, object.id, object.head, "deposit/data/", "", 100));
    let listed: Vec<String> = listed.expect("reads").into_iter().map(|file| file.path).collect();
    let wanted: Vec<String> = last.keys().map(|path| format!("deposit/{path}")).collect();
    if head > 0 && listed != wanted {
        problems.push(format!("the registry lists {listed:?}, and {wanted:?} should be there"));
    }
    let (deletions, pending) = home
        .registry
        .read(|tx| {
            Ok::<_, RegistryError>((deletions::of_object(tx, object.id)?, deletions::is_any_pending(tx, object.id)?))
        })
        .expect("reads");
    let states: Vec<DeletionState> = deletions.into_iter().map(|deletion| deletion.state).collect();
    if pending || states != vec![DeletionState::Completed; expected.deletions()] {
        problems.push(format!("deletions are {states:?}, pending: {pending}, and should be {}", expected.deletions()));
    }
    problems
}

/// Whether the preservation stores have the same bytes under the same keys. Each has its own logs, but for those of deletions.
fn check_equality(house: &House) -> Result<(), String> {
    let of = |name: &str| {
        let store = house.store(name);
        let keys =
            keys(store).into_iter().filter(|key| is_of_object(key) && (!key.contains("/logs/") || is_tombstone(key)));
        keys.map(|key| Ok((read(store, &key)?, key))).collect::<Result<Vec<_>, String>>()
    };
    let [one, other] = [of(KEPT_IN[0])?, of(KEPT_IN[1])?];
    let differing =
        one.iter().filter(|line| !other.contains(line)).chain(other.iter().filter(|line| !one.contains(line)));
    let differing: BTreeSet<&String> = differing.map(|(_, key)| key).collect();
    if differing.is_empty() { Ok(()) } else { Err(format!("the stores differ in {differing:?}")) }
}

/// Whether a key is the record of a deletion in the logs of an object.
fn is_tombstone(key: &str) -> bool {
    key.contains("/logs/") && key.contains("-deletion-")
}

/// Whether what was deposited and is in no version any more is in no store.
fn check_absence(house: &House, expected: &Expected, was_restored: bool, problems: &mut Vec<String>) {
    if expected.deletions() == 0 {
        return;
    }
    let deposited = (1..=2).flat_map(house.payload).map(|(_, bytes)| *bytes);
    let gone: Vec<&[u8]> = deposited.filter(|bytes| !expected.has(bytes)).collect();
    for (place, bytes) in house.bytes() {
        let is_result = was_restored && place.contains("restoration/");
        if !is_result && gone.iter().any(|gone| has_end_of(&bytes, gone)) {
            problems.push(format!("{place} has bytes that were deleted"));
        }
    }
}

/// Whether `bytes` has `part`, or it with another beginning, as evidence of damage has it.
fn has_end_of(bytes: &[u8], part: &[u8]) -> bool {
    let end = part.get(DAMAGED_BEGINNING.len()..).unwrap_or(part);
    bytes.windows(end.len()).any(|window| window == end)
}

fn keys(store: &dyn Store) -> Vec<String> {
    let listed = store.list(&Key::ROOT).expect("lists").map(|line| line.expect("a line").key.to_string());
    listed.collect()
}

fn check_store(store: &dyn Store, expected: &[Generation], problems: &mut Vec<String>) {
    let mut wrong = |what: String| problems.push(format!("{}: {what}", store.name()));
    let keys = keys(store);
    let roots: BTreeSet<&str> = keys.iter().filter_map(|key| key.strip_suffix("/0=ocfl_object_1.1")).collect();
    if expected.is_empty() {
        let left: Vec<&String> = keys.iter().filter(|key| is_of_object(key)).collect();
        if !left.is_empty() {
            wrong(format!("of what is not published there is {left:?}"));
        }
    } else if roots.len() != expected.len() {
        wrong(format!("{} objects lie there, and {} should", roots.len(), expected.len()));
    }
    for generation in expected {
        let outcomes = roots.iter().map(|root| check_object(store, root, generation, &keys));
        // Which of several generations lies in which folder is not known here.
        if let Err(what) = outcomes.reduce(Result::or).unwrap_or(Ok(())) {
            wrong(what);
        }
    }
    match store.assemblies() {
        Ok(left) if left.is_empty() => {}
        Ok(left) => wrong(format!("{} assemblies are left", left.len())),
        Err(error) => wrong(error.to_string()),
    }
}

/// Whether a key lies in an object of the institution, and not beside its objects.
fn is_of_object(key: &str) -> bool {
    let below = key.strip_prefix(INSTITUTION).and_then(|key| key.strip_prefix('/'));
    below.is_some_and(|below| below.contains('/') && !below.starts_with("extensions/"))
}

fn check_object(store: &dyn Store, root: &str, expected: &Generation, keys: &[String]) -> Result<(), String> {
    match validate_object(store, &Key::new(root).expect("a key"), &ValidateOptions::default()) {
        Ok(report) if report.is_valid() => {}
        Ok(report) => return Err(format!("the object is not valid: {:?}", report.errors)),
        Err(error) => return Err(format!("the object cannot be read: {error}")),
    }
    let head = expected.versions.len();
    let inventory: Value = serde_json::from_slice(&read(store, &format!("{root}/inventory.json"))?).map_err(text)?;
    if inventory["head"] != format!("v{head}") {
        return Err(format!("the root inventory names {} as the head, not v{head}", inventory["head"]));
    }
    for (number, files) in (1..).zip(&expected.versions) {
        check_version(store, root, (&inventory, number), files)?;
    }
    let mut named = BTreeSet::from(["0=ocfl_object_1.1".to_owned()]);
    named.extend(["inventory.json", "inventory.json.sha512"].map(str::to_owned));
    for version in 1..=head {
        named.extend([format!("v{version}/inventory.json"), format!("v{version}/inventory.json.sha512")]);
    }
    for paths in inventory["manifest"].as_object().ok_or("there is no manifest")?.values() {
        named.extend(paths.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    }
    let in_object: Vec<&str> = keys.iter().filter_map(|key| key.strip_prefix(root)?.strip_prefix('/')).collect();
    let tombstones = in_object.iter().filter(|key| is_tombstone(&format!("/{key}"))).count();
    if tombstones != expected.deletions {
        return Err(format!("{tombstones} tombstones lie there, and {} should", expected.deletions));
    }
    let contents = in_object.iter().filter(|key| key.contains("/content/")).count();
    if expected.is_deleted && contents != 1 {
        return Err(format!("{contents} contents lie there, and only the record of the deletion should"));
    }
    let unnamed: Vec<&str> =
        in_object.into_iter().filter(|key| !key.starts_with("logs/") && !named.contains(*key)).collect();
    if unnamed.is_empty() { Ok(()) } else { Err(format!("no inventory names {unnamed:?}")) }
}

fn check_version(
    store: &dyn Store,
    root: &str,
    (inventory, number): (&Value, u64),
    files: &Files,
) -> Result<(), String> {
    let state = &inventory["versions"][format!("v{number}")]["state"];
    let state = state.as_object().ok_or_else(|| format!("v{number} has no state"))?;
    let mut wanted = files.clone();
    for (digest, paths) in state {
        for path in paths.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let Some(path) = path.strip_prefix("deposit/").filter(|path| path.starts_with("data/")) else { continue };
            let bytes = wanted.remove(path).ok_or_else(|| format!("v{number} still has {path}"))?;
            let content = inventory["manifest"][digest][0].as_str().ok_or_else(|| format!("{path} has no content"))?;
            if read(store, &format!("{root}/{content}"))? != *bytes {
                return Err(format!("{path} has other bytes in v{number}"));
            }
        }
    }
    if wanted.is_empty() { Ok(()) } else { Err(format!("v{number} lacks {:?}", wanted.keys())) }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn read(store: &dyn Store, key: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    store.open(&Key::new(key).map_err(text)?, 0, None).map_err(text)?.read_to_end(&mut bytes).map_err(text)?;
    Ok(bytes)
}

/// Whether the restoration store has what the registry says an item has restored, whole, and nothing else: one of these lists of files.
pub(crate) fn restored(house: &House, home: &Home, item: ItemId, wanted: &[&Files]) -> Vec<String> {
    let mut problems = Vec::new();
    let store = house.store("restoration");
    let results = home.registry.read(|tx| restored::of_item(tx, item)).expect("reads");
    let status = crate::house::item(home, item).status;
    // One that was given back and whose item did not end for it is given back once more, under the next name.
    let is_kept = results.iter().any(|result| result.state == RestoredState::Kept);
    if status == ItemStatus::Succeeded && !is_kept {
        problems.push("the restoration succeeded and has no result".to_owned());
    }
    // What an item that was cancelled has put goes when results expire: by its row.
    let recorded: BTreeSet<String> = results.iter().map(|result| result.place.key.clone()).collect();
    let lies: BTreeSet<String> = keys(store).into_iter().filter(|key| key.starts_with(INSTITUTION)).collect();
    if !lies.is_subset(&recorded) {
        problems.push(format!("{lies:?} lie in the restoration store, and these are recorded: {results:?}"));
    }
    for key in &lies {
        problems.extend(check_bag(store, key, wanted).err());
    }
    problems
}

fn check_bag(store: &dyn Store, key: &str, wanted: &[&Files]) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(text)?;
    let path = folder.path().join("restored.tar");
    std::fs::write(&path, read(store, key)?).map_err(text)?;
    let mut files = Vec::new();
    let source = Source::open(&path).map_err(text)?;
    let scan = source.scan(&Limits::default(), &mut |entry, bytes| {
        let mut read = Vec::new();
        bytes.read_to_end(&mut read)?;
        if entry.path.starts_with("data/") {
            files.push((entry.path.clone(), read));
        }
        Ok(())
    });
    if !scan.map_err(text)?.problems.is_empty() {
        return Err(format!("{key} is no whole bag"));
    }
    files.sort();
    let is_wanted = |wanted: &&Files| {
        let wanted = wanted.iter().map(|(path, bytes)| (*path, *bytes));
        wanted.eq(files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())))
    };
    if wanted.iter().any(is_wanted) { Ok(()) } else { Err(format!("{key} differs from the deposit")) }
}
