//! Progress on standard error while long work runs: only where standard error is a terminal.

use std::fs::{self, Metadata};
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use strongroom_digest::Progress;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, columns_of, counted, printable, size, width_of};

/// A sign of life without a known end.
pub(crate) fn spinner(context: &Context, message: impl Into<String>) -> ProgressBar {
    if !is_wanted(context) {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner().with_message(message.into());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// A bar over a known number of steps.
pub(crate) fn steps(context: &Context, total: u64, message: impl Into<String>) -> ProgressBar {
    if !is_wanted(context) {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total).with_message(message.into());
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// What a line counts besides bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Copies,
    Files,
    Items,
    Objects,
}

impl Unit {
    fn counted(self, number: u64) -> String {
        let (one, more) = match self {
            Self::Copies => ("copy", "copies"),
            Self::Files => ("file", "files"),
            Self::Items => ("item", "items"),
            Self::Objects => ("object", "objects"),
        };
        counted(number, one, more)
    }
}

/// What work goes through whole, so that its end is known by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Every byte; files are not what is counted.
    Bytes,
    /// Every file, of which parts may be read.
    Files,
    /// Every byte of every file.
    Both,
}

/// Columns that a bar takes, with the blank behind it.
const BAR: usize = 17;
/// Columns that a spinner takes, with the blank behind it.
const SPINNER: usize = 2;

/// How often a line is drawn anew.
const DRAW_EVERY: Duration = Duration::from_millis(200);

/// The line that is shown now, so that a signal can take it away.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// A line over work that goes through bytes: how many of how many, how fast, the time that is left, and what else is counted. The
/// work counts into [`Self::counts`], and a thread draws the line; it goes away when this is dropped.
pub(crate) struct Line {
    shown: Arc<Shown>,
    /// Ends the thread that draws.
    drawing: Option<(Sender<()>, JoinHandle<()>)>,
}

struct Shown {
    bar: ProgressBar,
    unit: Unit,
    counts: Progress,
    note: Mutex<String>,
    began: Instant,
    has_end: AtomicBool,
}

impl Line {
    /// Shows a line at a terminal. The note comes last, and is left out where the terminal is too narrow for it.
    pub(crate) fn new(context: &Context, unit: Unit, note: &str) -> Self {
        if is_wanted(context) { Self::shown(unit, note) } else { Self::hidden(unit) }
    }

    /// A line that counts and is not shown.
    pub(crate) fn hidden(unit: Unit) -> Self {
        Self { shown: Arc::new(Shown::new(ProgressBar::hidden(), unit)), drawing: None }
    }

    fn shown(unit: Unit, note: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        *locked(&SHOWN) = Some(bar.clone());
        let shown = Arc::new(Shown::new(bar, unit));
        *locked(&shown.note) = printable(note);
        shown.set_style(false);
        let (sender, receiver) = mpsc::channel::<()>();
        let drawn = shown.clone();
        let draw = move || {
            while receiver.recv_timeout(DRAW_EVERY) == Err(RecvTimeoutError::Timeout) {
                drawn.draw();
            }
        };
        shown.draw();
        // Where no thread can be started, the line stays as it is.
        let drawing = thread::Builder::new().name("progress".to_owned()).spawn(draw).ok();
        Self { shown, drawing: drawing.map(|thread| (sender, thread)) }
    }

    /// What the work counts into.
    pub(crate) fn counts(&self) -> &Progress {
        &self.shown.counts
    }

    pub(crate) fn is_hidden(&self) -> bool {
        self.drawing.is_none()
    }

    /// Sets what is said last.
    pub(crate) fn note(&self, note: &str) {
        *locked(&self.shown.note) = printable(note);
    }

    /// Takes the line away while something is printed on standard error.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.shown.bar.suspend(print)
    }

    /// Takes the line away while something is printed on standard output, which is handed over before the line is drawn again:
    /// what would be written later stands behind the line and leaves it on the screen.
    ///
    /// # Errors
    ///
    /// What printing fails with, or standard output cannot be written.
    pub(crate) fn print<T>(&self, output: &Output, print: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.suspend(|| print().and_then(|printed| output.flush().map(|()| printed)))
    }

    /// Finds out what there is to read below these paths, while the work has begun already: of files and bytes what the work goes
    /// through whole.
    pub(crate) fn expect_below(&self, paths: Vec<PathBuf>, expected: Expected) {
        if self.is_hidden() {
            return;
        }
        let counts = self.counts().clone();
        // Without it no end is known, which is only shown.
        let _ = thread::Builder::new().name("sizes".to_owned()).spawn(move || {
            let (files, bytes) = amount_below(paths);
            match expected {
                Expected::Bytes => counts.set_expected(0, bytes),
                Expected::Files => counts.set_expected(files, 0),
                Expected::Both => counts.set_expected(files, bytes),
            }
        });
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let Some((sender, thread)) = self.drawing.take() else { return };
        drop(sender);
        // It only draws.
        let _ = thread.join();
        self.shown.draw();
        *locked(&SHOWN) = None;
        self.shown.bar.finish_and_clear();
    }
}

