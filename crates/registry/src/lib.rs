//! the record: institutions to events, work items, and the SQL that keeps them
