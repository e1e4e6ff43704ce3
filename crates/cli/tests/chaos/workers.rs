//! The worker processes of a run: started, killed, suspended, and started again where they have ended by themselves.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::world::World;

/// How long a worker that ended by itself stays away.
const RESTARTED_AFTER: Duration = Duration::from_millis(300);

/// What each process runs: the words behind the name of the program.
pub(crate) type Runs = &'static [&'static [&'static str]];

/// The worker processes.
pub(crate) struct Workers {
    runs: Runs,
    children: Vec<Option<Child>>,
    /// When each was found to have ended by itself.
    lost: Vec<Option<Instant>>,
}

impl Workers {
    /// None of them runs yet.
    pub(crate) fn new(runs: Runs) -> Self {
        Self { runs, children: runs.iter().map(|_| None).collect(), lost: vec![None; runs.len()] }
    }

    /// Starts a worker with fail points; `largest` bounds the files it may write, in blocks of 512 bytes.
    pub(crate) fn start(&mut self, world: &World, worker: usize, points: &str, largest: Option<u64>) -> Result<()> {
        if self.children[worker].is_some() {
            bail!("worker {worker} runs already");
        }
        let log = world.log_file(&format!("worker-{worker}.log"))?;
        let arguments = self.runs[worker];
        let mut command = match largest {
            Some(blocks) => world.command_that_fills(blocks, arguments),
            None => world.command(arguments),
        };
        command.env("FAILPOINTS", points).stdout(Stdio::null()).stderr(log);
        self.children[worker] = Some(command.spawn().context("cannot start a worker")?);
        self.lost[worker] = None;
        Ok(())
    }

    /// Starts workers again that have ended by themselves, as a supervisor would: at a fail point, or because a store was
    /// away when they started.
    pub(crate) fn restart_lost(&mut self, world: &mut World, points: &str) -> Result<()> {
        for worker in 0..self.runs.len() {
            let Some(child) = &mut self.children[worker] else { continue };
            let Some(status) = child.try_wait()? else { continue };
            match self.lost[worker] {
                None => {
                    self.lost[worker] = Some(Instant::now());
                    world.log(format!("worker {worker} ended by itself: {status}"));
                }
                Some(at) if at.elapsed() > RESTARTED_AFTER => {
                    self.children[worker] = None;
                    self.start(world, worker, points, None)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self, world: &mut World, worker: usize) -> Result<()> {
        if let Some(mut child) = self.children[worker].take() {
            // It may have killed itself at a fail point.
            child.kill()?;
            let status = child.wait()?;
            world.log(format!("worker {worker} ended: {status}"));
        }
        Ok(())
    }

    /// SIGTERM, and SIGKILL where that is not heard: a worker hears it only some moments after its start.
    pub(crate) fn terminate(&mut self, world: &mut World, worker: usize) -> Result<()> {
        self.signal(worker, Signal::TERM)?;
        let Some(child) = &mut self.children[worker] else { return Ok(()) };
        let began = Instant::now();
        while child.try_wait()?.is_none() && began.elapsed() < Duration::from_secs(5) {
            std::thread::park_timeout(Duration::from_millis(5));
        }
        self.kill(world, worker)
    }

    /// Sends a signal to a worker that has not ended.
    pub(crate) fn signal(&mut self, worker: usize, signal: Signal) -> Result<()> {
        let Some(child) = &mut self.children[worker] else { return Ok(()) };
        // `try_wait` reaps an ended worker here, so that its process id cannot belong to another process.
        if child.try_wait()?.is_none() {
            let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("a process without a number")?;
            kill_process(id, signal)?;
        }
        Ok(())
    }

    /// Ends every worker as it is.
    pub(crate) fn kill_all(&mut self, world: &mut World) -> Result<()> {
        (0..self.runs.len()).try_for_each(|worker| self.kill(world, worker))
    }

    /// Starts workers that nothing disturbs.
    pub(crate) fn start_all(&mut self, world: &World) -> Result<()> {
        (0..self.runs.len()).try_for_each(|worker| self.start(world, worker, "", None))
    }

    /// Asks the workers to stop; each must end with 0.
    pub(crate) fn stop_all(&mut self) -> Result<()> {
        for worker in 0..self.runs.len() {
            self.signal(worker, Signal::TERM)?;
            let Some(mut child) = self.children[worker].take() else { continue };
            let status = child.wait()?;
            if status.code() != Some(0) {
                bail!("worker {worker}, asked to stop, ended with {status}");
            }
        }
        Ok(())
    }

    /// Whether a worker has ended by itself.
    pub(crate) fn has_lost(&mut self) -> Result<bool> {
        for child in self.children.iter_mut().flatten() {
            if child.try_wait()?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for child in self.children.iter_mut().flatten() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