impl Shown {
    fn new(bar: ProgressBar, unit: Unit) -> Self {
        let (counts, note) = (Progress::default(), Mutex::default());
        Self { bar, unit, counts, note, began: Instant::now(), has_end: AtomicBool::new(false) }
    }

    /// A bar where the end is known, else a spinner.
    fn set_style(&self, has_end: bool) {
        let template = if has_end { "{bar:16} {wide_msg}" } else { "{spinner} {wide_msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style);
        }
    }

    fn draw(&self) {
        let counts = Counts::of(&self.counts);
        let end = counts.end();
        if end.is_some() != self.has_end.swap(end.is_some(), Ordering::Relaxed) {
            self.set_style(end.is_some());
        }
        if let Some((done, all)) = end {
            self.bar.set_length(all);
            self.bar.set_position(done);
        }
        let parts = counts.parts(self.unit, self.began.elapsed(), &locked(&self.note));
        let before = if end.is_some() { BAR } else { SPINNER };
        self.bar.set_message(fitting(&parts, columns_of(&std::io::stderr()).saturating_sub(before)));
        self.bar.tick();
    }
}

/// What was counted at a moment.
struct Counts {
    bytes: u64,
    files: u64,
    expected_bytes: u64,
    expected_files: u64,
}

impl Counts {
    fn of(progress: &Progress) -> Self {
        Self {
            bytes: progress.bytes(),
            files: progress.files(),
            expected_bytes: progress.expected_bytes(),
            expected_files: progress.expected_files(),
        }
    }

    /// How much is done of how much, by bytes where those are known.
    fn end(&self) -> Option<(u64, u64)> {
        let of = |done: u64, all: u64| (all > 0).then(|| (done.min(all), all));
        of(self.bytes, self.expected_bytes).or_else(|| of(self.files, self.expected_files))
    }

    /// What is said of it, the most important first.
    fn parts(&self, unit: Unit, elapsed: Duration, note: &str) -> Vec<String> {
        let mut parts = Vec::new();
        let bytes = size(self.bytes);
        parts.push(match self.expected_bytes {
            0 => bytes,
            all => format!("{bytes} of {}", size(all.max(self.bytes))),
        });
        parts.push(format!("{}/s", size(per_second(self.bytes, elapsed))));
        if let Some((done @ 1.., all)) = self.end() {
            let left = elapsed.mul_f64((all - done) as f64 / done as f64);
            parts.push(format!("{:#} left", HumanDuration(left)));
        }
        match (self.files, self.expected_files) {
            (0, 0) | (_, 1) => {}
            (files, 0) => parts.push(unit.counted(files)),
            (files, all) => parts.push(format!("{files} of {}", unit.counted(all.max(files)))),
        }
        if !note.is_empty() {
            parts.push(note.to_owned());
        }
        parts
    }
}

/// As many of the first parts as fit into `width` columns; each is there whole or not at all.
fn fitting(parts: &[String], width: usize) -> String {
    let mut text = String::new();
    for part in parts {
        let separator = if text.is_empty() { "" } else { ", " };
        if width_of(&text) + separator.len() + width_of(part) > width {
            break;
        }
        text.push_str(separator);
        text.push_str(part);
    }
    text
}

