//! SIGINT and SIGTERM as a wish to stop: the first lets what runs reach a checkpoint, the second stops at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use strongroom_engine::app::Shutdown;

use crate::failure::{Exit, Failure};

/// From here on signals are wishes to stop, told by the flag returned, for as long as the program runs.
pub(crate) fn watch() -> Result<Shutdown, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(Exit::OutOfReach, format!("could not listen for signals: {error}"));
    let shutdown = Shutdown::new();
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let wish = shutdown.clone();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || signals.forever().for_each(|_| wish.request()))
        .map_err(failed)?;
    Ok(shutdown)
}

/// From here on the first signal makes the flag true, for work that looks at it and cleans up; the second ends the program.
pub(crate) fn flag() -> Result<Arc<AtomicBool>, Failure> {
    let failed =
        |error: std::io::Error| Failure::new(Exit::OutOfReach, format!("could not listen for signals: {error}"));
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag)).map_err(failed)?;
        signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(failed)?;
    }
    Ok(flag)
}
