//! Pipelines as people write them: a TOML file of steps in their order, each with a name, an agent and its options. What is wrong with a
//! file is found all at once, and each step is planned by its agent, so that a pipeline that cannot run is not kept.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};
use strongroom_records::Takes;
use strongroom_registry::pipelines::{LONGEST_NAME, MOST_STEPS, Step, is_name};
use strongroom_registry::{InstitutionId, Scope};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::activities::{Agent, AgentInput, Asked, Makes};
use crate::settings::nearest_few;
use crate::{EngineError, Home};

/// The most bytes of a file.
pub(crate) const LONGEST_FILE: usize = 1 << 20;
/// The most problems of a file that are told.
const MOST_PROBLEMS: usize = 200;
/// The keys of a step.
const KEYS: [&str; 3] = ["name", "agent", "options"];
/// The option of `activity run` that a step does not have.
const INSTITUTION: &str = "institution";

/// Something that is wrong with a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PipelineProblemView {
    /// The line of the file, from 1.
    pub line: Option<usize>,
    /// Which step, such as `step 2 (deposit)`; none where it is none of a step.
    pub step: Option<String>,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub next: String,
}

/// Steps that can run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedSteps {
    pub(crate) steps: Vec<Step>,
    /// What the first step names its watermark.
    pub(crate) watermark: Option<String>,
}

/// A step as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WrittenStep {
    /// Its place among the steps, from 0.
    index: usize,
    line: Option<usize>,
    name: String,
    agent: String,
    options: Value,
}

/// Steps that are kept, to be planned again.
pub(crate) fn written(steps: &[Step]) -> Vec<WrittenStep> {
    let written = |(index, step): (usize, &Step)| {
        let Step { name, agent, options, .. } = step.clone();
        WrittenStep { index, line: None, name, agent, options }
    };
    steps.iter().enumerate().map(written).collect()
}

/// Whose the steps are, and for whom they are planned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedFor {
    /// What the actor acts for.
    pub(crate) scope: Scope,
    pub(crate) institution: InstitutionId,
}

/// Reads a file; the steps that could be read, and what is wrong with it. Where nothing is, it has every step.
pub(crate) fn read(bytes: &[u8]) -> (Vec<WrittenStep>, Vec<PipelineProblemView>) {
    let mut reader = Reader { text: "", at: None, problems: Vec::new() };
    if bytes.len() > LONGEST_FILE {
        let problem = format!("the file is longer than {LONGEST_FILE} bytes");
        reader.tell(None, problem, "put long lists of values elsewhere");
        return (Vec::new(), reader.problems);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        reader.tell(None, "the file is not UTF-8".to_owned(), "save it as UTF-8");
        return (Vec::new(), reader.problems);
    };
    reader.text = text;
    let steps = match DeTable::parse(text) {
        Ok(document) => reader.document(document.get_ref()),
        Err(error) => {
            let problem = format!("the file is not TOML: {}", error.message());
            reader.tell(error.span().map(|span| span.start), problem, "correct it; each step begins with [[steps]]");
            Vec::new()
        }
    };
    reader.problems.sort_by_key(|problem| problem.line);
    (steps, reader.problems)
}

/// Plans every step by its agent; the steps as they are kept, or what is wrong with them.
///
/// # Errors
/// It could not be found out whether a step can run, and may be later.
pub(crate) fn plan(
    home: &Home,
    steps: &[WrittenStep],
    of: PlannedFor,
) -> Result<Result<PlannedSteps, Vec<PipelineProblemView>>, EngineError> {
    let (mut planned, mut problems) = (PlannedSteps { steps: Vec::new(), watermark: None }, Vec::new());
    let mut before = None;
    for step in steps {
        let planned_step = plan_step(home, step, of, before);
        let made = home.agents().find(&step.agent).map_or(Makes::Other, Agent::makes);
        // One that passes on what it was given makes what the step before does.
        before = Some(match (made, before) {
            (Makes::Input, Some(before)) => before,
            _ => (step.agent.as_str(), made),
        });
        match planned_step {
            Ok((kept, watermark)) => {
                planned.steps.push(kept);
                planned.watermark = planned.watermark.or(watermark.filter(|_| step.index == 0));
            }
            // A path that cannot be read is what the option says.
            Err(error) if error.is_transient() && !matches!(error, EngineError::Io { .. }) => return Err(error),
            Err(error) => problems.push(step_problem(step, error)),
        }
    }
    Ok(if problems.is_empty() { Ok(planned) } else { Err(problems) })
}