/// Takes away the line that is shown, where one is: the program ends.
pub(crate) fn clear_shown() {
    if let Some(bar) = locked(&SHOWN).take() {
        bar.finish_and_clear();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Regular files below these paths, and their bytes. Links are followed where they are named; what cannot be read counts
/// nothing.
fn amount_below(paths: Vec<PathBuf>) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    let mut take = |metadata: &Metadata| {
        if metadata.is_file() {
            files += 1;
            bytes += metadata.len();
        }
    };
    let mut folders = Vec::new();
    for path in paths {
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => folders.push(path),
            Ok(metadata) => take(&metadata),
            Err(_) => {}
        }
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => take(&metadata),
                Err(_) => {}
            }
        }
    }
    (files, bytes)
}

/// How many of something there were in a second.
pub(crate) fn per_second(count: u64, elapsed: Duration) -> u64 {
    (count as f64 / elapsed.as_secs_f64().max(0.001)) as u64
}

fn is_wanted(context: &Context) -> bool {
    !context.is_quiet && std::io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(counts: &Counts) -> String {
        fitting(&parts(counts), 80)
    }

    fn parts(counts: &Counts) -> Vec<String> {
        counts.parts(Unit::Files, Duration::from_secs(2), "letters/a.txt")
    }

    #[test]
    fn a_line_says_what_is_done_how_fast_and_what_is_left() {
        let counts = Counts { bytes: 2 << 20, files: 3, expected_bytes: 6 << 20, expected_files: 12 };
        assert_eq!(text(&counts), "2.0 MiB of 6.0 MiB, 1.0 MiB/s, 4s left, 3 of 12 files, letters/a.txt");
    }

    #[test]
    fn a_line_that_does_not_fit_is_shortened_by_whole_parts() {
        let parts = parts(&Counts { bytes: 2 << 20, files: 3, expected_bytes: 6 << 20, expected_files: 12 });
        let whole = "2.0 MiB of 6.0 MiB, 1.0 MiB/s, 4s left, 3 of 12 files, letters/a.txt";
        assert_eq!(fitting(&parts, whole.len()), whole);
        assert_eq!(fitting(&parts, whole.len() - 1), "2.0 MiB of 6.0 MiB, 1.0 MiB/s, 4s left, 3 of 12 files");
        assert_eq!(fitting(&parts, 20), "2.0 MiB of 6.0 MiB");
        assert_eq!(fitting(&parts, 17), "");
    }

    #[test]
    fn a_line_without_a_known_end_says_what_is_done() {
        let counts = Counts { bytes: 2 << 20, files: 1, expected_bytes: 0, expected_files: 0 };
        assert_eq!(text(&counts), "2.0 MiB, 1.0 MiB/s, 1 file, letters/a.txt");
    }

    #[test]
    fn where_bytes_have_no_known_end_the_time_left_goes_by_files() {
        let counts = Counts { bytes: 2 << 20, files: 3, expected_bytes: 0, expected_files: 12 };
        assert_eq!(text(&counts), "2.0 MiB, 1.0 MiB/s, 6s left, 3 of 12 files, letters/a.txt");
    }

    #[test]
    fn more_than_was_expected_is_no_contradiction() {
        let counts = Counts { bytes: 10 << 20, files: 1, expected_bytes: 6 << 20, expected_files: 1 };
        assert_eq!(text(&counts), "10.0 MiB of 10.0 MiB, 5.0 MiB/s, 0s left, letters/a.txt");
    }

    #[test]
    fn links_are_followed_only_where_they_are_named() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("folder")).unwrap();
        fs::write(place.path().join("folder/a"), "12345").unwrap();
        fs::write(place.path().join("b"), "123").unwrap();
        std::os::unix::fs::symlink("../b", place.path().join("folder/link")).unwrap();
        assert_eq!(amount_below(vec![place.path().join("folder")]), (1, 5));
        assert_eq!(amount_below(vec![place.path().join("folder/link"), place.path().join("absent")]), (1, 3));
    }
}
