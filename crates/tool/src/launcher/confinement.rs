//! The process that sets its own limits and becomes the tool. What it sets stays set for the tool and all its processes.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Resource, Rlimit, Signal};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::order::{Failure, Order, receive, send};
use crate::limits::Limits;

/// By how much a tool gives way to other programs.
const NICENESS: i32 = 10;
/// How many threads each process of a tool may have on average before the kernel refuses more.
const THREADS_PER_PROCESS: u64 = 64;

/// Becomes the tool that the order names. What fails is said to the supervisor, whose side of the socket ends when the program of the
/// tool has begun.
pub(super) fn confine() -> io::Result<()> {
    let control = control()?;
    let Some(order) = receive::<Order>(&control)? else { return Ok(()) };
    match become_tool(&order, &control) {
        Ok(()) => Ok(()),
        Err(failure) => send(&control, &failure),
    }
}

/// The socket that this process was given as standard input, as a descriptor that the next program does not have.
pub(super) fn control() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

fn become_tool(order: &Order, control: &UnixStream) -> Result<(), Failure> {
    let step = |what: &str, done: rustix::io::Result<()>| done.map_err(|error| Failure::new(what, &error.into()));
    step("cannot ask for the end with the supervisor", end_with_parent(order))?;
    step("cannot lower the priority", rustix::process::nice(NICENESS).map(drop))?;
    step("cannot begin a session", rustix::process::setsid().map(drop))?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    close_others(&[control.as_raw_fd()]).map_err(|error| Failure::new("cannot close descriptors", &error))?;
    let stdin = match &order.stdin {
        None => Stdio::null(),
        // What is no regular file could block for ever.
        Some(path) => OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .map(Stdio::from)
            .map_err(|error| Failure::new("cannot open the file for standard input", &error))?,
    };
    std::env::set_current_dir(&order.folder)
        .map_err(|error| Failure::new("cannot enter the working folder", &error))?;
    set_limits(&order.limits)?;
    step("cannot give up new privileges", rustix::thread::set_no_new_privs(true))?;
    keep_in_group().map_err(|error| Failure::new("cannot keep it in one group", &io::Error::other(error)))?;
    if !order.network {
        refuse_network().map_err(|error| Failure::new("cannot refuse network to it", &io::Error::other(error)))?;
    }
    let mut tool = Command::new(&order.program);
    tool.args(&order.arguments).env_clear().envs(order.environment.iter().map(|(name, value)| (name, value)));
    // It returns only where it fails.
    let error = tool.stdin(stdin).exec();
    Err(Failure { is_program: true, ..Failure::new("cannot start its program", &error) })
}

/// The kernel kills this process when the supervisor ends.
fn end_with_parent(order: &Order) -> rustix::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended before.
    let parent = rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get());
    if parent == order.supervisor { Ok(()) } else { Err(rustix::io::Errno::SRCH) }
}

/// Closes what was opened without `O_CLOEXEC` by other code in the program. Nothing of this process is open but `kept`, and what is
/// closed by itself.
pub(super) fn close_others(kept: &[RawFd]) -> io::Result<()> {
    let entries: Vec<_> = fs::read_dir("/proc/self/fd")?.collect::<Result<_, _>>()?;
    let open = entries.iter().filter_map(|entry| entry.file_name().to_str()?.parse::<RawFd>().ok());
    let open: Vec<RawFd> = open.filter(|descriptor| *descriptor > 2 && !kept.contains(descriptor)).collect();
    drop(entries);
    for descriptor in open {
        // That of the list itself is closed already.
        let _ = nix::unistd::close(descriptor);
    }
    Ok(())
}

fn set_limits(limits: &Limits) -> Result<(), Failure> {
    let cpu = limits.cpu_seconds;
    for (resource, name, soft, hard) in [
        // The kernel sends SIGXCPU at the first, which a tool can ignore, and SIGKILL at the second.
        (Resource::Cpu, "processor time", cpu, cpu.saturating_add(1)),
        // Not RLIMIT_AS: Java and other programs reserve much address space that they never use. This counts what can be written to.
        // The supervisor kills at the limit itself; this stops what grows faster than it looks.
        (Resource::Data, "memory", limits.memory_bytes.saturating_add(limits.memory_bytes / 2), 0),
        (Resource::Fsize, "the size of a file", limits.file_bytes, 0),
        (Resource::Nofile, "open files", limits.open_files, 0),
        (Resource::Core, "core files", 0, 0),
        (Resource::Msgqueue, "message queues", 0, 0),
        // Counted by user, with threads and with what other programs of the user run, and not for root.
        (Resource::Nproc, "processes", all_threads() + THREADS_PER_PROCESS.saturating_mul(limits.processes), 0),
    ] {
        let hard = hard.max(soft);
        let allowed = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let new = Rlimit { current: Some(soft.min(allowed)), maximum: Some(hard.min(allowed)) };
        rustix::process::setrlimit(resource, new)
            .map_err(|error| Failure::new(format!("cannot limit {name}"), &error.into()))?;
    }
    Ok(())
}

/// How many threads the system has.
fn all_threads() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let threads = text.split_whitespace().nth(3).and_then(|field| field.split_once('/')?.1.parse().ok());
    threads.unwrap_or(10_000)
}

/// The numbers of the x32 interface of x86-64, by which the same calls can be made.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Has requests for a group or a session of its own do nothing, so that every process of the tool stays in the group of the first one.
/// One signal then ends them all at once: the kernel lets no process of a group start another one past it, whereas one that starts
/// another one and ends, without pause, is gone by the time that it was found.
fn keep_in_group() -> Result<(), seccompiler::Error> {
    const DONE: libc::c_int = 0;
    answer(DONE, [(libc::SYS_setsid, Vec::new()), (libc::SYS_setpgid, Vec::new())])
}

/// Answers requests for sockets with `EACCES`, except for Unix sockets, and rings of requests, by which sockets could be opened
/// unseen, with `ENOSYS`. Needs no privilege and no name space.
fn refuse_network() -> Result<(), seccompiler::Error> {
    let is_other = |value: libc::c_int| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(value.unsigned_abs()))
    };
    let of_others = SeccompRule::new(vec![is_other(libc::AF_UNIX)?])?;
    answer(libc::EACCES, [(libc::SYS_socket, vec![of_others])])?;
    answer(libc::ENOSYS, [(libc::SYS_io_uring_setup, Vec::new())])
}

/// Has calls that a rule of theirs is about, or all where there is none, return an error, or nothing where its code is 0, and not be made.
fn answer<const N: usize>(
    code: libc::c_int,
    calls: [(libc::c_long, Vec<SeccompRule>); N],
) -> Result<(), seccompiler::Error> {
    let mut rules = BTreeMap::from(calls);
    #[cfg(target_arch = "x86_64")]
    for (call, of_call) in rules.clone() {
        rules.insert(X32 | call, of_call);
    }
    let answered = SeccompAction::Errno(code.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, answered, std::env::consts::ARCH.try_into()?)?;
    seccompiler::apply_filter(&BpfProgram::try_from(filter)?)
}
