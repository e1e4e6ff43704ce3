//! A pair of signature files made ready: every signature in the form in which it is matched, and who outranks whom.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use crate::answer::Span;
use crate::matching::index::Index;
use crate::matching::open::{Open, Pattern};
use crate::members::{Inside, Told};
use crate::signatures::{ContainerKind, Format, Release, SignatureSet};
use strongroom_archive::Source;

/// PRONOM's plain text, which has no signature but the text test.
const PLAIN_TEXT: &str = "x-fmt/111";

/// All that an identification needs to know.
#[derive(Debug)]
pub(crate) struct Knowledge {
    pub(crate) binary: Release,
    pub(crate) container: Option<Release>,
    pub(crate) formats: Vec<Arc<Format>>,
    pub(crate) signatures: Vec<Signature>,
    index: Index,
    pub(crate) plain_text: Option<u32>,
    triggers: Vec<(ContainerKind, u32)>,
    ole2: Inside,
    zip: Inside,
    by_extension: HashMap<String, Vec<u32>>,
    /// For each format all that it outranks, directly or not; sorted.
    outranks: Vec<Vec<u32>>,
    has_signature: Vec<bool>,
}

/// A byte signature made ready.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) id: u32,
    pub(crate) format: u32,
    pub(crate) pattern: Pattern,
    /// Its format also has container signatures: it counts only where the container cannot be read.
    pub(crate) stands_in: bool,
}

impl Knowledge {
    pub(crate) fn new(set: SignatureSet) -> Self {
        let count = set.formats.len();
        let mut has_signature = vec![false; count];
        let mut in_container = vec![false; count];
        let told = set.signatures.iter().map(|signature| signature.format);
        let inside = set.containers.iter().map(|signature| signature.format);
        inside.clone().for_each(|format| mark(&mut in_container, format));
        told.chain(inside).for_each(|format| mark(&mut has_signature, format));
        let mut by_extension: HashMap<String, Vec<u32>> = HashMap::new();
        for (index, format) in (0_u32..).zip(&set.formats) {
            for extension in &format.extensions {
                by_extension.entry(extension.clone()).or_default().push(index);
            }
        }
        let signatures: Vec<Signature> = set
            .signatures
            .iter()
            .map(|signature| Signature {
                id: signature.id,
                format: signature.format,
                pattern: Pattern::new(&signature.sequences),
                stands_in: in_container.get(signature.format as usize).copied().unwrap_or(false),
            })
            .collect();
        let plain_text = set.formats.iter().position(|format| format.puid == PLAIN_TEXT);
        Self {
            index: Index::new(signatures.iter().map(|signature| &signature.pattern)),
            signatures,
            plain_text: plain_text.map(|index| index as u32),
            ole2: Inside::new(ContainerKind::Ole2, &set.containers),
            zip: Inside::new(ContainerKind::Zip, &set.containers),
            by_extension,
            triggers: set.triggers,
            outranks: closure(&set.formats),
            has_signature,
            formats: set.formats.into_iter().map(Arc::new).collect(),
            binary: set.binary,
            container: set.container,
        }
    }

    /// Looks into a container. The error is one of the source.
    pub(crate) fn look_inside(&self, kind: ContainerKind, source: &dyn Source, deadline: Instant) -> io::Result<Told> {
        let inside = match kind {
            ContainerKind::Ole2 => &self.ole2,
            ContainerKind::Zip => &self.zip,
        };
        inside.look(kind, source, deadline)
    }

    /// The kind of container that a format asks to be looked into as.
    pub(crate) fn triggered(&self, format: u32) -> Option<ContainerKind> {
        self.triggers.iter().find(|(_, trigger)| *trigger == format).map(|(kind, _)| *kind)
    }

    /// Begins to follow those of some signatures, given by position, that are wanted.
    fn open<'k>(&'k self, numbers: &[u32], wanted: impl Fn(&Pattern) -> bool) -> Vec<Open<'k>> {
        let pattern = |number: &u32| Some((*number, &self.signatures.get(*number as usize)?.pattern));
        let patterns = numbers.iter().filter_map(pattern).filter(|(_, pattern)| wanted(pattern));
        patterns.map(|(number, pattern)| Open::new(number, pattern)).collect()
    }

    /// The signatures that the first bytes of many leave open, which have gone through them.
    pub(crate) fn open_by_beginning(&self, first: &[u8], size: Option<u64>) -> Vec<Open<'_>> {
        let candidates = self.index.candidates(first, false);
        let mut open = self.open(&candidates, |pattern| pattern.can_begin(first, false));
        open.retain_mut(|open| open.step(first, 0, size));
        open
    }

    /// The signatures about which only the end decides.
    pub(crate) fn open_by_end(&self) -> Vec<Open<'_>> {
        self.open(self.index.at_end(), |_| true)
    }

    /// The signatures, by position, that match bytes which are all at hand, and where.
    pub(crate) fn matches_in(&self, bytes: &[u8]) -> Vec<(u32, Vec<Span>)> {
        let size = bytes.len() as u64;
        let mut open = self.open(&self.index.candidates(bytes, true), |pattern| pattern.can_begin(bytes, true));
        open.extend(self.open(self.index.at_end(), |pattern| pattern.can_end(bytes)));
        let matched = |open: &mut Open<'_>| {
            let may = open.step_end(bytes, size) && open.step(bytes, 0, Some(size));
            may.then(|| open.matched()).flatten()
        };
        open.iter_mut().filter_map(|open| Some((open.id, matched(open)?))).collect()
    }

    pub(crate) fn outranks(&self, higher: u32, lower: u32) -> bool {
        self.outranks.get(higher as usize).is_some_and(|outranked| outranked.binary_search(&lower).is_ok())
    }

    pub(crate) fn has_signature(&self, format: u32) -> bool {
        self.has_signature.get(format as usize).copied().unwrap_or(false)
    }

    /// Formats that have this extension.
    pub(crate) fn with_extension(&self, extension: &str) -> &[u32] {
        self.by_extension.get(extension).map_or(&[], Vec::as_slice)
    }
}

fn mark(flags: &mut [bool], index: u32) {
    if let Some(flag) = flags.get_mut(index as usize) {
        *flag = true;
    }
}

/// All formats that each format outranks, over any number of steps.
fn closure(formats: &[Format]) -> Vec<Vec<u32>> {
    let direct = |index: u32| formats.get(index as usize).map_or(&[][..], |format| format.outranks.as_slice());
    let mut all = Vec::with_capacity(formats.len());
    for format in formats {
        let mut reached: Vec<u32> = Vec::new();
        let mut next: Vec<u32> = format.outranks.clone();
        while let Some(index) = next.pop() {
            if let Err(place) = reached.binary_search(&index) {
                reached.insert(place, index);
                next.extend(direct(index));
            }
        }
        all.push(reached);
    }
    all
}
