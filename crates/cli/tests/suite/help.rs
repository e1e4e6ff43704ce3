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
    place.run(["man", "--dir", "pages"]).succeeds();
    let pages: Vec<_> = std::fs::read_dir(place.path("pages")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(pages.len() > 50, "{} pages", pages.len());
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for section in ["SYNOPSIS", "EXAMPLES", "ENVIRONMENT", "FILES", "\"EXIT STATUS\""] {
            assert!(text.contains(&format!(".SH {section}\n")), "{} has no section {section}", page.display());
        }
        assert!(text.contains("strongroom "), "{}", page.display());
    }
    let page = std::fs::read_to_string(place.path("pages/strongroom-deposit.1")).unwrap();
    let synopsis = |page: &str| {
        let text = page.split_once(".SH SYNOPSIS\n").unwrap().1.split_once("\n.SH ").unwrap().0.to_owned();
        // What follows is the preamble of the next part.
        let text = text.split_once("\n.ie ").map_or(text.as_str(), |(synopsis, _)| synopsis).to_owned();
        text.replace("\\fB", "").replace("\\fI", "").replace("\\fR", "").replace("\\-", "-")
    };
    let shown = synopsis(&page);
    for part in
        ["strongroom deposit [--institution DOMAIN] ", " [--type KIND] ", " [--local-id ID]... ", " [--update] "]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.trim_end().ends_with(" PATH|URL...") && !shown.contains("--home"), "{shown}");
    let page = std::fs::read_to_string(place.path("pages/strongroom-bag-create.1")).unwrap();
    let shown = synopsis(&page);
    assert!(shown.contains("--into DIR SOURCE...") && shown.contains("[--bag-info FILE]"), "{shown}");
    let page = std::fs::read_to_string(place.path("pages/strongroom.1")).unwrap();
    assert!(synopsis(&page).contains("[--home DIR] [--config FILE] [--json] [--as EMAIL]"), "{}", synopsis(&page));
}

#[test]
fn a_manual_page_is_shown_by_the_program_man() {
    let place = Place::empty();
    place.write("bin/man", "#!/bin/sh\n[ \"$*\" = '-l -' ] && exec cat\n");
    let man = place.path("bin/man");
    std::fs::set_permissions(&man, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let shown = |arguments: &[&str]| place.run_with(&[("PATH", &path)], arguments).succeeds().stdout;
    assert!(shown(&["man"]).contains(".TH strongroom 1"));
    let page = shown(&["man", "store-replace"]);
    assert!(page.contains(".TH strongroom-store-replace 1"));
    assert!(page.contains(concat!("\"strongroom ", env!("CARGO_PKG_VERSION"), "\"")), "{page}");
    assert!(shown(&["man", "store", "replace"]).contains(".TH strongroom-store-replace 1"));
    place.run(["man", "nothing"]).fails(3, &["strongroom-nothing", "next:"]);
    place.run_with(&[("PATH", "/nowhere")], ["man"]).fails(5, &["program man", "next:"]);
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
