//! What is known of an installation, gathered once for all rows: its stores, and what the registry records of what is kept. Objects and
//! files are examined page by page up to a bound, unless all of them are asked for.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use strongroom_registry::audit::{self, Chain};
use strongroom_registry::levels::{self as rows, FileCursor, KnownFormat};
use strongroom_registry::{
    ObjectId, Registry, RegistryError, Scope, Time, backfill, counted, fixity, health, tool_findings,
};
use uuid::Uuid;

use crate::background::{self, TaskStatus};
use crate::findings::LACKING;
use crate::rights::too_wide;
use crate::settings::{Settings, StoreFacts};
use crate::survey::{Condition, Survey};
use crate::tools::{ToolAct, act_of};
use crate::{EngineError, audit as chains};

/// Objects and files that are examined where not all are asked for.
const EXAMINED: u64 = 10_000;
const PAGE: usize = 500;

/// Where facts come from.
pub(crate) struct Source<'s> {
    pub(crate) directory: &'s Path,
    pub(crate) settings_file: &'s Path,
    pub(crate) settings: &'s Settings,
    pub(crate) registry: &'s Registry,
    pub(crate) survey: &'s Survey,
    /// Whether every object and file is examined.
    pub(crate) is_whole: bool,
}

/// Whether a store holds everything that belongs in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Holds {
    Whole,
    Unknown(String),
    NotWhole(String),
}

/// A store in which copies belong, and that is in use.
#[derive(Debug, Clone)]
pub(super) struct StoreFact {
    pub(super) name: String,
    pub(super) holds: Holds,
    pub(super) condition: Condition,
    pub(super) problem: Option<String>,
    pub(super) has_watermark: bool,
    pub(super) said: StoreFacts,
    /// When the copy or the inventory that waits longest was last checked; none where there are no copies.
    pub(super) oldest_check: Option<Time>,
    /// Whether a range of an audit chain is not in it.
    pub(super) lacks_audit: bool,
}

/// A placement that objects have.
#[derive(Debug, Clone)]
pub(super) struct PlacementFact {
    pub(super) name: String,
    /// The stores in use that it names; none where the settings do not have the placement.
    pub(super) stores: Option<Vec<StoreFact>>,
}

/// What was examined: how many, of how many what is asked for is missing, and whether these are all.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Examined {
    pub(super) kept: u64,
    pub(super) is_all: bool,
}

/// What is known of an installation.
pub(crate) struct Facts {
    pub(super) now: Time,
    /// Why the registry can only be read.
    pub(super) read_only: Option<String>,
    pub(super) stores: Vec<StoreFact>,
    pub(super) placements: Vec<PlacementFact>,
    pub(super) objects: Examined,
    pub(super) undescribed: u64,
    pub(super) files: Examined,
    pub(super) unidentified: u64,
    pub(super) unverified_formats: u64,
    pub(super) unrecorded: u64,
    pub(super) unchecked_for_viruses: u64,
    /// Whether new deposits are checked for viruses.
    pub(super) virus_tool: Option<String>,
    pub(super) open_virus_findings: u64,
    /// Copies that were never compared with their digest, and whether these are all.
    pub(super) unverified_copies: (u64, bool),
    pub(super) max_age: Duration,
    pub(super) poll_interval: Duration,
    pub(super) last_round: Option<Time>,
    pub(super) fixity_task: Option<TaskStatus>,
    pub(super) audit_task: Option<TaskStatus>,
    pub(super) chains: Vec<Chain>,
    pub(super) pending_acts: u64,
    pub(super) is_audit_suspended: bool,
    /// How many active users have each role.
    pub(super) users: Vec<(String, u64)>,
    pub(super) without_second_admin: u64,
    /// What gives others more access than it should.
    pub(super) too_wide: Vec<String>,
}

impl Facts {
    /// Gathers them.
    pub(crate) fn gather(source: &Source<'_>) -> Result<Self, EngineError> {
        let Source { settings, registry, survey, .. } = *source;
        let stores = stores(source)?;
        let tasks = background::list(settings, registry)?;
        let task = |name: &str| tasks.iter().find(|task| task.name == name).cloned();
        let fixity_task = task(background::fixity::NAME);
        let by_hand = registry.read(fixity::last_run)?;
        let last_round = [fixity_task.as_ref().and_then(|task| task.last_run_at), by_hand].into_iter().flatten().max();
        let limit = usize::try_from(EXAMINED).unwrap_or(usize::MAX);
        let mut facts = registry.read(|tx| {
            Ok::<_, EngineError>(Self {
                now: tx.now()?,
                read_only: survey.registry.as_ref().and_then(|one| one.refusal().map(str::to_owned)),
                placements: Vec::new(),
                objects: Examined::default(),
                undescribed: 0,
                files: Examined::default(),
                unidentified: 0,
                unverified_formats: 0,
                unrecorded: 0,
                unchecked_for_viruses: 0,
                virus_tool: settings
                    .ingest
                    .tools
                    .iter()
                    .find(|name| act_of(settings, name) == ToolAct::VirusCheck)
                    .cloned(),
                open_virus_findings: tool_findings::count_open(tx)?,
                unverified_copies: rows::unverified(tx, limit)?,
                max_age: settings.fixity.max_age,
                poll_interval: settings.fixity.poll_interval,
                last_round,
                fixity_task: fixity_task.clone(),
                audit_task: task(background::audit::NAME),
                chains: audit::chains(tx)?,
                pending_acts: audit::count_pending(tx, Scope::System)?,
                is_audit_suspended: chains::is_suspended_in(tx)?,
                users: rows::users(tx)?,
                without_second_admin: rows::without_second_admin(tx)?,
                too_wide: Vec::new(),
                stores: Vec::new(),
            })
        })?;
        let wide = too_wide(source.directory, source.settings_file, settings);
        facts.too_wide = wide.into_iter().map(|(path, _)| path.display().to_string()).collect();
        facts.stores = stores;
        facts.examine_objects(source)?;
        facts.examine_files(source)?;
        Ok(facts)
    }

