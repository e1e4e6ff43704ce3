//! What may stand in no file: paths of one person's machine, unfinished code, and modules named after nothing.

use std::path::Path;

use anyhow::Result;

use crate::place;

/// Texts with the reason against them. They are taken apart here so that this file does not accuse itself.
const FORBIDDEN: [(&str, &str, &str); 5] = [
    ("/wo", "rk/", "a path of one machine"),
    ("/ro", "ot/", "a path of one machine"),
    ("todo", "!(", "unfinished code"),
    ("unimplemented", "!(", "unfinished code"),
    ("dbg", "!(", "left over from debugging"),
];

/// A file or module is named for its purpose.
const FORBIDDEN_STEMS: [&str; 5] = ["utils", "common", "helpers", "misc", "manager"];

pub(crate) fn check(faults: &mut Vec<String>) -> Result<()> {
    let root = place::root();
    for path in place::files()? {
        if let Some(stem) = forbidden_stem(&path) {
            faults.push(format!("{}: name it for its purpose, not {stem:?}", path.display()));
        }
        // What is no text, or is gone by now, has nothing to say.
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if let Some((found, reason)) = forbidden_text(line) {
                faults.push(format!("{}:{}: {found:?} is {reason}", path.display(), number + 1));
            }
        }
    }
    Ok(())
}

fn forbidden_stem(path: &Path) -> Option<&'static str> {
    let is_code = path.extension().is_some_and(|extension| extension == "rs");
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    FORBIDDEN_STEMS
        .into_iter()
        .find(|stem| is_code && parts.iter().any(|part| part.strip_suffix(".rs").unwrap_or(part) == *stem))
}

fn forbidden_text(line: &str) -> Option<(String, &'static str)> {
    // Comments may speak of macros; they may not name machines.
    let is_comment = line.trim_start().starts_with("//");
    FORBIDDEN.into_iter().find_map(|(head, tail, reason)| {
        let text = format!("{head}{tail}");
        let is_path = head.starts_with('/');
        if is_comment && !is_path {
            return None;
        }
        let position = line.find(&text)?;
        // Part of a longer path or URL, such as `a/work/b`, is no fault.
        let starts_alone = !line[..position].ends_with(|c: char| c.is_alphanumeric() || "._-/".contains(c));
        (starts_alone || !is_path).then_some((text, reason))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_paths_are_found_where_they_start() {
        assert!(forbidden_text(concat!("see /wo", "rk/main")).is_some());
        assert!(forbidden_text(concat!("cd \"/ro", "ot/x\"")).is_some());
        assert!(forbidden_text(concat!("storage/wo", "rk/x")).is_none());
    }

    #[test]
    fn modules_named_after_nothing_are_found() {
        assert_eq!(forbidden_stem(Path::new("crates/x/src/utils.rs")), Some("utils"));
        assert_eq!(forbidden_stem(Path::new("crates/x/src/common/mod.rs")), Some("common"));
        assert_eq!(forbidden_stem(Path::new("docs/common/mod.md")), None);
        assert_eq!(forbidden_stem(Path::new("crates/x/src/commonplace.rs")), None);
    }
}
