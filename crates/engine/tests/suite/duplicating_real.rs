//! The decision table of duplication through the real processor, over a real S3 server where `STRONGROOM_TEST_S3` says how to reach one.

use crate::duplicating::run_table;
use crate::duplication_world::Kind;
use crate::fixture::Engine;

#[test]
fn every_combination_of_both_stores_ends_as_the_table_says_from_a_folder_to_a_real_server() {
    run_table(Engine::Sqlite, Kind::Folder, Kind::Real);
}

#[test]
fn every_combination_of_both_stores_ends_as_the_table_says_from_a_real_server_to_a_folder() {
    run_table(Engine::Sqlite, Kind::Real, Kind::Folder);
}

#[test]
fn every_combination_of_both_stores_ends_as_the_table_says_on_a_real_server() {
    run_table(Engine::Sqlite, Kind::Real, Kind::Real);
}
