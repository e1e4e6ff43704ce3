//! Reading settings: defaults, then the file, then the environment; every value checked against the table, every name
//! against the others. An error names the key, what is wrong with it, and a value that would do.

use std::ffi::OsString;
use std::path::Path;

use strongroom_storage::FolderMode;
use toml::{Table, Value};

use super::check::check;
use super::collected::{Collected, GivenValue, find_setting, quoted};
use super::environment::{as_variable, collect_environment};
use super::error::{Origin, SettingsError};
use super::kind::Kind;
use super::line::line_of;
use super::mask::{masked, shown};
use super::nearest::{is_near, nearest};
use super::renamed::OldName;
use super::stores;
use super::tree::{DEFAULT_TOPIC, SECTIONS, Section, Settings, Shape, Unset};
use super::units;

/// One setting with its value, for people to read.
#[derive(Debug, Clone)]
pub struct EffectiveSetting {
    /// Its key, such as `fixity.max_age`.
    pub key: String,
    /// As it would be written in the file; secrets masked.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
    /// What it means.
    pub meaning: &'static str,
}

/// Settings, and how they came to be.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// Every setting with its source, in the order of the file.
    pub entries: Vec<EffectiveSetting>,
    /// What is given by a name that it had before; a person should be warned of it.
    pub old_names: Vec<OldName>,
}

impl Settings {
    /// Reads the file, then the variables of `environment` that start with `STRONGROOM_`.
    pub fn load(
        file: &Path,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Loaded, SettingsError> {
        let text = std::fs::read_to_string(file).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => SettingsError::Missing { path: file.to_owned() },
            _ => SettingsError::Unreadable { path: file.to_owned(), source },
        })?;
        Self::read(file, &text, environment)
    }

    /// The settings that `text` states, without an environment.
    pub fn from_toml(text: &str) -> Result<Self, SettingsError> {
        Self::read(Path::new("strongroom.toml"), text, []).map(|loaded| loaded.settings)
    }

    /// As [`Self::load`], of a file that holds `text`.
    pub(super) fn read(
        file: &Path,
        text: &str,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Loaded, SettingsError> {
        Self::read_without_lines(file, text, environment).map_err(|error| with_line(error, file, text))
    }

    fn read_without_lines(
        file: &Path,
        text: &str,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Loaded, SettingsError> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| SettingsError::Syntax {
            path: file.to_owned(),
            detail: error.to_string().trim().replace('\n', "\n  "),
        })?;
        let mut collected = Collected::default();
        collect_defaults(&mut collected);
        collect_file(&table, &Origin::File(file.to_owned()), &mut collected)?;
        collect_environment(environment, &mut collected)?;
        fill_named(&mut collected, file)?;
        let mut tree = Table::new();
        for section in SECTIONS {
            tree.insert(section.key.to_owned(), Value::Table(Table::new()));
        }
        tree.insert(stores::FACTS_KEY.to_owned(), Value::Table(Table::new()));
        let mut entries = Vec::new();
        for given in collected.values.values() {
            let key = given.key();
            place(&mut tree, given, settle(given, &key)?);
            entries.push(EffectiveSetting {
                value: shown(given.setting.kind, &given.value),
                key,
                origin: given.origin.clone(),
                meaning: given.setting.meaning,
            });
        }
        let mut settings: Settings =
            Value::Table(tree).try_into().map_err(|error: toml::de::Error| SettingsError::Unfit {
                origin: file.display().to_string(),
                key: "settings".to_owned(),
                reason: error.to_string(),
            })?;
        check(&settings).map_err(|error| with_origin(error, file, &entries))?;
        settings.resolve_modes();
        Ok(Loaded { settings, entries, old_names: collected.old_names })
    }
}

/// Says where a value stands that does not fit: in the file, or in the environment.
fn with_origin(error: SettingsError, file: &Path, entries: &[EffectiveSetting]) -> SettingsError {
    let SettingsError::Unfit { key, reason, .. } = error else { return error };
    let given = entries.iter().find(|entry| entry.key == key).map(|entry| &entry.origin);
    let origin = match given {
        Some(origin @ Origin::Environment(_)) => origin.to_string(),
        Some(Origin::Default | Origin::File(_)) | None => file.display().to_string(),
    };
    SettingsError::Unfit { origin, key, reason }
}

/// Adds the line of the file to an error about one of its keys.
fn with_line(mut error: SettingsError, file: &Path, text: &str) -> SettingsError {
    if let SettingsError::Unknown { origin, key, .. }
    | SettingsError::Value { origin, key, .. }
    | SettingsError::Twice { origin, old: key, .. }
    | SettingsError::Unfit { origin, key, .. } = &mut error
        && *origin == file.display().to_string()
        && let Some(line) = line_of(text, key)
    {
        *origin = format!("{origin}, line {line}");
    }
    error
}

