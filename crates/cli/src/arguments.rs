//! The command line: what every command takes, and which commands there are.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::{
    background, backup, bag, batches, bench, collection, config, demo, deposit, fixity, identify, init, institution,
    items, journal, migrate, objects, ocfl, outbox, profile, queue, rebuild, receiving, restore, shell, signatures,
    status, store, work,
};

/// Keeps deposits: checks them, stores verified copies, watches the copies, and gives them back.
#[derive(Debug, Parser)]
#[command(name = "strongroom", version, max_term_width = 100, subcommand_required = true)]
#[command(
    after_help = "Exit codes: 0 done; 1 done, and the answer is no; 2 wrong usage or settings; 3 not found; 4 not \
                  allowed; 5 a disk or service out of reach; 130 interrupted."
)]
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
    /// The home
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "config")]
    #[arg(help = "The home [default: $STRONGROOM_HOME, else ./strongroom]")]
    pub(crate) home: Option<PathBuf>,
    /// The settings file; its folder is the home
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Answer in JSON Lines on standard output, with nothing else there
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Who acts, as records name them: an email address [default: the account of the operating system]
    #[arg(long = "as", global = true, value_name = "EMAIL")]
    pub(crate) actor: Option<String>,
    /// Tell less on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Tell more on standard error; repeat for more still
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a home: settings, registry, stores and a first institution
    Init(init::Init),
    /// Show what is worked on, what needs a person, and how stores and copies are
    Status(status::StatusCommand),
    /// Show the whole job on sample deposits, in a folder of its own
    Demo(demo::Arguments),
    /// Run workers and background tasks until told to stop
    Serve(work::Serve),
    /// Run workers until told to stop
    Work(work::Work),
    /// Run only background tasks until told to stop
    Schedule(work::ScheduleOnly),
    /// Hand in payloads to be kept
    Deposit(deposit::Deposit),
    /// Show what was put into the receiving stores
    #[command(subcommand)]
    Receiving(receiving::Receiving),
    /// Show what was submitted together
    #[command(subcommand)]
    Batches(batches::Batches),
    /// Show and steer work items
    #[command(subcommand)]
    Items(items::Items),
    /// Show what is kept
    #[command(subcommand)]
    Objects(objects::Objects),
    /// Restore objects and files
    Restore(Box<restore::Restore>),
    /// Show and steer the task queue
    #[command(subcommand)]
    Queue(queue::Queue),
    /// Show the background tasks, and run one now
    #[command(subcommand)]
    Background(background::Background),
    /// Show the messages that cannot be delivered, send one again, or remove it
    #[command(subcommand)]
    Outbox(outbox::Outbox),
    /// Watch the copies, and repair what is damaged
    #[command(subcommand)]
    Fixity(fixity::Fixity),
    /// Show and check the stores
    #[command(subcommand)]
    Store(store::Store),
    /// Make a registry from a preservation store alone
    Rebuild(rebuild::Rebuild),
    /// Copy the registry while it is in use
    Backup(backup::Backup),
    /// Bring the schema of the registry up to date, or move the registry to PostgreSQL
    Migrate(migrate::Migrate),
    /// Show and change institutions
    #[command(subcommand)]
    Institution(institution::Institution),
    /// Show and change collections
    #[command(subcommand)]
    Collection(collection::Collection),
    /// Show, add and remove the profiles that bags are checked against
    #[command(subcommand)]
    Profile(profile::Profile),
    /// Show who did what, and what was refused
    #[command(subcommand)]
    Journal(journal::Journal),
    /// Make, check and show bags; needs no home
    #[command(subcommand)]
    Bag(bag::Bag),
    /// Check and read OCFL objects and storage roots; needs no home
    #[command(subcommand)]
    Ocfl(ocfl::Ocfl),
    /// Say which formats files have, by PRONOM; needs no home
    Identify(identify::Identify),
    /// Show, install and choose the signatures by which formats are identified
    #[command(subcommand)]
    Signatures(signatures::Signatures),
    /// Check and show the settings
    #[command(subcommand)]
    Config(config::Config),
    /// Measure this machine; needs no home
    Bench(bench::Bench),
    /// Print the completions of a shell
    Completions(shell::Completions),
    /// Write the manual pages
    Man(shell::Man),
}
