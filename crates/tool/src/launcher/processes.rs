//! The processes below this one, by `/proc`.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// A process below this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: i32,
    pub(super) parent: i32,
    /// Whether it has ended and its parent has not asked how.
    pub(super) is_zombie: bool,
    /// Of itself and of its children that have ended.
    pub(super) cpu: Duration,
    /// Bytes in memory, with those of files.
    pub(super) resident: u64,
}

/// Every process below this one, in no order.
pub(super) fn below() -> Vec<Process> {
    let mut by_parent: HashMap<i32, Vec<Process>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let id = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(id) = id else { continue };
        // It may have ended since.
        let Ok(text) = fs::read_to_string(format!("/proc/{id}/stat")) else { continue };
        if let Some(process) = parse(id, &text) {
            by_parent.entry(process.parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![std::process::id().cast_signed()];
    while let Some(parent) = parents.pop() {
        let children = by_parent.remove(&parent).unwrap_or_default();
        parents.extend(children.iter().map(|process| process.id));
        found.extend(children);
    }
    found
}

/// Reads `/proc/PID/stat`; see `proc_pid_stat(5)`. The name of the program, in parentheses, may have anything in it.
fn parse(id: i32, text: &str) -> Option<Process> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let ticks = number(11)? + number(12)? + number(13)? + number(14)?;
    Some(Process {
        id,
        parent: fields.get(1)?.parse().ok()?,
        is_zombie: matches!(*fields.first()?, "Z" | "X"),
        cpu: Duration::from_millis(ticks.saturating_mul(1_000) / rustix::param::clock_ticks_per_second().max(1)),
        resident: number(21)?.saturating_mul(rustix::param::page_size() as u64),
    })
}

/// The bytes of memory that processes have, without those of files: what several share counts once.
pub(super) fn memory_of(processes: &[Process]) -> u64 {
    processes.iter().map(|process| proportional(process.id).unwrap_or(process.resident)).sum()
}

fn proportional(id: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    // Kernels before 5.9 do not say what part of it is of files.
    let own = match (value("Pss_Anon:"), value("Pss_Shmem:")) {
        (Some(anonymous), Some(shared)) => anonymous + shared,
        _ => value("Pss:")?,
    };
    Some((own + value("SwapPss:").unwrap_or(0)).saturating_mul(1_024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_does_not_confuse() {
        let text = "7 (a) R 1 (x)) S 5 1 1 0 -1 4194560 1 2 3 4 100 50 20 30 20 0 1 0 99 1000 12 18446744073709551615";
        let process = parse(7, text).unwrap();
        assert_eq!((process.parent, process.is_zombie), (5, false));
        assert_eq!(process.cpu, Duration::from_secs(200) / rustix::param::clock_ticks_per_second() as u32);
        assert_eq!(process.resident, 12 * rustix::param::page_size() as u64);
        assert_eq!(parse(7, "7 (cut"), None);
    }
}
