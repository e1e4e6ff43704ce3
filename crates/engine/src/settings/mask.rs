//! Values as they may be shown: without secrets.

use toml::Value;

use super::kind::Kind;

/// What stands in the place of a secret.
const MASK: &str = "********";

/// A value of this kind as it would be written in the file; secrets are masked.
pub(super) fn shown(kind: Kind, value: &Value) -> String {
    match (value, kind) {
        (Value::String(text), Kind::Database) => Value::String(masked(text)).to_string(),
        // What should be a secret and is none, such as a number, may be meant as one.
        (_, Kind::Secret) => Value::String(MASK.to_owned()).to_string(),
        (value, _) => value.to_string(),
    }
}

/// A URL without the passwords it may hold: behind the user's name, and among its parameters.
pub(super) fn masked(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    // A password with a question mark in it, which should have been encoded, is masked as well.
    let (place, query) = if query.is_some_and(|query| query.contains('@')) { (rest, None) } else { (place, query) };
    let mut text = match place.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => {
            format!("{scheme}://{}:{MASK}@{host}", user.split(':').next().unwrap_or_default())
        }
        _ => format!("{scheme}://{place}"),
    };
    for (nth, parameter) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        text.push(if nth == 0 { '?' } else { '&' });
        match parameter.split_once('=') {
            Some((name, _)) if name.to_ascii_lowercase().contains("password") => {
                text.push_str(name);
                text.push('=');
                text.push_str(MASK);
            }
            _ => text.push_str(parameter),
        }
    }
    text
}
