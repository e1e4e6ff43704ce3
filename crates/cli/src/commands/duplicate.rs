//! `duplicate`: which spaces of plain stores are copied where.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use strongroom_engine::app::duplication_policies::{self as policies, ImportOptions, NewVersion, SourceFile};
use strongroom_engine::app::views::{
    ImportedPoliciesView, PolicyOutcome, PolicyPreviewView, PolicyProblemView, PolicyVersionView, PolicyView,
    SetPolicyView, SpacePolicyView,
};
use strongroom_engine::app::{self, OpContext};

use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, TableOptions, printable, size};
use crate::signals;

mod runs;

/// Stands for standard input.
const STANDARD_INPUT: &str = "-";
/// The most files of a folder that are read for an import, and the most bytes of them together.
const MOST_FILES: usize = 10_000;
const MOST_BYTES: u64 = 256 << 20;
/// Reasons that a preview names, and spaces of each.
const MOST_REASONS: usize = 50;
const NAMED: usize = 5;

/// Say which spaces of plain stores are copied where
#[derive(Debug, Subcommand)]
pub(crate) enum Duplicate {
    /// Show, set, import and approve the policies: which spaces are copied where
    #[command(subcommand)]
    Policy(Policy),
    /// Start a sweep, which compares what the policy copies and queues what differs; or allow the deletions that wait in one
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "A sweep begins by itself when its time has come, and after each change of the policy."
    )]
    Run(Run),
    /// List the content items that are lost, damaged or in conflict, and those of which a task was given up; exit 1 where there are such
    Problems {
        /// Only those of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        #[command(flatten)]
        options: TableOptions,
    },
    /// Show what was done with a content item, and what was found of it, the oldest first
    #[command(after_help = "Acts are never changed or removed. What is as it was recorded before adds none.")]
    History {
        /// The content item, as STORE/SPACE/KEY; STORE/SPACE for the space itself
        #[arg(value_name = "STORE/SPACE/KEY")]
        item: String,
        /// Only what was done by rules of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Report what happened to a content item, so that its copies follow
    #[command(subcommand)]
    Event(Event),
}

/// Start a sweep, or list the sweeps
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(subcommand)]
    command: Option<Runs>,
    /// The institution; the only one where it is not given
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Queue every content item, and not only what differs
    #[arg(long)]
    all: bool,
    /// Work on it in this process until nothing of it is left to do, or waits for a person
    #[arg(long)]
    wait: bool,
    /// Allow the deletions that wait in this sweep, in place of starting one
    #[arg(long, value_name = "RUN", conflicts_with_all = ["institution", "all"])]
    allow_deletions: Option<String>,
}

/// Sweeps
#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// List the sweeps, the newest first
    List {
        /// The institution; the only one where it is not given
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Show a sweep and its parts
    Show {
        /// The sweep, by its identifier
        run: String,
        /// List the content items whose deletion waits for a person instead of the parts
        #[arg(long)]
        held: bool,
    },
}

/// Report what happened to a content item, so that its copies follow
#[derive(Debug, Subcommand)]
pub(crate) enum Event {
    /// It was put, replaced, or described anew
    Put(Reported),
    /// It was deleted: copies are deleted where an approved rule says so
    Delete(Reported),
    /// Record events from a file, one JSON object in each line: item, kind (put or delete), and if they are known at and reason; exit 1 and no
    /// event where a line is wrong
    Import {
        /// The file; - for standard input
        #[arg(value_name = "FILE|-")]
        file: PathBuf,
    },
}

