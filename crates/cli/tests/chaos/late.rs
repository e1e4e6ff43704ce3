//! A deposit that is dropped late: the first that comes to a stage whose topic is paused is cancelled there, while a store
//! fails, and requeued while what it left behind is being cleared away. Each step waits for what it needs, never for long.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::perform::Cast;
use crate::world::Running;

/// How long it may take until a deposit comes to the stage. Nothing is found where none does.
const PATIENCE: Duration = Duration::from_secs(8);

/// What is planned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Late {
    pub(crate) stage: &'static str,
    /// The store that fails, and whether it is full rather than away.
    pub(crate) failing: Option<(&'static str, bool)>,
    /// Milliseconds from the cancellation to the requeues.
    pub(crate) pause: u64,
    /// Whether the store is healed before the requeues.
    pub(crate) is_healed_first: bool,
    pub(crate) requeued_for: Vec<&'static str>,
}

/// How far it is.
pub(crate) struct Underway {
    late: Late,
    began: Instant,
    step: Step,
}

enum Step {
    Looking { answer: Option<Running> },
    Cancelled { item: String, at: Instant },
    Requeued { at: Instant },
}

impl Underway {
    pub(crate) fn new(late: Late) -> Self {
        Self { late, began: Instant::now(), step: Step::Looking { answer: None } }
    }
}

impl Cast {
    /// Goes on with what is under way, where it can.
    pub(crate) fn step_late(&mut self) -> Result<()> {
        let Some(Underway { late, began, step }) = self.late.take() else { return Ok(()) };
        let is_over = began.elapsed() > PATIENCE;
        let next = match step {
            Step::Looking { answer: None } => (!is_over).then(|| self.look(&late)).transpose()?,
            Step::Looking { answer: Some(mut answer) } => {
                if is_over {
                    answer.kill()?;
                    None
                } else if answer.has_ended()? {
                    Some(self.after_look(&late, answer)?)
                } else {
                    Some(Step::Looking { answer: Some(answer) })
                }
            }
            Step::Cancelled { item, at } if at.elapsed() < Duration::from_millis(late.pause) => {
                Some(Step::Cancelled { item, at })
            }
            Step::Cancelled { item, .. } => {
                if late.is_healed_first {
                    self.heal_late(&late)?;
                }
                for stage in &late.requeued_for {
                    self.ask(&["items", "requeue", &item, "--stage", stage]);
                }
                Some(Step::Requeued { at: Instant::now() })
            }
            Step::Requeued { at } => {
                (at.elapsed() < Duration::from_millis(late.pause)).then_some(Step::Requeued { at })
            }
        };
        if let Some(step) = next {
            self.late = Some(Underway { late, began, step });
            return Ok(());
        }
        self.heal_late(&late)?;
        self.world.log(format!("dropped late: over with {}", late.stage));
        self.ask(&["queue", "resume", &format!("ingest.{}", late.stage)]);
        Ok(())
    }

    /// Asks which items wait for the stage.
    fn look(&mut self, late: &Late) -> Result<Step> {
        let mut command = self.world.command(["items", "list", "--stage", late.stage, "--status", "pending", "--json"]);
        let answer = Running::start(&mut command, &self.world.path("late"))?;
        Ok(Step::Looking { answer: Some(answer) })
    }

    fn after_look(&mut self, late: &Late, answer: Running) -> Result<Step> {
        let listed = answer.answer()?.json().unwrap_or_default();
        let Some(item) = listed.first().and_then(|item| item["item"].as_str()) else {
            return Ok(Step::Looking { answer: None });
        };
        match late.failing {
            Some((store, true)) => self.world.fill(store)?,
            Some((store, false)) => self.world.take_away(store)?,
            None => {}
        }
        self.world.log(format!("dropped late: {item} is at {}, {:?} fails", late.stage, late.failing));
        self.ask(&["items", "cancel", item]);
        Ok(Step::Cancelled { item: item.to_owned(), at: Instant::now() })
    }

    fn heal_late(&mut self, late: &Late) -> Result<()> {
        late.failing.map_or(Ok(()), |(store, _)| self.world.heal(store))
    }
}