/// Plans one step, behind an agent that makes something.
fn plan_step(
    home: &Home,
    step: &WrittenStep,
    of: PlannedFor,
    before: Option<(&str, Makes)>,
) -> Result<(Step, Option<String>), EngineError> {
    let agent = home.agents().find(&step.agent)?;
    let has_input = step.index > 0;
    let takes = match (agent.input(), has_input) {
        (AgentInput::Activity(_), false) => {
            let text = format!("the agent {} takes what another one made, and cannot be the first", step.agent);
            return Err(EngineError::Usage(text).next("begin with an agent that finds its records, such as harvest"));
        }
        (AgentInput::Source, true) => {
            let text = format!("the agent {} finds its records itself, and can only be the first", step.agent);
            return Err(EngineError::Usage(text).next("make it the first step, or a pipeline of its own"));
        }
        (AgentInput::Activity(takes) | AgentInput::SourceOrActivity(takes), true) => takes,
        (AgentInput::Source | AgentInput::SourceOrActivity(_), false) => Takes::Records,
    };
    let institution = Some(of.institution);
    let asked = Asked { options: &step.options, scope: of.scope, institution, has_input };
    let planned = agent.plan(home, &asked)?;
    if let Some((maker, made)) = before {
        made.check_for(agent, maker)?;
    }
    let kept = Step { name: step.name.clone(), agent: step.agent.clone(), options: planned.options, takes };
    Ok((kept, planned.watermark))
}

fn step_problem(step: &WrittenStep, error: EngineError) -> PipelineProblemView {
    let (problem, next) = match error {
        EngineError::Advised(advised) => (advised.error.chain(), Some(advised.next.clone())),
        error => (error.chain(), None),
    };
    let advice = format!("correct the options; \"strongroom activity agents\" lists those of {}", step.agent);
    let next = next.unwrap_or(advice);
    PipelineProblemView { line: step.line, step: Some(label(step.index, Some(&step.name))), problem, next }
}

fn label(index: usize, name: Option<&str>) -> String {
    let number = index + 1;
    name.map_or_else(|| format!("step {number}"), |name| format!("step {number} ({name})"))
}

/// Reads the tables of a file, and notes what is wrong.
struct Reader<'t> {
    text: &'t str,
    /// The step that is read.
    at: Option<String>,
    problems: Vec<PipelineProblemView>,
}

