//! What an agent is. One file per agent implements [`Agent`], with its options, and [`OpenAgent`], with what it does.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use strongroom_records::{Arrival, Takes};
use strongroom_registry::activities::Activity;
use strongroom_registry::documents::Document;
use strongroom_registry::journal::Actor;
use strongroom_registry::{InstitutionId, RegistryError, Scope, Transaction};

use super::error::{AgentError, Stop};
use crate::{EngineError, Home};

/// Where the records of an agent come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentInput {
    /// The agent finds them.
    Source,
    /// Another activity has processed them.
    Activity(Takes),
    /// Either: the agent finds them where no activity is named.
    SourceOrActivity(Takes),
}

/// What the results of an agent are, for those that take them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Makes {
    /// Documents that describe something, as they were read or made.
    Documents,
    /// Documents with what a program said of something.
    Outcomes,
    /// Work items.
    WorkItems,
    /// What it was given.
    Input,
    /// Something else.
    Other,
}

impl Makes {
    /// Whether an agent takes it, from an agent of this name.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn check_for(self, taker: &dyn Agent, maker: &str) -> Result<(), EngineError> {
        if taker.takes(self) {
            return Ok(());
        }
        let (taker, made) = (taker.name(), self.in_words());
        let text = format!("the agent {taker} cannot take what the agent {maker} makes: {made}");
        Err(EngineError::Usage(text).next("\"strongroom activity agents\" says what each agent does"))
    }

    /// In words, as in "it makes ...".
    fn in_words(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::Outcomes => "what a program said of files",
            Self::WorkItems => "work items",
            Self::Input | Self::Other => "nothing that it can take",
        }
    }
}

/// An option of an agent, for people.
#[derive(Debug, Clone, Copy)]
pub struct AgentOption {
    /// Its name.
    pub name: &'static str,
    /// The value where none is given; empty where there is none.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// An activity that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The options: a JSON object of texts and lists of texts.
    pub options: &'a Value,
    /// What the actor acts for.
    pub scope: Scope,
    /// Whose the activity is.
    pub institution: Option<InstitutionId>,
    /// Whether its records come from another activity.
    pub has_input: bool,
}

/// What an agent says of an activity before it is made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Planned {
    /// The options as the activity keeps them, which any worker understands.
    pub options: Value,
    /// The name of the watermark that it moves: activities of the same source have the same.
    pub watermark: Option<String>,
}

/// An agent: what can be done with records.
pub trait Agent: Send + Sync {
    /// The name.
    fn name(&self) -> &'static str;

    /// What it does, in a sentence.
    fn about(&self) -> &'static str;

    /// Its options.
    fn options(&self) -> &'static [AgentOption];

    /// Where its records come from.
    fn input(&self) -> AgentInput;

    /// What its results are.
    fn makes(&self) -> Makes {
        Makes::Other
    }

    /// Whether it can take such results of another activity. What cannot be told before is told record by record.
    fn takes(&self, _: Makes) -> bool {
        true
    }

    /// Whether it does something with work items when they have ended, and waits for that.
    fn waits_for_work_items(&self) -> bool {
        false
    }

    /// Whether it can do what is asked for, before an activity is made.
    ///
    /// # Errors
    /// An option is unknown, missing or wrong, or the actor may not ask for it.
    fn plan(&self, home: &Home, asked: &Asked<'_>) -> Result<Planned, EngineError>;

    /// The IRI of the source that an activity reads; none where it reads none, or what is kept here.
    fn source(&self, _: &Activity) -> Option<String> {
        None
    }

    /// Whether the records of an activity can be processed again one by one, in another run over the same.
    ///
    /// # Errors
    /// They cannot.
    fn check_rerun(&self, _: &Activity) -> Result<(), EngineError> {
        Ok(())
    }

    /// The agent for an activity, in one task of it.
    ///
    /// # Errors
    /// The options that the activity keeps are not fit any more, which fails it.
    fn open(&self, home: &Arc<Home>, activity: &Activity) -> Result<Box<dyn OpenAgent>, EngineError>;
}

/// What is written in the transaction that ends a record as processed: the topics that have new work by it. It may run more than once
/// where the transaction does not come about.
pub type RecordWrites =
    dyn Fn(&mut dyn Transaction, &Actor) -> Result<Vec<String>, RegistryError> + Send + Sync + 'static;

/// What came of a record.
#[derive(Clone)]
pub enum RecordOutcome {
    /// It was processed.
    Processed {
        /// What was made of it; none where that is the record itself.
        result: Option<String>,
        /// What is written with it.
        writes: Option<Arc<RecordWrites>>,
    },
    /// It could not be processed.
    Failed {
        /// Why.
        error: String,
    },
    /// It could not be processed now; it is tried again until its attempts are spent.
    Later {
        /// After how long.
        after: Duration,
        /// Why.
        error: String,
    },
    /// It cannot be processed before something else has ended, such as a work item; no attempt is spent however long that takes.
    Waits {
        /// After how long it is given to the agent again.
        after: Duration,
        /// What it waits for.
        reason: String,
    },
    /// It was not processed, because the work is to stop or cannot go on now. Nor is what is behind it in its batch.
    Stopped(AgentError),
}

impl RecordOutcome {
    /// Processed, with nothing to write.
    pub fn processed(result: Option<String>) -> Self {
        Self::Processed { result, writes: None }
    }
}

/// What an agent is given for a record.
pub struct Work<'w> {
    /// The home.
    pub home: &'w Home,
    /// The activity.
    pub activity: &'w Activity,
    /// Which attempt of the task this is, from 1.
    pub attempt: u32,
    /// The tasks of activities that this process works on at once.
    pub workers: usize,
    pub(super) check: &'w (dyn Fn() -> Result<(), Stop> + Sync),
}

