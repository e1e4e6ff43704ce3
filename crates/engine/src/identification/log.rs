//! What the stores keep of an identification anew: a file in the object's `logs/` with the formats that changed and the events
//! that name it. Of files whose answer stayed the same nothing is kept there: a registry that is made from the stores has
//! them identified anew once more, with the same answer.

use serde::Serialize;
use strongroom_registry::events::EventRow;
use strongroom_registry::identification::NewFormat;
use strongroom_registry::{GenerationId, ObjectId};

/// The form of log files written today.
pub(super) const FORM: u32 = 1;
/// The act, in the names of log files.
pub(super) const ACT: &str = "identification";

/// One act, of some files of an object.
#[derive(Debug, Serialize)]
pub(super) struct Log<'a> {
    pub(super) form: u32,
    pub(super) act: &'a str,
    pub(super) object: ObjectId,
    pub(super) generation: GenerationId,
    /// The signature files, by name.
    pub(super) signatures: &'a str,
    pub(super) time: String,
    pub(super) formats: &'a [NewFormat],
    /// The events of the act, whole.
    pub(super) events: &'a [EventRow],
}
