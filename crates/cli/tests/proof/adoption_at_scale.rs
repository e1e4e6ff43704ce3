//! A registry in PostgreSQL that is lost, in part or altogether, and comes back from stores in a bucket; and the two set
//! side by side when either lacks something.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::Value;
use strongroom_database::testing::Scratch;

use crate::buckets::{World, change_settings, keys_below};
use crate::dump::{assert_alike, dump};
use crate::fixtures::{Made, make_bag};
use crate::homes::{nothing_is_left, work_to_the_end};

const STORES: [&str; 3] = ["primary", "secondary", "third"];

impl World {
    /// Deposits bags of these names, which say this.
    fn deposit(&self, names: &[&str], says: &'static str) {
        let made = Made { small: 5, large: (0, 0), says };
        let bags = names.iter().map(|name| make_bag(&self.place.path(says), name, made).into_os_string());
        let arguments: Vec<_> = [OsString::from("deposit")].into_iter().chain(bags).collect();
        self.place.run(arguments.iter().map(OsString::as_os_str).chain(["--wait".as_ref()])).succeeds();
    }

    /// Has the home work with the registry in another schema.
    fn use_registry_in(&self, scratch: &Scratch) {
        change_settings(&self.place, &self.scratch.url(), &scratch.url());
    }

    /// Damages a content in a store of the bucket and has it mended.
    fn damage_and_mend(&self, store: &str) {
        let key = self.content_in(store);
        self.double.lay(&key, b"not what was kept");
        let round = self.place.run(["fixity", "run", "--all", "--json"]).object();
        assert_eq!((&round["damaged"], &round["repaired"]), (&1.into(), &1.into()), "{round}");
    }

    /// The key of a content in a store of the bucket.
    fn content_in(&self, store: &str) -> String {
        let keys = keys_below(&self.double, &format!("{store}/example.edu/"));
        keys.into_iter().find(|key| key.contains("/content/")).unwrap()
    }

    /// What `store reconcile` tells: how often each code in each store.
    fn told(&self) -> BTreeMap<(String, String), usize> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let answer = self.place.run(["store", "reconcile", "--json"]);
        let mut told = BTreeMap::new();
        for one in answer.json() {
            *told.entry((text(&one["store"]), text(&one["code"]))).or_default() += 1;
        }
        assert_eq!(answer.code, Some(i32::from(!told.is_empty())), "{answer:?}");
        told
    }
}

/// What the stores can tell of a registry: its lines without those of work, and without checks that passed.
fn kept(scratch: &Scratch) -> Vec<String> {
    const KINDS: [&str; 7] = ["institution ", "object ", "version ", "file ", "copy ", "inventory ", "event "];
    let is_passed_check = |line: &String| line.starts_with("event ") && line.contains("|fixity check|");
    let mut lines = dump(scratch);
    lines.retain(|line| KINDS.iter().any(|kind| line.starts_with(kind)) && !is_passed_check(line));
    lines
}

fn everywhere(code: &str, count: usize) -> BTreeMap<(String, String), usize> {
    STORES.map(|store| ((store.to_owned(), code.to_owned()), count)).into()
}

#[test]
fn a_registry_restored_from_a_backup_takes_up_what_it_missed_from_buckets_and_a_folder() {
    let (Some(world), Some(other)) = (World::of_three_stores(), Scratch::new()) else { return };
    let place = &world.place;
    world.deposit(&["letters", "diaries", "maps"], "before");
    // One that is still to be worked on when the backup is made.
    let waiting = make_bag(&place.path("waiting"), "notes", Made { small: 5, large: (0, 0), says: "waiting" });
    place.run(["deposit", &waiting.to_string_lossy()]).succeeds();
    let backup = place.run(["backup", "backups", "--json"]).succeeds().object();
    work_to_the_end(place, &[]);
    world.deposit(&["letters", "photographs", "reports"], "after");
    world.damage_and_mend("secondary");
    let before = kept(&world.scratch);

    world.use_registry_in(&other);
    place.run(["migrate", "--from", backup["backup"].as_str().unwrap()]).succeeds();
    let listed = place.run(["objects", "list", "--json"]).succeeds();
    assert_eq!(listed.json().len(), 3, "what it knows can be read: {listed:?}");
    let words = ["read-only", "older state of itself", "strongroom rebuild --adopt"];
    assert!(listed.stderr.contains("read-only"), "{listed:?}");
    for command in [vec!["work"], vec!["schedule", "--once"], vec!["deposit", "waiting/notes.tar"]] {
        place.run(command).fails(4, &words);
    }
    let mut expected = everywhere("object.unknown", 3);
    expected.extend(everywhere("version.unknown", 1));
    assert_eq!(world.told(), expected);

    let adopted = place.run(["rebuild", "--adopt", "--json"]).succeeds().object();
    assert_eq!((&adopted["versions"], &adopted["problem_count"]), (&4.into(), &0.into()), "{adopted}");
    assert_eq!(adopted["pending"], serde_json::json!([]), "{adopted}");
    assert_alike(&kept(&other), &before, "the registry that came back");
    // The item that waited finds what it would have made.
    work_to_the_end(place, &[]);
    nothing_is_left(place);
    assert_alike(&kept(&other), &before, "the registry that came back");
    assert_eq!(world.told(), BTreeMap::new());
    world.deposit(&["letters"], "and on");
    let round = place.run(["fixity", "run", "--all", "--json"]).succeeds().object();
    assert_eq!(round["passed"], round["checked"], "{round}");
}

