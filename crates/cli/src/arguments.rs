//! The command line: what every command takes, and which commands there are.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    activity, audit, background, backup, bag, batches, bench, checkm, collection, config, delete, demo, deposit,
    duplicate, fixity, hold, identify, init, institution, items, journal, key, man, migrate, notify, objects, ocfl,
    outbox, pipeline, problems, profile, queue, rebuild, receiving, report, restore, shell, signatures, space, status,
    store, user, work,
};

/// Preserve digital deposits: check bags, keep verified copies in several stores, check the copies, restore objects.
#[derive(Debug, Parser)]
#[command(name = "strongroom", version, max_term_width = 100, subcommand_required = true)]
#[command(after_help = man::exit_codes())]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The data directory
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "config")]
    #[arg(help = "The data directory [default: $STRONGROOM_HOME, else ./strongroom]")]
    pub(crate) home: Option<PathBuf>,
    /// The settings file; its folder is the data directory
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON Lines on standard output, and nothing else there
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The email address of the person who acts, for journal and events [default: the account of the operating system]
    #[arg(long = "as", global = true, value_name = "EMAIL")]
    pub(crate) actor: Option<String>,
    /// Log less on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Log more on standard error; repeat for still more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a data directory: settings, registry, stores and a first institution
    Init(init::Init),
    /// Show work, what needs a person, stores, fixity and background tasks
    Status(status::StatusCommand),
    /// Run the main job on sample deposits, in a folder of its own
    Demo(demo::Arguments),
    /// Run workers and background tasks until stopped
    Serve(work::Serve),
    /// Run workers until stopped
    Work(work::Work),
    /// Run background tasks until stopped
    Schedule(work::ScheduleOnly),
    /// Deposit packages: bags, files, folders, archives and manifests
    Deposit(deposit::Deposit),
    /// List uploads in the receiving stores
    #[command(subcommand)]
    Receiving(receiving::Receiving),
    /// List and control batches: what was submitted together
    #[command(subcommand)]
    Batches(batches::Batches),
    /// List and control work items
    #[command(subcommand)]
    Items(items::Items),
    /// List objects, their files, versions and events
    #[command(subcommand)]
    Objects(objects::Objects),
    /// Restore objects and files
    Restore(Box<restore::Restore>),
    /// Request deletions, and approve or deny those of another user
    #[command(subcommand)]
    Delete(delete::Delete),
    /// Say which spaces of plain stores are copied where
    #[command(subcommand)]
    Duplicate(duplicate::Duplicate),
    /// Run agents over records: harvest them from a source, and deposit them
    #[command(subcommand)]
    Activity(activity::Activity),
    /// Set, run and show pipelines: agents one behind the other
    #[command(subcommand)]
    Pipeline(pipeline::Pipeline),
    /// List and control the topics of the queue
    #[command(subcommand)]
    Queue(queue::Queue),
    /// List the background tasks, and run one now
    #[command(subcommand)]
    Background(background::Background),
    /// Show the messages that cannot be delivered, send one again, or remove it
    #[command(subcommand)]
    Outbox(outbox::Outbox),
    /// Test whether mails and callbacks reach their receivers
    #[command(subcommand)]
    Notify(notify::Notify),
    /// Check copies, and repair what is damaged
    #[command(subcommand)]
    Fixity(fixity::Fixity),
    /// List, check, fill, replace and retire stores
    #[command(subcommand)]
    Store(store::Store),
    /// Show the spaces of plain stores, and what lies in them
    #[command(subcommand)]
    Space(space::Space),
    /// Make a registry from a preservation store alone
    Rebuild(rebuild::Rebuild),
    /// Copy the registry while it is in use
    Backup(backup::Backup),
    /// Bring the schema of the registry up to date, or move the registry to PostgreSQL
    Migrate(migrate::Migrate),
    /// List and change institutions
    #[command(subcommand)]
    Institution(institution::Institution),
    /// List and change collections
    #[command(subcommand)]
    Collection(collection::Collection),
    /// List and change users: who may do what
    #[command(subcommand)]
    User(user::User),
    /// List, make and revoke the keys of programs
    #[command(subcommand)]
    Key(key::Key),
    /// Forbid the deletion of collections, objects and files
    #[command(subcommand)]
    Hold(hold::Hold),
    /// List what is wrong in the installation, and record who works on it
    #[command(subcommand)]
    Problems(problems::Problems),
    /// List, add and remove the profiles that bags are checked against
    #[command(subcommand)]
    Profile(profile::Profile),
    /// List who did what, and what was refused
    #[command(subcommand)]
    Journal(journal::Journal),
    /// List, export and verify the audit chains of what was done
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Report what is kept and how, what came in and out, and what it costs
    #[command(subcommand)]
    Report(report::Report),
    /// Make, check and show bags; needs no data directory
    #[command(subcommand)]
    Bag(bag::Bag),
    /// Check and make Checkm manifests; needs no data directory
    #[command(subcommand)]
    Checkm(checkm::Checkm),
    /// Check and read OCFL objects and storage roots; needs no data directory
    #[command(subcommand)]
    Ocfl(ocfl::Ocfl),
    /// Identify the formats of files by PRONOM; needs no data directory
    Identify(identify::Identify),
    /// Show, install and choose the signatures by which formats are identified
    #[command(subcommand)]
    Signatures(signatures::Signatures),
    /// Check and show the settings
    #[command(subcommand)]
    Config(config::Config),
    /// Measure this machine; needs no data directory
    Bench(bench::Bench),
    /// Print completions for a shell
    Completions(shell::Completions),
    /// Show a manual page, or write all of them into a folder
    Man(man::Man),
}
