//! What every plain store promises, proved for the one in a folder, and what a folder does besides.

mod conformance;
mod folder;
mod order;
