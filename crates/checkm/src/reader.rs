//! Reads a manifest row by row, and tells every problem as it is met.

use std::io::BufRead;
use std::ops::Range;

use crate::check::{DataLine, Stated, check, cut};
use crate::codes::{self, Rule};
use crate::error::CheckmError;
use crate::forms::{has_control_character, trim};
use crate::header::{Directive, Header, HeaderBuilder};
use crate::lines::{Lines, Next};
use crate::mode::ReadOptions;
use crate::problem::{Problem, Severity, quoted};
use crate::row::Row;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Blank, a comment, or a line that was told of and is no row.
    Nothing,
    Directive,
    EndMark,
    Row,
    /// A row that cannot be read at all, and was told of.
    BrokenRow,
    /// There is no further line, or none is read.
    End,
}

/// Reads a manifest as a stream: memory is that of the longest line, whatever the number of rows.
///
/// Problems are given to the function that each call takes, as they are met. A row with an error is told of and passed over; the rows
/// after it are read. File names that occur twice are not looked for here, because that takes all of them: [`crate::validate`] does.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    options: ReadOptions,
    header: Header,
    /// What the current line is, where it has not been handled yet.
    pending: Option<Kind>,
    rows: u64,
    is_ended: bool,
    has_end_mark: bool,
    cells: Vec<Range<usize>>,
    name: String,
    stated: Stated,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header, up to the first row.
    pub fn new(input: R, options: &ReadOptions, report: &mut dyn FnMut(Problem)) -> Result<Self, CheckmError> {
        let mut reader = Self {
            lines: Lines::new(input, options.limits.line_bytes, options.limits.bytes),
            options: *options,
            header: Header::default(),
            pending: None,
            rows: 0,
            is_ended: false,
            has_end_mark: false,
            cells: Vec::new(),
            name: String::new(),
            stated: Stated::default(),
        };
        let mut builder = HeaderBuilder::default();
        loop {
            let kind = reader.advance(report)?;
            match kind {
                Kind::Nothing => {
                    if !trim(reader.lines.text()).is_empty() {
                        builder.other_line();
                    }
                }
                Kind::Directive => {
                    if let Some(directive) = Directive::of(trim(reader.lines.text())) {
                        builder.directive(directive, reader.lines.number(), options, report);
                    }
                }
                Kind::EndMark | Kind::Row | Kind::BrokenRow | Kind::End => {
                    reader.pending = Some(kind);
                    break;
                }
            }
        }
        reader.header = builder.finish(reader.lines.number().max(1), options, report);
        Ok(reader)
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Rows met so far, with or without errors.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The next row without errors, or nothing at the end of the manifest.
    pub fn next_row(&mut self, report: &mut dyn FnMut(Problem)) -> Result<Option<Row<'_>>, CheckmError> {
        loop {
            match self.advance_row(report)? {
                None => return Ok(None),
                Some(false) => {}
                Some(true) => break,
            }
        }
        let line = DataLine { text: self.lines.text(), cells: &self.cells, row: self.rows, line: self.lines.number() };
        Ok(Some(Row { line, header: &self.header, stated: self.stated, name: &self.name }))
    }

    /// The file name of the current row, also of one with errors; empty where there is none that could be used.
    pub(crate) fn current_name(&self) -> &str {
        &self.name
    }

    /// The line of the current row.
    pub(crate) fn current_line(&self) -> u64 {
        self.lines.number()
    }

    /// Goes to the next row; whether it is without errors. Nothing at the end.
    pub(crate) fn advance_row(&mut self, report: &mut dyn FnMut(Problem)) -> Result<Option<bool>, CheckmError> {
        while !self.is_ended {
            let kind = match self.pending.take() {
                Some(kind) => kind,
                None => self.advance(report)?,
            };
            if self.has_end_mark {
                self.after_end_mark(kind, report);
                continue;
            }
            match kind {
                Kind::Nothing => {}
                Kind::Directive => self.late_directive(report),
                Kind::EndMark => self.has_end_mark = true,
                Kind::End => self.end(report),
                Kind::Row | Kind::BrokenRow => {
                    // A broken row was counted when it was met.
                    let earlier = if kind == Kind::BrokenRow { self.rows - 1 } else { self.rows };
                    if earlier >= self.options.limits.rows {
                        self.rows = earlier;
                        self.is_ended = true;
                        let most = self.options.limits.rows;
                        let message =
                            format!("there are more than {most} rows, which is the limit; the rest is not read");
                        self.tell(codes::LIMIT_ROWS, message, report);
                        continue;
                    }
                    if kind == Kind::BrokenRow {
                        self.name.clear();
                        return Ok(Some(false));
                    }
                    self.rows += 1;
                    return Ok(Some(self.check_row(report)));
                }
            }
        }
        Ok(None)
    }

    fn check_row(&mut self, report: &mut dyn FnMut(Problem)) -> bool {
        self.name.clear();
        // Told for the header, once.
        if self.header.position(crate::Column::FileUrl).is_none() {
            return false;
        }
        let line = DataLine { text: self.lines.text(), cells: &self.cells, row: self.rows, line: self.lines.number() };
        let stated = check(line, &self.header, &self.options, &mut self.name, report);
        self.stated = stated.unwrap_or_default();
        stated.is_some()
    }

    fn tell(&self, rule: Rule, message: impl Into<String>, report: &mut dyn FnMut(Problem)) {
        report(Problem::new(rule, self.options.mode, message).at_line(self.lines.number().max(1)));
    }

    fn late_directive(&self, report: &mut dyn FnMut(Problem)) {
        let Some(directive) = Directive::of(trim(self.lines.text())) else { return };
        let name = quoted(&format!("#%{}", directive.name));
        let is_known = ["profile", "fields", "columns", "prefix"].iter().any(|known| directive.is(known))
            || directive.name.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("checkm"));
        if is_known {
            self.tell(codes::DIRECTIVE_LATE, format!("{name} comes after the first row; expected before it"), report);
        } else {
            let message = format!("{name} is no directive of Checkm; it is ignored");
            self.tell(codes::DIRECTIVE_UNKNOWN, message, report);
        }
    }

    fn after_end_mark(&mut self, kind: Kind, report: &mut dyn FnMut(Problem)) {
        match kind {
            Kind::Nothing => {}
            Kind::End => self.end(report),
            Kind::Directive | Kind::EndMark | Kind::Row | Kind::BrokenRow => {
                let message = format!(
                    "{} follows #%eof; expected nothing but blank lines and comments, and the rest is not read",
                    quoted(self.lines.text())
                );
                self.tell(codes::EOF_CONTENT_AFTER, message, report);
                self.end(report);
            }
        }
    }

    fn end(&mut self, report: &mut dyn FnMut(Problem)) {
        if self.is_ended {
            return;
        }
        self.is_ended = true;
        if self.rows == 0 {
            self.tell(codes::ROWS_NONE, "the manifest has no rows; expected one or more", report);
        }
        if !self.has_end_mark {
            let message = "the manifest has no #%eof, so that it may be cut off; expected it as the last line";
            self.tell(codes::EOF_MISSING, message, report);
        }
    }

    /// Goes to the next line, says what it is, and tells what is wrong with it as a line.
    fn advance(&mut self, report: &mut dyn FnMut(Problem)) -> Result<Kind, CheckmError> {
        let next =
            self.lines.advance().map_err(|source| CheckmError::Read { line: self.lines.number() + 1, source })?;
        if next == Next::End {
            return Ok(Kind::End);
        }
        if next == Next::TooManyBytes {
            self.is_ended = true;
            let most = self.options.limits.bytes;
            let message = format!("the manifest has more than {most} bytes, which is the limit; the rest is not read");
            self.tell(codes::LIMIT_BYTES, message, report);
            return Ok(Kind::End);
        }
        if self.lines.number() == 1 && self.lines.remove_mark() {
            self.tell(codes::TEXT_BOM, "the manifest begins with a byte order mark; expected none", report);
        }
        let fault = match next {
            Next::TooLong => {
                let most = self.options.limits.line_bytes;
                Some((codes::LIMIT_LINE, format!("the line has more than {most} bytes, which is the limit")))
            }
            Next::NotUtf8 => {
                let shown = quoted(self.lines.text());
                Some((codes::TEXT_NOT_UTF8, format!("the line {shown} is not UTF-8; expected UTF-8")))
            }
            _ if has_control_character(self.lines.text()) => {
                let what = if self.lines.text().contains('\r') {
                    "a carriage return without a line feed; expected lines that end with LF or CRLF"
                } else {
                    "a control character; expected none but tabs"
                };
                Some((codes::TEXT_CONTROL_CHARACTER, format!("the line {} has {what}", quoted(self.lines.text()))))
            }
            _ => None,
        };
        if let Some((rule, message)) = fault {
            return Ok(self.broken(rule, &message, report));
        }
        let text = trim(self.lines.text());
        if let Some(directive) = Directive::of(text) {
            return Ok(if directive.is("eof") { Kind::EndMark } else { Kind::Directive });
        }
        if text.is_empty() || text.starts_with('#') {
            return Ok(Kind::Nothing);
        }
        if cut(self.lines.text(), self.options.limits.columns, &mut self.cells) {
            let most = self.options.limits.columns;
            let message = format!("the line has more than {most} columns, which is the limit");
            return Ok(self.broken(codes::LIMIT_COLUMNS, &message, report));
        }
        Ok(Kind::Row)
    }

    /// Tells of a line that cannot be read. It counts as a row unless it begins like a directive or a comment.
    fn broken(&mut self, rule: Rule, message: &str, report: &mut dyn FnMut(Problem)) -> Kind {
        debug_assert!(rule.lenient == Severity::Error, "a line that cannot be read is an error in every mode");
        let line = self.lines.number();
        let text = self.lines.text();
        let problem = Problem::new(rule, self.options.mode, message).with_value(text);
        if trim(text).starts_with('#') || self.has_end_mark {
            report(problem.at_line(line));
            return if self.has_end_mark { Kind::BrokenRow } else { Kind::Nothing };
        }
        self.rows += 1;
        report(problem.in_row(self.rows, line));
        Kind::BrokenRow
    }
}
