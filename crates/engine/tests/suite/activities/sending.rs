//! The frame of agents that send documents in batches, with a sink of the test: an index (case 10).

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use strongroom_engine::activities::{
    Agent, AgentInput, AgentOption, Asked, OpenAgent, Planned, Sending, Sent, Sink, SinkError, Work,
};
use strongroom_engine::app::activities::{self, ActivityState};
use strongroom_engine::app::views::ActivityId;
use strongroom_engine::{EngineError, Home};
use strongroom_records::{ClaimRequest, Ending, Outcome, RecordState, Takes, lists};
use strongroom_registry::activities::Activity;
use strongroom_registry::documents::Document;
use strongroom_registry::{ProvenanceKind, RegistryError, Scope, activities as rows, provenance};

use super::{begin_behind, call, check_counts, records, show, work, world_of};
use crate::fixture::{Engine, TestHome, on_both_databases};

on_both_databases! {
    case_10_batches_are_sent_and_committed_once_at_the_end
    case_10_what_is_not_taken_fails_and_the_run_continues
    case_10_a_batch_that_is_refused_as_a_whole_loses_only_what_is_wrong
    case_10_several_workers_commit_once
    case_10_what_ends_beside_a_commit_is_committed_as_well
    case_10_what_was_sent_has_its_provenance
    a_sink_that_is_away_costs_no_record_and_no_attempt
    a_commit_that_a_worker_does_not_survive_is_done_by_another
    a_commit_that_is_refused_fails_the_activity_which_is_restarted
}

type Answer = dyn Fn(&[Document]) -> Result<Vec<Sent>, SinkError> + Send + Sync;
type Commit = dyn Fn(usize) -> Result<(), SinkError> + Send + Sync;

/// An index of the test, which keeps what it was sent.
struct Index {
    batch: usize,
    batches: Mutex<Vec<Vec<String>>>,
    commits: Mutex<usize>,
    answer: Box<Answer>,
    commit: Mutex<Box<Commit>>,
}

impl Index {
    fn new(
        batch: usize,
        answer: impl Fn(&[Document]) -> Result<Vec<Sent>, SinkError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            batch,
            batches: Mutex::default(),
            commits: Mutex::default(),
            answer: Box::new(answer),
            commit: Mutex::new(Box::new(|_| Ok(()))),
        })
    }

    /// Does this for each commit, which is told how many there were before.
    fn on_commit(&self, commit: impl Fn(usize) -> Result<(), SinkError> + Send + Sync + 'static) {
        *self.commit.lock().expect("no poison") = Box::new(commit);
    }

    fn sizes(&self) -> Vec<usize> {
        self.batches.lock().expect("no poison").iter().map(Vec::len).collect()
    }

    fn sent(&self) -> Vec<String> {
        self.batches.lock().expect("no poison").concat()
    }

    fn commits(&self) -> usize {
        *self.commits.lock().expect("no poison")
    }
}

/// A sink of a task that sends to it.
struct OfIndex(Arc<Index>);

impl Sink for OfIndex {
    fn send(&self, documents: &[Document], _: &Work<'_>) -> Result<Vec<Sent>, SinkError> {
        let names = documents.iter().map(|document| document.record.clone()).collect();
        self.0.batches.lock().expect("no poison").push(names);
        (self.0.answer)(documents)
    }

    fn commit(&self, _: &Work<'_>) -> Result<(), SinkError> {
        let before = {
            let mut commits = self.0.commits.lock().expect("no poison");
            *commits += 1;
            *commits - 1
        };
        let commit = self.0.commit.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        commit(before)
    }
}

struct IndexAgent(Arc<Index>);

impl Agent for IndexAgent {
    fn name(&self) -> &'static str {
        "index"
    }

    fn about(&self) -> &'static str {
        "Index documents"
    }

    fn options(&self) -> &'static [AgentOption] {
        &[]
    }

    fn input(&self) -> AgentInput {
        AgentInput::Activity(Takes::Results)
    }

    fn plan(&self, _: &Home, _: &Asked<'_>) -> Result<Planned, EngineError> {
        Ok(Planned { options: Value::Object(serde_json::Map::new()), watermark: None })
    }

    fn open(&self, _: &Arc<Home>, _: &Activity) -> Result<Box<dyn OpenAgent>, EngineError> {
        Ok(Box::new(Sending::new(OfIndex(self.0.clone()), self.0.batch)))
    }
}

