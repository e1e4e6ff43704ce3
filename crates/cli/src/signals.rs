//! SIGINT and SIGTERM as a wish to stop: the first lets what runs reach a checkpoint, the second stops at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use strongroom_engine::app::Shutdown;

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::progress;

/// From here on a write beyond the limit of file sizes (`ulimit -f`, `LimitFSIZE`) fails as any other write does, instead of
/// ending the program.
pub(crate) fn survive_file_size_limit() {
    // Where the handler cannot be set, the program is as it was without it.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// From here on signals ask to stop, by the flag that is returned, for as long as the program runs.
pub(crate) fn watch() -> Result<Shutdown, Failure> {
    let shutdown = Shutdown::new();
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let wish = shutdown.clone();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || signals.forever().for_each(|_| wish.request()))
        .map_err(failed)?;
    Ok(shutdown)
}

/// From here on the first signal ends the program, for work that changes nothing: it is said what there is of it, and what to do
/// next.
#[allow(clippy::disallowed_methods)] // work that changes nothing has no leases and locks, and has no checkpoints
pub(crate) fn end_at_once(context: &Context, stopped: &'static str, next: &'static str) -> Result<(), Failure> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let is_quiet = context.is_quiet;
    let end = move || {
        if signals.forever().next().is_none() {
            return;
        }
        progress::clear_shown();
        if !is_quiet {
            eprintln!("stopped; {stopped}");
            eprintln!("  next: {next}");
        }
        std::process::exit(130);
    };
    thread::Builder::new().name("signals".to_owned()).spawn(end).map(drop).map_err(failed)
}

/// From here on the first signal makes the flag true, for work that checks it and cleans up; the second ends the program.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag)).map_err(failed)?;
        signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(failed)?;
    }
    Ok(flag)
}

#[allow(clippy::needless_pass_by_value)] // as it comes from `map_err`
fn failed(error: std::io::Error) -> Failure {
    Failure::new(Exit::OutOfReach, format!("could not listen for signals: {error}"))
}
