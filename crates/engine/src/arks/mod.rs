//! ARKs of objects: given to them by deposits or by the minter of the settings, and registered with EZID. A name is chosen and recorded
//! here before anything else knows of it, so that a lost answer and a crash lose none. Deposits ask for an ARK in `resolve`
//! (`assign`); after each version a message of the outbox has EZID know what the version says (`updates`).

mod assign;
mod ezid;
mod updates;

use strongroom_ark::Ark;
use strongroom_registry::objects::{self, Object};
use strongroom_registry::{ObjectState, RegistryError, Scope, Transaction, object_ids};

pub(crate) use assign::assign;
pub(crate) use ezid::{Ezid, erc_lines};
pub(crate) use updates::{EzidUpdates, message};

/// Whether a text is meant as an ARK.
pub(crate) fn is_ark(text: &str) -> bool {
    text.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("ark:"))
}

/// The normal form of a text that is an ARK; any other text as it is.
pub(crate) fn normal(text: &str) -> String {
    text.trim().parse::<Ark>().map_or_else(|_| text.to_owned(), |ark| ark.normal().to_owned())
}

/// A published object by its ARK, in any form, or by what [`objects::find`] takes.
///
/// # Errors
/// There is none within the scope, or several fit.
pub(crate) fn find_object(tx: &mut dyn Transaction, scope: Scope, name: &str) -> Result<Object, RegistryError> {
    if !is_ark(name) {
        return objects::find(tx, scope, name);
    }
    let found = object_ids::by_ark(tx, scope, &normal(name))?.filter(|object| object.state != ObjectState::New);
    found.ok_or_else(|| RegistryError::NotFound { what: "object", id: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ark_is_known_in_every_form() {
        for text in ["ark:/99999/fk4abc", "ark:99999/fk4-abc", "ARK:/99999/fk4abc/", " ark:99999/fk4abc"] {
            assert_eq!(normal(text), "ark:/99999/fk4abc", "{text}");
        }
        assert_eq!(normal("ark:/"), "ark:/");
        assert!(is_ark("Ark:99999/x") && !is_ark("test.edu/ark:99999"));
    }
}
