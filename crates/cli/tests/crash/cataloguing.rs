//! Kills the program about the writing of catalogues.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use crate::{SIGKILL, Template, program, succeed};

const RUN: [&str; 3] = ["background", "run", "catalogue"];

/// The catalogues of the stores, by their paths below these.
fn catalogues(home: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for store in ["primary", "secondary"] {
        let Ok(folder) = fs::read_dir(home.join("stores").join(store).join("_strongroom/catalogue")) else { continue };
        for file in folder {
            let path = file.expect("a file").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            found.insert(format!("{store}/{name}"), fs::read_to_string(&path).expect("reads"));
        }
    }
    found
}

#[test]
fn catalogues_are_whole_after_a_kill_at_each_step() {
    let (_copy, home, bag) = Template::get().copy();
    let mut before = BTreeMap::new();
    for name in ["one", "two"] {
        let deposited = bag.with_file_name(format!("{name}.txt"));
        fs::write(&deposited, name).expect("writes");
        succeed(program(&home).arg("deposit").arg(&deposited).args(["--type", "file"]).args([
            "--institution",
            "example.edu",
            "--wait",
        ]));
        let mut killed_with = Vec::new();
        for point in ["catalogue.composed", "catalogue.put"] {
            let mut killed = program(&home);
            killed.env("FAILPOINTS", format!("{point}=1*return")).args(RUN);
            let killed = killed.output().expect("the program starts");
            let said = String::from_utf8_lossy(&killed.stderr);
            assert_eq!(killed.status.signal(), Some(SIGKILL), "{point}: {said}");
            killed_with.push(catalogues(&home));
        }
        succeed(program(&home).args(RUN));
        let after = catalogues(&home);
        assert_eq!(after.keys().collect::<Vec<_>>(), ["primary/example.edu.csv", "secondary/example.edu.csv"]);
        assert_eq!(after["primary/example.edu.csv"], after["secondary/example.edu.csv"]);
        assert!(after["primary/example.edu.csv"].contains(&format!("example.edu/{name}.txt,")));
        for (path, bytes) in killed_with.iter().flatten() {
            let is_whole = before.get(path) == Some(bytes) || after.get(path) == Some(bytes);
            assert!(is_whole, "{path} is neither the one before nor the one behind: {bytes}");
        }
        before = after;
    }
}
