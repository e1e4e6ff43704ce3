//! How large a description may be.

/// Bounds that hold while a file is read. What is beyond one is an error that says which; nothing is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of the file.
    pub bytes: usize,
    /// Most values of one description.
    pub values: usize,
    /// Most bytes of one value, as UTF-8.
    pub value_bytes: usize,
    /// Most rows of a table, without its header.
    pub rows: usize,
}

impl Default for Limits {
    /// 4 MiB, 10 000 values of 64 KiB, 100 000 rows.
    fn default() -> Self {
        Self { bytes: 4 << 20, values: 10_000, value_bytes: 64 << 10, rows: 100_000 }
    }
}
