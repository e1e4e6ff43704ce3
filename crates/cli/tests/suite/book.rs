//! The commands of README and the book, run as they are written there, each page in a new folder.
//!
//! What a fence of a page means:
//!
//! - `console`: lines that begin with `$ ` are commands, those that begin with `> ` continue them, and the others are the output, which is
//!   compared. A line `...` stands for any number of lines, and `...` at the end of a line for its rest. Identifiers, times and
//!   figures that differ from run to run are compared by their kind; an identifier that the page shows and a later command repeats
//!   is replaced by the real one. A command that ends with another exit code than 0 is followed by `$ echo $?`.
//! - `sh`: run as one script that must succeed; the output is not compared.
//! - either with `not-run: REASON` behind it: not run; the test prints and counts these commands.
//! - a comment `<!-- setup` to `-->`: run like `sh`, and not shown to the reader.
//!
//! The state (folder, variables) is carried from command to command. `UPDATE_BOOK=1` writes output that differs into the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use regex::Regex;
use tempfile::TempDir;

use crate::answers::VARYING;
use crate::program::Place;

/// What differs from run to run in pages, besides what differs in snapshots.
const VARYING_IN_PAGES: [(&str, &str); 8] = [
    (r"<date> \d\d:\d\d(:\d\d)?", "<time>"),
    (r"\b[0-9a-f]{4,}(…|\.\.)[0-9a-f]{2,}", "<id>"),
    (r"\b[0-9a-f]{12,}(…|\.\.+)", "<digest>"),
    // Of an identifier that a table shortens, with what is behind it: it begins with the time.
    (r"\b01[0-9a-f]{2,}…", "<id>…"),
    (r"\b\d+(\.\d+)? ?(µs|ms|s|min|h)\b", "<duration>"),
    (r"\b\d+(\.\d+)? ?%", "<share>"),
    (r"\b\d+(\.\d+)? [kMGTP]B\b", "<size>"),
    // Receipts hold times, whose length differs.
    (r"\b\d+ bytes, sha256:<digest>", "<bytes>, sha256:<digest>"),
];

/// Where the folder of a page is said to be.
const SHOWN_FOLDER: &str = "/home/ann";
/// What the account that runs the test is called in a column of a page.
const SHOWN_ACCOUNT: &str = "ann";

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let all = VARYING.iter().chain(&VARYING_IN_PAGES);
    all.map(|(pattern, word)| (Regex::new(pattern).unwrap(), *word)).collect()
});
/// What a later command may repeat: identifiers, and the times in names of folders.
static REPEATABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{8}T\d{6}\.\d+Z").unwrap());

/// One command, or the lines of one script, of a page.
#[derive(Debug)]
struct Step {
    /// The number of its first line.
    line: usize,
    script: String,
    /// Where the output is compared: the lines of the page that show it, as a range of line numbers.
    shown: Option<std::ops::Range<usize>>,
    /// Why it is not run.
    not_run: Option<String>,
}

/// The steps of a page.
fn steps(page: &str) -> Result<Vec<Step>, String> {
    let lines: Vec<&str> = page.lines().collect();
    let mut steps = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let begin = at;
        at += 1;
        let (language, end) = match lines[begin].trim_start() {
            "<!-- setup" => ("sh", "-->"),
            line => match line.strip_prefix("```") {
                Some(language) => (language, "```"),
                None => continue,
            },
        };
        let length = lines[at..].iter().position(|line| line.trim() == end);
        let body = at..at + length.ok_or_else(|| format!("line {}: no end of what begins here", begin + 1))?;
        at = body.end + 1;
        let not_run = language.split_once("not-run:").map(|(_, reason)| reason.trim().to_owned());
        match language.split_whitespace().next().unwrap_or("") {
            "sh" => {
                let script = body.clone().fold(String::new(), |script, line| script + lines[line] + "\n");
                steps.push(Step { line: body.start + 1, script, shown: None, not_run });
            }
            "console" => steps.extend(commands(&lines, body, not_run.as_ref())?),
            _ => {
                let is_unchecked = lines[body].iter().any(|line| line.trim_start().starts_with("$ "));
                if is_unchecked {
                    return Err(format!("line {}: commands with output belong into a console fence", begin + 1));
                }
            }
        }
    }
    Ok(steps)
}

