//! Agents that make a document of a document, such as mappings and enrichments. Such an agent knows kinds of steps; the options of an
//! activity say which of them are applied, one behind the other, and how each is set up. What a step does with the bytes is its own.
//!
//! A document follows from its bytes. So a record that is processed twice makes the same document, and what was made of the record
//! before stays as it was for those that take it. The provenance says of a document that is new that it was generated, and of one that
//! was there already, because nothing has changed, that it was revised.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strongroom_records::Takes;
use strongroom_registry::activities::Activity;
use strongroom_registry::documents::{self, Document, MOST_BYTES};

use super::agent::{Agent, AgentInput, AgentOption, Asked, Makes, OpenAgent, Planned, RecordOutcome, Work};
use super::input::document_of;
use super::options::parsed;
use crate::{EngineError, Home};

/// What a step makes of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The media type.
    pub media_type: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A step that is set up.
pub trait DocumentStep: Send + Sync {
    /// What it makes of a document.
    ///
    /// # Errors
    /// Why it cannot make anything of it.
    fn apply(&self, document: &Document) -> Result<Content, String>;
}

/// A kind of step, which an agent knows by its name.
pub trait StepKind: Send + Sync {
    /// The name.
    fn name(&self) -> &'static str;

    /// A step with these options: a JSON object.
    ///
    /// # Errors
    /// An option is unknown, missing or wrong.
    fn set_up(&self, options: &Value) -> Result<Box<dyn DocumentStep>, String>;
}

/// A step as the options of an activity have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChainStep {
    /// The name of its kind.
    step: String,
    /// What it is set up with.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    options: Map<String, Value>,
}

/// A step as people write it: its name, or a JSON object that has its options as well; and as an activity keeps it.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenStep {
    Text(String),
    Object(ChainStep),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    Many(Vec<WrittenStep>),
    One(WrittenStep),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    step: Option<OneOrMany>,
}

/// The steps of an activity, in their order, as it keeps them.
fn chain_of(agent: &str, options: &Value) -> Result<Vec<ChainStep>, EngineError> {
    let written = match parsed::<Options>(agent, options)?.step {
        None => Vec::new(),
        Some(OneOrMany::One(one)) => vec![one],
        Some(OneOrMany::Many(many)) => many,
    };
    let step = |written| match written {
        WrittenStep::Object(step) => Ok(step),
        WrittenStep::Text(text) if text.trim_start().starts_with('{') => serde_json::from_str(&text).map_err(|error| {
            EngineError::Usage(format!("the step {text} cannot be read: {error}"))
                .next("write it as {\"step\": \"NAME\", \"options\": {...}}")
        }),
        WrittenStep::Text(step) => Ok(ChainStep { step, options: Map::new() }),
    };
    written.into_iter().map(step).collect()
}

/// An agent that makes documents of documents by the kinds of steps that it knows.
pub struct DocumentAgent {
    name: &'static str,
    about: &'static str,
    kinds: Arc<BTreeMap<&'static str, Arc<dyn StepKind>>>,
}

impl DocumentAgent {
    /// The agent of this name, which says what it does in a sentence.
    pub fn new(name: &'static str, about: &'static str, kinds: impl IntoIterator<Item = Arc<dyn StepKind>>) -> Self {
        let kinds = kinds.into_iter().map(|kind| (kind.name(), kind)).collect();
        Self { name, about, kinds: Arc::new(kinds) }
    }

    fn set_up(&self, chain: &[ChainStep]) -> Result<Vec<SetUpStep>, EngineError> {
        let known = || format!("the steps are {}", self.kinds.keys().copied().collect::<Vec<_>>().join(", "));
        if chain.is_empty() {
            let text = format!("the agent {} is given no step", self.name);
            return Err(EngineError::Usage(text).next(format!("add --option step=NAME; {}", known())));
        }
        let one = |(index, step): (usize, &ChainStep)| {
            let kind = self.kinds.get(step.step.as_str()).ok_or_else(|| {
                let text = format!("the agent {} knows no step {:?}", self.name, step.step);
                EngineError::Usage(text).next(known())
            })?;
            let name = format!("step {} ({})", index + 1, step.step);
            let step = kind.set_up(&Value::Object(step.options.clone())).map_err(|error| {
                EngineError::Usage(format!("the options of {name} cannot be used: {error}")).next("correct its options")
            })?;
            Ok(SetUpStep { name, step })
        };
        chain.iter().enumerate().map(one).collect()
    }
}

impl Agent for DocumentAgent {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn options(&self) -> &'static [AgentOption] {
        const MEANING: &str = "a step by its name, or as {\"step\": NAME, \"options\": {...}}; may be given several times, \
                               and each is applied to what the one before has made";
        &[AgentOption { name: "step", default: "", meaning: MEANING }]
    }

    fn input(&self) -> AgentInput {
        AgentInput::Activity(Takes::Results)
    }

    fn makes(&self) -> Makes {
        Makes::Documents
    }

    fn plan(&self, _: &Home, asked: &Asked<'_>) -> Result<Planned, EngineError> {
        let chain = chain_of(self.name, asked.options)?;
        self.set_up(&chain)?;
        Ok(Planned { options: serde_json::json!({ "step": chain }), watermark: None })
    }

    fn open(&self, _: &Arc<Home>, activity: &Activity) -> Result<Box<dyn OpenAgent>, EngineError> {
        let steps = self.set_up(&chain_of(self.name, &activity.options)?)?;
        Ok(Box::new(Making { steps }))
    }
}

