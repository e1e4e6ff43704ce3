//! Statistics: what came in, went out and was deleted, and what is kept, by day.

use std::collections::BTreeMap;

use strongroom_registry::statistics::{self as rows, Flow, Growth, Span};
use strongroom_registry::{Scope, Time, tenants};

use super::authorization::{STATISTICS_RECOMPUTE, STATISTICS_REPORT};
use super::context::Authorized;
use super::views::{
    CostReportView, DepositsReportView, FixityReportView, FormatsReportView, RecomputedView, StorageReportView,
};
use super::{OpContext, PAGE, Shutdown};
use crate::EngineError;
use crate::journal::Target;
use crate::statistics::cost::Cost;
use crate::statistics::{self, days};

/// By what deposits and checks of fixity are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Each institution.
    Institution,
    /// Each collection of each institution.
    Collection,
    /// Each store.
    Store,
    /// Each day in UTC.
    Day,
    /// Each week by ISO 8601.
    Week,
    /// Each month.
    Month,
}

/// By what storage is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageBy {
    /// Each institution and store.
    Institution,
    /// Each collection and store.
    Collection,
    /// Each store.
    Store,
    /// Each store and storage class.
    Class,
}

/// By what formats are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatsBy {
    /// Each format of PRONOM.
    Puid,
    /// Each type.
    Mime,
    /// Each institution and format.
    Institution,
    /// Each collection and format.
    Collection,
}

/// By what costs are reported, beside months.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostBy {
    /// Each institution.
    Institution,
    /// Each collection of each institution.
    Collection,
    /// Each store.
    Store,
}

/// Of what is reported.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only of this institution.
    pub institution: Option<String>,
    /// From the day of this time on.
    pub since: Option<Time>,
    /// Only days before the one of this time; for what is kept: at the end of the day before.
    pub until: Option<Time>,
}

/// What is to be known beside a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Uncounted {
    /// Changes that the background task has not counted yet.
    pub changes: u64,
    /// Whether the statistics are being made for the first time, and are not whole.
    pub is_first: bool,
}

/// What came in, went out and was deleted, in order.
pub fn deposits(
    context: &OpContext,
    by: By,
    filter: &Filter,
) -> Result<(Vec<DepositsReportView>, Uncounted), EngineError> {
    let (authorized, span) = begin(context, filter)?;
    let (from, to) = days_of(filter);
    let mut groups: BTreeMap<[Option<String>; 3], Flow> = BTreeMap::new();
    let mut after = None;
    loop {
        let page = authorized.read(|tx| rows::days(tx, span, (from, to), after, PAGE))?;
        let Some(last) = page.last() else { break };
        after = Some(last.cursor);
        for row in page {
            let flow = groups.entry(group(by, row.institution, row.collection, row.day)).or_default();
            flow.add(&row.flow);
        }
    }
    // What came into another collection is counted there.
    groups.retain(|_, flow| *flow != Flow::default());
    let views = groups.into_iter().map(|(group, flow)| DepositsReportView::new(group, flow));
    Ok((views.collect(), uncounted(&authorized)?))
}

/// What stores have.
pub fn storage(
    context: &OpContext,
    by: StorageBy,
    filter: &Filter,
) -> Result<(Vec<StorageReportView>, Uncounted), EngineError> {
    let (authorized, span) = begin(context, filter)?;
    let (_, to) = days_of(filter);
    let mut groups: BTreeMap<[Option<String>; 4], Growth> = BTreeMap::new();
    for row in authorized.read(|tx| rows::storage_at(tx, span, to.saturating_sub(1)))? {
        let class = Some(row.class).filter(|class| !class.is_empty());
        let collection = Some(row.collection).filter(|collection| !collection.is_empty());
        let key = match by {
            StorageBy::Institution => [Some(row.institution), None, Some(row.store), None],
            StorageBy::Collection => [Some(row.institution), collection, Some(row.store), None],
            StorageBy::Store => [None, None, Some(row.store), None],
            StorageBy::Class => [None, None, Some(row.store), class],
        };
        let growth = groups.entry(key).or_default();
        growth.objects += row.growth.objects;
        growth.files += row.growth.files;
        growth.bytes += row.growth.bytes;
    }
    let views = groups.into_iter().map(|(group, growth)| StorageReportView::new(group, growth));
    Ok((views.collect(), uncounted(&authorized)?))
}

/// What is kept by format, each content once; the largest first.
pub fn formats(
    context: &OpContext,
    by: FormatsBy,
    filter: &Filter,
) -> Result<(Vec<FormatsReportView>, Uncounted), EngineError> {
    let (authorized, span) = begin(context, filter)?;
    let (_, to) = days_of(filter);
    let mut groups: BTreeMap<[Option<String>; 4], (i64, i64)> = BTreeMap::new();
    for row in authorized.read(|tx| rows::formats_at(tx, span, to.saturating_sub(1)))? {
        let known = |text: String| Some(text).filter(|text| !text.is_empty());
        let (puid, mime, collection) = (known(row.puid), known(row.mime), known(row.collection));
        let key = match by {
            FormatsBy::Puid => [None, None, puid, mime],
            FormatsBy::Mime => [None, None, None, mime],
            FormatsBy::Institution => [Some(row.institution), None, puid, mime],
            FormatsBy::Collection => [Some(row.institution), collection, puid, mime],
        };
        let (files, bytes) = groups.entry(key).or_default();
        *files += row.files;
        *bytes += row.bytes;
    }
    let mut views: Vec<_> = groups
        .into_iter()
        .filter(|(_, (files, bytes))| (*files, *bytes) != (0, 0))
        .map(|(group, amount)| FormatsReportView::new(group, amount))
        .collect();
    views.sort_by(|one, other| {
        (&one.institution, &one.collection, other.bytes).cmp(&(&other.institution, &other.collection, one.bytes))
    });
    Ok((views, uncounted(&authorized)?))
}