/// What is reported.
#[derive(Debug, Args)]
pub(crate) struct Reported {
    /// The content item, as STORE/SPACE/KEY; STORE/SPACE for the space itself
    #[arg(value_name = "STORE/SPACE/KEY")]
    item: String,
    /// When it happened, as 2026-11-28T12:00:00Z [default: now, after everything that is known]
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// What is to be said of it
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// Show, set, import and approve the policies: which spaces are copied where
#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Show the policy of an institution, its document, or which rules a space has and why
    Show(Show),
    /// Set the policy of an institution; exit 1 and every problem where anything is wrong with it
    #[command(
        after_help = "The file is TOML, as \"duplicate policy show --document\" prints it. A policy replaces the version that \
                            the file is based on, or --if-version names; the first one replaces none."
    )]
    Set(Set),
    /// Check a policy without setting it: every problem, and what it would change; exit 1 where it cannot be set
    Check {
        /// The policy, as TOML; - for standard input
        #[arg(value_name = "FILE|-")]
        file: PathBuf,
        /// The institution that it is for; the only one where it is not given
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
    },
    /// List the versions of a policy: who set and who approved each, and what it changed
    History {
        /// The institution; the only one where it is not given
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Count what a policy would copy of each space, by the listings of the stores; nothing is read or changed. Exit 1 where a store does not answer
    Preview {
        /// The institution; the only one where it is not given
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        /// The number of a version [default: the newest one]
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        #[command(flatten)]
        options: TableOptions,
    },
    /// Import the policies of DuraCloud, and report each change of their meaning; exit 1 where an account was not imported
    #[command(
        after_help = "An account that cannot be imported stops no other one. A policy that is there is not replaced."
    )]
    Import(Import),
    /// Approve the newest version, so that its rules with delete = true delete; who set it cannot
    Approve {
        /// The number of the version
        version: u64,
        /// The institution; the only one where it is not given
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
    },
}

/// What is shown of a policy.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The institution; the only one where it is not given
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// The number of a version [default: the newest one]
    #[arg(long, value_name = "N")]
    version: Option<u64>,
    /// Show which rules this space has, and why
    #[arg(long, value_name = "NAME", conflicts_with = "document")]
    space: Option<String>,
    /// Print the policy as TOML, to be changed and set again
    #[arg(long)]
    document: bool,
}

/// What is set.
#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The policy, as TOML; - for standard input
    #[arg(value_name = "FILE|-")]
    file: PathBuf,
    /// The institution that it is for; the only one where it is not given
    #[arg(long, value_name = "DOMAIN")]
    institution: Option<String>,
    /// Why, at most 2000 characters
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Set it only where this is the newest version; 0: where there is none [default: the one that the file is based on]
    #[arg(long, value_name = "N")]
    if_version: Option<u64>,
}

/// What is imported.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The folder with duplication-accounts.json and a file ACCOUNT-duplication-policy.json for each account
    folder: PathBuf,
    /// Which store has an identifier, such as 0=disk, or one of a single account, such as acme/0=disk
    #[arg(long = "store", value_name = "ID=STORE", value_parser = pair)]
    stores: Vec<(String, String)>,
    /// Which institution an account is, such as acme=example.edu [default: the one of the same name]
    #[arg(long = "account", value_name = "ACCOUNT=DOMAIN", value_parser = pair)]
    accounts: Vec<(String, String)>,
    /// Let rules delete, as those of DuraCloud do, once another user has approved each policy
    #[arg(long)]
    delete: bool,
    /// Why, at most 2000 characters
    #[arg(long, value_name = "TEXT", default_value = "imported from DuraCloud")]
    reason: String,
    /// Report what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(command: Duplicate, context: &Context) -> Outcome {
    let call = context.call()?;
    match command {
        Duplicate::Policy(command) => policy(&call, command, context),
        Duplicate::Run(asked) => runs::run(&call, asked, context),
        Duplicate::Problems { institution, options } => runs::problems(&call, institution.as_deref(), options, context),
        Duplicate::History { item, institution, options } => {
            runs::history(&call, &item, institution.as_deref(), options, context)
        }
        Duplicate::Event(command) => runs::event(&call, command, context),
    }
}

fn policy(call: &OpContext, command: Policy, context: &Context) -> Outcome {
    match command {
        Policy::Show(asked) => show(call, &asked, context)?,
        Policy::Set(Set { file, institution, reason, if_version }) => {
            let new = NewVersion { institution, file: bytes_of(&file)?, reason, if_version };
            return tell_set(&policies::set(call, &new)?, &file, context);
        }
        Policy::Check { file, institution } => {
            let checked = policies::check(call, institution.as_deref(), &bytes_of(&file)?)?;
            return tell_set(&checked, &file, context);
        }
        Policy::History { institution, options } => history(call, institution.as_deref(), options, context)?,
        Policy::Preview { institution, version, options } => {
            return preview(call, (institution.as_deref(), version), options, context);
        }
        Policy::Import(asked) => return import(call, asked, context),
        Policy::Approve { version, institution } => {
            context.output.show(&policies::approve(call, institution.as_deref(), version)?)?;
        }
    }
    Ok(Exit::Done)
}

