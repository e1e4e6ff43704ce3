//! A process that is killed in the midst of its puts leaves whole keys, and an assembly that is found again.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use strongroom_storage::{Durability, FolderStore, Key, PutOptions, Store};
use tempfile::TempDir;

/// Where the process that will be killed finds its store.
const FOLDER: &str = "STRONGROOM_CRASH_FOLDER";
const SIZE: usize = 400_000;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// Every body is one byte over and over, so that a mixed or torn one is seen.
fn body(seed: u32) -> Vec<u8> {
    vec![seed as u8; SIZE]
}

#[test]
#[ignore = "the process that the next test starts and kills"]
fn puts_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let store = FolderStore::open("primary", folder).unwrap();
    let assembly = store.assembly("open", &key("assembled")).unwrap();
    let quick = PutOptions { durability: Durability::OnSync, ..PutOptions::default() };
    for n in 0.. {
        store.put(&key("replaced/again"), &mut body(n).as_slice(), &quick).unwrap();
        store.put(&key(&format!("new/{}/{n}", n % 3)), &mut body(n).as_slice(), &quick).unwrap();
        assembly.put(&key(&format!("{n}")), &mut body(n).as_slice(), &quick).unwrap();
        store.delete(&key(&format!("new/{}/{}", n.saturating_sub(5) % 3, n.saturating_sub(5)))).unwrap();
        println!("round {n}");
    }
}

#[test]
fn a_killed_process_leaves_whole_keys_and_its_assembly() {
    let folder = TempDir::new().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    for rounds in [3, 17] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::puts_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = lines.map(Result::unwrap).filter(|line| line.contains("round ")).take(rounds).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, rounds, "the process ended by itself");

        let listed: Vec<_> = store.list(&Key::ROOT).unwrap().map(Result::unwrap).collect();
        assert!(listed.iter().any(|line| line.key.as_str() == "replaced/again"));
        for line in listed {
            let mut bytes = Vec::new();
            store.open(&line.key, 0, None).unwrap().read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes.len(), SIZE, "{}", line.key);
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "{}", line.key);
        }
    }
    assert_eq!(store.assemblies().unwrap(), ["open"]);
    let assembly = store.assembly("open", &key("assembled")).unwrap();
    assert_eq!(assembly.head(&key("0")).unwrap().size, SIZE as u64);
    assembly.commit().unwrap();
    let committed: Vec<_> = store.list(&key("assembled")).unwrap().map(Result::unwrap).collect();
    assert!(committed.len() >= 17);
    assert!(committed.iter().all(|line| line.size == SIZE as u64));
}

/// Yields bytes, and then waits until the process is killed.
struct Endless(bool);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0 {
            println!("round 0");
            loop {
                std::thread::park();
            }
        }
        self.0 = true;
        buffer.fill(7);
        Ok(buffer.len())
    }
}

#[test]
#[ignore = "the process that the next test starts and kills"]
fn begins_a_put_and_waits() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let store = FolderStore::open("primary", folder).unwrap();
    store.put(&key("never"), &mut Endless(false), &PutOptions::default()).unwrap();
}

/// A process that is in the middle of a put.
fn in_the_middle_of_a_put(folder: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["crash::begins_a_put_and_waits", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("round 0")), "the process ended by itself");
    child
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_killed_process_was_writing_goes_at_the_next_opening_and_what_others_write_stays() {
    let folder = TempDir::new().unwrap();
    let store = FolderStore::create("primary", folder.path()).unwrap();
    let tmp = folder.path().join(".strongroom/tmp");
    let files = || fs::read_dir(&tmp).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut one = in_the_middle_of_a_put(folder.path());
    let of_one = files();
    let mut two = in_the_middle_of_a_put(folder.path());
    assert_eq!((of_one.len(), files().len()), (1, 2));
    let came = |age: Duration| {
        for file in files() {
            let file = fs::File::options().write(true).open(file).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
    };
    // Also where nothing has come for two days.
    came(Duration::from_hours(48));
    FolderStore::open("primary", folder.path()).unwrap();
    assert_eq!((files().len(), FolderStore::unfinished(folder.path()).entries), (2, 0));
    came(Duration::ZERO);
    one.kill().unwrap();
    one.wait().unwrap();
    let left = FolderStore::unfinished(folder.path());
    assert!(left.entries == 1 && left.bytes > 0, "{left:?}");
    FolderStore::open("primary", folder.path()).unwrap();
    assert!(files().len() == 1 && files() != of_one);
    two.kill().unwrap();
    two.wait().unwrap();
    assert_eq!(store.sweep_unfinished(Duration::from_hours(24)).unwrap(), 1);
    assert_eq!(files().len(), 0);
}
