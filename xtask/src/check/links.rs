//! Relative links and anchors of every Markdown file, and the table of contents of the book.

use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use crate::place;

pub(crate) fn check(faults: &mut Vec<String>) -> Result<()> {
    let root = place::root();
    let pages: Vec<PathBuf> =
        place::files()?.into_iter().filter(|path| path.extension() == Some("md".as_ref())).collect();
    let mut texts = HashMap::new();
    for page in &pages {
        let text =
            std::fs::read_to_string(root.join(page)).with_context(|| format!("cannot read {}", page.display()))?;
        texts.insert(page.clone(), text);
    }
    for page in &pages {
        for link in links(&texts[page]) {
            if let Some(fault) = fault_of(&root, page, &link, &texts) {
                faults.push(format!("{}: {link}: {fault}", page.display()));
            }
        }
    }
    check_contents(&texts, faults);
    Ok(())
}

/// What is wrong with a link, if anything. Links to other sites are not followed.
fn fault_of(root: &Path, page: &Path, link: &str, texts: &HashMap<PathBuf, String>) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let aim = if path.is_empty() { page.to_path_buf() } else { plain(&page.parent()?.join(path))? };
    if !root.join(&aim).exists() {
        return Some("no such file".into());
    }
    let anchor = anchor?;
    let text = texts.get(&aim)?;
    let is_there = anchors(text).contains(anchor);
    (!is_there).then(|| format!("no heading gives the anchor #{anchor}"))
}

/// The path without `.` and `..`; none where it leaves the workspace.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    Some(plain)
}

/// Every chapter stands in the table of contents.
fn check_contents(texts: &HashMap<PathBuf, String>, faults: &mut Vec<String>) {
    let Some(contents) = texts.get(Path::new("docs/SUMMARY.md")) else {
        faults.push("docs/SUMMARY.md is missing".into());
        return;
    };
    let listed: BTreeSet<PathBuf> = links(contents).iter().map(|link| Path::new("docs").join(link)).collect();
    let mut chapters: Vec<&PathBuf> = texts.keys().filter(|page| page.starts_with("docs")).collect();
    chapters.sort();
    for page in chapters {
        if page != Path::new("docs/SUMMARY.md") && !listed.contains(page) {
            faults.push(format!("{}: not in docs/SUMMARY.md", page.display()));
        }
    }
}

/// The text without code blocks and code spans.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let outside_spans: Vec<&str> = line.split('`').step_by(2).collect();
            prose.push_str(&outside_spans.join("x"));
            prose.push('\n');
        }
    }
    prose
}

/// The aims of inline links and of link definitions.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let mut links = Vec::new();
    for (position, _) in prose.match_indices("](") {
        let rest = &prose[position + 2..];
        if let Some((aim, _)) = rest.split_once(')') {
            links.push(aim.split_whitespace().next().unwrap_or_default().to_owned());
        }
    }
    for line in prose.lines().filter(|line| line.starts_with('[')) {
        if let Some((_, aim)) = line.split_once("]: ") {
            links.push(aim.split_whitespace().next().unwrap_or_default().to_owned());
        }
    }
    links
}

/// The anchors that a page's headings get: lower case, blanks as hyphens, punctuation dropped.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let title = line.trim_start_matches('#');
        if in_code || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let anchor: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(|character| match character {
                ' ' => Some('-'),
                other => (other.is_alphanumeric() || other == '-' || other == '_').then_some(other),
            })
            .collect();
        let mut unique = anchor.clone();
        let mut number = 0;
        while !anchors.insert(unique.clone()) {
            number += 1;
            unique = format!("{anchor}-{number}");
        }
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code_only() {
        let text = "see [a](a.md#x \"title\") and `[b](b.md)`\n```\n[c](c.md)\n```\n[d]: d.md\n";
        assert_eq!(links(text), ["a.md#x", "d.md"]);
    }

    #[test]
    fn headings_give_anchors() {
        let anchors = anchors("# A title, with `code`!\n## Same\n## Same\n#!no\n```\n# not\n```\n");
        assert_eq!(anchors, BTreeSet::from(["a-title-with-code", "same", "same-1"].map(String::from)));
    }

    #[test]
    fn a_dead_link_is_told_from_a_live_one() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a.md"), "# Here\n").expect("write");
        let page = PathBuf::from("a.md");
        let texts = HashMap::from([(page.clone(), "# Here\n".to_owned())]);
        let fault = |link| fault_of(folder.path(), &page, link, &texts);
        assert_eq!(fault("#here"), None);
        assert_eq!(fault("https://example.org/x"), None);
        assert!(fault("#there").is_some());
        assert!(fault("b.md").is_some());
    }
}