fn preview(
    call: &OpContext,
    (institution, version): (Option<&str>, Option<u64>),
    options: TableOptions,
    context: &Context,
) -> Outcome {
    let columns =
        ["space", "source", "destination", "missing", "differing", "bytes", "same_size", "only_in_destination"];
    let in_full = [
        "space",
        "source",
        "destination",
        "missing",
        "differing",
        "bytes",
        "same_size",
        "only_in_destination",
        "not_carried",
        "message",
    ];
    let mut table =
        context.output.table(&columns).with::<PolicyPreviewView>(options).if_room(&["not_carried"]).in_full(&in_full);
    let (mut exit, mut unanswered, mut failure) = (Exit::Done, Unanswered::default(), None);
    let stop = signals::watch()?;
    policies::preview(call, institution, version, &stop, &mut |line| {
        if let Some(message) = &line.message {
            exit = Exit::No;
            let space = line.space.as_deref().map(|space| format!("{space} ")).unwrap_or_default();
            unanswered.add(message, format!("{space}{} -> {}", line.source, line.destination));
        }
        let cells = [("bytes", size(line.bytes))];
        if failure.is_none() {
            failure = table.row_with(&line, &cells).err();
        }
        Ok(())
    })?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    table.end("no space of the stores has a rule")?;
    if !context.output.is_json() {
        for line in &unanswered.lines() {
            eprintln!("{}", printable(line));
        }
    }
    if stop.is_requested() {
        return Ok(Exit::Interrupted);
    }
    Ok(exit)
}

/// Why something is not known, each reason once with what it is about.
#[derive(Default)]
struct Unanswered {
    reasons: Vec<(String, Vec<String>, u64)>,
    /// What is not known for further reasons.
    more: u64,
}

impl Unanswered {
    fn add(&mut self, reason: &str, what: String) {
        if let Some((_, named, count)) = self.reasons.iter_mut().find(|(known, ..)| known == reason) {
            *count += 1;
            if named.len() < NAMED {
                named.push(what);
            }
        } else if self.reasons.len() < MOST_REASONS {
            self.reasons.push((reason.to_owned(), vec![what], 1));
        } else {
            self.more += 1;
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (reason, named, count) in &self.reasons {
            let more = match count.saturating_sub(named.len() as u64) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.extend([reason.clone(), format!("  not known: {}{more}", named.join(", "))]);
        }
        if self.more > 0 {
            lines.push(format!("{} more are not known for other reasons", self.more));
        }
        lines
    }
}

/// A key and a value.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// Reads a file, and no more of it than a policy can have.
fn bytes_of(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let unreadable = |error: io::Error| Failure::io("read the policy", path, &error);
    if path == Path::new(STANDARD_INPUT) {
        io::stdin().lock().take(policies::READ).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = File::open(path).map_err(unreadable)?;
        file.take(policies::READ).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    Ok(bytes)
}

/// A version without what has rows of its own.
#[derive(Serialize)]
struct Summary<'v> {
    institution: &'v str,
    version: u64,
    applies: bool,
    deletes: bool,
    may_delete: bool,
    reason: &'v str,
    set_by: &'v str,
    set_at: &'v str,
    approved_by: Option<&'v str>,
    approved_at: Option<&'v str>,
}

/// Why a space has its rules, without these.
#[derive(Serialize)]
struct SpaceSummary<'v> {
    institution: &'v str,
    version: u64,
    space: &'v str,
    why: &'v str,
    less_specific: &'v [String],
}

/// A rule of a space, as a row.
#[derive(Serialize)]
struct Row {
    space: String,
    source: String,
    destination: String,
    delete: String,
}

fn show(call: &OpContext, asked: &Show, context: &Context) -> Result<(), Failure> {
    let institution = asked.institution.as_deref();
    if let Some(space) = &asked.space {
        return show_space(&policies::show_space(call, institution, asked.version, space)?, context);
    }
    if asked.document {
        let found = policies::document(call, institution, asked.version)?;
        if context.output.is_json() {
            return context.output.json(&found);
        }
        return context.output.raw(found.document.as_bytes());
    }
    show_whole(&policies::show(call, institution, asked.version)?, context)
}

