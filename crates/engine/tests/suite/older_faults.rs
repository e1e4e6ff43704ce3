//! Faults in how stores with older content, and buckets that became another store, are noticed and taken anew.

mod anew;
mod buckets;
mod notes;
