//! Tables: rows gathered, fitted to the width of the terminal and written; or the same rows as CSV or JSON Lines.

use clap::Args;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::Value;
use strongroom_engine::app::views::View;
use strongroom_engine::app::{Listing, Order};
use strongroom_identify::csv;

use super::cell::{Cell, distinguish};
use super::fit::{self, Keep};
use super::{Fields, Output, terminal_columns, text_of, unwritable};
use crate::failure::Failure;

/// Rows that a table gathers before it knows how wide its columns are.
const TABLE_ROWS: usize = 500;
/// Blanks between columns.
const GAP: usize = 2;
/// Texts are cut down to this width while there is another column to cut: words of states and stages stay whole.
const FLOOR: usize = 14;
/// What texts have at least where columns are shown for which there is room: those in the columns that are always shown, and those
/// in the others.
const ROOM: (usize, usize) = (40, 20);
/// Texts are cut down to this width before columns are left out.
const LAST_FLOOR: usize = 6;
/// A column that goes on on further lines is at least as wide while there is another one to cut.
const WRAPPED: usize = 30;

/// How a table is shown.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct TableOptions {
    /// Show every column, uncut, however wide the terminal is
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) long: bool,
    /// Answer as CSV (RFC 4180) for a spreadsheet: every field, times in UTC, sizes in bytes
    #[arg(long, conflicts_with_all = ["json", "long"])]
    pub(crate) csv: bool,
}

/// How a list is shown, and how much of it.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ListOptions {
    #[command(flatten)]
    pub(crate) table: TableOptions,
    /// Show at most this many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// List in the opposite order
    #[arg(long)]
    reverse: bool,
}

impl ListOptions {
    /// For a list whose order is that of its making.
    pub(crate) fn oldest_first(&self) -> Listing {
        self.listing(Order::OldestFirst)
    }

    /// For a list in which people look for news. Scripts read the oldest first, as they always could.
    pub(crate) fn newest_first(&self, output: &Output) -> Listing {
        self.listing(if output.is_json() { Order::OldestFirst } else { Order::NewestFirst })
    }

    fn listing(&self, order: Order) -> Listing {
        Listing { order: if self.reverse { order.reversed() } else { order }, limit: self.limit }
    }

    /// The part of a short list that is asked for.
    pub(crate) fn of<T>(&self, mut list: Vec<T>) -> Vec<T> {
        if self.reverse {
            list.reverse();
        }
        list.truncate(self.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)));
        list
    }
}

/// What a table is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Csv,
    /// Text of at most this width.
    Fitted(usize),
    /// Text as wide as it is.
    Uncut,
}

/// A table whose rows come one by one.
pub(crate) struct Table<'o> {
    output: &'o Output,
    columns: Vec<&'static str>,
    /// The keys of a row, for the header of a spreadsheet.
    keys: Vec<&'static str>,
    /// How many columns are shown also where there is no room for more.
    required: usize,
    form: Form,
    zone: TimeZone,
    rows: Vec<Vec<Cell>>,
    is_begun: bool,
    /// See [`Table::wrapping`].
    wraps: bool,
}

