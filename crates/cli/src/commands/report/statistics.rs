//! `report deposits`, `storage`, `formats`, `fixity` and `cost`: the statistics by day.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use strongroom_engine::app::statistics::{self, By, CostBy, Filter, FormatsBy, StorageBy, Uncounted};
use strongroom_engine::app::views::{
    CostReportView, DepositsReportView, FixityReportView, FormatsReportView, StorageReportView,
};

use super::super::values::time;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, counted, size};
use crate::signals;

/// Of what is reported.
#[derive(Debug, Args)]
struct Which {
    /// Only what belongs to this institution
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
}

/// Of which days.
#[derive(Debug, Args)]
struct Days {
    /// From this day on: a date such as 2026-01-31, a time, or an age such as 7d; days are in UTC
    #[arg(long, value_name = "DATE|TIME|AGE")]
    since: Option<String>,
    /// Only days before this one
    #[arg(long, value_name = "DATE|TIME|AGE")]
    until: Option<String>,
}

fn filter(which: &Which, since: Option<&String>, until: Option<&String>) -> Result<Filter, Failure> {
    let of = |text: Option<&String>| text.map(|text| time(text)).transpose();
    Ok(Filter { institution: which.institution.clone(), since: of(since)?, until: of(until)? })
}

macro_rules! choices {
    ($(#[$doc:meta] $name:ident for $of:ident { $(#[$about:meta] $choice:ident)* })*) => {$(
        #[$doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        enum $name {
            $(#[$about] $choice,)*
        }

        impl From<$name> for $of {
            fn from(by: $name) -> Self {
                match by {
                    $($name::$choice => Self::$choice,)*
                }
            }
        }
    )*};
}

choices! {
    /// By what deposits are reported.
    DepositsChoice for By {
        /// Each institution
        Institution
        /// Each collection
        Collection
        /// Each day
        Day
        /// Each week (ISO 8601)
        Week
        /// Each month
        Month
    }
    /// By what storage is reported.
    StorageChoice for StorageBy {
        /// Each institution and store
        Institution
        /// Each collection and store
        Collection
        /// Each store
        Store
        /// Each store and storage class
        Class
    }
    /// By what formats are reported.
    FormatsChoice for FormatsBy {
        /// Each format of PRONOM
        Puid
        /// Each type
        Mime
        /// Each institution and format
        Institution
        /// Each collection and format
        Collection
    }
    /// By what checks of fixity are reported.
    FixityChoice for By {
        /// Each store
        Store
        /// Each institution
        Institution
        /// Each day
        Day
        /// Each week (ISO 8601)
        Week
        /// Each month
        Month
    }
    /// By what costs are reported.
    CostChoice for CostBy {
        /// Each institution
        Institution
        /// Each collection
        Collection
        /// Each store
        Store
    }
}

/// What is reported of deposits.
#[derive(Debug, Args)]
pub(crate) struct Deposits {
    /// One row for what
    #[arg(long, value_enum, default_value_t = DepositsChoice::Institution)]
    by: DepositsChoice,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    days: Days,
    #[command(flatten)]
    options: ListOptions,
}

pub(super) fn deposits(arguments: &Deposits, context: &Context) -> Outcome {
    let Deposits { by, which, days, options } = arguments;
    let filter = filter(which, days.since.as_ref(), days.until.as_ref())?;
    let (rows, uncounted) = statistics::deposits(&context.call()?, (*by).into(), &filter)?;
    let group = match by {
        DepositsChoice::Institution => vec!["institution"],
        DepositsChoice::Collection => vec!["institution", "collection"],
        DepositsChoice::Day | DepositsChoice::Week | DepositsChoice::Month => vec!["period"],
    };
    let columns = [group.as_slice(), &["objects", "files", "bytes", "deleted_bytes"]].concat();
    let figures = [
        "objects",
        "versions",
        "files",
        "bytes",
        "restorations",
        "restored_bytes",
        "deleted_objects",
        "deleted_files",
        "deleted_bytes",
    ];
    let mut table = context
        .output
        .table(&columns)
        .with::<DepositsReportView>(options.table)
        .if_room(&["restored_bytes", "versions", "deleted_files", "deleted_objects", "restorations"])
        .in_full(&[group.as_slice(), &figures].concat());
    for row in options.of(rows) {
        table.row(&row)?;
    }
    table.end("nothing was deposited, restored or deleted")?;
    say(uncounted, context);
    Ok(Exit::Done)
}