/// The commands of a console fence.
fn commands(lines: &[&str], body: std::ops::Range<usize>, not_run: Option<&String>) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    for number in body {
        let line = lines[number];
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                line: number + 1,
                script: format!("{command}\n"),
                shown: Some(number + 1..number + 1),
                not_run: not_run.cloned(),
            });
            continue;
        }
        let Some(Step { script, shown: Some(shown), .. }) = steps.last_mut() else {
            return Err(format!("line {}: output before the first command", number + 1));
        };
        let continues =
            (shown.start == shown.end).then(|| line.strip_prefix("> ").or((line == ">").then_some(""))).flatten();
        if let Some(more) = continues {
            script.push_str(more);
            script.push('\n');
            shown.start = number + 1;
        }
        shown.end = number + 1;
    }
    Ok(steps)
}

/// A page being followed.
struct Session {
    folder: TempDir,
    /// The path of the folder in which the commands run.
    work: PathBuf,
    account: String,
    last_code: i32,
    /// What the page shows, and what it is in this run.
    names: BTreeMap<String, String>,
}

impl Session {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().canonicalize().unwrap().join("ann");
        fs::create_dir(&work).unwrap();
        fs::write(folder.path().join("environment"), "").unwrap();
        fs::write(folder.path().join("directory"), work.to_str().unwrap()).unwrap();
        let account = Command::new("id").arg("-un").output().unwrap().stdout;
        let account = String::from_utf8(account).unwrap().trim().to_owned();
        Self { folder, work, account, last_code: 0, names: BTreeMap::new() }
    }

    /// Runs commands in the state that those before left; answers with what they printed, and their exit code.
    fn run(&mut self, commands: &str, prelude: &str) -> (String, i32) {
        let state = self.folder.path().to_str().unwrap();
        let script = format!(
            "set -a; . '{state}/environment'; cd \"$(cat '{state}/directory')\"\n\
             trap 'ended=$?; export -p > \"{state}/environment\"; pwd > \"{state}/directory\"; exit $ended' EXIT\n\
             umask 022; {prelude}\n{}",
            self.with_real_names(commands)
        );
        let printed = self.folder.path().join("printed");
        let file = fs::File::create(&printed).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_strongroom")).parent().unwrap().to_str().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let status = Command::new("sh")
            .args(["-c", &script])
            .env_clear()
            .env("PATH", format!("{program}:{path}:/usr/sbin:/sbin"))
            .env("HOME", &self.work)
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .status()
            .unwrap();
        self.last_code = status.code().unwrap_or(-1);
        (String::from_utf8_lossy(&fs::read(&printed).unwrap()).into_owned(), self.last_code)
    }

    fn with_real_names(&self, text: &str) -> String {
        let real =
            |found: &regex::Captures<'_>| self.names.get(&found[0]).cloned().unwrap_or_else(|| found[0].to_owned());
        REPEATABLE.replace_all(&text.replace(SHOWN_FOLDER, self.work.to_str().unwrap()), real).into_owned()
    }

    /// What was printed, as a page shows it but for identifiers, line by line.
    fn displayed(&self, printed: &str) -> Vec<String> {
        let column = Regex::new(&format!(r"(^|  ){}(  |$)", regex::escape(&self.account))).unwrap();
        let printed = printed.replace(self.work.to_str().unwrap(), SHOWN_FOLDER);
        let lines = printed.lines().map(|line| {
            let line = column.replace(line.trim_end(), |found: &regex::Captures<'_>| {
                let width = self.account.len().max(SHOWN_ACCOUNT.len());
                let name = if found[2].is_empty() { SHOWN_ACCOUNT.into() } else { format!("{SHOWN_ACCOUNT:width$}") };
                format!("{}{name}{}", &found[1], &found[2])
            });
            line.into_owned()
        });
        lines.collect()
    }

    /// Notes which real identifiers are meant by those of the page; the line where the page contradicts itself.
    fn learn(&mut self, shown: &[String], real: &[String]) -> Result<(), String> {
        let tokens = |line: &str| REPEATABLE.find_iter(line).map(|found| found.as_str().to_owned()).collect::<Vec<_>>();
        for (shown_line, real_line) in shown.iter().zip(real) {
            for (name, value) in tokens(shown_line).into_iter().zip(tokens(real_line)) {
                let is_time = name.contains('T');
                if let Some(before) = self.names.insert(name.clone(), value.clone())
                    && before != value
                    && !is_time
                {
                    return Err(format!("{name} stands for {before} before and for {value} here: {shown_line}"));
                }
            }
        }
        Ok(())
    }

    /// The real lines with the identifiers that the page uses for them.
    fn with_shown_names(&mut self, shown: &[String], real: &[String]) -> Vec<String> {
        let all = |lines: &[String]| {
            let text = lines.join("\n");
            REPEATABLE.find_iter(&text).map(|found| found.as_str().to_owned()).collect::<Vec<_>>()
        };
        let (names, values) = (all(shown), all(real));
        let is_known = |value: &String, session: &Self| session.names.values().any(|known| known == value);
        if names.len() == values.len() {
            for (name, value) in names.into_iter().zip(values) {
                if !is_known(&value, self) {
                    self.names.entry(name).or_insert(value);
                }
            }
        }
        let by_value: BTreeMap<&String, &String> = self.names.iter().map(|(name, value)| (value, name)).collect();
        let name = |found: &regex::Captures<'_>| {
            by_value.get(&found[0].to_owned()).map_or_else(|| found[0].to_owned(), |name| (*name).clone())
        };
        real.iter().map(|line| REPEATABLE.replace_all(line, name).into_owned()).collect()
    }
}

