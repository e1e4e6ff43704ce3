//! A policy as the TOML that people change and set again.

use std::fmt::Write as _;

use crate::{Policy, Rule, Rules};

impl Policy {
    /// The TOML that [`crate::Draft::read`] reads; with a version, it says that it was made from that one.
    pub fn to_toml(&self, based_on: Option<u64>) -> String {
        let mut lines = Vec::new();
        lines.extend(based_on.map(|version| format!("based_on = {version}")));
        if !self.ignore.is_empty() {
            let globs: Vec<String> = self.ignore.iter().map(|glob| quoted(glob.as_str())).collect();
            lines.push(format!("ignore = [{}]", globs.join(", ")));
        }
        lines.extend(self.default.as_ref().map(|rules| format!("default = {}", written(rules))));
        for entry in &self.spaces {
            lines.extend([String::new(), "[[spaces]]".to_owned()]);
            lines.push(format!("space = {}", quoted(entry.space.as_str())));
            lines.push(format!("rules = {}", written(&entry.rules)));
        }
        // Each line ends.
        lines.push(String::new());
        lines.join("\n")
    }
}

fn written(rules: &Rules) -> String {
    match rules {
        Rules::None => quoted(Rules::NONE),
        Rules::Some(rules) => {
            let rules: Vec<String> = rules.iter().map(|rule| format!("  {},\n", rule_of(rule))).collect();
            format!("[\n{}]", rules.concat())
        }
    }
}

fn rule_of(rule: &Rule) -> String {
    let delete = if rule.delete { ", delete = true" } else { "" };
    format!("{{ source = {}, destination = {}{delete} }}", quoted(&rule.source), quoted(&rule.destination))
}

/// A string of TOML, on one line.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                // Writing into a text does not fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
