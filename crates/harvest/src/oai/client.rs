//! The client: one request of each verb, and the lists.

use std::sync::OnceLock;

use strongroom_download::{Page, Supervision, shown_url};
use url::Url;

use crate::connection::Connection;
use crate::error::{HarvestError, Place};
use crate::oai::answers::{Identify, MetadataFormat, SetInfo};
use crate::oai::code::OaiCode;
use crate::oai::cursor::OaiCursor;
use crate::oai::dates::Granularity;
use crate::oai::list::{List, Step};
use crate::oai::page::{Item, PageReader, Verb};
use crate::source::Record;

/// What answers are asked for as.
const ACCEPT: &str = "text/xml, application/xml;q=0.9, */*;q=0.5";

/// A client of one provider.
///
/// Every verb of the protocol is here or in [`OaiSource`](crate::OaiSource), which lists records and identifiers.
#[derive(Debug)]
pub struct OaiClient {
    pub(crate) connection: Connection,
    base: Url,
    ignores_encoding: bool,
    granularity: OnceLock<Granularity>,
}

impl OaiClient {
    /// A client of the provider with this base URL (section 3.1.1).
    pub fn new(connection: Connection, base_url: &str) -> Result<Self, HarvestError> {
        let mut base = connection.check(base_url)?;
        base.set_fragment(None);
        Ok(Self { connection, base, ignores_encoding: false, granularity: OnceLock::new() })
    }

    /// Reads answers as UTF-8 whatever encoding they declare. Answers are in UTF-8 by the protocol (section 3.2); some providers
    /// declare another encoding all the same. Records whose bytes are no UTF-8 remain notices.
    #[must_use]
    pub fn ignore_declared_encoding(self) -> Self {
        Self { ignores_encoding: true, ..self }
    }

    /// The base URL without its query.
    pub fn location(&self) -> String {
        shown_url(self.base.as_str())
    }

    /// What the provider says about itself (`Identify`, section 4.2).
    pub fn identify(&self, supervision: &Supervision<'_>) -> Result<Identify, HarvestError> {
        let mut page = self.ask(Verb::Identify, &[], supervision)?;
        let mut found = None;
        while let Some(item) = page.next()? {
            if let Item::Identify(identify) = item {
                found = Some(identify);
            }
        }
        let identify = found.ok_or_else(|| refused(&page))?;
        // Another thread may have asked meanwhile; both have the same answer.
        let _ = self.granularity.set(identify.granularity);
        Ok(identify)
    }

    /// The finest datestamps of the provider. `Identify` is asked once.
    pub(crate) fn granularity(&self, supervision: &Supervision<'_>) -> Result<Granularity, HarvestError> {
        match self.granularity.get() {
            Some(granularity) => Ok(*granularity),
            None => Ok(self.identify(supervision)?.granularity),
        }
    }

    /// The formats of the provider or of one record (`ListMetadataFormats`, section 4.4).
    pub fn formats(
        &self,
        id: Option<&str>,
        supervision: &Supervision<'_>,
    ) -> Result<Vec<MetadataFormat>, HarvestError> {
        let arguments: Vec<(&str, &str)> = id.map(|id| ("identifier", id)).into_iter().collect();
        let mut page = self.ask(Verb::ListMetadataFormats, &arguments, supervision)?;
        let mut found = Vec::new();
        while let Some(item) = page.next()? {
            if let Item::Format(format) = item {
                found.push(format);
            }
        }
        if page.ending.errors.is_empty() && page.ending.has_verb { Ok(found) } else { Err(refused(&page)) }
    }