/// A line without what differs from run to run.
fn plain(line: &str) -> String {
    PATTERNS
        .iter()
        .fold(line.trim_end().to_owned(), |line, (pattern, word)| pattern.replace_all(&line, *word).into_owned())
}

fn is_match(shown: &str, real: &str) -> bool {
    let (shown, real) = (plain(shown), plain(real));
    if shown == real {
        return true;
    }
    // Where the program cuts a text depends on the widths of other columns, such as that of the account.
    let Some(begin) = shown.strip_suffix("...").or_else(|| shown.strip_suffix('…')) else { return false };
    let is_shorter = |begin: &str, text: &str| text.starts_with(begin.trim_end());
    is_shorter(begin, &real) || real.strip_suffix('…').is_some_and(|real| is_shorter(real, begin))
}

/// The real lines that the lines of a page stand for, one for each that is not `...`; none where they differ.
fn aligned(shown: &[String], real: &[String]) -> Option<Vec<(String, String)>> {
    match shown.split_first() {
        None => real.is_empty().then(Vec::new),
        Some((first, rest)) if first == "..." => (0..=real.len()).find_map(|skip| aligned(rest, &real[skip..])),
        Some((first, rest)) => {
            let (next, others) = real.split_first()?;
            let mut pairs = if is_match(first, next) { aligned(rest, others)? } else { return None };
            pairs.insert(0, (first.clone(), next.clone()));
            Some(pairs)
        }
    }
}

/// What the page is to show in the place of lines that differ, with what it left out before still left out.
fn renewed(shown: &[String], real: Vec<String>) -> Vec<String> {
    let real: Vec<String> = real
        .into_iter()
        .map(|line| {
            let cut = shown.iter().find(|shown| *shown != "..." && shown.ends_with("...") && is_match(shown, &line));
            cut.cloned().unwrap_or(line)
        })
        .collect();
    let Some(first) = shown.iter().position(|line| line == "...") else { return real };
    let last = shown.len() - 1 - shown.iter().rposition(|line| line == "...").unwrap_or(first);
    if first + last >= real.len() {
        return real;
    }
    [&real[..first], &["...".to_owned()], &real[real.len() - last..]].concat()
}

/// A program that commands of the page use and that is not on every machine.
fn missing_program(steps: &[Step]) -> Option<&'static str> {
    let is_used = |program: &str| {
        steps.iter().any(|step| step.not_run.is_none() && step.script.split_whitespace().any(|word| word == program))
    };
    let is_there = |program: &str| Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok();
    ["jq"].into_iter().find(|program| is_used(program) && !is_there(program))
}

