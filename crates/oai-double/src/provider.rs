//! The provider: its records, its faults, and what it answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use strongroom_web_double::{Reply, Request, WebDouble};

use crate::answer::{Xml, escaped};
use crate::arguments::{Arguments, Refusal};
use crate::fault::OaiFault;
use crate::record::OaiRecord;

/// The path of the base URL.
pub const PATH: &str = "/oai";

/// A provider on a loopback port, which ends when it is dropped.
#[derive(Debug)]
pub struct OaiDouble {
    web: WebDouble,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    base: String,
    records: Vec<OaiRecord>,
    faults: Vec<OaiFault>,
    page: usize,
    has_seconds: bool,
}

impl OaiDouble {
    /// Starts a provider with pages of ten records and datestamps with seconds.
    #[must_use]
    pub fn start(records: Vec<OaiRecord>) -> Self {
        let web = WebDouble::start();
        let state = State { base: web.url(PATH), records, faults: Vec::new(), page: 10, has_seconds: true };
        let state = Arc::new(Mutex::new(state));
        let answering = state.clone();
        web.answer(PATH, move |request| locked(&answering).answer(request));
        Self { web, state }
    }

    /// The server below, for faults of HTTP at [`PATH`].
    pub fn web(&self) -> &WebDouble {
        &self.web
    }

    /// The base URL.
    pub fn base_url(&self) -> String {
        self.web.url(PATH)
    }

    /// Sets how many records, or sets, a page has.
    pub fn set_page(&self, records: usize) {
        locked(&self.state).page = records.max(1);
    }

    /// Has datestamps of days.
    pub fn use_days(&self) {
        locked(&self.state).has_seconds = false;
    }

    /// Adds a fault.
    pub fn on(&self, fault: OaiFault) {
        locked(&self.state).faults.push(fault);
    }

    /// Ends all faults.
    pub fn mend(&self) {
        locked(&self.state).faults.clear();
    }

    /// Changes the records.
    pub fn change(&self, change: impl FnOnce(&mut Vec<OaiRecord>)) {
        change(&mut locked(&self.state).records);
    }

