//! The tools of `ingest.tools`, which are run for each new file of a deposit before its version is written. What they say are events of the
//! version. A virus ends the deposit; what a tool could not tell is tried again, and nothing is published without its answer.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use strongroom_digest::{Algorithm, HashingReader};
use strongroom_registry::events::{self, EventRow};
use strongroom_registry::interim::InterimFile;
use strongroom_registry::versions::Version;
use strongroom_registry::{Format, WaitReason, rebuild, versions};
use strongroom_storage::Key;
use strongroom_tool::{Outcome, Run, Subject, ToolError};

use super::staged::proves;
use super::stages::package::problem;
use super::staging::SMALL;
use crate::hold::now;
use crate::interruptible::Interruptible;
use crate::tools::{ConfiguredTool, Provided, ToolAct, ToolLimits, Workshop, agent, configured, in_words};
use crate::workflow::{StageContext, StageError};
use crate::{chain, crash_point};

/// The code of a file in which a virus check found something.
const INFECTED: &str = "package.infected";
/// When a tool is asked again that cannot tell now.
const AGAIN_AFTER: Duration = Duration::from_mins(1);

/// The tools for one deposit.
pub(super) struct DepositTools<'a, 'c> {
    context: &'a StageContext<'c>,
    tools: Vec<ConfiguredTool>,
    version: Version,
    workshop: std::sync::Arc<Workshop>,
}

impl<'a, 'c> DepositTools<'a, 'c> {
    /// Those of the settings; none where there are none.
    pub(super) fn of(context: &'a StageContext<'c>) -> Result<Option<Self>, StageError> {
        let names = &context.home.settings.ingest.tools;
        if names.is_empty() {
            return Ok(None);
        }
        let wrong = |error: crate::EngineError| StageError::Transient(error.chain());
        let tools = names.iter().map(|name| configured(context.home, name, ToolLimits::default()));
        let tools = tools.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let version = context.registry().read(|tx| versions::of_item(tx, context.item.id))?;
        let version = version.ok_or_else(|| StageError::StagingLost("its version was never prepared".into()))?;
        let workshop = context.home.tools.workshop(&context.home.directory).map_err(wrong)?;
        Ok(Some(Self { context, tools, version, workshop }))
    }

    /// By which tools every file was inspected, in words.
    pub(super) fn in_words(&self) -> String {
        let names: Vec<&str> = self.tools.iter().map(ConfiguredTool::name).collect();
        format!("inspected by {}", names.join(", "))
    }

    /// Runs each tool for a file, unless its answer is there already.
    pub(super) fn run(&self, row: &InterimFile, format: &Format) -> Result<(), StageError> {
        let (Some(file), Some(content)) = (row.file, row.content) else {
            return Err(StageError::StagingLost(format!("{:?} was never compared", row.path)));
        };
        let mut provided: Option<Provided> = None;
        for tool in &self.tools {
            let Version { generation, number, .. } = &self.version;
            let id =
                events::derived_id(file.0, &format!("ingest tool {} {generation} v{number} {content}", tool.name()));
            if self.context.registry().read(|tx| rebuild::has_event(tx, id))? {
                continue;
            }
            let ready = match provided.take() {
                Some(ready) => ready,
                None => self.provide(row, tool)?,
            };
            let run = self.ask(tool, provided.insert(ready), row, format)?;
            crash_point("ingest.tool.asked");
            let has_failed = run.outcome == Outcome::Fail;
            if has_failed && tool.act == ToolAct::VirusCheck {
                let note = format!("{}: the tool {} found {}", row.path, tool.name(), in_words(&run));
                let found =
                    problem("error", INFECTED, Some(&row.path), format!("{} found {}", tool.name(), in_words(&run)));
                return Err(StageError::Invalid { note, problems: vec![found] });
            }
            let event = EventRow {
                id,
                institution: self.context.item.institution,
                object: Some(self.version.object),
                file: Some(file),
                content: Some(content),
                item: Some(self.context.item.id),
                version: Some(self.version.number),
                kind: tool.act.as_str().to_owned(),
                components: None,
                time: now(self.context.home)?.0,
                outcome: if has_failed { "failure" } else { "success" }.to_owned(),
                detail: Some(format!("by the tool {}, before the version was written", tool.name())),
                outcome_detail: Some(in_words(&run)),
                store: None,
                agent: agent(tool, &run),
                actor: None,
            };
            self.context.write(move |tx, claim| {
                strongroom_registry::work::check_fence(tx, claim)?;
                events::append(tx, std::slice::from_ref(&event))
            })?;
            crash_point("ingest.tool.told");
        }
        Ok(())
    }

