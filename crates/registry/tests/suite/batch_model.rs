//! Batches, their items, holds and reports as a model that is too simple to be wrong. It knows nothing of tables and transactions:
//! each act is what `docs/batches.md` and `docs/reports.md` say of it.

use strongroom_registry::items::Request;
use strongroom_registry::reports::ReportRow;
use strongroom_registry::{BatchId, BatchState, InstitutionId, ItemId, ItemStatus, ReportKind, Stage};

use super::world::MAX_ATTEMPTS;
use ItemStatus::{Cancelled, Deleted, Failed, Held, Pending, Started, Succeeded};

/// The one stage of the item that reads a manifest.
pub(crate) const EXPAND: Stage = Stage::named("expand");
/// Stages that need nothing an earlier one left behind, so that requeueing is plain.
pub(crate) const STAGES: [Stage; 3] = [Stage::named("receive"), Stage::named("estimate"), Stage::named("provision")];

/// How a stage ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    Next(usize),
    Wait,
    Retry,
    /// The attempts are spent.
    GiveUp,
    Fatal,
    /// The package itself is wrong.
    Permanent,
    NeedsPerson,
    Succeeded,
    Released,
}

/// An item.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) id: ItemId,
    /// Into [`Model::batches`].
    pub(crate) batch: usize,
    /// Rows that it makes; none where it reads no manifest.
    pub(crate) rows_left: Option<u64>,
    pub(crate) stage: Stage,
    pub(crate) status: ItemStatus,
    pub(crate) fence: i64,
    pub(crate) priority: i64,
    /// As what a worker that has it was asked to let it end.
    pub(crate) asked: Option<ItemStatus>,
    /// Whether there is a hold on it.
    pub(crate) on_hold: bool,
    /// Attempts of its task that are spent.
    pub(crate) spent: u32,
    /// Whether its task waits for a time.
    pub(crate) sleeps: bool,
    /// Whether it failed by its package.
    pub(crate) is_permanent: bool,
    pub(crate) deleted_from: Option<ItemStatus>,
    /// What the last report that lists it says of it; provisional ones do not count.
    pub(crate) reported: Option<(ItemStatus, Option<String>)>,
}

/// The place of a stage among those of items.
fn place_of(stage: Stage) -> Option<usize> {
    STAGES.iter().position(|one| *one == stage)
}

impl Item {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.status, Pending | Started | Held)
    }

    /// Whether a row of it is in reports: the item that reads a manifest is in them unless it came to its end.
    pub(crate) fn is_listed(&self) -> bool {
        self.rows_left.is_none() || !matches!(self.status, Succeeded | Deleted)
    }

    fn is_unresolved(&self) -> bool {
        !matches!(self.status, Succeeded | Deleted)
    }
}

/// A report as it was when it was made.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) number: u64,
    pub(crate) kind: ReportKind,
    pub(crate) state: BatchState,
    /// Succeeded, failed, cancelled, deleted, held, and at work.
    pub(crate) counts: [u64; 6],
    /// Its rows, once they were seen.
    pub(crate) rows: Option<Vec<ReportRow>>,
}

/// A batch.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Batch {
    pub(crate) id: BatchId,
    pub(crate) institution: InstitutionId,
    /// Whether it is of the collection, which has its ends told.
    pub(crate) is_told: bool,
    pub(crate) row_count: Option<u64>,
    pub(crate) on_hold: bool,
    /// What its open items are to be, where the process was killed that asked it.
    pub(crate) stop: Option<ItemStatus>,
    pub(crate) is_deleted: bool,
    pub(crate) state: BatchState,
    pub(crate) reports: Vec<Known>,
    pub(crate) last_number: u64,
    /// Whether its time has run out and nothing of it is left.
    pub(crate) is_gone: bool,
}

/// Everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    pub(crate) batches: Vec<Batch>,
    pub(crate) items: Vec<Item>,
    pub(crate) collection_on_hold: bool,
    /// Which ends are to be told, and were not yet.
    pub(crate) ends: Vec<(ItemId, ItemStatus)>,
}

impl Model {
    pub(crate) fn of(&self, batch: usize) -> impl Iterator<Item = usize> + use<> {
        let found: Vec<usize> = (0..self.items.len()).filter(|item| self.items[*item].batch == batch).collect();
        found.into_iter()
    }

