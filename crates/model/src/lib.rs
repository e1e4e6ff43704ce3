//! A model of the protocol by which a version is prepared, discarded, committed and published. It is a test: `tests/protocol`
//! holds the model, its rules, and the search through every order of steps. Nothing depends on this crate.
