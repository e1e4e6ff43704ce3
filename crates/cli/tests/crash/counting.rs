//! Kills the program about the counting of statistics.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use crate::{SIGKILL, Template, program, succeed};

const COUNT: &[&str] = &["background", "run", "statistics"];
const RECOMPUTE: &[&str] = &["report", "recompute"];

/// What the statistics say.
fn reports(home: &Path) -> Vec<String> {
    ["deposits", "storage", "formats"]
        .map(|report| {
            let answer = program(home).args(["report", report, "--json"]).output().expect("the program starts");
            assert!(answer.status.success(), "{report}: {}", String::from_utf8_lossy(&answer.stderr));
            String::from_utf8(answer.stdout).expect("UTF-8")
        })
        .to_vec()
}

#[test]
fn statistics_count_each_change_once_after_a_kill_at_each_step() {
    let (_copy, home, bag) = Template::get().copy();
    succeed(program(&home).args(COUNT));
    let mut before = reports(&home);
    let points = [("statistics.counted", COUNT), ("statistics.advanced", RECOMPUTE), ("statistics.made", RECOMPUTE)];
    for (number, (point, command)) in points.into_iter().enumerate() {
        let deposited = bag.with_file_name(format!("{number}.txt"));
        fs::write(&deposited, point).expect("writes");
        succeed(program(&home).arg("deposit").arg(&deposited).args(["--type", "file"]).args([
            "--institution",
            "example.edu",
            "--wait",
        ]));
        let mut killed = program(&home);
        killed.env("FAILPOINTS", format!("{point}=1*return")).args(command);
        let killed = killed.output().expect("the program starts");
        let said = String::from_utf8_lossy(&killed.stderr);
        assert_eq!(killed.status.signal(), Some(SIGKILL), "{point}: {said}");
        succeed(program(&home).args(COUNT));
        let counted = reports(&home);
        assert_ne!(counted, before, "{point}: the deposit is counted");
        succeed(program(&home).args(RECOMPUTE));
        assert_eq!(reports(&home), counted, "{point}: made anew, the counts are the same");
        before = counted;
    }
}
