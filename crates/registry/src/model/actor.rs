//! Who acts: a person, or the system itself.

use std::fmt;

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
    /// The account of the operating system under which a user acts at the console.
    pub account: Option<String>,
    /// The identifier of the API key with which a program acts for a user.
    pub key: Option<String>,
}

impl Actor {
    /// The actor of this kind and name; the same in every process. A name is cut after [`LONGEST_NAME`] bytes, and U+FFFD stands
    /// for each control character: what one program writes into a store, every later one must be able to read.
    pub fn new(kind: ActorKind, name: &str) -> Self {
        Self::of(kind, name, None, None)
    }

    /// The same actor, who acts at the console under this account of the operating system.
    #[must_use]
    pub fn at_console(self, account: &str) -> Self {
        Self::of(self.kind, &self.name, Some(account), self.key.as_deref())
    }

    /// The same actor, for whom a program acts with the API key of this identifier.
    #[must_use]
    pub fn with_key(self, key: &str) -> Self {
        Self::of(self.kind, &self.name, self.account.as_deref(), Some(key))
    }

    /// The actor of a kind and name who acts under an account, or with a key, where these are given.
    pub(crate) fn of(kind: ActorKind, name: &str, account: Option<&str>, key: Option<&str>) -> Self {
        let (name, account, key) = (bounded(name), account.map(bounded), key.map(bounded));
        let mut from = format!("actor:{}:{name}", kind.as_str());
        // A line end is in no name.
        for (what, by) in [("account", &account), ("key", &key)] {
            if let Some(by) = by {
                from.push_str(&format!("\n{what}:{by}"));
            }
        }
        Self { id: ActorId(derived(Uuid::nil(), &from)), kind, name, account, key }
    }

    /// The system itself: workers, and what is done every so often.
    pub fn system() -> Self {
        Self::new(ActorKind::System, "strongroom")
    }
}

/// The name, and the account or the key by which the actor acts.
impl fmt::Display for Actor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        for (what, by) in [("account", &self.account), ("key", &self.key)] {
            if let Some(by) = by {
                write!(formatter, " ({what} {by})")?;
            }
        }
        Ok(())
    }
}

/// What is kept of an actor as text: its name, and by what it acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownActor {
    /// The name.
    pub name: String,
    /// The account of the operating system under which a user acts.
    pub account: Option<String>,
    /// The identifier of the key with which a program acts.
    pub key: Option<String>,
}

impl ShownActor {
    /// What the text says that [`Actor`] is written as.
    pub fn parse(text: &str) -> Self {
        let name = name_of(text);
        let behind = text.get(name.len()..).unwrap_or_default();
        let by = |what: &str| {
            let by = behind.strip_prefix(" (")?.strip_prefix(what)?.strip_prefix(' ')?;
            Some(by.strip_suffix(')')?.to_owned())
        };
        Self { name: name.to_owned(), account: by("account"), key: by("key") }
    }
}

/// The name in the text that [`Actor`] is written as: of an address, which has no blanks, the rest says by what it acts.
pub fn name_of(text: &str) -> &str {
    match text.split_once(' ') {
        Some((name, _)) if name.contains('@') => name,
        _ => text,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl From<Actor> for Named {
    fn from(actor: Actor) -> Self {
        Self { kind: actor.kind, name: actor.name, account: actor.account, key: actor.key }
    }
}

impl From<Named> for Actor {
    fn from(named: Named) -> Self {
        Self::of(named.kind, &named.name, named.account.as_deref(), named.key.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::{Actor, LONGEST_NAME, ShownActor};
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
    fn what_a_user_acts_by_makes_another_actor_of_the_same_name() {
        let ann = Actor::new(ActorKind::User, "ann@example.edu");
        let (console, key) = (ann.clone().at_console("root"), ann.clone().with_key("abc"));
        assert!(ann.id != console.id && ann.id != key.id && console.id != key.id);
        assert_eq!(
            (console.name.as_str(), console.to_string().as_str()),
            ("ann@example.edu", "ann@example.edu (account root)")
        );
        assert_eq!(key.to_string(), "ann@example.edu (key abc)");
        let shown = ShownActor::parse(&console.to_string());
        assert_eq!((shown.name.as_str(), shown.account.as_deref(), shown.key), ("ann@example.edu", Some("root"), None));
        let root = ShownActor::parse("root (of all)");
        assert_eq!((root.name.as_str(), root.account), ("root (of all)", None));
        for actor in [ann, console, key] {
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
