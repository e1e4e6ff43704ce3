//! What happens to a version behind `committing`: what is lost is made again and read back, and what a worker puts that
//! slept through the commit is no part of the version.

use strongroom_registry::{VersionState, objects, versions};

use super::identity::work_until;
use super::*;

#[test]
fn made_again_after_committing_is_read_back() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, id, Stage::Record);
    let version = home.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    let brought = home.registry.read(|tx| versions::brought(tx, &version, None, 100)).expect("reads");
    let copies_of = |content| home.registry.read(|tx| objects::copies(tx, content)).expect("copies");
    // Something lies in the way of the object, so that the commit fails behind `committing`.
    let key = copies_of(brought[0].content)[0].key.clone();
    let parent: Vec<&str> = key.split('/').take(2).collect();
    let block = home.file("primary", &parent.join("/"));
    std::fs::write(&block, b"in the way").expect("blocks");
    let workers = strongroom_engine::runtime_over(&home.home, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        let state = home.registry.read(|tx| versions::get(tx, version.id)).expect("reads").expect("there").state;
        state == VersionState::Committing && find(&home, id).status == ItemStatus::Pending
    });
    for store in KEPT_IN {
        std::fs::remove_dir_all(home.file(store, &format!(".strongroom/assembly/{}", version.id))).expect("is lost");
    }
    std::fs::remove_file(&block).expect("unblocks");
    home.clock.advance(Duration::from_hours(1));
    let made_again = strongroom_database::Clock::now(&*home.clock);
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    let item = find(&home, id);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?}", item.note);
    let mut unread = 0;
    for content in &brought {
        for copy in copies_of(content.content) {
            assert!(home.file(&copy.store, &copy.key).exists());
            unread += u64::from(copy.verified_at.is_none_or(|at| at < made_again));
        }
    }
    assert_eq!(unread, 0, "copies count as proved that were never read since they were written");
}

#[test]
fn a_worker_that_slept_through_the_commit_of_a_store_does_not_block_the_object() {
    let home = home();
    let id = hand_in(&home, &home.bag("letters", &[("a.txt", b"one")]));
    work_until(&home, id, Stage::Record);
    let version = home.registry.read(|tx| versions::of_item(tx, id)).expect("reads").expect("a version");
    let brought = home.registry.read(|tx| versions::brought(tx, &version, None, 100)).expect("reads");
    let key = home.registry.read(|tx| objects::copies(tx, brought[0].content)).expect("copies")[0].key.clone();
    let parent: Vec<&str> = key.split('/').take(2).collect();
    let block = home.file("secondary", &parent.join("/"));
    std::fs::write(&block, b"in the way").expect("the second store fails");
    let workers = strongroom_engine::runtime_over(&home.home, None).expect("a runtime").build();
    workers.run_until(&Shutdown::new(), &|| {
        let state = home.registry.read(|tx| versions::get(tx, version.id)).expect("reads").expect("there").state;
        state == VersionState::Committing && find(&home, id).status == ItemStatus::Pending
    });
    assert!(home.file("primary", &key).exists(), "the first store has the version in its place");
    // A worker that slept in `put_inventory` of the first store since before the take-over wakes: its put makes the folder
    // of the assembly anew; then it learns that its lease is gone.
    let stray = home.file("primary", &format!(".strongroom/assembly/{}/v1/inventory.json", version.id));
    std::fs::create_dir_all(stray.parent().expect("a folder")).expect("makes it");
    std::fs::copy(
        home.file("primary", &key.replace(key.split("/v1/").nth(1).expect("below"), "inventory.json")),
        &stray,
    )
    .expect("the same inventory");
    std::fs::remove_file(&block).expect("the second store is back");
    home.clock.advance(Duration::from_hours(1));
    work_on(&home.home, &[id], &Shutdown::new()).expect("works");
    assert_eq!(find(&home, id).status, ItemStatus::Succeeded);
}
