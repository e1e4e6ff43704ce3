//! A single file, as it is at a version.

use std::io;
use std::time::SystemTime;

use strongroom_registry::Scope;
use strongroom_registry::objects::{self, Object};

use super::proof::CopyReader;
use super::retrieval::Requested;
use super::target::{Delivery, Target};
use super::{file_id, object_name};
use crate::content_name::in_package;
use crate::workflow::{StageContext, StageError};

pub(super) fn give(
    context: &StageContext<'_>,
    target: &Target,
    version: Option<u64>,
) -> Result<(Object, Delivery), StageError> {
    let id = file_id(context)?;
    let scope = Scope::Institution(context.item.institution);
    let (object, file) = context
        .registry()
        .read(|tx| objects::file(tx, scope, id, version))?
        .ok_or_else(|| StageError::fatal(format!("the file {id} has been deleted")))?;
    let proof = CopyReader::new(context, &object, Requested::File(Box::new(file.clone())));
    let mut path = vec![object_name(&object)];
    path.extend(in_package(&file.path).split('/'));
    let modified = file.modified.map(SystemTime::from);
    let given = proof.until_right(|| {
        target.put(context, &path, modified, &mut |out| {
            proof.read(&file, &mut |bytes| match io::copy(bytes, out) {
                Ok(_) => Ok(()),
                Err(error) => match context.task.check() {
                    Err(reason) => Err(reason.into()),
                    Ok(()) => Err(StageError::Transient(format!("could not copy {:?}: {error}", file.path))),
                },
            })
        })
    })?;
    Ok((object, given))
}