/// Follows a page from its beginning to its end.
fn follow(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let page = fs::read_to_string(&path).unwrap();
    let steps = steps(&page).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let is_update = std::env::var_os("UPDATE_BOOK").is_some();
    if let Some(program) = missing_program(&steps) {
        println!("SKIPPED: {name}: {program} is not installed");
        return;
    }
    let lines: Vec<String> = page.lines().map(str::to_owned).collect();
    let mut session = Session::new();
    let mut faults = String::new();
    let mut changes = Vec::new();
    let (mut compared, mut run, mut not_run) = (0, 0, 0);
    for (number, step) in steps.iter().enumerate() {
        let command = step.script.trim_end();
        if let Some(reason) = &step.not_run {
            not_run += 1;
            println!("not run: {name}:{}: {reason}: {command}", step.line);
            continue;
        }
        let Some(shown) = &step.shown else {
            run += 1;
            let (printed, code) = session.run(&step.script, "set -e");
            if code != 0 {
                let _ = writeln!(faults, "{name}:{}: exit code {code}\n$ {command}\n{printed}", step.line);
                break;
            }
            continue;
        };
        compared += 1;
        let (printed, code) = session.run(&step.script, &format!("(exit {})", session.last_code));
        let asks_code = steps.get(number + 1).is_some_and(|next| next.script.trim() == "echo $?");
        let (shown_lines, real) = (&lines[shown.clone()], session.displayed(&printed));
        if code != 0 && !asks_code {
            let _ = writeln!(faults, "{name}:{}: exit code {code}\n$ {command}\n{printed}", step.line);
            break;
        }
        if let Some(pairs) = aligned(shown_lines, &real) {
            let (shown_lines, real): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            if let Err(fault) = session.learn(&shown_lines, &real) {
                let _ = writeln!(faults, "{name}:{}: {fault}", step.line);
                break;
            }
        } else if is_update {
            let real = session.with_shown_names(shown_lines, &real);
            changes.push((shown.clone(), renewed(shown_lines, real)));
        } else {
            let _ = writeln!(
                faults,
                "{name}:{}: another output than the page shows\n$ {command}\n--- the page\n{}\n--- the program\n{}",
                step.line,
                shown_lines.join("\n"),
                real.join("\n")
            );
            // What follows may repeat identifiers of this output.
            let _ = session.with_shown_names(shown_lines, &real);
        }
    }
    println!("{name}: {compared} commands compared, {run} scripts run, {not_run} not run");
    if !changes.is_empty() {
        let mut lines = lines;
        for (range, real) in changes.into_iter().rev() {
            lines.splice(range, real);
        }
        fs::write(&path, lines.join("\n") + "\n").unwrap();
    }
    assert!(faults.is_empty(), "{faults}UPDATE_BOOK=1 writes output that is meant into the page");
}

/// A test for each page that has commands.
macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        $(
            #[test]
            fn $test() {
                follow($page);
            }
        )*

        const PAGES: &[&str] = &[$($page),*];
    };
}

pages! {
    activities: "docs/activities.md",
    background: "docs/background.md",
    audit: "docs/audit.md",
    problems: "docs/problems.md",
    core_trust_seal: "docs/core-trust-seal.md",
    ndsa_levels: "docs/ndsa-levels.md",
    manifests: "docs/manifests.md",
    statistics: "docs/statistics.md",
    coming_from_preserv: "docs/coming-from-preserv.md",
    coming_from_duracloud_mill: "docs/coming-from-duracloud-mill.md",
    backup_routine: "docs/backup-routine.md",
    changing_stores: "docs/changing-stores.md",
    spaces: "docs/spaces.md",
    checkm: "docs/checkm.md",
    coming_from: "docs/coming-from.md",
    deletion: "docs/deletion.md",
    deposits: "docs/deposits.md",
    packages: "docs/packages.md",
    reports: "docs/reports.md",
    duplication_policies: "docs/duplication-policies.md",
    duplication: "docs/duplication.md",
    exit_codes: "docs/exit-codes.md",
    first_institution: "docs/first-institution.md",
    fixity: "docs/fixity.md",
    formats: "docs/formats.md",
    getting_started_depositor: "docs/getting-started-depositor.md",
    getting_started_operator: "docs/getting-started-operator.md",
    getting_started_preservation: "docs/getting-started-preservation.md",
    identifiers: "docs/identifiers.md",
    legal_holds: "docs/legal-holds.md",
    notifications: "docs/notifications.md",
    performance: "docs/performance.md",
    permissions: "docs/permissions.md",
    profiles: "docs/profiles.md",
    batches: "docs/batches.md",
    collections: "docs/collections.md",
    queue: "docs/queue.md",
    readme: "README.md",
    rebuild: "docs/rebuild.md",
    receiving: "docs/receiving.md",
    restoration: "docs/restoration.md",
    scaling: "docs/scaling.md",
    settings: "docs/settings.md",
    stores: "docs/stores.md",
    systemd: "docs/systemd.md",
    tool_configuration: "docs/tool-configuration.md",
    troubleshooting: "docs/troubleshooting.md",
    upgrade: "docs/upgrade.md",
    users: "docs/users.md",
}

