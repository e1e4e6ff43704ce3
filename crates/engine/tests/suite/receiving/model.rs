//! Uploads that are put, cut short, replaced, renamed and taken away at random while looks and work go on: in the end the last
//! content of each name is published, and no content was taken in twice.

use std::collections::BTreeSet;

use super::*;

const NAMES: [&str; 2] = ["alpha", "beta"];
const SEEDS: u64 = 6;
const STEPS: u64 = 14;

/// Numbers that are the same for the same seed (Steele and others, `SplitMix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}

fn content(number: u64) -> Vec<u8> {
    format!("content {number}").into_bytes()
}

fn put(home: &TestHome, name: &str, number: u64) {
    upload(home, name, &[("a.txt", &content(number))]);
}

/// As a client that was cut off leaves it, or one that is still at it.
fn put_half(home: &TestHome, name: &str, number: u64) {
    let bag = fs::read(home.bag(name, &[("a.txt", &content(number))])).expect("a bag");
    fs::write(place(home, &format!("{name}.tar")), &bag[..bag.len() / 2]).expect("writes");
}

#[test]
fn in_the_end_the_last_content_of_each_name_is_published_and_none_was_taken_in_twice() {
    for seed in 0..SEEDS {
        let home = home();
        let mut random = Random(seed);
        let mut last = [None::<u64>; NAMES.len()];
        for step in 0..STEPS {
            let index = usize::try_from(random.below(NAMES.len() as u64)).expect("fits");
            let name = NAMES[index];
            let path = place(&home, &format!("{name}.tar"));
            match random.below(8) {
                0 | 1 => {
                    put(&home, name, step);
                    last[index] = Some(step);
                }
                2 => {
                    put_half(&home, name, step);
                    last[index] = Some(step);
                }
                3 => {
                    let hidden = place(&home, &format!("{name}.tar.part"));
                    if path.exists() {
                        fs::rename(&path, &hidden).expect("renames");
                    } else if hidden.exists() {
                        fs::rename(&hidden, &path).expect("renames back");
                    }
                }
                4 => drop(fs::remove_file(&path)),
                5 => work_until_read(&home),
                6 => work(&home),
                _ => home.clock.advance(SETTLE),
            }
            look(&home);
        }
        for (index, name) in NAMES.iter().enumerate().filter(|(index, _)| last[*index].is_some()) {
            let number = 100 + index as u64;
            drop(fs::remove_file(place(&home, &format!("{name}.tar.part"))));
            put(&home, name, number);
        }
        settle(&home);
        work(&home);
        settle(&home);
        let items = all_items(&home);
        let ends: Vec<_> = items.iter().map(|item| (item.name.clone(), item.status, item.note.clone())).collect();
        for (index, name) in NAMES.iter().enumerate().filter(|(index, _)| last[*index].is_some()) {
            let object = home.object(name);
            let files = home
                .registry
                .read(|tx| objects::files(tx, object.id, object.head, "deposit/data/", "", 10))
                .expect("files");
            let wanted = strongroom_digest::hash_reader(content(100 + index as u64).as_slice(), &[Algorithm::Sha512]);
            let wanted = wanted.expect("hashes").1.get(Algorithm::Sha512).expect("a digest");
            assert_eq!(files[0].digests.sha512, wanted, "seed {seed}, {name}: {ends:#?}");
        }
        let mut taken = BTreeSet::new();
        for item in items.iter().filter(|item| item.status == ItemStatus::Succeeded) {
            assert!(taken.insert((item.source.clone(), item.etag.clone())), "seed {seed}: twice {:?}", item.etag);
        }
        assert!(home.keys("receiving").is_empty(), "seed {seed}: {ends:#?} {:#?}", uploads(&home));
        assert!(home.keys("staging").is_empty(), "seed {seed}");
    }
}