/// How many copies were read and compared with their digests. Without a beginning, of the last 30 days.
pub fn fixity(context: &OpContext, by: By, filter: &Filter) -> Result<Vec<FixityReportView>, EngineError> {
    let (authorized, span) = begin(context, filter)?;
    let now = statistics::now(authorized.home())?;
    let since = filter.since.unwrap_or(days::begin_of(days::day_of(now).saturating_sub(30)));
    let (from, to) = days_of(&Filter { since: Some(since), ..filter.clone() });
    let time = (days::begin_of(from), days::begin_of(to));
    let mut groups: BTreeMap<[Option<String>; 3], (u64, u64)> = BTreeMap::new();
    let mut institutions = String::new();
    loop {
        let page = authorized.read(|tx| tenants::institutions(tx, span.scope, &institutions, PAGE))?;
        let Some(last) = page.last() else { break };
        institutions.clone_from(&last.identifier);
        for institution in &page {
            let mut after = None;
            loop {
                let checks = authorized.read(|tx| rows::fixity(tx, institution.id, time, after, PAGE))?;
                let Some(last) = checks.last() else { break };
                after = Some(last.cursor);
                for row in checks {
                    let day = days::day_of(row.time);
                    let key = match by {
                        By::Store => [None, Some(row.store), None],
                        by => group(by, row.institution, String::new(), day),
                    };
                    let (passed, failed) = groups.entry(key).or_default();
                    *passed += row.passed;
                    *failed += row.failed;
                }
            }
        }
    }
    Ok(groups.into_iter().map(|(key, counts)| FixityReportView::new(key, by == By::Store, counts)).collect())
}

/// What storage costs by month, by the prices of the settings.
pub fn cost(context: &OpContext, by: CostBy, filter: &Filter) -> Result<Vec<CostReportView>, EngineError> {
    let (authorized, span) = begin(context, filter)?;
    let costs = statistics::cost::costs(authorized.home(), span, days_of(filter))?;
    let mut groups: BTreeMap<[Option<String>; 4], Cost> = BTreeMap::new();
    for ((month, institution, collection, store), cost) in costs {
        let collection = Some(collection).filter(|name| !name.is_empty());
        let key = match by {
            CostBy::Institution => [Some(month), Some(institution), None, None],
            CostBy::Collection => [Some(month), Some(institution), collection, None],
            CostBy::Store => [Some(month), None, None, Some(store)],
        };
        groups.entry(key).or_default().add(cost);
    }
    let currency = &authorized.home().settings.statistics.currency;
    Ok(groups.into_iter().map(|(key, cost)| CostReportView::new(key, cost, currency)).collect())
}

/// Makes the statistics anew from what the registry has, and has them read when every object is counted.
pub fn recompute(context: &OpContext, stop: &Shutdown) -> Result<RecomputedView, EngineError> {
    let authorized = context.authorize(&STATISTICS_RECOMPUTE)?;
    let ran = authorized.around(&Target::of_system("statistics"), |home| statistics::recompute(home, stop))?;
    Ok(RecomputedView { objects: ran.objects, corrected: ran.corrected, complete: !stop.is_requested() })
}

fn begin<'c>(context: &'c OpContext, filter: &Filter) -> Result<(Authorized<'c>, Span), EngineError> {
    let authorized = context.authorize(&STATISTICS_REPORT)?;
    let scope: Scope = authorized.scope_of(filter.institution.as_deref())?;
    let span = statistics::span(authorized.home(), scope)?;
    Ok((authorized, span))
}

fn uncounted(authorized: &Authorized<'_>) -> Result<Uncounted, EngineError> {
    let (changes, is_first) = statistics::uncounted(authorized.home())?;
    Ok(Uncounted { changes, is_first })
}

/// The first day, and the day behind the last one.
fn days_of(filter: &Filter) -> (i64, i64) {
    let day = |time: Time| days::day_of(time);
    (filter.since.map_or(i64::MIN, day), filter.until.map_or(i64::MAX, day))
}

/// Institution, collection and period of a row, as far as it is reported by them.
fn group(by: By, institution: String, collection: String, day: i64) -> [Option<String>; 3] {
    match by {
        By::Institution | By::Store => [Some(institution), None, None],
        By::Collection => [Some(institution), Some(collection).filter(|name| !name.is_empty()), None],
        By::Day => [None, None, Some(days::date_of(day).to_string())],
        By::Week => [None, None, Some(days::week_of(day))],
        By::Month => [None, None, Some(days::month_of(day))],
    }
}
