//! One run of the launcher, as seen by the process that asked for it: its output, its report, and its end.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::ToolError;
use crate::launcher::{Launcher, Order, Report, STOP, SUPERVISE, receive, send};
use crate::run::Check;

/// How often the caller is asked whether to continue.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// How long the supervisor may take to kill what it started and to remove the working folder.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a run left.
pub(crate) struct Collected {
    pub(crate) report: Report,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether there was more output than is allowed.
    pub(crate) has_excess: bool,
}

/// A supervisor with the tool that it runs. When this is dropped, the supervisor kills the tool.
pub(crate) struct Process {
    supervisor: Child,
    control: UnixStream,
    outputs: [Pipe; 2],
    deadline: Instant,
}

#[derive(Default)]
struct Pipe {
    /// None when it has ended.
    file: Option<File>,
    bytes: Vec<u8>,
    most: u64,
}

impl Process {
    pub(crate) fn start(launcher: &Launcher, order: &Order) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut supervisor = Command::new(&launcher.program)
            .args(&launcher.arguments)
            .arg(SUPERVISE)
            .env_clear()
            .current_dir("/")
            // So that what a person types at the terminal does not end it before it has killed the tool.
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let most = order.limits.output_bytes;
        let stdout = supervisor.stdout.take().map(OwnedFd::from);
        let stderr = supervisor.stderr.take().map(OwnedFd::from);
        let outputs = [Pipe::new(stdout, most)?, Pipe::new(stderr, most)?];
        let deadline = Instant::now() + order.limits.wall().saturating_add(PATIENCE);
        let mut process = Self { supervisor, control: ours, outputs, deadline };
        send(&mut process.control, order)?;
        Ok(process)
    }

    /// Collects the output until every process has ended.
    pub(crate) fn finish(mut self, tool: &str, check: &Check<'_>) -> Result<Collected, ToolError> {
        let failed = |what: &str, source| ToolError::Launcher { tool: tool.to_owned(), what: what.to_owned(), source };
        let mut asked = Instant::now();
        let mut interrupted = None;
        let mut has_excess = false;
        loop {
            let has_report = self.wait().map_err(|error| failed("cannot wait for it", error))?;
            let mut is_to_stop = false;
            for pipe in &mut self.outputs {
                pipe.read().map_err(|error| failed("cannot read its output", error))?;
                is_to_stop |= !has_excess && pipe.has_excess();
            }
            has_excess |= is_to_stop;
            if has_report {
                break;
            }
            if interrupted.is_none() && asked.elapsed() >= CHECK_INTERVAL {
                asked = Instant::now();
                if let Err(source) = check() {
                    interrupted = Some(source);
                    is_to_stop = true;
                }
            }
            if is_to_stop {
                // Where it has ended by itself, nobody reads this.
                let _ = self.control.write_all(&[STOP]);
                self.deadline = self.deadline.min(Instant::now() + PATIENCE);
            }
            if Instant::now() > self.deadline {
                return Err(failed("its processes do not end", io::Error::from(io::ErrorKind::TimedOut)));
            }
        }
        let report = self.report().map_err(|error| failed("the launcher did not report its end", error))?;
        for pipe in &mut self.outputs {
            pipe.read().map_err(|error| failed("cannot read its output", error))?;
            has_excess |= pipe.has_excess();
        }
        if let Some(source) = interrupted {
            return Err(ToolError::Interrupted { tool: tool.to_owned(), source });
        }
        let [stdout, stderr] = std::mem::take(&mut self.outputs).map(Pipe::into_bytes);
        Ok(Collected { report, stdout, stderr, has_excess })
    }

    /// Waits for output or the report, for the interval of the check at most. Says whether the report is there.
    fn wait(&self) -> io::Result<bool> {
        let mut events = vec![PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN)];
        let open = self.outputs.iter().filter_map(|pipe| pipe.file.as_ref());
        events.extend(open.map(|file| PollFd::from_borrowed_fd(file.as_fd(), PollFlags::IN)));
        let wait = Timespec::try_from(CHECK_INTERVAL).map_err(io::Error::other)?;
        match rustix::event::poll(&mut events, Some(&wait)) {
            Ok(_) => Ok(events.first().is_some_and(|event| !event.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The report of a supervisor that has ended, or is about to.
    fn report(&mut self) -> io::Result<Report> {
        self.control.set_read_timeout(Some(PATIENCE))?;
        let report = receive(&self.control)?;
        if report.is_none() {
            self.supervisor.kill()?;
        }
        let status = self.supervisor.wait()?;
        report.ok_or_else(|| {
            let said = self.outputs.iter().rev().find_map(|pipe| crate::printable::first_line(&pipe.bytes));
            io::Error::new(io::ErrorKind::UnexpectedEof, format!("{status}: {}", said.unwrap_or_default()))
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.supervisor.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        // It kills when its socket ends. Only where it does not in time, it is killed itself, and the kernel kills the tool.
        let _ = self.control.shutdown(std::net::Shutdown::Write);
        let _ = self.control.set_read_timeout(Some(Duration::from_secs(1)));
        let _ = self.control.read(&mut [0]);
        let _ = self.supervisor.kill();
        let _ = self.supervisor.wait();
    }
}

impl Pipe {
    fn new(descriptor: Option<OwnedFd>, most: u64) -> io::Result<Self> {
        if let Some(descriptor) = &descriptor {
            // A process that is not killed could hold the other end open.
            rustix::fs::fcntl_setfl(descriptor, OFlags::NONBLOCK)?;
        }
        Ok(Self { file: descriptor.map(File::from), bytes: Vec::new(), most })
    }

    /// Reads what there is. One byte more than is allowed is kept, and no more.
    fn read(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1 << 13];
        // So that an endless writer does not keep this from other work.
        for _ in 0..128 {
            let Some(file) = &mut self.file else { return Ok(()) };
            match file.read(&mut buffer) {
                Ok(0) => self.file = None,
                Ok(read) => {
                    let left = self.most.saturating_add(1).saturating_sub(self.bytes.len() as u64);
                    let kept = read.min(usize::try_from(left).unwrap_or(usize::MAX));
                    self.bytes.extend(buffer.iter().take(kept));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn has_excess(&self) -> bool {
        self.bytes.len() as u64 > self.most
    }

    fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.truncate(usize::try_from(self.most).unwrap_or(usize::MAX));
        self.bytes
    }
}
