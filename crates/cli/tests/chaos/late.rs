//! A deposit that is dropped late: cancelled when it has come to a stage whose topic is paused, while a store fails, and
//! requeued from there while what it left behind is being cleared away. Each step waits for what it needs, never for long.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::perform::Cast;
use crate::world::Running;

/// How long the deposit may take to come to the stage. Nothing is found where it does not.
const PATIENCE: Duration = Duration::from_secs(8);

/// What is planned.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Late {
    /// The deposit, by its number.
    pub(crate) deposit: u64,
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
    Deposited,
    Looking { item: String, answer: Running },
    Cancelled { item: String, at: Instant },
    Requeued { at: Instant },
}

impl Underway {
    pub(crate) fn new(late: Late) -> Self {
        Self { late, began: Instant::now(), step: Step::Deposited }
    }
}

impl Cast {
    /// Goes on with what is under way, where it can.
    pub(crate) fn step_late(&mut self) -> Result<()> {
        let Some(Underway { late, began, step }) = self.late.take() else { return Ok(()) };
        let is_over = began.elapsed() > PATIENCE;
        let next = match step {
            Step::Deposited => match self.item_of(late.deposit) {
                Some(item) if !is_over => Some(self.look(item)?),
                _ => (!is_over).then_some(Step::Deposited),
            },
            Step::Looking { item, mut answer } => {
                if is_over {
                    answer.kill()?;
                    None
                } else if answer.has_ended()? {
                    self.after_look(&late, item, answer)?
                } else {
                    Some(Step::Looking { item, answer })
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
        self.world.log(format!("dropped late: over with deposit {}", late.deposit));
        self.ask(&["queue", "resume", &format!("ingest.{}", late.stage)]);
        Ok(())
    }

    fn look(&mut self, item: String) -> Result<Step> {
        let mut command = self.world.command(["items", "show", &item, "--json"]);
        let answer = Running::start(&mut command, &self.world.path("late"))?;
        Ok(Step::Looking { item, answer })
    }

    fn after_look(&mut self, late: &Late, item: String, answer: Running) -> Result<Option<Step>> {
        let shown = answer.answer()?.json().unwrap_or_default();
        let shown = shown.first();
        let is = |key: &str, value: &str| shown.is_some_and(|shown| shown[key] == value);
        if is("status", "succeeded") || is("status", "failed") || is("status", "cancelled") {
            return Ok(None);
        }
        if !(is("stage", late.stage) && is("status", "pending")) {
            return Ok(Some(self.look(item)?));
        }
        match late.failing {
            Some((store, true)) => self.world.fill(store)?,
            Some((store, false)) => self.world.take_away(store)?,
            None => {}
        }
        self.world.log(format!("dropped late: {item} is at {}, {:?} fails", late.stage, late.failing));
        self.ask(&["items", "cancel", &item]);
        Ok(Some(Step::Cancelled { item, at: Instant::now() }))
    }

    fn heal_late(&mut self, late: &Late) -> Result<()> {
        late.failing.map_or(Ok(()), |(store, _)| self.world.heal(store))
    }
}