/// Every page with its text.
fn all_pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> = vec!["README.md".into(), "ARCHITECTURE.md".into(), "CONTRIBUTING.md".into()];
    for folder in ["docs", "docs/decisions"] {
        let entries = fs::read_dir(root.join(folder)).unwrap();
        pages.extend(entries.map(|entry| Path::new(folder).join(entry.unwrap().file_name())));
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    let read = |page: PathBuf| (page.to_str().unwrap().to_owned(), fs::read_to_string(root.join(&page)).unwrap());
    pages.into_iter().map(read).collect()
}

#[test]
fn the_settings_that_pages_show_are_settings() {
    let place = Place::empty();
    let mut shown = 0;
    for (name, text) in all_pages() {
        for fence in text.split("\n```toml\n").skip(1) {
            shown += 1;
            place.write("home/strongroom.toml", fence.split("\n```").next().unwrap());
            // Stores that a fence leaves out are missed; what it shows has to be known.
            let answer = place.run(["config", "show"]);
            for fault in ["which is no setting", "not valid TOML", "which is not "] {
                assert!(!answer.stderr.contains(fault), "{name}: {}", answer.stderr);
            }
        }
    }
    assert!(shown > 5, "{shown} fences");
}

#[test]
fn every_page_with_commands_is_followed() {
    let with_commands = all_pages().into_iter().filter_map(|(name, text)| {
        let steps = steps(&text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        (!steps.is_empty()).then_some(name)
    });
    let with_commands: BTreeSet<String> = with_commands.collect();
    let followed: BTreeSet<String> = PAGES.iter().map(|page| (*page).to_owned()).collect();
    assert_eq!(with_commands, followed, "the pages with commands, and those that are followed");
}

#[test]
fn what_differs_from_run_to_run_is_equal_and_the_rest_is_not() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let is_equal = |shown: &str, real: &str| aligned(&lines(shown), &lines(real)).is_some();
    let (one, other) = ("01a206d3-9f8e-746b-8e5d-6ed979e0815a", "01a206e2-5f45-7398-b4a1-d31379617caa");
    assert!(is_equal(&format!("item {one}    done"), &format!("item {other}  done")));
    assert!(!is_equal("2 objects", "3 objects"));
    assert!(is_equal("first\n...\nlast", "first\nsecond\nthird\nlast"));
    assert!(is_equal("first\n...\nlast", "first\nlast"));
    assert!(!is_equal("first\n...\nlast", "first\nlast\nmore"));
    assert!(is_equal("the note ...", "the note of an item"));
    assert!(is_equal("the note of an it…", "the note of…") && is_equal("the note of…", "the note of an it…"));
    assert!(!is_equal("the note ...", "another note"));
}

#[test]
fn a_page_is_read_as_its_fences_say() {
    let page =
        "text\n```console\n$ one\n> more\nout\n$ two\n```\n<!-- setup\nthree\n-->\n```sh not-run: no host\nfour\n```\n";
    let steps = steps(page).unwrap();
    let scripts: Vec<&str> = steps.iter().map(|step| step.script.as_str()).collect();
    assert_eq!(scripts, ["one\nmore\n", "two\n", "three\n", "four\n"]);
    assert_eq!(steps[0].shown, Some(4..5));
    assert_eq!(steps[1].shown, Some(6..6));
    assert_eq!(steps[3].not_run.as_deref(), Some("no host"));
}