    /// Whether any hold applies.
    pub(crate) fn is_held(&self, item: usize) -> bool {
        let batch = &self.batches[self.items[item].batch];
        self.items[item].on_hold || batch.on_hold || (batch.is_told && self.collection_on_hold)
    }

    /// The item has this status from now on.
    fn become_(&mut self, item: usize, status: ItemStatus) {
        let before = self.items[item].status;
        assert!(before.may_become(status), "the model does what the table forbids: {before} to {status}");
        let known = &mut self.items[item];
        (known.status, known.asked) = (status, None);
        if status == Deleted {
            known.deleted_from = Some(before);
        }
        // A hold outlasts a failure, and no other end.
        known.on_hold &= !matches!(status, Succeeded | Cancelled | Deleted);
        if status.is_ended() && self.batches[self.items[item].batch].is_told {
            let id = self.items[item].id;
            self.ends.push((id, status));
        }
    }

    fn go_on(&mut self, item: usize, stage: Stage) {
        self.become_(item, Pending);
        let known = &mut self.items[item];
        (known.stage, known.spent, known.sleeps) = (stage, 0, false);
    }

    /// As what it was asked to end, by itself or with its batch.
    pub(crate) fn asked(&self, item: usize) -> Option<ItemStatus> {
        let Item { asked, status, batch, .. } = self.items[item];
        asked.or(self.batches[batch].stop.filter(|_| matches!(status, Pending | Started)))
    }

    /// What it is to be instead of beginning a stage.
    fn wanted(&self, item: usize) -> Option<ItemStatus> {
        self.asked(item).or_else(|| self.is_held(item).then_some(Held))
    }

    /// A worker takes up its task: whether it gets the item.
    pub(crate) fn take_up(&mut self, item: usize) -> bool {
        if let Some(wanted) = self.wanted(item) {
            self.become_(item, wanted);
            return false;
        }
        self.items[item].fence += 1;
        if self.items[item].spent == MAX_ATTEMPTS {
            self.become_(item, Failed);
            return false;
        }
        self.become_(item, Started);
        self.items[item].spent += 1;
        true
    }

    pub(crate) fn end(&mut self, item: usize, end: End) {
        let (wanted, spent) = (self.wanted(item), self.items[item].spent);
        match (end, wanted) {
            (End::Fatal, _) | (End::GiveUp, None) => self.become_(item, Failed),
            (End::Permanent, _) => {
                self.become_(item, Failed);
                self.items[item].is_permanent = true;
            }
            (End::Succeeded, _) => self.become_(item, Succeeded),
            (End::Next(stage), Some(wanted)) => {
                self.items[item].stage = STAGES[stage];
                self.become_(item, wanted);
            }
            (_, Some(wanted)) => self.become_(item, wanted),
            (End::Next(stage), None) => self.go_on(item, STAGES[stage]),
            (End::Retry, None) if spent == MAX_ATTEMPTS => self.become_(item, Failed),
            (End::NeedsPerson, None) => {
                self.items[item].on_hold = true;
                self.become_(item, Held);
            }
            (End::Retry, None) => {
                self.become_(item, Pending);
                self.items[item].sleeps = true;
            }
            (End::Wait, None) => {
                self.become_(item, Pending);
                (self.items[item].sleeps, self.items[item].spent) = (true, spent - 1);
            }
            (End::Released, None) => {
                self.become_(item, Pending);
                self.items[item].spent = spent - 1;
            }
        }
    }

    /// Its worker is gone.
    pub(crate) fn take_over(&mut self, item: usize) {
        let wanted = self.wanted(item);
        self.become_(item, wanted.unwrap_or(Pending));
    }

