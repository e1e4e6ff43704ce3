//! States as fingerprints: the sum of keyed hashes of their entries, so that a hundred versions of a large object take no
//! more memory than one. The keys are drawn at random per validation; no collision can be prepared.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Read;

use strongroom_digest::Digest;

use super::facts::WrittenDigest;
use super::paths::PathTable;
use crate::inventory::{Event, read_events};
use crate::{Limits, OcflError, VersionNumber};

/// Two keyed hashes.
#[derive(Default)]
pub(super) struct Fingerprints(RandomState, RandomState);

/// The sum of the hashes of a set's members, and how many they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fingerprint(u64, u64, u64);

impl Fingerprints {
    pub(super) fn add(&self, print: &mut Fingerprint, member: (&str, &[u8])) {
        print.0 = print.0.wrapping_add(self.0.hash_one(member));
        print.1 = print.1.wrapping_add(self.1.hash_one(member));
        print.2 += 1;
    }

    /// A keyed hash of one text.
    pub(super) fn text(&self, text: &str) -> u64 {
        self.0.hash_one(text)
    }
}

/// Reads an inventory and returns for every version up to `last` a fingerprint by where contents lie instead of by their
/// digests, so that states compare across algorithms.
pub(super) fn states_by_place(
    input: impl Read,
    limits: Limits,
    prints: &Fingerprints,
    manifest: &PathTable<WrittenDigest>,
) -> Result<HashMap<u32, Fingerprint>, OcflError> {
    let mut places = HashMap::<Digest, (u32, &str)>::new();
    for (path, written) in manifest.iter() {
        let version = path.split('/').next().and_then(|name| name.parse::<VersionNumber>().ok());
        let place = (version.map_or(u32::MAX, VersionNumber::number), path);
        places.entry(written.digest).and_modify(|known| *known = place.min(*known)).or_insert(place);
    }
    let mut states = HashMap::<u32, Fingerprint>::new();
    let mut version = None;
    let mut is_state = false;
    let mut place = "";
    read_events(input, limits, &mut |event| {
        match event {
            Event::Version(name) => version = name.parse::<VersionNumber>().ok().map(VersionNumber::number),
            Event::State => is_state = true,
            Event::Manifest | Event::Fixity(_) | Event::VersionEnd => is_state = false,
            Event::Digest(text) => {
                let found = text.parse::<Digest>().ok().and_then(|digest| places.get(&digest));
                place = found.map_or("", |(_, path)| path);
            }
            Event::Path(path) if is_state => {
                if let Some(version) = version {
                    prints.add(states.entry(version).or_default(), (path, place.as_bytes()));
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(states)
}
