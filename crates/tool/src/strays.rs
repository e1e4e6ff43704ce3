//! What a tool leaves where its supervisor is gone: found by the working folder, which is a variable of the environment of every
//! process of the tool that has not taken another environment.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use rustix::process::{Pid, PidfdFlags, Signal};

/// The variable that names the working folder.
pub(crate) const VARIABLE: &str = "TMPDIR";
/// How often the processes are looked for. Each time finds those that were started since the last time.
const MOST_ROUNDS: usize = 100;

/// Kills every process whose environment names the working folder, until there is none.
pub(crate) fn kill_all(folder: &OsStr) {
    let variable = [VARIABLE.as_bytes(), b"=", folder.as_bytes()].concat();
    for _ in 0..MOST_ROUNDS {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
        if ids.filter(|id| kill(*id, &variable)).count() == 0 {
            return;
        }
    }
}

/// Kills a process that has the variable, and says whether it did.
fn kill(id: Pid, variable: &[u8]) -> bool {
    // The descriptor is of the process that has the id now, also where another one gets it after it was looked at.
    let Ok(process) = rustix::process::pidfd_open(id, PidfdFlags::empty()) else { return false };
    let path = format!("/proc/{}/environ", id.as_raw_nonzero());
    let is_of_tool = fs::read(path).is_ok_and(|text| text.split(|byte| *byte == 0).any(|found| found == variable));
    is_of_tool && rustix::process::pidfd_send_signal(process, Signal::KILL).is_ok()
}
