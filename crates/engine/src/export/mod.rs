//! What the record says, in forms that others read. Everything is streamed: an export of any size needs the same memory.

mod premis;

pub use premis::premis;
