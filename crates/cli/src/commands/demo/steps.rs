//! The steps of the demonstration, in order.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use strongroom_bagit::{CheckOptions, Verdict};
use strongroom_engine::Home;
use strongroom_engine::app::deposits::{self, Request};
use strongroom_engine::app::restorations::{self, ObjectRequest};
use strongroom_engine::app::{Caller, OpContext, Shutdown, items};
use strongroom_engine::fixity::{self, FixityRequest};
use strongroom_engine::settings::Settings;
use strongroom_registry::objects;
use strongroom_registry::{ItemId, ItemStatus, RegistryError};

use super::super::init::{COLLECTION, INSTITUTION};
use super::super::objects::find;
use super::super::wait::{Ended, Stop, wait_until};
use super::compare::compare;
use super::samples::{self, LETTERS};
use crate::context::{Context, SETTINGS_FILE};
use crate::failure::{Exit, Failure};
use crate::output::printable;

/// Where the payload of a bag lies in an object.
const PAYLOAD: &str = "deposit/data/";

/// The demonstration.
pub(super) struct Demo<'c> {
    pub(super) dir: PathBuf,
    pub(super) context: &'c Context,
    pub(super) shutdown: Shutdown,
}

/// What a step came to.
pub(super) struct Done {
    pub(super) ok: bool,
    pub(super) result: String,
}

type Step<'c> = fn(&Demo<'c>, &Arc<Home>) -> Result<Done, Failure>;

impl<'c> Demo<'c> {
    /// The steps, by what they do.
    pub(super) fn steps() -> Vec<(&'static str, Step<'c>)> {
        vec![
            ("depositing three bags", Self::deposit_bags),
            ("depositing one of them again, with a page changed", Self::deposit_again),
            ("depositing a bag that was damaged on its way", Self::deposit_damaged),
            ("damaging a copy, finding it and repairing it", Self::damage_and_repair),
            ("giving an object back, byte for byte", Self::give_back),
        ]
    }

    /// Opens the home with its own settings only: what the environment says is for other homes.
    pub(super) fn open(&self, home: &Path) -> Result<Arc<Home>, Failure> {
        let file = home.join(SETTINGS_FILE);
        let settings = Settings::load(&file, [])?.settings;
        // The damage is ours and no alarm; who wants to see it all asks for it.
        if self.context.verbosity() > 0 {
            crate::logging::start(&settings.log, self.context.verbosity());
        }
        Ok(Arc::new(Home::open(home, settings)?))
    }

    fn deposits(&self) -> PathBuf {
        self.dir.join("deposits")
    }

    fn deposit_bags(&self, home: &Arc<Home>) -> Result<Done, Failure> {
        let paths = samples::first()
            .iter()
            .map(|sample| samples::write(sample, &self.deposits()))
            .collect::<Result<Vec<_>, Failure>>()?;
        let ended = self.take_in(home, &paths)?;
        let succeeded = ended.iter().filter(|status| **status == ItemStatus::Succeeded).count();
        Ok(Done {
            ok: succeeded == paths.len(),
            result: format!("{succeeded} of {} taken in, each with two proved copies", paths.len()),
        })
    }

    fn deposit_again(&self, home: &Arc<Home>) -> Result<Done, Failure> {
        let path = self.deposits().join(format!("{LETTERS}.tar"));
        std::fs::remove_file(&path).map_err(|error| Failure::io("replace", &path, &error))?;
        let path = samples::write(&samples::letters("Dear sister, the ship has arrived safely.\n"), &self.deposits())?;
        let ended = self.take_in(home, &[path])?;
        let name = format!("{INSTITUTION}/{LETTERS}");
        let object = find(&home.registry, &name)?;
        Ok(Done {
            ok: ended == [ItemStatus::Succeeded] && object.head == 2,
            result: format!("{name} has {} versions; only what changed was stored", object.head),
        })
    }

    fn deposit_damaged(&self, home: &Arc<Home>) -> Result<Done, Failure> {
        let path = samples::write_damaged(&self.deposits())?;
        let ended = self.take_in(home, &[path])?;
        Ok(Done {
            ok: ended == [ItemStatus::Failed],
            result: "refused, with the file and the digest that is wrong; nothing was stored".to_owned(),
        })
    }

