//! `collection`: objects under one set of rules.

use clap::{Args, Subcommand};
use strongroom_bagit::Profile;
use strongroom_engine::settings::{Settings, nearest};
use strongroom_registry::tenants::{self, Collection as Record, CollectionRules};
use strongroom_registry::{CollectionId, Registry, RegistryError, Transaction};

use super::institution::{self, scope};
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

/// Show and change collections
#[derive(Debug, Subcommand)]
pub(crate) enum Collection {
    /// List collections
    List {
        /// Only those of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
    },
    /// Show one
    Show(Which),
    /// Add one
    Add {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        rules: Rules,
    },
    /// Change one
    Set {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        rules: Rules,
    },
    /// Put one away: nothing more is deposited in it; what is kept stays
    Remove(Which),
}

/// Names a collection.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its short name
    collection: String,
    /// The institution it belongs to
    #[arg(long, value_name = "DOMAIN")]
    institution: String,
}

/// Its rules.
#[derive(Debug, Args)]
pub(crate) struct Rules {
    /// What people call it
    #[arg(long)]
    name: Option<String>,
    /// The profile its bags must keep; "" for none
    #[arg(long)]
    profile: Option<String>,
    /// The placement of its objects where a deposit names none; "" for the default
    #[arg(long)]
    placement: Option<String>,
    /// Whether its deposits wait for a person
    #[arg(long, value_name = "true|false")]
    held: Option<bool>,
}

report! {
    /// A collection.
    CollectionReport {
        collection: String,
        institution: String,
        name: String,
        profile: Option<String>,
        placement: Option<String>,
        held: bool,
        created_at: String,
    }
}

impl From<&Record> for CollectionReport {
    fn from(record: &Record) -> Self {
        Self {
            collection: record.identifier.clone(),
            institution: record.institution_identifier.clone(),
            name: record.name.clone(),
            profile: record.profile.clone(),
            placement: record.placement.clone(),
            held: record.held,
            created_at: record.created_at.to_string(),
        }
    }
}

pub(crate) fn run(command: Collection, context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    let registry = context.registry_of(&settings)?;
    let which = match command {
        Collection::List { institution } => return list(&registry, institution.as_deref(), context),
        Collection::Show(which) => which,
        Collection::Add { which, rules } => {
            add(&registry, &settings, &which, rules)?;
            which
        }
        Collection::Set { which, rules } => {
            set(&registry, &settings, &which, rules)?;
            which
        }
        Collection::Remove(which) => return remove(&registry, &which, context),
    };
    let record = registry.read(|tx| find(tx, &which.institution, &which.collection))?;
    context.output.show(&CollectionReport::from(&record))?;
    Ok(Exit::Done)
}

fn find(tx: &mut dyn Transaction, institution: &str, identifier: &str) -> Result<Record, RegistryError> {
    let institution = institution::find(tx, institution)?;
    tenants::collection(tx, strongroom_registry::Scope::System, institution.id, identifier)?
        .ok_or_else(|| RegistryError::NotFound { what: "collection", id: identifier.to_owned() })
}

fn list(registry: &Registry, institution: Option<&str>, context: &Context) -> Outcome {
    let scope = scope(registry, institution)?;
    let mut table = context.output.table(&["institution", "collection", "name", "profile", "placement", "held"]);
    for record in &registry.read(|tx| tenants::collections(tx, scope))? {
        table.row(&CollectionReport::from(record))?;
    }
    table.end("there are no collections")?;
    Ok(Exit::Done)
}

fn add(registry: &Registry, settings: &Settings, which: &Which, rules: Rules) -> Result<(), Failure> {
    let identifier = which.collection.clone();
    let is_short_name = !identifier.is_empty()
        && identifier.len() <= 100
        && identifier.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if !is_short_name {
        return Err(Failure::usage(format!("{identifier:?} cannot name a collection"))
            .next("give up to 100 letters, digits, dots, - and _"));
    }
    let blank = CollectionRules { name: identifier.clone(), ..CollectionRules::default() };
    let rules = checked(rules, blank, settings)?;
    let institution = which.institution.clone();
    registry.write(move |tx| {
        let institution = institution::find(tx, &institution)?;
        tenants::add_collection(tx, CollectionId::new(), institution.id, &identifier, &rules)
    })?;
    Ok(())
}

fn set(registry: &Registry, settings: &Settings, which: &Which, rules: Rules) -> Result<(), Failure> {
    let record = registry.read(|tx| find(tx, &which.institution, &which.collection))?;
    let rules = checked(rules, rules_of(&record), settings)?;
    registry.write(move |tx| tenants::set_collection(tx, record.id, &rules, true))?;
    Ok(())
}

fn remove(registry: &Registry, which: &Which, context: &Context) -> Outcome {
    let record = registry.read(|tx| find(tx, &which.institution, &which.collection))?;
    let rules = rules_of(&record);
    registry.write(move |tx| tenants::set_collection(tx, record.id, &rules, false))?;
    context.output.show(&CollectionReport::from(&record))?;
    Ok(Exit::Done)
}

fn rules_of(record: &Record) -> CollectionRules {
    CollectionRules {
        name: record.name.clone(),
        profile: record.profile.clone(),
        placement: record.placement.clone(),
        held: record.held,
    }
}

/// What is asked laid over what holds, with names that exist.
fn checked(asked: Rules, holds: CollectionRules, settings: &Settings) -> Result<CollectionRules, Failure> {
    let over = |asked: Option<String>, holds: Option<String>| match asked {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text),
        None => holds,
    };
    let rules = CollectionRules {
        name: asked.name.unwrap_or(holds.name),
        profile: over(asked.profile, holds.profile),
        placement: over(asked.placement, holds.placement),
        held: asked.held.unwrap_or(holds.held),
    };
    if let Some(profile) = &rules.profile
        && Profile::builtin(profile).is_none()
    {
        let near = nearest(profile, Profile::builtin_names()).unwrap_or_default();
        return Err(Failure::usage(format!("there is no profile {profile:?}; the nearest is {near}")));
    }
    if let Some(placement) = &rules.placement
        && settings.placement(placement).is_none()
    {
        let near = nearest(placement, settings.placements.keys().map(String::as_str)).unwrap_or_default();
        return Err(Failure::usage(format!("there is no placement {placement:?}; the nearest is {near}"))
            .next("placements are made in the settings, under [placements]"));
    }
    Ok(rules)
}
