//! `collection`: objects under one set of rules.

use clap::{Args, Subcommand, ValueEnum};
use strongroom_engine::app::deposits::DepositKind;
use strongroom_engine::app::views::{CollectionView, DueView, MailKind, Period, PublicAccess, RulesView, Time};
use strongroom_engine::app::{self, OpContext, collections, disposals};

use super::confirm::{Question, confirm};
use super::holds::show_holds;
use super::items::Why;
use super::values::{expiry, moment, size, word};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{ListOptions, printable};

/// Show and change collections
#[derive(Debug, Subcommand)]
pub(crate) enum Collection {
    /// List collections
    List {
        /// Only those of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        /// Also those that were removed, which "collection remove --undo" makes usable again
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Show a collection
    Show(Which),
    /// Show the versions of the rules of a collection; a batch keeps the version that it began with
    Rules {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Add a collection
    Add {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        rules: Rules,
    },
    /// Change a collection; one that was removed stays so
    Set {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        rules: Rules,
    },
    /// List the objects of a collection that are due for disposal, and what forbids their deletion
    Due {
        #[command(flatten)]
        which: Which,
        /// Also those that are due until then: a date, a time, or a span from now such as 90d
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        /// Print one identifier a line, for "delete request --list"; what may not be deleted follows a # with the reason
        #[arg(long, conflicts_with_all = ["json", "csv", "long"])]
        plain: bool,
        #[command(flatten)]
        options: ListOptions,
    },
    /// Hold a collection: its work items stay where they are until it is released, also those that are made meanwhile
    Hold {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        why: Why,
    },
    /// Release a held collection: its work items continue where they stood, unless they or their batches are held
    Release(Which),
    /// Remove a collection: nothing more can be deposited in it; its objects stay
    Remove {
        #[command(flatten)]
        which: Which,
        /// Use it again, with the rules that it had
        #[arg(long, conflicts_with = "yes")]
        undo: bool,
        /// Remove it also where work of it has not ended; without it a terminal asks, and scripts are refused
        #[arg(long)]
        yes: bool,
    },
}

/// The columns of the versions of rules, all of them.
const RULES: [&str; 19] = [
    "version",
    "set_at",
    "set_by",
    "profile",
    "profile_version",
    "placement",
    "public",
    "embargo_until",
    "priority",
    "accepted",
    "max_size",
    "max_rows",
    "shoulder",
    "retention",
    "disposal",
    "notify_to",
    "suppress",
    "callback_url",
    "callback_required",
];

/// Names a collection.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its short name
    #[arg(value_name = "NAME")]
    collection: String,
    /// The institution it belongs to
    #[arg(long, value_name = "DOMAIN")]
    institution: String,
}

/// Its rules.
#[derive(Debug, Args)]
pub(crate) struct Rules {
    /// The display name
    #[arg(long)]
    name: Option<String>,
    /// The profile its bags must keep, of those that "profile list" shows; "" for none
    #[arg(long)]
    profile: Option<String>,
    /// The version of that profile; 0 for the newest at the time of each deposit
    #[arg(long, value_name = "N")]
    profile_version: Option<u64>,
    /// The placement of its objects where a deposit names none; "" for the default
    #[arg(long)]
    placement: Option<String>,
    /// Whether it is on hold, as by "collection hold" and "collection release"
    #[arg(long, value_name = "true|false")]
    held: Option<bool>,
    /// What the public may see of it: none, metadata or files; it is recorded, and nothing serves it yet
    #[arg(long, value_enum)]
    public: Option<Public>,
    /// The date from which on the public may see it, such as 2030-01-31; "" for at once
    #[arg(long, value_name = "DATE")]
    embargo: Option<String>,
    /// The priority of its deposits, from 0, the most urgent, to 99; "" for one that follows from the number of items of a batch
    #[arg(long, value_name = "N")]
    priority: Option<String>,
    /// A type of submission that it takes, once for each; "" for all
    #[arg(long, value_name = "TYPE")]
    accept: Vec<String>,
    /// The most bytes of a package, such as 500 GiB; 0 for no limit
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// The most rows of a batch manifest; 0 for no limit
    #[arg(long, value_name = "N")]
    max_rows: Option<u64>,
    /// What the names of its new ARKs begin with, of those in the settings; "" for identifiers.shoulder
    #[arg(long, value_name = "SHOULDER")]
    shoulder: Option<String>,
    /// For how long nothing of an object is deleted after it was deposited last: years, months or days, such as 10y, 6m or 3650d, or
    /// none; only a system admin may shorten it
    #[arg(long, value_name = "PERIOD")]
    retention: Option<String>,
    /// How long after that its objects are due for disposal, such as 15y, or none; nothing is deleted by it
    #[arg(long, value_name = "PERIOD")]
    disposal: Option<String>,
    /// An address that mails about its batches go to, given once for each; "" alone for none
    #[arg(long, value_name = "EMAIL")]
    notify_to: Vec<String>,
    /// A kind of mails that are not sent: queued, done, failed, update or removal, or all; given once for each; "" alone to send every kind
    #[arg(long, value_name = "KIND")]
    suppress: Vec<String>,
    /// The URL that events of its batches and their items are posted to; "" for none
    #[arg(long, value_name = "URL")]
    callback_url: Option<String>,
    /// Whether a deposit succeeds only when the program at that URL has confirmed its event [default: false]
    #[arg(long, value_name = "true|false")]
    callback_required: Option<bool>,
}

/// What the public may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Public {
    /// Nothing
    None,
    /// What describes the objects
    Metadata,
    /// Their files, too
    Files,
}

