//! Finds sequences in bytes, in one pass and in time that grows with the bytes alone: [`chain`] follows one sequence from
//! the beginning, [`tail`] one from the end, [`needle`] says cheaply what need not be followed, [`index`] which
//! signatures a file's beginning leaves open, and [`open`] keeps those together until they are decided.

pub(crate) mod chain;
pub(crate) mod glob;
pub(crate) mod index;
pub(crate) mod needle;
pub(crate) mod open;
mod reach;
pub(crate) mod tail;

#[cfg(test)]
mod tests;
