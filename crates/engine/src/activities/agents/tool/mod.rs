//! tool: runs a program of other people for each file that is kept, such as a virus scanner. What it says of a file becomes an event of the
//! object and a document; what it could not tell fails the record. Nothing is ever removed or changed by it: a virus opens a finding, which
//! people see in `status`.
//!
//! A record is a file at a version of its object, `FILE@VERSION`. Of another activity, a record is also a work item, which stands for the
//! files of the version that it made, or for those of its object where it had nothing new; a document that this agent made of a file, for that file; and
//! any other document, for its own bytes, whatever it is called.

mod deposited;
mod limits;
mod listing;
mod looking;
mod outcome;
mod record;
mod shown;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use strongroom_records::Takes;
use strongroom_registry::activities::Activity;
use strongroom_registry::{InstitutionId, Scope, tenants};

use self::looking::Halt;
use crate::activities::agent::{
    Agent, AgentInput, AgentOption, Asked, Finding, Makes, OpenAgent, Planned, RecordOutcome, Work,
};
use crate::activities::error::AgentError;
use crate::activities::options::parsed;
use crate::arks::find_object;
use crate::tools::{ConfiguredTool, ToolLimits, Workshop, configured};
use crate::{EngineError, Home};

pub(crate) use self::outcome::{ACT, VIRUS_CHECK};
pub(crate) use self::shown::{about, said_of};

pub(crate) const NAME: &str = "tool";
/// When a record is tried again that could not be processed now.
const AGAIN_AFTER: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    tool: Option<String>,
    #[serde(deserialize_with = "limits::time")]
    time_limit: Option<Duration>,
    #[serde(deserialize_with = "limits::size")]
    memory_limit: Option<u64>,
    collection: Option<String>,
    object: Option<String>,
}

impl Options {
    /// The tool as the settings and these options have it.
    fn configured(&self, home: &Home) -> Result<ConfiguredTool, EngineError> {
        let Some(name) = &self.tool else {
            return Err(EngineError::Usage("no tool is named".into()).next("add --option tool=NAME, such as clamdscan"));
        };
        configured(home, name, ToolLimits { time: self.time_limit, memory: self.memory_limit })
    }
}

/// See the header of the file.
pub(super) struct Tool;

const fn option(name: &'static str, default: &'static str, meaning: &'static str) -> AgentOption {
    AgentOption { name, default, meaning }
}

const OPTIONS: &[AgentOption] = &[
    option("tool", "", "the tool: clamdscan, clamscan, jhove, mediainfo, verapdf, or one of [tools] of the settings"),
    option("time_limit", "", "how long one run may take, such as 10m; as the tool says where it is not given"),
    option(
        "memory_limit",
        "",
        "how much memory one run may use, such as \"2 GiB\"; as the tool says where it is not given",
    ),
    option("collection", "", "only the objects of the collection of this short name; not with --input"),
    option("object", "", "only this object; not with --input"),
];

impl Agent for Tool {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Run a program for each file that is kept, such as a virus scanner"
    }

    fn options(&self) -> &'static [AgentOption] {
        OPTIONS
    }

    fn input(&self) -> AgentInput {
        AgentInput::SourceOrActivity(Takes::Results)
    }

    fn makes(&self) -> Makes {
        Makes::Outcomes
    }

    fn waits_for_work_items(&self) -> bool {
        true
    }

    fn plan(&self, home: &Home, asked: &Asked<'_>) -> Result<Planned, EngineError> {
        let options: Options = parsed(NAME, asked.options)?;
        options.configured(home)?;
        let Some(institution) = asked.institution else {
            return Err(EngineError::Usage("files belong to an institution, and the input belongs to none".into()));
        };
        if asked.has_input && (options.collection.is_some() || options.object.is_some()) {
            let reason = "the files are those that another activity has processed, not those of a collection or object";
            return Err(
                EngineError::Usage(reason.into()).next("leave --input out, or the options collection and object")
            );
        }
        let scope = Scope::Institution(institution);
        if let Some(name) = &options.collection {
            let found = home.registry.read(|tx| tenants::collection(tx, scope, institution, name))?;
            if found.is_none() {
                return Err(EngineError::NotFound { what: "collection", name: name.clone(), hint: String::new() }
                    .next("\"strongroom collection list\" shows those there are"));
            }
        }
        let mut kept = asked.options.clone();
        if let (Some(name), Some(kept)) = (&options.object, kept.get_mut("object")) {
            let found = home.registry.read(|tx| find_object(tx, scope, name))?;
            // Its name may change.
            *kept = found.id.to_string().into();
        }
        Ok(Planned { options: kept, watermark: None })
    }

    fn open(&self, home: &Arc<Home>, activity: &Activity) -> Result<Box<dyn OpenAgent>, EngineError> {
        let options: Options = parsed(NAME, &activity.options)?;
        let tool = options.configured(home)?;
        let Some(institution) = activity.institution else {
            return Err(EngineError::Usage("files belong to an institution".into()));
        };
        let workshop = home.tools.workshop(&home.directory)?;
        Ok(Box::new(Running { options, tool, institution, workshop }))
    }
}

/// The agent for an activity.
struct Running {
    options: Options,
    tool: ConfiguredTool,
    institution: InstitutionId,
    workshop: Arc<Workshop>,
}

impl OpenAgent for Running {
    fn chunk(&self) -> usize {
        10
    }

    fn commits_each(&self) -> bool {
        true
    }

    fn find(&self, finding: &dyn Finding) -> Result<(), AgentError> {
        self.find_files(finding)
    }

    fn process(&self, record: &str, work: &Work<'_>) -> RecordOutcome {
        match self.process_record(record, work) {
            Ok(outcome) => outcome,
            Err(Halt::Stopped(stop)) => RecordOutcome::Stopped(stop.into()),
            Err(Halt::Later(error)) => RecordOutcome::Later { after: AGAIN_AFTER, error },
            Err(Halt::Waits { after, reason }) => RecordOutcome::Waits { after, reason },
            Err(Halt::Failed(error)) => RecordOutcome::Failed { error },
        }
    }
}

#[cfg(test)]
mod tests {
    use strongroom_tool::ready::CONFIGURATIONS;

    use super::*;

    #[test]
    fn every_known_tool_is_named_where_tools_are_described() {
        let names = CONFIGURATIONS.map(|(name, _)| name).join(", ");
        assert!(OPTIONS.iter().any(|option| option.name == "tool" && option.meaning.contains(&names)), "{names}");
    }

    #[test]
    fn the_configuration_of_a_tool_is_described_with_its_defaults() {
        let page = include_str!("../../../../../../docs/tool-configuration.md");
        let whole = "name = \"a\"\nprogram = \"b\"\nversion = { arguments = [] }\nrules = [{ outcome = \"pass\" }]\n";
        let tool: strongroom_tool::Tool = toml::from_str(whole).expect("a tool");
        let keys = serde_json::to_value(&tool).expect("JSON");
        let is_described = |key: &str| page.contains(&format!("| `{key}` |"));
        for (key, value) in keys.as_object().expect("a table") {
            assert!(is_described(key), "{key}");
            let inner = value.as_object().into_iter().flatten().filter(|_| key != "environment");
            for (name, default) in inner {
                let row = page.lines().find(|line| line.starts_with(&format!("| `{key}.{name}` |")));
                let row = row.unwrap_or_else(|| panic!("{key}.{name}"));
                assert!(!default.is_number() || row.ends_with(&format!("| {default} |")), "{row}: {default}");
            }
        }
        for key in keys["rules"][0].as_object().expect("a rule").keys() {
            assert!(is_described(key), "{key}");
        }
    }
}
