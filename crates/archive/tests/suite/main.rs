//! The crate's promises, on archives that writers make and on those made to hurt.

mod sources;
mod tar;
mod zip;
