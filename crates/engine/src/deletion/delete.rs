//! delete: removes what a request names.

use super::turn;
use crate::workflow::{Outcome, StageContext, StageError};

pub(super) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    turn::wait(context)?;
    Err(StageError::fatal("not available"))
}
