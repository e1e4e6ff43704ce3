//! The line that shows how far long work is: bytes, rate, time left and files at a terminal, and nothing anywhere else.

use regex::Regex;
use unicode_width::UnicodeWidthStr as _;

use crate::program::Place;
use crate::reidentify::OLDER as OLDER_SIGNATURES;
use crate::terminal::Ended;

/// A folder of some files, 400 KiB in all.
fn folder(place: &Place, name: &str) {
    for number in 0..4 {
        place.write(&format!("{name}/file-{number}.bin"), vec![number; 100 << 10]);
    }
}

/// A home with an object of 400 KiB.
fn with_object() -> Place {
    let place = Place::with_home();
    folder(&place, "letters");
    place.run(["bag", "create", "letters", "letters.tar", "--tag", "Source-Organization: Example"]).succeeds();
    place.run(["deposit", "letters.tar", "--wait"]).succeeds();
    place
}

/// A line was drawn as `pattern` says, no frame was wider than the terminal, and nothing of it is left.
#[track_caller]
fn shows(ended: &Ended, columns: usize, pattern: &str) {
    let wanted = Regex::new(pattern).unwrap();
    assert!(ended.lines().iter().any(|line| wanted.is_match(line)), "{pattern} is not in {:#?}", ended.frames);
    for frame in &ended.frames {
        assert!(frame.width() <= columns, "{frame:?} is wider than {columns}");
    }
    for line in ended.lines() {
        assert!(!ended.screen.contains(line), "{line:?} is left on {:?}", ended.screen);
    }
}

