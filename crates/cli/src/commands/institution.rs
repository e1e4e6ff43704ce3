//! `institution`: the tenants of a home.

use clap::Subcommand;
use strongroom_engine::app::institutions::Changes;
use strongroom_engine::app::views::InstitutionView;
use strongroom_engine::app::{self, OpContext, institutions};

use super::values::size;
use crate::context::Context;
use crate::failure::{Exit, Outcome};
use crate::output::ListOptions;

/// Show and change institutions
#[derive(Debug, Subcommand)]
pub(crate) enum Institution {
    /// List all institutions
    List(ListOptions),
    /// Show an institution
    Show {
        /// Its domain name
        institution: String,
    },
    /// Add an institution
    Add {
        /// Its domain name in lower case, such as example.edu; it never changes
        institution: String,
        /// The display name [default: the domain name]
        #[arg(long)]
        name: Option<String>,
    },
    /// Change an institution
    Set {
        /// Its domain name
        institution: String,
        /// The display name
        #[arg(long)]
        name: Option<String>,
        /// Whether it may deposit
        #[arg(long, value_name = "true|false")]
        active: Option<bool>,
        /// How much its open deposits may have in staging together, such as 50 GiB; 0: no limit but staging.capacity
        #[arg(long, value_name = "SIZE", value_parser = size)]
        staging_quota: Option<u64>,
        /// How much may be kept of what it deposits, such as 10 TiB; each content counts once, whatever the number of its copies; 0: no limit
        #[arg(long, value_name = "SIZE", value_parser = size)]
        storage_quota: Option<u64>,
        /// Whether each of its users needs a second factor to sign in
        #[arg(long, value_name = "true|false")]
        second_factor_required: Option<bool>,
    },
    /// Change the display name of an institution
    Rename {
        /// Its domain name, which stays
        institution: String,
        /// The new display name
        name: String,
    },
    /// Deactivate an institution: it may no longer deposit; what is kept stays
    Remove {
        /// Its domain name
        institution: String,
        /// Activate it again
        #[arg(long)]
        undo: bool,
    },
}

pub(crate) fn run(command: Institution, context: &Context) -> Outcome {
    let call = context.call()?;
    let shown = match command {
        Institution::List(options) => return list(&call, &options, context),
        Institution::Show { institution } => institutions::show(&call, &institution)?,
        Institution::Add { institution, name } => institutions::add(&call, &institution, name.as_deref())?,
        Institution::Set { institution, name, active, staging_quota, storage_quota, second_factor_required } => {
            let changes = Changes { name, active, staging_quota, storage_quota, second_factor_required };
            institutions::set(&call, &institution, changes)?
        }
        Institution::Rename { institution, name } => {
            institutions::set(&call, &institution, Changes { name: Some(name), ..Changes::default() })?
        }
        Institution::Remove { institution, undo } => {
            institutions::set(&call, &institution, Changes { active: Some(undo), ..Changes::default() })?
        }
    };
    context.output.show(&shown)?;
    Ok(Exit::Done)
}

fn list(call: &OpContext, options: &ListOptions, context: &Context) -> Outcome {
    let mut table =
        context.output.table(&["institution", "name", "active", "created_at"]).with::<InstitutionView>(options.table);
    let page = |after| institutions::list(call, after);
    app::arranged(options.oldest_first(), page, |institution| table.row(&institution))?;
    table.end("there are no institutions")?;
    Ok(Exit::Done)
}