fn show_whole(policy: &PolicyView, context: &Context) -> Result<(), Failure> {
    let output = &context.output;
    if output.is_json() {
        return output.json(policy);
    }
    let version = &policy.version;
    output.show(&Summary {
        institution: &version.institution,
        version: version.version,
        applies: version.applies,
        deletes: version.deletes,
        may_delete: version.may_delete,
        reason: &version.reason,
        set_by: &version.set_by,
        set_at: &version.set_at,
        approved_by: version.approved_by.as_deref(),
        approved_at: version.approved_at.as_deref(),
    })?;
    output.say("")?;
    let mut table = output.table(&["space", "source", "destination", "delete"]).wrapping();
    let none = |space: String, source: &str| Row {
        space,
        source: source.to_owned(),
        destination: String::new(),
        delete: String::new(),
    };
    for space in &policy.ignore {
        table.row(&none(space.clone(), "ignored"))?;
    }
    let own = policy.spaces.iter().map(|entry| (entry.space.clone(), &entry.rules));
    let default = policy.default.iter().map(|rules| ("all others".to_owned(), rules));
    for (space, rules) in own.chain(default) {
        if rules.as_slice().is_empty() {
            table.row(&none(space.clone(), "none"))?;
        }
        for rule in rules.as_slice() {
            table.row(&Row {
                space: space.clone(),
                source: rule.source.clone(),
                destination: rule.destination.clone(),
                delete: if rule.delete { "yes".to_owned() } else { "no".to_owned() },
            })?;
        }
    }
    table.end("it has no rules")?;
    if !policy.placements.is_empty() {
        output.say("\nobjects:")?;
        let mut table = output.table(&["collection", "placement", "stores"]);
        for placement in &policy.placements {
            table.row_with(placement, &[("stores", placement.stores.join(", "))])?;
        }
        table.end("")?;
    }
    if !policy.problems.is_empty() {
        output.say("")?;
    }
    tell_problems(&policy.problems, None, context)
}

fn show_space(space: &SpacePolicyView, context: &Context) -> Result<(), Failure> {
    let output = &context.output;
    if output.is_json() {
        return output.json(space);
    }
    output.show(&SpaceSummary {
        institution: &space.institution,
        version: space.version,
        space: &space.space,
        why: &space.why,
        less_specific: &space.less_specific,
    })?;
    if space.rules.is_empty() {
        return output.say("\nit is not copied");
    }
    output.say("")?;
    let mut table = output.table(&["source", "destination", "delete"]);
    for rule in &space.rules {
        let delete = match (rule.delete, space.may_delete) {
            (false, _) => "no",
            (true, true) => "yes",
            (true, false) => "when it is approved",
        };
        table.row_with(rule, &[("delete", delete.to_owned())])?;
    }
    table.end("")
}

/// Says what is wrong, and what is easily overlooked.
fn tell_problems(problems: &[PolicyProblemView], file: Option<&Path>, context: &Context) -> Result<(), Failure> {
    for problem in problems {
        let file = file.map(|file| file.display().to_string());
        let line = problem.line.map(|line| format!("line {line}"));
        let at: Vec<String> = [file.into_iter().chain(line).collect::<Vec<_>>().join(" ")]
            .into_iter()
            .chain(problem.place.clone())
            .filter(|part| !part.is_empty())
            .collect();
        let (kind, at) = (if problem.is_error() { "" } else { "notice: " }, at.join(", "));
        let colon = if at.is_empty() { "" } else { ": " };
        context.output.say(printable(&format!("{kind}{at}{colon}{}", problem.problem)))?;
        context.output.say(printable(&format!("  next: {}", problem.next)))?;
    }
    Ok(())
}

fn tell_set(set: &SetPolicyView, file: &Path, context: &Context) -> Outcome {
    let exit = if set.outcome == PolicyOutcome::Refused { Exit::No } else { Exit::Done };
    if context.output.is_json() {
        context.output.json(set)?;
        return Ok(exit);
    }
    tell_problems(&set.problems, Some(file), context)?;
    let (institution, version) = (&set.institution, set.version.unwrap_or_default());
    let text = match set.outcome {
        PolicyOutcome::Set => format!("set version {version} of the duplication policy of {institution}"),
        PolicyOutcome::Unchanged => format!("version {version} for {institution} is this policy already"),
        PolicyOutcome::Refused => format!("refused: the policy for {institution} has problems; nothing was changed"),
        PolicyOutcome::Valid if version == 0 => format!("the policy can be set; {institution} has none yet"),
        PolicyOutcome::Valid => format!("the policy can be set; it would change version {version} of {institution}"),
    };
    context.output.say(printable(&text))?;
    for change in &set.changes {
        context.output.say(printable(&format!("  {change}")))?;
    }
    Ok(exit)
}