impl<'o> Table<'o> {
    pub(super) fn new(output: &'o Output, columns: &[&'static str]) -> Self {
        let form = if output.is_json() { Form::Json } else { Form::Fitted(terminal_columns()) };
        let zone = TimeZone::system();
        Self {
            output,
            columns: columns.to_vec(),
            keys: Vec::new(),
            required: columns.len(),
            form,
            zone,
            rows: Vec::new(),
            is_begun: false,
            wraps: false,
        }
    }

    /// As the options say; each row is a `V`.
    pub(crate) fn with<V: View>(mut self, options: TableOptions) -> Self {
        self.keys = V::keys().collect();
        self.form = match self.form {
            Form::Json => Form::Json,
            _ if options.csv => Form::Csv,
            _ if options.long => Form::Uncut,
            fitted => fitted,
        };
        self
    }

    /// With these columns behind the others, as many as there is room for.
    pub(crate) fn if_room(mut self, columns: &[&'static str]) -> Self {
        if let Form::Fitted(_) = self.form {
            self.columns.extend(columns);
        }
        self
    }

    /// With these columns in their place where every one is shown.
    pub(crate) fn in_full(mut self, columns: &[&'static str]) -> Self {
        if matches!(self.form, Form::Uncut | Form::Csv) {
            self.columns = columns.to_vec();
            self.required = columns.len();
        }
        self
    }

    /// With the whole text of the last column that is always shown, on as many lines as it takes: for messages that say what to do.
    pub(crate) fn wrapping(mut self) -> Self {
        self.wraps = true;
        self
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, report: &impl Serialize) -> Result<(), Failure> {
        self.row_with(report, &[])
    }

    /// Adds a row; people see these texts in the columns of these names, scripts the fields as they are.
    pub(crate) fn row_with(&mut self, report: &impl Serialize, cells: &[(&str, String)]) -> Result<(), Failure> {
        match self.form {
            Form::Json => self.output.json(report),
            Form::Csv => self.record(&Fields::of(report)?),
            Form::Fitted(_) | Form::Uncut => {
                let fields = Fields::of(report)?;
                let cell = |column: &&str| match cells.iter().find(|(name, _)| name == column) {
                    Some((_, text)) => Cell::of_text(column, text),
                    None => Cell::of_value(column, fields.get(column), &self.zone),
                };
                self.rows.push(self.columns.iter().map(cell).collect());
                if self.rows.len() >= TABLE_ROWS { self.write() } else { Ok(()) }
            }
        }
    }

    /// Ends the table; `none` is said where it has no rows.
    pub(crate) fn end(mut self, none: &str) -> Result<(), Failure> {
        match self.form {
            Form::Json => Ok(()),
            Form::Csv if self.is_begun => Ok(()),
            Form::Csv => self.csv_line(self.keys.iter().copied()),
            Form::Fitted(_) | Form::Uncut if self.rows.is_empty() && !self.is_begun => self.output.say(none),
            Form::Fitted(_) | Form::Uncut => self.write(),
        }
    }

    /// A row as a record of CSV, behind the names of its fields where it is the first.
    fn record(&mut self, fields: &Fields) -> Result<(), Failure> {
        if !self.is_begun {
            self.is_begun = true;
            debug_assert!(
                fields.0.iter().map(|(name, _)| name).eq(&self.keys),
                "{:?} are not {:?}",
                fields.0,
                self.keys
            );
            self.csv_line(self.keys.iter().copied())?;
        }
        let values: Result<Vec<String>, Failure> = fields.0.iter().map(|(_, value)| plain(value)).collect();
        self.csv_line(values?.iter())
    }

    fn csv_line<S: AsRef<str>>(&self, fields: impl IntoIterator<Item = S>) -> Result<(), Failure> {
        let mut line = csv::line(fields.into_iter().map(|field| field.as_ref().to_owned()));
        line.extend_from_slice(b"\r\n");
        self.output.raw(&line)
    }

    fn write(&mut self) -> Result<(), Failure> {
        let mut rows = std::mem::take(&mut self.rows);
        distinguish(&mut rows);
        let (required, wraps) = (self.required, self.wraps);
        let fit = if let Form::Fitted(width) = self.form { Some(Fit { width, wraps, required }) } else { None };
        let titles = (!self.is_begun).then(|| self.columns.iter().copied().map(title).collect::<Vec<_>>());
        if let (Some(fit), Some(titles)) = (fit, &titles) {
            // The columns that the first rows leave out, the others leave out as well.
            let kept = Layout::of(titles, &rows, fit).kept;
            self.columns.truncate(kept);
            self.required = kept.min(required);
        }
        self.is_begun = true;
        lines(titles, rows, self.columns.len(), fit).iter().try_for_each(|line| self.output.line(line))
    }
}

/// A value as a spreadsheet has it: what has parts as JSON.
fn plain(value: &Value) -> Result<String, Failure> {
    Ok(match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(parts) if parts.iter().all(|part| !part.is_array() && !part.is_object()) => text_of(value),
        Value::Array(_) | Value::Object(_) => serde_json::to_string(value).map_err(|error| unwritable(&error))?,
    })
}

/// What stands over a column.
fn title(column: &str) -> String {
    let words = match column {
        "oldest_ready_seconds" => "oldest (s)",
        "conditional_put" => "conditions",
        "strong_checksum" => "checksum",
        "atomic_assembly" => "atomic",
        "missing_parts" => "missing",
        "only_in_destination" => "only there",
        "succeeded" => "done",
        "pending" => "pend.",
        "started" => "start.",
        "cancelled" => "canc.",
        "deleted" => "del.",
        "last_run_at" => "last run",
        "next_run_at" => "next run",
        "created_at" => "created",
        "updated_at" => "updated",
        "published_at" => "published",
        "added_at" => "added",
        "found_at" => "found",
        "reopened_at" => "open since",
        "restored_bytes" => "restored",
        "deleted_bytes" => "deleted",
        "format_name" => "format",
        "format_warning" => "warning",
        other => other,
    };
    words.replace('_', " ").to_uppercase()
}

