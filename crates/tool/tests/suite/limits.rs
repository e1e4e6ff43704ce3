//! A tool that wants more than it may have: the limit is named, and nothing of the tool is left.

use strongroom_tool::{End, Limit, Outcome, Run};

use crate::place::{Place, ids, lives};

fn is_error_by(run: &Run, limit: Limit) {
    assert_eq!((run.outcome, run.limit), (Outcome::Error, Some(limit)), "{run:?}");
    assert!(run.message.starts_with("the limit on "), "{}", run.message);
    assert!(run.fields.is_empty());
}

#[test]
fn a_tool_that_hangs_is_killed_at_the_limit_on_time() {
    let place = Place::new();
    let run = place.run(place.shell("sleep 1000", "limits = { wall_seconds = 1 }"));
    is_error_by(&run, Limit::WallTime);
    assert_eq!(run.end, End::Signaled(libc::SIGKILL));
    assert_eq!(run.message, "the limit on time is reached (1 s)");
}

#[test]
fn a_tool_that_ignores_signals_is_killed_as_well() {
    let place = Place::new();
    let script = "trap '' TERM INT HUP XCPU\nwhile :; do sleep 1000; done";
    is_error_by(&place.run(place.shell(script, "limits = { wall_seconds = 1 }")), Limit::WallTime);
}

#[test]
fn a_tool_that_computes_endlessly_is_stopped_at_the_limit_on_processor_time() {
    let place = Place::new();
    let run = place.run(place.shell("while :; do :; done", "limits = { cpu_seconds = 1 }"));
    is_error_by(&run, Limit::CpuTime);
}

#[test]
fn processor_time_is_that_of_all_processes_together() {
    let place = Place::new();
    let script = "for i in 1 2 3 4; do (while :; do :; done) & done; wait";
    is_error_by(&place.run(place.shell(script, "limits = { cpu_seconds = 1 }")), Limit::CpuTime);
}

#[test]
fn a_tool_that_allocates_endlessly_is_stopped_at_the_limit_on_memory() {
    let place = Place::new();
    let script = "all = []\nwhile True: all.append(bytearray(b'x' * (1 << 20)))";
    let run = place.run(place.python(script, "limits = { memory_bytes = 100_000_000 }"));
    is_error_by(&run, Limit::Memory);
    assert!(run.peak_memory > 100_000_000, "{run:?}");
    assert!(run.peak_memory < 400_000_000, "{run:?}");
}

#[test]
fn memory_is_that_of_all_processes_together() {
    let place = Place::new();
    let script =
        "import os, time\nfor _ in range(8):\n  if os.fork() == 0: break\nx = b'x' * (20 << 20)\ntime.sleep(1000)";
    let run = place.run(place.python(script, "limits = { memory_bytes = 100_000_000 }"));
    is_error_by(&run, Limit::Memory);
}

#[test]
fn memory_that_processes_share_counts_once() {
    let place = Place::new();
    let script = "import os, time\nx = bytearray(b'x' * (40 << 20))\nchildren = []\nfor _ in range(5):\n  child = os.fork()\n  \
        if child == 0:\n    time.sleep(0.5)\n    os._exit(0)\n  children.append(child)\nfor child in children: os.waitpid(child, 0)";
    let run = place.run(place.python(script, "limits = { memory_bytes = 120_000_000 }"));
    assert_eq!((run.outcome, run.limit), (Outcome::Pass, None), "{run:?}");
}

#[test]
fn reserving_memory_is_not_using_it() {
    let place = Place::new();
    // As Java does: address space that may not be read or written.
    let script = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.mmap.restype = ctypes.c_void_p\n\
        at = libc.mmap(None, ctypes.c_size_t(16 << 30), 0, 0x4022, -1, ctypes.c_long(0))\nassert at != ctypes.c_void_p(-1).value";
    let run = place.run(place.python(script, "limits = { memory_bytes = 100_000_000 }"));
    assert_eq!(run.outcome, Outcome::Pass, "{run:?}");
}

#[test]
fn a_tool_that_writes_output_endlessly_is_killed_and_the_beginning_is_kept() {
    let place = Place::new();
    let run = place.run(place.shell("yes", "limits = { output_bytes = 100_001 }"));
    is_error_by(&run, Limit::Output);
    assert_eq!(run.stdout.len(), 100_001);
    assert!(run.stdout.starts_with(b"y\ny\n"));
    let run = place.run(place.shell("yes >&2; sleep 1000", "limits = { output_bytes = 10 }"));
    is_error_by(&run, Limit::Output);
    assert_eq!((run.stderr.len(), run.stdout.len()), (10, 0));
}

#[test]
fn output_that_is_as_long_as_it_may_be_is_no_excess() {
    let place = Place::new();
    let run = place.run(place.shell("printf 1234567890", "limits = { output_bytes = 10 }"));
    assert_eq!((run.outcome, run.limit), (Outcome::Pass, None));
    assert_eq!(run.stdout, b"1234567890");
    let run = place.run(place.shell("printf 12345678901", "limits = { output_bytes = 10 }"));
    is_error_by(&run, Limit::Output);
}

#[test]
fn a_tool_that_writes_a_file_endlessly_is_stopped_at_the_limit_on_its_size() {
    let place = Place::new();
    let limits = "limits = { file_bytes = 1_000_000 }";
    let run = place.run(place.shell("exec cat /dev/zero > big", limits));
    is_error_by(&run, Limit::FileSize);
    assert_eq!(run.end, End::Signaled(libc::SIGXFSZ));
    // Where the shell is asked, the signal is an exit code; and Python ignores the signal.
    is_error_by(&place.run(place.shell("cat /dev/zero > big", limits)), Limit::FileSize);
    let script = "with open('big', 'wb') as big:\n  while True: big.write(bytes(10000))";
    is_error_by(&place.run(place.python(script, limits)), Limit::FileSize);
}

#[test]
fn a_tool_that_writes_files_endlessly_is_killed_at_the_limit_on_its_folder() {
    let place = Place::new();
    let script = "i=0\nwhile :; do head -c 100000 /dev/zero > file$i; i=$((i+1)); done";
    let run = place.run(place.shell(script, "limits = { folder_bytes = 1_000_000 }"));
    is_error_by(&run, Limit::FolderSize);
}

#[test]
fn a_tool_that_starts_processes_endlessly_is_killed_with_all_of_them() {
    let place = Place::new();
    let list = place.path("ids");
    let script = format!("while :; do sleep 1000 & echo $! >> '{}'; done", list.display());
    let run = place.run(place.shell(&script, "limits = { processes = 10 }"));
    is_error_by(&run, Limit::Processes);
    let ids = ids(&list);
    assert!(ids.len() >= 9, "{ids:?}");
    assert_eq!(ids.into_iter().find(|id| lives(*id)), None);
}

#[test]
fn processes_that_double_are_killed() {
    let place = Place::new();
    let script = "import os\nfor _ in range(10): os.fork()\nwhile True: pass";
    is_error_by(&place.run(place.python(script, "limits = { processes = 20 }")), Limit::Processes);
}

#[test]
fn open_files_are_limited() {
    let place = Place::new();
    let script = "all = []\ntry:\n  while True: all.append(open('/dev/null'))\nexcept OSError: print(len(all))";
    let run = place.run(place.python(script, "limits = { open_files = 50 }"));
    let opened: u64 = String::from_utf8(run.stdout).unwrap().trim().parse().unwrap();
    assert!((40..50).contains(&opened), "{opened}");
}
