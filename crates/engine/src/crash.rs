//! Points at which the crash tests kill the process, named `<topic>.begin`, `<topic>.end` and the like. Without the
//! feature `failpoints` they are nothing.

/// Kills this process with SIGKILL where the fail point of this name is set to `return`.
#[cfg(feature = "failpoints")]
pub(crate) fn crash_point(name: &str) {
    fail::fail_point!(name, |_| {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    });
}

/// The bytes as they are; where the fail point of this name is set to `return(FROM>TO)`, with `FROM` replaced by `TO`, which
/// has the same length: what a fault of memory or of a writer makes of them.
#[cfg(feature = "failpoints")]
pub(crate) fn altered<'b>(name: &str, bytes: &'b [u8]) -> std::borrow::Cow<'b, [u8]> {
    let change = |argument: Option<String>| {
        let argument = argument.unwrap_or_default();
        let (from, to) = argument.split_once('>').unwrap_or_default();
        let at = bytes.windows(from.len().max(1)).position(|window| window == from.as_bytes());
        let mut bytes = bytes.to_vec();
        if let Some(place) = at.and_then(|at| bytes.get_mut(at..at + to.len())) {
            place.copy_from_slice(to.as_bytes());
        }
        std::borrow::Cow::Owned(bytes)
    };
    fail::fail_point!(name, change);
    std::borrow::Cow::Borrowed(bytes)
}

/// The bytes as they are.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn altered<'b>(_name: &str, bytes: &'b [u8]) -> std::borrow::Cow<'b, [u8]> {
    std::borrow::Cow::Borrowed(bytes)
}

/// Arms the points that the environment variable `FAILPOINTS` names, for as long as the process lives.
#[cfg(feature = "failpoints")]
pub fn arm_crash_points() {
    std::mem::forget(fail::FailScenario::setup());
}

/// Nothing.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn crash_point(_name: &str) {}