impl Reader<'_> {
    fn line(&self, at: usize) -> Option<usize> {
        Some(self.text.get(..at)?.matches('\n').count() + 1)
    }

    fn tell(&mut self, at: Option<usize>, problem: String, next: &str) {
        if self.problems.len() < MOST_PROBLEMS {
            let line = at.and_then(|at| self.line(at));
            let (step, next) = (self.at.clone(), next.to_owned());
            self.problems.push(PipelineProblemView { line, step, problem, next });
        }
    }

    /// Notes the keys of a table that nothing is known of.
    fn unknown(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for (key, _) in table.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
            let near = nearest_few(key.get_ref(), known.iter().copied());
            let next = match near.first() {
                Some(name) => format!("did you mean {name}?"),
                None => format!("the keys are {}", known.join(", ")),
            };
            self.tell(Some(key.span().start), format!("the key {:?} is unknown", key.get_ref()), &next);
        }
    }

    fn document(&mut self, document: &DeTable<'_>) -> Vec<WrittenStep> {
        self.unknown(document, &["steps"]);
        let steps = value_of(document, "steps");
        let next = "write each step as [[steps]] with a name and an agent";
        let Some(steps) = steps else {
            self.tell(None, "the file has no steps".to_owned(), next);
            return Vec::new();
        };
        let DeValue::Array(tables) = steps.get_ref() else {
            self.tell(Some(steps.span().start), "steps is no list of tables".to_owned(), next);
            return Vec::new();
        };
        if tables.is_empty() || tables.len() > MOST_STEPS {
            let problem = format!("the file has {} steps, and a pipeline has 1 to {MOST_STEPS}", tables.len());
            self.tell(Some(steps.span().start), problem, "make several pipelines of them");
            return Vec::new();
        }
        let mut read = Vec::with_capacity(tables.len());
        for (index, table) in tables.iter().enumerate() {
            self.at = Some(label(index, None));
            let start = table.span().start;
            match table.get_ref() {
                DeValue::Table(table) => read.extend(self.step(table, index, start)),
                _ => self.tell(Some(start), "it is no table".to_owned(), next),
            }
        }
        self.at = None;
        self.repeated(&read);
        read
    }

    fn repeated(&mut self, steps: &[WrittenStep]) {
        let mut names = BTreeSet::new();
        for step in steps.iter().filter(|step| !names.insert(step.name.as_str())) {
            self.problems.push(PipelineProblemView {
                line: step.line,
                step: Some(label(step.index, Some(&step.name))),
                problem: format!("another step has the name {:?} as well", step.name),
                next: "give each step a name of its own".to_owned(),
            });
        }
    }

    fn step(&mut self, table: &DeTable<'_>, index: usize, start: usize) -> Option<WrittenStep> {
        let before = self.problems.len();
        let name = self.text_of(table, "name", start);
        if let Some(name) = &name {
            if is_name(name) {
                self.at = Some(label(index, Some(name)));
            } else {
                let at = value_of(table, "name").map(|value| value.span().start);
                let next = format!(
                    "use up to {LONGEST_NAME} letters, digits, dots, - and _, of which the first is a letter or a digit"
                );
                self.tell(at, format!("{name:?} cannot be the name of a step"), &next);
            }
        }
        self.unknown(table, &KEYS);
        let agent = self.text_of(table, "agent", start);
        let options = value_of(table, "options").map_or_else(|| Some(Map::new()), |value| self.options(value));
        let is_right = self.problems.len() == before;
        let line = self.line(start);
        let (name, agent, options) = (name?, agent?, Value::Object(options?));
        is_right.then_some(WrittenStep { index, line, name, agent, options })
    }

    fn text_of(&mut self, table: &DeTable<'_>, key: &str, start: usize) -> Option<String> {
        let next = format!("write {key} = \"...\"");
        let Some(value) = value_of(table, key) else {
            self.tell(Some(start), format!("it has no {key}"), &next);
            return None;
        };
        if let DeValue::String(text) = value.get_ref() {
            return Some(text.clone().into_owned());
        }
        self.tell(Some(value.span().start), format!("its {key} is no text"), &next);
        None
    }

    fn options(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Map<String, Value>> {
        let DeValue::Table(table) = value.get_ref() else {
            let next = "write options = { NAME = \"VALUE\" }";
            self.tell(Some(value.span().start), "its options are no table".to_owned(), next);
            return None;
        };
        let mut options = Map::new();
        for (key, value) in table {
            let (name, at) = (key.get_ref().as_ref(), value.span().start);
            if name == INSTITUTION {
                let problem = "a step belongs to the institution of its pipeline, and has no such option".to_owned();
                self.tell(Some(at), problem, "name the institution with --institution");
            } else if let Some(value) = option(value.get_ref()) {
                options.insert(name.to_owned(), value);
            } else {
                let problem =
                    format!("the option {name} is neither a text, a number, true or false, nor a list of these");
                self.tell(Some(at), problem, "write it as for \"activity run --option\", such as \"10m\"");
            }
        }
        Some(options)
    }
}

fn value_of<'t, 'd>(table: &'t DeTable<'d>, name: &str) -> Option<&'t Spanned<DeValue<'d>>> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
}

/// An option as `activity run --option` has it: a text, or a list of texts.
fn option(value: &DeValue<'_>) -> Option<Value> {
    let DeValue::Array(several) = value else { return text(value).map(|text| Value::String(text.into_owned())) };
    let texts = several.iter().map(|one| text(one.get_ref()).map(|text| Value::String(text.into_owned())));
    match texts.collect::<Option<Vec<_>>>()?.as_slice() {
        [one] => Some(one.clone()),
        several => Some(Value::Array(several.to_vec())),
    }
}

