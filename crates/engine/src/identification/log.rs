//! What the stores keep of an identification anew: a file in the object's `logs/` with the formats that changed and the events
//! that tell of it. Of files whose answer stayed the same nothing is kept there: a registry that is made from the stores has
//! them identified anew once more, with the same answer.

use serde::{Deserialize, Serialize};
use strongroom_registry::events::EventRow;
use strongroom_registry::identification::NewFormat;
use strongroom_registry::{GenerationId, ObjectId};

/// The form of log files written today.
pub(crate) const FORM: u32 = 1;
/// The act, in the names of log files.
pub(crate) const ACT: &str = "identification";

/// One act, of some files of an object.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Log {
    pub(crate) form: u32,
    pub(crate) act: String,
    pub(crate) object: ObjectId,
    pub(crate) generation: GenerationId,
    /// The signature files, by name.
    pub(crate) signatures: String,
    pub(crate) time: String,
    pub(crate) formats: Vec<NewFormat>,
    /// The events of the act, whole.
    pub(crate) events: Vec<EventRow>,
}