fn world(engine: Engine, index: &Arc<Index>, documents: usize) -> Option<(TestHome, ActivityId)> {
    world_of(engine, vec![Arc::new(IndexAgent(index.clone()))], documents)
}

/// The answer that every document is taken.
fn all(documents: &[Document]) -> Vec<Sent> {
    documents.iter().map(|_| Ok(None)).collect()
}

/// An index that takes every document.
fn taking(batch: usize) -> Arc<Index> {
    Index::new(batch, |documents| Ok(all(documents)))
}

fn has(documents: &[Document], record: &str) -> bool {
    documents.iter().any(|document| document.record == record)
}

fn case_10_batches_are_sent_and_committed_once_at_the_end(engine: Engine) {
    let index = taking(2);
    let Some((home, harvest)) = world(engine, &index, 3) else { return };
    // An activity without one to take from is no index.
    let request = activities::Request { agent: "index".to_owned(), ..activities::Request::default() };
    activities::run(&call(&home), &request).expect_err("it takes the records of another activity");
    let id = begin_behind(&home, "index", harvest, false);
    let sent_before = index.clone();
    index.on_commit(move |_| {
        assert_eq!(sent_before.sent().len(), 3, "every record has ended");
        Ok(())
    });
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(3)));
    assert_eq!((index.sizes(), index.sent().len(), index.commits()), (vec![2, 1], 3, 1));
}

fn case_10_what_is_not_taken_fails_and_the_run_continues(engine: Engine) {
    let index = Index::new(2, |documents| {
        let sent =
            |document: &Document| if document.record == "01.xml" { Err("no title".to_owned()) } else { Ok(None) };
        Ok(documents.iter().map(sent).collect())
    });
    let Some((home, harvest)) = world(engine, &index, 5) else { return };
    let id = begin_behind(&home, "index", harvest, false);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::FinishedWithErrors, Some(4), Some(1)));
    assert_eq!(records(&home, id, RecordState::Failed)[0].error.as_deref(), Some("the record 01.xml: no title"));
    assert_eq!((index.sizes(), index.commits()), (vec![2, 2, 1], 1));
}

fn case_10_a_batch_that_is_refused_as_a_whole_loses_only_what_is_wrong(engine: Engine) {
    let index = Index::new(16, |documents| {
        let is_wrong = has(documents, "03.xml") || has(documents, "12.xml");
        if is_wrong { Err(SinkError::Refused("a document is malformed".to_owned())) } else { Ok(all(documents)) }
    });
    let Some((home, harvest)) = world(engine, &index, 16) else { return };
    let id = begin_behind(&home, "index", harvest, false);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::FinishedWithErrors, Some(14), Some(2)));
    let failed: BTreeSet<_> = records(&home, id, RecordState::Failed).into_iter().filter_map(|one| one.error).collect();
    let expected = ["03.xml", "12.xml"].map(|record| format!("the record {record}: a document is malformed"));
    assert_eq!(failed.into_iter().collect::<Vec<_>>(), expected);
    // The whole, and for each of the two at most two halves at each of four levels.
    assert!(index.sizes().len() <= 1 + 2 * 2 * 4, "{:?}", index.sizes());
    assert_eq!(index.commits(), 1);
}

fn case_10_several_workers_commit_once(engine: Engine) {
    let index = taking(2);
    let Some((home, harvest)) = world(engine, &index, 90) else { return };
    let id = begin_behind(&home, "index", harvest, false);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(90)));
    let sent = index.sent();
    assert_eq!((sent.len(), sent.into_iter().collect::<BTreeSet<_>>().len(), index.commits()), (90, 90, 1));
}

fn case_10_what_ends_beside_a_commit_is_committed_as_well(engine: Engine) {
    let index = Index::new(2, |documents| {
        let sent =
            |document: &Document| if document.record == "01.xml" { Err("no title".to_owned()) } else { Ok(None) };
        Ok(documents.iter().map(sent).collect())
    });
    let Some((home, harvest)) = world(engine, &index, 3) else { return };
    let id = begin_behind(&home, "index", harvest, false);
    let list = home.registry.read(|tx| rows::find(tx, Scope::System, id)).expect("the activity").list;
    let of_commit = home.home.clone();
    index.on_commit(move |before| {
        if before == 0 {
            // A person retries what failed, and another worker sends it, before this one says that the activity has ended.
            let ended = of_commit.registry.write(move |tx| {
                let now = tx.now()?;
                assert_eq!(rows::retry_failed(tx, Scope::System, id, now)?, 1);
                let request =
                    ClaimRequest { list, worker: "other".to_owned(), limit: 3, lease: Duration::from_mins(1) };
                let chunk = lists::claim(tx, &request)?.expect("a chunk");
                assert_eq!(chunk.records.len(), 1);
                let outcome = Outcome::Processed { result: None };
                let endings = [Ending { number: chunk.records[0].number, outcome }];
                Ok::<_, RegistryError>(lists::finish(tx, chunk.lease, &endings)?)
            });
            ended.expect("the other worker ends it");
        }
        Ok(())
    });
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::Finished, Some(3), Some(0)), "{view:?}");
    assert_eq!(index.commits(), 2);
}

