//! Receiving: what lies in the receiving stores, what it waits for, and what became of it.

use strongroom_registry::{UploadId, receiving as record};

use super::authorization::{RECEIVING_FORGET, RECEIVING_LIST, RECEIVING_SHOW};
use super::views::UploadView;
use super::{OpContext, PAGE, Page};
use crate::journal::Target;
use crate::{EngineError, receiving};

/// Uploads of an institution, or all, in order of their first sight, after `after`; also those that no longer lie there when
/// `gone_too`.
pub fn list(
    context: &OpContext,
    institution: Option<&str>,
    gone_too: bool,
    after: Option<UploadId>,
) -> Result<Page<UploadView, UploadId>, EngineError> {
    let authorized = context.authorize(&RECEIVING_LIST)?;
    let scope = authorized.scope_of(institution)?;
    let found = receiving::list(authorized.home(), scope, gone_too, after, PAGE)?;
    let next = found.last().map(|last| last.upload);
    Ok(Page { items: found.into_iter().map(UploadView::from).collect(), next })
}

/// The upload that a text names: its identifier, or a part of it that no other upload has.
pub fn named(context: &OpContext, text: &str) -> Result<UploadId, EngineError> {
    context.authorize(&RECEIVING_SHOW)?.named(text)
}

/// One upload.
pub fn show(context: &OpContext, upload: UploadId) -> Result<UploadView, EngineError> {
    let authorized = context.authorize(&RECEIVING_SHOW)?;
    Ok(receiving::show(authorized.home(), authorized.scope(), upload)?.into())
}

/// Forgets an upload as it is: the next scan treats it as new. Its work items stay on record.
pub fn forget(context: &OpContext, upload: UploadId) -> Result<(), EngineError> {
    let authorized = context.authorize(&RECEIVING_FORGET)?;
    let scope = authorized.scope();
    Ok(authorized.write(move |tx| {
        let found = record::forget(tx, scope, upload)?;
        Ok((Target::of(found.institution, format!("{}: {}", found.store, found.key)), ()))
    })?)
}
