//! The end of a run: whatever was wrong is put right, what a person has stopped goes on, and workers that nothing disturbs
//! work until nothing is left to do.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use crate::deletions::has_deleted_nothing;
use crate::origins::{NOT_FETCHED, Origins, has_code};
use crate::perform::Cast;
use crate::plan::PRESERVATION;
use crate::promises::text;
use crate::world::{COLLECTION, INSTITUTION};

/// How long nothing at all may change before the run counts as stuck. Holds of processes that were killed last a minute.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often waiting items are asked to go on at once, so that pauses after failures are not waited for.
const HURRY: Duration = Duration::from_secs(2);
/// How often an item that fails is requeued once nothing is wrong.
const REQUEUES: u64 = 2;

impl Cast {
    /// Puts everything right and works to the end.
    pub(crate) fn settle(&mut self) -> Result<()> {
        self.world.log("settling: every worker is killed, every store healed");
        self.workers.kill_all(&mut self.world)?;
        for store in PRESERVATION {
            self.world.heal(store)?;
        }
        self.world.web.release();
        self.world.hook.mend();
        if let Some(ezid) = &self.world.ezid {
            ezid.clear_faults();
        }
        let older = self.world.copy_of(self.damaged);
        self.release_legal_holds()?;
        self.workers.start_all(&self.world)?;
        // Damage that stands in the way of deposits is repaired first.
        self.world.run(["fixity", "run", "--all", "--json"])?;
        self.drain()?;
        self.repair()?;
        self.drain()?;
        self.delete_what_failed_rightly()?;
        self.drain()?;
        self.put_back(&older)?;
        self.workers.stop_all()?;
        // A put that ends behind the last sweep of its version leaves bytes that the next one removes: comparing brings it
        // forward. What else differs, the promises tell.
        let compared = self.world.run(["store", "reconcile"])?;
        if !matches!(compared.code, Some(0 | 1)) {
            bail!("the stores could not be compared with the record: {compared:?}");
        }
        self.world.run(["schedule", "--once"])?.succeeded()?;
        self.deliver()?;
        self.world.log("settled");
        Ok(())
    }

    /// Puts an older copy of a store over what it has, and has it brought up to what is recorded: what was deleted since goes again.
    fn put_back(&mut self, older: &BTreeMap<String, Vec<u8>>) -> Result<()> {
        self.world.log(format!("an older copy of {} is put over it: {} files", self.damaged, older.len()));
        self.world.put_back(self.damaged, older)?;
        let compared = self.world.run(["store", "reconcile", "--json"])?;
        for difference in compared.json()? {
            self.world.log(format!("older: {difference}"));
        }
        // Where a worker runs it now, it is done by that one or by the checks.
        let removed = self.world.run(["background", "run", "deletions"])?;
        if !matches!(removed.code, Some(0 | 4)) {
            bail!("what was deleted could not be removed again: {removed:?}");
        }
        self.repair()
    }

    /// Works until every item has ended and no task waits.
    pub(crate) fn drain(&mut self) -> Result<()> {
        let mut last = String::new();
        let (mut moved, mut hurried) = (Instant::now(), Instant::now());
        let mut requests = self.decide_requests()?;
        let mut requeued: BTreeMap<String, u64> = BTreeMap::new();
        loop {
            if self.workers.has_lost()? {
                bail!("a worker ended before its work; see worker-*.log");
            }
            let items = self.world.run(["items", "list", "--json"])?.succeeded()?.json()?;
            let topics = self.world.run(["queue", "list", "--json"])?.succeeded()?.json()?;
            let is_open = |item: &&Value| ["pending", "started", "held"].contains(&text(item, "status"));
            let has_failed = items.iter().any(|item| text(item, "status") == "failed");
            let origins = if has_failed { self.origins_of(&items)? } else { Origins::default() };
            let failed: Vec<&Value> = items
                .iter()
                .filter(|item| text(item, "status") == "failed" && !self.has_failed_rightly(item, &origins))
                .filter(|item| !has_deleted_nothing(item) && !is_of_what_was_deleted(item))
                .filter(|item| requeued.get(text(item, "item")).copied().unwrap_or_default() < REQUEUES)
                .collect();
            let in_hurry = hurried.elapsed() > HURRY;
            if in_hurry {
                self.release_legal_holds()?;
                requests = self.decide_requests()?;
            }
            self.serve_commands()?;
            self.step_deletions();
            let tasks: u64 = topics
                .iter()
                .flat_map(|topic| ["ready", "delayed", "leased"].map(|state| topic[state].as_u64().unwrap_or_default()))
                .sum();
            let stopped = topics.iter().any(|topic| topic["paused"] == true || topic["dead"] != 0);
            let has_open = items.iter().any(|item| is_open(&item)) || requests > 0;
            if !has_open && failed.is_empty() && tasks == 0 && !stopped {
                if self.is_idle() {
                    return Ok(());
                }
                // What people still try is not tried again.
                self.end_deletions();
            }
            // Neither times nor who is at it: an item that only waits changes those.
            let stands = |item: &Value| format!("{} {} {}", item["item"], is_open(&item), item["stage"]);
            let now = format!("{:?} {tasks} {requests}", items.iter().map(stands).collect::<Vec<_>>());
            if now != last {
                (last, moved) = (now, Instant::now());
            }
            if moved.elapsed() > PATIENCE {
                let open: Vec<&Value> = items.iter().filter(is_open).collect();
                bail!("nothing moves any more: {tasks} tasks wait; open items: {open:#?}; topics: {topics:#?}");
            }
            for item in failed {
                let id = text(item, "item");
                // Another request that names the same may have to end first.
                if text(item, "action").starts_with("delete_") && !in_hurry {
                    continue;
                }
                *requeued.entry(id.to_owned()).or_default() += 1;
                if origins.is_of_package(id) && has_code(item, NOT_FETCHED) {
                    self.find(format!("an item was given up although its files can be had: {item}"));
                }
                let answer = self.world.run(["items", "requeue", id])?;
                self.world.log(format!("requeued {id}: {:?} {}", answer.code, answer.stderr.trim()));
            }
            for topic in &topics {
                self.free_topic(topic)?;
            }
            self.lift_holds()?;
            for item in items.iter().filter(is_open) {
                let wish = match text(item, "status") {
                    // Those of its batch and its collection are lifted already.
                    "held" => "release",
                    "pending" if in_hurry => "requeue",
                    _ => continue,
                };
                // It may have moved since it was listed.
                self.world.run(["items", wish, text(item, "item")])?;
            }
            if in_hurry {
                hurried = Instant::now();
            }
            std::thread::park_timeout(Duration::from_millis(150));
        }
    }

