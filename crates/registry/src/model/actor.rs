//! Who acts: a person, or the system itself.

use uuid::Uuid;

use super::ids::derived;
use super::{ActorId, ActorKind};

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Follows from kind and name.
    pub id: ActorId,
    /// What kind of actor it is.
    pub kind: ActorKind,
    /// What people call it: an email address, the name of an account of the operating system, `strongroom`.
    pub name: String,
}

impl Actor {
    /// The actor of this kind and name; the same in every process.
    pub fn new(kind: ActorKind, name: impl Into<String>) -> Self {
        let name = name.into();
        let id = ActorId(derived(Uuid::nil(), &format!("actor:{}:{name}", kind.word())));
        Self { id, kind, name }
    }

    /// The system itself: workers, and what is done every so often.
    pub fn system() -> Self {
        Self::new(ActorKind::System, "strongroom")
    }
}
