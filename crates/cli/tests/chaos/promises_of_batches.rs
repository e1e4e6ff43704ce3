//! What must hold of batches, of their reports, and of what is told of them. A report is compared with the histories of its items at its
//! moment, and what the receiver of callbacks has got with every end that a history tells.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;
use strongroom_engine::Home;
use strongroom_engine::settings::Settings;
use strongroom_registry::batches::{self, Batch, BatchFilter};
use strongroom_registry::items::{self, HistoryLine, Item, ItemFilter};
use strongroom_registry::reports::{self, Report, ReportRow, RowFilter};
use strongroom_registry::{BatchState, ItemId, ItemStatus, RegistryError, ReportKind, Scope, Time, outbox};

use crate::perform::Cast;
use crate::promises::text;

/// How long deliveries may take once nothing is wrong.
const PATIENCE: Duration = Duration::from_mins(2);
/// What batches of restorations are called, which have a receipt instead.
const KIND_OF_BATCHES: &str = "restoration";
/// More than a run has of anything.
const ALL: usize = 100_000;

/// A batch with everything that there is of it.
struct Whole {
    batch: Batch,
    items: Vec<(Item, Vec<HistoryLine>)>,
    reports: Vec<(Report, Vec<ReportRow>)>,
}

impl Whole {
    fn history(&self, id: ItemId) -> Option<&(Item, Vec<HistoryLine>)> {
        self.items.iter().find(|(item, _)| item.id == id)
    }
}

/// The state that an item had at a moment.
fn state_at(history: &[HistoryLine], at: Time) -> Option<ItemStatus> {
    history.iter().rfind(|line| line.time <= at).map(|line| line.status)
}

impl Cast {
    pub(crate) fn home(&self) -> Result<Home> {
        let folder = self.world.path("home");
        let settings = Settings::from_toml(&fs::read_to_string(folder.join("strongroom.toml"))?)?;
        Ok(Home::open(&folder, settings)?)
    }

    /// Has everything delivered that is to be told, without the pauses behind attempts that failed.
    pub(crate) fn deliver(&mut self) -> Result<()> {
        let began = Instant::now();
        let home = self.home()?;
        loop {
            self.world.run(["background", "run", "outbox"])?;
            for message in self.world.run(["outbox", "list", "--json"])?.succeeded()?.json()? {
                self.world.log(format!("needs review: {message}"));
                self.world.run(["outbox", "send", text(&message, "message")])?.succeeded()?;
            }
            let left = home.registry.write(move |tx| {
                let mut left = Vec::new();
                let mut after = strongroom_registry::InstitutionId(uuid::Uuid::nil());
                while let Some(institution) = outbox::next_institution(tx, outbox::CALLBACK, after)? {
                    left.extend(outbox::undelivered(tx, outbox::CALLBACK, institution, 0, ALL)?);
                    after = institution;
                }
                let now = tx.now()?;
                for message in &left {
                    outbox::set_failed(tx, message.id, "attempted at once", now)?;
                }
                Ok::<_, RegistryError>(left.len())
            })?;
            if left == 0 {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                bail!("{left} callbacks are not delivered although nothing is wrong any more");
            }
        }
    }

    pub(crate) fn batches_are_true(&mut self) -> Result<()> {
        let all = self.whole_batches()?;
        let mut ends = BTreeSet::new();
        for whole in &all {
            self.state_follows_from_items(whole);
            self.reports_are_true(whole);
            ends.extend(ends_of(whole));
        }
        self.world.log(format!(
            "{} batches, {} reports, {} ends told in {} callbacks",
            all.len(),
            all.iter().map(|whole| whole.reports.len()).sum::<usize>(),
            ends.len(),
            self.world.hook.requests().len()
        ));
        self.everything_is_told(&all, &ends);
        Ok(())
    }

    fn whole_batches(&self) -> Result<Vec<Whole>> {
        let home = self.home()?;
        let found = home.registry.read(|tx| {
            let mut found = batches::list(tx, Scope::System, &BatchFilter::default(), None, ALL)?;
            let deleted = BatchFilter { state: Some(BatchState::Deleted), ..BatchFilter::default() };
            found.extend(batches::list(tx, Scope::System, &deleted, None, ALL)?);
            let mut all = Vec::new();
            for batch in found {
                let (mut items, mut reports) = (Vec::new(), Vec::new());
                // Those that were deleted are listed only where they are asked for.
                for status in [None, Some(ItemStatus::Deleted)] {
                    let filter = ItemFilter { batch: Some(batch.id), status, ..ItemFilter::default() };
                    for item in items::list(tx, Scope::System, &filter, None, ALL)? {
                        let history = items::history(tx, Scope::System, item.id)?;
                        items.push((item, history));
                    }
                }
                for report in reports::list(tx, Scope::System, batch.id, 0, ALL)? {
                    let rows = reports::rows(tx, report.id, RowFilter::default(), None, ALL)?;
                    reports.push((report, rows));
                }
                all.push(Whole { batch, items, reports });
            }
            Ok::<_, RegistryError>(all)
        });
        Ok(found?)
    }

