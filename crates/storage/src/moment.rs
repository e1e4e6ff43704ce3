//! Moments between two system calls at which tests act as another process would, named `<act>.<what has been done>`.
//! Without the feature `failpoints` they are nothing.

/// Lets a test act here.
#[cfg(feature = "failpoints")]
pub(crate) fn moment(name: &str) {
    fail::fail_point!(name);
}

/// Nothing.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn moment(_name: &str) {}
