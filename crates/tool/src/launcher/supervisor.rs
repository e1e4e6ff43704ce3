//! The process that starts a tool, kills it where it must end, and all that it started.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::confinement::{close_others, control};
use super::order::{Failure, Order, Report, receive, send};
use super::processes::{self, Process};
use super::{CONFINE, folder};
use crate::limits::{Limit, Limits};

/// How long the start of the program may take.
const START: Duration = Duration::from_secs(30);
/// How often the processes are looked at: at first, and later.
const FIRST_INTERVAL: Duration = Duration::from_millis(5);
const LONGEST_INTERVAL: Duration = Duration::from_millis(50);
/// How much longer than a look takes the next one is waited for, so that the looks take a small part of a processor.
const LOOK_FACTOR: u32 = 20;
/// How often the working folder is looked at.
const FOLDER_INTERVAL: Duration = Duration::from_millis(250);

/// Runs what the order says that comes through standard input, and answers with a report there.
pub(super) fn supervise() -> io::Result<()> {
    let control = control()?;
    close_others(&[control.as_raw_fd()])?;
    let Some(mut order) = receive::<Order>(&control)? else { return Ok(()) };
    order.supervisor = std::process::id().cast_signed();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let begun = Instant::now();
    let report = match start(&order) {
        Err(failure) => {
            let _ = folder::remove(Path::new(&order.folder));
            Report { failure: Some(failure), ..of_end(begun, ExitStatus::default(), 0)? }
        }
        Ok(tool) => {
            let ended = Watched { tool, order: &order, control: &control, begun, peak_memory: 0 }.finish();
            let _ = folder::remove(Path::new(&order.folder));
            ended?
        }
    };
    match send(&control, &report) {
        // The process that started this one is gone; everything is killed, and there is nothing to be said.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Starts the tool; it has begun when this returns.
fn start(order: &Order) -> Result<Child, Failure> {
    let fails = |error: io::Error| Failure::new("cannot start the launcher again", &error);
    let (ours, theirs) = UnixStream::pair().map_err(fails)?;
    let (program, arguments) = &order.launcher;
    let mut tool = Command::new(program)
        .args(arguments)
        .arg(CONFINE)
        .env_clear()
        .stdin(OwnedFd::from(theirs))
        .spawn()
        .map_err(fails)?;
    let answer = send(&ours, order).and_then(|()| {
        ours.set_read_timeout(Some(START))?;
        receive::<Failure>(&ours)
    });
    let failure = match answer {
        // The socket ended with the launcher: the program of the tool has taken its place, or it was killed.
        Ok(None) => return Ok(tool),
        Ok(Some(failure)) => failure,
        Err(error) => fails(error),
    };
    let _ = tool.kill();
    let _ = tool.wait();
    Err(failure)
}

/// A tool that runs.
struct Watched<'a> {
    tool: Child,
    order: &'a Order,
    control: &'a UnixStream,
    begun: Instant,
    peak_memory: u64,
}

impl Watched<'_> {
    fn finish(mut self) -> io::Result<Report> {
        let watched = self.watch();
        // Whatever happened, nothing may be left.
        let (status, left_behind) = kill_all(&mut self.tool)?;
        let mut limit = watched?;
        let mut report = of_end(self.begun, status, left_behind)?;
        report.peak_memory = report.peak_memory.max(self.peak_memory);
        if limit.is_none() && !status.success() {
            limit = self.limit_of_end(&report);
        }
        Ok(Report { limit, ..report })
    }

    /// Waits until the tool ends by itself, is to be stopped, or reaches a limit.
    fn watch(&mut self) -> io::Result<Option<Limit>> {
        let limits = &self.order.limits;
        let tool = rustix::process::pidfd_open(Pid::from_child(&self.tool), PidfdFlags::empty())?;
        let mut interval = FIRST_INTERVAL;
        let mut folder_looked_at = Instant::now();
        loop {
            let left = limits.wall().saturating_sub(self.begun.elapsed());
            let wait = Timespec::try_from(interval.min(left)).map_err(io::Error::other)?;
            let mut events = [
                PollFd::from_borrowed_fd(tool.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
            ];
            match rustix::event::poll(&mut events, Some(&wait)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [has_ended, is_to_stop] = events.map(|event| !event.revents().is_empty());
            if has_ended {
                return Ok(None);
            }
            if is_to_stop {
                // Either the byte that asks for it, or the end of the process that started this one.
                let _ = self.control.read(&mut [0]);
                return Ok(None);
            }
            if self.begun.elapsed() >= limits.wall() {
                return Ok(Some(Limit::WallTime));
            }
            let looked = Instant::now();
            if let Some(limit) = self.look(limits)? {
                return Ok(Some(limit));
            }
            if folder_looked_at.elapsed() >= FOLDER_INTERVAL {
                let content = folder::content(Path::new(&self.order.folder));
                if content.bytes > limits.folder_bytes {
                    return Ok(Some(Limit::FolderSize));
                }
                folder_looked_at = Instant::now();
            }
            interval = (2 * interval).min(LONGEST_INTERVAL).max(LOOK_FACTOR * looked.elapsed());
        }
    }

    /// Compares the processes with the limits.
    fn look(&mut self, limits: &Limits) -> io::Result<Option<Limit>> {
        let found = processes::below();
        let main = self.tool.id().cast_signed();
        let this = std::process::id().cast_signed();
        for process in &found {
            // One that came to be a child when its parent ended; nobody else asks how it ended.
            if process.is_zombie && process.parent == this && process.id != main {
                rustix::process::waitpid(Pid::from_raw(process.id), WaitOptions::NOHANG)?;
            }
        }
        let living: Vec<Process> = found.into_iter().filter(|process| !process.is_zombie).collect();
        if living.len() as u64 > limits.processes {
            return Ok(Some(Limit::Processes));
        }
        let ended = cpu_of(&getrusage(UsageWho::RUSAGE_CHILDREN)?);
        if ended + living.iter().map(|process| process.cpu).sum::<Duration>() > limits.cpu() {
            return Ok(Some(Limit::CpuTime));
        }
        // The first number is quickly known and too high.
        if living.iter().map(|process| process.resident).sum::<u64>() > limits.memory_bytes {
            let memory = processes::memory_of(&living);
            self.peak_memory = self.peak_memory.max(memory);
            return Ok((memory > limits.memory_bytes).then_some(Limit::Memory));
        }
        Ok(None)
    }

    /// The limit by which a tool ended that was not killed here: the kernel sent a signal, or refused something.
    fn limit_of_end(&self, report: &Report) -> Option<Limit> {
        let limits = &self.order.limits;
        match report.signal {
            Some(libc::SIGXCPU) => return Some(Limit::CpuTime),
            Some(libc::SIGXFSZ) => return Some(Limit::FileSize),
            _ if report.cpu >= limits.cpu() => return Some(Limit::CpuTime),
            _ if report.peak_memory > limits.memory_bytes => return Some(Limit::Memory),
            _ => {}
        }
        let content = folder::content(Path::new(&self.order.folder));
        (content.longest >= limits.file_bytes.max(1)).then_some(Limit::FileSize)
    }
}

/// Kills the tool and its group, from which none of its processes can leave, and waits until each has ended. Says how the tool ended,
/// and how many others were alive.
fn kill_all(tool: &mut Child) -> io::Result<(ExitStatus, u32)> {
    let main = Pid::from_child(tool);
    // The id cannot be that of another group, because nobody has asked yet how the tool ended.
    match rustix::process::kill_process_group(main, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => return Err(error.into()),
    }
    let status = tool.wait()?;
    let mut killed = 0;
    loop {
        // What the others started became a child of this process when they ended.
        match rustix::process::wait(WaitOptions::empty()) {
            Err(Errno::CHILD) => return Ok((status, killed)),
            Err(Errno::INTR) | Ok(None) => {}
            Err(error) => return Err(error.into()),
            Ok(Some((_, ended))) => killed += u32::from(ended.terminating_signal() == Some(libc::SIGKILL)),
        }
    }
}

/// What is known when every process has ended.
fn of_end(begun: Instant, status: ExitStatus, left_behind: u32) -> io::Result<Report> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(Report {
        failure: None,
        code: status.code(),
        signal: status.signal(),
        limit: None,
        wall: begun.elapsed(),
        cpu: cpu_of(&usage),
        peak_memory: u64::try_from(usage.max_rss()).unwrap_or(0).saturating_mul(1_024),
        left_behind,
    })
}

fn cpu_of(usage: &Usage) -> Duration {
    let microseconds = (usage.user_time() + usage.system_time()).num_microseconds();
    Duration::from_micros(u64::try_from(microseconds).unwrap_or(0))
}
