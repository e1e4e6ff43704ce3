//! Log lines on standard error, as the settings and the command line ask.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use strongroom_engine::event::{DUPLICATION, ITEM_ENDED, STORE_LOST};
use strongroom_engine::settings::{Log, LogFormat};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
/// The level from which on there is a line for each outcome.
const INFO: usize = 2;

/// Who logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logging {
    /// A command that shows the work items that it waits for: a line for each that ends would repeat it, but where all is asked for.
    Command,
    /// Workers and background tasks.
    Service,
}

/// Begins to log. `verbosity` moves the level: up for `-v`, down for `-q`. A second call changes nothing.
pub(crate) fn start(log: &Log, verbosity: i8, logging: Logging) {
    let set = LEVELS.iter().position(|level| *level == log.level).unwrap_or(INFO);
    let index = set.saturating_add_signed(isize::from(verbosity)).min(LEVELS.len() - 1);
    let level = LEVELS.get(index).copied().unwrap_or("info");
    let are_items_told = logging == Logging::Service || index >= INFO;
    let is_told = move |name: &str| match name {
        STORE_LOST => !ARE_STORES_TOLD_BY_COMMAND.load(Ordering::SeqCst),
        ITEM_ENDED | DUPLICATION => are_items_told,
        _ => true,
    };
    let subscriber = tracing_subscriber::registry()
        .with(EnvFilter::new(level))
        .with(dynamic_filter_fn(move |metadata, _| is_told(metadata.name())));
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    // Failing means that a subscriber is there already.
    let _ = match log.format {
        LogFormat::Json => subscriber.with(lines.json()).try_init(),
        LogFormat::Text => subscriber.with(lines.with_target(false).with_ansi(is_coloured())).try_init(),
    };
}

/// Whether lines have colours: at a terminal, unless the variable `NO_COLOR` is set (<https://no-color.org>).
fn is_coloured() -> bool {
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::IsTerminal::is_terminal(&io::stderr()) && !is_refused
}

/// Whether the command says by itself which stores cannot be used.
static ARE_STORES_TOLD_BY_COMMAND: AtomicBool = AtomicBool::new(false);

/// Opens stores without a log line for each that cannot be used: the command says it by itself. One that is lost later is
/// logged.
pub(crate) fn without_lost_stores<T>(open: impl FnOnce() -> T) -> T {
    ARE_STORES_TOLD_BY_COMMAND.store(true, Ordering::SeqCst);
    let opened = open();
    ARE_STORES_TOLD_BY_COMMAND.store(false, Ordering::SeqCst);
    opened
}
