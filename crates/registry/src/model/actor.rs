//! Who acts: a person, or the system itself.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ids::derived;
use super::{ActorId, ActorKind};

/// The longest name of an actor, in bytes: as long as an email address may be (RFC 5321 section 4.5.3.1.3, less the brackets).
pub const LONGEST_NAME: usize = 254;

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "Named", into = "Named")]
pub struct Actor {
    /// Follows from kind and name.
    pub id: ActorId,
    /// What kind of actor it is.
    pub kind: ActorKind,
    /// The display name: an email address, the name of an account of the operating system, `strongroom`.
    pub name: String,
}

impl Actor {
    /// The actor of this kind and name; the same in every process. A name is cut after [`LONGEST_NAME`] bytes, and U+FFFD stands
    /// for each control character: what one program writes into a store, every later one must be able to read.
    pub fn new(kind: ActorKind, name: &str) -> Self {
        let name = bounded(name);
        let id = ActorId(derived(Uuid::nil(), &format!("actor:{}:{name}", kind.as_str())));
        Self { id, kind, name }
    }

    /// The system itself: workers, and what is done every so often.
    pub fn system() -> Self {
        Self::new(ActorKind::System, "strongroom")
    }
}

fn bounded(name: &str) -> String {
    let mut bounded = String::with_capacity(name.len().min(LONGEST_NAME));
    for character in name.chars() {
        let character = if character.is_control() { char::REPLACEMENT_CHARACTER } else { character };
        if bounded.len() + character.len_utf8() > LONGEST_NAME {
            break;
        }
        bounded.push(character);
    }
    if bounded.is_empty() { "unnamed".to_owned() } else { bounded }
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

impl From<Named> for Actor {
    fn from(named: Named) -> Self {
        Self::new(named.kind, &named.name)
    }
}

#[cfg(test)]
mod tests {
    use super::{Actor, LONGEST_NAME};
    use crate::ActorKind;

    #[test]
    fn every_name_that_is_written_is_read_back_the_same() {
        let long = "İ".repeat(LONGEST_NAME);
        for name in ["ann@example.edu", "", "evil\nname", "\u{9b}31m", long.as_str()] {
            let actor = Actor::new(ActorKind::Console, name);
            assert!((1..=LONGEST_NAME).contains(&actor.name.len()) && !actor.name.contains(char::is_control));
            let line = serde_json::to_string(&actor).expect("writes");
            assert_eq!(serde_json::from_str::<Actor>(&line).expect("reads"), actor);
        }
    }

    #[test]
    fn a_name_that_an_older_program_wrote_without_bounds_is_read() {
        let line = serde_json::json!({ "kind": "console", "name": format!("evil\n{}", "x".repeat(1_000)) });
        let actor: Actor = serde_json::from_value(line).expect("reads");
        assert_eq!(actor.name.len(), LONGEST_NAME);
        assert_eq!(actor, Actor::new(ActorKind::Console, &actor.name));
    }
}
