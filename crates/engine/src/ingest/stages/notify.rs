//! notify: the message of the deposit. What is to be delivered is put out once, whatever happens to this stage.

use strongroom_registry::{Part, Parts, outbox, parts};

use crate::workflow::{Outcome, StageContext, StageError};

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    // What `record` or `compare` said is what people want to read in the end.
    let note = context.said_before()?;
    let (item, said) = (context.item.clone(), note.clone());
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
            "note": said,
            "part": part.map(Part::number),
            "parts": part.map(Part::total),
            "missing_parts": all.as_ref().map(Parts::missing),
        });
        let key = format!("ingested {}", claim.item);
        outbox::insert(tx, item.institution, claim.item, &key, "ingested", &payload.to_string()).map(|()| Vec::new())
    });
    Ok(Outcome::Done { note })
}
