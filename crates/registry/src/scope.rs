//! On whose behalf a record is read or changed. Every query is bound to an institution unless the caller is the system.

use strongroom_database::Value;

use crate::InstitutionId;

/// On whose behalf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The system itself: workers, producers, an administrator at the console.
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
