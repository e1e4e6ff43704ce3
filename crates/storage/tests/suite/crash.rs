//! A process that is killed in the midst of its puts leaves whole keys, and an assembly that is found again.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

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