    /// Copies a file out of staging for the tools. What is too large to be copied is read where it lies, in staging that is a folder, and the
    /// tool is given that path: the bytes that are written to the stores are compared with their digest again.
    fn provide(&self, row: &InterimFile, tool: &ConfiguredTool) -> Result<Provided, StageError> {
        // Small files lie together in one.
        if row.size > tool.max_copied.max(SMALL) {
            return self.in_place(row, tool);
        }
        let key = Key::new(row.staging_key.as_str())?;
        let lost = |what: &str| StageError::StagingLost(format!("{:?} in staging {what}", row.path));
        let body = match self.context.staging().open(&key, row.staging_offset, Some(row.size)) {
            Err(error) if error.is_not_found() => return Err(lost("is gone")),
            opened => Interruptible::new(opened?, self.context.task),
        };
        let mut body = HashingReader::new(body, &[Algorithm::Sha512]);
        let provided = Provided::copy_of(&self.workshop.scratch, &row.path, &mut body).map_err(|error| {
            match (self.context.task.check(), error.kind()) {
                (Err(reason), _) => reason.into(),
                (Ok(()), ErrorKind::UnexpectedEof) => lost("is cut off"),
                (Ok(()), _) => {
                    let what = format!("could not copy {:?} for the tool {}", row.path, tool.name());
                    StageError::Transient(format!("{what}: {}", chain(&error)))
                }
            }
        })?;
        let (size, digests) = body.finish();
        if size != row.size || digests.get(Algorithm::Sha512) != Some(row.digests.sha512) {
            return Err(lost("is not what was staged"));
        }
        Ok(provided)
    }

    /// A file where it lies in staging.
    fn in_place(&self, row: &InterimFile, tool: &ConfiguredTool) -> Result<Provided, StageError> {
        let home = &self.context.home;
        let folder =
            home.settings.stores.get(&home.settings.roles.staging).and_then(|store| store.folder(&home.directory));
        let path = folder.map(|folder| folder.join(&row.staging_key)).filter(|_| row.staging_offset == 0);
        let is_whole = |path: &PathBuf| path.metadata().is_ok_and(|found| found.is_file() && found.len() == row.size);
        let Some(path) = path.filter(is_whole) else {
            return Err(StageError::fatal(format!(
                "{:?} has {} bytes, at most {} are copied for the tool {}, and staging is no folder in which the tool could read it; \
                 next: raise max_copied of the tool in the settings, and requeue the deposit",
                row.path,
                row.size,
                tool.max_copied,
                tool.name()
            )));
        };
        if !proves(self.context, &row.into())? {
            return Err(StageError::StagingLost(format!("{:?} in staging is not what was staged", row.path)));
        }
        Ok(Provided::in_place(path))
    }

    fn ask(
        &self,
        tool: &ConfiguredTool,
        provided: &Provided,
        row: &InterimFile,
        format: &Format,
    ) -> Result<Run, StageError> {
        let subject = Subject::of(&provided.path)
            .with("name", row.path.replace('\0', " "))
            .with("puid", format.puid.clone().unwrap_or_default())
            .with("mime", format.mime.clone().unwrap_or_default())
            .with("size", row.size.to_string())
            .with("institution", self.context.item.institution_identifier.clone())
            .with("object", self.context.item.object_identifier.clone())
            .with("version", self.version.number.to_string());
        let check = || self.context.task.check().map_err(|reason| Box::new(reason) as Box<_>);
        let said = |what: &str, reason: &str| format!("{}: the tool {} {what}: {reason}", row.path, tool.name());
        match self.workshop.runner.run(&tool.tool, &subject, &check) {
            Ok(run) => match run.outcome {
                Outcome::Pass | Outcome::Fail => Ok(run),
                Outcome::Error => Err(StageError::Transient(said("could not tell", &run.message))),
                Outcome::Transient => Err(StageError::Waits {
                    until: self.context.task.time_after(AGAIN_AFTER),
                    reason: WaitReason::Tool,
                    note: said("cannot tell now", &run.message),
                }),
            },
            Err(ToolError::Interrupted { .. }) => {
                self.context.task.check()?;
                Err(StageError::Transient(said("was interrupted", "the work goes on")))
            }
            Err(error) => Err(StageError::Transient(said("was not run", &chain(&error)))),
        }
    }
}