impl From<Public> for PublicAccess {
    fn from(public: Public) -> Self {
        match public {
            Public::None => Self::None,
            Public::Metadata => Self::Metadata,
            Public::Files => Self::Files,
        }
    }
}

impl Rules {
    fn read(self) -> Result<collections::Rules, Failure> {
        let priority = |text: String| {
            text.parse().map_err(|_| {
                Failure::usage(format!("{text:?} is no priority"))
                    .next("give a number from 0, the most urgent, to 99, or \"\"")
            })
        };
        let accepted = match self.accept.as_slice() {
            [] => None,
            [none] if none.is_empty() => Some(Vec::new()),
            some => Some(some.iter().map(|text| word(text, "type", DepositKind::SUBMITTED)).collect::<Result<_, _>>()?),
        };
        let suppress = if self.suppress.is_empty() { None } else { Some(kinds_of_mails(&self.suppress)?) };
        Ok(collections::Rules {
            name: self.name,
            profile: self.profile,
            profile_version: self.profile_version,
            placement: self.placement,
            held: self.held,
            public: self.public.map(PublicAccess::from),
            embargo_until: self.embargo.map(|text| emptiable(text, |date| moment(&date))).transpose()?,
            priority: self.priority.map(|text| emptiable(text, priority)).transpose()?,
            accepted,
            most_bytes: self.max_size,
            most_rows: self.max_rows,
            shoulder: self.shoulder,
            retention: self.retention.as_deref().map(period).transpose()?,
            disposal: self.disposal.as_deref().map(period).transpose()?,
            notify_to: Some(self.notify_to).filter(|addresses| !addresses.is_empty()),
            suppress,
            callback_url: self.callback_url,
            callback_required: self.callback_required,
        })
    }
}

/// The value of an option, none where an empty text takes it away.
fn emptiable<T>(text: String, read: impl Fn(String) -> Result<T, Failure>) -> Result<Option<T>, Failure> {
    if text.is_empty() { Ok(None) } else { read(text).map(Some) }
}

/// A period of the calendar; none for `none` or an empty text.
fn period(text: &str) -> Result<Option<Period>, Failure> {
    if matches!(text, "none" | "") {
        return Ok(None);
    }
    Period::parse(text).map(Some).ok_or_else(|| {
        Failure::usage(format!("{text:?} is no period of years, months or days"))
            .next("give for example 10y, 6m or 3650d, at most 1000y, or none")
    })
}

/// The word for every kind of mails.
const ALL_KINDS: &str = "all";

fn kinds_of_mails(words: &[String]) -> Result<Vec<MailKind>, Failure> {
    let known: Vec<&str> = MailKind::ALL.iter().map(|kind| kind.as_str()).chain([ALL_KINDS]).collect();
    let mut kinds = Vec::new();
    for text in words.iter().filter(|text| !text.is_empty()) {
        let named = word(text, "kind of mails", &known)?;
        kinds.extend(MailKind::ALL.iter().filter(|kind| named == ALL_KINDS || named == kind.as_str()));
    }
    Ok(kinds)
}

/// What is asked before a collection is removed that has work.
const REMOVAL: Question = Question {
    about: "the collection has work that has not ended",
    asked: "remove it all the same?",
    refused: "nothing was removed",
};

/// A collection, and the hold on it in a line of its own.
fn show(collection: &CollectionView, context: &Context) -> Outcome {
    if context.output.is_json() {
        context.output.json(collection)?;
        return Ok(Exit::Done);
    }
    context.output.show(&CollectionView { holds: Vec::new(), ..collection.clone() })?;
    show_holds(&collection.holds, context)?;
    Ok(Exit::Done)
}

