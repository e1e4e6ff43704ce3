//! What must be true of a key for a put: left to the service where it honours that, else checked before.

use strongroom_storage::{Head, Key, PutCondition, StorageError};

use crate::failure::Failure;
use crate::head::head_of;
use crate::store::Inner;

/// The name under which each put that depends on something is kept with its object.
pub(crate) const PUT_TOKEN: &str = "strongroom-put";

/// What a request asks the service to look after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Nothing.
    None,
    /// `If-None-Match: *`.
    Absent,
    /// `If-Match` with this etag, quoted.
    Match(String),
}

impl Guard {
    pub(crate) fn if_none_match(&self) -> Option<String> {
        (*self == Self::Absent).then(|| "*".to_owned())
    }

    pub(crate) fn if_match(&self) -> Option<String> {
        match self {
            Self::Match(etag) => Some(etag.clone()),
            Self::None | Self::Absent => None,
        }
    }

    /// Whether a failure means that the condition does not hold.
    pub(crate) fn is_refused_by(&self, failure: &Failure) -> bool {
        *self != Self::None && (failure.is_condition() || (matches!(self, Self::Match(_)) && failure.is("NoSuchKey")))
    }
}

impl Inner {
    /// What to ask of the service. Where it does not check it, it is checked now, which leaves a moment in which
    /// someone else may come between: [`strongroom_storage::Capabilities::conditional_put`] says so.
    pub(crate) fn guard(&self, key: &Key, name: &str, condition: &PutCondition) -> Result<Guard, StorageError> {
        let probe = self.probed();
        match condition {
            PutCondition::Always => Ok(Guard::None),
            PutCondition::IfAbsent if probe.if_none_match => Ok(Guard::Absent),
            PutCondition::IfMatch(etag) if !is_etag(etag) => Err(self.refused(key, condition)),
            PutCondition::IfMatch(etag) if probe.if_match => Ok(Guard::Match(format!("\"{etag}\""))),
            PutCondition::IfAbsent | PutCondition::IfMatch(_) => {
                self.look_first(key, name, condition)?;
                Ok(Guard::None)
            }
        }
    }

    /// Refuses a put whose condition does not hold now.
    pub(crate) fn look_first(&self, key: &Key, name: &str, condition: &PutCondition) -> Result<(), StorageError> {
        let found = match self.head_object(name) {
            Ok(output) => Some(head_of(&output, self.probed()).etag),
            Err(failure) if failure.is_not_found() => match self.failed(failure, "inspect", key) {
                error if error.is_not_found() => None,
                error => return Err(error),
            },
            Err(failure) => return Err(self.failed(failure, "inspect", key)),
        };
        let holds = match condition {
            PutCondition::Always => true,
            PutCondition::IfAbsent => found.is_none(),
            PutCondition::IfMatch(etag) => found.as_ref() == Some(etag),
        };
        if holds { Ok(()) } else { Err(self.refused(key, condition)) }
    }

    /// What a put made that was refused: when the answer to its first attempt was lost, the second finds what the first
    /// had put.
    pub(crate) fn made_before(&self, key: &Key, name: &str, token: &str) -> Result<Option<Head>, StorageError> {
        match self.head_object(name) {
            Ok(output) => {
                let found = output.metadata().and_then(|metadata| metadata.get(PUT_TOKEN));
                Ok((found.map(String::as_str) == Some(token)).then(|| head_of(&output, self.probed())))
            }
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(self.failed(failure, "inspect", key)),
        }
    }

    pub(crate) fn refused(&self, key: &Key, condition: &PutCondition) -> StorageError {
        let condition = match condition {
            PutCondition::Always => "in any case".to_owned(),
            PutCondition::IfAbsent => "only where there is nothing".to_owned(),
            PutCondition::IfMatch(etag) => format!("only where the etag is {etag}"),
        };
        StorageError::Condition { store: self.name.clone(), key: key.clone(), condition }
    }
}

/// Whether a text can be an etag of this store: else it can be none that lies there.
pub(crate) fn is_etag(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"')
}
