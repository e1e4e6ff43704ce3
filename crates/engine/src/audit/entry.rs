//! What the entry of an act says.

use serde_json::{Map, Value, json};
use strongroom_audit::Sha256;
use strongroom_registry::audit::{Act, AuditedEvent, AuditedVersion};
use strongroom_registry::journal::{Actor, Line};

/// Texts up to this length are in an entry as they are, of longer ones the digest and the length.
const LONGEST_TEXT: usize = 8 * 1024;
/// The act of publishing a version, by its term.
pub(super) const INGESTION: &str = "ingestion";
/// The same of a version that the deletion of its object has left; the deletion itself is an event.
const LAST_VERSION: &str = "last version";

/// The body of an entry. Keys without a value are left out.
pub(super) fn body(act: &Act) -> Map<String, Value> {
    let mut body = match act {
        Act::Line { line, .. } => of_line(line),
        Act::Event(event) => of_event(event),
        Act::Version(version) => of_version(version),
    };
    let (source, id) = act.key();
    body.insert("source".to_owned(), source.into());
    body.insert("id".to_owned(), id.to_string().into());
    body.retain(|_, value| !value.is_null());
    body
}

fn of_line(line: &Line) -> Map<String, Value> {
    object(json!({
        "act": line.act,
        "actor": actor(&line.actor),
        "detail": line.detail.as_deref().map(text),
        "object": line.object,
        "outcome": line.outcome.as_str(),
        "request": line.request.to_string(),
        "target": text(&line.target),
    }))
}

fn of_event(audited: &AuditedEvent) -> Map<String, Value> {
    let event = &audited.event;
    object(json!({
        "act": event.kind,
        "actor": event.actor.as_ref().map(actor),
        "agent": event.agent,
        "detail": event.detail.as_deref().map(text),
        "item": event.item.map(|item| item.to_string()),
        "object": audited.object,
        "outcome": event.outcome,
        "outcome_detail": event.outcome_detail.as_deref().map(text),
        "path": audited.path.as_deref().map(text),
        "sha512": audited.sha512.map(|digest| digest.to_hex()),
        "store": event.store,
    }))
}

fn of_version(version: &AuditedVersion) -> Map<String, Value> {
    object(json!({
        "act": if version.is_last { LAST_VERSION } else { INGESTION },
        "actor": version.actor.as_ref().map(actor),
        "bytes": version.bytes,
        "files": version.files,
        "generation": version.generation.to_string(),
        "inventory_sha512": version.inventory.map(|digest| digest.to_hex()),
        "item": version.item.map(|item| item.to_string()),
        "object": version.object,
        "outcome": "success",
        "version": version.number,
    }))
}

fn actor(actor: &Actor) -> Value {
    let mut said = object(json!({
        "account": actor.account,
        "key": actor.key,
        "kind": actor.kind.as_str(),
        "name": actor.name,
    }));
    said.retain(|_, value| !value.is_null());
    said.into()
}

fn text(text: &str) -> Value {
    if text.len() <= LONGEST_TEXT {
        return text.into();
    }
    json!({"bytes": text.len(), "sha256": Sha256::of(text.as_bytes()).to_string()})
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
