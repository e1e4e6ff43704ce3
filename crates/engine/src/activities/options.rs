//! Options of agents: a JSON object of texts and lists of texts, read into the type that an agent has for them.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use crate::EngineError;

/// The options of an agent. Its type refuses what it does not know (`deny_unknown_fields`).
///
/// # Errors
/// One is unknown, missing or wrong.
pub fn parsed<T: DeserializeOwned>(agent: &str, options: &Value) -> Result<T, EngineError> {
    serde_json::from_value(options.clone()).map_err(|error| {
        EngineError::Usage(format!("the options of the agent {agent} cannot be used: {error}"))
            .next("\"strongroom activity agents\" lists the options of each agent")
    })
}

/// A text, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// Reads an option that may be given several times.
pub(super) fn many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

/// Reads an option that is a number, written as a text.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let number = text.parse().ok().filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| D::Error::custom(format!("{text:?} is no number above 0")))
}

/// Options as they are shown: URLs without user name, password and fragment, and with the names of their parameters only, since
/// a value may be a key. The activity keeps them whole, for its workers.
pub(crate) fn shown(options: Value) -> Value {
    match options {
        Value::String(text) => Value::String(shown_text(text)),
        Value::Array(values) => values.into_iter().map(shown).collect(),
        Value::Object(values) => values.into_iter().map(|(name, value)| (name, shown(value))).collect(),
        other => other,
    }
}

fn shown_text(text: String) -> String {
    let has_more = |url: &Url| {
        let has_user = !url.username().is_empty() || url.password().is_some();
        has_user || url.query().is_some() || url.fragment().is_some()
    };
    let Some(mut url) = Url::parse(&text).ok().filter(|url| url.has_host() && has_more(url)) else { return text };
    let query = url.query().map(|query| {
        let parts = query.split('&').map(|part| match part.split_once('=') {
            Some((name, _)) => format!("{name}=..."),
            None => "...".to_owned(),
        });
        parts.collect::<Vec<_>>().join("&")
    });
    url.set_query(query.as_deref());
    url.set_fragment(None);
    // Both fail only where there is no host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::shown;

    #[test]
    fn values_within_urls_are_not_shown() {
        for (kept, expected) in [
            (json!({"url": "https://example.edu/oai"}), json!({"url": "https://example.edu/oai"})),
            (
                json!({"url": "https://me:secret@example.edu/api?q=maps&key=k%20ey&flag#part"}),
                json!({"url": "https://example.edu/api?q=...&key=...&..."}),
            ),
            (json!({"a": ["http://h/?b=c", "d"]}), json!({"a": ["http://h/?b=...", "d"]})),
            (json!({"path": "/srv/a?b=c", "id": "/key/name"}), json!({"path": "/srv/a?b=c", "id": "/key/name"})),
            (
                json!({"chain": [{"url": "https://h/a?b=c"}], "n": 1}),
                json!({"chain": [{"url": "https://h/a?b=..."}], "n": 1}),
            ),
        ] {
            assert_eq!(shown(kept), expected);
        }
    }
}