fn text<'v>(value: &'v DeValue<'_>) -> Option<Cow<'v, str>> {
    match value {
        DeValue::String(text) => Some(Cow::Borrowed(text)),
        DeValue::Integer(number) if number.radix() == 10 => Some(Cow::Borrowed(number.as_str())),
        DeValue::Boolean(is) => Some(Cow::Borrowed(if *is { "true" } else { "false" })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_in_their_order_with_options_as_texts() {
        let (steps, problems) = read(
            b"[[steps]]\nname = \"harvest\"\nagent = \"harvest\"\noptions = { url = \"https://x\", set = [\"a\", \"b\"], from = [\"2024\"] }\n\
              \n[[steps]]\nname = \"pass-on\"\nagent = \"copy\"\n[steps.options]\nchunk = 100\n",
        );
        assert_eq!(problems, []);
        let options: Vec<&Value> = steps.iter().map(|step| &step.options).collect();
        assert_eq!(
            options,
            [
                &serde_json::json!({ "url": "https://x", "set": ["a", "b"], "from": "2024" }),
                &serde_json::json!({ "chunk": "100" })
            ]
        );
        assert_eq!(
            steps.iter().map(|step| (step.name.as_str(), step.line)).collect::<Vec<_>>(),
            [("harvest", Some(1)), ("pass-on", Some(6))]
        );
    }

    #[test]
    fn every_problem_of_a_file_is_told_with_its_line_and_step() {
        let text = "stepz = 1\n[[steps]]\nname = \"a b\"\nagent = 3\n\n[[steps]]\nagnt = \"copy\"\nname = \"c\"\n\
                    [steps.options]\ninstitution = \"example.edu\"\nwhen = 2024-01-01\nlist = [[1]]\nhex = 0x1f\n\n\
                    [[steps]]\nname = \"d\"\nagent = \"copy\"\n[[steps]]\nname = \"d\"\nagent = \"copy\"\noptions = 1\n\
                    [[steps]]\nname = \"d\"\nagent = \"copy\"\n";
        let (_, problems) = read(text.as_bytes());
        let told: Vec<String> = problems
            .iter()
            .map(|one| format!("{} {}: {}", one.line.unwrap_or(0), one.step.clone().unwrap_or_default(), one.problem))
            .collect();
        assert_eq!(
            told,
            [
                "1 : the key \"stepz\" is unknown",
                "3 step 1: \"a b\" cannot be the name of a step",
                "4 step 1: its agent is no text",
                "6 step 2 (c): it has no agent",
                "7 step 2 (c): the key \"agnt\" is unknown",
                "10 step 2 (c): a step belongs to the institution of its pipeline, and has no such option",
                "11 step 2 (c): the option when is neither a text, a number, true or false, nor a list of these",
                "12 step 2 (c): the option list is neither a text, a number, true or false, nor a list of these",
                "13 step 2 (c): the option hex is neither a text, a number, true or false, nor a list of these",
                "21 step 4 (d): its options are no table",
                "22 step 5 (d): another step has the name \"d\" as well",
            ]
        );
        assert_eq!(problems[4].next, "did you mean agent?");
        assert!(problems.iter().all(|one| !one.next.is_empty()));
    }

    #[test]
    fn a_file_that_is_no_list_of_steps_is_refused() {
        let many = "[[steps]]\nname = \"x\"\nagent = \"copy\"\n".repeat(MOST_STEPS + 1);
        for (text, expected) in [
            ("", "has no steps"),
            ("steps = []", "has 0 steps"),
            ("steps = 3", "no list of tables"),
            ("steps = [1]", "it is no table"),
            ("[[steps]\n", "not TOML"),
            (many.as_str(), "has 51 steps"),
        ] {
            let (steps, problems) = read(text.as_bytes());
            assert!(steps.is_empty(), "{text}");
            assert!(problems.len() == 1 && problems[0].problem.contains(expected), "{text}: {problems:?}");
        }
        assert!(read(b"\xff").1[0].problem.contains("UTF-8"));
        assert!(read(&vec![b'#'; LONGEST_FILE + 1]).1[0].problem.contains("longer than"));
    }
}
