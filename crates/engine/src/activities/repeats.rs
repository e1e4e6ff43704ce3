//! Records that an agent finds and whose ids the list has already: nothing of them is written that the list does not say, and none that has
//! other content than the one that the list has is passed over in silence.

use strongroom_digest::{Algorithm, MultiHasher};
use strongroom_records::{Arrival, Listed, NewRecord, Population, RecordState, lists};
use strongroom_registry::{RegistryError, Transaction, documents};

use super::agent::{Found, Repeats};

/// What became of them.
#[derive(Default)]
pub(super) struct Settled<'f> {
    /// Those that the list has as they were found now: what was made of them is valid.
    pub(super) taken: Vec<&'f Found>,
    /// Records that have failed, under ids of their own.
    pub(super) again: Vec<NewRecord>,
    /// What was made of earlier states of records that the list has in a later one now.
    pub(super) earlier: Vec<String>,
}

/// Settles what was left out of an addition, in its transaction.
pub(super) fn settle<'f>(
    tx: &mut dyn Transaction,
    population: &Population,
    repeats: Repeats,
    found: impl Iterator<Item = &'f Found>,
) -> Result<Settled<'f>, RegistryError> {
    let mut settled = Settled::default();
    for one in found {
        let Some(listed) = lists::find(tx, population.list, &one.id)? else { continue };
        match (repeats, listed.state, &one.arrival) {
            (_, RecordState::Processed, Arrival::Processed { result }) if *result == listed.result => {
                settled.taken.push(one);
            }
            (_, RecordState::Failed, Arrival::Failed { error }) if listed.error.as_ref() == Some(error) => {}
            (Repeats::LaterState, RecordState::Processed | RecordState::Failed, _)
                if !is_earlier(tx, one, &listed)? && lists::supersede(tx, population, &listed, &one.arrival)? =>
            {
                settled.taken.push(one);
                if listed.state == RecordState::Processed {
                    settled.earlier.push(listed.result.unwrap_or_else(|| one.id.clone()));
                }
            }
            (Repeats::Another, RecordState::Processed | RecordState::Failed, arrival) => {
                settled.another(tx, population, one, (&listed, arrival))?;
            }
            // Those that a worker has, or that wait for one, end by that.
            _ => {}
        }
    }
    Ok(settled)
}

impl<'f> Settled<'f> {
    /// Settles a record that is another one than that of the list: the first good one has the id.
    fn another(
        &mut self,
        tx: &mut dyn Transaction,
        population: &Population,
        one: &'f Found,
        (listed, arrival): (&Listed, &Arrival),
    ) -> Result<(), RegistryError> {
        let kept = listed.result.as_deref().unwrap_or(&one.id);
        match arrival {
            Arrival::Processed { .. } if listed.state == RecordState::Failed => {
                if lists::supersede(tx, population, listed, arrival)? {
                    self.taken.push(one);
                    self.fail(&one.id, listed.error.as_deref().unwrap_or("it is not known why"));
                }
            }
            Arrival::Processed { result } => {
                let result = result.as_deref().unwrap_or(&one.id);
                let size = one.document.as_ref().map_or(0, |document| document.bytes.len());
                let error = format!(
                    "the source has, or had while it was read, several records of the identifier {:?}: {kept} was kept, and this one, {result} of {size} bytes, was not; \
                     next: give each an identifier of its own in the source, and run the harvest again",
                    one.id
                );
                self.again.push(again(&one.id, result, error));
            }
            Arrival::Failed { error } => self.fail(&one.id, error),
            Arrival::Todo => {}
        }
        Ok(())
    }

    fn fail(&mut self, id: &str, error: &str) {
        self.again.push(again(id, error, format!("another record of the identifier {id:?}: {error}")));
    }
}

/// A failed record beside one of the same id. Its own id follows from its content, so that it is there once when it is read again.
fn again(id: &str, content: &str, error: String) -> NewRecord {
    NewRecord { id: format!("{id} (again, {})", mark(content)), arrival: Arrival::Failed { error } }
}

/// A short name that follows from a text.
pub(super) fn mark(text: &str) -> String {
    let mut hasher = MultiHasher::new(&[Algorithm::Sha256]);
    hasher.update(text.as_bytes());
    let digest = hasher.finish().get(Algorithm::Sha256).map(|digest| digest.to_hex()).unwrap_or_default();
    digest.chars().take(8).collect()
}

/// Whether a document was changed before the one that the list has.
fn is_earlier(tx: &mut dyn Transaction, one: &Found, listed: &Listed) -> Result<bool, RegistryError> {
    let datestamp = one.document.as_ref().and_then(|document| document.datestamp.as_deref());
    let kept = listed.result.as_deref().and_then(documents::of_entity);
    let (Some(datestamp), Some(kept)) = (datestamp, kept) else { return Ok(false) };
    let kept = documents::get(tx, kept)?.and_then(|document| document.datestamp);
    Ok(kept.is_some_and(|kept| datestamp < kept.as_str()))
}
