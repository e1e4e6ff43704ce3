//! Who holds a lease, and whether that process is still there.

use std::fmt;
use std::str::FromStr;

use crate::QueueError;

/// A process that holds leases: host, process id, and when the process started, so that a later process with the same id
/// is not taken for it. Its text is `host:pid:start`.
///
/// The start is `boot-namespace-ticks`: the first part of the kernel's boot id, the inode of the process-id namespace, and
/// field 22 of `/proc/PID/stat` (`proc_pid_stat(5)`). Process ids can be compared only where the first two agree, which also keeps
/// apart containers and machines that share a host name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId {
    host: String,
    pid: u32,
    start: String,
}

/// What can be said of a holder from where we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Its process runs here.
    Alive,
    /// Its process ran here and has ended.
    Gone,
    /// It runs or ran where we cannot look; only its leases tell.
    Elsewhere,
}

impl WorkerId {
    /// A holder from its parts. Colons are taken out of host and start, which the text form needs.
    pub fn new(host: &str, pid: u32, start: &str) -> Self {
        Self { host: host.replace(':', "_"), pid, start: start.replace(':', "_") }
    }

    /// This process.
    pub fn this_process() -> Self {
        let pid = std::process::id();
        let ticks = match process(pid) {
            Process::Running(ticks) => ticks,
            Process::Ended | Process::Unknown => 0,
        };
        Self::new(&host_name(), pid, &format!("{}-{ticks}", process_space()))
    }

    /// The host's name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the process still runs, as far as it can be determined from here.
    pub fn liveness(&self) -> Liveness {
        if self.host != host_name().replace(':', "_") {
            return Liveness::Elsewhere;
        }
        let Some((space, ticks)) = self.start.rsplit_once('-') else { return Liveness::Elsewhere };
        let Ok(ticks) = ticks.parse::<u64>() else { return Liveness::Elsewhere };
        if space != process_space() || ticks == 0 {
            return Liveness::Elsewhere;
        }
        match process(self.pid) {
            Process::Running(found) if found == ticks => Liveness::Alive,
            Process::Running(_) | Process::Ended => Liveness::Gone,
            Process::Unknown => Liveness::Elsewhere,
        }
    }

    /// Whether the process is known to run on this host. A holder elsewhere is not alive *here*; ask [`Self::liveness`] before
    /// taking anything from it.
    pub fn is_alive_here(&self) -> bool {
        self.liveness() == Liveness::Alive
    }

    /// Whether the process is known to have ended.
    pub fn is_gone(&self) -> bool {
        self.liveness() == Liveness::Gone
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.host, self.pid, self.start)
    }
}

impl FromStr for WorkerId {
    type Err = QueueError;

    fn from_str(text: &str) -> Result<Self, QueueError> {
        let wrong = || QueueError::WorkerId(text.to_owned());
        let mut parts = text.split(':');
        let (Some(host), Some(pid), Some(start), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(wrong());
        };
        if host.is_empty() || start.is_empty() {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), pid: pid.parse().map_err(|_| wrong())?, start: start.to_owned() })
    }
}

enum Process {
    /// It runs, and started at this many clock ticks after boot.
    Running(u64),
    Ended,
    Unknown,
}

/// What the kernel says about a process.
#[cfg(target_os = "linux")]
fn process(pid: u32) -> Process {
    if let Ok(bytes) = std::fs::read(format!("/proc/{pid}/stat")) {
        return started(&String::from_utf8_lossy(&bytes)).unwrap_or(Process::Unknown);
    }
    // With /proc mounted hidepid, the processes of others cannot be seen there; a signal of number 0 reaches them all.
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return Process::Ended };
    match rustix::process::test_kill_process(pid) {
        Err(rustix::io::Errno::SRCH) => Process::Ended,
        Ok(()) | Err(_) => Process::Unknown,
    }
}

/// Elsewhere than on Linux no worker's tasks are taken over before the lease has run out.
#[cfg(not(target_os = "linux"))]
fn process(_pid: u32) -> Process {
    Process::Unknown
}

/// The start time out of `/proc/PID/stat`. The command, in parentheses, may hold anything, so fields are counted behind its
/// last parenthesis: the state is field 3, the start time field 22.
fn started(stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let ticks = fields.nth(18)?.parse().ok()?;
    // A zombie has ended; only its parent has not looked yet.
    Some(if matches!(state, "Z" | "X" | "x") { Process::Ended } else { Process::Running(ticks) })
}

/// Where a process id means the same process: this boot of this kernel, in this namespace.
fn process_space() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let boot = boot.split('-').next().unwrap_or_default().trim().to_owned();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let namespace: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    format!("{boot}-{namespace}")
}

fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_survives_its_text() {
        for holder in [WorkerId::this_process(), WorkerId::new("a:b", 7, "x:y-1")] {
            assert_eq!(holder.to_string().parse::<WorkerId>().expect("parses"), holder);
        }
        for wrong in ["", "host", "host:1", ":1:x", "host:x:1", "host:1:", "a:b:1:x", "host:-1:x"] {
            assert!(wrong.parse::<WorkerId>().is_err(), "{wrong}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_alive_and_an_ended_one_is_gone() {
        let this = WorkerId::this_process();
        assert_eq!(this.liveness(), Liveness::Alive);
        let earlier = WorkerId { start: format!("{}-1", process_space()), ..this.clone() };
        assert_eq!(earlier.liveness(), Liveness::Gone, "the id is in use again by a later process");

        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("starts a child");
        let Process::Running(ticks) = process(child.id()) else { panic!("the child runs") };
        let holder = WorkerId { pid: child.id(), start: format!("{}-{ticks}", process_space()), ..this.clone() };
        assert!(holder.is_alive_here());
        drop(child.stdin.take());
        child.wait().expect("ends");
        assert!(holder.is_gone());
    }

    #[test]
    fn nothing_is_said_of_other_hosts_boots_and_namespaces() {
        let this = WorkerId::this_process();
        for other in [
            WorkerId { host: "elsewhere".into(), ..this.clone() },
            WorkerId { start: "00000000-1-5".into(), ..this.clone() },
            WorkerId { start: "nonsense".into(), ..this.clone() },
        ] {
            assert_eq!(other.liveness(), Liveness::Elsewhere, "{other}");
        }
    }

    #[test]
    fn a_command_with_parentheses_does_not_shift_the_fields() {
        let stat = "12 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21";
        assert!(matches!(started(stat), Some(Process::Running(4711))));
        assert!(matches!(started(&stat.replace(") S ", ") Z ")), Some(Process::Ended)));
        assert!(started("12 (x) S 1 2").is_none());
        assert!(started("").is_none());
    }
}
