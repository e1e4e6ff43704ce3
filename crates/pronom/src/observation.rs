//! Identification of bytes that pass by once, beside whatever else is done with them: the beginning is kept until it is
//! decided on, the end as far as signatures look back, and nothing else.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::answer::{Identification, Warning};
use crate::identifier::{HEAD, note};
use crate::knowledge::Knowledge;
use crate::matching::open::{Open, Run};
use crate::members::Told;
use crate::options::Options;
use crate::ranking::{Evidence, FileName, weigh};
use crate::signatures::ContainerKind;
use strongroom_archive::Source;

/// An identification of bytes that pass by once, in order.
pub struct Observation<'i> {
    knowledge: &'i Arc<Knowledge>,
    options: Options,
    evidence: Evidence,
    /// The first bytes, until there are enough of them.
    head: Vec<u8>,
    kind: Option<ContainerKind>,
    /// What the beginning left open.
    run: Option<Run<'i>>,
    size: u64,
    /// Time spent here, without that of the source of the bytes.
    spent: Duration,
}

impl fmt::Debug for Observation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Observation").field("size", &self.size).field("evidence", &self.evidence).finish()
    }
}

/// What a stream told.
#[derive(Debug)]
pub enum Observed {
    /// All there is to know.
    Complete(Identification),
    /// It is a container, and its inside needs to be read from where the bytes lie by now.
    Container(Pending),
}

/// An identification that waits for the inside of a container.
pub struct Pending {
    knowledge: Arc<Knowledge>,
    options: Options,
    kind: ContainerKind,
    evidence: Evidence,
}

impl fmt::Debug for Pending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pending").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<'i> Observation<'i> {
    pub(crate) fn new(knowledge: &'i Arc<Knowledge>, name: FileName, options: Options) -> Self {
        Self {
            knowledge,
            options,
            evidence: Evidence::new(name, 0),
            head: Vec::new(),
            kind: None,
            run: None,
            size: 0,
            spent: Duration::ZERO,
        }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let start = Instant::now();
        let mut rest = bytes;
        if self.run.is_none() {
            let (first, after) = rest.split_at(rest.len().min(HEAD - self.head.len()));
            self.head.extend_from_slice(first);
            rest = after;
            if self.head.len() == HEAD && !rest.is_empty() {
                self.begin_run();
            }
        }
        self.size += bytes.len() as u64;
        if let Some(run) = self.run.as_mut().filter(|_| !rest.is_empty()) {
            let is_beyond = self.options.window.is_some_and(|window| run.position() >= window);
            if run.is_going() && (is_beyond || self.spent >= self.options.time_limit) {
                self.evidence.warn(match self.options.window {
                    Some(window) if is_beyond => Warning::WindowLimited { window },
                    _ => Warning::TimeSpent,
                });
                run.stop_forward();
            }
            run.update(rest, None);
            note(self.knowledge, run.take_matched(), &mut self.evidence);
            let (knowledge, evidence) = (&**self.knowledge, &self.evidence);
            run.retain(|number| evidence.could_use(knowledge, number));
        }
        self.spent += start.elapsed();
    }

    /// Decides on the beginning.
    fn begin_run(&mut self) {
        let knowledge = &**self.knowledge;
        let head = std::mem::take(&mut self.head);
        self.evidence.keep_beginning(&head, false);
        // What only the end says has to be followed from here on, the end being unknown.
        let mut by_end = Run::new(knowledge.open_by_end(), &[], false);
        by_end.update(&head, None);
        let mut open: Vec<Open<'i>> = by_end.into_open();
        open.extend(knowledge.open_by_beginning(&head, None));
        let mut run = Run::new(open, &head, true);
        note(knowledge, run.take_matched(), &mut self.evidence);
        self.kind = self.evidence.container_kind(knowledge, &head);
        if self.kind.is_some() {
            self.evidence.expect_inside();
        }
        let evidence = &self.evidence;
        run.retain(|number| evidence.could_use(knowledge, number));
        self.run = Some(run);
    }

    /// Ends the stream.
    pub fn finish(mut self) -> Observed {
        self.evidence.size = self.size;
        let Some(run) = self.run.take() else {
            return Observed::Complete(self.of_few_bytes());
        };
        note(self.knowledge, run.finish(), &mut self.evidence);
        // A format that asks for a look inside may have been decided by the end.
        match self.kind.or_else(|| self.evidence.container_kind(self.knowledge, &[])) {
            None => Observed::Complete(weigh(self.knowledge, self.evidence)),
            Some(kind) => Observed::Container(Pending {
                knowledge: Arc::clone(self.knowledge),
                options: self.options,
                kind,
                evidence: self.evidence,
            }),
        }
    }

    /// All bytes are at hand.
    fn of_few_bytes(mut self) -> Identification {
        let knowledge = &**self.knowledge;
        let head = self.head.as_slice();
        self.evidence.keep_beginning(head, true);
        note(knowledge, knowledge.matches_in(head), &mut self.evidence);
        if let Some(kind) = self.evidence.container_kind(knowledge, head) {
            let deadline = Instant::now() + self.options.time_limit;
            // Bytes in memory do not fail to be read.
            if let Ok(told) = knowledge.look_inside(kind, &head, deadline) {
                self.evidence.inside(told);
            }
        }
        weigh(knowledge, self.evidence)
    }
}

impl Pending {
    /// Looks inside. `source` has the bytes that were observed; errors are the source's.
    pub fn finish(mut self, source: &dyn Source) -> io::Result<Identification> {
        let deadline = Instant::now() + self.options.time_limit;
        self.evidence.inside(self.knowledge.look_inside(self.kind, source, deadline)?);
        Ok(weigh(&self.knowledge, self.evidence))
    }

    /// Does without; the answer rests on the bytes and says why.
    pub fn give_up(mut self, reason: &str) -> Identification {
        self.evidence.inside(Told { unreadable: Some(reason.to_owned()), ..Told::default() });
        weigh(&self.knowledge, self.evidence)
    }
}
