//! Objects: what is kept.

use std::io::Write;

use strongroom_digest::{Algorithm, Digest};
use strongroom_registry::objects::{self, Object, ObjectFilter};
use strongroom_registry::search::{self, Found, SearchCursor};
use strongroom_registry::{
    ObjectId, ObjectState, RegistryError, Time, Transaction, deletion_targets, legal_holds, parts,
};

use super::authorization::{OBJECTS_DESCRIBE, OBJECTS_LIST, OBJECTS_PREMIS, OBJECTS_SEARCH, OBJECTS_SHOW};
use super::views::{FoundView, ObjectView, SubmittedView};
use super::{Listing, OpContext, PAGE, Page};
use crate::arks::{find_object, is_ark, normal};
use crate::status::health_of;
use crate::{Availability, EngineError, Home, export, ingest};

pub use crate::ingest::{NewDescription, read_descriptions};
pub use strongroom_registry::search::SearchFilter;

/// Which objects are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Only this state.
    pub state: Option<ObjectState>,
    /// Only those of the collection of this short name.
    pub collection: Option<String>,
    /// Only those first deposited since.
    pub since: Option<Time>,
    /// In which order, and at most how many on a page.
    pub listing: Listing,
}

/// Objects in the order of their first deposits or the opposite one, as the filter says, after `after`.
pub fn list(
    context: &OpContext,
    filter: &Filter,
    after: Option<ObjectId>,
) -> Result<Page<ObjectView, ObjectId>, EngineError> {
    let authorized = context.authorize(&OBJECTS_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let (home, refused) = (authorized.home(), refused_stores(authorized.home()));
    let wanted = ObjectFilter {
        state: filter.state,
        collection: filter.collection.clone(),
        since: filter.since,
        order: filter.listing.order,
    };
    let items = authorized.read(|tx| {
        let found = objects::list(tx, scope, &wanted, after, filter.listing.page())?;
        found.into_iter().map(|object| view(tx, home, &refused, object)).collect::<Result<Vec<_>, RegistryError>>()
    })?;
    let next = items.last().map(|last| last.object);
    Ok(Page { items, next })
}

/// Makes a version of each object that only describes it anew: the fields that are given replace those that are known, the others
/// stay.
///
/// # Errors
/// An object does not exist for the actor, is there twice, or belongs to another institution than the others.
pub fn describe(context: &OpContext, described: &[NewDescription]) -> Result<SubmittedView, EngineError> {
    let authorized = context.authorize(&OBJECTS_DESCRIBE)?;
    let made = ingest::describe(authorized.home(), authorized.scope(), described, &authorized.entry())?;
    Ok(SubmittedView { batch: made.batch, items: made.items })
}

/// An object, by `<institution>/<name>`, or by its identifier or a part of it that no other object has.
pub fn show(context: &OpContext, object: &str) -> Result<ObjectView, EngineError> {
    let authorized = context.authorize(&OBJECTS_SHOW)?;
    let (home, refused) = (authorized.home(), refused_stores(authorized.home()));
    Ok(authorized.read(|tx| {
        let found = find_object(tx, authorized.scope(), object)?;
        view(tx, home, &refused, found)
    })?)
}

/// What is looked for; all that is given has to fit.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Only in this institution.
    pub institution: Option<String>,
    /// A digest of a file, in hexadecimal digits, with or without `<algorithm>:` before them.
    pub digest: Option<String>,
    /// All else.
    pub filter: SearchFilter,
}

/// Objects that fit, in the order in which they were first deposited, after `after`; where a path, format or digest is looked for,
/// each file that fits.
///
/// # Errors
/// The digest is none, or none of the four algorithms.
pub fn search(
    context: &OpContext,
    search: &Search,
    after: Option<&SearchCursor>,
) -> Result<Page<FoundView, SearchCursor>, EngineError> {
    let authorized = context.authorize(&OBJECTS_SEARCH)?;
    let scope = authorized.scope_of(search.institution.as_deref())?;
    let digest = search.digest.as_deref().map(digest).transpose()?;
    let words =
        search.filter.words.as_deref().map(|words| if is_ark(words) { normal(words) } else { words.to_owned() });
    let filter = SearchFilter { digest: digest.or(search.filter.digest), words, ..search.filter.clone() };
    let found = authorized.read(|tx| search::find(tx, scope, &filter, after, PAGE))?;
    let next = found.last().map(Found::cursor);
    Ok(Page { items: found.into_iter().map(FoundView::from).collect(), next })
}

/// A digest that files are found by: of one of the algorithms that are recorded.
fn digest(text: &str) -> Result<Digest, EngineError> {
    let wrong = |reason: String| {
        EngineError::Usage(format!("{text:?} is no digest to search for: {reason}")).next(
            "give an md5, sha1, sha256 or sha512 in hexadecimal digits, such as md5:9e107d9d372bb6826bd81d3542a419d6",
        )
    };
    let (named, digits) = match text.split_once(':') {
        Some((name, digits)) => (Some(name.parse::<Algorithm>().map_err(|error| wrong(error.to_string()))?), digits),
        None => (None, text),
    };
    let digest: Digest = digits.trim().parse().map_err(|_| wrong("these are not hexadecimal digits".to_owned()))?;
    let fits = |algorithm: &Algorithm| algorithm.length() == digest.as_bytes().len();
    if Algorithm::RECORDED.iter().any(|algorithm| named.is_none_or(|named| named == *algorithm) && fits(algorithm)) {
        return Ok(digest);
    }
    Err(wrong(format!("{} digits", digits.trim().len())))
}

/// Writes an object as a PREMIS 3 document, with its files, events and agents.
///
/// # Errors
/// There is no such object, the registry cannot be read, or `out` refuses bytes.
pub fn premis(context: &OpContext, object: &str, out: &mut dyn Write) -> Result<(), EngineError> {
    let authorized = context.authorize(&OBJECTS_PREMIS)?;
    let found = authorized.read(|tx| find_object(tx, authorized.scope(), object))?;
    export::premis(authorized.home(), &found, out)
}

fn view(
    tx: &mut dyn Transaction,
    home: &Home,
    refused: &[String],
    object: Object,
) -> Result<ObjectView, RegistryError> {
    let parts = parts::at(tx, object.id, object.generation, object.head)?;
    let health = health_of(tx, &home.settings, refused, &object)?;
    let deletion_request = deletion_targets::open_of_object(tx, object.id)?;
    let legal_holds = legal_holds::count(tx, object.id)?;
    Ok(ObjectView { deletion_request, ..ObjectView::new(object, parts.as_ref(), health, legal_holds) })
}

/// The stores that are not those that they should be: no copy in them counts.
fn refused_stores(home: &Home) -> Vec<String> {
    let refused = home.store_states().into_iter().filter(|state| state.availability == Availability::Refused);
    refused.map(|state| state.store).collect()
}
