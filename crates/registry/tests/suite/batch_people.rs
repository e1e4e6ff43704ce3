//! What people and background tasks do in the random acts on batches.

use std::time::Duration;

use strongroom_queue::{LeaseRequest, Outcome, Settlement, tasks};
use strongroom_registry::batches::{self, Step};
use strongroom_registry::holds::{self, On, SETTLED_STATUSES};
use strongroom_registry::items::{self, Asker, Request};
use strongroom_registry::reports::{self, EndedItem, Subject as About};
use strongroom_registry::work::SWEEP_TOPIC;
use strongroom_registry::{ItemId, ItemStatus, RegistryError, ReportKind, Scope, Stage, failures, retention};

use super::batch_model::Item;
use super::random_batches::Run;
use super::world::*;

impl Run<'_> {
    pub(crate) fn ask_batch(&mut self, batch: usize, request: Request) {
        let id = self.model.batches[batch].id;
        let asked = self.world.ask_batch(id, request);
        assert_eq!(asked.is_ok(), self.model.ask_batch(batch, request), "{asked:?}");
    }

    pub(crate) fn hold_collection(&mut self, is_on: bool) {
        let (on, ours) = (On::Collection(self.world.collection), self.world.ours);
        let by = Asker { who: "ann", reason: None };
        let has_changed =
            self.world.write(move |tx| if is_on { holds::place(tx, on, ours, by) } else { holds::lift(tx, on) });
        assert_eq!(has_changed, self.model.collection_on_hold != is_on);
        self.model.collection_on_hold = is_on;
    }

    pub(crate) fn settle(&mut self) {
        for status in SETTLED_STATUSES {
            let mut after = None;
            loop {
                let page = self.world.read(|tx| holds::unsettled(tx, None, status, after, 2));
                let found = page.items;
                self.world.write(move |tx| holds::settle(tx, &Table, &found, "ann"));
                let Some(last) = page.last else { break };
                after = Some(last);
            }
        }
        self.model.settle(0..self.model.items.len());
        let being_deleted = self.world.read(|tx| batches::being_deleted(tx, None, 99));
        let expected = self.model.batches.iter().filter(|known| known.is_deleted && known.on_hold && !known.is_gone);
        assert_eq!(
            being_deleted.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
            expected.map(|known| known.id).collect::<Vec<_>>()
        );
        for (id, _) in being_deleted {
            let batch = self.model.batches.iter().position(|known| known.id == id).expect("one of ours");
            self.ask_batch(batch, Request::Delete);
        }
        let stops = self.world.read(|tx| batches::stops(tx, None, 99));
        let expected = self.model.batches.iter().filter(|known| !known.is_gone);
        assert_eq!(
            stops.iter().map(|stop| (stop.batch, stop.status)).collect::<Vec<_>>(),
            expected.filter_map(|known| Some((known.id, known.stop?))).collect::<Vec<_>>()
        );
        for stop in stops {
            let batch = self.model.batches.iter().position(|known| known.id == stop.batch).expect("one of ours");
            let request = if stop.status == ItemStatus::Failed { Request::Fail } else { Request::Cancel };
            self.ask_batch(batch, request);
            assert_eq!(self.model.batches[batch].stop, None);
        }
    }

    pub(crate) fn begin_stop(&mut self, batch: usize, request: Request) {
        let begun = self.world.ask_step(self.model.batches[batch].id, request, Step::Begin);
        assert_eq!(begun.is_ok(), self.model.begin_stop(batch, request), "{begun:?}");
    }

    pub(crate) fn requeue_group(&mut self, batch: usize, stage: Stage) {
        let id = self.model.batches[batch].id;
        let found = self.world.read(|tx| failures::list(tx, Scope::System, Some(id), None, 99));
        let failed: Vec<ItemId> = self
            .model
            .of(batch)
            .map(|item| &self.model.items[item])
            .filter(|known| known.status == ItemStatus::Failed)
            .map(|known| known.id)
            .collect();
        assert_eq!(found.iter().map(|failure| failure.item).collect::<Vec<_>>(), failed);
        for failure in found.into_iter().filter(|failure| failure.stage == stage) {
            self.ask(self.place(failure.item), Request::Requeue(None));
        }
    }

    pub(crate) fn ask(&mut self, item: usize, request: Request) {
        let asked = self.world.ask(self.model.items[item].id, request);
        assert_eq!(asked.is_ok(), self.model.ask(item, request), "{asked:?}");
    }

    pub(crate) fn move_to(&mut self, item: usize, priority: u32) {
        let id = self.model.items[item].id;
        let moved = self.world.registry.write(move |tx| items::move_to(tx, Scope::System, id, priority, "a person"));
        let known = &mut self.model.items[item];
        assert_eq!(moved.is_ok(), known.is_open(), "{moved:?}");
        if moved.is_ok() {
            known.priority = priority.into();
        }
    }

    pub(crate) fn report(&mut self, batch: usize) {
        let id = self.model.batches[batch].id;
        let notes = self.notes(batch);
        let has_changes = self.model.of(batch).any(|item| {
            let note = notes[&self.model.items[item].id].as_deref();
            self.model.items[item].is_listed() && self.model.is_changed(item, note)
        });
        let made = self.world.registry.write(move |tx| {
            let batch = batches::get(tx, Scope::System, id)?.expect("is there");
            Ok::<_, RegistryError>(reports::make(tx, &batch, "a person")?.report)
        });
        assert_eq!(made.is_ok(), self.model.ask_report(batch, has_changes), "{made:?}");
        let is_provisional =
            self.model.batches[batch].reports.last().is_some_and(|last| last.kind == ReportKind::Provisional);
        if let Ok(made) = made
            && !is_provisional
        {
            self.untold.push(About::Report(made).to_string());
        }
    }

    /// Does the tasks of a topic: each key with its payload.
    pub(crate) fn do_tasks(&self, topic: &str) -> Vec<(String, Vec<u8>)> {
        let request =
            LeaseRequest { topics: vec![topic.to_owned()], keys: None, limit: 999, holder: holder(2), duration: LEASE };
        let leased = self.world.write(move |tx| Ok(tasks::lease(tx, &request)?));
        let done: Vec<Settlement> =
            leased.iter().map(|task| Settlement { lease: task.lease, outcome: Outcome::Done }).collect();
        self.world.write(move |tx| Ok(tasks::settle(tx, &done)?));
        leased.into_iter().map(|task| (task.key.clone(), task.payload.clone())).collect()
    }

    /// Each end is told once, as it was; so is each report and each batch that was accepted.
    pub(crate) fn tell(&mut self) {
        let (mut ends, mut others) = (Vec::new(), Vec::new());
        for (key, payload) in self.do_tasks(reports::TOPIC) {
            match key.parse().expect("names a subject") {
                About::Item(item, _) => {
                    let ended: EndedItem = serde_json::from_slice(&payload).expect("how it ended");
                    ends.push((item, ended.status));
                }
                About::Report(report) => {
                    // Its batch may be gone.
                    if self.world.read(|tx| Ok(reports::get(tx, report).is_ok())) {
                        assert!(self.world.write(move |tx| reports::fill(tx, report, 1)));
                        assert!(self.world.write(move |tx| reports::complete(tx, report)), "it is told once");
                    }
                    others.push(key);
                }
                About::Queued(_) => others.push(key),
            }
        }
        let mut expected = std::mem::take(&mut self.model.ends);
        let mut untold = std::mem::take(&mut self.untold);
        ends.sort_unstable();
        expected.sort_unstable();
        others.sort_unstable();
        untold.sort_unstable();
        assert_eq!(ends, expected);
        assert_eq!(others, untold);
    }

    /// The time of everything that ended until now runs out. Batches go as a whole, and nothing goes that a person has to review.
    pub(crate) fn retain(&mut self) {
        // What is swept yet would stay.
        self.do_tasks(SWEEP_TOPIC);
        self.tell();
        self.world.subject.advance(Duration::from_secs(1));
        let (before, mut after) = (self.world.now(), None);
        loop {
            let (_, next) = self.world.write(move |tx| retention::drop_items(tx, before, after));
            after = next;
            if after.is_none() {
                break;
            }
        }
        for batch in 0..self.model.batches.len() {
            let known = &self.model.batches[batch];
            let stays = |known: &Item| known.is_open() || known.status == ItemStatus::Failed;
            let is_kept = self.model.of(batch).any(|item| stays(&self.model.items[item]));
            if known.state.is_open() || is_kept || known.is_gone {
                continue;
            }
            // One that nobody hears of but those who run the installation is told by a background task, which does not run here.
            let id = known.id;
            let is_untold = self
                .world
                .read(|tx| reports::untold(tx, None, 999))
                .into_iter()
                .any(|untold| self.world.read(|tx| reports::get(tx, untold.report)).batch == id);
            self.model.batches[batch].is_gone = !is_untold;
            if !is_untold {
                assert!(self.world.read(|tx| batches::get(tx, Scope::System, id)).is_none(), "it goes as a whole");
                assert!(self.notes(batch).is_empty(), "it goes as a whole");
            }
        }
    }
}
