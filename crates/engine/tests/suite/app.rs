//! What people ask through the application layer: who sees what, who may do what, and what the journal says of it.

mod fixity;
mod formats;
mod objects;

use strongroom_engine::EngineError;
use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::journal::Filter;
use strongroom_engine::app::{Caller, OpContext, Page, journal};
use strongroom_registry::journal::Actor;
use strongroom_registry::{ActorKind, InstitutionId, RegistryError, Scope, tenants};

use crate::fixture::{INSTITUTION, TestHome};

/// Another institution, which keeps nothing.
const OTHER: &str = "other.edu";

/// A call of whoever runs the installation.
fn at_console(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), Caller::at_console("tester"))
}

/// A call of an actor of an institution, which is added where it is not there.
fn acting_for(home: &TestHome, institution: &'static str, role: Role) -> OpContext {
    let found = home.registry.read(|tx| tenants::institution(tx, Scope::System, institution)).expect("reads");
    let id = found.map_or_else(InstitutionId::new, |found| found.id);
    if institution != INSTITUTION {
        home.registry.write(move |tx| tenants::add_institution(tx, id, institution, institution)).expect("adds it");
    }
    let actor = Actor::new(ActorKind::User, &format!("ann@{institution}"));
    OpContext::new(home.home.clone(), Caller::with_role(actor, Scope::Institution(id), role))
}

/// Every row of a listing.
fn all<T, K>(page: impl FnMut(Option<K>) -> Result<Page<T, K>, EngineError>) -> Vec<T> {
    let mut rows = Vec::new();
    strongroom_engine::app::each(page, |row| {
        rows.push(row);
        Ok::<_, EngineError>(())
    })
    .expect("lists");
    rows
}

fn is_not_found(error: &EngineError) -> bool {
    match error {
        EngineError::NotFound { .. } | EngineError::Registry(RegistryError::NotFound { .. }) => true,
        EngineError::Advised(advised) => is_not_found(&advised.error),
        _ => false,
    }
}

/// The lines of the journal that an actor sees: act, target and outcome.
fn journal_of(context: &OpContext) -> Vec<String> {
    let lines = all(|after| journal::list(context, &Filter::default(), after));
    // The system deposited what is asked about.
    let of_people = lines.iter().filter(|line| line.kind != ActorKind::System);
    of_people.map(|line| format!("{} {}: {}", line.act, line.target, line.outcome)).collect()
}

#[test]
fn a_migration_whose_process_was_killed_before_its_line_is_told_of_when_the_registry_is_opened_next() {
    let home = crate::fixture::home();
    let open = || strongroom_engine::Home::open(home.path(), home.settings.clone()).expect("opens");
    let known = home.registry.known_schema();
    let lines = || {
        let all = |after| journal::list(&at_console(&home), &Filter::default(), after);
        let lines: Vec<_> = self::all(all).into_iter().filter(|line| line.act == "registry.migrate").collect();
        lines.into_iter().map(|line| (line.actor, line.target)).collect::<Vec<_>>()
    };
    open();
    assert_eq!(lines(), [], "a new registry was not migrated");
    home.change_rows("-- name: change\nUPDATE registry_facts SET value = '24' WHERE name = 'journal.schema'");
    open();
    let expected = ("strongroom".to_owned(), format!("the schema of the registry, from version 24 to {known}"));
    assert_eq!(lines(), std::slice::from_ref(&expected));
    open();
    assert_eq!(lines(), [expected], "once");
}