#[test]
fn a_registry_lost_altogether_is_rebuilt_from_one_bucket() {
    let (Some(world), Some(other)) = (World::of_three_stores(), Scratch::new()) else { return };
    let place = &world.place;
    world.deposit(&["letters", "diaries", "maps"], "first");
    world.deposit(&["letters", "maps"], "second");
    let before = kept(&world.scratch);
    world.use_registry_in(&other);
    place.run(["objects", "list"]).fails(3, &["there is no registry"]);
    let rebuilt = place.run(["rebuild", "--store", "secondary", "--json"]).succeeds().object();
    assert_eq!((&rebuilt["objects"], &rebuilt["problem_count"]), (&3.into(), &0.into()), "{rebuilt}");
    assert_alike(&kept(&other), &before, "the registry that came back");
    let adopted = place.run(["rebuild", "--adopt", "--json"]).succeeds().object();
    assert_eq!((&adopted["taken"], &adopted["pending"]), (&0.into(), &serde_json::json!([])), "{adopted}");
    assert_alike(&kept(&other), &before, "the registry that came back");
    world.deposit(&["letters", "photographs"], "third");
    assert_eq!(world.told(), BTreeMap::new());
}

#[test]
fn a_bucket_and_the_record_are_compared_both_ways_and_fixity_puts_back_what_is_gone() {
    let Some(world) = World::of_three_stores() else { return };
    let (place, double) = (&world.place, &world.double);
    world.deposit(&["letters", "diaries"], "first");
    assert_eq!(world.told(), BTreeMap::new());

    // What only the record knows.
    let content = world.content_in("secondary");
    let taken = double.take(&content).unwrap();
    let inventories = keys_below(double, "secondary/example.edu/");
    let is_root_inventory = |key: &&String| key.ends_with("/inventory.json") && !key.contains("/v1/");
    double.take(inventories.iter().rfind(is_root_inventory).unwrap()).unwrap();
    let gone = keys_below(double, "primary/example.edu/");
    let of_object = |key: &String| key.split('/').nth(5).filter(|name| name.len() == 128).map(str::to_owned);
    let object = gone.iter().find_map(of_object).unwrap();
    for key in gone.iter().filter(|key| key.contains(&object)) {
        double.take(key).unwrap();
    }
    // What only the bucket knows.
    double.lay("secondary/example.edu/notes.txt", b"by hand");
    double.lay("staging/01890000-0000-7000-8000-000000000000/pack", b"left behind");
    let of = |store: &str, code: &str| ((store.to_owned(), code.to_owned()), 1_usize);
    let expected = [
        of("primary", "object.missing"),
        of("secondary", "copy.missing"),
        of("secondary", "file.foreign"),
        of("secondary", "inventory.missing"),
        of("staging", "staging.abandoned"),
    ];
    assert_eq!(world.told(), expected.into());

    double.take("secondary/example.edu/notes.txt").unwrap();
    place.run(["schedule", "--once"]).succeeds();
    let round = place.run(["fixity", "run", "--all", "--json"]).object();
    assert_eq!((&round["unrepairable"], &round["failed"]), (&0.into(), &0.into()), "{round}");
    assert_eq!(double.stored(&content).unwrap().bytes(), taken.bytes());
    assert_eq!(world.told(), BTreeMap::new());
    let again = place.run(["fixity", "run", "--all", "--json"]).succeeds().object();
    assert_eq!(again["passed"], again["checked"], "{again}");
}
