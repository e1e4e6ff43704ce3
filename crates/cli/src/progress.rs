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
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

fn is_wanted(context: &Context) -> bool {
    !context.is_quiet && std::io::stderr().is_terminal()
}
