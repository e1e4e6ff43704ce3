//! What is kept of the contents of a deposit, for the comparison with the stores: a deposit is unchanged only where every
//! store of the placement has a verified copy.

use strongroom_database::{DatabaseError, Row, Statement, Transaction};
use strongroom_digest::Digest;

use crate::interim::digest;
use crate::versions::ContentPlace;
use crate::{ContentId, CopyState, ItemId, RegistryError, VersionId};

/// A content of a deposit that an earlier version brought, as the registry knows it in one store.
#[derive(Debug, Clone)]
pub struct KeptContent {
    /// The content.
    pub content: ContentId,
    /// Its SHA-512.
    pub sha512: Digest,
    /// Bytes.
    pub size: u64,
    /// Where it lies in the object.
    pub place: ContentPlace,
    /// Its copy in the store, where one is recorded.
    pub copy: Option<KeptCopy>,
    /// Where its bytes lie in the staging of the item: key and first byte.
    pub staged: (String, u64),
}

/// A copy as it is recorded.
#[derive(Debug, Clone)]
pub struct KeptCopy {
    /// Its key in the store.
    pub key: String,
    /// What is known of it.
    pub state: CopyState,
    /// Whether it was read back, or attested, since it was written.
    pub is_verified: bool,
}

/// Hands over the contents of an item's deposit that versions up to `head` brought, in byte order of the key of their copy
/// in a store; those without a recorded copy come in no order.
pub fn kept_contents(
    tx: &mut dyn Transaction,
    item: ItemId,
    store: &str,
    head: u64,
    take: &mut dyn FnMut(KeptContent) -> Result<(), DatabaseError>,
) -> Result<(), RegistryError> {
    tx.query_each(Statement("copies.of_deposit"), &[item.into(), store.into(), head.into()], &mut |row| {
        let kept = kept_row(&row).map_err(|error| DatabaseError::Aborted(error.to_string()))?;
        take(kept)
    })?;
    Ok(())
}

fn kept_row(row: &Row) -> Result<KeptContent, RegistryError> {
    let copy = match row.optional_text("key")? {
        None => None,
        Some(key) => Some(KeptCopy {
            key: key.to_owned(),
            state: row.text("state")?.parse()?,
            is_verified: row.optional_time("verified_at")?.is_some(),
        }),
    };
    Ok(KeptContent {
        content: ContentId(row.uuid("id")?),
        sha512: digest(row, "sha512")?,
        size: row.count("size")?,
        place: ContentPlace { version: row.count("version")?, owner: row.optional_uuid("version_id")?.map(VersionId) },
        copy,
        staged: (row.text("staging_key")?.to_owned(), row.count("staging_offset")?),
    })
}