    /// Lifts the holds on batches and collections.
    fn lift_holds(&mut self) -> Result<()> {
        let status = self.world.run(["status", "--json"])?.succeeded()?.json()?;
        let holds = status.first().and_then(|status| status["review"]["holds"].as_array().cloned()).unwrap_or_default();
        for hold in holds {
            let on = text(&hold, "on");
            if text(&hold, "kind") == "batch" {
                self.world.run(["batches", "release", on])?;
            } else {
                self.world.run(["collection", "release", COLLECTION, "--institution", INSTITUTION])?;
            }
        }
        Ok(())
    }

    /// Deletes what failed as it had to: what it had staged goes with it.
    fn delete_what_failed_rightly(&mut self) -> Result<()> {
        let items = self.world.run(["items", "list", "--status", "failed", "--json"])?.succeeded()?.json()?;
        let origins = self.origins()?;
        let failed: Vec<&Value> = items.iter().filter(|item| self.has_failed_rightly(item, &origins)).collect();
        for item in failed {
            let id = text(item, "item");
            self.world.log(format!("failed as it had to: {item}"));
            self.world.run(["items", "delete", "--yes", id])?.succeeded()?;
            self.failed_rightly.insert(id.to_owned());
        }
        Ok(())
    }

    /// Resumes a topic and brings its dead tasks back, once: what is dead again is deleted and told.
    fn free_topic(&mut self, topic: &Value) -> Result<()> {
        let name = text(topic, "topic");
        if topic["paused"] == true {
            self.world.run(["queue", "resume", name])?.succeeded()?;
        }
        if topic["dead"] == 0 {
            return Ok(());
        }
        for task in self.world.run(["queue", "dead", name, "--json"])?.succeeded()?.json()? {
            let id = task["task"].to_string();
            let line = format!("dead task {id} of {name}, {}: {}", text(&task, "key"), text(&task, "reason"));
            let is_known = self.retried.contains(&id);
            self.world.log(&line);
            if is_known {
                self.world.run(["queue", "delete", &id])?;
                self.findings.push(format!("a task is dead again although nothing is wrong any more: {line}"));
            } else {
                self.retried.insert(id.clone());
                self.world.run(["queue", "retry", name, "--task", &id])?;
            }
        }
        Ok(())
    }

    /// Has all damage found and repaired: in the end a round finds nothing.
    fn repair(&mut self) -> Result<()> {
        let began = Instant::now();
        loop {
            let answer = self.world.run(["fixity", "run", "--all", "--json"])?;
            self.world.log(format!("fixity: {:?} {} {}", answer.code, answer.stdout.trim(), answer.stderr.trim()));
            let is_quiet = answer
                .json()?
                .first()
                .is_some_and(|round| ["damaged", "postponed", "failed"].iter().all(|key| round[*key] == 0));
            if is_quiet || began.elapsed() > PATIENCE {
                return Ok(());
            }
            self.world.run(["fixity", "repair"])?;
            std::thread::park_timeout(Duration::from_millis(300));
        }
    }
}

/// Whether a restoration failed because its object was deleted meanwhile.
pub(crate) fn is_of_what_was_deleted(item: &Value) -> bool {
    text(item, "action").starts_with("restore_") && text(item, "note").contains("was deleted")
}
