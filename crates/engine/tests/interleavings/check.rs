//! What must be true when everything has come to rest, by the stores' own word: inventories are read as JSON and contents are
//! compared byte for byte, without the code that wrote them.

use std::collections::BTreeSet;
use std::io::Read;

use serde_json::Value;
use strongroom_bagit::{Limits, Source};
use strongroom_engine::Home;
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_ocfl::{ValidateOptions, validate_object};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::restored;
use strongroom_registry::{ItemStatus, RegistryError, RestoredState, Scope};
use strongroom_storage::{Key, Store};

use crate::house::{House, OBJECT, payload};
use crate::installation::{INSTITUTION, KEPT_IN};

/// Whether everything is as it should be with this head: all that is wrong.
pub(crate) fn problems(house: &House, home: &Home, head: u64) -> Vec<String> {
    let mut problems = Vec::new();
    let object = home.registry.read(|tx| match objects::find(tx, Scope::System, OBJECT) {
        Ok(object) => Ok(Some(object)),
        Err(RegistryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    });
    let found = object.expect("reads").as_ref().map_or(0, |object: &Object| object.head);
    if found != head {
        problems.push(format!("the head is {found} and should be {head}"));
    }
    for name in KEPT_IN {
        check_store(house.store(name), found, &mut problems);
    }
    let left = keys(house.store("staging"));
    if !left.is_empty() {
        problems.push(format!("staging still has {}", left.join(", ")));
    }
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
    problems
}

fn keys(store: &dyn Store) -> Vec<String> {
    let listed = store.list(&Key::ROOT).expect("lists").map(|line| line.expect("a line").key.to_string());
    listed.collect()
}

fn check_store(store: &dyn Store, head: u64, problems: &mut Vec<String>) {
    let mut wrong = |what: String| problems.push(format!("{}: {what}", store.name()));
    let keys = keys(store);
    let roots: BTreeSet<&str> = keys.iter().filter_map(|key| key.strip_suffix("/0=ocfl_object_1.1")).collect();
    if head == 0 {
        let left: Vec<&String> = keys.iter().filter(|key| is_of_object(key)).collect();
        if !left.is_empty() {
            wrong(format!("of what is not published there is {left:?}"));
        }
    } else if roots.len() == 1 {
        for root in &roots {
            if let Err(what) = check_object(store, root, head, &keys) {
                wrong(what);
            }
        }
    } else {
        wrong(format!("{} objects lie there, and the head is {head}", roots.len()));
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

fn check_object(store: &dyn Store, root: &str, head: u64, keys: &[String]) -> Result<(), String> {
    match validate_object(store, &Key::new(root).expect("a key"), &ValidateOptions::default()) {
        Ok(report) if report.is_valid() => {}
        Ok(report) => return Err(format!("the object is not valid: {:?}", report.errors)),
        Err(error) => return Err(format!("the object cannot be read: {error}")),
    }
    let inventory: Value = serde_json::from_slice(&read(store, &format!("{root}/inventory.json"))?).map_err(text)?;
    if inventory["head"] != format!("v{head}") {
        return Err(format!("the root inventory names {} as the head, not v{head}", inventory["head"]));
    }
    for version in 1..=head {
        check_version(store, root, &inventory, version)?;
    }
    let mut named = BTreeSet::from(["0=ocfl_object_1.1".to_owned()]);
    named.extend(["inventory.json", "inventory.json.sha512"].map(str::to_owned));
    for version in 1..=head {
        named.extend([format!("v{version}/inventory.json"), format!("v{version}/inventory.json.sha512")]);
    }
    for paths in inventory["manifest"].as_object().ok_or("there is no manifest")?.values() {
        named.extend(paths.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
    }
    let in_object = keys.iter().filter_map(|key| key.strip_prefix(root)?.strip_prefix('/'));
    let unnamed: Vec<&str> = in_object.filter(|key| !key.starts_with("logs/") && !named.contains(*key)).collect();
    if unnamed.is_empty() { Ok(()) } else { Err(format!("no inventory names {unnamed:?}")) }
}

fn check_version(store: &dyn Store, root: &str, inventory: &Value, version: u64) -> Result<(), String> {
    let state = &inventory["versions"][format!("v{version}")]["state"];
    let state = state.as_object().ok_or_else(|| format!("v{version} has no state"))?;
    for (path, bytes) in payload(usize::try_from(version).map_err(text)?) {
        let logical = format!("deposit/{path}");
        let holds =
            |paths: &Value| paths.as_array().is_some_and(|paths| paths.iter().any(|at| *at == logical.as_str()));
        let digest = state.iter().find(|(_, paths)| holds(paths)).map(|(digest, _)| digest);
        let digest = digest.ok_or_else(|| format!("{path} is not in v{version}"))?;
        let content = inventory["manifest"][digest][0].as_str().ok_or_else(|| format!("{path} has no content"))?;
        if read(store, &format!("{root}/{content}"))? != *bytes {
            return Err(format!("{path} has other bytes in v{version}"));
        }
    }
    Ok(())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn read(store: &dyn Store, key: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    store.open(&Key::new(key).map_err(text)?, 0, None).map_err(text)?.read_to_end(&mut bytes).map_err(text)?;
    Ok(bytes)
}

/// Whether the restoration store has what the registry says was given back, whole, and nothing else.
pub(crate) fn restored(house: &House, home: &Home, status: ItemStatus) -> Vec<String> {
    let mut problems = Vec::new();
    let item = house.subject.item.expect("an item");
    let store = house.store("restoration");
    let results = home.registry.read(|tx| restored::of_item(tx, item)).expect("reads");
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
        problems.extend(check_bag(store, key).err());
    }
    problems
}

fn check_bag(store: &dyn Store, key: &str) -> Result<(), String> {
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
    let mut wanted: Vec<(String, Vec<u8>)> =
        payload(2).iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
    wanted.sort();
    if files == wanted { Ok(()) } else { Err(format!("{key} differs from the deposit")) }
}
