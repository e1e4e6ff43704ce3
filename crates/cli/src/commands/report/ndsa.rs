//! `report ndsa`: the NDSA Levels of Digital Preservation, row by row.

use clap::Args;
use strongroom_engine::app::levels::{self, Verdict};
use strongroom_engine::app::views::{AreaView, LevelRowView};

use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::logging::without_lost_stores;
use crate::output::{ListOptions, TableOptions};

/// What is reported.
#[derive(Debug, Args)]
pub(crate) struct Ndsa {
    /// Only rows up to this level; exit 1 where one of them is not met or unknown
    #[arg(long, value_name = "1-4", value_parser = clap::value_parser!(u8).range(1..=4))]
    level: Option<u8>,
    /// Show the level that each area reaches, instead of the rows
    #[arg(long)]
    areas: bool,
    /// Examine every object and file, instead of the first 10,000
    #[arg(long)]
    whole: bool,
    #[command(flatten)]
    options: ListOptions,
}

pub(crate) fn run(command: &Ndsa, context: &Context) -> Outcome {
    let installation = context.installation()?;
    let all = without_lost_stores(|| levels::ndsa(&installation, command.whole))?;
    let highest = command.level.unwrap_or(u8::MAX);
    let rows: Vec<LevelRowView> = all.iter().filter(|row| row.level <= highest).cloned().collect();
    let is_open = |row: &LevelRowView| matches!(row.verdict, Verdict::NotMet | Verdict::Unknown);
    let exit = if command.level.is_some() && rows.iter().any(is_open) { Exit::No } else { Exit::Done };
    if command.areas {
        show_areas(&command.options.of(AreaView::of_rows(&all)), command.options.table, context)?;
        return Ok(exit);
    }
    let columns = ["area", "level", "row", "verdict", "evidence"];
    let in_full = ["area", "level", "row", "asks", "verdict", "evidence", "command"];
    let mut table =
        context.output.table(&columns).with::<LevelRowView>(command.options.table).in_full(&in_full).wrapping();
    for row in command.options.of(rows) {
        table.row(&row)?;
    }
    table.end("there are no rows")?;
    Ok(exit)
}

fn show_areas(areas: &[AreaView], options: TableOptions, context: &Context) -> Result<(), crate::failure::Failure> {
    let columns = ["area", "level", "with_people", "rows", "met", "not_met", "unknown", "for_people"];
    let mut table = context.output.table(&columns).with::<AreaView>(options).in_full(&columns);
    for area in areas {
        table.row(area)?;
    }
    table.end("there are no areas")
}