struct SetUpStep {
    /// As errors name it.
    name: String,
    step: Box<dyn DocumentStep>,
}

/// The agent for an activity.
struct Making {
    steps: Vec<SetUpStep>,
}

impl Making {
    fn make(&self, document: &Document, work: &Work<'_>) -> Result<Document, RecordOutcome> {
        let mut made = document.clone();
        for SetUpStep { name, step } in &self.steps {
            work.check().map_err(|stop| RecordOutcome::Stopped(stop.into()))?;
            let failed = |error: String| RecordOutcome::Failed {
                error: format!("{name} of the record {}: {error}", document.record),
            };
            let content = step.apply(&made).map_err(failed)?;
            if content.bytes.len() > MOST_BYTES {
                let bytes = content.bytes.len();
                return Err(failed(format!("it makes {bytes} bytes, and at most {MOST_BYTES} are kept")));
            }
            made = Document { media_type: content.media_type, bytes: content.bytes, ..made };
        }
        let Document { institution, origin, record, media_type, datestamp, bytes, .. } = made;
        Ok(Document { datestamp, ..Document::new(institution, (origin, &record), media_type, bytes) })
    }
}

impl OpenAgent for Making {
    fn process(&self, record: &str, work: &Work<'_>) -> RecordOutcome {
        let made = document_of(record, work).and_then(|document| self.make(&document, work));
        let made = match made {
            Ok(made) => made,
            Err(outcome) => return outcome,
        };
        let result = Some(documents::entity(made.id));
        let writes = move |tx: &mut dyn strongroom_registry::Transaction, _: &_| {
            documents::put(tx, std::slice::from_ref(&made))?;
            Ok(Vec::new())
        };
        RecordOutcome::Processed { result, writes: Some(Arc::new(writes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Kind(&'static str);
    struct Nothing;

    impl StepKind for Kind {
        fn name(&self) -> &'static str {
            self.0
        }

        fn set_up(&self, options: &Value) -> Result<Box<dyn DocumentStep>, String> {
            let is_known = options.as_object().is_some_and(|options| options.keys().all(|key| key == "at"));
            if is_known { Ok(Box::new(Nothing)) } else { Err("an option is unknown".to_owned()) }
        }
    }

    impl DocumentStep for Nothing {
        fn apply(&self, document: &Document) -> Result<Content, String> {
            Ok(Content { media_type: document.media_type.clone(), bytes: document.bytes.clone() })
        }
    }

    fn agent() -> DocumentAgent {
        let kinds: [Arc<dyn StepKind>; 2] = [Arc::new(Kind("trim")), Arc::new(Kind("split"))];
        DocumentAgent::new("enrich", "Enrich documents", kinds)
    }

    #[test]
    fn a_chain_is_read_as_people_write_it_and_as_it_is_kept() {
        let kept = serde_json::json!([{ "step": "trim" }, { "step": "split", "options": { "at": ";" } }]);
        for written in [
            serde_json::json!({ "step": ["trim", "{\"step\": \"split\", \"options\": {\"at\": \";\"}}"] }),
            serde_json::json!({ "step": kept }),
        ] {
            let chain = chain_of("enrich", &written).expect("a chain");
            assert_eq!(serde_json::to_value(&chain).expect("JSON"), kept);
            let names: Vec<_> = agent().set_up(&chain).expect("steps").into_iter().map(|step| step.name).collect();
            assert_eq!(names, ["step 1 (trim)", "step 2 (split)"]);
        }
        let one = chain_of("enrich", &serde_json::json!({ "step": "trim" })).expect("a chain");
        assert_eq!(one, [ChainStep { step: "trim".to_owned(), options: Map::new() }]);
    }

    #[test]
    fn a_chain_that_cannot_be_set_up_is_an_error_that_names_the_step() {
        for (written, expected) in [
            (serde_json::json!({}), "is given no step"),
            (serde_json::json!({ "step": [] }), "is given no step"),
            (serde_json::json!({ "steps": "trim" }), "unknown field `steps`"),
            (serde_json::json!({ "step": "trimm" }), "knows no step \"trimm\""),
            (serde_json::json!({ "step": "{\"step\": \"trim\", \"option\": {}}" }), "unknown field `option`"),
            (serde_json::json!({ "step": "{" }), "cannot be read"),
            (
                serde_json::json!({ "step": ["trim", { "step": "split", "options": { "by": 1 } }] }),
                "the options of step 2 (split) cannot be used: an option is unknown",
            ),
        ] {
            let outcome =
                chain_of("enrich", &written).and_then(|chain| agent().set_up(&chain).map(|steps| steps.len()));
            let error = outcome.expect_err("it is refused").to_string();
            assert!(error.contains(expected), "{written}: {error}");
        }
    }
}
