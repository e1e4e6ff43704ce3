//! Commands of people, which run beside each other and beside all else, as people give them. That one is refused or fails while
//! something is wrong is no fault, and stands in the log.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::deletions::Question;
use crate::world::{Answer, Running, World};

/// Commands at once.
const COMMANDS: usize = 3;
/// A command that takes longer is killed: it may wait for a store that is away, or for a worker that sleeps.
const PATIENCE: Duration = Duration::from_secs(20);

/// What goes on with the answer of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Continuation {
    None,
    /// The deposit that it was to make.
    Deposit(usize),
    /// The deletion that it is about.
    Deletion(usize, Question),
}

/// A command that runs.
struct Asked {
    what: String,
    began: Instant,
    running: Running,
    continuation: Continuation,
}

/// A command that waits until fewer run.
struct Waiting {
    arguments: Vec<String>,
    points: String,
    continuation: Continuation,
}

/// A command that has ended.
pub(crate) struct Answered {
    pub(crate) began: Instant,
    pub(crate) continuation: Continuation,
    pub(crate) answer: Answer,
}

/// The commands of a run.
pub(crate) struct Commands {
    /// What they are called in the log.
    name: &'static str,
    waiting: VecDeque<Waiting>,
    asked: VecDeque<Asked>,
    answers: usize,
}

impl Commands {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, waiting: VecDeque::new(), asked: VecDeque::new(), answers: 0 }
    }

    /// Has a command run as soon as no more than some run.
    pub(crate) fn ask(&mut self, arguments: &[&str], continuation: Continuation) {
        self.ask_with(arguments, "", continuation);
    }

    /// The same with fail points.
    pub(crate) fn ask_with(&mut self, arguments: &[&str], points: &str, continuation: Continuation) {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        self.waiting.push_back(Waiting { arguments, points: points.to_owned(), continuation });
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
            answered.push(Answered { began: asked.began, continuation: asked.continuation, answer });
        }
        while self.asked.len() < COMMANDS
            && let Some(Waiting { arguments, points, continuation }) = self.waiting.pop_front()
        {
            self.answers += 1;
            let answer = world.path(&format!("{}-{:04}", self.name, self.answers));
            let running = Running::start(world.command(&arguments).env("FAILPOINTS", points), &answer)?;
            let what = format!("{} {:04}: {}", self.name, self.answers, arguments.join(" "));
            self.asked.push_back(Asked { what, began: Instant::now(), running, continuation });
        }
        Ok(answered)
    }
}
