//! The steps of the demonstration, in order.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use strongroom_bagit::{CheckOptions, Verdict};
use strongroom_engine::app::deposits::{self, PackageSource, Request};
use strongroom_engine::app::files;
use strongroom_engine::app::fixity::{self, FixityRequest};
use strongroom_engine::app::installation::{COLLECTION, INSTITUTION, SETTINGS_FILE};
use strongroom_engine::app::restorations::{self, ObjectRequest, RestorationTarget};
use strongroom_engine::app::views::{ItemId, ItemStatus};
use strongroom_engine::app::{Caller, Installation, OpContext, Shutdown, items, objects};
use strongroom_engine::settings::Settings;

use super::super::wait::{Ended, Stop, wait_until};
use super::compare::compare;
use super::samples::{self, LETTERS};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::output::printable;

/// The folder of a bag's payload.
const PAYLOAD: &str = "data";

/// The demonstration.
pub(super) struct Demo<'c> {
    pub(super) dir: PathBuf,
    pub(super) context: &'c Context,
    pub(super) shutdown: Shutdown,
    home: PathBuf,
    settings: Settings,
    call: OpContext,
}

/// What a step came to.
pub(super) struct Done {
    pub(super) ok: bool,
    pub(super) result: String,
}

type Step<'c> = fn(&Demo<'c>) -> Result<Done, Failure>;

impl<'c> Demo<'c> {
    /// The steps, by what they do.
    pub(super) fn steps() -> Vec<(&'static str, Step<'c>)> {
        vec![
            ("depositing three bags", Self::deposit_bags),
            ("depositing one of them again, with a page changed", Self::deposit_again),
            ("depositing a bag that was damaged on its way", Self::deposit_damaged),
            ("damaging a copy, finding it and repairing it", Self::damage_and_repair),
            ("restoring an object, byte for byte", Self::restore),
        ]
    }

    /// Opens the home with its own settings only: what the environment says is for other homes.
    pub(super) fn open(dir: &Path, home: PathBuf, context: &'c Context, shutdown: Shutdown) -> Result<Self, Failure> {
        let file = home.join(SETTINGS_FILE);
        let loaded = Settings::load(&file, [])?;
        let settings = loaded.settings.clone();
        // The damage is ours and no alarm; who wants to see it all asks for it.
        if context.verbosity() > 0 {
            crate::logging::start(&settings.log, context.verbosity(), crate::logging::Logging::Command);
        }
        let call = Installation::new(&home, &file, loaded, caller()).open()?.context;
        Ok(Self { dir: dir.to_owned(), context, shutdown, home, settings, call })
    }

    fn deposits(&self) -> PathBuf {
        self.dir.join("deposits")
    }

    fn deposit_bags(&self) -> Result<Done, Failure> {
        let paths = samples::first()
            .iter()
            .map(|sample| samples::write(sample, &self.deposits()))
            .collect::<Result<Vec<_>, Failure>>()?;
        let ended = self.ingest(&paths)?;
        let succeeded = ended.iter().filter(|status| **status == ItemStatus::Succeeded).count();
        Ok(Done {
            ok: succeeded == paths.len(),
            result: format!("{succeeded} of {} ingested, each with two verified copies", paths.len()),
        })
    }

    fn deposit_again(&self) -> Result<Done, Failure> {
        let path = self.deposits().join(format!("{LETTERS}.tar"));
        std::fs::remove_file(&path).map_err(|error| Failure::io("replace", &path, &error))?;
        let path = samples::write(&samples::letters("Dear sister, the ship has arrived safely.\n"), &self.deposits())?;
        let ended = self.ingest(&[path])?;
        let name = format!("{INSTITUTION}/{LETTERS}");
        let object = objects::show(&self.call, &name)?;
        Ok(Done {
            ok: ended == [ItemStatus::Succeeded] && object.head == 2,
            result: format!("{name} has {} versions; only what changed was stored", object.head),
        })
    }

    fn deposit_damaged(&self) -> Result<Done, Failure> {
        let path = samples::write_damaged(&self.deposits())?;
        let ended = self.ingest(&[path])?;
        Ok(Done {
            ok: ended == [ItemStatus::Failed],
            result: "refused, with the file and the digest that is wrong; nothing was stored".to_owned(),
        })
    }