pub(crate) fn run(command: Collection, context: &Context) -> Outcome {
    let call = context.call()?;
    let shown = match command {
        Collection::List { institution, all, options } => {
            let found = collections::list(&call, institution.as_deref(), all)?;
            let columns = ["institution", "collection", "name", "profile", "placement", "held", "active"];
            let shown = if all { &columns[..] } else { &columns[..columns.len() - 1] };
            let mut table = context.output.table(shown).with::<CollectionView>(options.table);
            for collection in options.of(found) {
                let profile = match (&collection.profile, collection.profile_version) {
                    (Some(profile), Some(version)) => format!("{profile} version {version}"),
                    (profile, _) => profile.clone().unwrap_or_default(),
                };
                table.row_with(&collection, &[("profile", profile)])?;
            }
            table.end("there are no collections")?;
            return Ok(Exit::Done);
        }
        Collection::Show(which) => collections::show(&call, &which.institution, &which.collection)?,
        Collection::Rules { which, options } => {
            let columns = ["version", "set_at", "set_by", "profile", "placement", "priority", "notify_to"];
            let mut table = context
                .output
                .table(&columns)
                .with::<RulesView>(options.table)
                .if_room(&["callback_url", "callback_required"])
                .in_full(&RULES);
            let name = (which.institution.as_str(), which.collection.as_str());
            let page = |after| collections::rules(&call, name, after);
            app::arranged(options.oldest_first(), page, |version| table.row(&version))?;
            table.end("it has no rules")?;
            return Ok(Exit::Done);
        }
        Collection::Due { which, until, plain, options } => {
            let name = (which.institution.as_str(), which.collection.as_str());
            let until = until.as_deref().map(expiry).transpose()?.map(|until| until.unwrap_or(Time(i64::MAX)));
            return if plain {
                list_of_due(&call, name, until, context)
            } else {
                due(&call, name, (until, options), context)
            };
        }
        Collection::Add { which, rules } => {
            collections::add(&call, &which.institution, &which.collection, rules.read()?)?
        }
        Collection::Set { which, rules } => {
            collections::set(&call, &which.institution, &which.collection, rules.read()?)?
        }
        Collection::Hold { which, why } => {
            collections::hold(&call, &which.institution, &which.collection, why.reason.as_deref())?
        }
        Collection::Release(which) => collections::release(&call, &which.institution, &which.collection)?,
        Collection::Remove { which, undo: true, .. } => {
            collections::use_again(&call, &which.institution, &which.collection)?
        }
        Collection::Remove { which, yes, .. } => {
            let open = collections::open_work(&call, &which.institution, &which.collection)?;
            let is_confirmed = confirm(&REMOVAL, &open, yes, context)?;
            collections::remove(&call, &which.institution, &which.collection, is_confirmed)?
        }
    };
    show(&shown, context)
}

/// What is due, with what forbids its deletion.
fn due(
    call: &OpContext,
    name: (&str, &str),
    (until, options): (Option<Time>, ListOptions),
    context: &Context,
) -> Outcome {
    let columns = ["identifier", "due_since", "deposited_at", "files", "bytes", "obstacles"];
    let mut table = context.output.table(&columns).with::<DueView>(options.table);
    let page = |after| disposals::due(call, name, until, after);
    app::arranged(options.oldest_first(), page, |due| {
        let obstacles: Vec<&str> = due.obstacles.iter().map(|one| one.text.as_str()).collect();
        table.row_with(&due, &[("obstacles", obstacles.join("; "))])
    })?;
    table.end("nothing is due for disposal")?;
    Ok(Exit::Done)
}

/// The identifiers of what is due, one a line. What may not be deleted follows a `#`, with the reasons behind it.
fn list_of_due(call: &OpContext, name: (&str, &str), until: Option<Time>, context: &Context) -> Outcome {
    let page = |after| disposals::due(call, name, until, after);
    app::each(page, |due| {
        let reasons: Vec<&str> = due.obstacles.iter().map(|one| one.text.as_str()).collect();
        let name = due.identifier.as_str();
        // A name that a list could not have on a line of its own stands there by its identifier.
        let is_plain = name == name.trim() && !name.contains('#') && name == printable(name);
        let listed = if is_plain { name.to_owned() } else { due.object.to_string() };
        let line = match reasons.as_slice() {
            [] => listed,
            reasons => format!("# {listed}: {}", reasons.join("; ")),
        };
        context.output.line(&printable(&line))
    })?;
    Ok(Exit::Done)
}
