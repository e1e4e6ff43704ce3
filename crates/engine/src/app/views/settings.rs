//! Settings, and what was found when they were checked.

use serde::Serialize;

/// One setting.
#[derive(Debug, Clone, Serialize)]
pub struct SettingView {
    /// Its key, such as `fixity.max_age`.
    pub key: String,
    /// As it would be written in the file; secrets masked.
    pub value: String,
    /// Where it comes from: `default`, `file`, or `env` with the name of a variable.
    pub source: String,
    /// What it means.
    pub meaning: String,
}

/// One thing that was checked.
#[derive(Debug, Clone, Serialize)]
pub struct CheckView {
    /// What was checked.
    pub check: String,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What is wrong, and what to do; also a warning about what is all right.
    pub message: Option<String>,
}
