//! The identifiers that a server has, and how their elements may change.

use std::collections::BTreeMap;

/// An identifier and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifier {
    /// The user name of its owner.
    pub owner: String,
    /// Its elements by name, also the internal ones that a client may set: `_target`, `_status`, `_export` and `_profile`.
    pub elements: BTreeMap<String, String>,
    /// How often it was created or updated.
    pub writes: u64,
}

/// What a client may set of the internal elements.
const SETTABLE: [&str; 5] = ["_owner", "_target", "_profile", "_status", "_export"];

impl Identifier {
    /// A new identifier with elements that a client sends.
    pub(crate) fn create(name: &str, owner: &str, sent: &BTreeMap<String, String>) -> Result<Self, String> {
        if sent.get("_status").is_some_and(|status| status_word(status) == "unavailable") {
            return Err("invalid identifier status at creation time".into());
        }
        let mut identifier = Self { owner: owner.to_owned(), elements: BTreeMap::new(), writes: 0 };
        // Anything may be set while it is reserved.
        identifier.elements.insert("_status".into(), "reserved".into());
        identifier.update(name, sent)?;
        if !sent.contains_key("_status") {
            identifier.elements.insert("_status".into(), "public".into());
        }
        Ok(identifier)
    }

    /// Sets what a client sends: an empty value removes an element, or gives an internal one its default.
    pub(crate) fn update(&mut self, name: &str, sent: &BTreeMap<String, String>) -> Result<(), String> {
        for (element, value) in sent {
            if element.starts_with('_') && !SETTABLE.contains(&element.as_str()) {
                return Err(format!("element '{element}' cannot be set"));
            }
            match element.as_str() {
                "_owner" if *value != self.owner => return Err("ownership change prohibited".into()),
                "_export" if !["", "yes", "no"].contains(&value.as_str()) => {
                    return Err("element '_export': invalid value".into());
                }
                "_status" => self.check_status(value)?,
                _ => {}
            }
        }
        for (element, value) in sent.iter().filter(|(element, _)| *element != "_owner") {
            if value.is_empty() {
                self.elements.remove(element);
            } else {
                self.elements.insert(element.clone(), value.clone());
            }
        }
        for (element, default) in [
            ("_target", format!("https://ezid.example/id/{name}")),
            ("_export", "yes".into()),
            ("_profile", "erc".into()),
        ] {
            self.elements.entry(element.into()).or_insert(default);
        }
        self.elements.entry("_status".into()).or_insert_with(|| "public".into());
        self.writes += 1;
        Ok(())
    }

    fn check_status(&self, wanted: &str) -> Result<(), String> {
        let is_allowed = match (self.status(), status_word(wanted)) {
            ("reserved", "reserved" | "public") | ("public" | "unavailable", "public" | "unavailable") => true,
            (now, word) => now == word,
        };
        let is_plain = status_word(wanted) == "unavailable" || status_word(wanted) == wanted;
        if is_allowed && is_plain { Ok(()) } else { Err("invalid identifier status change".into()) }
    }

    /// `public`, `reserved` or `unavailable`.
    pub fn status(&self) -> &str {
        self.elements.get("_status").map_or("public", |status| status_word(status))
    }
}

/// A status without its reason.
fn status_word(status: &str) -> &str {
    status.split('|').next().unwrap_or_default().trim()
}

/// The normal form of an ARK, or nothing where a text is none.
pub(crate) fn normal(identifier: &str) -> Option<String> {
    let rest = identifier.strip_prefix("ark:")?;
    let (naan, name) = rest.strip_prefix('/').unwrap_or(rest).split_once('/')?;
    let is_naan = naan.len() == 5 && naan.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let name: String = name.trim_end_matches(['/', '.']).chars().filter(|&character| character != '-').collect();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    (is_naan && is_name).then(|| format!("ark:/{}/{name}", naan.to_ascii_lowercase()))
}
