//! Progress on standard error while long work runs: only where a person looks at a terminal.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::context::Context;

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

/// A bar over the copies that are checked, with the time that is left; without an end where their number is not known.
pub(crate) fn copies(context: &Context, total: impl FnOnce() -> Option<u64>) -> ProgressBar {
    if !is_wanted(context) {
        return ProgressBar::hidden();
    }
    let Some(total) = total() else { return spinner(context, "checking copies") };
    let bar = ProgressBar::new(total).with_message("0 B");
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} copies, {msg}, {eta} left") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// How many of something there were in a second.
pub(crate) fn per_second(count: u64, elapsed: Duration) -> u64 {
    (count as f64 / elapsed.as_secs_f64().max(0.001)) as u64
}

fn is_wanted(context: &Context) -> bool {
    !context.is_quiet && std::io::stderr().is_terminal()
}
