//! Watermarks: how far the runs of the same have come, in the words of their agents. An activity begins behind the watermark as it was when
//! the activity was made, and moves it in the transaction in which it ends well. So everything before a watermark was taken by an
//! activity that ended well, also where several run at once.

use strongroom_database::{Statement, Time, Transaction};
use uuid::Uuid;

use crate::model::activity::Activity;
use crate::model::ids::derived;
use crate::{ActivityId, InstitutionId, RegistryError};

/// A watermark as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivityWatermark {
    /// How far the runs have come.
    pub value: String,
    /// The activity that moved it there.
    pub activity: ActivityId,
    /// When.
    pub set_at: Time,
}

/// The watermark of this name; none where no run has ended well.
pub fn get(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
    name: &str,
) -> Result<Option<ActivityWatermark>, RegistryError> {
    let Some(row) = tx.query_one(Statement("watermarks.get"), &[id(institution, name).into()])? else {
        return Ok(None);
    };
    Ok(Some(ActivityWatermark {
        value: row.text("value")?.to_owned(),
        activity: ActivityId(row.uuid("activity_id")?),
        set_at: row.time("set_at")?,
    }))
}

/// Moves the watermark of an activity that has ended well, where it has one and noted how far it came.
pub(super) fn move_for(tx: &mut dyn Transaction, activity: &Activity) -> Result<(), RegistryError> {
    let (Some(name), Some(value)) = (&activity.watermark, &activity.watermark_to) else { return Ok(()) };
    let (institution, now) = (activity.institution, tx.now()?);
    let values =
        [id(institution, name).into(), institution.into(), name.into(), value.into(), activity.id.into(), now.into()];
    tx.execute(Statement("watermarks.set"), &values)?;
    Ok(())
}

fn id(institution: Option<InstitutionId>, name: &str) -> Uuid {
    derived(institution.map_or(Uuid::nil(), |id| id.0), &format!("watermark:{name}"))
}
