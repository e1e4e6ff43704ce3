//! `man`: the manual pages, made from the command line, with sections that a command line does not know.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};

use clap::{Arg, Args, Command};
use clap_mangen::Man as Page;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::context::Context;
use crate::examples;
use crate::failure::{Exit, Failure, Outcome};

/// Show a manual page, or write all of them into a folder
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The command whose page is shown, such as store replace [default: the program]
    command: Vec<String>,
    /// Write all pages into this folder, which is made where it is missing
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// Exit codes with their meanings, as manual pages and the help of the program show them.
const EXIT_STATUS: [(&str, &str); 7] = [
    ("0", "Done."),
    ("1", "Done, and the check failed: an invalid bag, a failed work item, damage found."),
    ("2", "Wrong usage or settings."),
    ("3", "Not found."),
    ("4", "Not allowed, by the system or by the state of a record."),
    ("5", "A disk or a service that the command needs cannot be reached."),
    ("130", "Interrupted."),
];

const ENVIRONMENT: [(&str, &str); 4] = [
    ("STRONGROOM_HOME", "The data directory, where --home and --config are not given. Without it: ./strongroom."),
    (
        "STRONGROOM_SECTION__KEY",
        "A setting, such as STRONGROOM_FIXITY__MAX_AGE for fixity.max_age. It takes precedence over the settings file.",
    ),
    (
        "STRONGROOM_SECTION__KEY_FILE",
        "The path of a file with the value of a setting that may hold a secret, such as STRONGROOM_REGISTRY__PASSWORD_FILE.",
    ),
    (
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE",
        "Credentials of stores in object storage that name none.",
    ),
];

const FILES: [(&str, &str); 4] = [
    ("strongroom.toml", "The settings, in the data directory. \"strongroom config show\" explains each."),
    (
        "registry.db",
        "The registry, in the data directory, where it is not in PostgreSQL; with registry.db-wal and registry.db-shm.",
    ),
    ("signatures/", "Installed PRONOM signatures, in the data directory."),
    ("stores/", "Stores that are folders, in the data directory unless the settings name another path."),
];

pub(crate) fn run(command: &Man, context: &Context) -> Outcome {
    let pages = pages()?;
    let Some(dir) = &command.dir else {
        let words = command.command.join("-").replace(' ', "-");
        let wanted =
            match words.strip_prefix("strongroom").map_or(words.as_str(), |words| words.trim_start_matches('-')) {
                "" => "strongroom".to_owned(),
                words => format!("strongroom-{words}"),
            };
        let page = pages.iter().find(|page| page.name == wanted);
        let page = page.ok_or_else(|| {
            Failure::not_found("manual page", &wanted).next("\"strongroom --help\" lists the commands")
        })?;
        return show(page);
    };
    fs::create_dir_all(dir).map_err(|error| Failure::io("make the folder", dir, &error))?;
    for page in &pages {
        let path = dir.join(format!("{}.1", page.name));
        fs::write(&path, &page.text).map_err(|error| Failure::io("write the manual page", &path, &error))?;
    }
    context.output.say(format!("wrote the manual pages to {}", dir.display()))?;
    Ok(Exit::Done)
}

/// A manual page.
struct Rendered {
    /// Such as `strongroom-store-replace`.
    name: String,
    text: Vec<u8>,
}

/// Shows a page by `man`, which formats it and opens a pager where it writes to a terminal.
fn show(page: &Rendered) -> Outcome {
    let unusable = |error: io::Error| {
        Failure::new(Exit::OutOfReach, format!("could not show the manual page by the program man: {error}")).next(
            "\"strongroom help COMMAND\" shows the help of a command; \"strongroom man --dir DIR\" writes the pages",
        )
    };
    let mut child = Process::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn().map_err(unusable)?;
    if let Some(mut input) = child.stdin.take() {
        match input.write_all(&page.text) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(unusable(error)),
            _ => {}
        }
    }
    let status = child.wait().map_err(unusable)?;
    if status.success() { Ok(Exit::Done) } else { Err(unusable(io::Error::other(format!("it ended with {status}")))) }
}

/// All pages, that of the program first.
fn pages() -> Result<Vec<Rendered>, Failure> {
    let mut command = examples::command_line().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect(&command, &mut pages)
        .map_err(|error| Failure::new(Exit::OutOfReach, format!("could not make the manual pages: {error}")))?;
    Ok(pages)
}

fn collect(command: &Command, pages: &mut Vec<Rendered>) -> io::Result<()> {
    pages.push(rendered(command)?);
    command.get_subcommands().filter(|under| !under.is_hide_set()).try_for_each(|under| collect(under, pages))
}

