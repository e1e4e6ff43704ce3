//! The configuration of a tool, and the same after it was checked.

use std::collections::BTreeMap;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::error::ToolError;
use crate::limits::Limits;
use crate::output::{Output, Reader, pattern};
use crate::rules::{Rule, Rules};
use crate::strays;
use crate::template::Template;

/// Most seconds of a limit: a year.
const MOST_SECONDS: u64 = 31_536_000;

/// How a program is run, and how what it answers is understood. In TOML:
///
/// ```toml
/// name = "scanner"
/// program = "clamscan"
/// arguments = ["--no-summary", "{file}"]
/// rules = [{ exit = [0], outcome = "pass" }, { exit = [1], outcome = "fail" }]
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The name by which events and metadata have the tool.
    pub name: String,
    /// An absolute path, or a name that is looked up in the `PATH` of the environment.
    pub program: String,
    /// One element for each argument. No shell reads them. Placeholders: `{file}` (the absolute path of the file), `{folder}` (the
    /// working folder), and what the caller knows of the file: `{name}`, `{puid}`, `{mime}`, `{size}`, `{object}`,
    /// `{institution}`, `{version}`, `{record}`. What is not known is empty. An argument may not begin with one of the latter,
    /// because a value such as `-x` would be an option. `{{` and `}}` are braces.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Variables of the environment, except `TMPDIR`. The tool has none but these and `PATH`, `LANG=C.UTF-8`, `HOME` and `TMPDIR`; the
    /// last two are the working folder.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// What the tool reads from standard input.
    #[serde(default)]
    pub stdin: Input,
    /// Whether the tool may open sockets other than those of the system itself (Unix sockets).
    #[serde(default)]
    pub network: bool,
    /// How much it may use.
    #[serde(default)]
    pub limits: Limits,
    /// What the end of the tool means. The first rule that applies decides; without rules, 0 is a pass. What no rule is for is an
    /// error.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// How the output is read.
    #[serde(default)]
    pub output: Output,
    /// How the tool says its version.
    #[serde(default)]
    pub version: Option<VersionCommand>,
}

/// What a tool reads from standard input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Nothing.
    #[default]
    None,
    /// The bytes of the file.
    File,
}

/// How a tool says its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionCommand {
    /// The arguments of the program.
    pub arguments: Vec<String>,
    /// A regular expression for the output; its first group is the version. Without one, the first line is.
    #[serde(default)]
    pub pattern: Option<String>,
}

/// A [`Tool`] that was checked, and whose patterns are compiled. It can be used by many threads.
#[derive(Debug, Clone)]
pub struct PreparedTool {
    pub(crate) tool: Tool,
    pub(crate) arguments: Vec<Template>,
    pub(crate) rules: Rules,
    pub(crate) reader: Reader,
    pub(crate) version: Option<PreparedVersion>,
}

#[derive(Debug, Clone)]
pub(crate) struct PreparedVersion {
    pub(crate) arguments: Vec<Template>,
    pub(crate) pattern: Option<Regex>,
}

impl PreparedTool {
    /// The configuration.
    pub fn tool(&self) -> &Tool {
        &self.tool
    }
}

impl Tool {
    /// Checks the configuration.
    ///
    /// # Errors
    /// [`ToolError::Configuration`] says what is wrong with it.
    pub fn prepare(self) -> Result<PreparedTool, ToolError> {
        match self.parts() {
            Ok((arguments, rules, reader, version)) => {
                Ok(PreparedTool { tool: self, arguments, rules, reader, version })
            }
            Err(reason) => Err(ToolError::Configuration { tool: self.name, reason }),
        }
    }

    fn parts(&self) -> Result<(Vec<Template>, Rules, Reader, Option<PreparedVersion>), String> {
        if self.name.is_empty() {
            return Err("its name is empty".to_owned());
        }
        if self.program.is_empty() || self.program.contains('/') && !self.program.starts_with('/') {
            return Err(format!("its program {:?} is neither an absolute path nor a name", self.program));
        }
        let texts = [&self.program].into_iter().chain(&self.arguments).chain(self.environment.values());
        if texts.chain(self.environment.keys()).any(|text| text.contains('\0')) {
            return Err("its program, an argument or its environment has a zero byte".to_owned());
        }
        if let Some(name) = self.environment.keys().find(|name| name.is_empty() || name.contains('=')) {
            return Err(format!("{name:?} is no name of a variable"));
        }
        let Limits { wall_seconds, cpu_seconds, memory_bytes, open_files, processes, .. } = self.limits;
        if [wall_seconds, cpu_seconds, memory_bytes, open_files, processes].contains(&0) {
            return Err("a limit is 0".to_owned());
        }
        if wall_seconds.max(cpu_seconds) > MOST_SECONDS {
            return Err(format!("a limit on time is more than {MOST_SECONDS} s"));
        }
        if self.environment.contains_key(strays::VARIABLE) {
            return Err(format!("its environment has {}, by which its processes are found", strays::VARIABLE));
        }
        let templates = |arguments: &[String]| -> Result<Vec<Template>, String> {
            arguments.iter().map(|text| Template::parse(text)).collect()
        };
        let reader = Reader::new(&self.output)?;
        let version = match &self.version {
            None => None,
            Some(command) => Some(PreparedVersion {
                arguments: templates(&command.arguments)?,
                pattern: command.pattern.as_deref().map(pattern).transpose()?,
            }),
        };
        Ok((templates(&self.arguments)?, Rules::new(&self.rules, &reader)?, reader, version))
    }
}
