//! A version's inventory, from sorted rows and with constant memory. Made from the same rows it is the same, byte for byte.

use std::fs::File;
use std::io;

use strongroom_database::DatabaseError;
use strongroom_digest::Digest;
use strongroom_ocfl::{
    InventoryHeader, InventorySeal, InventoryWriter, OcflError, User, VersionDetails, VersionNumber, object_id,
};
use strongroom_registry::Transaction;
use strongroom_registry::objects::Object;
use strongroom_registry::versions::{self, Version};
use strongroom_storage::Body;

use super::stages::write::spool;
use crate::error::chain;
use crate::layout::{content_path, version_number};
use crate::workflow::{StageContext, StageError};

/// An inventory in a file without a name.
pub(super) struct Inventory {
    file: File,
    /// Its digest and size.
    pub(super) seal: InventorySeal,
    /// The digest of the inventory that it takes the place of, which the stores should hold now; none for a first version.
    pub(super) replaces: Option<Digest>,
}

impl Inventory {
    /// Makes the inventory of a version that is being prepared or committed, from the rows as a transaction sees them.
    pub(super) fn of(
        context: &StageContext<'_>,
        tx: &mut dyn Transaction,
        version: &Version,
        object: &Object,
    ) -> Result<Self, StageError> {
        let header = InventoryHeader::new(object_id(&version.generation.to_string())?, version_number(version.number)?);
        let user_address = format!("https://{}/", context.item.institution_identifier);
        let mut seal = None;
        let mut replaces = None;
        let file = spool(|out| {
            let mut writer = InventoryWriter::new(out, &header)?;
            let aborted = |error: &dyn std::error::Error| DatabaseError::Aborted(chain(error));
            versions::manifest(tx, object.id, version.generation, version.number, &mut |sha512, place| {
                let path = content_path(place, &sha512).map_err(|error| aborted(&error))?;
                writer.manifest(&sha512, &path).map_err(|error| aborted(&error))
            })?;
            let mut all = versions::list(tx, object.id, version.generation, false)?;
            replaces = all.last().and_then(|published| published.inventory);
            all.retain(|one| one.number < version.number);
            all.push(version.clone());
            for one in &all {
                let number = number_of(one).map_err(|error| aborted(&error))?;
                let details = VersionDetails {
                    created: one.created_at.to_string(),
                    message: Some(one.message.clone()),
                    user: Some(User { name: one.user.clone(), address: Some(user_address.clone()) }),
                };
                writer.version(number, &details).map_err(|error| aborted(&error))?;
                versions::state(tx, object.id, version.generation, one.number, &mut |sha512, path| {
                    writer.state(&sha512, path).map_err(|error| aborted(&error))
                })?;
            }
            seal = Some(writer.finish()?.1);
            Ok(())
        })?;
        let seal = seal.ok_or_else(|| StageError::Transient("the inventory was not finished".into()))?;
        Ok(Self { file, seal, replaces })
    }

    /// Opens it from its first byte; several readers at once do not disturb each other.
    pub(super) fn open(&self) -> Result<Body, OcflError> {
        let failed = |source| OcflError::Io { act: "open an inventory again", source };
        Ok(Box::new(FromStart { file: self.file.try_clone().map_err(failed)?, at: 0 }))
    }
}

fn number_of(version: &Version) -> Result<VersionNumber, OcflError> {
    VersionNumber::new(u32::try_from(version.number).unwrap_or(u32::MAX))
}

/// Reads a file that others read too.
struct FromStart {
    file: File,
    at: u64,
}

impl io::Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = std::os::unix::fs::FileExt::read_at(&self.file, buffer, self.at)?;
        self.at += length as u64;
        Ok(length)
    }
}