    /// Changes a byte of a copy without the program, checks all copies, and checks the copy again.
    fn damage_and_repair(&self) -> Result<Done, Failure> {
        let object = format!("{INSTITUTION}/{LETTERS}");
        let filter = files::Filter { below: Some(PAYLOAD.to_owned()), ..files::Filter::default() };
        let file = files::list(&self.call, &object, &filter, None)?.items.into_iter().next();
        let copy = file.and_then(|file| file.copies.into_iter().next());
        let copy = copy.ok_or_else(|| Failure::not_found("copy of", &object))?;
        let folder = self.settings.stores.get(&copy.store).and_then(|store| store.folder(&self.home));
        let path = folder.ok_or_else(|| Failure::not_found("store", &copy.store))?.join(&copy.key);
        let right = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))?;
        let mut wrong = right.clone();
        if let Some(byte) = wrong.first_mut() {
            *byte ^= 1;
        }
        fs::write(&path, wrong).map_err(|error| Failure::io("damage", &path, &error))?;
        self.say(&format!("  changed one byte of {}", path.display()))?;
        let request = FixityRequest { all: true, stop: self.shutdown.clone(), ..FixityRequest::default() };
        let summary = fixity::run(&self.call, &request, &mut |_| {})?;
        let (checked, damaged, repaired) = (summary.checked, summary.damaged, summary.repaired);
        self.say(&format!("  checked {checked} copies: {damaged} damaged, {repaired} repaired"))?;
        let is_right = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))? == right;
        let again = fixity::run(&self.call, &request, &mut |_| {})?;
        self.say(&format!("  checked {} copies again: {} damaged", again.checked, again.damaged))?;
        Ok(Done {
            ok: (damaged, repaired, again.damaged) == (1, 1, 0) && is_right,
            result: format!("found 1 of {checked} copies damaged, repaired it from the other store, verified it"),
        })
    }

    /// Restores an object as it was sent, and compares every file with the deposit.
    fn restore(&self) -> Result<Done, Failure> {
        let deposited = self.deposits().join(format!("{LETTERS}.tar"));
        let to = self.dir.join("restored");
        fs::create_dir(&to).map_err(|error| Failure::io("make the folder", &to, &error))?;
        let request = ObjectRequest {
            object: format!("{INSTITUTION}/{LETTERS}"),
            target: RestorationTarget::Folder(to.clone()),
            submission: true,
            ..ObjectRequest::default()
        };
        let asked = restorations::of_object(&self.call, request)?;
        let ended = self.work(&[asked.item])?;
        let back = to.join(format!("{LETTERS}.tar"));
        let report = strongroom_bagit::validate(&back, &CheckOptions::default())?;
        let is_valid = matches!(report.verdict, Verdict::Valid | Verdict::ValidWithWarnings);
        let (is_same, result) = match compare(&deposited, &back)? {
            Ok(files) => {
                (true, format!("{}: all {files} files equal byte for byte, and the bag is valid", back.display()))
            }
            Err(path) => (false, format!("{}: {path} differs from what was deposited", back.display())),
        };
        self.say(&format!("  {result}"))?;
        Ok(Done { ok: ended == [ItemStatus::Succeeded] && is_valid && is_same, result })
    }

    /// Deposits packages, and prints the stages of each; how each ended.
    fn ingest(&self, paths: &[PathBuf]) -> Result<Vec<ItemStatus>, Failure> {
        let request = Request {
            institution: Some(INSTITUTION.to_owned()),
            collection: Some(COLLECTION.to_owned()),
            sources: paths.iter().cloned().map(PackageSource::LocalPath).collect(),
            ..Request::default()
        };
        let submitted = deposits::submit(&self.call, request)?;
        self.work(&submitted.items)
    }

    /// Works on items until they end, and prints what happened; how each ended.
    fn work(&self, ids: &[ItemId]) -> Result<Vec<ItemStatus>, Failure> {
        let ends: RefCell<BTreeMap<ItemId, ItemStatus>> = RefCell::default();
        let stop = Stop { shutdown: self.shutdown.clone(), timeout: None, began: Instant::now() };
        let exit = wait_until(&self.call, ids, self.context, &stop, &mut |item| {
            let stages = stages(&self.call, item.item)?;
            self.say(&format!("  {}: {}", item.object, stages.join(" > ")))?;
            self.say(&format!("    {}: {}", item.status, item.note.as_deref().unwrap_or_default()))?;
            for problem in item.problems.iter().take(3) {
                let path = problem.path.as_deref().unwrap_or_default();
                self.say(&format!("    {} {} {path}: {}", problem.severity, problem.code, problem.message))?;
            }
            ends.borrow_mut().insert(item.item, item.status);
            Ok(Ended::of(item.status))
        })?;
        if exit == Exit::Interrupted {
            return Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
        let ends = ends.into_inner();
        Ok(ids.iter().filter_map(|id| ends.get(id).copied()).collect())
    }

    fn say(&self, line: &str) -> Result<(), Failure> {
        self.context.output.say(printable(line))
    }
}

/// Who acts in the demonstration.
pub(super) fn caller() -> Caller {
    Caller::at_console("demo")
}

/// The stages that an item went through, in order.
fn stages(call: &OpContext, id: ItemId) -> Result<Vec<String>, Failure> {
    let lines = items::history(call, id)?;
    let mut stages: Vec<String> = lines.into_iter().map(|line| line.stage.to_string()).collect();
    stages.dedup();
    Ok(stages)
}
