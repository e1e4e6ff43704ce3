//! How large and how many what comes from outside may be.

/// Bounds that hold while a source is read. What is beyond one is an error or a notice that says which; nothing is cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of an answer that is read record by record: XML and JSON Lines. What is not in memory is in a temporary file.
    pub page_bytes: u64,
    /// Most bytes of an answer in JSON, which is kept in memory.
    pub json_page_bytes: u64,
    /// Most bytes of one record. A longer one is a notice; within XML, one text or tag that is longer ends the page.
    pub record_bytes: usize,
    /// Most elements of XML that are open at one time.
    pub depth: usize,
    /// Most bytes of an identifier, of the name of a set, and of a datestamp.
    pub id_bytes: usize,
    /// Most sets of one record.
    pub sets: usize,
    /// Most bytes of a resumption token and of the URL of a next page.
    pub token_bytes: usize,
    /// Most times that a page is asked for because it is cut off.
    pub page_attempts: u32,
    /// Most times that a list begins again because its token has expired.
    pub restarts: u32,
    /// Most names in one folder, which are sorted in memory.
    pub folder_names: usize,
    /// Most folders within each other.
    pub folder_depth: usize,
}

impl Default for Limits {
    /// Pages of 1 GiB, of 64 MiB in JSON; records of 16 MiB; a depth of 128; identifiers of 1 KiB, 1000 sets, tokens of 8 KiB; 3 attempts
    /// and 3 restarts; 1 000 000 names in a folder, 32 folders within each other.
    fn default() -> Self {
        Self {
            page_bytes: 1 << 30,
            json_page_bytes: 64 << 20,
            record_bytes: 16 << 20,
            depth: 128,
            id_bytes: 1 << 10,
            sets: 1000,
            token_bytes: 8 << 10,
            page_attempts: 3,
            restarts: 3,
            folder_names: 1_000_000,
            folder_depth: 32,
        }
    }
}
