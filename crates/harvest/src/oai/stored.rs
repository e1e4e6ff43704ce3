//! Answers that were stored.

use std::io::Read;

use crate::error::{HarvestError, Place};
use crate::limits::Limits;
use crate::notice::Notice;
use crate::oai::client::refused;
use crate::oai::page::{Item, PageReader, Verb};
use crate::source::Event;

/// Reads the records of an answer to `ListRecords` that was stored, such as a page of a dump. `name` is what errors call it. There are no
/// cursors, and its resumption token is not followed.
///
/// ```
/// use strongroom_harvest::{Event, Limits, read_answer};
///
/// let answer = "<OAI-PMH xmlns='http://www.openarchives.org/OAI/2.0/'><ListRecords><record><header><identifier>a</identifier></header>\
///               <metadata><x/></metadata></record></ListRecords></OAI-PMH>";
/// let mut events = read_answer(answer.as_bytes(), "answer.xml", &Limits::default());
/// let Some(Ok(Event::Record(record))) = events.next() else { panic!("no record") };
/// let document = record.document.expect("a document");
/// assert_eq!(document.bytes, br#"<x xmlns="http://www.openarchives.org/OAI/2.0/"/>"#);
/// assert!(events.next().is_none());
/// ```
pub fn read_answer<R: Read>(
    reader: R,
    name: &str,
    limits: &Limits,
) -> impl Iterator<Item = Result<Event, HarvestError>> + use<R> {
    let place = Place { source: name.to_owned(), ..Place::default() };
    let mut page = Some(PageReader::new(reader, Verb::ListRecords, place, limits, false));
    std::iter::from_fn(move || {
        let reader = page.as_mut()?;
        loop {
            let error = match reader.next() {
                Ok(Some(Item::Record(record))) => return Some(Ok(Event::Record(record))),
                Ok(Some(Item::Unreadable { id, byte, reason })) => {
                    return Some(Ok(Event::Notice(Notice::Unreadable { id, place: reader.place().at(byte), reason })));
                }
                Ok(Some(_)) => continue,
                Ok(None) if reader.ending.errors.is_empty() && reader.ending.has_verb => None,
                Ok(None) => Some(refused(reader)),
                Err(error) => Some(error),
            };
            page = None;
            return error.map(Err);
        }
    })
}
