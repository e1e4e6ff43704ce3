//! Help, completions and manual pages.

use crate::program::Place;

#[test]
fn help_lists_the_commands_and_the_exit_codes() {
    let place = Place::empty();
    let help = place.run(["--help"]).succeeds().stdout;
    for word in ["init", "deposit", "work", "serve", "items", "objects", "queue", "fixity", "Exit codes", "--json"] {
        assert!(help.contains(word), "{word} is not in the help");
    }
}

#[test]
fn every_command_explains_itself() {
    let place = Place::empty();
    let help = place.run(["--help"]).succeeds().stdout;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next())
        .collect();
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands.into_iter().filter(|command| *command != "help") {
        let text = place.run([command, "--help"]).succeeds().stdout;
        assert!(text.contains("Usage: strongroom"), "{command}: {text}");
    }
}

#[test]
fn shells_and_manuals_get_what_they_need() {
    let place = Place::empty();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(place.run(["completions", shell]).succeeds().stdout.contains("strongroom"), "{shell}");
    }
    place.run(["man", "pages"]).succeeds();
    let page = std::fs::read_to_string(place.path("pages/strongroom-deposit.1")).unwrap();
    assert!(page.contains("institution"));
}

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let lines =
        help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1).take_while(|line| !line.is_empty());
    // What continues a line is further in.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()));
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_has_its_row_in_the_book() {
    let book = include_str!("../../../../docs/command-line.md");
    // What stands in code in each row, word by word.
    let rows: Vec<Vec<Vec<&str>>> = book
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|row| row.split('`').skip(1).step_by(2).map(|code| code.split_whitespace().collect()).collect())
        .collect();
    let has_row = |command: &str, under: Option<&str>| {
        rows.iter().any(|row| {
            row.iter().any(|code| code.first() == Some(&command))
                && under.is_none_or(|under| row.iter().any(|code| code.iter().take(2).any(|word| *word == under)))
        })
    };
    let place = Place::empty();
    let mut missing = Vec::new();
    for command in listed(&place.run(["--help"]).succeeds().stdout) {
        let under = listed(&place.run([command.as_str(), "--help"]).succeeds().stdout);
        if !has_row(&command, None) {
            missing.push(command.clone());
        }
        missing.extend(
            under.iter().filter(|name| !has_row(&command, Some(name.as_str()))).map(|name| format!("{command} {name}")),
        );
    }
    assert!(missing.is_empty(), "docs/command-line.md has no row for {missing:?}");
}
