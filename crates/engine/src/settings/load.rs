//! Reading settings: defaults, then the file, then the environment; every value checked against the table, every name
//! against the others. An error names the key, what is wrong with it, and a value that would do.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::nearest::nearest;
use super::tree::{DEFAULT_TOPIC, Kind, SECTIONS, Section, Setting, Settings, Shape, topics};
use super::units;

const PREFIX: &str = "STRONGROOM_";
/// Variables with our prefix that say where the home is and are no settings.
const NOT_SETTINGS: &[&str] = &["STRONGROOM_HOME", "STRONGROOM_CONFIG"];

/// What is wrong with the settings. The fix is part of the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// There is no such file.
    #[error("no settings at {path}: make a home with \"strongroom init\", or name another with --home")]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("settings {path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("settings {path} are not valid TOML: {detail}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and why.
        detail: String,
    },
    /// No such setting.
    #[error("{origin} sets {key}, which is no setting; the nearest is {nearest}")]
    Unknown {
        /// Where it stands.
        origin: String,
        /// As it was written.
        key: String,
        /// The known key with the most similar name.
        nearest: String,
    },
    /// A value of the wrong kind.
    #[error("{origin} sets {key} to {found}, which is not {wanted}")]
    Value {
        /// Where it stands.
        origin: String,
        /// Its key.
        key: String,
        /// What stands there.
        found: String,
        /// What belongs there, with an example.
        wanted: String,
    },
    /// A setting without a default is not given.
    #[error("{key} is not set; give it in {path}, for example {key} = {example}")]
    Required {
        /// Its key.
        key: String,
        /// The file.
        path: PathBuf,
        /// A value that would do.
        example: String,
    },
    /// Values that do not fit each other, or that this program cannot serve.
    #[error("{key}: {reason}")]
    Unfit {
        /// The key to change.
        key: String,
        /// Why, and what to do.
        reason: String,
    },
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The settings file.
    File(PathBuf),
    /// This variable.
    Environment(String),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => write!(f, "default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// One setting with its value, for people to look at.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its key, such as `fixity.interval`.
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
    pub entries: Vec<Entry>,
}

/// A value before it is checked.
struct Given {
    section: &'static Section,
    setting: &'static Setting,
    /// The store, topic or placement.
    name: Option<String>,
    value: Value,
    origin: Origin,
}

/// Where values are, by section, name and setting: a later source replaces an earlier.
type Collected = BTreeMap<(usize, Option<String>, usize), Given>;

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

    fn read(
        file: &Path,
        text: &str,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Loaded, SettingsError> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| SettingsError::Syntax {
            path: file.to_owned(),
            detail: error.to_string().trim().replace('\n', "\n  "),
        })?;
        let mut collected = Collected::new();
        collect_defaults(&mut collected);
        collect_file(&table, &Origin::File(file.to_owned()), &mut collected)?;
        collect_environment(environment, &mut collected)?;
        fill_named(&mut collected, file)?;
        let mut tree = Table::new();
        for section in SECTIONS {
            tree.insert(section.key.to_owned(), Value::Table(Table::new()));
        }
        let mut entries = Vec::new();
        for given in collected.values() {
            let key = given.key();
            place(&mut tree, given, settle(given, &key)?);
            entries.push(Entry {
                value: shown(given),
                key,
                origin: given.origin.clone(),
                meaning: given.setting.meaning,
            });
        }
        let settings: Settings = Value::Table(tree).try_into().map_err(|error: toml::de::Error| {
            SettingsError::Unfit { key: "settings".to_owned(), reason: error.to_string() }
        })?;
        check(&settings)?;
        Ok(Loaded { settings, entries })
    }
}

impl Given {
    fn key(&self) -> String {
        match (&self.name, self.section.shape) {
            (Some(name), Shape::Keys) => format!("{}.{}", self.section.key, quoted(name)),
            (Some(name), _) => format!("{}.{}.{}", self.section.key, quoted(name), self.setting.name),
            (None, _) => format!("{}.{}", self.section.key, self.setting.name),
        }
    }
}

/// A name as TOML wants it in a key.
fn quoted(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { name.to_owned() } else { Value::String(name.to_owned()).to_string() }
}

