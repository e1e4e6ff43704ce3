//! Log lines on standard error, as the settings and the command line ask.

use std::io;

use strongroom_engine::settings::{Log, LogFormat};
use tracing_subscriber::EnvFilter;

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Begins to log. `verbosity` moves the level: up for `-v`, down for `-q`. A second call changes nothing.
pub(crate) fn start(log: &Log, verbosity: i8) {
    let set = LEVELS.iter().position(|level| *level == log.level).unwrap_or(2);
    let index = set.saturating_add_signed(isize::from(verbosity)).min(LEVELS.len() - 1);
    let level = LEVELS.get(index).copied().unwrap_or("info");
    let builder = tracing_subscriber::fmt().with_writer(io::stderr).with_env_filter(EnvFilter::new(level));
    // Failing means that a subscriber is there already.
    let _ = match log.format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.with_target(false).with_ansi(io::IsTerminal::is_terminal(&io::stderr())).try_init(),
    };
}
