//! Whether the tools that the settings name can be run on this machine.

use std::collections::BTreeSet;
use std::path::Path;

use strongroom_tool::{Runner, find_program};

use super::configured::configured_in;
use super::{LAUNCHER_COMMAND, ToolLauncher, ToolLimits};
use crate::settings::Settings;
use crate::{EngineError, chain};

/// A tool that the settings name, and what is wrong with it.
pub(crate) type LookedAt = (String, Result<(), EngineError>);

/// Looks for the programs of the tools that are set or run for deposits, and asks those for their version that have a command for it: a
/// program that is there may lack a library, or its server. Nothing is written to the data directory.
pub(crate) fn look_at(settings: &Settings, directory: &Path) -> Result<Vec<LookedAt>, EngineError> {
    let names: BTreeSet<&String> = settings.tools.keys().chain(&settings.ingest.tools).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |source| EngineError::Io {
        act: "make a folder for tools in",
        path: std::env::temp_dir().display().to_string(),
        source,
    };
    let scratch = tempfile::tempdir().map_err(failed)?;
    let runner = Runner::new(ToolLauncher::this_program([LAUNCHER_COMMAND]), scratch.path());
    let look = |name: &String| (name.clone(), look_at_one(&runner, (settings, directory), name));
    Ok(names.into_iter().map(look).collect())
}

fn look_at_one(runner: &Runner, of: (&Settings, &Path), name: &str) -> Result<(), EngineError> {
    let tool = configured_in(of, name, ToolLimits::default())?.tool;
    let program = find_program(&tool).map_err(|error| {
        let next =
            format!("install it, or name its path in tools.{name}.program; workers read settings when they start");
        EngineError::CheckFailed(chain(&error)).next(next)
    })?;
    let Some(command) = &tool.tool().version else { return Ok(()) };
    let by_hand =
        || format!("run it as the user of the workers: {} {}", program.display(), command.arguments.join(" "));
    match runner.version(&tool, &|| Ok(())) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => {
            let text = format!("the tool {name} does not say its version: {}", program.display());
            Err(EngineError::CheckFailed(text).next(by_hand()))
        }
        Err(error) => Err(EngineError::CheckFailed(chain(&error)).next(by_hand())),
    }
}