/// What is reported of storage.
#[derive(Debug, Args)]
pub(crate) struct Storage {
    /// One row for what
    #[arg(long, value_enum, default_value_t = StorageChoice::Store)]
    by: StorageChoice,
    #[command(flatten)]
    which: Which,
    /// As it was at the end of the day before this one [default: now]
    #[arg(long, value_name = "DATE|TIME|AGE")]
    until: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

pub(super) fn storage(arguments: &Storage, context: &Context) -> Outcome {
    let Storage { by, which, until, options } = arguments;
    let filter = filter(which, None, until.as_ref())?;
    let (rows, uncounted) = statistics::storage(&context.call()?, (*by).into(), &filter)?;
    let mut columns = match by {
        StorageChoice::Institution => vec!["institution", "store"],
        StorageChoice::Collection => vec!["institution", "collection", "store"],
        StorageChoice::Store => vec!["store"],
        StorageChoice::Class => vec!["store", "class"],
    };
    columns.extend(["objects", "files", "bytes"]);
    let mut table = context.output.table(&columns).with::<StorageReportView>(options.table);
    for row in options.of(rows) {
        table.row(&row)?;
    }
    table.end("nothing is kept")?;
    say(uncounted, context);
    Ok(Exit::Done)
}

/// What is reported of formats.
#[derive(Debug, Args)]
pub(crate) struct Formats {
    /// One row for what
    #[arg(long, value_enum, default_value_t = FormatsChoice::Puid)]
    by: FormatsChoice,
    #[command(flatten)]
    which: Which,
    /// As it was at the end of the day before this one [default: now]
    #[arg(long, value_name = "DATE|TIME|AGE")]
    until: Option<String>,
    #[command(flatten)]
    options: ListOptions,
}

pub(super) fn formats(arguments: &Formats, context: &Context) -> Outcome {
    let Formats { by, which, until, options } = arguments;
    let filter = filter(which, None, until.as_ref())?;
    let (rows, uncounted) = statistics::formats(&context.call()?, (*by).into(), &filter)?;
    let mut columns = match by {
        FormatsChoice::Puid => vec!["puid", "mime"],
        FormatsChoice::Mime => vec!["mime"],
        FormatsChoice::Institution => vec!["institution", "puid", "mime"],
        FormatsChoice::Collection => vec!["institution", "collection", "puid", "mime"],
    };
    columns.extend(["files", "bytes"]);
    let mut table = context.output.table(&columns).with::<FormatsReportView>(options.table);
    for row in options.of(rows) {
        table.row(&row)?;
    }
    table.end("nothing is kept")?;
    say(uncounted, context);
    Ok(Exit::Done)
}

/// What is reported of checks of fixity.
#[derive(Debug, Args)]
pub(crate) struct Fixity {
    /// One row for what
    #[arg(long, value_enum, default_value_t = FixityChoice::Store)]
    by: FixityChoice,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    days: Days,
    #[command(flatten)]
    options: ListOptions,
}

pub(super) fn fixity(arguments: &Fixity, context: &Context) -> Outcome {
    let Fixity { by, which, days, options } = arguments;
    let filter = filter(which, days.since.as_ref(), days.until.as_ref())?;
    let rows = statistics::fixity(&context.call()?, (*by).into(), &filter)?;
    let column = match by {
        FixityChoice::Store => "store",
        FixityChoice::Institution => "institution",
        FixityChoice::Day | FixityChoice::Week | FixityChoice::Month => "period",
    };
    let mut table = context.output.table(&[column, "passed", "failed"]).with::<FixityReportView>(options.table);
    for row in options.of(rows) {
        table.row(&row)?;
    }
    table.end("no copy was checked")?;
    Ok(Exit::Done)
}

/// What is reported of costs.
#[derive(Debug, Args)]
pub(crate) struct Cost {
    /// One row for what, in each month
    #[arg(long, value_enum, default_value_t = CostChoice::Institution)]
    by: CostChoice,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    days: Days,
    #[command(flatten)]
    options: ListOptions,
}

pub(super) fn cost(arguments: &Cost, context: &Context) -> Outcome {
    let Cost { by, which, days, options } = arguments;
    let filter = filter(which, days.since.as_ref(), days.until.as_ref())?;
    let rows = statistics::cost(&context.call()?, (*by).into(), &filter)?;
    let unpriced = last_unpriced(&rows);
    let mut columns = match by {
        CostChoice::Institution => vec!["month", "institution"],
        CostChoice::Collection => vec!["month", "institution", "collection"],
        CostChoice::Store => vec!["month", "store"],
    };
    columns.extend(["bytes", "cost", "currency", "without_price"]);
    let mut table = context.output.table(&columns).with::<CostReportView>(options.table);
    for row in options.of(rows) {
        table.row(&row)?;
    }
    table.end("nothing was kept")?;
    if let Some((month, bytes)) = unpriced
        && !context.is_quiet
        && !context.output.is_json()
    {
        eprintln!(
            "of the copies of {month}, {} have no price and are in no cost; next: set statistics.prices in strongroom.toml",
            size(bytes)
        );
    }
    Ok(Exit::Done)
}

pub(super) fn recompute(context: &Context) -> Outcome {
    let stop = signals::watch()?;
    let made = statistics::recompute(&context.call()?, &stop)?;
    context.output.show(&made)?;
    Ok(if made.complete { Exit::Done } else { Exit::Interrupted })
}

/// The last month in which copies have no price, and their bytes.
fn last_unpriced(rows: &[CostReportView]) -> Option<(String, u64)> {
    let mut months: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        let bytes = u64::try_from(row.without_price).unwrap_or_default();
        if let Some(month) = row.month.as_deref().filter(|_| bytes > 0) {
            let sum = months.entry(month).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }
    months.pop_last().map(|(month, bytes)| (month.to_owned(), bytes))
}

/// Says what the figures do not have yet.
fn say(uncounted: Uncounted, context: &Context) {
    if context.output.is_json() {
        return;
    }
    if uncounted.is_first {
        eprintln!("the statistics are being made and are not whole; next: strongroom background run statistics");
    } else if uncounted.changes > 0 {
        let changes = counted(uncounted.changes, "change", "changes");
        eprintln!("{changes} will be counted within a minute, where \"strongroom serve\" runs");
    }
}
