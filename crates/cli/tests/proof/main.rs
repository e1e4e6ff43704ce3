//! What the program promises, proved through the program itself: on bags of other people, judged by programs of other
//! people, and while it is stopped, killed, crowded and refused what it needs.

mod adoption_at_scale;
mod buckets;
mod deposits;
mod dump;
mod duplicated_spaces;
mod fixtures;
mod homes;
mod judgements;
mod many_bags;
mod object_storage;
mod parts;
mod peers;
#[path = "../suite/program.rs"]
#[allow(dead_code)] // what only the other tests need
mod program;
mod receiving_bucket;
mod refusals;
mod restorations;
mod scale;
mod stopping;
mod together;
mod urls;
