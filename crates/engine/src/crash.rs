//! Points at which the crash tests kill the process, named `<topic>.begin`, `<topic>.end` and the like. Without the
//! feature `failpoints` they are nothing.

/// Kills this process with SIGKILL where the fail point of this name is set to `return`.
#[cfg(feature = "failpoints")]
pub(crate) fn crash_point(name: &str) {
    fail::fail_point!(name, |_| {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    });
}

/// Arms the points that the environment variable `FAILPOINTS` names, for as long as the process lives.
#[cfg(feature = "failpoints")]
pub fn arm_crash_points() {
    std::mem::forget(fail::FailScenario::setup());
}

/// Nothing.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn crash_point(_name: &str) {}