impl Work<'_> {
    /// Whether to go on. To be called at least once a second of work; where it fails, the agent returns [`RecordOutcome::Stopped`].
    pub fn check(&self) -> Result<(), Stop> {
        (self.check)()
    }
}

/// A record that an agent finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its id.
    pub id: String,
    /// What it is already.
    pub arrival: Arrival,
    /// What was read of it, which is kept with it.
    pub document: Option<Document>,
}

/// The cursor behind a page, by how many entities became invalid with it.
pub type PageCursor = dyn Fn(u64) -> Option<String> + Send + Sync + 'static;

/// What an agent finds at once.
pub struct FoundPage {
    /// Records of the list.
    pub found: Vec<Found>,
    /// Entities whose validity ends, such as those of records that a source has deleted. Those that are invalid already stay as they are.
    pub invalid: Vec<String>,
    /// The cursor behind the page: another worker goes on there.
    pub cursor: Arc<PageCursor>,
    /// Whether it is the last page, by which the list is complete.
    pub is_last: bool,
    /// With the last page, how far the source was read.
    pub watermark: Option<String>,
    /// What a record is whose id is there already.
    pub repeats: Repeats,
}

/// What a record is whose id the list has already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Repeats {
    /// Nothing: it is left out.
    #[default]
    LeftOut,
    /// A state of the same record that takes the place of the one that the list has, unless its document has an earlier datestamp.
    LaterState,
    /// The same, where it has the same content. Otherwise it is another record, which has failed, under an id of its own.
    Another,
}

/// What came of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageAdded {
    /// Records that are new in the list.
    pub new: u64,
    /// Entities that became invalid with it.
    pub invalidated: u64,
}

impl FoundPage {
    /// A page of records, with the cursor behind it.
    pub fn of(found: Vec<Found>, cursor: Option<String>) -> Self {
        let cursor = Arc::new(move |_| cursor.clone());
        Self { found, invalid: Vec::new(), cursor, is_last: false, watermark: None, repeats: Repeats::LeftOut }
    }
}

/// The population of the list of an activity by its agent.
pub trait Finding: Sync {
    /// The home.
    fn home(&self) -> &Home;

    /// The activity.
    fn activity(&self) -> &Activity;

    /// Where the population goes on; none at the beginning.
    fn cursor(&self) -> Option<String>;

    /// Whether to go on. To be called at least once a second of work.
    fn check(&self) -> Result<(), Stop>;

    /// Which attempt of the task this is, from 1.
    fn attempt(&self) -> u32;

    /// The tasks of activities that this process works on at once.
    fn workers(&self) -> usize;

    /// Adds a page, in one transaction.
    fn add_page(&self, page: FoundPage) -> Result<PageAdded, AgentError>;

    /// Adds records, and the cursor behind them: another worker goes on there. Ids that are there already are left out.
    fn add(&self, found: Vec<Found>, cursor: Option<String>) -> Result<(), AgentError> {
        self.add_page(FoundPage::of(found, cursor)).map(drop)
    }

    /// Adds the last records, by which the list is complete, and notes how far the source was read.
    fn complete(&self, found: Vec<Found>, cursor: Option<String>, watermark: Option<String>) -> Result<(), AgentError> {
        self.add_page(FoundPage { is_last: true, watermark, ..FoundPage::of(found, cursor) }).map(drop)
    }
}

/// An agent that is opened for an activity, in one task of it.
pub trait OpenAgent: Send + Sync {
    /// Records of a chunk. One should take less time than a lease lasts.
    fn chunk(&self) -> usize {
        100
    }

    /// Whether the end of each batch is committed by itself, rather than those of a chunk together: where a record takes long, or must
    /// not be done twice after a crash.
    fn commits_each(&self) -> bool {
        false
    }

    /// How often a record is tried, and how often a worker may end while it is processed.
    fn max_attempts(&self) -> u32 {
        3
    }

    /// Adds what the source has, from the cursor on, and completes the list.
    ///
    /// # Errors
    /// The source cannot be read, or the work is to stop.
    fn find(&self, finding: &dyn Finding) -> Result<(), AgentError> {
        let name = &finding.activity().agent;
        Err(AgentError::Fatal(format!(
            "the agent {name} finds no records by itself; next: name an activity as its input"
        )))
    }

    /// Does one record. It may have been done before, in part or whole.
    fn process(&self, record: &str, work: &Work<'_>) -> RecordOutcome;

    /// Records that are given to [`Self::process_batch`] at once.
    fn batch(&self) -> usize {
        1
    }

    /// Does a batch of records, for an agent that hands several over at once; what came of each, in their order. One that is not
    /// named, behind one that was [stopped](RecordOutcome::Stopped), is still to be processed.
    fn process_batch(&self, records: &[&str], work: &Work<'_>) -> Vec<RecordOutcome> {
        records.iter().map(|record| self.process(record, work)).collect()
    }

    /// Ends what the records have in common, when each of them has ended and before the activity does. It may be done again: where its
    /// worker ends at that moment, and in another run.
    ///
    /// # Errors
    /// It cannot be done now, or at all; the activity has failed then, and does it again when it is restarted.
    fn finish(&self, _: &Work<'_>) -> Result<(), AgentError> {
        Ok(())
    }
}
