//! What must be true when everything has come to rest, by the stores' own word: inventories are read as JSON and contents are
//! compared byte for byte, without the code that wrote them.

use std::io::Read;

use serde_json::Value;
use strongroom_ocfl::{ValidateOptions, validate_object};
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{ItemStatus, RegistryError, Scope};
use strongroom_storage::{Key, Store};

use crate::house::{House, INSTITUTION, KEPT_IN, PAYLOAD};

/// Everything that is wrong.
pub(crate) fn problems(house: &House) -> Vec<String> {
    let mut problems = Vec::new();
    let item = house.item();
    let object = house.read(|tx| match objects::find(tx, Scope::System, &format!("{INSTITUTION}/letters")) {
        Ok(object) => Ok(Some(object)),
        Err(RegistryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    });
    let head = object.as_ref().map_or(0, |object: &Object| object.head);
    if !item.status.is_ended() {
        problems.push(format!("the deposit has not ended: {} at {}, {:?}", item.status, item.stage, item.note));
    }
    if (item.status == ItemStatus::Succeeded) != (head > 0) {
        problems.push(format!("the deposit is {} and the head is {head}", item.status));
    }
    for name in KEPT_IN {
        check_store(house.store(name), head, &mut problems);
    }
    let left = house.store("staging").list(&Key::ROOT).expect("lists").count();
    if left > 0 && !item.needs_review {
        problems.push(format!("{left} keys are left in staging"));
    }
    problems
}

fn check_store(store: &dyn Store, head: u64, problems: &mut Vec<String>) {
    let mut wrong = |what: String| problems.push(format!("{}: {what}", store.name()));
    let listed = store.list(&Key::ROOT).expect("lists").map(|line| line.expect("a line").key);
    let roots: Vec<String> =
        listed.filter_map(|key| Some(key.as_str().strip_suffix("/0=ocfl_object_1.1")?.to_owned())).collect();
    match (head, roots.as_slice()) {
        (0, []) => {}
        (0, _) => wrong("an object lies there that is not published".to_owned()),
        (_, [root]) => {
            let root = Key::new(root.clone()).expect("a key");
            match validate_object(store, &root, &ValidateOptions::default()) {
                Ok(report) if report.is_valid() => {}
                Ok(report) => wrong(format!("the object is not valid: {:?}", report.errors)),
                Err(error) => wrong(format!("the object cannot be read: {error}")),
            }
            if let Err(what) = check_payload(store, root.as_str(), head) {
                wrong(what);
            }
        }
        _ => wrong(format!("{} objects lie there, and the head is {head}", roots.len())),
    }
}

fn check_payload(store: &dyn Store, root: &str, head: u64) -> Result<(), String> {
    let inventory = read(store, &format!("{root}/inventory.json"))?;
    let inventory: Value = serde_json::from_slice(&inventory).map_err(|error| error.to_string())?;
    let version = format!("v{head}");
    if inventory["head"] != version.as_str() {
        return Err(format!("the root inventory names {} as the head, not {version}", inventory["head"]));
    }
    let state = inventory["versions"][&version]["state"].as_object().ok_or("the head has no state")?;
    for (path, bytes) in PAYLOAD {
        let logical = format!("deposit/{path}");
        let holds =
            |paths: &Value| paths.as_array().is_some_and(|paths| paths.iter().any(|at| *at == logical.as_str()));
        let digest = state.iter().find(|(_, paths)| holds(paths)).map(|(digest, _)| digest);
        let digest = digest.ok_or_else(|| format!("{path} is not in the head"))?;
        let content = inventory["manifest"][digest][0].as_str().ok_or_else(|| format!("{path} has no content"))?;
        if read(store, &format!("{root}/{content}"))? != bytes {
            return Err(format!("{path} has other bytes"));
        }
    }
    Ok(())
}

fn read(store: &dyn Store, key: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let body = store.open(&Key::new(key).expect("a key"), 0, None);
    body.map_err(|error| error.to_string())?.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}
