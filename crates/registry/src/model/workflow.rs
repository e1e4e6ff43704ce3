//! What the record knows of workflows: the names of actions and stages, as text, and where an item is. Which stages an action
//! has, in which order and on which topics, is decided by the caller that registers them as [`Workflows`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strongroom_database::Transaction;
use tinystr::TinyAsciiStr;

use crate::items::{Item, NewItem};
use crate::{InstitutionId, ObjectId, RegistryError};

/// The most bytes of the name of an action or a stage.
const NAME_LIMIT: usize = 32;

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident ($wanted:literal);)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(TinyAsciiStr<NAME_LIMIT>);

        impl $name {
            /// The one of this name: lower-case ASCII of at most 32 bytes.
            ///
            /// # Panics
            ///
            /// Where the name is none; in a constant that is an error of the compiler.
            pub const fn named(name: &'static str) -> Self {
                match TinyAsciiStr::try_from_str(name) {
                    Ok(name) => Self(name),
                    Err(_) => panic!("a name is ASCII of at most 32 bytes"),
                }
            }

            /// The word in records, JSON and pages.
            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = RegistryError;

            fn from_str(text: &str) -> Result<Self, RegistryError> {
                let name = TinyAsciiStr::try_from_str(text);
                name.map(Self).map_err(|_| RegistryError::Corrupt { wanted: $wanted, found: text.to_owned() })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

names! {
    /// What a work item does: the name of a workflow.
    Action ("an action");

    /// A step of a workflow. Each has a topic of its own, and some a second one.
    Stage ("a stage");
}

/// What wakes an item that waits at its stage: the worker that ends what it may wait for makes every item with the
/// same key ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitKey(pub(crate) String);

impl WaitKey {
    /// The turn among the deposits of an object.
    pub fn turn(institution: InstitutionId, object_identifier: &str) -> Self {
        Self(format!("turn {institution} {object_identifier}"))
    }

    /// The lease of an object.
    pub fn object(object: ObjectId) -> Self {
        Self(format!("object {object}"))
    }

    /// Room in staging.
    pub fn staging() -> Self {
        Self("staging".to_owned())
    }

    /// The confirmation of a program. What the item had to do is done: later deposits of its object do not wait for it.
    pub fn confirmation() -> Self {
        Self("confirmation".to_owned())
    }
}

/// Where an item is in its workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The stage.
    pub stage: Stage,
    /// The topic whose tasks are that stage.
    pub topic: String,
    /// What wakes the item where it waits at that stage; none where nothing does but time.
    pub wait_key: Option<WaitKey>,
    /// Whether the stage may begin under the lease of the one before it.
    pub is_inline: bool,
}

/// What a position depends on besides the stage.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// What the item does.
    pub action: Action,
    /// Whose it is.
    pub institution: InstitutionId,
    /// The object's identifier.
    pub object_identifier: &'a str,
    /// The object, where it is known.
    pub object: Option<ObjectId>,
    /// See [`NewItem::source`].
    pub source: Option<&'a str>,
    /// See [`NewItem::options`].
    pub options: &'a str,
}

impl<'a> From<&'a Item> for Subject<'a> {
    fn from(item: &'a Item) -> Self {
        let Item { action, institution, object_identifier, object, source, options, .. } = item;
        let source = source.as_deref();
        Self { action: *action, institution: *institution, object_identifier, object: *object, source, options }
    }
}

impl<'a> From<&'a NewItem> for Subject<'a> {
    fn from(item: &'a NewItem) -> Self {
        let NewItem { action, institution, object_identifier, object, source, options, .. } = item;
        let source = source.as_deref();
        Self { action: *action, institution: *institution, object_identifier, object: *object, source, options }
    }
}

/// The registered workflows, as far as the record goes by them.
pub trait Workflows: Send + Sync {
    /// The stages of an action in their order; none where no such action is registered.
    fn stages(&self, action: Action) -> Vec<Stage>;

    /// Where an item is at one of the stages of its action.
    fn position(&self, subject: Subject<'_>, stage: Stage) -> Position;

    /// Where an item begins again that is to be taken up at `wanted`, which is one of its stages and none behind the one it
    /// stopped at: an earlier one where what that needs is gone, a later one where there is no way back.
    fn restart(&self, tx: &mut dyn Transaction, item: &Item, wanted: Stage) -> Result<Stage, RegistryError>;
}

/// No workflow at all: what a registry knows until some are registered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoWorkflows;

impl Workflows for NoWorkflows {
    fn stages(&self, _: Action) -> Vec<Stage> {
        Vec::new()
    }

    fn position(&self, _: Subject<'_>, stage: Stage) -> Position {
        Position { stage, topic: stage.to_string(), wait_key: None, is_inline: false }
    }

    fn restart(&self, _: &mut dyn Transaction, _: &Item, wanted: Stage) -> Result<Stage, RegistryError> {
        Ok(wanted)
    }
}

/// Where an item is: as its workflow says, or as the item says where that is not registered. A program that did not know
/// positions yet has written none, or that of an earlier stage.
pub(crate) fn here(workflows: &dyn Workflows, item: &Item) -> Position {
    position(workflows, Subject::from(item), item.stage).unwrap_or_else(|_| item.position())
}

/// The position of a stage of an item's action; an error where the action is not registered or has no such stage.
pub(crate) fn position(
    workflows: &dyn Workflows,
    subject: Subject<'_>,
    stage: Stage,
) -> Result<Position, RegistryError> {
    if workflows.stages(subject.action).contains(&stage) {
        Ok(workflows.position(subject, stage))
    } else {
        Err(RegistryError::NotFound { what: "stage", id: format!("{} {stage}", subject.action) })
    }
}
