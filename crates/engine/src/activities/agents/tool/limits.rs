//! Limits as options: texts with units, as in the settings.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::settings::{parse_duration, parse_size};

/// A duration of at least a second.
pub(super) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let found = parse_duration(&text).filter(|time| time.as_secs() > 0);
    found.map(Some).ok_or_else(|| D::Error::custom(format!("{text:?} is no duration of at least 1s, such as 10m")))
}

/// A size in bytes.
pub(super) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let found = parse_size(&text).filter(|size| *size > 0);
    found.map(Some).ok_or_else(|| D::Error::custom(format!("{text:?} is no size above 0, such as \"2 GiB\"")))
}