    /// Whether anything is kept at all.
    pub(super) fn is_empty(&self) -> bool {
        self.objects.kept == 0 && self.objects.is_all
    }

    fn examine_objects(&mut self, source: &Source<'_>) -> Result<(), RegistryError> {
        let (mut after, mut examined) = (ObjectId(Uuid::nil()), 0);
        // By the placement in lower case: its name.
        let mut placed: BTreeMap<String, String> = BTreeMap::new();
        loop {
            if !source.is_whole && examined >= EXAMINED {
                // Objects that were not examined may have any of them.
                placed.extend(source.settings.placements.keys().map(|name| (name.to_lowercase(), name.clone())));
                break;
            }
            let page = source.registry.read(|tx| rows::objects(tx, after, PAGE))?;
            for object in page.iter().filter(|object| object.is_kept) {
                self.objects.kept += 1;
                self.undescribed += u64::from(!object.is_described);
                let name = object.placement.clone().unwrap_or_default();
                placed.entry(name.to_lowercase()).or_insert(name);
            }
            examined += page.len() as u64;
            match page.last() {
                Some(last) if page.len() == PAGE => after = last.id,
                _ => {
                    self.objects.is_all = true;
                    break;
                }
            }
        }
        for (lower, name) in placed {
            let named = source.settings.placements.iter().find(|(placement, _)| placement.to_lowercase() == lower);
            let stores = named.map(|(_, stores)| {
                self.stores.iter().filter(|store| stores.contains(&store.name)).cloned().collect::<Vec<_>>()
            });
            self.placements.push(PlacementFact { name, stores });
        }
        Ok(())
    }

    fn examine_files(&mut self, source: &Source<'_>) -> Result<(), RegistryError> {
        let (mut after, mut examined) = (FileCursor::default(), 0);
        while source.is_whole || examined < EXAMINED {
            let page = source.registry.read(|tx| rows::files(tx, after, PAGE))?;
            for file in page.iter().filter(|file| file.is_kept) {
                self.files.kept += 1;
                self.unidentified += u64::from(file.format == KnownFormat::Unknown);
                self.unverified_formats += u64::from(file.format != KnownFormat::Verified);
                self.unrecorded += u64::from(!file.is_recorded);
                self.unchecked_for_viruses += u64::from(!file.is_virus_checked);
            }
            examined += page.len() as u64;
            match page.last() {
                Some(last) if page.len() == PAGE => after = last.cursor,
                _ => {
                    self.files.is_all = true;
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The preservation stores that are in use.
fn stores(source: &Source<'_>) -> Result<Vec<StoreFact>, EngineError> {
    let Source { settings, registry, survey, .. } = *source;
    let mut found = Vec::new();
    for name in settings.preservation_stores() {
        let Some(one) = survey.store(name) else { continue };
        if registry.read(|tx| backfill::retired_at(tx, name))?.is_some() {
            continue;
        }
        let (copies, objects, uncopied) = registry.read(|tx| {
            Ok::<_, RegistryError>((
                health::oldest_check(tx, name)?,
                rows::oldest_object_check(tx, name)?,
                audit::uncopied(tx, name, None, 1)?,
            ))
        })?;
        found.push(StoreFact {
            name: name.to_owned(),
            holds: holds(survey, name, one.condition, one.problem.as_deref()),
            condition: one.condition,
            problem: one.problem.clone(),
            has_watermark: one.mark.is_some(),
            said: settings.store_facts.get(name).cloned().unwrap_or_default(),
            oldest_check: [copies, objects].into_iter().flatten().min(),
            lacks_audit: !uncopied.is_empty(),
        });
    }
    Ok(found)
}

fn holds(survey: &Survey, name: &str, condition: Condition, problem: Option<&str>) -> Holds {
    if condition == Condition::Refused {
        return Holds::NotWhole(format!("store {name} is refused"));
    }
    let mut findings = survey.findings.iter().flatten();
    if let Some(one) = findings.find(|one| one.store == name && one.findings > 0) {
        return Holds::NotWhole(match one.kind {
            LACKING => format!("store {name} lacks something of {}", counted(one.findings, "object", "objects")),
            kind => {
                format!("store {name} has {} of kind {kind}", counted(one.findings, "open finding", "open findings"))
            }
        });
    }
    if !survey.is_counted_whole(Some(name)) {
        return Holds::Unknown(format!("not every object was compared with store {name} yet"));
    }
    match (condition, problem) {
        (Condition::Available, None) => Holds::Whole,
        (Condition::Available, Some(_)) => Holds::Unknown(format!("store {name} has a problem")),
        _ => Holds::Unknown(format!("store {name} is away")),
    }
}
