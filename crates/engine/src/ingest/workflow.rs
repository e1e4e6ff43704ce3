//! The workflow of a deposit: its stages in their order, and where a deposit begins again.

use strongroom_registry::items::Item;
use strongroom_registry::{Action, RegistryError, Stage as Name, Transaction, VersionState, interim, versions};

use super::remote;
use super::stages;
use super::sweep;
use crate::workflow::{Passes, Stage, StageContext, StageError, StageWork, WaitsFor, Workflow};

pub(super) const RECEIVE: Name = Name::named("receive");
pub(super) const ESTIMATE: Name = Name::named("estimate");
pub(super) const PROVISION: Name = Name::named("provision");
pub(super) const FETCH: Name = Name::named("fetch");
pub(super) const VALIDATE: Name = Name::named("validate");
pub(super) const RESOLVE: Name = Name::named("resolve");
pub(super) const COMPARE: Name = Name::named("compare");
pub(super) const WRITE: Name = Name::named("write");
pub(super) const RECORD: Name = Name::named("record");
pub(super) const NOTIFY: Name = Name::named("notify");
pub(crate) const CONFIRM: Name = Name::named("confirm");

/// A deposit.
pub(crate) const INGEST: Action = Action::named("ingest");

/// The stages of a deposit.
pub(crate) const WORKFLOW: Workflow = Workflow {
    action: INGEST,
    group: "ingest",
    stages: &[
        Stage { is_remote: Some(remote::has_remote_package), ..stage(RECEIVE, stages::receive, WaitsFor::Turn) },
        Stage { is_remote: Some(remote::has_remote_files), ..stage(ESTIMATE, stages::estimate, WaitsFor::Time) },
        stage(PROVISION, stages::provision, WaitsFor::Staging),
        Stage {
            passes: Passes::Once,
            is_remote: Some(remote::has_remote_files),
            ..stage(FETCH, stages::fetch, WaitsFor::Time)
        },
        stage(VALIDATE, stages::validate, WaitsFor::Time),
        stage(RESOLVE, stages::resolve, WaitsFor::Time),
        stage(COMPARE, stages::compare, WaitsFor::ObjectLease),
        stage(Name::named("gather"), stages::gather, WaitsFor::Time),
        stage(Name::named("characterize"), stages::characterize, WaitsFor::Time),
        Stage { passes: Passes::OncePerStore, ..stage(WRITE, stages::write, WaitsFor::ObjectLease) },
        Stage { passes: Passes::OncePerStore, ..stage(Name::named("verify"), stages::verify, WaitsFor::ObjectLease) },
        stage(RECORD, stages::record, WaitsFor::ObjectLease),
        stage(NOTIFY, stages::notify, WaitsFor::Time),
        stage(Name::named("cleanup"), stages::cleanup, WaitsFor::Time),
        stage(CONFIRM, stages::confirm, WaitsFor::Confirmation),
    ],
    restart: Some(restart),
    restage: Some(restage),
};

const fn stage(name: Name, run: StageWork, waits_for: WaitsFor) -> Stage {
    Stage { name, run, waits_for, inline: true, passes: Passes::None, is_remote: None }
}

/// Whether a deposit at `stage` has come as far as `reached`.
pub(crate) fn has_reached(stage: Name, reached: Name) -> bool {
    WORKFLOW.place(stage) >= WORKFLOW.place(reached)
}

/// Whether the bytes of a deposit at this stage were read to the end.
pub(crate) fn is_read(stage: Name) -> bool {
    has_reached(stage, VALIDATE)
}

/// Whether a deposit at this stage has come so far that its version is published, or that nothing was to be published.
pub(crate) fn is_taken_in(stage: Name) -> bool {
    has_reached(stage, NOTIFY)
}

fn restart(tx: &mut dyn Transaction, item: &Item, wanted: Name) -> Result<Name, RegistryError> {
    // What the earlier stages are for has been reached, also where no version was to be made.
    if item.stage == CONFIRM {
        return Ok(if has_reached(wanted, NOTIFY) { wanted } else { NOTIFY });
    }
    let version = versions::of_item(tx, item.id)?.map(|version| version.state);
    match version {
        Some(VersionState::Committing) => return Ok(RECORD),
        // What the earlier stages are for has been reached.
        Some(VersionState::Published) => {
            let is_later = has_reached(wanted, NOTIFY) && has_reached(item.stage, wanted);
            return Ok(if is_later { wanted } else { NOTIFY });
        }
        _ => {}
    }
    let is_behind = |stage: Name| wanted != stage && has_reached(wanted, stage);
    if is_behind(FETCH) && interim::fact(tx, item.id, "fetched")?.is_none() {
        return Ok(RECEIVE);
    }
    // What was begun was discarded, and is not resumed. While the item had ended, its identifiers may have become those of another
    // object.
    if has_reached(wanted, COMPARE) && version.is_none() {
        return Ok(RESOLVE);
    }
    // What was too large may be another package by now.
    if wanted == PROVISION && item.stage == PROVISION {
        return Ok(RECEIVE);
    }
    // Nothing is staged without room reserved for it, and what a failed item returned of its space may be what others wait for.
    if wanted == FETCH && (interim::has_returned(tx, item.id)? || !interim::has_reservation(tx, item.id)?) {
        return Ok(PROVISION);
    }
    Ok(wanted)
}

/// Discards what was staged and prepared, so that the next fetch is a first one. While the version is being committed it does
/// not: what the item knows of its files is needed to complete the version.
pub(super) fn restage(context: &StageContext<'_>) -> Result<Option<Name>, StageError> {
    let authority = context.authority();
    if let Some(version) = context.registry().read(|tx| versions::of_item(tx, context.item.id))? {
        match version.state {
            VersionState::Committing => return Ok(None),
            VersionState::Preparing => sweep::discard(context.home, &authority, &version)?,
            // Published: by an adoption of what the stores hold, while the registry had an earlier stage of the item. Its
            // deposit is fetched and compared anew.
            _ => {}
        }
    }
    sweep::clear_staging(context.home, context.item.id, &authority)?;
    Ok(Some(PROVISION))
}
