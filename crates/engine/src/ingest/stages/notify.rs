//! notify: the message of the deposit. What is to be delivered is put out once, whatever happens to this stage.

use strongroom_registry::{Part, Parts, outbox, parts};

use crate::workflow::{Outcome, StageContext, StageError};

#[expect(clippy::unnecessary_wraps, reason = "every stage may fail")]
pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let item = context.item.clone();
    context.with_end(move |tx, claim| {
        strongroom_registry::work::check_fence(tx, claim)?;
        let (part, all) = parts::of_deposit(tx, &item)?.unzip();
        let all = all.flatten();
        let payload = serde_json::json!({
            "item": item.id,
            "batch": item.batch,
            "object": item.object,
            "identifier": item.object_identifier,
            "version": item.version,
            "note": item.note,
            "part": part.map(Part::number),
            "parts": part.map(Part::total),
            "missing_parts": all.as_ref().map(Parts::missing),
        });
        let key = format!("ingested {}", claim.item);
        outbox::insert(tx, item.institution, claim.item, &key, "ingested", &payload.to_string()).map(|()| Vec::new())
    });
    // What `record` or `compare` said is what people want to read in the end.
    Ok(Outcome::Done { note: context.item.note.clone().unwrap_or_default() })
}