fn history(
    call: &OpContext,
    institution: Option<&str>,
    options: ListOptions,
    context: &Context,
) -> Result<(), Failure> {
    let columns = ["version", "set_at", "set_by", "deletes", "approved_by", "reason"];
    let in_full = ["version", "set_at", "set_by", "deletes", "approved_at", "approved_by", "reason", "changes"];
    let mut table = context.output.table(&columns).with::<PolicyVersionView>(options.table).in_full(&in_full);
    app::arranged(
        options.oldest_first(),
        |after| policies::history(call, institution, after),
        |version| table.row_with(&version, &[("changes", version.changes.join("; "))]),
    )?;
    table.end("there is no duplication policy")
}

fn import(call: &OpContext, asked: Import, context: &Context) -> Outcome {
    let Import { folder, stores, accounts, delete, reason, dry_run } = asked;
    let files = files_of(&folder)?;
    let options = ImportOptions { stores: distinct(stores, "--store")?, delete };
    let accounts = distinct(accounts, "--account")?;
    let imported = policies::import(call, &files, &options, &accounts, (&reason, dry_run))?;
    tell_imported(&imported, context)
}

/// Pairs of which no key is there twice.
fn distinct(pairs: Vec<(String, String)>, option: &str) -> Result<BTreeMap<String, String>, Failure> {
    let mut map = BTreeMap::new();
    for (key, value) in pairs {
        if let Some(before) = map.insert(key.clone(), value.clone()).filter(|before| *before != value) {
            return Err(Failure::usage(format!("{option} {key} is both {before} and {value}")).next("give it once"));
        }
    }
    Ok(map)
}

/// The JSON files of a folder, in order of their names. One that cannot be read says why.
fn files_of(folder: &Path) -> Result<Vec<SourceFile>, Failure> {
    let unreadable = |error: io::Error| Failure::io("read the folder", folder, &error);
    let mut paths = Vec::new();
    for entry in folder.read_dir().map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
        if paths.len() > MOST_FILES {
            return Err(Failure::usage(format!("{} has more than {MOST_FILES} files", folder.display()))
                .next("import a part of them: the list of accounts, and the files of these"));
        }
    }
    paths.sort();
    let (mut files, mut bytes) = (Vec::new(), 0_u64);
    for path in paths {
        let content = read(&path).map_err(|error| error.to_string());
        bytes += content.as_ref().map_or(0, |content| content.len() as u64);
        if bytes > MOST_BYTES {
            return Err(Failure::usage(format!("the files of {} have more than {MOST_BYTES} bytes", folder.display()))
                .next("import a part of them: the list of accounts, and the files of these"));
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        files.push(SourceFile { name, content });
    }
    Ok(files)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // What is no file would not end, or never begin.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(policies::READ).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn tell_imported(imported: &ImportedPoliciesView, context: &Context) -> Outcome {
    let is_refused = |outcome: PolicyOutcome| outcome == PolicyOutcome::Refused;
    let is_whole = imported.problems.is_empty() && !imported.accounts.iter().any(|one| is_refused(one.outcome));
    let exit = if is_whole { Exit::Done } else { Exit::No };
    let output = &context.output;
    if output.is_json() {
        output.json(imported)?;
        return Ok(exit);
    }
    for problem in &imported.problems {
        output.say(printable(&format!("refused: {problem}")))?;
    }
    for account in &imported.accounts {
        let institution = account.institution.as_deref().unwrap_or_default();
        let version = account.version.unwrap_or_default();
        let text = match account.outcome {
            PolicyOutcome::Set => format!("set version {version} of the duplication policy of {institution}"),
            PolicyOutcome::Unchanged => format!("version {version} for {institution} is this policy already"),
            PolicyOutcome::Valid => format!("can be imported for {institution}"),
            PolicyOutcome::Refused => "not imported".to_owned(),
        };
        output.say(printable(&format!("{}: {text}", account.account)))?;
        for line in account.problems.iter().chain(&account.changes) {
            output.say(printable(&format!("  {line}")))?;
        }
    }
    for note in &imported.notes {
        output.say(printable(&format!("notice: {note}")))?;
    }
    Ok(exit)
}
