//! What workers do in the random acts on batches: items are made, taken up, ended, and their rows made.

use std::time::Duration;

use strongroom_queue::LeaseRequest;
use strongroom_registry::batches::{self, NewBatch};
use strongroom_registry::items::{self, ItemProblem, NewItem};
use strongroom_registry::reports::Subject as About;
use strongroom_registry::work::{self, Claim, StageEnd};
use strongroom_registry::{Action, BatchId, BatchState, ItemStatus, RegistryError, WaitReason};

use super::batch_model::{Batch, EXPAND, End, Item, STAGES};
use super::random_batches::{BATCHES, ROWS_AT_ONCE, Run, batch_topic, stage_of};
use super::world::*;

impl Run<'_> {
    pub(crate) fn submit(&mut self, size: usize, rows: Option<u64>, priority: i64) {
        if self.model.batches.iter().filter(|batch| !batch.is_gone).count() == BATCHES {
            return;
        }
        let number = self.model.batches.len();
        // Every third is of another institution, and nobody hears of it.
        let is_told = number % 3 != 2;
        let institution = if is_told { self.world.ours } else { self.world.theirs };
        let collection = is_told.then_some(self.world.collection);
        let (id, row_count) = (BatchId::new(), rows.is_none().then_some(size as u64));
        self.model.batches.push(Batch {
            id,
            institution,
            is_told,
            row_count,
            on_hold: false,
            stop: None,
            is_deleted: false,
            state: if rows.is_some() { BatchState::Pending } else { BatchState::Processing },
            reports: Vec::new(),
            last_number: 0,
            is_gone: false,
        });
        let new: Vec<NewItem> = (0..size).map(|_| self.new_item(number, rows.is_some(), priority)).collect();
        self.world.write(move |tx| {
            batches::create(tx, &NewBatch { collection, ..new_batch(id, institution, row_count) })?;
            items::create_all(tx, &Table, &mut new.iter().cloned())
        });
        if let Some(rows) = rows {
            self.model.items.last_mut().expect("the one that reads it").rows_left = Some(rows);
        }
        if is_told {
            self.untold.push(About::Queued(id).to_string());
        }
    }

    /// An item that is about to be made in a batch, known to the model already.
    pub(crate) fn new_item(&mut self, batch: usize, is_list: bool, priority: i64) -> NewItem {
        let Batch { id, institution, is_told, .. } = self.model.batches[batch];
        let action = Action::named(if is_list { "expand_batch" } else { "ingest" });
        let name = format!("item-{}", self.model.items.len());
        let new = NewItem {
            batch: Some(id),
            collection: is_told.then_some(self.world.collection),
            name: name.clone(),
            note: "submitted".into(),
            priority,
            is_list,
            ..NewItem::new(action, institution, format!("{institution}/{name}"))
        };
        self.model.items.push(Item {
            id: new.id,
            batch,
            rows_left: None,
            stage: if is_list { EXPAND } else { STAGES[0] },
            status: ItemStatus::Pending,
            fence: 0,
            priority,
            asked: None,
            on_hold: false,
            spent: 0,
            sleeps: false,
            is_permanent: false,
            deleted_from: None,
            reported: None,
        });
        let item = self.model.items.len() - 1;
        if self.model.is_held(item) {
            self.model.items[item].status = ItemStatus::Held;
        }
        new
    }

    pub(crate) fn claim(&mut self, number: usize) {
        let stage = stage_of(number);
        let is_ready = |known: &Item| known.status == ItemStatus::Pending && known.stage == stage && !known.sleeps;
        let ready: Vec<usize> = (0..self.model.items.len())
            .filter(|item| is_ready(&self.model.items[*item]) && !self.paused[number])
            .collect();
        let request =
            LeaseRequest { topics: vec![batch_topic(stage)], keys: None, limit: 1, holder: holder(1), duration: LEASE };
        let leasing = self.world.write(move |tx| work::lease(tx, &Table, &request, &|_| MAX_ATTEMPTS));
        let given = leasing.assignments.into_iter().next().and_then(|one| one.claimed).map(|(claim, _)| claim);
        let taken = match &given {
            Some(claim) => Some(self.place(claim.item)),
            // One whose task was met otherwise shows it.
            None => ready.iter().copied().find(|item| {
                let found = self.world.find(self.model.items[*item].id);
                found.status != ItemStatus::Pending
            }),
        };
        assert_eq!(taken.is_some(), !ready.is_empty(), "one of those that are ready is taken up, and no other");
        let Some(taken) = taken else { return };
        assert!(ready.contains(&taken), "it is paused, waits, or is elsewhere");
        let institution = |item: usize| self.model.batches[self.model.items[item].batch].institution;
        let urgent = ready.iter().copied().filter(|item| institution(*item) == institution(taken));
        let least = urgent.map(|item| self.model.items[item].priority).min();
        assert_eq!(Some(self.model.items[taken].priority), least, "a more urgent one of its institution is ready");
        let was_held = self.model.is_held(taken);
        let is_given = self.model.take_up(taken);
        assert_eq!(given.is_some(), is_given);
        assert!(!(is_given && was_held), "nothing starts while it is held");
        self.claims.extend(given);
    }

    pub(crate) fn is_current(&self, claim: &Claim) -> bool {
        let known = &self.model.items[self.place(claim.item)];
        known.status == ItemStatus::Started && known.fence == claim.fence
    }

    pub(crate) fn finish(&mut self, claim: &Claim, end: End) {
        let place = self.place(claim.item);
        let is_list = self.model.items[place].rows_left.is_some();
        let end = match end {
            // It has one stage, and it is done when its rows are made.
            End::Next(_) | End::Succeeded if is_list => End::Released,
            end => end,
        };
        let is_current = self.is_current(claim);
        let finished = self.world.try_finish(claim, &self.stage_end(end));
        assert_eq!(finished.is_ok(), is_current, "{finished:?}");
        if is_current {
            self.model.end(place, end);
        }
    }

    pub(crate) fn stage_end(&self, end: End) -> StageEnd {
        let soon = self.world.later(Duration::from_secs(30));
        let note = "a note".to_owned();
        let problem = ItemProblem {
            severity: "error".into(),
            code: "manifest.digest_mismatch".into(),
            file: None,
            path: None,
            line: None,
            message: "wrong".into(),
        };
        match end {
            End::Next(stage) => next(STAGES[stage]),
            End::Wait => StageEnd::Defer { until: soon, reason: WaitReason::Other, note },
            End::Retry => StageEnd::Transient { retry_at: soon, max_attempts: MAX_ATTEMPTS, note },
            End::GiveUp => StageEnd::Transient { retry_at: soon, max_attempts: 1, note },
            End::Fatal => fatal(),
            End::Permanent => StageEnd::Invalid { note, problems: vec![problem] },
            End::NeedsPerson => StageEnd::Held { note },
            End::Succeeded => succeeded(),
            End::Released => StageEnd::Released { note },
        }
    }

    /// The worker of a manifest makes the next page of its rows; behind the last one its item has succeeded.
    pub(crate) fn expand(&mut self, claim: &Claim) {
        let place = self.place(claim.item);
        let Some(left) = self.model.items[place].rows_left else { return };
        let (batch, id, list) =
            (self.model.items[place].batch, self.model.batches[self.model.items[place].batch].id, claim.item);
        let (before, is_current) = (self.model.clone(), self.is_current(claim));
        let made = left.min(ROWS_AT_ONCE);
        let new: Vec<NewItem> =
            (0..made).map(|_| self.new_item(batch, false, self.model.items[place].priority)).collect();
        let is_last = left == made;
        let fence = claim.clone();
        let outcome = self.world.registry.write(move |tx| {
            work::check_fence(tx, &fence)?;
            items::create_all(tx, &Table, &mut new.iter().cloned())?;
            if is_last {
                batches::list_made(tx, id, list)?;
                work::finish(tx, &Table, &fence, "a worker", &succeeded())?;
            }
            Ok::<_, RegistryError>(())
        });
        assert_eq!(outcome.is_ok(), is_current, "{outcome:?}");
        if !is_current {
            self.model = before;
            return;
        }
        self.model.items[place].rows_left = Some(left - made);
        if is_last {
            let rows = self.model.of(batch).filter(|item| self.model.items[*item].rows_left.is_none()).count();
            self.model.batches[batch].row_count = Some(rows as u64);
            self.model.end(place, End::Succeeded);
        }
    }
}
