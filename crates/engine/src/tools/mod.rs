//! Tools: programs of other people that are run for a file, as the settings name them (`[tools.NAME]`). What runs them under limits is
//! the crate `strongroom-tool`; here is which configuration a name stands for, whether it can be run, the folder that they work in, and how a file that is kept
//! comes there. What an answer means for an object, the agent `tool` of activities decides.

mod configured;
mod looking;
mod said;
mod scratch;
mod subject;

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use strongroom_tool::Runner;

pub use strongroom_tool::Launcher as ToolLauncher;

use crate::EngineError;

pub(crate) use configured::{ConfiguredTool, ToolAct, ToolLimits, act_of, check, configured};
pub(crate) use looking::look_at;
pub(crate) use said::{agent, bounded, in_words};
pub(crate) use subject::{Provided, Providing, StoredFile, Unprovided, provide};

use scratch::Scratch;

/// The hidden command of the program that starts tools: `strongroom_tool::launch` gets the arguments behind it.
pub const LAUNCHER_COMMAND: &str = "tool-launcher";

/// What runs tools in a process: the launcher, and the folder that tools work in, which is made when the first one is run.
#[derive(Default)]
pub(crate) struct Tools {
    launcher: OnceLock<ToolLauncher>,
    workshop: Mutex<Option<Arc<Workshop>>>,
}

/// The folder that tools of this process work in, and what runs them there.
pub(crate) struct Workshop {
    pub(crate) runner: Runner,
    pub(crate) scratch: Scratch,
}

impl Tools {
    /// Has tools started by another program; where tools were run already, nothing changes.
    pub(crate) fn set_launcher(&self, launcher: ToolLauncher) {
        let _ = self.launcher.set(launcher);
    }

    /// Where tools are run, in this data directory.
    pub(crate) fn workshop(&self, directory: &Path) -> Result<Arc<Workshop>, EngineError> {
        let mut made = self.workshop.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(workshop) = made.as_ref() {
            return Ok(workshop.clone());
        }
        let scratch = Scratch::make(directory)?;
        let launcher = self.launcher.get_or_init(|| ToolLauncher::this_program([LAUNCHER_COMMAND])).clone();
        let workshop = Arc::new(Workshop { runner: Runner::new(launcher, scratch.path()), scratch });
        *made = Some(workshop.clone());
        Ok(workshop)
    }
}
