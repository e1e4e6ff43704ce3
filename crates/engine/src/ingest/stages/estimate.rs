//! estimate: small deposits go before large ones that came at the same time. Never fails for want of a size.

use strongroom_registry::counted;
use strongroom_registry::items::NewItem;
use strongroom_registry::work;

use crate::workflow::{Outcome, StageContext, StageError};

/// Up to so many bytes, so much is added to the priority; ageing sees to it that large ones have their turn.
const STEPS: [(u64, i64); 3] = [(1 << 30, 0), (64 << 30, 5), (u64::MAX, 10)];

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    context.task.check()?;
    let size = context.item.size.unwrap_or(0);
    let add = STEPS.iter().find(|(limit, _)| size <= *limit).map_or(0, |(_, add)| *add);
    let priority = NewItem::PRIORITY + add;
    if priority != context.item.priority {
        context.with_end(move |tx, claim| work::set_priority(tx, claim, priority).map(|()| Vec::new()));
    }
    let note = match context.item.size {
        Some(size) => format!("{} to ingest", counted(size, "byte", "bytes")),
        None => "its size will be known when it is read".into(),
    };
    Ok(Outcome::Done { note })
}
