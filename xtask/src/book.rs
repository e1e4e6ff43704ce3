//! Pages of the book that are made from tables in the code, and the test that keeps them true. To write them anew:
//! `UPDATE_BOOK=1 cargo test -p xtask book`.

use std::fmt::Write as _;
use std::path::Path;

use crate::place;

const NOTE: &str = "<!-- Made from the code; see xtask/src/book.rs. -->\n";

fn problem_codes() -> String {
    let mut page = format!(
        "# All problem codes\n\n{NOTE}\nWhat a check of a bag can report; `strongroom bag codes` prints the same.\n\n\
         | code | severity | meaning |\n|---|---|---|\n"
    );
    let mut codes = strongroom_bagit::CODES.to_vec();
    codes.sort_unstable_by_key(|(code, ..)| *code);
    for (code, severity, meaning) in codes {
        let severity = format!("{severity:?}").to_lowercase();
        // Writing into a string cannot fail.
        let _ = writeln!(page, "| `{code}` | {severity} | {} |", meaning.replace('|', "\\|"));
    }
    page
}

fn settings() -> String {
    format!("# All settings\n\n{NOTE}\n{}", strongroom_engine::settings::markdown())
}

fn assert_current(name: &str, text: &str) {
    let path = place::root().join("docs").join(name);
    if std::env::var_os("UPDATE_BOOK").is_some() {
        std::fs::write(&path, text).expect("the page can be written");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let is_current = page == text;
    assert!(
        is_current,
        "{} is out of date: UPDATE_BOOK=1 cargo test -p xtask book",
        Path::new("docs").join(name).display()
    );
}

#[test]
fn the_page_of_problem_codes_is_current() {
    assert_current("problem-codes.md", &problem_codes());
}

#[test]
fn the_page_of_settings_is_current() {
    assert_current("settings-reference.md", &settings());
}
