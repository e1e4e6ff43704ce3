//! Formats of files: the signatures by which they are identified, and identification anew. Which signatures there are is
//! [`SignaturesView::of_directory`].

use super::authorization::{SIGNATURES_BEHIND, SIGNATURES_CHOOSE, SIGNATURES_INSTALL, SIGNATURES_REIDENTIFY};
use super::views::{AffectedTasksView, Behind, ReidentifySummary, SignaturesView};
use super::{OpContext, target_among};
use crate::EngineError;
pub use crate::identification::ReidentifyRequest;
use crate::identification::{self, TOPIC};
use crate::journal::Target;
pub use crate::signatures::Published;
use crate::signatures::{self, SignaturesError};

/// Installs newer signature files, one binary, one container or both, and uses them from now on. What is not given stays as it
/// is in use.
///
/// # Errors
/// They cannot be read, or are older than those in use and `allow_older` is not set.
pub fn install(context: &OpContext, files: Vec<Published>, allow_older: bool) -> Result<SignaturesView, EngineError> {
    let authorized = context.authorize(&SIGNATURES_INSTALL)?;
    let (mut binary, mut container) = (None, None);
    for file in files {
        let (place, what) = if file.is_container() { (&mut container, "container") } else { (&mut binary, "binary") };
        if let Some(Published { name, .. }) = place.replace(file) {
            let message = format!("{name:?} and the other file are both {what} signature files");
            return Err(EngineError::Usage(message).next("give one binary and one container signature file"));
        }
    }
    let directory = &authorized.home().directory;
    let prepared = signatures::prepare(directory, binary.as_ref(), container.as_ref(), allow_older);
    let prepared = prepared.map_err(|error| match error {
        SignaturesError::Older(_) => EngineError::from(error).next("insist with --allow-older"),
        other => other.into(),
    })?;
    let target = Target::of_system(&prepared.named.name);
    let named = authorized.around(&target, |home| Ok(signatures::put(&home.directory, prepared)?))?;
    Ok(SignaturesView::in_use(&named))
}

/// Uses other signatures from now on: those installed under a name, or the built-in ones.
pub fn choose(context: &OpContext, name: &str) -> Result<SignaturesView, EngineError> {
    let authorized = context.authorize(&SIGNATURES_CHOOSE)?;
    let named = signatures::named(&authorized.home().directory, name)?;
    let target = Target::of_system(&named.name);
    authorized.around(&target, |home| Ok(signatures::make_current(&home.directory, &named.name)?))?;
    Ok(SignaturesView::in_use(&named))
}

/// How much was not identified with the signatures in use. Reads no file.
pub fn behind(context: &OpContext, request: &ReidentifyRequest) -> Result<Behind, EngineError> {
    let authorized = context.authorize(&SIGNATURES_BEHIND)?;
    identification::behind(authorized.home(), request)
}

/// Leaves identifying anew what is behind to the workers.
pub fn enqueue(context: &OpContext, request: &ReidentifyRequest) -> Result<AffectedTasksView, EngineError> {
    let authorized = context.authorize(&SIGNATURES_REIDENTIFY)?;
    let target = target_among(&authorized, request.institution.as_deref(), request.object.as_deref())?;
    let tasks = authorized.around(&target, |home| identification::enqueue(home, request))?;
    Ok(AffectedTasksView { topic: TOPIC.to_owned(), tasks })
}

/// Identifies anew what is behind, here and now; `progress` is called after each object.
pub fn reidentify(
    context: &OpContext,
    request: &ReidentifyRequest,
    progress: &mut dyn FnMut(&ReidentifySummary),
) -> Result<ReidentifySummary, EngineError> {
    let authorized = context.authorize(&SIGNATURES_REIDENTIFY)?;
    let target = target_among(&authorized, request.institution.as_deref(), request.object.as_deref())?;
    authorized.around(&target, |home| identification::run(home, request, progress))
}
