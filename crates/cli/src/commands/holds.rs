//! The holds on an item, a batch or a collection, a line each.

use strongroom_engine::app::views::HoldView;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{minute, printable};

/// What holds something, since when, by whom and why, with the command that lifts it; nothing where nothing does.
pub(super) fn show_holds(holds: &[HoldView], context: &Context) -> Result<(), Failure> {
    if !holds.is_empty() {
        context.output.say("holds")?;
    }
    for hold in holds {
        let reason = hold.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let line = format!("  {} {} since {} by {}{reason}", hold.kind, hold.on, minute(&hold.since), hold.by);
        context.output.say(printable(&line))?;
        context.output.say(printable(&format!("    next: {}", hold.lifted_by())))?;
    }
    Ok(())
}