/// The room that a table has.
#[derive(Debug, Clone, Copy)]
struct Fit {
    width: usize,
    /// See [`Table::wrapping`].
    wraps: bool,
    /// See [`Table::if_room`].
    required: usize,
}

/// How wide each column is.
struct Layout {
    /// How many columns are shown.
    kept: usize,
    widths: Vec<usize>,
    /// Whether each column shows its short texts.
    shortened: Vec<bool>,
}

impl Layout {
    /// Columns as wide as they are.
    fn uncut(titles: &[String], rows: &[Vec<Cell>], count: usize) -> Self {
        let mut layout = Self { kept: count, widths: vec![0; count], shortened: vec![false; count] };
        for column in 0..count {
            layout.measure(column, titles, rows);
        }
        layout
    }

    /// Columns that fit into this width: times are shown to the minute; identifiers are shortened; then texts are cut, the
    /// widest first; then columns are left out from the right.
    fn of(titles: &[String], rows: &[Vec<Cell>], fit: Fit) -> Self {
        let width = fit.width;
        let count = titles.len().max(rows.first().map_or(0, Vec::len));
        let mut layout = Self::uncut(titles, rows, count);
        for column in 0..count {
            let cells = || rows.iter().filter_map(|row| row.get(column));
            let is_time = cells().any(|cell| cell.short.is_some() && cell.keep != Keep::Ends);
            layout.shortened[column] = is_time;
            layout.measure(column, titles, rows);
        }
        if layout.total() > width {
            for column in 0..count {
                layout.shortened[column] = true;
                layout.measure(column, titles, rows);
            }
        }
        let is_text: Vec<bool> = (0..count)
            .map(|column| {
                let cells = || rows.iter().filter_map(|row| row.get(column));
                !cells().any(|cell| cell.is_number || cell.short.is_some())
            })
            .collect();
        // Down to which width a column is cut first: objects keep their names.
        let first_floor: Vec<usize> = (0..count)
            .map(|column| {
                let cells = rows.iter().filter_map(|row| row.get(column));
                cells
                    .filter_map(|cell| fit::whole_name(&cell.text, cell.keep))
                    .max()
                    .map_or(FLOOR, |name| name.max(FLOOR))
            })
            .collect();
        let least = |layout: &Self, column: usize| {
            let width = layout.widths[column];
            let (of_required, of_others) = ROOM;
            match (is_text[column], column < fit.required) {
                (false, _) => width,
                (true, true) => width.min(of_required),
                (true, false) => width.min(of_others),
            }
        };
        while layout.kept > fit.required.max(1) {
            let wanted: usize = (0..layout.kept).map(|column| least(&layout, column) + GAP).sum();
            if wanted <= width + GAP {
                break;
            }
            layout.kept -= 1;
        }
        if fit.wraps
            && let Some(last) = layout.kept.min(fit.required).checked_sub(1)
        {
            let others = layout.total() - layout.widths[last];
            layout.widths[last] = layout.widths[last].min(width.saturating_sub(others).max(WRAPPED));
            layout.narrow(width, |column, columns| column != last && is_text[column] && columns > FLOOR);
        }
        layout.narrow(width, |column, columns| is_text[column] && columns > first_floor[column]);
        for floor in [FLOOR, LAST_FLOOR] {
            layout.narrow(width, |column, columns| is_text[column] && columns > floor);
        }
        while layout.total() > width && layout.kept > 1 {
            layout.kept -= 1;
        }
        layout.widen(titles, rows, width);
        layout.narrow(width, |_, columns| columns > 1);
        layout
    }

    fn total(&self) -> usize {
        self.widths.iter().take(self.kept).sum::<usize>() + GAP * self.kept.saturating_sub(1)
    }

    fn natural(&self, column: usize, titles: &[String], rows: &[Vec<Cell>]) -> usize {
        let is_shortened = self.shortened.get(column).copied().unwrap_or_default();
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width(is_shortened));
        cells.chain(titles.get(column).map(|title| fit::width_of(title))).max().unwrap_or(0)
    }

    fn measure(&mut self, column: usize, titles: &[String], rows: &[Vec<Cell>]) {
        self.widths[column] = self.natural(column, titles, rows);
    }

    /// Takes from the widest columns that may be cut until all fit.
    fn narrow(&mut self, width: usize, may_cut: impl Fn(usize, usize) -> bool) {
        while self.total() > width {
            let widest = (0..self.kept)
                .filter(|&column| may_cut(column, self.widths[column]))
                .max_by_key(|&column| self.widths[column]);
            let Some(widest) = widest else { return };
            self.widths[widest] -= 1;
        }
    }

    /// Returns what is left over where columns were left out.
    fn widen(&mut self, titles: &[String], rows: &[Vec<Cell>], width: usize) {
        for column in 0..self.kept {
            let room = width.saturating_sub(self.total());
            let wanted = self.natural(column, titles, rows).saturating_sub(self.widths[column]);
            self.widths[column] += room.min(wanted);
        }
    }
}

