//! Options of agents: a JSON object of texts and lists of texts, read into the type that an agent has for them.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

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