    /// Whether a request for an item is granted.
    pub(crate) fn ask(&mut self, item: usize, request: Request) -> bool {
        let Item { status, stage, on_hold, is_permanent, .. } = self.items[item].clone();
        match (request, status) {
            (Request::Hold, Pending | Started | Held) if !on_hold => {
                self.items[item].on_hold = true;
                if status == Pending && self.asked(item).is_none() {
                    self.become_(item, Held);
                }
            }
            (Request::Release, _) if on_hold => {
                self.items[item].on_hold = false;
                if status == Held && !self.is_held(item) {
                    self.go_on(item, stage);
                }
            }
            (Request::Cancel, Started) => self.items[item].asked = Some(Cancelled),
            (Request::Fail, Pending | Started) if self.asked(item) == Some(Cancelled) => return false,
            (Request::Fail, Started) => self.items[item].asked = Some(Failed),
            (Request::Fail, Pending) => self.become_(item, Failed),
            (Request::Cancel, Pending | Held) => self.become_(item, Cancelled),
            (Request::Delete, Pending | Held | Failed | Cancelled | Succeeded) => self.become_(item, Deleted),
            (Request::Requeue(_), _) if self.batches[self.items[item].batch].is_deleted => return false,
            (Request::Requeue(_), _) if self.batches[self.items[item].batch].stop.is_some() => return false,
            (Request::Requeue(wanted), Pending | Failed | Cancelled) if !is_permanent => {
                let to = wanted.unwrap_or(stage);
                if to != stage && (place_of(to).is_none() || place_of(to) > place_of(stage)) {
                    return false;
                }
                self.go_on(item, to);
                if self.is_held(item) {
                    self.become_(item, Held);
                }
            }
            _ => return false,
        }
        true
    }

    /// Brings the status of items in line with the holds.
    pub(crate) fn settle(&mut self, items: impl Iterator<Item = usize>) {
        for item in items {
            match (self.items[item].status, self.is_held(item)) {
                (Pending, true) if self.asked(item).is_none() => self.become_(item, Held),
                (Held, false) => self.go_on(item, self.items[item].stage),
                _ => {}
            }
        }
    }

    /// Whether a request for a batch is granted; one that there is nothing to do for is.
    pub(crate) fn ask_batch(&mut self, batch: usize, request: Request) -> bool {
        let items: Vec<usize> = self.of(batch).collect();
        let with = |model: &Self, status: ItemStatus| {
            items.iter().copied().filter(|item| model.items[*item].status == status).collect::<Vec<_>>()
        };
        match request {
            Request::Hold => {
                if self.batches[batch].state.is_open() && !self.batches[batch].on_hold {
                    self.batches[batch].on_hold = true;
                    self.settle(with(self, Pending).into_iter());
                }
            }
            // What holds it is its deletion.
            Request::Release if self.batches[batch].is_deleted => {}
            Request::Release => {
                let was_on_hold = std::mem::take(&mut self.batches[batch].on_hold);
                if !was_on_hold {
                    return !(self.batches[batch].is_told && self.collection_on_hold);
                }
                self.settle(with(self, Held).into_iter());
            }
            Request::Cancel => {
                let open: Vec<usize> = items.iter().copied().filter(|item| self.items[*item].is_open()).collect();
                if !open.is_empty() || self.batches[batch].stop == Some(Cancelled) {
                    self.batches[batch].stop = None;
                }
                for item in open {
                    assert!(self.ask(item, Request::Cancel));
                }
            }
            Request::Fail => {
                if !self.begin_stop(batch, Request::Fail) {
                    return false;
                }
                if self.batches[batch].stop == Some(Failed) {
                    for &item in &items {
                        let known = &self.items[item];
                        if known.status == Pending || known.status == Started && known.asked != Some(Cancelled) {
                            assert!(self.ask(item, Request::Fail));
                        }
                    }
                    self.batches[batch].stop = None;
                }
            }
            Request::Delete => {
                self.batches[batch].stop = None;
                self.batches[batch].is_deleted = true;
                for &item in &items {
                    match self.items[item].status {
                        Deleted => {}
                        Started if self.items[item].asked.is_some() => {}
                        Started => assert!(self.ask(item, Request::Cancel)),
                        _ => assert!(self.ask(item, Request::Delete)),
                    }
                }
                // What a worker has is deleted later, and nothing begins until then.
                self.batches[batch].on_hold = with(self, Deleted).len() < items.len();
            }
            Request::Requeue(_) if self.batches[batch].stop.is_some() => return false,
            Request::Requeue(stage) => {
                for item in with(self, Failed) {
                    // Each that refuses stays as it is.
                    self.ask(item, Request::Requeue(stage));
                }
            }
        }
        true
    }

