//! Who acts: a person, or the system itself.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ids::derived;
use super::{ActorId, ActorKind};

/// The longest name of an actor that is read, in bytes: a record in a store may be anybody's.
const LONGEST_NAME: usize = 254;

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Named", into = "Named")]
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
        let id = ActorId(derived(Uuid::nil(), &format!("actor:{}:{name}", kind.as_str())));
        Self { id, kind, name }
    }

    /// The system itself: workers, and what is done every so often.
    pub fn system() -> Self {
        Self::new(ActorKind::System, "strongroom")
    }
}

/// An actor as it is kept in stores.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Named {
    kind: ActorKind,
    name: String,
}

impl From<Actor> for Named {
    fn from(actor: Actor) -> Self {
        Self { kind: actor.kind, name: actor.name }
    }
}

impl TryFrom<Named> for Actor {
    type Error = String;

    fn try_from(named: Named) -> Result<Self, String> {
        let Named { kind, name } = named;
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(format!("the name of an actor has 1 to {LONGEST_NAME} bytes without control characters"));
        }
        Ok(Self::new(kind, name))
    }
}
