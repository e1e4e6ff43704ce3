//! What an act leaves in the journal: who acts, and under which request. It goes down with the act to the transaction that does
//! it.

use strongroom_registry::journal::{self, Actor, NewLine};
use strongroom_registry::{InstitutionId, JournalOutcome, Registry, RegistryError, Transaction};
use uuid::Uuid;

/// An act of an actor, before it is known how it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// Who acts.
    pub actor: Actor,
    /// One for all acts of one call.
    pub request: Uuid,
    /// The act, such as `deposits.submit`.
    pub act: String,
}

/// What an act is done to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// Its name, as people know it.
    pub name: String,
    /// Whose it is; none for what belongs to no institution.
    pub institution: Option<InstitutionId>,
    /// The identifier of the object that it is, or belongs to, `INSTITUTION/NAME`: the journal is listed by it.
    pub object: Option<String>,
}

impl Target {
    /// What belongs to no institution.
    pub fn of_system(name: impl Into<String>) -> Self {
        Self { name: name.into(), institution: None, object: None }
    }

    /// What belongs to an institution.
    pub fn of(institution: InstitutionId, name: impl Into<String>) -> Self {
        Self { name: name.into(), institution: Some(institution), object: None }
    }

    /// An object, by its identifier.
    pub fn of_object(institution: InstitutionId, identifier: impl Into<String>) -> Self {
        let name = identifier.into();
        Self { object: Some(name.clone()), ..Self::of(institution, name) }
    }

    /// The same, for what belongs to the object of this identifier.
    #[must_use]
    pub fn about(self, object: impl Into<String>) -> Self {
        Self { object: Some(object.into()), ..self }
    }
}

/// An act of the system itself.
impl Default for JournalEntry {
    fn default() -> Self {
        Self::of_system("system.act")
    }
}

impl JournalEntry {
    /// An act of the system itself, which is a call of its own.
    pub fn of_system(act: &str) -> Self {
        Self { actor: Actor::system(), request: Uuid::now_v7(), act: act.to_owned() }
    }

    /// Appends what came of the act on a target; for [`JournalOutcome::Done`] in the transaction that does it.
    pub fn append(
        &self,
        tx: &mut dyn Transaction,
        target: &Target,
        outcome: JournalOutcome,
        detail: Option<&str>,
    ) -> Result<(), RegistryError> {
        let line = NewLine {
            actor: &self.actor,
            request: self.request,
            act: &self.act,
            target: &target.name,
            institution: target.institution,
            object: target.object.as_deref(),
            outcome,
            detail,
        };
        journal::append(tx, &line)?;
        Ok(())
    }

    /// Appends that the act on a target is done.
    pub fn done(&self, tx: &mut dyn Transaction, target: &Target) -> Result<(), RegistryError> {
        self.append(tx, target, JournalOutcome::Done, None)
    }
}

/// Adds the line about a migration of the schema that the journal does not name, as an act of `entry`: that of the
/// caller that migrates, or, where its process was killed before the line, that of the system when the registry is
/// opened next.
pub(crate) fn tell_of_migration(registry: &Registry, entry: &JournalEntry) -> Result<(), RegistryError> {
    let is_told = registry
        .read(|tx| Ok::<_, RegistryError>(journal::knows_schema(tx)? && journal::untold_migration(tx)?.is_none()))?;
    if is_told {
        return Ok(());
    }
    let entry = entry.clone();
    registry.write(move |tx| {
        if let Some((from, to)) = journal::untold_migration(tx)? {
            let target = format!("the schema of the registry, from version {from} to {to}");
            entry.done(tx, &Target::of_system(target))?;
        }
        journal::set_schema_told(tx)
    })
}
