//! On whose behalf a record is read or changed. What people name (institutions, collections, batches, items, objects,
//! files, findings, events) is looked up with a scope, and every such query is bound to it. What hangs on a record (an
//! object's versions, contents and copies, an item's interim rows) is reached by the identifier that such a look-up gave
//! and takes no scope: an identifier from outside is never passed to those functions.

use strongroom_database::Value;

use crate::InstitutionId;

/// On whose behalf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The system itself: workers, producers, an administrator at the console. The functions that take a claim act for it.
    System,
    /// One institution; nothing of another is seen.
    Institution(InstitutionId),
}

impl Scope {
    /// What statements bind: NULL for the system.
    pub(crate) fn value(self) -> Value {
        match self {
            Self::System => Value::Null,
            Self::Institution(id) => id.into(),
        }
    }

    /// Whether records of this institution may be seen.
    pub fn admits(self, institution: InstitutionId) -> bool {
        match self {
            Self::System => true,
            Self::Institution(own) => own == institution,
        }
    }
}