    /// The sets of the provider, page by page as they are consumed (`ListSets`, section 4.6). A provider without sets is an error with
    /// the code [`OaiCode::NoSetHierarchy`].
    pub fn sets<'c>(
        &'c self,
        supervision: Supervision<'c>,
    ) -> impl Iterator<Item = Result<SetInfo, HarvestError>> + Send + 'c {
        let cursor = OaiCursor { verb: Verb::ListSets.as_str().to_owned(), ..OaiCursor::default() };
        let mut list = Some(List::new(self, Verb::ListSets, cursor, supervision));
        std::iter::from_fn(move || {
            loop {
                match list.as_mut()?.next() {
                    Ok(Step::Item(Item::Set(set))) => return Some(Ok(set)),
                    Ok(Step::Page { is_last: true }) => list = None,
                    Ok(_) => {}
                    Err(error) => {
                        list = None;
                        return Some(Err(error));
                    }
                }
            }
        })
    }

    /// A record in a format (`GetRecord`, section 4.1); none where there is none with this identifier.
    pub fn record(
        &self,
        id: &str,
        prefix: &str,
        supervision: &Supervision<'_>,
    ) -> Result<Option<Record>, HarvestError> {
        let arguments = [("identifier", id), ("metadataPrefix", prefix)];
        let mut page = self.ask(Verb::GetRecord, &arguments, supervision)?;
        let mut found = None;
        while let Some(item) = page.next()? {
            match item {
                Item::Record(record) if record.id != id => {
                    let reason = format!("it has the record {:?} in the place of {id:?}", record.id);
                    return Err(HarvestError::Malformed { place: page.place().clone(), reason, is_cut: false });
                }
                Item::Record(record) => found = Some(record),
                Item::Unreadable { byte, reason, .. } => {
                    return Err(HarvestError::Malformed { place: page.place().at(byte), reason, is_cut: false });
                }
                _ => {}
            }
        }
        match (found, page.ending.errors.as_slice()) {
            (Some(record), _) => Ok(Some(record)),
            (None, [error]) if error.code == OaiCode::IdDoesNotExist => Ok(None),
            (None, _) => Err(refused(&page)),
        }
    }

    /// Sends a request that has one answer.
    fn ask(
        &self,
        verb: Verb,
        arguments: &[(&str, &str)],
        supervision: &Supervision<'_>,
    ) -> Result<PageReader<Page>, HarvestError> {
        let place = self.place(verb, None, None);
        self.open(verb, arguments, place, supervision)
    }

    /// What an answer is called in errors.
    pub(crate) fn place(&self, verb: Verb, set: Option<&str>, page: Option<u64>) -> Place {
        let request = match set {
            Some(set) => format!("{}, set {}", verb.as_str(), crate::error::shown(set)),
            None => verb.as_str().to_owned(),
        };
        Place { source: self.location(), request, page, ..Place::default() }
    }

    /// Sends a request. A refusal that is no answer of the protocol is an error.
    pub(crate) fn open(
        &self,
        verb: Verb,
        arguments: &[(&str, &str)],
        place: Place,
        supervision: &Supervision<'_>,
    ) -> Result<PageReader<Page>, HarvestError> {
        let page = self.connection.page(&self.url(verb, arguments), ACCEPT, supervision)?;
        let status = page.status();
        let mut reader = PageReader::new(page, verb, place.clone(), &self.connection.limits, self.ignores_encoding);
        if status == 200 {
            return Ok(reader);
        }
        // Some providers send the errors of the protocol with a status of HTTP.
        let is_answer = matches!(reader.next(), Ok(None)) && !reader.ending.errors.is_empty();
        if is_answer { Ok(reader) } else { Err(HarvestError::Status { place, status }) }
    }

    /// The URL of a request (section 3.1.1.2).
    fn url(&self, verb: Verb, arguments: &[(&str, &str)]) -> String {
        let mut url = self.base.clone();
        url.query_pairs_mut().append_pair("verb", verb.as_str()).extend_pairs(arguments);
        // A space is %20 in the protocol (section 3.1.1.3); a plus that is meant as one is %2B already.
        let query = url.query().unwrap_or_default().replace('+', "%20");
        url.set_query(Some(&query));
        url.into()
    }
}

/// What an answer without what was asked for means.
pub(crate) fn refused<R>(page: &PageReader<R>) -> HarvestError
where
    R: std::io::Read,
{
    let place = page.place().clone();
    if page.ending.errors.is_empty() {
        let reason = "it has neither what was asked for nor an error".to_owned();
        return HarvestError::Malformed { place, reason, is_cut: false };
    }
    HarvestError::Oai { place, errors: page.ending.errors.clone() }
}