fn literal(text: &str) -> Value {
    format!("v = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("v")).unwrap_or(Value::Boolean(false))
}

fn collect_defaults(collected: &mut Collected) {
    for (s, section) in SECTIONS.iter().enumerate().filter(|(_, section)| section.shape == Shape::Plain) {
        for (i, setting) in section.settings.iter().enumerate() {
            if let Some(default) = setting.default() {
                let (value, origin) = (literal(default), Origin::Default);
                let given = GivenValue { section, setting, name: None, value, origin, old_name: None };
                collected.values.insert((s, None, i), given);
            }
        }
    }
}

fn collect_file(table: &Table, origin: &Origin, collected: &mut Collected) -> Result<(), SettingsError> {
    for (key, value) in table {
        let Some((s, section)) = SECTIONS.iter().enumerate().find(|(_, section)| section.key == key) else {
            return Err(unknown(origin, key, &[]));
        };
        let Value::Table(body) = value else {
            return Err(wrong(origin, key, value, "a table", &format!("[{key}]")));
        };
        for (name, value) in body {
            match section.shape {
                Shape::Plain => {
                    let found = find_setting(section, name)
                        .ok_or_else(|| unknown(origin, &format!("{key}.{}", quoted(name)), &[]))?;
                    collected.put(s, found.index, found.given(section, None, value.clone(), origin.clone()))?;
                }
                Shape::Keys => {
                    let Some(found) = section.settings.first().and_then(|one| find_setting(section, one.name)) else {
                        continue;
                    };
                    let given = found.given(section, Some(name.clone()), value.clone(), origin.clone());
                    collected.put(s, found.index, given)?;
                }
                Shape::Named => {
                    let path = format!("{key}.{}", quoted(name));
                    let Value::Table(fields) = value else {
                        return Err(wrong(origin, &path, value, "a table", &format!("[{path}]")));
                    };
                    for (field, value) in fields {
                        let found = find_setting(section, field).ok_or_else(|| {
                            unknown(origin, &format!("{path}.{}", quoted(field)), std::slice::from_ref(name))
                        })?;
                        let given = found.given(section, Some(name.clone()), value.clone(), origin.clone());
                        collected.put(s, found.index, given)?;
                    }
                    // A table without a line still names a store.
                    let required = section.settings.iter().find(|setting| setting.unset == Unset::Required);
                    if let (true, Some(setting), Origin::File(file)) = (fields.is_empty(), required, origin) {
                        let example = setting.kind.example();
                        let key = format!("{path}.{}", setting.name);
                        return Err(SettingsError::Required { key, path: file.clone(), example });
                    }
                }
            }
        }
    }
    Ok(())
}

/// Gives each named table what it does not say: from the topic `default` for topics, else from the table of defaults.
fn fill_named(collected: &mut Collected, file: &Path) -> Result<(), SettingsError> {
    for (s, section) in SECTIONS.iter().enumerate().filter(|(_, section)| section.shape == Shape::Named) {
        if section.key == "workers" {
            fill_one(collected, s, section, DEFAULT_TOPIC, file)?;
        }
        let mut names: Vec<String> =
            collected.values.keys().filter(|key| key.0 == s).filter_map(|key| key.1.clone()).collect();
        names.dedup();
        for name in names {
            fill_one(collected, s, section, &name, file)?;
        }
    }
    Ok(())
}

fn fill_one(
    collected: &mut Collected,
    s: usize,
    section: &'static Section,
    name: &str,
    file: &Path,
) -> Result<(), SettingsError> {
    let mut kind = None;
    for (i, setting) in section.settings.iter().enumerate() {
        let at = (s, Some(name.to_owned()), i);
        let is_for_this = setting.is_for(kind.as_deref());
        if let Some(given) = collected.values.get(&at) {
            if setting.name == stores::KIND {
                kind = given.value.as_str().map(str::to_owned);
            }
            if !is_for_this {
                let is = kind.unwrap_or_default();
                let wanted = setting.only_for.iter().map(|kind| format!("{kind:?}")).collect::<Vec<_>>().join(" or ");
                return Err(SettingsError::Unfit {
                    origin: given.origin.to_string(),
                    key: given.key(),
                    reason: format!("it is for stores of kind {wanted}, and this one has kind {is:?}"),
                });
            }
            continue;
        }
        if !is_for_this || setting.unset == Unset::Absent {
            continue;
        }
        let general =
            collected.values.get(&(s, Some(DEFAULT_TOPIC.to_owned()), i)).filter(|_| section.key == "workers");
        let (value, origin) = match (general, setting.default()) {
            (Some(general), _) => (general.value.clone(), general.origin.clone()),
            (None, Some(default)) => (literal(default), Origin::Default),
            (None, None) => {
                let key = format!("{}.{}.{}", section.key, quoted(name), setting.name);
                return Err(SettingsError::Required { key, path: file.to_owned(), example: setting.kind.example() });
            }
        };
        if setting.name == stores::KIND {
            kind = value.as_str().map(str::to_owned);
        }
        let given = GivenValue { section, setting, name: Some(name.to_owned()), value, origin, old_name: None };
        collected.values.insert(at, given);
    }
    Ok(())
}

pub(super) fn unknown(origin: &Origin, key: &str, names: &[String]) -> SettingsError {
    let is_variable = matches!(origin, Origin::Environment(_));
    let mut known = Vec::new();
    for section in SECTIONS {
        known.push(section.key.to_owned());
        match section.shape {
            Shape::Plain => known.extend(section.settings.iter().map(|one| format!("{}.{}", section.key, one.name))),
            Shape::Keys => {
                let example = if section.key == "placements" { "Standard" } else { "downloads" };
                known.push(format!("{}.{example}", section.key));
            }
            Shape::Named => {
                let example = if section.key == "workers" { "default" } else { "primary" };
                for name in names.iter().map(String::as_str).chain([example]) {
                    let name = quoted(name);
                    known.extend(section.settings.iter().map(|one| format!("{}.{name}.{}", section.key, one.name)));
                }
            }
        }
    }
    if is_variable {
        known.retain(|key| key.contains('.'));
        for key in &mut known {
            *key = as_variable(key);
        }
    }
    let nearest = nearest(key, known.iter().map(String::as_str));
    // What every variable begins with makes none near another.
    let own = |name: &str| name.strip_prefix("STRONGROOM_").unwrap_or(name).to_owned();
    let nearest = nearest.filter(|name| is_near(&own(key), &own(name))).map(str::to_owned);
    SettingsError::Unknown { origin: origin.place(), key: key.to_owned(), nearest }
}

fn wrong(origin: &Origin, key: &str, found: &Value, wanted: &str, example: &str) -> SettingsError {
    SettingsError::Value {
        origin: origin.to_string(),
        key: key.to_owned(),
        found: found.to_string(),
        wanted: format!("{wanted}; valid is, for example, {key} = {example}"),
    }
}

/// Checks a value and gives it the form in which the tree takes it: bytes and seconds for units.
fn settle(given: &GivenValue, key: &str) -> Result<Value, SettingsError> {
    let kind = given.setting.kind;
    let settled = match (kind, &given.value) {
        (Kind::Mode, Value::String(text)) => {
            text.parse::<FolderMode>().ok().map(|mode| Value::Integer(mode.directory().into()))
        }
        (Kind::Text, Value::String(_)) | (Kind::Flag, Value::Boolean(_)) => Some(given.value.clone()),
        (Kind::Database, Value::String(url)) => {
            check_registry_url(given, key, url)?;
            Some(given.value.clone())
        }
        (Kind::Secret, Value::String(text)) if !text.is_empty() => Some(given.value.clone()),
        (Kind::Path, Value::String(path)) if !path.is_empty() => Some(given.value.clone()),
        (Kind::Size, Value::String(text)) => {
            units::size(text).and_then(|bytes| i64::try_from(bytes).ok()).map(Value::Integer)
        }
        (Kind::Size, Value::Integer(0)) => Some(Value::Integer(0)),
        (Kind::Duration, Value::String(text)) => units::duration(text).map(|span| {
            let mut table = Table::new();
            table.insert("secs".to_owned(), Value::Integer(span.as_secs() as i64));
            table.insert("nanos".to_owned(), Value::Integer(i64::from(span.subsec_nanos())));
            Value::Table(table)
        }),
        (Kind::Count(least), Value::Integer(number)) if *number >= least && *number <= i64::from(i32::MAX) => {
            Some(given.value.clone())
        }
        (Kind::List, Value::Array(list)) if list.iter().all(Value::is_str) => Some(given.value.clone()),
        (Kind::Choice(words), Value::String(word)) if words.contains(&word.as_str()) => Some(given.value.clone()),
        _ => None,
    };
    settled.ok_or_else(|| SettingsError::Value {
        origin: given.origin.to_string(),
        key: given.key_as(given.old_name.unwrap_or(given.setting.name)),
        found: shown(kind, &given.value),
        wanted: format!("{}; valid is, for example, {key} = {}", kind.wanted(), kind.example()),
    })
}

/// Refuses a registry that this program cannot open.
fn check_registry_url(given: &GivenValue, key: &str, url: &str) -> Result<(), SettingsError> {
    let is_server = url.starts_with("postgres://") || url.starts_with("postgresql://");
    if is_server || url.strip_prefix("sqlite:").is_some_and(|path| !path.is_empty()) {
        return Ok(());
    }
    Err(SettingsError::Unfit {
        origin: given.origin.to_string(),
        key: key.to_owned(),
        reason: format!(
            "{:?} is not a registry; valid is, for example, {key} = \"sqlite:registry.db\" or {key} = \
             \"postgres://strongroom@db.example.edu/strongroom\"",
            masked(url)
        ),
    })
}

fn place(tree: &mut Table, given: &GivenValue, value: Value) {
    let is_fact = given.section.key == stores::SECTION.key && stores::FACTS.contains(&given.setting.name);
    let key = if is_fact { stores::FACTS_KEY } else { given.section.key };
    let Some(Value::Table(section)) = tree.get_mut(key) else { return };
    match (&given.name, given.section.shape) {
        (Some(name), Shape::Keys) => {
            section.insert(name.clone(), value);
        }
        (Some(name), _) => {
            let table = section.entry(name.clone()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(table) = table {
                table.insert(given.setting.name.to_owned(), value);
            }
        }
        (None, _) => {
            section.insert(given.setting.name.to_owned(), value);
        }
    }
}
