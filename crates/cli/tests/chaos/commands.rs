//! Commands of people, which run beside each other and beside all else, as people give them. That one is refused or fails while
//! something is wrong is no fault, and stands in the log.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::world::{Answer, Running, World};

/// Commands at once.
const COMMANDS: usize = 3;
/// A command that takes longer is killed: it may wait for a store that is away, or for a worker that sleeps.
const PATIENCE: Duration = Duration::from_secs(20);

/// A command that runs.
struct Asked {
    what: String,
    began: Instant,
    running: Running,
    deposit: Option<usize>,
}

/// A command that waits until fewer run.
struct Waiting {
    arguments: Vec<String>,
    deposit: Option<usize>,
}

/// A command that has ended.
pub(crate) struct Answered {
    pub(crate) began: Instant,
    /// The deposit that it was to make.
    pub(crate) deposit: Option<usize>,
    pub(crate) answer: Answer,
}

/// The commands of a run.
#[derive(Default)]
pub(crate) struct Commands {
    waiting: VecDeque<Waiting>,
    asked: VecDeque<Asked>,
    answers: usize,
}

impl Commands {
    /// Has a command run as soon as no more than some run.
    pub(crate) fn ask(&mut self, arguments: &[&str], deposit: Option<usize>) {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        self.waiting.push_back(Waiting { arguments, deposit });
    }

    /// Whether none runs or waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.asked.is_empty() && self.waiting.is_empty()
    }

    /// Takes in the answers there are, and starts commands that wait.
    pub(crate) fn serve(&mut self, world: &mut World) -> Result<Vec<Answered>> {
        let mut answered = Vec::new();
        for _ in 0..self.asked.len() {
            let Some(mut asked) = self.asked.pop_front() else { break };
            if asked.began.elapsed() > PATIENCE {
                world.log(format!("{} takes too long and is killed", asked.what));
                asked.running.kill()?;
            } else if !asked.running.has_ended()? {
                self.asked.push_back(asked);
                continue;
            }
            let answer = asked.running.answer()?;
            if answer.stderr.contains("panicked") {
                bail!("{} panicked: {}", asked.what, answer.stderr);
            }
            let said = answer.stderr.lines().next().unwrap_or_default();
            world.log(format!("{} ended with {:?} {said}", asked.what, answer.code));
            answered.push(Answered { began: asked.began, deposit: asked.deposit, answer });
        }
        while self.asked.len() < COMMANDS
            && let Some(Waiting { arguments, deposit }) = self.waiting.pop_front()
        {
            self.answers += 1;
            let answer = world.path(&format!("command-{:04}", self.answers));
            let running = Running::start(&mut world.command(&arguments), &answer)?;
            let what = format!("command {:04}: {}", self.answers, arguments.join(" "));
            self.asked.push_back(Asked { what, began: Instant::now(), running, deposit });
        }
        Ok(answered)
    }
}