fn literal(text: &str) -> Value {
    format!("v = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("v")).unwrap_or(Value::Boolean(false))
}

fn put(collected: &mut Collected, section: usize, setting: usize, given: Given) {
    collected.insert((section, given.name.clone(), setting), given);
}

fn collect_defaults(collected: &mut Collected) {
    for (s, section) in SECTIONS.iter().enumerate().filter(|(_, section)| section.shape == Shape::Plain) {
        for (i, setting) in section.settings.iter().enumerate() {
            if let Some(default) = setting.default {
                let given = Given { section, setting, name: None, value: literal(default), origin: Origin::Default };
                put(collected, s, i, given);
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
                    let (i, setting) = find_setting(section, name)
                        .ok_or_else(|| unknown(origin, &format!("{key}.{}", quoted(name)), &[]))?;
                    let given = Given { section, setting, name: None, value: value.clone(), origin: origin.clone() };
                    put(collected, s, i, given);
                }
                Shape::Keys => {
                    let Some(setting) = section.settings.first() else { continue };
                    let name = Some(name.clone());
                    put(
                        collected,
                        s,
                        0,
                        Given { section, setting, name, value: value.clone(), origin: origin.clone() },
                    );
                }
                Shape::Named => {
                    let path = format!("{key}.{}", quoted(name));
                    let Value::Table(fields) = value else {
                        return Err(wrong(origin, &path, value, "a table", &format!("[{path}]")));
                    };
                    for (field, value) in fields {
                        let (i, setting) = find_setting(section, field).ok_or_else(|| {
                            unknown(origin, &format!("{path}.{}", quoted(field)), std::slice::from_ref(name))
                        })?;
                        let name = Some(name.clone());
                        let given = Given { section, setting, name, value: value.clone(), origin: origin.clone() };
                        put(collected, s, i, given);
                    }
                    // A table without a line still names a store.
                    let required = section.settings.iter().find(|setting| setting.default.is_none());
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

fn find_setting(section: &'static Section, name: &str) -> Option<(usize, &'static Setting)> {
    section.settings.iter().enumerate().find(|(_, setting)| setting.name == name)
}

/// Gives each named table what it does not say: from the topic `default` for topics, else from the table of defaults.
fn fill_named(collected: &mut Collected, file: &Path) -> Result<(), SettingsError> {
    for (s, section) in SECTIONS.iter().enumerate().filter(|(_, section)| section.shape == Shape::Named) {
        if section.key == "workers" {
            fill_one(collected, s, section, DEFAULT_TOPIC, file)?;
        }
        let mut names: Vec<String> =
            collected.keys().filter(|key| key.0 == s).filter_map(|key| key.1.clone()).collect();
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
    for (i, setting) in section.settings.iter().enumerate() {
        let at = (s, Some(name.to_owned()), i);
        if collected.contains_key(&at) {
            continue;
        }
        let general = collected.get(&(s, Some(DEFAULT_TOPIC.to_owned()), i)).filter(|_| section.key == "workers");
        let (value, origin) = match (general, setting.default) {
            (Some(general), _) => (general.value.clone(), general.origin.clone()),
            (None, Some(default)) => (literal(default), Origin::Default),
            (None, None) => {
                let key = format!("{}.{}.{}", section.key, quoted(name), setting.name);
                return Err(SettingsError::Required { key, path: file.to_owned(), example: setting.kind.example() });
            }
        };
        collected.insert(at, Given { section, setting, name: Some(name.to_owned()), value, origin });
    }
    Ok(())
}

fn collect_environment(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    collected: &mut Collected,
) -> Result<(), SettingsError> {
    let mut variables: Vec<(String, OsString)> = environment
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.starts_with(PREFIX) && !NOT_SETTINGS.contains(&name.as_str()))
        .collect();
    variables.sort();
    for (variable, value) in variables {
        let origin = Origin::Environment(variable.clone());
        let Ok(text) = value.into_string() else {
            return Err(SettingsError::Unfit { key: variable, reason: "its value is not UTF-8".to_owned() });
        };
        let (s, i, name, from_file) = locate(&variable, collected).ok_or_else(|| {
            let names: Vec<String> = collected.values().filter_map(|given| given.name.clone()).collect();
            unknown(&origin, &variable, &names)
        })?;
        let section = &SECTIONS[s];
        let setting = &section.settings[i];
        let text = if from_file { secret_file(&variable, &text)? } else { text };
        let value = from_text(setting.kind, &text);
        put(collected, s, i, Given { section, setting, name, value, origin });
    }
    Ok(())
}

fn secret_file(variable: &str, path: &str) -> Result<String, SettingsError> {
    let text = std::fs::read_to_string(path).map_err(|error| SettingsError::Unfit {
        key: variable.to_owned(),
        reason: format!("the file {path:?} that it names cannot be read: {error}"),
    })?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

fn from_text(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Count(_) => text.trim().parse().map_or_else(|_| Value::String(text.to_owned()), Value::Integer),
        Kind::Flag => text.trim().parse().map_or_else(|_| Value::String(text.to_owned()), Value::Boolean),
        Kind::List => Value::Array(
            text.split(',')
                .map(str::trim)
                .filter(|one| !one.is_empty())
                .map(|one| Value::String(one.to_owned()))
                .collect(),
        ),
        _ => Value::String(text.to_owned()),
    }
}

/// Which setting a variable overrides: section, setting, name, and whether the value is in a file.
fn locate(variable: &str, collected: &Collected) -> Option<(usize, usize, Option<String>, bool)> {
    let path: Vec<String> = variable.strip_prefix(PREFIX)?.split("__").map(str::to_lowercase).collect();
    let (s, section) =
        SECTIONS.iter().enumerate().find(|(_, section)| Some(section.key) == path.first().map(String::as_str))?;
    let named = |part: &str| {
        let known =
            collected.values().filter(|given| given.section.key == section.key).filter_map(|given| given.name.clone());
        let topics = if section.key == "workers" { topics() } else { Vec::new() };
        known.chain(topics).find(|name| variable_part(name) == part).unwrap_or_else(|| part.to_owned())
    };
    let (name, field) = match (section.shape, path.as_slice()) {
        (Shape::Plain, [_, field]) => (None, field.as_str()),
        (Shape::Named, [_, name, field]) => (Some(named(name)), field.as_str()),
        (Shape::Keys, [_, name]) => return Some((s, 0, Some(named(name)), false)),
        _ => return None,
    };
    if let Some((i, _)) = find_setting(section, field) {
        return Some((s, i, name, false));
    }
    let (i, setting) = find_setting(section, field.strip_suffix("_file")?)?;
    (setting.kind == Kind::Secret).then_some((s, i, name, true))
}

/// How a name is written in a variable's name, where only letters, digits and `_` are at home.
fn variable_part(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

fn unknown(origin: &Origin, key: &str, names: &[String]) -> SettingsError {
    let is_variable = matches!(origin, Origin::Environment(_));
    let mut known = Vec::new();
    for section in SECTIONS {
        known.push(section.key.to_owned());
        match section.shape {
            Shape::Plain => known.extend(section.settings.iter().map(|one| format!("{}.{}", section.key, one.name))),
            Shape::Keys => known.push(format!("{}.Standard", section.key)),
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
    let nearest = nearest(key, known.iter().map(String::as_str)).unwrap_or_default().to_owned();
    let origin = if is_variable { "the environment".to_owned() } else { origin.to_string() };
    SettingsError::Unknown { origin, key: key.to_owned(), nearest }
}

fn as_variable(key: &str) -> String {
    let parts: Vec<String> = key.splitn(2, '.').map(str::to_owned).collect();
    let tail = parts.get(1).map(String::as_str).unwrap_or_default();
    let tail = match tail.rsplit_once('.') {
        Some((name, field)) => format!("{}__{field}", variable_part(name.trim_matches('"'))),
        None => tail.to_owned(),
    };
    format!("{PREFIX}{}__{tail}", parts.first().map(String::as_str).unwrap_or_default()).to_uppercase()
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
fn settle(given: &Given, key: &str) -> Result<Value, SettingsError> {
    let kind = given.setting.kind;
    let settled = match (kind, &given.value) {
        (Kind::Text, Value::String(_)) | (Kind::Flag, Value::Boolean(_)) => Some(given.value.clone()),
        (Kind::Secret, Value::String(url)) => {
            check_registry_url(key, url)?;
            Some(given.value.clone())
        }
        (Kind::Path, Value::String(path)) if !path.is_empty() => Some(given.value.clone()),
        (Kind::Size, Value::String(text)) => {
            units::size(text).and_then(|bytes| i64::try_from(bytes).ok()).map(Value::Integer)
        }
        (Kind::Size, Value::Integer(0)) => Some(Value::Integer(0)),
        (Kind::Span, Value::String(text)) => units::span(text).map(|span| {
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
    settled.ok_or_else(|| wrong(&given.origin, key, &given.value, &kind.wanted(), &kind.example()))
}

/// Refuses a registry that this program cannot open.
fn check_registry_url(key: &str, url: &str) -> Result<(), SettingsError> {
    let unfit = |reason: String| Err(SettingsError::Unfit { key: key.to_owned(), reason });
    if url.starts_with("postgres:") || url.starts_with("postgresql:") {
        return unfit("postgresql is not in this build yet; use \"sqlite:registry.db\"".to_owned());
    }
    match url.strip_prefix("sqlite:") {
        Some(path) if !path.is_empty() => Ok(()),
        _ => {
            unfit(format!("{:?} is not a registry; valid is, for example, {key} = \"sqlite:registry.db\"", masked(url)))
        }
    }
}

/// A URL without its password.
fn masked(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    match rest.rsplit_once('@') {
        Some((user, place)) => {
            let user = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}:********@{place}")
        }
        None => url.to_owned(),
    }
}

fn shown(given: &Given) -> String {
    match (&given.value, given.setting.kind) {
        (Value::String(text), Kind::Secret) => Value::String(masked(text)).to_string(),
        (value, _) => value.to_string(),
    }
}

fn place(tree: &mut Table, given: &Given, value: Value) {
    let Some(Value::Table(section)) = tree.get_mut(given.section.key) else { return };
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

fn check(settings: &Settings) -> Result<(), SettingsError> {
    let unfit = |key: String, reason: String| Err(SettingsError::Unfit { key, reason });
    let mut paths: BTreeMap<&Path, &str> = BTreeMap::new();
    for (name, store) in &settings.stores {
        let key = format!("stores.{}", quoted(name));
        if name.is_empty()
            || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
        {
            return unfit(key, "a store's name has lower-case letters, digits, - and _ only".to_owned());
        }
        if let Some(other) = paths.insert(&store.path, name) {
            return unfit(format!("{key}.path"), format!("store {other} has the same folder; each needs its own"));
        }
    }
    let no_store = |name: &str| {
        let near = nearest(name, settings.stores.keys().map(String::as_str));
        let near = near.map(|near| format!("; the nearest is {near}")).unwrap_or_default();
        format!("there is no store {name:?} in [stores]{near}")
    };
    let roles = &settings.roles;
    let roles = [
        ("receiving", &roles.receiving),
        ("staging", &roles.staging),
        ("restoration", &roles.restoration),
        ("quarantine", &roles.quarantine),
    ];
    for (index, (role, store)) in roles.iter().enumerate() {
        let key = format!("roles.{role}");
        if !settings.stores.contains_key(*store) {
            return unfit(key, no_store(store));
        }
        if let Some((other, _)) = roles.iter().take(index).find(|(_, earlier)| earlier == store) {
            return unfit(key, format!("store {store:?} is roles.{other} already; each role needs a store of its own"));
        }
    }
    for (name, stores) in &settings.placements {
        let key = format!("placements.{}", quoted(name));
        if stores.is_empty() {
            return unfit(key, "it names no store; an object needs at least one copy".to_owned());
        }
        for (index, store) in stores.iter().enumerate() {
            if !settings.stores.contains_key(store) {
                return unfit(key, no_store(store));
            }
            if let Some((role, _)) = roles.iter().find(|(_, name)| *name == store) {
                return unfit(key, format!("store {store:?} is roles.{role} and cannot preserve"));
            }
            if stores.iter().take(index).any(|earlier| earlier == store) {
                return unfit(key, format!("store {store:?} is named twice; copies in one store are one copy"));
            }
        }
    }
    let default = &settings.ingest.default_placement;
    if !settings.placements.contains_key(default) {
        let near = nearest(default, settings.placements.keys().map(String::as_str));
        let near = near.map(|near| format!("; the nearest is {near}")).unwrap_or_default();
        return unfit("ingest.default_placement".to_owned(), format!("there is no placement {default:?}{near}"));
    }
    let topics = topics();
    for (topic, workers) in &settings.workers {
        let key = format!("workers.{}", quoted(topic));
        if !topics.contains(topic) {
            let near = nearest(topic, topics.iter().map(String::as_str)).unwrap_or_default();
            return unfit(key, format!("there is no such topic; the nearest is {near:?}"));
        }
        if workers.lease.as_secs() < 5 {
            return unfit(
                format!("{key}.lease"),
                "shorter than 5s, a busy machine loses its own work; try \"60s\"".to_owned(),
            );
        }
    }
    for (key, span) in [
        ("fixity.interval", settings.fixity.interval),
        ("fixity.every", settings.fixity.every),
        ("ingest.receiving_every", settings.ingest.receiving_every),
    ] {
        if span.as_secs() == 0 {
            return unfit(key.to_owned(), "it is less than a second; try \"30m\"".to_owned());
        }
    }
    Ok(())
}
