//! what a store is, and the stores made of folders
