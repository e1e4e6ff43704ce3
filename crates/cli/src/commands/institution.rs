//! `institution`: the tenants of a home.

use clap::Subcommand;
use strongroom_registry::tenants::{self, Institution as Record};
use strongroom_registry::{InstitutionId, Registry, RegistryError, Scope, Transaction};

use super::PAGE;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::report;

/// Show and change institutions
#[derive(Debug, Subcommand)]
pub(crate) enum Institution {
    /// List all institutions
    List,
    /// Show one
    Show {
        /// Its domain name
        institution: String,
    },
    /// Add one
    Add {
        /// Its domain name in lower case, such as example.edu; it never changes
        institution: String,
        /// What people call it [default: the domain name]
        #[arg(long)]
        name: Option<String>,
    },
    /// Change one
    Set {
        /// Its domain name
        institution: String,
        /// What people call it
        #[arg(long)]
        name: Option<String>,
        /// Whether it may deposit
        #[arg(long, value_name = "true|false")]
        active: Option<bool>,
    },
    /// Deactivate one: it may no longer deposit; what is kept stays
    Remove {
        /// Its domain name
        institution: String,
    },
}

report! {
    /// An institution.
    InstitutionReport { institution: String, name: String, active: bool, created_at: String }
}

impl From<&Record> for InstitutionReport {
    fn from(record: &Record) -> Self {
        Self {
            institution: record.identifier.clone(),
            name: record.name.clone(),
            active: record.active,
            created_at: record.created_at.to_string(),
        }
    }
}

pub(crate) fn run(command: Institution, context: &Context) -> Outcome {
    let registry = context.registry()?;
    let shown = match command {
        Institution::List => return list(&registry, context),
        Institution::Show { institution } => institution,
        Institution::Add { institution, name } => {
            if !tenants::is_institution_identifier(&institution) {
                return Err(Failure::usage(format!("{institution:?} cannot name an institution"))
                    .next("give a domain name in lower case, such as example.edu"));
            }
            let identifier = institution.clone();
            let name = name.unwrap_or_else(|| institution.clone());
            registry.write(move |tx| tenants::add_institution(tx, InstitutionId::new(), &identifier, &name))?;
            institution
        }
        Institution::Set { institution, name, active } => {
            if name.is_none() && active.is_none() {
                return Err(Failure::usage("nothing to set: give --name or --active"));
            }
            change(&registry, &institution, name, active)?;
            institution
        }
        Institution::Remove { institution } => {
            change(&registry, &institution, None, Some(false))?;
            institution
        }
    };
    let record = registry.read(|tx| find(tx, &shown))?;
    context.output.show(&InstitutionReport::from(&record))?;
    Ok(Exit::Done)
}

fn change(registry: &Registry, institution: &str, name: Option<String>, active: Option<bool>) -> Result<(), Failure> {
    let institution = institution.to_owned();
    registry.write(move |tx| {
        let record = find(tx, &institution)?;
        let name = name.as_deref().unwrap_or(&record.name);
        tenants::set_institution(tx, record.id, name, active.unwrap_or(record.active))
    })?;
    Ok(())
}

/// An institution that must exist.
pub(crate) fn find(tx: &mut dyn Transaction, identifier: &str) -> Result<Record, RegistryError> {
    tenants::institution(tx, Scope::System, identifier)?
        .ok_or_else(|| RegistryError::NotFound { what: "institution", id: identifier.to_owned() })
}

/// Everything, or what belongs to the institution named.
pub(crate) fn scope(registry: &Registry, institution: Option<&str>) -> Result<Scope, Failure> {
    match institution {
        None => Ok(Scope::System),
        Some(identifier) => Ok(Scope::Institution(registry.read(|tx| find(tx, identifier))?.id)),
    }
}

fn list(registry: &Registry, context: &Context) -> Outcome {
    let mut table = context.output.table(&["institution", "name", "active", "created_at"]);
    let mut after = String::new();
    loop {
        let page = registry.read(|tx| tenants::institutions(tx, Scope::System, &after, PAGE))?;
        for record in &page {
            table.row(&InstitutionReport::from(record))?;
        }
        match page.last() {
            Some(last) => after.clone_from(&last.identifier),
            None => break,
        }
    }
    table.end("there are no institutions")?;
    Ok(Exit::Done)
}