/// The lines of a table, or of a part of it that has no titles.
fn lines(titles: Option<Vec<String>>, rows: Vec<Vec<Cell>>, count: usize, fit: Option<Fit>) -> Vec<String> {
    let mut titles = titles.unwrap_or_default();
    titles.truncate(count);
    let rows: Vec<Vec<Cell>> = rows.into_iter().map(|row| row.into_iter().take(count).collect()).collect();
    let layout = match fit {
        Some(fit) => Layout::of(&titles, &rows, fit),
        None => Layout::uncut(&titles, &rows, count),
    };
    let are_numbers: Vec<bool> = (0..count)
        .map(|column| {
            let cells = || rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.text.is_empty());
            cells().next().is_some() && cells().all(|cell| cell.is_number)
        })
        .collect();
    let line = |texts: &[String]| {
        let cells = texts.iter().zip(&layout.widths).zip(&are_numbers).take(layout.kept);
        let cells: Vec<String> =
            cells.map(|((text, &width), &is_number)| fit::padded(text, width, is_number)).collect();
        cells.join(&" ".repeat(GAP)).trim_end().to_owned()
    };
    let mut lines = Vec::with_capacity(rows.len() + 1);
    if !titles.is_empty() {
        let texts = titles.iter().zip(&layout.widths).map(|(title, &width)| fit::beginning_of(title, width));
        lines.push(line(&texts.collect::<Vec<_>>()));
    }
    let wraps = fit.is_some_and(|fit| fit.wraps);
    let last = layout.kept.min(fit.map_or(usize::MAX, |fit| fit.required)).saturating_sub(1);
    for row in &rows {
        let texts = row.iter().zip(&layout.widths).zip(&layout.shortened);
        let mut texts: Vec<String> =
            texts.map(|((cell, &width), &is_shortened)| fit::cut(cell.shown(is_shortened), width, cell.keep)).collect();
        let (Some(cell), Some(&width)) = (row.get(last).filter(|_| wraps), layout.widths.get(last)) else {
            lines.push(line(&texts));
            continue;
        };
        for part in fit::wrapped(&cell.text, width) {
            if let Some(text) = texts.get_mut(last) {
                *text = part;
            }
            lines.push(line(&texts));
            texts.iter_mut().for_each(String::clear);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Names that people gave to files and objects, and that are hard on a table.
    fn hostile() -> Vec<Value> {
        vec![
            json!("short"),
            json!(null),
            json!(""),
            json!("x".repeat(5_000)),
            json!("図書館".repeat(50)),
            json!("e\u{301}".repeat(120)),
            json!("تقرير المكتبة ".repeat(20)),
            json!("👩‍👩‍👧‍👦".repeat(30)),
            json!("\u{1b}[31mred\r\n\u{202e}txt.exe"),
            json!("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"),
            json!("2026-07-01T22:30:15.123456Z"),
            json!("2026-07-01T22:30:15Z\n"),
            json!(u64::MAX),
            json!(-1.5),
            json!(true),
            json!(["a", "b", {"c": "d".repeat(300)}]),
        ]
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let columns = ["item", "object", "path", "size", "status", "note", "created_at", "store", "finding", "detail"];
        let values = hostile();
        for width in [20, 40, 80, 120, 200] {
            for count in 1..=columns.len() {
                let titles: Vec<String> = columns.iter().take(count).map(|column| title(column)).collect();
                let row = |shift: usize| -> Vec<Cell> {
                    let value = |index: usize| &values[(index * 7 + shift) % values.len()];
                    let cells = titles.iter().enumerate();
                    cells.map(|(index, _)| Cell::of_value(columns[index], value(index), &TimeZone::UTC)).collect()
                };
                for rows in [(0..values.len()).map(row).collect::<Vec<_>>(), vec![row(3)], Vec::new()] {
                    for titles in [Some(titles.clone()), None] {
                        for wraps in [false, true] {
                            for line in lines(
                                titles.clone(),
                                rows.clone(),
                                count,
                                Some(Fit { width, wraps, required: 1 + count / 2 }),
                            ) {
                                assert!(fit::width_of(&line) <= width, "{width}: {line:?}");
                                assert!(!line.chars().any(char::is_control), "{line:?}");
                            }
                        }
                    }
                }
            }
        }
    }

    fn table(columns: &[&'static str], rows: &[Value], width: Option<usize>) -> String {
        let cells = |row: &Value| -> Vec<Cell> {
            columns.iter().map(|column| Cell::of_value(column, &row[*column], &TimeZone::UTC)).collect()
        };
        let titles = columns.iter().map(|column| title(column)).collect();
        let fit = width.map(|width| Fit { width, wraps: false, required: columns.len() });
        lines(Some(titles), rows.iter().map(cells).collect(), columns.len(), fit).join("\n")
    }

    #[test]
    fn what_has_room_is_whole_and_what_has_none_is_shortened() {
        let rows = [
            json!({"item": "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "files": 12, "bytes": 2048, "note": "one two three four"}),
            json!({"item": "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c", "files": 3, "bytes": 7, "note": ""}),
        ];
        let columns = ["item", "files", "bytes", "note"];
        assert_eq!(
            table(&columns, &rows, Some(80)),
            "ITEM                                  FILES    BYTES  NOTE\n\
             0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b     12  2.0 KiB  one two three four\n\
             0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c      3      7 B"
        );
        assert_eq!(
            table(&columns, &rows, Some(45)),
            "ITEM           FILES    BYTES  NOTE\n\
             0190a1b2…4a5b     12  2.0 KiB  one two three…\n\
             0190a1b2…4a5c      3      7 B"
        );
        assert_eq!(
            table(&columns, &rows, Some(30)),
            "ITEM           FILES    BYTES\n0190a1b2…4a5b     12  2.0 KiB\n0190a1b2…4a5c      3      7 B"
        );
    }

    #[test]
    fn the_widest_texts_are_cut_first() {
        let rows = [json!({"status": "succeeded", "object": "example.edu/a very long name of an object, box 17",
            "note": "a note that is longer than the rest of the line has room for"})];
        assert_eq!(
            table(&["status", "object", "note"], &rows, Some(60)),
            "STATUS     OBJECT                             NOTE\n\
             succeeded  example.…ame of an object, box 17  a note that i…"
        );
    }

    #[test]
    fn a_column_that_is_not_required_comes_where_there_is_room() {
        let cells = |name: &str, note: &str| vec![Cell::of_text("store", name), Cell::of_text("note", note)];
        let rows = vec![cells("primary", "a note that is longer than its room")];
        let titles = vec!["STORE".to_owned(), "NOTE".to_owned()];
        let shown =
            |width| lines(Some(titles.clone()), rows.clone(), 2, Some(Fit { width, wraps: false, required: 1 }));
        assert_eq!(shown(29), ["STORE    NOTE", "primary  a note that is long…"]);
        assert_eq!(shown(28), ["STORE", "primary"]);
    }

    #[test]
    fn a_message_goes_on_on_further_lines() {
        let cells = |check: &str, message: &str| vec![Cell::of_text("check", check), Cell::of_text("message", message)];
        let rows = vec![cells("stores", "store third is away: make the folder, or correct it"), cells("registry", "")];
        let fit = Fit { width: 40, wraps: true, required: 2 };
        assert_eq!(
            lines(Some(vec!["CHECK".to_owned(), "MESSAGE".to_owned()]), rows, 2, Some(fit)).join("\n"),
            "CHECK     MESSAGE\n\
             stores    store third is away: make the\n          folder, or correct it\n\
             registry"
        );
    }

    #[test]
    fn a_message_before_columns_for_which_there_is_room_goes_on_on_further_lines() {
        let cells = |message: &str| vec![Cell::of_text("message", message), Cell::of_text("store", "primary")];
        let rows = vec![cells("store third is away: make the folder, or correct its path")];
        let fit = Fit { width: 51, wraps: true, required: 1 };
        assert_eq!(
            lines(Some(vec!["MESSAGE".to_owned(), "STORE".to_owned()]), rows, 2, Some(fit)).join("\n"),
            "MESSAGE                                     STORE\n\
             store third is away: make the folder, or    primary\n\
             correct its path"
        );
    }

    #[test]
    fn a_list_is_turned_before_it_is_cut() {
        let options = ListOptions { limit: Some(2), reverse: true, ..ListOptions::default() };
        assert_eq!(options.of(vec![1, 2, 3]), [3, 2]);
        assert_eq!(ListOptions::default().of(vec![1, 2, 3]), [1, 2, 3]);
        assert_eq!(options.oldest_first(), Listing { order: Order::NewestFirst, limit: Some(2) });
    }
}
