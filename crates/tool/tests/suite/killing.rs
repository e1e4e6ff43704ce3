//! Whatever a tool started ends with it, and it ends with the program that runs it.

use std::fs;
use std::process::{Command, Stdio};

use strongroom_tool::{End, Outcome, Subject, ToolError};

use crate::place::{Place, ids, launcher, lives, wait_until};

/// A process that asks for a group and a session of its own, and whose parent has ended.
const DAEMON: &str = "import os, sys, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    \
    os.setpgid(0, 0)\n    with open(sys.argv[2], 'a') as ids: print(os.getpid(), file=ids)\n    time.sleep(1000)\n  os._exit(0)\n\
    os.wait()\nwhile not os.path.exists(sys.argv[2]) or not os.path.getsize(sys.argv[2]): time.sleep(0.01)\n";

#[test]
fn processes_that_a_tool_leaves_behind_are_killed() {
    let place = Place::new();
    let list = place.path("ids");
    let script = format!("sleep 1000 & echo $! >> '{0}'\nsetsid sleep 1000 & echo $! >> '{0}'\nexit 0", list.display());
    let run = place.run(place.shell(&script, ""));
    assert_eq!((run.outcome, run.end, run.left_behind), (Outcome::Pass, End::Exited(0), 2));
    let ids = ids(&list);
    assert_eq!((ids.len(), ids.iter().filter(|id| lives(**id)).count()), (2, 0));
}

#[test]
fn a_daemon_of_a_tool_is_killed() {
    let place = Place::new();
    let list = place.path("ids");
    let mut tool = place.python(DAEMON, "");
    tool.arguments.push(list.display().to_string());
    let run = place.run(tool);
    assert_eq!((run.outcome, run.left_behind), (Outcome::Pass, 1), "{run:?}");
    let ids = ids(&list);
    assert_eq!((ids.len(), ids.iter().filter(|id| lives(**id)).count()), (1, 0));
}

/// Processes each of which starts another one and ends: who looks for them finds those that have ended. Each asks for a group and a session of
/// its own. What is written to the list is the group of the first.
const CHAIN: &str = "import os, sys, time\nwith open(sys.argv[2], 'w') as ids: print(os.getpid(), file=ids)\nif os.fork() == 0:\n  \
    while True:\n    os.setsid()\n    os.setpgid(0, 0)\n    if os.fork() != 0: os._exit(0)\n";

#[test]
fn a_chain_of_processes_that_never_stays_is_killed() {
    let place = Place::new();
    let list = place.path("ids");
    let mut tool = place.python(&format!("{CHAIN}time.sleep(0.1)\n"), "");
    tool.arguments.push(list.display().to_string());
    let run = place.run(tool);
    assert_eq!((run.outcome, run.limit), (Outcome::Pass, None), "{run:?}");
    assert!(run.left_behind > 0);
    assert!(!has_group(ids(&list)[0]));
}

#[test]
fn a_chain_of_processes_whose_supervisor_is_killed_ends() {
    let place = Place::new();
    let list = place.path("ids");
    let mut tool = place.python(&format!("{CHAIN}os.kill(os.getppid(), 9)\ntime.sleep(1000)\n"), "");
    tool.arguments.push(list.display().to_string());
    let error = place.run_for(tool, &Subject::of(place.path("file"))).unwrap_err();
    assert!(matches!(error, ToolError::Launcher { .. }), "{error:?}");
    wait_until("the processes end", || !has_group(ids(&list)[0]));
}

/// Whether a process is in this group.
fn has_group(id: u32) -> bool {
    let group = rustix::process::Pid::from_raw(id.cast_signed()).unwrap();
    rustix::process::test_kill_process_group(group).is_ok()
}

#[test]
fn a_tool_is_killed_where_the_caller_asks_for_its_end() {
    let place = Place::new();
    let list = place.path("ids");
    let script = format!("sleep 1000 & echo $! >> '{0}'\necho $$ >> '{0}'\nwait", list.display());
    let tool = place.shell(&script, "").prepare().unwrap();
    let check = || if ids(&list).len() == 2 { Err("the worker stops".into()) } else { Ok(()) };
    let error = place.runner().run(&tool, &Subject::of(place.path("file")), &check).unwrap_err();
    assert!(
        matches!(&error, ToolError::Interrupted { source, .. } if source.to_string() == "the worker stops"),
        "{error:?}"
    );
    assert!(!error.is_transient());
    assert_eq!(ids(&list).into_iter().find(|id| lives(*id)), None);
    assert_eq!(place.working_folders(), 0);
}

#[test]
fn a_tool_ends_with_the_program_that_runs_it() {
    let place = Place::new();
    let list = place.path("ids");
    let script =
        format!("setsid sleep 1000 & echo $! >> '{0}'\necho $$ >> '{0}'\necho $PPID >> '{0}'\nwait", list.display());
    let script = place.write("script.sh", script);
    let mut program = Command::new(launcher().program)
        .arg("run")
        .args([place.path("scratch"), script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the tool runs", || ids(&list).len() == 3);
    assert!(ids(&list).into_iter().all(lives));
    program.kill().unwrap();
    program.wait().unwrap();
    wait_until("the tool, its process and its supervisor end", || !ids(&list).into_iter().any(lives));
    wait_until("its working folder is removed", || place.working_folders() == 0);
}

#[test]
fn a_tool_ends_with_its_supervisor() {
    let place = Place::new();
    let list = place.path("ids");
    let script = format!(
        "setsid sleep 1000 & echo $! >> '{0}'\necho $$ >> '{0}'\nkill -9 $PPID\nsleep 1000 & echo $! >> '{0}'\nwait",
        list.display()
    );
    let tool = place.shell(&script, "");
    let error = place.run_for(tool, &Subject::of(place.path("file"))).unwrap_err();
    assert!(matches!(error, ToolError::Launcher { .. }), "{error:?}");
    assert!(error.is_transient());
    wait_until("the tool and its processes end", || !ids(&list).into_iter().any(lives));
    assert!(ids(&list).len() >= 2);
}

#[test]
fn a_working_folder_is_removed_whatever_is_in_it() {
    let place = Place::new();
    let kept = place.write("kept", "kept");
    let script = format!(
        "mkdir -p a/b/c; echo x > a/b/c/d; ln -s '{}' link; ln -s / root; mkfifo pipe; chmod 0 a/b/c a/b a .",
        kept.display()
    );
    let run = place.run(place.shell(&script, ""));
    assert_eq!(run.outcome, Outcome::Pass, "{run:?}");
    assert_eq!(fs::read(kept).unwrap(), b"kept");
}
