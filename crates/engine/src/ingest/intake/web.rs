//! Payloads at web servers: only from hosts that the settings allow, never from private networks unless they allow that.

use strongroom_bagit::Source;
use url::Url;

use super::Located;
use crate::Home;
use crate::ingest::StageError;

pub(super) fn locate(_home: &Home, url: &Url) -> Result<Located, StageError> {
    Err(StageError::fatal(format!("{url} cannot be fetched")))
}

pub(super) fn open(_home: &Home, url: &Url) -> Result<Source, StageError> {
    Err(StageError::fatal(format!("{url} cannot be fetched")))
}
