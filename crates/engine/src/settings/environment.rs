//! Settings from the environment: `STRONGROOM_FIXITY__MAX_AGE` is `fixity.max_age`. A variable with our prefix that is no
//! setting is an error.

use std::ffi::OsString;

use toml::Value;

use super::collected::{Collected, Found, find_setting};
use super::error::{Origin, SettingsError};
use super::kind::Kind;
use super::load::unknown;
use super::tree::{SECTIONS, Section, Shape, pool_names};

const PREFIX: &str = "STRONGROOM_";
/// Variables with our prefix that say where the home is and are no settings.
const NOT_SETTINGS: &[&str] = &["STRONGROOM_HOME"];

/// Adds what the environment sets.
pub(super) fn collect_environment(
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
            let reason = "its value is not UTF-8".to_owned();
            return Err(SettingsError::Unfit { origin: origin.place(), key: variable, reason });
        };
        let Located { section: (s, section), name, found, from_file } =
            locate(&variable, collected).ok_or_else(|| {
                let names: Vec<String> = collected.values.values().filter_map(|given| given.name.clone()).collect();
                unknown(&origin, &variable, &names)
            })?;
        let text = if from_file { secret_file(&variable, &text)? } else { text };
        let value = from_text(found.setting.kind, &text);
        collected.put(s, found.index, found.given(section, name, value, origin))?;
    }
    Ok(())
}

fn secret_file(variable: &str, path: &str) -> Result<String, SettingsError> {
    let text = std::fs::read_to_string(path).map_err(|error| SettingsError::Unfit {
        origin: Origin::Environment(variable.to_owned()).place(),
        key: variable.to_owned(),
        reason: format!("the file {path:?} that it names cannot be read: {error}"),
    })?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

fn from_text(kind: Kind, text: &str) -> Value {
    match kind {
        Kind::Count(_) => text.trim().parse().map_or_else(|_| Value::String(text.to_owned()), Value::Integer),
        Kind::Flag => text.trim().parse().map_or_else(|_| Value::String(text.to_owned()), Value::Boolean),
        Kind::List => list_from_text(text),
        _ => Value::String(text.to_owned()),
    }
}

/// A list as the file has it, in brackets and quotes, or its members separated by commas.
fn list_from_text(text: &str) -> Value {
    let as_in_file = text.trim_start().starts_with('[').then(|| format!("list = {text}").parse::<toml::Table>());
    if let Some(Ok(mut table)) = as_in_file
        && let Some(list) = table.remove("list")
    {
        return list;
    }
    let members = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    Value::Array(members.map(|one| Value::String(one.to_owned())).collect())
}

/// Which setting a variable overrides.
struct Located {
    section: (usize, &'static Section),
    name: Option<String>,
    found: Found,
    /// Whether the value is in a file that the variable names.
    from_file: bool,
}

fn locate(variable: &str, collected: &Collected) -> Option<Located> {
    let path: Vec<String> = variable.strip_prefix(PREFIX)?.split("__").map(str::to_lowercase).collect();
    let (s, section) =
        SECTIONS.iter().enumerate().find(|(_, section)| Some(section.key) == path.first().map(String::as_str))?;
    let named = |part: &str| {
        let given = collected.values.values().filter(|given| given.section.key == section.key);
        let known = given.filter_map(|given| given.name.clone());
        let topics = if section.key == "workers" { pool_names() } else { Vec::new() };
        known.chain(topics).find(|name| variable_part(name) == part).unwrap_or_else(|| part.to_owned())
    };
    let (name, field) = match (section.shape, path.as_slice()) {
        (Shape::Plain, [_, field]) => (None, field.as_str()),
        (Shape::Named, [_, name, field]) => (Some(named(name)), field.as_str()),
        // The one setting of such a section stands for every name.
        (Shape::Keys, [_, name]) => (Some(named(name)), section.settings.first()?.name),
        _ => return None,
    };
    let section = (s, section);
    if let Some(found) = find_setting(section.1, field) {
        return Some(Located { section, name, found, from_file: false });
    }
    let found = find_setting(section.1, field.strip_suffix("_file")?)?;
    found.setting.kind.is_secret().then_some(Located { section, name, found, from_file: true })
}

/// How a name is written in a variable's name, where only letters, digits and `_` are at home.
pub(super) fn variable_part(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// The variable that sets a key.
pub(super) fn as_variable(key: &str) -> String {
    let parts: Vec<String> = key.splitn(2, '.').map(str::to_owned).collect();
    let tail = parts.get(1).map(String::as_str).unwrap_or_default();
    let tail = match tail.rsplit_once('.') {
        Some((name, field)) => format!("{}__{field}", variable_part(name.trim_matches('"'))),
        None => tail.to_owned(),
    };
    format!("{PREFIX}{}__{tail}", parts.first().map(String::as_str).unwrap_or_default()).to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_taken_with_commas_and_as_the_file_has_it() {
        let wanted = Value::Array(vec![Value::String("a.example".into()), Value::String("b.example:8443".into())]);
        assert_eq!(from_text(Kind::List, "a.example, b.example:8443"), wanted);
        assert_eq!(from_text(Kind::List, r#"["a.example", "b.example:8443"]"#), wanted);
        assert_eq!(from_text(Kind::List, ""), Value::Array(Vec::new()));
    }
}
