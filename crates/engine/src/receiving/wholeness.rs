//! Whether an object is whole, asked before the bytes of its depositor are removed unread or at all. Registry and stores must
//! both say so: the registry that every content has a verified copy in every store of the placement, and a listing of each
//! store that those copies lie there with their sizes. Nothing is read; what a listing lacks is left to fixity.

use strongroom_registry::{ObjectId, RegistryError, Scope, health, objects};

use crate::reconcile;
use crate::{EngineError, Home};

/// Keys of one store that are made due for a check at once; what else is missing is found by later checks.
const DOUBTED_AT_ONCE: usize = 1_000;

/// Why an object is not whole; `None` where it is. A store that cannot be listed is a reason, too.
pub(super) fn shortfall(home: &Home, object: ObjectId) -> Result<Option<String>, EngineError> {
    let Some(object) = home.registry.read(|tx| objects::get(tx, Scope::System, object))? else {
        return Ok(Some("the registry does not know its object".to_owned()));
    };
    let Some(placement) = object.description.placement.as_deref() else {
        return Ok(Some("its object has no placement".to_owned()));
    };
    let stores = match home.placement(placement) {
        Ok((_, stores)) => stores,
        Err(error) => return Ok(Some(error.chain())),
    };
    let names: Vec<String> = stores.iter().map(|(name, _)| name.clone()).collect();
    if let Some(reason) = home.registry.read(|tx| health::shortfall(tx, &object, &names))? {
        return Ok(Some(reason));
    }
    for (name, store) in &stores {
        let mut keys = Vec::new();
        let mut missing: u64 = 0;
        let listed = reconcile::missing_of_object(home, store.as_ref(), object.id, &mut |key| {
            missing += 1;
            if keys.len() < DOUBTED_AT_ONCE {
                keys.push(key.to_owned());
            }
        });
        if let Err(error) = listed {
            return Ok(Some(format!("store {name} could not be listed: {}", error.chain())));
        }
        if missing > 0 {
            let (id, store) = (object.id, name.clone());
            home.registry.write(move |tx| {
                health::doubt(tx, id, &store, &keys)?;
                Ok::<_, RegistryError>(())
            })?;
            return Ok(Some(format!("a listing of store {name} lacks {missing} of its keys, or shows other sizes")));
        }
    }
    Ok(None)
}