    /// Changes a byte of a copy behind the program's back, checks all copies, and looks at the copy again.
    fn damage_and_repair(&self, home: &Arc<Home>) -> Result<Done, Failure> {
        let object = find(&home.registry, &format!("{INSTITUTION}/{LETTERS}"))?;
        let copy = home.registry.read(|tx| {
            let file = objects::files(tx, object.id, object.head, PAYLOAD, "", 1)?.into_iter().next();
            match file {
                Some(file) => Ok::<_, RegistryError>(objects::copies(tx, file.content)?.into_iter().next()),
                None => Ok(None),
            }
        })?;
        let copy = copy.ok_or_else(|| Failure::not_found("copy of", &object.identifier))?;
        let folder = home.settings.stores.get(&copy.store).and_then(|store| store.folder(&home.directory));
        let path = folder.ok_or_else(|| Failure::not_found("store", &copy.store))?.join(&copy.key);
        let right = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))?;
        let mut wrong = right.clone();
        if let Some(byte) = wrong.first_mut() {
            *byte ^= 1;
        }
        fs::write(&path, wrong).map_err(|error| Failure::io("damage", &path, &error))?;
        self.say(&format!("  changed one byte of {}", path.display()))?;
        let request = FixityRequest { all: true, stop: self.shutdown.clone(), ..FixityRequest::default() };
        let summary = fixity::run(home, &request, &mut |_| {})?;
        let (checked, damaged, repaired) = (summary.checked, summary.damaged, summary.repaired);
        self.say(&format!("  checked {checked} copies: {damaged} damaged, {repaired} repaired"))?;
        let is_right = fs::read(&path).map_err(|error| Failure::io("read", &path, &error))? == right;
        let again = fixity::run(home, &request, &mut |_| {})?;
        self.say(&format!("  checked {} copies again: {} damaged", again.checked, again.damaged))?;
        Ok(Done {
            ok: (damaged, repaired, again.damaged) == (1, 1, 0) && is_right,
            result: format!("found 1 of {checked} copies damaged, repaired it from the other store, proved it"),
        })
    }

    /// Gives an object back as it was sent, and compares every file with the deposit.
    fn give_back(&self, home: &Arc<Home>) -> Result<Done, Failure> {
        let deposited = self.deposits().join(format!("{LETTERS}.tar"));
        let to = self.dir.join("given-back");
        fs::create_dir(&to).map_err(|error| Failure::io("make the folder", &to, &error))?;
        let request = ObjectRequest {
            object: format!("{INSTITUTION}/{LETTERS}"),
            to: Some(to.clone()),
            submission: true,
            ..ObjectRequest::default()
        };
        let asked = restorations::of_object(&call(home), request)?;
        let ended = self.work(home, &[asked.item])?;
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

    /// Deposits payloads, and tells the stages that each goes through; how each ended.
    fn take_in(&self, home: &Arc<Home>, paths: &[PathBuf]) -> Result<Vec<ItemStatus>, Failure> {
        let request = Request {
            institution: Some(INSTITUTION.to_owned()),
            collection: Some(COLLECTION.to_owned()),
            sources: paths.iter().map(|path| path.display().to_string()).collect(),
            ..Request::default()
        };
        let submitted = deposits::submit(&call(home), request)?;
        self.work(home, &submitted.items)
    }

    /// Works on items until they end, and tells what happened; how each ended.
    fn work(&self, home: &Arc<Home>, ids: &[ItemId]) -> Result<Vec<ItemStatus>, Failure> {
        let ends: RefCell<BTreeMap<ItemId, ItemStatus>> = RefCell::default();
        let stop = Stop { shutdown: self.shutdown.clone(), timeout: None };
        let call = call(home);
        let exit = wait_until(&call, ids, self.context, &stop, &mut |item| {
            let stages = stages(&call, item.item)?;
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

/// A call of the demonstration.
fn call(home: &Arc<Home>) -> OpContext {
    OpContext::new(home.clone(), Caller::at_console("demo"))
}

/// The stages that an item went through, in order.
fn stages(call: &OpContext, id: ItemId) -> Result<Vec<String>, Failure> {
    let lines = items::history(call, id)?;
    let mut stages: Vec<String> = lines.into_iter().map(|line| line.stage.to_string()).collect();
    stages.dedup();
    Ok(stages)
}
