//! Which configuration the name of a tool stands for: a known one, or a file that the settings name, with what the settings and an
//! activity change in it.

use std::path::Path;
use std::time::Duration;

use strongroom_tool::{PreparedTool, Tool, ready};

use crate::settings::{Settings, ToolSettings};
use crate::{EngineError, Home, chain};

/// The largest file that is copied for a tool that the settings do not name.
const MOST_COPIED: u64 = 10 << 30;
/// Most bytes of a configuration.
const MOST_BYTES: u64 = 1 << 20;

/// What a tool does, by the term of its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolAct {
    VirusCheck,
    MetadataExtraction,
    Validation,
}

impl ToolAct {
    const ALL: [Self; 3] = [Self::VirusCheck, Self::MetadataExtraction, Self::Validation];

    /// The term of the Library of Congress vocabulary.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::VirusCheck => "virus check",
            Self::MetadataExtraction => "metadata extraction",
            Self::Validation => "validation",
        }
    }

    /// What a known tool does.
    fn of_known(name: &str) -> Option<Self> {
        Some(match name {
            "clamdscan" | "clamscan" => Self::VirusCheck,
            "mediainfo" => Self::MetadataExtraction,
            "jhove" | "verapdf" => Self::Validation,
            _ => return None,
        })
    }
}

/// Limits that an activity sets, instead of those of the tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ToolLimits {
    /// How long one run may take.
    pub(crate) time: Option<Duration>,
    /// How many bytes of memory it may use.
    pub(crate) memory: Option<u64>,
}

/// A tool that can be run.
#[derive(Debug, Clone)]
pub(crate) struct ConfiguredTool {
    pub(crate) tool: PreparedTool,
    pub(crate) act: ToolAct,
    /// The largest file that is copied for it.
    pub(crate) max_copied: u64,
}

impl ConfiguredTool {
    /// The name of the tool.
    pub(crate) fn name(&self) -> &str {
        &self.tool.tool().name
    }
}

fn known() -> String {
    ready::CONFIGURATIONS.map(|(name, _)| name).join(", ")
}

/// The known tool that a tool of the settings begins with.
fn begins_with<'s>(name: &'s str, own: Option<&'s ToolSettings>) -> &'s str {
    own.map(|own| own.ready.as_str()).filter(|ready| !ready.is_empty()).unwrap_or(name)
}

/// The first thing in `[tools]` that does not fit, as far as no file has to be read.
pub(crate) fn check(settings: &Settings) -> Result<(), (String, String)> {
    for (name, own) in &settings.tools {
        let at = |setting: &str, reason: String| Err((format!("tools.{name}{setting}"), reason));
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
            return at("", "a tool's name has lower-case letters, digits, - and _ only, 64 at most".to_owned());
        }
        let base = begins_with(name, Some(own));
        let is_known = ready::CONFIGURATIONS.iter().any(|(known, _)| *known == base);
        if own.configuration.is_some() && !own.ready.is_empty() {
            return at(".ready", "configuration is set as well; leave one of them out".to_owned());
        }
        if own.configuration.is_none() && !is_known {
            let setting = if own.ready.is_empty() { "" } else { ".ready" };
            let reason = format!("no tool {base:?} is known ({}); set ready to one of them, or configuration", known());
            return at(setting, reason);
        }
        if let Some(variable) = own.environment.iter().find(|text| !text.contains('=')) {
            return at(".environment", format!("{variable:?} is not NAME=VALUE"));
        }
        if (1..1000).contains(&own.time_limit.as_millis()) {
            return at(".time_limit", "it is less than a second; try \"10m\", or 0s for no other limit".to_owned());
        }
    }
    for (index, name) in settings.ingest.tools.iter().enumerate() {
        let at = |reason: String| Err(("ingest.tools".to_owned(), reason));
        if !settings.tools.contains_key(name) && !ready::CONFIGURATIONS.iter().any(|(known, _)| known == name) {
            return at(format!("there is no tool {name:?}: {} are known, and others are in [tools]", known()));
        }
        if settings.ingest.tools.iter().take(index).any(|earlier| earlier == name) {
            return at(format!("tool {name:?} is named twice"));
        }
    }
    Ok(())
}

/// The tool of this name.
///
/// # Errors
/// There is none, or its configuration cannot be read or is wrong.
pub(crate) fn configured(home: &Home, name: &str, limits: ToolLimits) -> Result<ConfiguredTool, EngineError> {
    configured_in((&home.settings, &home.directory), name, limits)
}

