//! What a tool leaves where its supervisor is gone: found by the working folder, which is a variable of the environment of every
//! process of the tool that has not taken another environment.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use rustix::process::{Pid, PidfdFlags, Signal};

/// The variable that names the working folder.
pub(crate) const VARIABLE: &str = "TMPDIR";
/// How often the processes are looked for at most, and how often in a row none is found before there is none: what was started during a look
/// may not have been seen by it.
const MOST_ROUNDS: usize = 100;
const EMPTY_ROUNDS: usize = 3;

/// Kills every process whose environment names the working folder, with its group, until there is none.
pub(crate) fn kill_all(folder: &OsStr) {
    let variable = [VARIABLE.as_bytes(), b"=", folder.as_bytes()].concat();
    let mut empty = 0;
    for _ in 0..MOST_ROUNDS {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut ids: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        // The newest first: what starts another process and ends has the least time left.
        ids.sort_unstable_by(|one, other| other.cmp(one));
        let killed = ids.into_iter().filter_map(Pid::from_raw).filter(|id| kill(*id, &variable)).count();
        empty = if killed == 0 { empty + 1 } else { 0 };
        if empty == EMPTY_ROUNDS {
            return;
        }
    }
}

/// Kills a process that has the variable, with its group, and says whether it did.
fn kill(id: Pid, variable: &[u8]) -> bool {
    // The descriptor is of the process that has the id now, also where another one gets it after it was looked at.
    let Ok(process) = rustix::process::pidfd_open(id, PidfdFlags::empty()) else { return false };
    let path = format!("/proc/{}/environ", id.as_raw_nonzero());
    let is_of_tool = fs::read(path).is_ok_and(|text| text.split(|byte| *byte == 0).any(|found| found == variable));
    if !is_of_tool {
        return false;
    }
    // The group is that of the tool, unless the tool was stopped before it had one, and then it has started nothing.
    let group = rustix::process::getpgid(Some(id)).ok().filter(|group| *group != rustix::process::getpgrp());
    let is_group_killed = group.is_some_and(|group| rustix::process::kill_process_group(group, Signal::KILL).is_ok());
    rustix::process::pidfd_send_signal(process, Signal::KILL).is_ok() || is_group_killed
}
