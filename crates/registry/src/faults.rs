//! Faults that this program once had, put back one at a time for the tests that must find them. Only with the feature
//! `failpoints`, and only where the fail point of the fault is set to `return`.

/// Discarding removes bytes before it is marked, what was discarded is resumed, and no step checks whether its bytes are
/// there.
pub const RESUMED_DISCARD: &str = "fault.resumed-discard";

/// Discarding goes by the number of the version and not by its identifier, so that a worker that slept removes what others
/// wrote since.
pub const DISCARD_BY_NUMBER: &str = "fault.discard-by-number";

/// A deletion is carried out only in the stores that were recorded to have something of the object when it was planned, though other work
/// may have brought it into another one.
pub const DELETION_OF_HOLDERS: &str = "fault.deletion-of-holders";

/// Whether a fault is put back.
pub fn is_put_back(fault: &str) -> bool {
    fail::fail_point!(fault, |_| true);
    false
}
