//! Agents that send documents to another system, such as a search index: in batches, with an outcome for each document.
//!
//! What the sink says it has taken is a processed record, with its provenance, and survives the end of the worker. It is made visible once, when every
//! record of the activity has ended, by [`Sink::commit`]; where a worker ends at that moment, another one does it again. An activity that is cancelled
//! makes nothing visible by itself.

use strongroom_registry::documents::Document;

use super::agent::{OpenAgent, RecordOutcome, Work};
use super::error::{AgentError, Stop};
use super::input::document_of;

/// Bytes of documents that are sent at once, unless one alone has more.
const MOST_BYTES: usize = 8 << 20;
/// Batches that are claimed, and whose ends are committed together; and the most records of them.
const BATCHES: usize = 10;
const CHUNK: usize = 1_000;

/// Why a sink has not taken what it was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// The work is to stop.
    #[error(transparent)]
    Stopped(#[from] Stop),
    /// It is away, and nothing was taken: all is sent again later.
    #[error("{0}")]
    Away(String),
    /// It refuses what it was sent as a whole.
    #[error("{0}")]
    Refused(String),
}

impl From<SinkError> for AgentError {
    fn from(error: SinkError) -> Self {
        match error {
            SinkError::Stopped(stop) => Self::Stop(stop),
            SinkError::Away(error) => Self::Transient(error),
            SinkError::Refused(error) => Self::Fatal(error),
        }
    }
}

/// What came of one document: what it is called in the sink, where that is not the name of the document, or why it was not taken.
pub type Sent = Result<Option<String>, String>;

/// A system that takes documents. What is sent twice is there once.
pub trait Sink: Send + Sync {
    /// Sends documents, and answers for each, in their order. What it has taken is not lost where this process ends.
    ///
    /// # Errors
    /// It can only answer for all of them: where it refuses them they are sent in parts, so that only what is wrong fails.
    fn send(&self, documents: &[Document], work: &Work<'_>) -> Result<Vec<Sent>, SinkError>;

    /// Makes visible what was sent, also by workers that have ended.
    ///
    /// # Errors
    /// It cannot be done now, or at all.
    fn commit(&self, work: &Work<'_>) -> Result<(), SinkError>;
}

/// An agent that sends to a sink, for an activity.
pub struct Sending<S> {
    sink: S,
    batch: usize,
}

impl<S: Sink> Sending<S> {
    /// Sends at most so many documents at once.
    pub fn new(sink: S, batch: usize) -> Self {
        Self { sink, batch: batch.max(1) }
    }

    /// Sends documents, in parts where they are refused as a whole; adds what came of each, in their order, as far as it comes.
    fn send(&self, documents: &[Document], sent: &mut Vec<RecordOutcome>, work: &Work<'_>) -> Result<(), SinkError> {
        work.check()?;
        let reason = match self.sink.send(documents, work) {
            Ok(answers) if answers.len() == documents.len() => {
                sent.extend(documents.iter().zip(answers).map(|(document, answer)| outcome(document, answer)));
                return Ok(());
            }
            Ok(answers) => format!("the answer is for {} of {} documents", answers.len(), documents.len()),
            Err(SinkError::Refused(reason)) => reason,
            Err(error) => return Err(error),
        };
        if let [one] = documents {
            sent.push(outcome(one, Err(reason)));
            return Ok(());
        }
        let (first, second) = documents.split_at(documents.len() / 2);
        self.send(first, sent, work)?;
        self.send(second, sent, work)
    }
}

fn outcome(document: &Document, sent: Sent) -> RecordOutcome {
    match sent {
        Ok(result) => RecordOutcome::processed(result),
        Err(error) => RecordOutcome::Failed { error: format!("the record {}: {error}", document.record) },
    }
}

impl<S: Sink> OpenAgent for Sending<S> {
    fn chunk(&self) -> usize {
        (self.batch * BATCHES).min(CHUNK).max(self.batch)
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn process(&self, record: &str, work: &Work<'_>) -> RecordOutcome {
        let outcome = self.process_batch(&[record], work).pop();
        outcome.unwrap_or_else(|| RecordOutcome::Failed { error: "the sink does not say what came of it".to_owned() })
    }

    fn process_batch(&self, records: &[&str], work: &Work<'_>) -> Vec<RecordOutcome> {
        let mut outcomes = Vec::with_capacity(records.len());
        let mut records = records.iter().peekable();
        while records.peek().is_some() {
            // None for what is sent.
            let (mut read, mut documents, mut bytes) = (Vec::new(), Vec::new(), 0);
            while bytes < MOST_BYTES
                && let Some(record) = records.next()
            {
                match document_of(record, work) {
                    Ok(document) => {
                        bytes += document.bytes.len();
                        documents.push(document);
                        read.push(None);
                    }
                    Err(outcome) => read.push(Some(outcome)),
                }
            }
            let mut sent = Vec::with_capacity(documents.len());
            let end = if documents.is_empty() { Ok(()) } else { self.send(&documents, &mut sent, work) };
            let mut sent = sent.into_iter();
            outcomes.extend(read.into_iter().map_while(|one| one.or_else(|| sent.next())));
            if let Err(error) = end {
                outcomes.push(RecordOutcome::Stopped(error.into()));
                break;
            }
        }
        outcomes
    }

    fn finish(&self, work: &Work<'_>) -> Result<(), AgentError> {
        Ok(self.sink.commit(work)?)
    }
}
