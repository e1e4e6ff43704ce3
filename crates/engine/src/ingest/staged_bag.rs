//! A bag that lies in staging, as what the rules of BagIt are checked by.

use std::io::Read;

use strongroom_bagit::{BagError, Evidence, FileFact, FileFacts};
use strongroom_digest::Algorithm;
use strongroom_registry::interim::{self, InterimFile};

use super::paging::{ROWS_AT_ONCE, files_behind};
use super::staged::Readings;
use super::stages::{digest_of, is_fetched};
use crate::workflow::{StageContext, StageError};

/// A staged bag as evidence: facts from the interim rows, bytes from staging.
pub(crate) struct StagedBag<'a, 'c> {
    context: &'a StageContext<'c>,
    readings: Readings,
    /// The first page of the bag's files, by path.
    first: Vec<InterimFile>,
    /// Whether files that were fetched for the bag belong to it.
    has_fetched: bool,
}

impl<'a, 'c> StagedBag<'a, 'c> {
    /// The bag with what was fetched for it. `first` is the first page of its files.
    pub(crate) fn whole(context: &'a StageContext<'c>, first: Vec<InterimFile>) -> Self {
        Self { context, readings: Readings::default(), first, has_fetched: true }
    }

    /// The bag as it was sent.
    pub(crate) fn as_sent(context: &'a StageContext<'c>, first: Vec<InterimFile>) -> Self {
        Self { has_fetched: false, ..Self::whole(context, first) }
    }

    /// Fails unless every byte that was read is one that was staged.
    pub(crate) fn settle(self) -> Result<(), StageError> {
        self.readings.settle(self.context)
    }

    fn has(&self, row: &InterimFile) -> bool {
        self.has_fetched || !is_fetched(&row.staging_key)
    }
}

impl Evidence for StagedBag<'_, '_> {
    fn files(&self) -> Result<FileFacts<'_>, BagError> {
        Ok(Box::new(files_behind(self.context, Some(self.first.clone())).flat_map(|page| match page {
            Ok(rows) => rows.into_iter().filter(|row| self.has(row)).map(|row| Ok(fact(row))).collect(),
            Err(error) => vec![Err(BagError::Evidence(error.to_string().into()))],
        })))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, BagError> {
        let missing = || BagError::Evidence(format!("{path} was not staged").into());
        let file = match self.first.iter().find(|file| file.path == path) {
            Some(file) => file.clone(),
            // All were read at once.
            None if self.first.len() < ROWS_AT_ONCE => return Err(missing()),
            None => {
                let found = self.context.registry().read(|tx| interim::file(tx, self.context.item.id, path));
                found.map_err(|error| BagError::Evidence(error.into()))?.ok_or_else(missing)?
            }
        };
        self.readings.open(self.context, (&file).into()).map_err(|error| BagError::Evidence(error.into()))
    }
}

fn fact(row: InterimFile) -> FileFact {
    let digests = Algorithm::RECORDED
        .into_iter()
        .filter_map(|algorithm| Some((algorithm, digest_of(&row.digests, algorithm)?)))
        .collect();
    FileFact { path: row.path, size: row.size, digests }
}
