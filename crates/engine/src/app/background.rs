//! Background tasks: what is done every so often.

use super::OpContext;
use super::authorization::{BACKGROUND_LIST, BACKGROUND_RUN};
use super::views::{BackgroundRunView, BackgroundTaskView};
use crate::EngineError;
use crate::background::{self, BackgroundTask, Loss, ManualRun, TASKS};
use crate::journal::Target;
use crate::runtime::Shutdown;
use crate::settings::nearest_few;

/// Every background task with its last run, its result, and its next run.
pub fn list(context: &OpContext) -> Result<Vec<BackgroundTaskView>, EngineError> {
    let authorized = context.authorize(&BACKGROUND_LIST)?;
    let home = authorized.home();
    Ok(background::list(&home.settings, &home.registry)?.into_iter().map(BackgroundTaskView::from).collect())
}

/// Runs a background task now in this process, whether it is due or not; none where it was asked to stop before its end.
///
/// # Errors
/// There is no such task, or another process runs it.
pub fn run(context: &OpContext, name: &str, shutdown: &Shutdown) -> Result<Option<BackgroundRunView>, EngineError> {
    let authorized = context.authorize(&BACKGROUND_RUN)?;
    let task = find(name)?;
    let refused = |message: String| {
        Err(EngineError::Refused(message).next("\"strongroom background list\" shows when it has ended"))
    };
    let mut is_stopped = false;
    let outcome =
        authorized.around(&Target::of_system(name), |home| match background::run_now(home, task, shutdown)? {
            ManualRun::Done { result, elapsed } => Ok(Some(BackgroundRunView::new(name, result, elapsed))),
            ManualRun::Held { holder } => refused(format!("another process runs background task {name} now: {holder}")),
            ManualRun::Lost(Loss::TakenOver) => {
                refused(format!("another process took background task {name} over while this one ran it"))
            }
            ManualRun::Lost(Loss::NotExtended) => refused(format!(
                "the lease of background task {name} ran out, since the registry could not be reached to extend it"
            )),
            ManualRun::Stopped => {
                is_stopped = true;
                // For the journal: the act did not come to its end.
                Err(EngineError::Refused("interrupted".to_owned()))
            }
        });
    if is_stopped { Ok(None) } else { outcome }
}

fn find(name: &str) -> Result<&'static BackgroundTask, EngineError> {
    TASKS.iter().find(|task| task.name == name).ok_or_else(|| {
        let near = nearest_few(name, TASKS.iter().map(|task| task.name));
        EngineError::NotFound { what: "background task", name: name.to_owned(), hint: String::new() }.next(
            if near.is_empty() {
                "\"strongroom background list\" shows those there are".to_owned()
            } else {
                format!("did you mean {}?", near.join(", "))
            },
        )
    })
}