fn case_10_what_was_sent_has_its_provenance(engine: Engine) {
    let index = Index::new(4, |documents| {
        let sent =
            |document: &Document| Ok((document.record != "00.xml").then(|| format!("index:{}", document.record)));
        Ok(documents.iter().map(sent).collect())
    });
    let Some((home, harvest)) = world(engine, &index, 4) else { return };
    let id = begin_behind(&home, "index", harvest, false);
    work(&home);
    let found = home.registry.read(|tx| {
        let by = provenance::By::from(&rows::find(tx, Scope::System, id)?);
        provenance::results(tx, by, true, None, 10)
    });
    let mut found: Vec<_> =
        found.expect("reads").into_iter().map(|one| (one.entity == one.record, one.kind, one.entity)).collect();
    found.sort();
    assert_eq!(found.len(), 4);
    let (revised, generated): (Vec<_>, Vec<_>) = found.into_iter().partition(|(is_itself, ..)| *is_itself);
    assert_eq!((revised.len(), revised[0].1), (1, ProvenanceKind::Revised));
    let expected = ["index:01.xml", "index:02.xml", "index:03.xml"]
        .map(|name| (false, ProvenanceKind::Generated, name.to_owned()));
    assert_eq!(generated, expected);
}

fn a_sink_that_is_away_costs_no_record_and_no_attempt(engine: Engine) {
    let sends = AtomicUsize::new(0);
    let index = Index::new(2, move |documents| match sends.fetch_add(1, Ordering::SeqCst) {
        // The first batch is taken, and then it is away for longer than a task that helps tries.
        1..8 => Err(SinkError::Away("connection refused".to_owned())),
        _ => Ok(all(documents)),
    });
    let Some((home, harvest)) = world(engine, &index, 6) else { return };
    let id = begin_behind(&home, "index", harvest, false);
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed, view.failed), (ActivityState::Finished, Some(6), Some(0)), "{view:?}");
    assert!(records(&home, id, RecordState::Processed).iter().all(|record| record.attempts == 1));
    let sent = index.batches.lock().expect("no poison").clone();
    assert!(sent[1..].iter().flatten().all(|record| !sent[0].contains(record)), "what was taken is not sent again");
    assert_eq!((sent.len(), index.commits()), (1 + 7 + 2, 1), "{sent:?}");
}

fn a_commit_that_a_worker_does_not_survive_is_done_by_another(engine: Engine) {
    let index = taking(2);
    let Some((home, harvest)) = world(engine, &index, 6) else { return };
    let id = begin_behind(&home, "index", harvest, false);
    index.on_commit(|before| match before {
        0 => panic!("the worker ends"),
        1 => Err(SinkError::Away("connection refused".to_owned())),
        _ => Ok(()),
    });
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!((view.state, view.processed), (ActivityState::Finished, Some(6)), "{view:?}");
    assert_eq!((index.sent().len(), index.commits()), (6, 3), "no record is sent twice");
}

fn a_commit_that_is_refused_fails_the_activity_which_is_restarted(engine: Engine) {
    let index = taking(2);
    let Some((home, harvest)) = world(engine, &index, 4) else { return };
    let id = begin_behind(&home, "index", harvest, false);
    index.on_commit(|before| if before == 0 { Err(SinkError::Refused("no such index".to_owned())) } else { Ok(()) });
    work(&home);
    let view = show(&home, id);
    check_counts(&view);
    assert_eq!(
        (view.state, view.processed, view.error.as_deref()),
        (ActivityState::Failed, Some(4), Some("no such index"))
    );
    activities::restart(&call(&home), id).expect("restarts");
    work(&home);
    let view = show(&home, id);
    assert_eq!((view.state, view.processed, index.commits()), (ActivityState::Finished, Some(4), 2));
    assert_eq!(index.sent().len(), 4, "no record is sent twice");
}
