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