    /// The queries of the requests, in the order in which they came.
    pub fn queries(&self) -> Vec<String> {
        self.web.requests_of(PATH).into_iter().map(|request| request.query).collect()
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a list goes on: the arguments that it began with, and the records before.
struct Place {
    arguments: Arguments,
    offset: usize,
}

impl State {
    fn has(&self, fault: &OaiFault) -> bool {
        self.faults.contains(fault)
    }

    fn answer(&mut self, request: &Request) -> Reply {
        if self.has(&OaiFault::Html) {
            return Reply {
                content_type: "text/html",
                ..Reply::ok(b"<html><body>maintenance<br></body></html>".to_vec())
            };
        }
        let query = match request.method.as_str() {
            "POST" => String::from_utf8_lossy(&request.body).into_owned(),
            _ => request.query.clone(),
        };
        let outcome = Arguments::parse(&query).and_then(|arguments| self.answered(&arguments));
        let (bytes, is_error) = match outcome {
            Ok(bytes) => (bytes, false),
            Err(refusal) => {
                let arguments = Arguments::parse(&query).ok().filter(|_| refusal.0 != "badArgument");
                let mut xml = self.begin(arguments.as_ref());
                xml.error(&refusal);
                (xml.end(), true)
            }
        };
        let status = if is_error && self.has(&OaiFault::ErrorStatus) { 422 } else { 200 };
        Reply { status, content_type: "text/xml; charset=UTF-8", ..Reply::ok(bytes) }
    }

    fn begin(&self, arguments: Option<&Arguments>) -> Xml {
        let declared = self.faults.iter().find_map(|fault| match fault {
            OaiFault::DeclaresEncoding(encoding) => Some(encoding.as_str()),
            _ => None,
        });
        let declaration = if self.has(&OaiFault::NoDeclaration) {
            String::new()
        } else {
            format!("<?xml version=\"1.0\" encoding=\"{}\"?>\n", declared.unwrap_or("UTF-8"))
        };
        Xml::begin(&declaration, &self.base, arguments)
    }

    fn answered(&mut self, arguments: &Arguments) -> Result<Vec<u8>, Refusal> {
        let mut xml = self.begin(Some(arguments));
        match arguments.verb.as_str() {
            "Identify" => self.identify(&mut xml),
            "ListMetadataFormats" => self.formats(&mut xml, arguments)?,
            "GetRecord" => self.get(&mut xml, arguments)?,
            _ => return self.list(xml, arguments),
        }
        Ok(xml.end())
    }

    fn identify(&self, xml: &mut Xml) {
        xml.push("<Identify>\n");
        xml.element("repositoryName", "Test provider");
        xml.element("baseURL", &self.base);
        xml.element("protocolVersion", "2.0");
        xml.element("adminEmail", "admin@example.org");
        let earliest = self.records.iter().map(|record| record.datestamp.as_str()).min();
        let earliest = earliest.unwrap_or("2000-01-01T00:00:00Z");
        let (form, length) = if self.has_seconds { ("YYYY-MM-DDThh:mm:ssZ", 20) } else { ("YYYY-MM-DD", 10) };
        xml.element("earliestDatestamp", earliest.get(..length).unwrap_or_default());
        xml.element("deletedRecord", "persistent");
        xml.element("granularity", form);
        xml.push("</Identify>\n");
    }

    fn found(&self, id: &str) -> Result<&OaiRecord, Refusal> {
        let found = self.records.iter().find(|record| record.id == id);
        found.ok_or_else(|| ("idDoesNotExist", format!("there is no {id:?}")))
    }

    fn formats(&self, xml: &mut Xml, arguments: &Arguments) -> Result<(), Refusal> {
        if let Some(id) = arguments.get("identifier")
            && self.found(id)?.is_deleted
        {
            return Err(("noMetadataFormats", "it is deleted".to_owned()));
        }
        xml.push("<ListMetadataFormats><metadataFormat>\n");
        xml.element("metadataPrefix", "oai_dc");
        xml.element("schema", "http://www.openarchives.org/OAI/2.0/oai_dc.xsd");
        xml.element("metadataNamespace", "http://www.openarchives.org/OAI/2.0/oai_dc/");
        xml.push("</metadataFormat></ListMetadataFormats>\n");
        Ok(())
    }

    fn get(&self, xml: &mut Xml, arguments: &Arguments) -> Result<(), Refusal> {
        check_prefix(arguments)?;
        let mut record = self.found(arguments.get("identifier").unwrap_or_default())?;
        if self.faults.contains(&OaiFault::AnotherRecord) {
            record = self.records.first().unwrap_or(record);
        }
        xml.push("<GetRecord>\n");
        xml.record(record, self.has_seconds);
        xml.push("</GetRecord>\n");
        Ok(())
    }

    fn list(&mut self, mut xml: Xml, arguments: &Arguments) -> Result<Vec<u8>, Refusal> {
        let place = match arguments.get("resumptionToken") {
            Some(token) => self.place(token, &arguments.verb)?,
            None => Place { arguments: arguments.clone(), offset: 0 },
        };
        self.change_before(place.offset);
        let is_of_sets = arguments.verb == "ListSets";
        let sets = self.sets();
        let records = if is_of_sets { Vec::new() } else { self.selected(&place.arguments)? };
        let total = if is_of_sets { sets.len() } else { records.len() };
        if total == 0 && place.offset == 0 {
            let code = if is_of_sets { "noSetHierarchy" } else { "noRecordsMatch" };
            return Err((code, "there is nothing".to_owned()));
        }
        let end = place.offset.saturating_add(self.page).min(total);
        let repeats = usize::from(self.has(&OaiFault::RepeatsRecords) && place.offset > 0);
        let start = place.offset.saturating_sub(repeats).min(end);
        xml.push(&format!("<{}>\n", arguments.verb));
        for set in sets.get(start..end).unwrap_or_default().iter().filter(|_| is_of_sets) {
            xml.push("<set>");
            xml.element("setSpec", set);
            xml.element("setName", &format!("The set {set}"));
            xml.push("</set>\n");
        }
        for record in records.get(start..end).unwrap_or_default() {
            match arguments.verb.as_str() {
                "ListRecords" => xml.record(record, self.has_seconds),
                _ => xml.header(record, self.has_seconds),
            }
        }
        if self.is_cut(place.offset) {
            return Ok(xml.cut());
        }
        self.token(&mut xml, &place, end, total);
        xml.push(&format!("</{}>\n", arguments.verb));
        Ok(xml.end())
    }

    /// The token of the next page. The last page of a list that has several has an empty one (section 3.5).
    fn token(&self, xml: &mut Xml, place: &Place, end: usize, total: usize) {
        let is_last = end >= total && !(self.has(&OaiFault::EmptyLastPage) && place.offset < total);
        if is_last && place.offset == 0 {
            return;
        }
        let next = self.faults.iter().find_map(|fault| match fault {
            OaiFault::SameToken => Some(self.page),
            OaiFault::TokensInCircle(offset) if end >= *offset => Some(self.page),
            _ => None,
        });
        let attributes = format!("completeListSize=\"{total}\" cursor=\"{}\"", place.offset);
        match (is_last, next) {
            (true, None) => xml.push(&format!("<resumptionToken {attributes}/>\n")),
            (_, next) => {
                let token = escaped(&place.arguments.token(next.unwrap_or(end)));
                xml.push(&format!("<resumptionToken {attributes}>{token}</resumptionToken>\n"));
            }
        }
    }

    fn place(&mut self, token: &str, verb: &str) -> Result<Place, Refusal> {
        let bad = || ("badResumptionToken", format!("{token:?} is no token"));
        let place = Place::parse(token).ok_or_else(bad)?;
        if place.arguments.verb != verb {
            return Err(bad());
        }
        for fault in &mut self.faults {
            if let OaiFault::ExpiredToken { offset, times } = fault
                && *offset == place.offset
                && *times > 0
            {
                *times -= 1;
                return Err(("badResumptionToken", "the token has expired".to_owned()));
            }
        }
        Ok(place)
    }

    fn change_before(&mut self, page: usize) {
        let mut changed = Vec::new();
        self.faults.retain_mut(|fault| match fault {
            OaiFault::Changes { offset, records } if *offset == page => {
                changed.append(records);
                false
            }
            _ => true,
        });
        for record in changed {
            self.records.retain(|other| other.id != record.id);
            self.records.push(record);
        }
    }

    fn is_cut(&mut self, page: usize) -> bool {
        self.faults.iter_mut().any(|fault| match fault {
            OaiFault::CutXml { offset, times } if *offset == page && *times > 0 => {
                *times -= 1;
                true
            }
            _ => false,
        })
    }

    /// All sets, with those above them.
    fn sets(&self) -> Vec<String> {
        let mut sets: Vec<String> = Vec::new();
        for set in self.records.iter().flat_map(|record| &record.sets) {
            let ends = set.match_indices(':').map(|(at, _)| at).chain([set.len()]);
            sets.extend(ends.filter_map(|end| set.get(..end).map(str::to_owned)));
        }
        sets.sort();
        sets.dedup();
        sets
    }

    fn selected(&self, arguments: &Arguments) -> Result<Vec<OaiRecord>, Refusal> {
        check_prefix(arguments)?;
        arguments.check_dates(self.has_seconds)?;
        if let Some(set) = arguments.get("set") {
            if self.sets().is_empty() {
                return Err(("noSetHierarchy", "there are no sets".to_owned()));
            }
            if self.has(&OaiFault::SetFails(set.to_owned())) {
                return Err(("badArgument", "the set is broken".to_owned()));
            }
        }
        let mut records = self.records.clone();
        records.retain(|record| {
            let date = |name: &str| arguments.get(name);
            let is_after =
                date("from").is_none_or(|from| record.datestamp.get(..from.len()).is_some_and(|date| date >= from));
            let is_before =
                date("until").is_none_or(|until| record.datestamp.get(..until.len()).is_some_and(|date| date <= until));
            is_after && is_before && arguments.get("set").is_none_or(|set| record.is_in(set))
        });
        if !self.has(&OaiFault::Unordered) {
            records.sort_by(|one, other| one.datestamp.cmp(&other.datestamp));
        }
        Ok(records)
    }
}

fn check_prefix(arguments: &Arguments) -> Result<(), Refusal> {
    match arguments.get("metadataPrefix") {
        Some("oai_dc") => Ok(()),
        _ => Err(("cannotDisseminateFormat", "only oai_dc is here".to_owned())),
    }
}

impl Arguments {
    /// The token of a list with these arguments, after so many records. It has characters that need escapes.
    fn token(&self, offset: usize) -> String {
        let values: Vec<String> = self.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{offset}&{} + {}", self.verb, values.join("|"))
    }
}

impl Place {
    fn parse(token: &str) -> Option<Self> {
        let (offset, rest) = token.split_once('&')?;
        let (verb, values) = rest.split_once(" + ")?;
        let values = values.split('|').filter_map(|pair| pair.split_once('='));
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Some(Self { arguments: Arguments { verb: verb.to_owned(), values }, offset: offset.parse().ok()? })
    }
}