    /// A request for a batch is written down, and its process is killed before any item is told; whether it is granted.
    pub(crate) fn begin_stop(&mut self, batch: usize, request: Request) -> bool {
        let status = if request == Request::Fail { Failed } else { Cancelled };
        let is_meant = |item: usize| match self.items[item].status {
            Pending | Started => status == Cancelled || self.items[item].asked != Some(Cancelled),
            Held => status == Cancelled,
            _ => false,
        };
        let is_any_meant = !self.batches[batch].is_deleted && self.of(batch).any(is_meant);
        let stop = &mut self.batches[batch].stop;
        if !is_any_meant {
            *stop = stop.filter(|stop| *stop != status);
            return true;
        }
        if *stop != Some(Cancelled) {
            *stop = Some(status);
        }
        *stop == Some(status)
    }

    /// The state that follows from the items.
    pub(crate) fn derived(&self, batch: usize) -> BatchState {
        let known = &self.batches[batch];
        let any = |wanted: &dyn Fn(&Item) -> bool| self.of(batch).any(|item| wanted(&self.items[item]));
        let did_not_succeed = |item: &Item| {
            matches!(item.status, Failed | Cancelled)
                || (item.status == Deleted && item.deleted_from != Some(Succeeded))
        };
        if known.is_deleted {
            BatchState::Deleted
        } else if any(&|item| matches!(item.status, Pending | Started)) {
            if known.row_count.is_none() { BatchState::Pending } else { BatchState::Processing }
        } else if any(&|item| item.status == Held) {
            BatchState::Held
        } else if known.row_count.is_none() || any(&did_not_succeed) {
            BatchState::Failed
        } else {
            BatchState::Completed
        }
    }

    /// Takes the states that follow from what was done, and makes the reports of batches that ended by it.
    pub(crate) fn follow(&mut self) {
        for batch in 0..self.batches.len() {
            let (before, now) = (self.batches[batch].state, self.derived(batch));
            assert!(before == now || before.may_become(now), "the table forbids {before} to {now}");
            self.batches[batch].state = now;
            let is_ended = |state| matches!(state, BatchState::Completed | BatchState::Failed);
            if is_ended(now) && !is_ended(before) {
                self.report(batch, false);
            }
        }
    }

    fn report(&mut self, batch: usize, is_provisional: bool) {
        let items: Vec<&Item> = self.of(batch).map(|item| &self.items[item]).filter(|item| item.is_listed()).collect();
        let count = |wanted: &[ItemStatus]| items.iter().filter(|item| wanted.contains(&item.status)).count() as u64;
        let counts = [
            count(&[Succeeded]),
            count(&[Failed]),
            count(&[Cancelled]),
            count(&[Deleted]),
            count(&[Held]),
            count(&[Pending, Started]),
        ];
        let known = &mut self.batches[batch];
        let has_final = known.reports.iter().any(|report| report.kind == ReportKind::Final);
        let kind = match (is_provisional, has_final) {
            (true, _) => ReportKind::Provisional,
            (false, false) => ReportKind::Final,
            (false, true) => ReportKind::Update,
        };
        known.last_number += 1;
        let (number, state) = (known.last_number, known.state);
        known.reports.push(Known { number, kind, state, counts, rows: None });
    }

    /// Whether an update would list a change, by what items say of themselves now.
    pub(crate) fn is_changed(&self, item: usize, message: Option<&str>) -> bool {
        let Item { status, reported, .. } = &self.items[item];
        reported.as_ref().is_none_or(|(was, said)| was != status || said.as_deref() != message)
    }

    /// Whether a report of this kind lists an item.
    pub(crate) fn lists(&self, kind: ReportKind, item: usize, message: Option<&str>) -> bool {
        let known = &self.items[item];
        known.is_listed() && (kind != ReportKind::Update || known.is_unresolved() || self.is_changed(item, message))
    }

    /// A person asks for a report; whether there is one.
    pub(crate) fn ask_report(&mut self, batch: usize, has_changes: bool) -> bool {
        match self.batches[batch].state {
            BatchState::Deleted => return false,
            BatchState::Completed | BatchState::Failed if !has_changes => return false,
            BatchState::Completed | BatchState::Failed => self.report(batch, false),
            _ => {
                self.report(batch, true);
                let last = self.batches[batch].last_number;
                self.batches[batch]
                    .reports
                    .retain(|report| report.kind != ReportKind::Provisional || report.number == last);
            }
        }
        true
    }
}
