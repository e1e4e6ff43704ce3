//! What must be stored after each random act on batches.

use std::collections::BTreeMap;

use strongroom_registry::items::{self, ItemFilter};
use strongroom_registry::reports::{self, RowFilter, Subject as About};
use strongroom_registry::{ItemId, ItemStatus, ReportKind, Scope, batches};

use super::random_batches::{Run, batch_topic};

impl Run<'_> {
    /// What the items of a batch say of themselves.
    pub(crate) fn notes(&self, batch: usize) -> BTreeMap<ItemId, Option<String>> {
        self.stored(batch).into_iter().map(|item| (item.id, item.note)).collect()
    }

    /// The items of a batch in the order of their making, also those that were deleted.
    pub(crate) fn stored(&self, batch: usize) -> Vec<items::Item> {
        let mut found = Vec::new();
        for status in [None, Some(ItemStatus::Deleted)] {
            let filter = ItemFilter { batch: Some(self.model.batches[batch].id), status, ..ItemFilter::default() };
            found.extend(self.world.read(|tx| items::list(tx, Scope::System, &filter, None, 999)));
        }
        found.sort_by_key(|item| item.id);
        found
    }

    pub(crate) fn check(&mut self) {
        for batch in 0..self.model.batches.len() {
            if !self.model.batches[batch].is_gone {
                self.check_batch(batch);
            }
        }
    }

    pub(crate) fn check_batch(&mut self, batch: usize) {
        let known = self.model.batches[batch].clone();
        let found = self.world.read(|tx| batches::get(tx, Scope::System, known.id)).expect("is there");
        assert_eq!((found.state, found.row_count), (known.state, known.row_count));
        let items = self.stored(batch);
        let expected: Vec<usize> = self.model.of(batch).collect();
        assert_eq!(items.len(), expected.len(), "no item is lost, and none is made twice");
        for (item, place) in items.iter().zip(&expected) {
            let model = &self.model.items[*place];
            let asked = self.model.asked(*place);
            assert_eq!(
                (item.id, item.status, item.stage, item.fence, item.cancel_requested, item.is_on_hold),
                (model.id, model.status, model.stage, model.fence, asked, self.model.is_held(*place))
            );
            assert_eq!((item.priority, item.deleted_from), (model.priority, model.deleted_from));
            let topic = batch_topic(model.stage);
            let tasks = self.world.topics(item.id).into_iter().filter(|one| *one == topic).count();
            let has_task = matches!(model.status, ItemStatus::Pending | ItemStatus::Started);
            assert_eq!(tasks, usize::from(has_task), "an open item has one task, and no other has any");
        }
        let counts = self.world.read(|tx| items::counts(tx, Scope::System, Some(known.id)));
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), expected.len() as u64);
        self.check_reports(batch, &items);
    }

    pub(crate) fn check_reports(&mut self, batch: usize, items: &[items::Item]) {
        let id = self.model.batches[batch].id;
        let found = self.world.read(|tx| reports::list(tx, Scope::System, id, 0, 999));
        let expected = self.model.batches[batch].reports.clone();
        assert_eq!(
            found.iter().map(|report| (report.number, report.kind, report.batch_state)).collect::<Vec<_>>(),
            expected.iter().map(|report| (report.number, report.kind, report.state)).collect::<Vec<_>>()
        );
        assert!(expected.iter().filter(|report| report.kind == ReportKind::Final).count() <= 1, "there is one");
        for (number, report) in found.iter().enumerate() {
            let counts =
                [report.succeeded, report.failed, report.cancelled, report.deleted, report.held, report.at_work];
            assert_eq!(counts, expected[number].counts);
            assert_eq!(report.items, counts.iter().sum::<u64>());
            let rows = self.world.read(|tx| reports::rows(tx, report.id, RowFilter::default(), None, 999));
            if let Some(seen) = &expected[number].rows {
                assert_eq!(&rows, seen, "a report does not change");
                continue;
            }
            assert!(report.is_filled);
            let mut listed = Vec::new();
            for (item, place) in items.iter().zip(self.model.of(batch)) {
                let note = item.note.as_deref();
                if self.model.lists(report.kind, place, note) {
                    let is_changed = report.kind != ReportKind::Update || self.model.is_changed(place, note);
                    listed.push((item.id, item.status, item.note.clone(), is_changed));
                    if report.kind != ReportKind::Provisional {
                        self.model.items[place].reported = Some((item.status, item.note.clone()));
                    }
                }
            }
            let told: Vec<_> =
                rows.iter().map(|row| (row.item, row.state, row.message.clone(), row.is_changed)).collect();
            assert_eq!(told, listed, "it is true of its moment");
            self.expect_task(batch, report);
            self.model.batches[batch].reports[number].rows = Some(rows);
        }
    }

    /// A report that was made because its batch ended has a task where somebody hears of it.
    pub(crate) fn expect_task(&mut self, batch: usize, report: &reports::Report) {
        if report.made_by.is_none() && self.model.batches[batch].is_told {
            self.untold.push(About::Report(report.id).to_string());
        }
    }
}