    fn state_follows_from_items(&mut self, whole: &Whole) {
        let Batch { id, state, row_count, .. } = &whole.batch;
        let succeeded =
            |item: &Item| item.status == ItemStatus::Succeeded || item.deleted_from == Some(ItemStatus::Succeeded);
        let open = whole.items.iter().filter(|(item, _)| !item.status.is_ended()).count();
        let wanted = if *state == BatchState::Deleted {
            BatchState::Deleted
        } else if row_count.is_some() && whole.items.iter().all(|(item, _)| succeeded(item)) {
            BatchState::Completed
        } else {
            BatchState::Failed
        };
        if open > 0 || *state != wanted {
            self.find(format!("batch {id} is {state} with {open} open items, and should be {wanted}"));
        }
        let rows = whole.items.iter().filter(|(item, _)| item.action.as_str() == "ingest").count() as u64;
        if row_count.is_some_and(|count| count != rows)
            && whole.items.iter().any(|(item, _)| item.action.as_str() == "ingest")
        {
            self.find(format!("batch {id} has {rows} rows, and counts {row_count:?}"));
        }
    }

    fn reports_are_true(&mut self, whole: &Whole) {
        let id = whole.batch.id;
        let finals = whole.reports.iter().filter(|(report, _)| report.kind == ReportKind::Final).count();
        let has_ended = whole.batch.state != BatchState::Deleted;
        if finals > 1 || (has_ended && finals == 0) {
            self.find(format!("batch {id}, which is {}, has {finals} final reports", whole.batch.state));
        }
        let numbers: Vec<u64> = whole.reports.iter().map(|(report, _)| report.number).collect();
        if numbers.windows(2).any(|pair| pair[0] >= pair[1]) {
            self.find(format!("the reports of batch {id} have the numbers {numbers:?}"));
        }
        for (report, rows) in &whole.reports {
            let name = format!("report {} of batch {id}, {}", report.number, report.kind);
            if !report.is_filled || report.completed_at.is_none() {
                self.find(format!("{name} is not whole, or was not told"));
            }
            let sum =
                report.succeeded + report.failed + report.cancelled + report.deleted + report.held + report.at_work;
            if report.items != sum {
                self.find(format!("{name} has {} items, and counts {sum}", report.items));
            }
            if report.kind != ReportKind::Update && rows.len() as u64 != report.items {
                self.find(format!("{name} has {} rows of {} items", rows.len(), report.items));
            }
            for row in rows {
                let state = whole.history(row.item).and_then(|(_, history)| state_at(history, report.made_at));
                if state != Some(row.state) {
                    self.find(format!("{name} says {} of item {}, which was {state:?}", row.state, row.item));
                }
            }
            if report.kind != ReportKind::Provisional && report.held + report.at_work > 0 {
                self.find(format!("{name} was made while items were open"));
            }
        }
    }

    /// Each end of an item and each report came, and whatever came under one key is one message.
    fn everything_is_told(&mut self, all: &[Whole], ends: &BTreeSet<(String, String, String)>) {
        let mut by_key: BTreeMap<String, Value> = BTreeMap::new();
        for request in self.world.hook.requests() {
            let key = request.header("idempotency-key").unwrap_or_default().to_owned();
            let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
                self.find(format!("a callback is no JSON: {request:?}"));
                continue;
            };
            match by_key.get(&key) {
                Some(known) if *known != body => {
                    self.find(format!("the key {key:?} is that of {known} and of {body}"));
                }
                _ => drop(by_key.insert(key, body)),
            }
        }
        let mut told: BTreeMap<(String, String, String), usize> = BTreeMap::new();
        let mut reports = BTreeMap::new();
        for body in by_key.values() {
            match body["item"].as_str() {
                Some(item) => {
                    let end = (item.to_owned(), text(body, "status").to_owned(), text(body, "ended_at").to_owned());
                    *told.entry(end).or_default() += 1;
                }
                None => *reports.entry((text(body, "batch").to_owned(), body["number"].as_u64())).or_insert(0) += 1,
            }
        }
        for end in ends {
            if told.get(end) != Some(&1) {
                self.find(format!("the end {end:?} has {:?} keys", told.get(end)));
            }
        }
        for end in told.keys().filter(|end| !ends.contains(*end)) {
            self.find(format!("{end:?} was told and did not happen"));
        }
        for whole in all.iter().filter(|whole| is_told(&whole.batch)) {
            for (report, _) in &whole.reports {
                let is_news =
                    report.kind == ReportKind::Final || (report.kind == ReportKind::Update && report.changed > 0);
                let found = reports.get(&(whole.batch.id.to_string(), Some(report.number))).copied().unwrap_or(0);
                if found != usize::from(is_news) {
                    self.find(format!(
                        "report {} of batch {}, {}, has {found} keys",
                        report.number, whole.batch.id, report.kind
                    ));
                }
            }
        }
    }
}

/// Whether the collection of a batch has it told, which it does unless it is one of restorations.
fn is_told(batch: &Batch) -> bool {
    batch.collection_identifier.as_deref() == Some(crate::world::COLLECTION) && batch.kind != KIND_OF_BATCHES
}

/// Every end that is to be told: item, status and time.
fn ends_of(whole: &Whole) -> Vec<(String, String, String)> {
    if !is_told(&whole.batch) {
        return Vec::new();
    }
    let deposits = whole.items.iter().filter(|(item, _)| item.action.as_str() == "ingest");
    let ends = deposits.flat_map(|(item, history)| {
        let ended = history.iter().filter(|line| line.status.is_ended());
        ended.map(|line| (item.id.to_string(), line.status.to_string(), line.time.to_string()))
    });
    ends.collect()
}
