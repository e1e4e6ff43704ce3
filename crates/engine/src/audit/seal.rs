//! Appending what is pending to its chain, behind those who act: they write no row that others write too.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use strongroom_audit::{KEY_ACT, Link, NO_KEY, Sha256};
use strongroom_registry::audit::{self as rows, Act, Chain, NewEntry};
use strongroom_registry::{InstitutionId, RegistryError};

use super::{entry, is_suspended, unfit};
use crate::runtime::Shutdown;
use crate::{EngineError, Home, crash_point};

/// Acts of each table that are appended in one transaction.
const AT_ONCE: usize = 500;
/// How often it is tried while other processes append to the same chains.
const TRIES: u32 = 20;

/// Appends everything that is pending; how many entries.
pub(super) fn seal(home: &Home, stop: &Shutdown) -> Result<u64, EngineError> {
    let (mut sealed, mut tries) = (0, 0);
    while !stop.is_requested() && !is_suspended(home)? {
        let (chains, pending) =
            home.registry.read(|tx| Ok::<_, RegistryError>((rows::chains(tx)?, rows::pending(tx, AT_ONCE)?)))?;
        let rows::Pending { acts, known } = pending;
        if acts.is_empty() && known.is_empty() {
            break;
        }
        let (count, parts) = (acts.len() as u64, in_chains(chains, &acts)?);
        let appended = home.registry.write(move |tx| {
            rows::are_sealed(tx, &known)?;
            for part in &parts {
                rows::append(tx, &part.from, &part.to, &part.entries)?;
            }
            Ok::<_, RegistryError>(())
        });
        match appended {
            Ok(()) => {
                crash_point("audit.sealed");
                sealed += count;
                tries = 0;
            }
            // Another process has appended them.
            Err(RegistryError::FenceLost { .. }) if tries < TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sealed)
}

/// What is appended to one chain.
struct Part {
    from: Chain,
    to: Chain,
    counts: BTreeMap<String, u64>,
    entries: Vec<NewEntry>,
}

fn in_chains(chains: Vec<Chain>, acts: &[Act]) -> Result<Vec<Part>, EngineError> {
    let names: BTreeMap<InstitutionId, String> =
        chains.iter().filter_map(|chain| Some((chain.institution?, chain.name.clone()))).collect();
    let mut known: BTreeMap<String, Chain> = chains.into_iter().map(|chain| (chain.name.clone(), chain)).collect();
    let mut parts: BTreeMap<String, Part> = BTreeMap::new();
    for act in acts {
        let institution = act.institution();
        let name = institution.map_or(rows::SYSTEM, |(id, name)| names.get(&id).map_or(name, String::as_str));
        let part = match parts.entry(name.to_owned()) {
            Entry::Occupied(part) => part.into_mut(),
            Entry::Vacant(place) => {
                let id = institution.map(|(id, _)| id);
                let chain = known.remove(name).unwrap_or_else(|| Chain::new(name, id));
                place.insert(Part::of(chain, id)?)
            }
        };
        part.add(act)?;
    }
    parts.into_values().map(Part::finish).collect()
}

impl Part {
    fn of(from: Chain, institution: Option<InstitutionId>) -> Result<Self, EngineError> {
        // A chain that was read in the stores may be of an institution that the registry did not know then.
        let to = Chain { institution, ..from.clone() };
        Ok(Self { counts: counts(&from)?, from, to, entries: Vec::new() })
    }

    fn finish(mut self) -> Result<Self, EngineError> {
        self.to.counts = counts_of(&self.counts)?;
        Ok(self)
    }

    fn add(&mut self, act: &Act) -> Result<(), EngineError> {
        let link = Link::at(self.to.name.clone(), self.to.sequence, Sha256(self.to.sha256));
        let body = entry::body(act);
        let (line, link) = link
            .append(&act.time().to_string(), &body)
            .map_err(|error| unfit("an act that can be an entry", &error))?;
        let (source, id) = act.key();
        self.to.sequence = link.sequence();
        self.to.sha256 = link.sha256().0;
        let count = self.counts.entry(source.to_owned()).or_default();
        *count = count.saturating_add(1);
        let announced = match act {
            Act::Line { line, .. } if line.act == KEY_ACT => Some(line.target.clone()),
            _ => None,
        };
        if let Some(key) = &announced {
            self.to.signing_key = Some(key.clone()).filter(|key| key != NO_KEY);
        }
        self.entries.push(NewEntry { key: (source, id), line, announced });
        Ok(())
    }
}

/// The counts of a chain as its row has them.
pub(super) fn counts_of(counts: &BTreeMap<String, u64>) -> Result<String, EngineError> {
    let text = serde_json::to_string(counts);
    Ok(text.map_err(|error| RegistryError::Corrupt { wanted: "counts of an audit chain", found: error.to_string() })?)
}

/// How many entries of what a chain has.
pub(super) fn counts(chain: &Chain) -> Result<BTreeMap<String, u64>, EngineError> {
    let counts = serde_json::from_str(&chain.counts);
    Ok(counts
        .map_err(|_| RegistryError::Corrupt { wanted: "counts of an audit chain", found: chain.counts.clone() })?)
}