/// The same by these settings of a data directory.
pub(super) fn configured_in(
    (settings, directory): (&Settings, &Path),
    name: &str,
    limits: ToolLimits,
) -> Result<ConfiguredTool, EngineError> {
    let own = settings.tools.get(name);
    let base = begins_with(name, own);
    let mut tool = match own.and_then(|own| own.configuration.as_deref()) {
        Some(file) => from_file(directory, name, file)?,
        None => ready::tool(base).map_err(|_| unknown(settings, name))?,
    };
    name.clone_into(&mut tool.name);
    if let Some(own) = own {
        change(&mut tool, own);
    }
    set_limits(&mut tool, limits);
    let act = act_of(settings, name);
    let tool = tool.prepare().map_err(|error| {
        EngineError::Usage(chain(&error)).next(format!("mend tools.{name} of the settings, or the file that it names"))
    })?;
    Ok(ConfiguredTool { tool, act, max_copied: own.map_or(MOST_COPIED, |own| own.max_copied) })
}

/// What a tool does, by the settings alone.
pub(crate) fn act_of(settings: &Settings, name: &str) -> ToolAct {
    let own = settings.tools.get(name);
    let of_settings = own.and_then(|own| ToolAct::ALL.into_iter().find(|act| act.as_str() == own.event));
    of_settings.or_else(|| ToolAct::of_known(begins_with(name, own))).unwrap_or(ToolAct::Validation)
}

fn unknown(settings: &Settings, name: &str) -> EngineError {
    let own: Vec<&str> = settings.tools.keys().map(String::as_str).collect();
    let own = if own.is_empty() { String::new() } else { format!("; the settings have {}", own.join(", ")) };
    EngineError::NotFound { what: "tool", name: name.to_owned(), hint: format!(": {} are known{own}", known()) }
        .next(format!(
            "name one of them, or add [tools.{name}] to the settings; workers read settings when they start, so restart those \
             that run"
        ))
}

fn from_file(directory: &Path, name: &str, file: &str) -> Result<Tool, EngineError> {
    let path = directory.join(file);
    let act = "read the configuration of a tool in";
    let failed = |source| EngineError::Io { act, path: path.display().to_string(), source };
    let size = std::fs::metadata(&path).map_err(failed)?.len();
    if size > MOST_BYTES {
        let reason = format!("{} has {size} bytes, and a configuration has {MOST_BYTES} at most", path.display());
        return Err(EngineError::Usage(reason));
    }
    let text = std::fs::read_to_string(&path).map_err(failed)?;
    toml::from_str(&text).map_err(|error| {
        let reason = format!("the configuration of the tool {name} in {} cannot be used: {error}", path.display());
        EngineError::Usage(reason).next("docs/activities.md says what a configuration has")
    })
}

/// What the settings say besides the configuration.
fn change(tool: &mut Tool, own: &ToolSettings) {
    if !own.program.is_empty() {
        tool.program.clone_from(&own.program);
    }
    // Braces are placeholders, which arguments of the settings may have as well.
    tool.arguments.splice(..0, own.arguments.iter().cloned());
    if let Some(version) = &mut tool.version {
        version.arguments.splice(..0, own.arguments.iter().cloned());
    }
    for (name, value) in own.environment.iter().filter_map(|text| text.split_once('=')) {
        tool.environment.insert(name.to_owned(), value.to_owned());
    }
    let limits = ToolLimits {
        time: Some(own.time_limit).filter(|limit| !limit.is_zero()),
        memory: Some(own.memory_limit).filter(|limit| *limit > 0),
    };
    set_limits(tool, limits);
}

fn set_limits(tool: &mut Tool, limits: ToolLimits) {
    if let Some(time) = limits.time {
        tool.limits.wall_seconds = time.as_secs().max(1);
        // Several threads use several times as much.
        tool.limits.cpu_seconds = tool.limits.cpu_seconds.max(tool.limits.wall_seconds);
    }
    if let Some(memory) = limits.memory {
        tool.limits.memory_bytes = memory;
    }
}

#[cfg(test)]
mod tests {
    use strongroom_tool::ready::CONFIGURATIONS;

    use super::*;

    #[test]
    fn what_each_known_tool_does_is_known() {
        assert!(CONFIGURATIONS.iter().all(|(name, _)| ToolAct::of_known(name).is_some()));
    }
}