fn rendered(command: &Command) -> io::Result<Rendered> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let page = Page::new(command.clone());
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    synopsis(command).to_writer(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.get_subcommands().any(|under| !under.is_hide_set()) {
        page.render_subcommands_section(&mut text)?;
    }
    let mut roff = Roff::new();
    let notes = examples::notes_of(command);
    // Those of the program are its exit codes, which have a section.
    if !notes.is_empty() && notes != exit_codes() {
        roff.control("SH", ["NOTES"]);
        roff.text([roman(notes.split_whitespace().collect::<Vec<_>>().join(" "))]);
    }
    roff.control("SH", ["EXAMPLES"]);
    let examples = examples::shown_by(command);
    let examples = if examples.is_empty() { first_examples(command) } else { examples };
    roff.control("nf", []);
    for example in examples {
        roff.text([roman(example)]);
    }
    roff.control("fi", []);
    terms(&mut roff, "ENVIRONMENT", &ENVIRONMENT);
    terms(&mut roff, "FILES", &FILES);
    terms(&mut roff, "EXIT STATUS", &EXIT_STATUS);
    roff.to_writer(&mut text)?;
    Ok(Rendered { name, text })
}

/// Stands in a usage for the options that may be given.
const OPTIONS: &str = "[OPTIONS]";

/// How the command is called, with each of its options and what it takes. Options of every command are on the page of the program.
fn synopsis(command: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    let usage = command.clone().render_usage().to_string();
    let forms: Vec<&str> = usage.trim_start_matches("Usage:").lines().map(str::trim).collect();
    let is_program = command.get_name() == "strongroom";
    let options: Vec<Vec<Inline>> = command
        .get_arguments()
        .filter(|option| !option.is_positional() && !option.is_hide_set() && !option.is_required_set())
        .filter(|option| is_program || !option.is_global_set())
        .map(optional)
        .collect();
    let options = || options.iter().flat_map(|option| [&option[..], &[roman(" ")]].concat());
    for (index, form) in forms.iter().enumerate() {
        if index > 0 {
            roff.control("br", []);
        }
        let mut line = Vec::new();
        for word in form.split(' ') {
            match word {
                OPTIONS if forms.len() == 1 => line.extend(options()),
                word => line.extend(usage_word(word)),
            }
        }
        roff.text(line);
    }
    if forms.len() > 1 {
        roff.control("PP", []);
        roff.text([roman("OPTIONS are "), roman("")].into_iter().chain(options()).collect::<Vec<_>>());
    }
    roff
}

/// A word of a usage, with a blank behind it: what stands for something in italics, all else as it is typed.
fn usage_word(word: &str) -> [Inline; 2] {
    let is_typed = word.starts_with(|first: char| first.is_ascii_lowercase() || first == '-');
    let plain = word.replace(['<', '>'], "");
    [if is_typed { bold(plain) } else { italic(plain) }, roman(" ")]
}

/// An option with the names of its values, in brackets.
fn optional(option: &Arg) -> Vec<Inline> {
    let short = option.get_short().map(|short| format!("-{short}"));
    let long = option.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let mut parts = vec![roman("["), bold(names.join("|"))];
    if option.get_action().takes_values() {
        let names = option.get_value_names().unwrap_or_default();
        let values = names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        parts.extend([roman(" "), italic(values)]);
    }
    parts.push(roman(if matches!(option.get_action(), clap::ArgAction::Append | clap::ArgAction::Count) {
        "]..."
    } else {
        "]"
    }));
    parts
}

/// A section of terms with what they mean.
fn terms(roff: &mut Roff, heading: &str, terms: &[(&str, &str)]) {
    roff.control("SH", [heading]);
    for (term, meaning) in terms {
        roff.control("TP", []);
        let term: [Inline; 1] = [bold(*term)];
        roff.text(term);
        roff.text([roman(*meaning)]);
    }
}

/// What the page of the program shows: how one begins.
fn first_examples(command: &Command) -> Vec<String> {
    ["init", "deposit", "status", "restore"]
        .iter()
        .filter_map(|name| examples::shown_by(command.find_subcommand(name)?).into_iter().next())
        .collect()
}

/// Exit codes in one line.
pub(crate) fn exit_codes() -> String {
    let codes: Vec<String> = EXIT_STATUS
        .iter()
        .map(|(code, meaning)| format!("{code} {}", lower_case(meaning.trim_end_matches('.'))))
        .collect();
    format!("Exit codes: {}.", codes.join("; "))
}

fn lower_case(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}
