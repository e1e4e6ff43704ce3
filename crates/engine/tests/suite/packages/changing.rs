//! Folders that change while they are read: what is ingested is one state of the folder, and never a mixture of two.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use strongroom_digest::Algorithm;
use strongroom_registry::ItemStatus;
use strongroom_registry::items::Item;
use strongroom_storage::{Head, StorageError};
use strongroom_storage_test::{Call, Layer, Layered};

use super::world::{World, digest};

/// Larger than what is packed, so that each file is put by itself.
const LARGE: usize = 300_000;

/// When a folder is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Before a file of it is staged that was opened.
    WithinAFile,
    /// Between two files.
    BetweenFiles,
}

type Act = Box<dyn FnMut(usize) + Send>;

/// A staging store that changes the folder, so often as the test wants.
struct Changing {
    moment: Moment,
    /// How often, and what is done.
    state: Mutex<(usize, usize, Act)>,
}

impl Changing {
    fn act(&self, moment: Moment) {
        let mut state = self.state.lock().expect("locks");
        let (times, done, act) = &mut *state;
        if moment == self.moment && *done < *times {
            *done += 1;
            act(*done);
        }
    }
}

impl Layer for Changing {
    fn call<T>(&self, _: Call<'_>, act: &mut dyn FnMut() -> Result<T, StorageError>) -> Result<T, StorageError> {
        act()
    }

    fn put(
        &self,
        _: Call<'_>,
        body: &mut dyn Read,
        act: &mut dyn FnMut(&mut dyn Read) -> Result<Head, StorageError>,
    ) -> Result<Head, StorageError> {
        self.act(Moment::WithinAFile);
        let put = act(body);
        self.act(Moment::BetweenFiles);
        put
    }
}

/// A home whose staging changes the folder.
fn world(moment: Moment, times: usize, act: impl FnMut(usize) + Send + 'static) -> World {
    let mut world = World::with("[workers.default]\nmax_attempts = 3\n");
    let home = Arc::get_mut(&mut world.home.home).expect("not shared");
    let layer = Changing { moment, state: Mutex::new((times, 0, Box::new(act))) };
    home.roles.staging = Arc::new(Layered::new(home.roles.staging.clone(), layer));
    home.stores.insert("staging".into(), home.roles.staging.clone());
    world
}

fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("makes it");
        fs::write(path, bytes).expect("writes");
    }
}

/// A state of a folder of three large files.
fn state(number: usize) -> BTreeMap<String, Vec<u8>> {
    let content = |name: &str| vec![name.as_bytes()[0] ^ u8::try_from(number).expect("small"); LARGE + number];
    ["a.bin", "b.bin", "folder/c.bin"].into_iter().map(|name| (name.to_owned(), content(name))).collect()
}

/// Works until the item ends; what is tried again is tried at once.
fn worked(world: &World, source: &Path) -> Item {
    let made = world.submit(&world.request(source)).expect("is submitted");
    let id = made.items[0];
    let mut seen = 0;
    while !world.item(id).status.is_ended() {
        world.work_until(&|| world.item(id).status.is_ended() || world.item(id).retry_count > seen);
        seen = world.item(id).retry_count;
        world.home.clock.advance(Duration::from_mins(10));
    }
    world.item(id)
}

/// A folder of its own for the packages of a test, which is removed with it.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::TempDir::new().expect("a folder");
    let path = place.path().join("photos");
    (place, path)
}

#[test]
fn a_folder_that_changes_between_two_files_is_read_again_as_often_as_it_changes() {
    for (moment, times) in [(Moment::BetweenFiles, 1), (Moment::BetweenFiles, 3), (Moment::WithinAFile, 1)] {
        let (_place, path) = folder();
        write(&path, &state(0));
        let changed = path.clone();
        let world = world(moment, times, move |number| write(&changed, &state(number)));
        let item = worked(&world, &path);
        assert_eq!(item.status, ItemStatus::Succeeded, "{moment:?}, {times}: {:?}", item.note);
        let kept = world.deposited(&world.object("photos"), 1);
        assert!(kept == state(times), "{moment:?}, {times}: not the last state");
        if moment == Moment::BetweenFiles {
            let begun_again =
                world.notes(item.id).iter().filter(|note| note.contains("changed since it was received")).count();
            // It may change more than once within one reading.
            assert!((1..=times).contains(&begun_again), "{begun_again}");
        }
        assert!(world.is_nothing_staged());
    }
}

#[test]
fn files_that_come_and_go_while_a_folder_is_read_are_there_or_not_as_in_its_last_state() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("a file goes", |path| fs::remove_file(path.join("folder/c.bin")).expect("removes")),
        ("a folder goes", |path| fs::remove_dir_all(path.join("folder")).expect("removes")),
        ("a file comes", |path| fs::write(path.join("folder/d.bin"), vec![9; LARGE]).expect("writes")),
        ("a file is renamed", |path| fs::rename(path.join("a.bin"), path.join("z.bin")).expect("renames")),
    ];
    for moment in [Moment::BetweenFiles, Moment::WithinAFile] {
        for (what, change) in changes {
            let (_place, path) = folder();
            write(&path, &state(0));
            let changed = path.clone();
            let world = world(moment, 1, move |_| change(&changed));
            let item = worked(&world, &path);
            let mut expected = BTreeMap::new();
            for (name, bytes) in state(0)
                .into_iter()
                .chain([("folder/d.bin".to_owned(), vec![9; LARGE]), ("z.bin".to_owned(), state(0)["a.bin"].clone())])
            {
                if path.join(&name).exists() {
                    expected.insert(name, bytes);
                }
            }
            assert_eq!(item.status, ItemStatus::Succeeded, "{what}, {moment:?}: {:?}", item.note);
            assert!(world.deposited(&world.object("photos"), 1) == expected, "{what}, {moment:?}");
        }
    }
}

/// A bag of a state, as the files of a folder.
fn bag(number: usize) -> BTreeMap<String, Vec<u8>> {
    let mut files: BTreeMap<String, Vec<u8>> =
        state(number).into_iter().map(|(name, bytes)| (format!("data/{name}"), bytes)).collect();
    let lines = files.iter().map(|(path, bytes)| format!("{}  {path}\n", digest(bytes, Algorithm::Sha256)));
    let manifest = lines.collect::<String>();
    files.insert("manifest-sha256.txt".to_owned(), manifest.into_bytes());
    files.insert("bagit.txt".to_owned(), b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n".to_vec());
    files
}

#[test]
fn a_bag_that_becomes_another_one_while_it_is_read_is_kept_as_the_other_one() {
    let (_place, path) = folder();
    write(&path, &bag(0));
    let changed = path.clone();
    let world = world(Moment::BetweenFiles, 1, move |number| write(&changed, &bag(number)));
    let item = worked(&world, &path);
    assert_eq!(item.status, ItemStatus::Succeeded, "{:?} {:?}", item.note, world.problems(item.id));
    let kept = world.deposited(&world.object("photos"), 1);
    let payload: BTreeMap<_, _> = bag(1).into_iter().filter(|(path, _)| path.starts_with("data/")).collect();
    assert!(kept == payload, "{:?}", kept.keys());
}
