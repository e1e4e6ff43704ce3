//! What must hold of ARKs: each object has one of its own, EZID has each of them, and no name that no object was given.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;
use strongroom_engine::Home;
use strongroom_engine::settings::Settings;
use strongroom_registry::{RegistryError, Scope, object_ids, tenants};

use crate::kept::Kept;
use crate::perform::Cast;
use crate::promises::text;
use crate::world::INSTITUTION;

impl Cast {
    pub(crate) fn arks_are_registered(&mut self, kept: &[Kept]) -> Result<()> {
        let Some(ezid) = &self.world.ezid else { return Ok(()) };
        let registered: BTreeSet<String> = ezid.identifiers().into_keys().collect();
        let recorded = self.recorded_arks()?;
        self.world.log(format!("EZID has {} ARKs, the registry {}", registered.len(), recorded.len()));
        let mut owned = BTreeSet::new();
        for object in kept {
            match &object.ark {
                None => self.find(format!("{} has no ARK", object.identifier)),
                Some(ark) if !owned.insert(ark.clone()) => {
                    self.find(format!("{ark} of {} is the ARK of another object, too", object.identifier));
                }
                Some(ark) if !registered.contains(ark) => {
                    self.find(format!("EZID does not have {ark} of {}", object.identifier));
                }
                Some(ark) if !recorded.contains(ark) => {
                    self.find(format!("{ark} of {} is not among the recorded ARKs", object.identifier));
                }
                Some(_) => {}
            }
        }
        for leaked in registered.difference(&recorded) {
            self.find(format!("EZID has {leaked}, which is recorded for no object"));
        }
        Ok(())
    }

    /// Every ARK that is recorded for the name of an object, also of one that was never published.
    fn recorded_arks(&self) -> Result<BTreeSet<String>> {
        let items = self.all_items()?;
        let names: BTreeSet<&str> = items.iter().map(|item| text(item, "object")).collect();
        let folder = self.world.path("home");
        let settings = Settings::from_toml(&fs::read_to_string(folder.join("strongroom.toml"))?)?;
        let home = Home::open(&folder, settings)?;
        Ok(home.registry.read(|tx| {
            let institution = tenants::institution(tx, Scope::System, INSTITUTION)?;
            let Some(institution) = institution else { return Ok(BTreeSet::new()) };
            let mut arks = BTreeSet::new();
            for name in &names {
                arks.extend(object_ids::arks_of(tx, institution.id, name)?);
            }
            Ok::<_, RegistryError>(arks)
        })?)
    }
}