#[test]
fn a_bag_that_is_made_or_checked_shows_bytes_rate_time_left_and_files() {
    let place = Place::empty();
    folder(&place, "letters");
    let made = place.run_at_terminal(120, &["bag", "create", "letters", "letters.tar"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    shows(&made, 120, r"^40\d\.\d KiB of 40\d\.\d KiB, \S+ \S+/s, 0s left, \d of \d files, letters");
    for path in ["letters.tar", "letters"] {
        if path == "letters" {
            place.run(["bag", "create", "letters", "bag"]).succeeds();
        }
        let path = if path == "letters" { "bag" } else { path };
        let checked = place.run_at_terminal(120, &["bag", "validate", path]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        shows(&checked, 120, &format!(r"^40\d\.\d KiB of 40\d\.\d KiB, \S+ \S+/s, 0s left, (\d) of \d files, {path}"));
        assert_eq!(checked.screen.trim(), "", "nothing but the line was drawn");
    }
}

#[test]
fn a_compressed_bag_is_measured_by_the_bytes_that_are_read_of_it() {
    let place = Place::empty();
    folder(&place, "letters");
    place.run(["bag", "create", "letters", "letters.tar.gz"]).succeeds();
    let length = std::fs::metadata(place.path("letters.tar.gz")).unwrap().len();
    let shown = if length < 1024 { format!("{length} B") } else { format!("{:.1} KiB", length as f64 / 1024.0) };
    let checked = place.run_at_terminal(120, &["bag", "validate", "letters.tar.gz"]);
    shows(&checked, 120, &format!(r"^{shown} of {shown}, \S+ \S+/s, 0s left, \d files, letters\.tar\.gz"));
}

#[test]
fn identification_and_validation_of_ocfl_show_bytes_and_files() {
    let place = with_object();
    // Without a digest only parts of large files are read, so that there is no end in bytes.
    place.write("letters/large.bin", vec![7; 8 << 20]);
    let found = place.run_at_terminal(120, &["identify", "--window", "64KiB", "letters"]);
    assert_eq!((found.code, found.stdout.lines().count()), (Some(0), 10), "{found:?}");
    shows(&found, 120, r"^\d{2,3}\.\d KiB, \S+ \S+/s, (0s left, )?5 (of 5 )?files");
    std::fs::remove_file(place.path("letters/large.bin")).unwrap();
    let hashed = place.run_at_terminal(120, &["identify", "--hash", "sha256", "letters"]);
    shows(&hashed, 120, r"^400\.0 KiB( of 400\.0 KiB)?, \S+ \S+/s, (0s left, )?4 (of 4 )?files");
    let root = "home/stores/primary";
    let root = walked_to_root(&place, root);
    let valid = place.run_at_terminal(120, &["ocfl", "validate", &root]);
    assert_eq!(valid.code, Some(0), "{valid:?}");
    shows(&valid, 120, r"^4\d\d\.\d KiB( of 4\d\d\.\d KiB)?, \S+ \S+/s, (\S+ left, )?\d+ files");
}

/// The storage root below a folder.
fn walked_to_root(place: &Place, folder: &str) -> String {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(place.path(&folder)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with("0=ocfl_1") {
                return folder;
            }
            if entry.file_type().unwrap().is_dir() {
                folders.push(format!("{folder}/{name}"));
            }
        }
    }
    panic!("there is no storage root below {folder}")
}

#[test]
fn a_deposit_and_a_restoration_that_are_waited_for_show_bytes() {
    let place = Place::with_home();
    folder(&place, "letters");
    place.run(["bag", "create", "letters", "letters.tar", "--tag", "Source-Organization: Example"]).succeeds();
    let deposited = place.run_at_terminal(120, &["deposit", "letters.tar", "--wait"]);
    assert_eq!(deposited.code, Some(0), "{deposited:?}");
    // Read once, and for each of two stores copied and read back.
    shows(&deposited, 120, r"^2\.0 MiB of 2\.0 MiB, \S+ \S+/s, 0s left");
    let restored = place.run_at_terminal(120, &["restore", "object", "example.edu/letters", "--to", "back", "--wait"]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    shows(&restored, 120, r"^4\d\d\.\d KiB of 4\d\d\.\d KiB, \S+ \S+/s, 0s left");
}

#[test]
fn many_items_are_one_line_with_totals_over_all() {
    let place = Place::with_home();
    folder(&place, "letters");
    for name in ["one.tar", "two.tar", "three.tar"] {
        place.run(["bag", "create", "letters", name, "--tag", "Source-Organization: Example"]).succeeds();
    }
    let deposit = ["deposit", "one.tar", "two.tar", "three.tar", "--collection", "default", "--wait"];
    let deposited = place.run_at_terminal(120, &deposit);
    assert_eq!(deposited.code, Some(0), "{deposited:?}");
    shows(&deposited, 120, r"^6\.\d MiB of 6\.\d MiB, \S+ \S+/s, 0s left, 3 of 3 items");
    let restore = ["restore", "--collection", "example.edu/default", "--to", "back", "--wait"];
    let restored = place.run_at_terminal(120, &restore);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert_eq!(restored.screen.trim(), "", "nothing but the line was drawn");
    shows(&restored, 120, r"^\S+ \S+ of 1\.\d MiB, \S+ \S+/s, (\S+ \S*left, )?\d of 3 objects");
    place.write("list", "example.edu/one\nexample.edu/two\n");
    let restored = place.run_at_terminal(120, &["restore", "--list", "list", "--to", "other", "--wait"]);
    assert_eq!(restored.code, Some(0), "{restored:?}");
    shows(&restored, 120, r"^\S+ \S+ of 8\d\d\.\d KiB, \S+ \S+/s, (\S+ \S*left, )?\d of 2 objects");
}

#[test]
fn nothing_of_the_line_is_left_above_what_is_printed_at_a_terminal() {
    let place = Place::with_home();
    folder(&place, "letters");
    for name in ["one.tar", "two.tar", "three.tar"] {
        place.run(["bag", "create", "letters", name, "--tag", "Source-Organization: Example"]).succeeds();
    }
    let outcomes = |columns: u16, arguments: &[&str], count: usize| {
        let (code, screen) = place.run_by_typing(columns, arguments, "");
        assert_eq!(code, Some(0), "{screen}");
        // Several packages have their batch before and after them.
        let is_outcome = |line: &&str| !line.trim().is_empty() && !line.starts_with("batch ");
        let lines: Vec<&str> = screen.lines().filter(is_outcome).collect();
        assert_eq!(lines.len(), count, "{screen}");
        assert!(lines.iter().all(|line| line.starts_with("succeeded  example.edu/")), "{screen}");
    };
    outcomes(80, &["deposit", "one.tar", "two.tar", "three.tar"], 3);
    outcomes(80, &["restore", "object", "example.edu/one", "--to", "back"], 1);
    outcomes(40, &["restore", "object", "example.edu/two", "--to", "back"], 1);
}

#[test]
fn identification_anew_shows_how_many_files_there_are() {
    let place = Place::with_home();
    place.write("DROID_SignatureFile_V1.xml", OLDER_SIGNATURES);
    place.run(["signatures", "update", "DROID_SignatureFile_V1.xml", "--allow-older"]).succeeds();
    place.bag("letter", "dear reader\n");
    place.run(["deposit", "letter.tar", "--wait"]).succeeds();
    place.run(["signatures", "use", "built-in"]).succeeds();
    let behind = place.run(["signatures", "reidentify", "--dry-run", "--json"]).succeeds().object();
    let files = behind["files"].as_u64().unwrap();
    assert!(files > 1, "{behind}");
    let renewed = place.run_at_terminal(120, &["signatures", "reidentify", "--wait"]);
    assert_eq!(renewed.code, Some(0), "{renewed:?}");
    shows(&renewed, 120, &format!(r"^\S+ K?i?B, \S+ \S+/s, 0s left, {files} of {files} files"));
}

#[test]
fn checks_and_copies_of_stores_show_bytes() {
    let place = with_object();
    let checked = place.run_at_terminal(120, &["fixity", "run", "--all"]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    shows(&checked, 120, r"^\d+\.\d KiB of \d+\.\d KiB, \S+ \S+/s, \S+ left, \d+ of \d+ copies, 0 damaged");
    std::fs::remove_dir_all(place.path("home/stores/secondary")).unwrap();
    std::fs::create_dir(place.path("home/stores/secondary")).unwrap();
    place.run(["store", "replace", "secondary", "--no-wait"]).succeeds();
    let filled = place.run_at_terminal(120, &["store", "backfill", "secondary", "--wait"]);
    assert_eq!(filled.code, Some(0), "{filled:?}");
    // What is copied is read back.
    shows(&filled, 120, r"^8\d\d\.\d KiB of 8\d\d\.\d KiB, \S+ \S+/s, 0s left, store secondary");
}

#[test]
fn a_line_fits_a_narrow_terminal_and_a_name_cannot_steer_it() {
    let place = Place::empty();
    folder(&place, "let\u{1b}[31mters");
    for columns in [40, 80] {
        let made = place.run_at_terminal(columns, &["bag", "create", "let\u{1b}[31mters", &format!("{columns}.tar")]);
        assert_eq!(made.code, Some(0), "{made:?}");
        shows(&made, columns.into(), r"^\d+\.\d KiB");
    }
    let wide = place.run_at_terminal(200, &["bag", "create", "let\u{1b}[31mters", "wide.tar"]);
    shows(&wide, 200, r"let\\u\{1b\}\[31mters");
}

#[test]
fn no_line_is_drawn_where_nobody_sees_it_or_wants_it() {
    let place = Place::empty();
    folder(&place, "letters");
    let piped = place.run(["bag", "create", "letters", "letters.tar"]).succeeds();
    assert_eq!(piped.stderr, "");
    let quiet = place.run_at_terminal(80, &["-q", "bag", "validate", "letters.tar"]);
    assert_eq!((quiet.code, quiet.screen.as_str(), quiet.frames.len()), (Some(0), "", 0), "{quiet:?}");
}

#[test]
fn ctrl_c_takes_the_line_away_and_says_what_stays_and_what_to_do() {
    let place = Place::empty();
    // It reads for as long as nothing comes.
    let identifying = place.start_at_terminal(120, &["identify", "-"]);
    identifying.interrupt();
    let ended = identifying.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(ended.stdout, "");
    let lines: Vec<&str> = ended.screen.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let told =
        ["stopped; nothing was changed, and what was printed is not complete", "  next: the same command begins anew"];
    assert_eq!(lines, told, "{ended:?}");
}
