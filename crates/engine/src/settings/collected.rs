//! Values as file and environment give them, before they are checked: which setting each is for, and by which name it came.

use std::collections::BTreeMap;

use toml::Value;

use super::environment::as_variable;
use super::error::{Origin, SettingsError};
use super::renamed::{OldName, renamed};
use super::tree::{Section, Setting, Shape};

/// A value before it is checked.
pub(super) struct GivenValue {
    pub(super) section: &'static Section,
    pub(super) setting: &'static Setting,
    /// The store, topic or placement.
    pub(super) name: Option<String>,
    pub(super) value: Value,
    pub(super) origin: Origin,
    /// The name by which it was given, where it is an old one.
    pub(super) old_name: Option<&'static str>,
}

/// What was found so far.
#[derive(Default)]
pub(super) struct Collected {
    /// By section, name and setting: a later source replaces an earlier.
    pub(super) values: BTreeMap<(usize, Option<String>, usize), GivenValue>,
    pub(super) old_names: Vec<OldName>,
}

impl GivenValue {
    pub(super) fn key(&self) -> String {
        self.key_as(self.setting.name)
    }

    /// Its key, with this name of the setting.
    pub(super) fn key_as(&self, setting: &str) -> String {
        match (&self.name, self.section.shape) {
            (Some(name), Shape::Keys) => format!("{}.{}", self.section.key, quoted(name)),
            (Some(name), _) => format!("{}.{}.{setting}", self.section.key, quoted(name)),
            (None, _) => format!("{}.{setting}", self.section.key),
        }
    }

    /// As it is written where it comes from, by this name of the setting: a key or a variable.
    fn written_as(&self, setting: &str) -> String {
        let key = self.key_as(setting);
        if matches!(self.origin, Origin::Environment(_)) { as_variable(&key) } else { key }
    }
}

impl Collected {
    /// Adds a value. One source that gives it by its old name and by its name is wrong.
    pub(super) fn put(&mut self, section: usize, setting: usize, given: GivenValue) -> Result<(), SettingsError> {
        let at = (section, given.name.clone(), setting);
        if let Some(old) = given.old_name.map(|old| given.written_as(old)) {
            let new = given.written_as(given.setting.name);
            self.old_names.push(OldName { origin: given.origin.clone(), old, new });
        }
        let earlier = self
            .values
            .get(&at)
            .filter(|earlier| earlier.old_name != given.old_name && earlier.origin.place() == given.origin.place());
        if let Some(old) = earlier.and_then(|earlier| earlier.old_name.or(given.old_name)) {
            let (old, new) = (given.written_as(old), given.written_as(given.setting.name));
            return Err(SettingsError::Twice { origin: given.origin.place(), old, new });
        }
        self.values.insert(at, given);
        Ok(())
    }
}

/// A setting of the table, and whether it was looked for by an old name.
pub(super) struct Found {
    pub(super) index: usize,
    pub(super) setting: &'static Setting,
    old_name: Option<&'static str>,
}

impl Found {
    /// A value for it.
    pub(super) fn given(
        &self,
        section: &'static Section,
        name: Option<String>,
        value: Value,
        origin: Origin,
    ) -> GivenValue {
        GivenValue { section, setting: self.setting, name, value, origin, old_name: self.old_name }
    }
}

pub(super) fn find_setting(section: &'static Section, name: &str) -> Option<Found> {
    let (old_name, name) = match renamed(section.key, name) {
        Some((old, new)) => (Some(old), new),
        None => (None, name),
    };
    let (index, setting) = section.settings.iter().enumerate().find(|(_, setting)| setting.name == name)?;
    Some(Found { index, setting, old_name })
}

/// A name as TOML wants it in a key.
pub(super) fn quoted(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { name.to_owned() } else { Value::String(name.to_owned()).to_string() }
}
