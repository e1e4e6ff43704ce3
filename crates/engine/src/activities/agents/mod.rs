//! The agents, one file each, and the table of them.

mod copy;
mod deposit;
pub(crate) mod harvest;
pub(crate) mod tool;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::agent::Agent;
use crate::EngineError;

/// The agents of a home, by name.
#[derive(Clone)]
pub struct Agents(BTreeMap<&'static str, Arc<dyn Agent>>);

impl Agents {
    /// Those of the engine.
    pub(crate) fn standard() -> Self {
        let none = Self(BTreeMap::new());
        none.with(Arc::new(copy::Copy))
            .with(Arc::new(deposit::Deposit))
            .with(Arc::new(harvest::Harvest::default()))
            .with(Arc::new(tool::Tool))
    }

    /// The same with another one; one of the same name is replaced.
    #[must_use]
    pub(crate) fn with(mut self, agent: Arc<dyn Agent>) -> Self {
        self.0.insert(agent.name(), agent);
        self
    }

    /// Every one, by name.
    pub fn all(&self) -> impl Iterator<Item = &dyn Agent> {
        self.0.values().map(Arc::as_ref)
    }

    /// The agent of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, name: &str) -> Result<&dyn Agent, EngineError> {
        self.0.get(name).map(Arc::as_ref).ok_or_else(|| {
            let known: Vec<&str> = self.0.keys().copied().collect();
            let hint = format!(": the agents are {}", known.join(", "));
            EngineError::NotFound { what: "agent", name: name.to_owned(), hint }
                .next("\"strongroom activity agents\" lists the agents with their options")
        })
    }
}
