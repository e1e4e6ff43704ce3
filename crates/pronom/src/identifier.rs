//! Identification of bytes that can be read anywhere: the beginning, the end where it matters, the inside where it is a
//! container, and the rest only while something open can still win.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use crate::answer::{Identification, Span, Warning};
use crate::error::PronomError;
use crate::knowledge::Knowledge;
use crate::matching::open::{Open, Run};
use crate::observation::Observation;
use crate::options::Options;
use crate::ranking::{Evidence, FileName, weigh};
use crate::signatures::{Release, SignatureSet};
use strongroom_archive::Source;

/// So much of the beginning is inspected first. Nearly all signatures are decided by it.
pub(crate) const HEAD: usize = 128 << 10;
/// So much of the end is inspected first: of signatures that look further few are left by then.
const NEAR_END: u64 = 4 << 10;
/// The rest is read in blocks of this size.
const BLOCK: usize = 256 << 10;

/// Identifies files by one pair of signature files. Cheap to clone, shared between threads.
#[derive(Clone)]
pub struct Identifier(Arc<Knowledge>);

impl fmt::Debug for Identifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Identifier").field(&self.signatures()).finish()
    }
}

impl Identifier {
    /// Makes ready a set of signatures.
    pub fn new(set: SignatureSet) -> Self {
        Self(Arc::new(Knowledge::new(set)))
    }

    /// With the signatures that ship with the crate.
    pub fn builtin() -> Result<Self, PronomError> {
        Ok(Self::new(crate::builtin::signatures()?))
    }

    /// The binary signature file in use.
    pub fn binary_release(&self) -> &Release {
        &self.0.binary
    }

    /// The container signature file in use.
    pub fn container_release(&self) -> Option<&Release> {
        self.0.container.as_ref()
    }

    /// The names of the signature files in use, as they are recorded with an answer:
    /// `DROID_SignatureFile_V125; container-signature-20260119`.
    pub fn signatures(&self) -> String {
        match &self.0.container {
            Some(container) => format!("{}; {}", self.0.binary.name, container.name),
            None => self.0.binary.name.clone(),
        }
    }

    /// Identifies bytes that can be read anywhere. Only the extension of `name` counts. Errors are the source's.
    pub fn identify(&self, name: &str, source: &dyn Source, options: &Options) -> io::Result<Identification> {
        let size = source.size();
        let look = Look {
            knowledge: &self.0,
            source,
            size,
            window: options.window.unwrap_or(u64::MAX).min(size),
            deadline: Instant::now() + options.time_limit,
        };
        let mut evidence = Evidence::new(FileName::new(name), size);
        look.run(&mut evidence)?;
        Ok(weigh(&self.0, evidence))
    }

    /// Identifies bytes that pass by once.
    pub fn observe(&self, name: &str, options: &Options) -> Observation<'_> {
        Observation::new(&self.0, FileName::new(name), *options)
    }
}

/// Takes down the signatures that matched, which are known by their position.
pub(crate) fn note(knowledge: &Knowledge, matched: Vec<(u32, Vec<Span>)>, evidence: &mut Evidence) {
    for (number, spans) in matched {
        if let Some(signature) = knowledge.signatures.get(number as usize) {
            evidence.hit(signature, spans);
        }
    }
}

/// One identification on its way.
struct Look<'l> {
    knowledge: &'l Knowledge,
    source: &'l dyn Source,
    size: u64,
    /// So many bytes at each end are inspected.
    window: u64,
    deadline: Instant,
}

impl Look<'_> {
    fn run(&self, evidence: &mut Evidence) -> io::Result<()> {
        let knowledge = self.knowledge;
        let head = self.read(0, self.window.min(HEAD as u64))?;
        let is_whole = head.len() as u64 == self.size;
        evidence.keep_beginning(&head, is_whole);
        if is_whole {
            note(knowledge, knowledge.matches_in(&head), evidence);
            return self.look_inside(&head, evidence);
        }
        let mut open = knowledge.open_by_beginning(&head, Some(self.size));
        // What the beginning cannot rule out, the end can: only what it leaves is looked for elsewhere.
        let mut by_end = knowledge.open_by_end();
        self.look_at_end(&mut open, &mut by_end)?;
        by_end.retain_mut(|open| open.step(&head, 0, Some(self.size)));
        open.append(&mut by_end);
        let mut run = Run::new(open, &head, false);
        note(knowledge, run.take_matched(), evidence);
        self.look_inside(&head, evidence)?;
        self.scan(&mut run, evidence)
    }

    fn read(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.fill(offset, &mut bytes)?;
        Ok(bytes)
    }

    fn fill(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        if self.source.read_at(offset, bytes)? < bytes.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was read"));
        }
        Ok(())
    }

    /// Inspects the end, no further than what is open asks for.
    fn look_at_end(&self, open: &mut Vec<Open<'_>>, by_end: &mut Vec<Open<'_>>) -> io::Result<()> {
        for limit in [NEAR_END, u64::MAX] {
            let asked = open.iter().chain(by_end.iter()).map(Open::depth).max().unwrap_or(0);
            let depth = asked.min(limit).min(self.window);
            if depth > 0 {
                let end = self.read(self.size - depth, depth)?;
                open.retain_mut(|open| open.step_end(&end, self.size));
                by_end.retain_mut(|open| open.step_end(&end, self.size));
            }
        }
        Ok(())
    }

    fn look_inside(&self, head: &[u8], evidence: &mut Evidence) -> io::Result<()> {
        if let Some(kind) = evidence.container_kind(self.knowledge, head) {
            evidence.inside(self.knowledge.look_inside(kind, self.source, self.deadline)?);
        }
        Ok(())
    }

    /// Reads on while something open can still win.
    fn scan(&self, run: &mut Run<'_>, evidence: &mut Evidence) -> io::Result<()> {
        let mut block = Vec::new();
        loop {
            run.retain(|number| evidence.could_use(self.knowledge, number));
            let length = (BLOCK as u64).min(self.window.saturating_sub(run.position()));
            if self.window < self.size && !run.is_empty() && (length == 0 || !run.is_going()) {
                evidence.warn(Warning::WindowLimited { window: self.window });
            }
            if length == 0 || !run.is_going() {
                return Ok(());
            }
            if Instant::now() >= self.deadline {
                evidence.warn(Warning::TimeSpent);
                return Ok(());
            }
            block.resize(length as usize, 0);
            self.fill(run.position(), &mut block)?;
            run.update(&block, Some(self.size));
            note(self.knowledge, run.take_matched(), evidence);
        }
    }
}
