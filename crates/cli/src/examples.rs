//! Examples of the commands: one place for those that help texts and manual pages show. A command whose own help text has an
//! example already keeps that one.

use clap::{Command, CommandFactory as _};

use crate::arguments::Arguments;

/// The words of each command behind `strongroom`, and its examples. A command with commands below it shows their first ones.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "init",
        &[
            "strongroom init /var/lib/strongroom",
            "strongroom init data --registry postgres://strongroom@localhost/strongroom",
        ],
    ),
    ("status", &["strongroom status", "strongroom status --json"]),
    ("demo", &["strongroom demo"]),
    ("serve", &["strongroom --home /var/lib/strongroom serve"]),
    (
        "work",
        &[
            "strongroom work --kind ingest --kind batch",
            "strongroom work --topics ingest.fetch,ingest.validate --workers 4",
        ],
    ),
    ("schedule", &["strongroom schedule", "strongroom schedule --once"]),
    (
        "deposit",
        &[
            "strongroom deposit letters.tar --wait",
            "strongroom --as ann@example.edu deposit letters.tar maps.zip --collection maps",
        ],
    ),
    (
        "receiving list",
        &["strongroom receiving list --institution example.edu", "strongroom receiving list --all --json"],
    ),
    ("receiving show", &["strongroom receiving show 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("receiving forget", &["strongroom receiving forget 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    (
        "delete request",
        &[
            "strongroom --as a@b.edu delete request b.edu/maps --reason duplicate",
            "strongroom --as a@b.edu delete request b.edu/maps data/1.tif --reason spam",
            "strongroom --as a@b.edu delete request --list due.txt --reason schedule",
        ],
    ),
    (
        "delete approve",
        &[
            "strongroom --as c@b.edu delete approve 01a206d3 --note \"as agreed\"",
            "strongroom --as c@b.edu delete approve --token-stdin",
        ],
    ),
    ("delete deny", &["strongroom --as c@b.edu delete deny 01a206d3 --reason \"still in use\""]),
    ("delete cancel", &["strongroom --as a@b.edu delete cancel 01a206d3 --reason mistake"]),
    ("delete list", &["strongroom delete list --state requested", "strongroom delete list --csv > deletions.csv"]),
    ("delete show", &["strongroom delete show 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("delete unfinished", &["strongroom delete unfinished", "strongroom delete unfinished --json"]),
    ("activity agents", &["strongroom activity agents"]),
    (
        "activity run",
        &[
            "strongroom activity run harvest --option url=https://example.edu/oai",
            "strongroom activity run deposit --input 01a206d3 --follow",
        ],
    ),
    ("activity list", &["strongroom activity list", "strongroom activity list --state failed"]),
    (
        "activity show",
        &[
            "strongroom activity show 01a206d3-9f8e-746b-8e5d-6ed979e0815a",
            "strongroom activity show 01a206d3-9f8e-746b-8e5d-6ed979e0815a --json",
        ],
    ),
    ("activity records", &["strongroom activity records 01a206d3 --state failed --csv"]),
    (
        "activity provenance",
        &[
            "strongroom activity provenance 01a206d3 > harvest.jsonld",
            "strongroom activity provenance --entity oai:example.edu:map-1",
        ],
    ),
    ("activity document", &["strongroom activity document urn:uuid:01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("activity restart", &["strongroom activity restart 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("activity retry-failed", &["strongroom activity retry-failed 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("activity rerun", &["strongroom activity rerun 01a206d3-9f8e-746b-8e5d-6ed979e0815a --anew"]),
    ("activity pause", &["strongroom activity pause 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("activity resume", &["strongroom activity resume 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    (
        "activity findings",
        &["strongroom activity findings --activity 01a206d3", "strongroom activity findings --settled --csv"],
    ),
    ("activity dismiss", &["strongroom activity dismiss 01a206d3 --note \"a test file\""]),
    ("activity cancel", &["strongroom activity cancel 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("pipeline set", &["strongroom pipeline set maps maps.toml"]),
    ("pipeline list", &["strongroom pipeline list"]),
    ("pipeline show", &["strongroom pipeline show maps"]),
    ("pipeline run", &["strongroom pipeline run maps", "strongroom pipeline run maps --only-changed --wait"]),
    ("pipeline remove", &["strongroom pipeline remove maps"]),
    ("batches list", &["strongroom batches list --institution example.edu"]),
    ("batches show", &["strongroom batches show 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    (
        "batches report",
        &[
            "strongroom batches report 01a206d3-9f8e-746b-8e5d-6ed979e0815a",
            "strongroom batches report 01a206d3-9f8e-746b-8e5d-6ed979e0815a --format html",
            "strongroom batches report 01a206d3-9f8e-746b-8e5d-6ed979e0815a --update",
        ],
    ),
    ("batches reports", &["strongroom batches reports 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("batches requeue", &["strongroom batches requeue 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("batches set", &["strongroom batches set 01a206d3 --notify-to ann@example.edu"]),
    ("batches release", &["strongroom batches release 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("batches hold", &["strongroom batches hold 01a206d3-9f8e-746b-8e5d-6ed979e0815a --reason rights"]),
    ("batches cancel", &["strongroom batches cancel 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("batches fail", &["strongroom batches fail 01a206d3-9f8e-746b-8e5d-6ed979e0815a --reason gone"]),
    (
        "batches delete",
        &[
            "strongroom batches delete 01a206d3-9f8e-746b-8e5d-6ed979e0815a",
            "strongroom batches delete 01a206d3-9f8e-746b-8e5d-6ed979e0815a --yes",
        ],
    ),
    (
        "items list",
        &[
            "strongroom items list --needs-review",
            "strongroom items list --object example.edu/letters",
            "strongroom items list --batch 01a206d3-9f8e-746b-8e5d-6ed979e0815a --status failed",
            "strongroom items list --activity 01a206d3-9f8e-746b-8e5d-6ed979e0815a",
        ],
    ),
    (
        "items show",
        &[
            "strongroom items show 01a206d3-9f8e-746b-8e5d-6ed979e0815a",
            "strongroom items show 01a206d3-9f8e-746b-8e5d-6ed979e0815a --interim",
        ],
    ),
    ("items history", &["strongroom items history 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    (
        "items requeue",
        &[
            "strongroom items requeue 01a206d3-9f8e-746b-8e5d-6ed979e0815a --stage validate",
            "strongroom items requeue --code package.not_fetched --host files.example.edu",
        ],
    ),
    ("items count", &["strongroom items count", "strongroom items count --by institution --json"]),
    ("items failures", &["strongroom items failures --institution example.edu"]),
    ("items hold", &["strongroom items hold 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("items release", &["strongroom items release 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("items move", &["strongroom items move 01a206d3-9f8e-746b-8e5d-6ed979e0815a --priority 1"]),
    ("items cancel", &["strongroom items cancel 01a206d3-9f8e-746b-8e5d-6ed979e0815a"]),
    ("items fail", &["strongroom items fail 01a206d3-9f8e-746b-8e5d-6ed979e0815a --reason gone"]),
    (
        "items delete",
        &[
            "strongroom items delete 01a206d3-9f8e-746b-8e5d-6ed979e0815a",
            "strongroom items delete 01a206d3-9f8e-746b-8e5d-6ed979e0815a --yes",
        ],
    ),
    (
        "notify test",
        &[
            "strongroom notify test --mail ann@example.edu",
            "strongroom notify test --callback https://hooks.example.edu/strongroom",
        ],
    ),
    ("objects list", &["strongroom objects list --institution example.edu"]),
    ("objects show", &["strongroom objects show example.edu/letters"]),
    (
        "objects files",
        &[
            "strongroom objects files example.edu/letters --below data/1923",
            "strongroom objects files example.edu/letters --json",
        ],
    ),
    (
        "objects events",
        &[
            "strongroom objects events example.edu/letters",
            "strongroom objects events example.edu/letters --type 'fixity check' --since 7d",
        ],
    ),
    ("objects versions", &["strongroom objects versions example.edu/letters"]),
    ("objects premis", &["strongroom objects premis example.edu/letters > letters.xml"]),
    (
        "restore",
        &[
            "strongroom restore --collection example.edu/default --to back --wait",
            "strongroom restore --list wanted.txt",
        ],
    ),
    (
        "restore object",
        &[
            "strongroom restore object example.edu/letters --to back --wait",
            "strongroom restore object example.edu/letters --format submitted --to back",
        ],
    ),
    ("restore tests list", &["strongroom restore tests list --state restored", "strongroom restore tests list --csv"]),
    ("restore tests confirm", &["strongroom --as ann@example.edu restore tests confirm 01a206d3"]),
    ("restore tests reject", &["strongroom restore tests reject 01a206d3 --reason \"the images do not open\""]),
    ("restore tests close", &["strongroom restore tests close 01a206d3 --reason \"restored again, and right\""]),
    ("restore file", &["strongroom restore file 01a206d3-9f8e-746b-8e5d-6ed979e0815a --to back --wait"]),
    ("queue list", &["strongroom queue list"]),
    ("queue show", &["strongroom queue show ingest.fetch --state dead"]),
    ("queue pause", &["strongroom queue pause ingest.write", "strongroom queue pause --all"]),
    ("queue resume", &["strongroom queue resume --all"]),
    ("queue empty", &["strongroom queue empty fixity.check"]),
    ("queue dead", &["strongroom queue dead"]),
    ("queue retry", &["strongroom queue retry fixity.check"]),
    ("queue delete", &["strongroom queue delete 42"]),
    ("background list", &["strongroom background list --json"]),
    ("background run", &["strongroom background run fixity"]),
    ("fixity run", &["strongroom fixity run", "strongroom fixity run --all --store secondary"]),
    ("fixity repair", &["strongroom fixity repair"]),
    ("fixity report", &["strongroom fixity report --institution example.edu"]),
    ("fixity problems", &["strongroom fixity problems --all"]),
    ("space list", &["strongroom space list", "strongroom space list --store partner --json"]),
    ("space show", &["strongroom space show partner/maps"]),
    ("space items", &["strongroom space items partner/maps --after atlas/1.tif --limit 100"]),
    ("store list", &["strongroom store list"]),
    ("store create", &["strongroom store create third"]),
    ("store check", &["strongroom store check primary secondary"]),
    ("store reconcile", &["strongroom store reconcile --store secondary"]),
    ("store backfill", &["strongroom store backfill third --wait"]),
    ("store replace", &["strongroom store replace secondary"]),
    ("store retire", &["strongroom store retire first", "strongroom store retire --undo first"]),
    ("rebuild", &["strongroom rebuild --store primary", "strongroom rebuild --adopt --dry-run"]),
    ("backup", &["strongroom backup /var/backups/strongroom"]),
    (
        "migrate",
        &["strongroom migrate --schema", "strongroom migrate --to postgres://strongroom@db.example.edu/strongroom"],
    ),
    ("institution list", &["strongroom institution list"]),
    ("institution show", &["strongroom institution show example.edu"]),
    ("institution add", &["strongroom institution add library.example.org --name Library"]),
    ("institution rename", &["strongroom institution rename example.edu \"Example University\""]),
    ("institution set", &["strongroom institution set example.edu --active false"]),
    ("institution remove", &["strongroom institution remove example.edu"]),
    ("user list", &["strongroom user list --institution example.edu", "strongroom user list --role auditor --all"]),
    ("user show", &["strongroom user show ann@example.edu"]),
    (
        "user add",
        &[
            "strongroom user add ann@example.edu --role auditor --institution example.edu",
            "strongroom user add root@example.net --role system_admin --password-stdin",
        ],
    ),
    (
        "user set",
        &[
            "strongroom user set ann@example.edu --role institution_user",
            "strongroom user set ann@example.edu --password-stdin",
            "strongroom user set ann@example.edu --reset-second-factor",
        ],
    ),
    ("user invite", &["strongroom user invite ann@example.edu"]),
    ("user choose-password", &["strongroom user choose-password"]),
    ("user deactivate", &["strongroom user deactivate ann@example.edu"]),
    ("key list", &["strongroom key list --user ann@example.edu", "strongroom key list --all --json"]),
    ("key show", &["strongroom key show k7v2qwzn4a5xcd3e"]),
    ("key add", &["strongroom key add --user ann@example.edu --scope read,deposit --expires 90d"]),
    ("key revoke", &["strongroom key revoke k7v2qwzn4a5xcd3e"]),
    ("collection list", &["strongroom collection list --institution example.edu"]),
    ("collection show", &["strongroom collection show default --institution example.edu"]),
    ("collection rules", &["strongroom collection rules default --institution example.edu"]),
    ("collection add", &["strongroom collection add maps --institution example.edu --profile aptrust-2.3"]),
    (
        "collection set",
        &[
            "strongroom collection set theses --institution example.edu --name Theses",
            "strongroom collection set theses --institution example.edu --accept bag",
            "strongroom collection set theses --institution example.edu --priority 20",
            "strongroom collection set maps --institution example.edu --notify-to a@b.edu",
            "strongroom collection set maps --institution example.edu --retention 10y",
        ],
    ),
    ("collection due", &["strongroom collection due maps --institution example.edu --until 90d"]),
    ("collection hold", &["strongroom collection hold theses --institution example.edu --reason rights"]),
    ("collection release", &["strongroom collection release theses --institution example.edu"]),
    ("collection remove", &["strongroom collection remove theses --institution example.edu"]),
    (
        "hold legal add",
        &[
            "strongroom hold legal add example.edu/letters --reason \"Smith v. Jones\"",
            "strongroom hold legal add --collection maps --institution a.edu --reason audit",
        ],
    ),
    ("hold legal release", &["strongroom hold legal release 01a206d3…815a --reason settled"]),
    ("hold legal list", &["strongroom hold legal list --object example.edu/letters --all"]),
    ("problems list", &["strongroom problems list --kind store", "strongroom problems list --state waived --csv"]),
    ("problems show", &["strongroom problems show 0190a1b2"]),
    ("problems assign", &["strongroom problems assign 0190a1b2 --to ann@example.edu"]),
    ("problems waive", &["strongroom problems waive 0190a1b2 --reason \"new disks in May\" --until 90d"]),
    ("problems resolve", &["strongroom problems resolve 0190a1b2"]),
    (
        "duplicate policy show",
        &["strongroom duplicate policy show --space maps", "strongroom duplicate policy show --document > policy.toml"],
    ),
    (
        "duplicate policy set",
        &[
            "strongroom duplicate policy set policy.toml --reason \"a copy in the cloud\"",
            "strongroom duplicate policy set policy.toml --if-version 3 --reason undo",
        ],
    ),
    ("duplicate policy check", &["strongroom duplicate policy check policy.toml --institution example.edu"]),
    ("duplicate policy history", &["strongroom duplicate policy history --institution example.edu"]),
    ("duplicate policy preview", &["strongroom duplicate policy preview --institution example.edu"]),
    (
        "duplicate policy import",
        &[
            "strongroom duplicate policy import duracloud --store 0=disk --store 1=cloud",
            "strongroom duplicate policy import duracloud --account acme=a.edu --dry-run",
        ],
    ),
    ("duplicate run", &["strongroom duplicate run --wait", "strongroom duplicate run --allow-deletions RUN"]),
    ("duplicate run list", &["strongroom duplicate run list --institution example.edu"]),
    ("duplicate run show", &["strongroom duplicate run show RUN"]),
    ("duplicate problems", &["strongroom duplicate problems --institution example.edu"]),
    ("duplicate history", &["strongroom duplicate history cloud/maps/12.tif"]),
    ("duplicate event put", &["strongroom duplicate event put disk/maps/12.tif"]),
    ("duplicate event delete", &["strongroom duplicate event delete disk/maps/12.tif --reason \"scanned twice\""]),
    ("duplicate event import", &["strongroom duplicate event import events.jsonl"]),
    ("duplicate policy approve", &["strongroom --as bob@example.edu duplicate policy approve 3"]),
    ("profile list", &["strongroom profile list"]),
    ("profile show", &["strongroom profile show aptrust-2.3 --document > aptrust-2.3.json"]),
    ("profile add", &["strongroom profile add maps.json --name maps"]),
    ("profile remove", &["strongroom profile remove maps --version 1"]),
    (
        "journal list",
        &[
            "strongroom journal list --actor ann@example.edu --since 7d",
            "strongroom journal list --act items --object example.edu/letters --csv",
        ],
    ),
    ("report ndsa", &["strongroom report ndsa --level 3", "strongroom report ndsa --areas --csv"]),
    ("report core-trust-seal", &["strongroom report core-trust-seal -l"]),
    (
        "report deposits",
        &[
            "strongroom report deposits --by month --since 365d",
            "strongroom report deposits --by collection --institution a.edu --csv",
        ],
    ),
    ("report storage", &["strongroom report storage --by institution --until 2026-01-01"]),
    ("report formats", &["strongroom report formats --by mime --csv"]),
    ("report fixity", &["strongroom report fixity --by month --since 365d"]),
    ("report cost", &["strongroom report cost --by store --since 2026-01-01"]),
    ("report recompute", &["strongroom report recompute"]),
    ("audit list", &["strongroom audit list"]),
    ("audit check", &["strongroom audit check", "strongroom audit check secondary"]),
    (
        "audit export",
        &["strongroom audit export audit-2026", "strongroom audit export tables --since 30d --format tsv"],
    ),
    (
        "audit verify",
        &[
            "strongroom audit verify audit-2026 data/stores/secondary",
            "strongroom audit verify audit-2026 --key audit.pem",
        ],
    ),
    (
        "report manifest",
        &[
            "strongroom report manifest --collection example.edu/default",
            "strongroom report manifest --store primary --format bagit --output all.txt",
        ],
    ),
    ("bag create", &["strongroom bag create letters letters.tar --algorithm sha256 --tag Contact-Name=Ann"]),
    (
        "bag validate",
        &["strongroom bag validate letters.tar", "strongroom bag validate letters.tar --profile aptrust-2.3 --json"],
    ),
    ("bag show", &["strongroom bag show letters.tar"]),
    ("bag codes", &["strongroom bag codes"]),
    (
        "checkm validate",
        &["strongroom checkm validate letters.checkm", "strongroom checkm validate letters.checkm --lenient --json"],
    ),
    ("checkm create", &["strongroom checkm create letters l.checkm --url https://example.edu/letters/"]),
    ("checkm codes", &["strongroom checkm codes"]),
    ("ocfl validate", &["strongroom ocfl validate /mnt/disk-1/primary/example.edu"]),
    ("identify", &["strongroom identify letters --csv > formats.csv", "strongroom identify letters.zip --archives"]),
    ("signatures show", &["strongroom signatures show"]),
    (
        "signatures update",
        &["strongroom signatures update", "strongroom signatures update DROID_SignatureFile_V125.xml"],
    ),
    ("signatures use", &["strongroom signatures use built-in"]),
    ("signatures reidentify", &["strongroom signatures reidentify --dry-run"]),
    ("config check", &["strongroom config check"]),
    ("config show", &["strongroom config show --json"]),
    ("bench", &["strongroom bench --dir /mnt/disk-1 --seconds 5"]),
    ("completions", &["strongroom completions bash > /etc/bash_completion.d/strongroom"]),
    ("man", &["strongroom man", "strongroom man store replace", "strongroom man --dir /usr/local/share/man/man1"]),
];

/// The command line with an example in the help of every command.
pub(crate) fn command_line() -> Command {
    with_examples(Arguments::command(), "")
}

fn with_examples(command: Command, path: &str) -> Command {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let own = of_text(&text);
    let names: Vec<String> = command.get_subcommands().map(|under| under.get_name().to_owned()).collect();
    let mut command = names.iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |under| with_examples(under, path.trim_start()))
    });
    let mut examples: Vec<String> =
        if own.is_empty() { of(path).iter().map(|example| (*example).to_owned()).collect() } else { return command };
    // The program itself has too many below it.
    if examples.is_empty() && !path.is_empty() {
        examples = command.get_subcommands().filter_map(|under| shown_by(under).into_iter().next()).collect();
    }
    if !examples.is_empty() {
        let separator = if text.is_empty() { "" } else { "\n\n" };
        let lines = match examples.as_slice() {
            [only] => format!("Example: {only}"),
            several => format!("Examples:\n  {}", several.join("\n  ")),
        };
        command = command.after_help(format!("{text}{separator}{lines}"));
    }
    command
}

fn of(path: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(known, _)| *known == path).map_or(&[], |(_, examples)| examples)
}

/// The examples that the help of a command shows.
pub(crate) fn shown_by(command: &Command) -> Vec<String> {
    of_text(&command.get_after_help().map(ToString::to_string).unwrap_or_default())
}

/// The examples in a text behind the help: `Example: ...` on one line, or lines behind `Examples:` that begin with the program.
fn of_text(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let examples = lines.filter_map(|line| {
        let line = line.strip_prefix("Example: ").unwrap_or(line);
        line.starts_with("strongroom ").then(|| line.to_owned())
    });
    examples.collect()
}

/// What else a text behind the help says.
pub(crate) fn notes_of(command: &Command) -> String {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let is_example = |line: &str| {
        let line = line.trim();
        line == "Examples:" || line.starts_with("Example: ") || line.starts_with("strongroom ")
    };
    let lines: Vec<&str> = text.lines().filter(|line| !is_example(line)).collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use clap::error::ErrorKind;
    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    /// Every command with its path, such as `store replace`.
    fn all(command: &Command, path: &str, found: &mut Vec<(String, Vec<String>)>) {
        for under in command.get_subcommands().filter(|under| !under.is_hide_set() && under.get_name() != "help") {
            let path = format!("{path} {}", under.get_name()).trim_start().to_owned();
            found.push((path.clone(), shown_by(under)));
            all(under, &path, found);
        }
    }

    fn every_command() -> Vec<(String, Vec<String>)> {
        let mut found = Vec::new();
        all(&command_line(), "", &mut found);
        found
    }

    /// The words of an example, without where its output goes.
    fn words(example: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for character in example.chars() {
            match (quote, character) {
                (None, '\'' | '"') => quote = Some(character),
                (Some(begun), _) if begun == character => quote = None,
                (None, ' ') => words.push(String::new()),
                _ => words.last_mut().unwrap().push(character),
            }
        }
        let end = words.iter().position(|word| word == ">" || word == "|").unwrap_or(words.len());
        words.truncate(end);
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn the_help_of_every_command_has_an_example() {
        let without: Vec<String> =
            every_command().into_iter().filter(|(_, examples)| examples.is_empty()).map(|(path, _)| path).collect();
        assert!(without.is_empty(), "add them to EXAMPLES: {without:?}");
    }

    /// The long help of a command and of those below it at a terminal of this width, without the options of every command, which
    /// the help of the program shows.
    fn helps(command: &Command, path: &str, text: &mut String) {
        let help = command.clone().render_long_help().to_string();
        let own = match help.split_once("\nGlobal options:\n") {
            Some((own, rest)) if !path.is_empty() => {
                let behind = rest.lines().skip_while(|line| line.is_empty() || line.starts_with(' '));
                format!("{own}\n{}", behind.collect::<Vec<_>>().join("\n"))
            }
            _ => help,
        };
        let _ = writeln!(text, "$ strongroom{path} --help\n{}\n", own.trim_end());
        for under in command.get_subcommands().filter(|under| !under.is_hide_set() && under.get_name() != "help") {
            helps(under, &format!("{path} {}", under.get_name()), text);
        }
    }

    #[test]
    fn the_help_of_every_command_is_as_it_was_and_fits() {
        // It is never wider than 100 columns, however wide the terminal is.
        for (width, name) in [(80, "help_80_columns"), (100, "help_200_columns")] {
            let mut command = command_line().term_width(width);
            command.build();
            let mut text = String::new();
            helps(&command, "", &mut text);
            let wide: Vec<&str> = text.lines().filter(|line| line.width() > width).collect();
            assert!(wide.is_empty(), "{width}: {wide:#?}");
            insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!(name, text) });
        }
    }

    #[test]
    fn every_example_fits_a_line() {
        let all = every_command()
            .into_iter()
            .flat_map(|(path, examples)| examples.into_iter().map(move |e| (path.clone(), e)));
        // Two blanks stand before it.
        let wide: Vec<_> = all.filter(|(_, example)| example.width() > 78).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }

    #[test]
    fn every_example_is_one_that_the_program_accepts() {
        for (path, examples) in every_command() {
            for example in examples {
                let words = words(&example);
                let read = command_line().try_get_matches_from(&words);
                assert!(read.is_ok(), "{path}: {example}: {}", read.unwrap_err());
                let is_of_command = words.join(" ").contains(&path);
                assert!(is_of_command, "{example} is no example of {path}");
            }
        }
    }

    /// The commands in the text of a page, as it writes them in code: `strongroom store check`.
    fn named_in(page: &str) -> Vec<String> {
        let mut is_fence = false;
        let text: Vec<&str> = page
            .lines()
            .filter(|line| {
                is_fence ^= line.trim_start().starts_with("```");
                !is_fence
            })
            .collect();
        let text = text.join("\n");
        let code = text.split("\n\n").flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
        let is_command = |code: &&str| code.starts_with("strongroom ") && !code.starts_with("strongroom help");
        code.filter(is_command).map(|code| code.replace('\n', " ")).collect()
    }

    #[test]
    fn every_command_that_the_book_names_exists() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|page| root.join(page));
        let chapters = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
        let mut wrong = Vec::new();
        let mut named = 0;
        for page in pages.into_iter().chain(chapters.filter(|path| path.extension().is_some_and(|it| it == "md"))) {
            for code in named_in(&std::fs::read_to_string(&page).unwrap()) {
                named += 1;
                // What may be left out is in brackets, and what stands for something is in capitals.
                let words = words(&code).into_iter().filter(|word| !word.contains(['[', ']', '|']) && word != "...");
                if let Err(error) = command_line().try_get_matches_from(words)
                    && matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand)
                {
                    wrong.push(format!("{}: {code}: {error}", page.display()));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(named > 100, "{named} commands");
    }

    #[test]
    fn every_example_belongs_to_a_command() {
        let paths: Vec<String> = every_command().into_iter().map(|(path, _)| path).collect();
        for (path, _) in EXAMPLES {
            assert!(paths.iter().any(|known| known == path), "there is no command {path}");
        }
    }
}
