//! What describes an object: what the depositor gives, what files of the package say, and the files that are kept of both.

use strongroom_metadata::{Element, Field, Limits, Reading, Record, Sources, merge};
use strongroom_registry::interim::{self, InterimFile};
use strongroom_registry::items::ItemProblem;
use strongroom_registry::objects::Object;
use strongroom_registry::{Description, Format};
use strongroom_storage::{Durability, Key, PutOptions};

use super::area::metadata_row;
use super::deposit::{DepositOptions, GivenDescription, NewDescription};
use super::kind::DepositKind;
use super::naming::Identifiers;
use super::stages::Findings;
use super::stages::package::{problem, read_text, staged};
use super::staging::recorded;
use crate::EngineError;
use crate::arks::{erc_lines, is_ark};
use crate::workflow::{StageContext, StageError, staging_prefix};

/// The files of a package that describe its object.
const ERC: &str = "mrt-erc.txt";
const DUBLIN_CORE: &str = "mrt-dc.xml";
const DATACITE: &str = "mrt-datacite.xml";
/// Most characters of a title, a creator or a date as they stand in lists; the whole of it is in the metadata.
const LONGEST_SHOWN: usize = 3_500;

/// What is found to describe an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) creator: Option<String>,
    pub(crate) date: Option<String>,
    pub(crate) local_ids: Vec<String>,
    /// The ARK, in its normal form.
    pub(crate) ark: Option<String>,
    pub(crate) metadata: Option<serde_json::Value>,
}

/// What a depositor gives, as a record.
pub(crate) fn given_record(given: &GivenDescription) -> Result<Record, EngineError> {
    let unusable = |error: strongroom_metadata::MetadataError| {
        EngineError::Usage(format!("the description cannot be used: {error}"))
    };
    let mut record = match &given.metadata {
        Some(value) => {
            strongroom_metadata::read_json(value.to_string().as_bytes(), &Limits::default()).map_err(unusable)?
        }
        None => Record::new(),
    };
    for (field, value) in [(Field::What, &given.title), (Field::Who, &given.creator), (Field::When, &given.date)] {
        if let Some(value) = value {
            record.clear(field);
            record.add(field, value).map_err(unusable)?;
        }
    }
    Ok(record)
}

/// What a depositor gives for one deposit, as a record: a title, a creator or a date that is given beside a file takes the place of what the
/// file says, also in Dublin Core.
fn form_record(given: &GivenDescription) -> Result<Record, EngineError> {
    let mut record = given_record(given)?;
    let given = [(Element::Title, &given.title), (Element::Creator, &given.creator), (Element::Date, &given.date)];
    for (element, value) in given {
        let field = Field::Element(element);
        if let Some(value) = value.as_deref().filter(|_| !record.values(field).is_empty()) {
            record.clear(field);
            record
                .add(field, value)
                .map_err(|error| EngineError::Usage(format!("the description cannot be used: {error}")))?;
        }
    }
    Ok(record)
}

/// Reads a file that describes an object, as its name says: Dublin Core or DataCite (`.xml`), JSON (`.json`), one row of a table
/// (`.csv`), or ERC (any other ending). With what it says that a description has no field for, in words.
///
/// # Errors
/// It cannot be read as such.
pub fn read_description(name: &str, bytes: &[u8]) -> Result<(serde_json::Value, Vec<String>), EngineError> {
    let limits = Limits::default();
    let ending = name.rsplit_once('.').map_or_else(String::new, |(_, ending)| ending.to_ascii_lowercase());
    let record = match ending.as_str() {
        "xml" => strongroom_metadata::read_dublin_core(bytes, &limits)
            .or_else(|error| strongroom_metadata::read_datacite(bytes, &limits).map_err(|_| error)),
        "json" => strongroom_metadata::read_json(bytes, &limits).map(whole),
        "csv" => strongroom_metadata::read_csv(bytes, &limits).map(whole),
        _ => strongroom_metadata::read_erc(bytes, &limits),
    };
    let Reading { record, notes } = record.map_err(|error| {
        EngineError::Usage(format!("the description {name} cannot be used: {error}"))
            .next("give Dublin Core (.xml), JSON (.json), one row of a table (.csv) or ERC (.txt)")
    })?;
    let metadata = as_json(&record)
        .ok_or_else(|| EngineError::Usage(format!("the description {name} says nothing of the object")))?;
    let not_kept = notes.into_iter().map(|note| format!("{name}:{}: metadata.not_kept {}", note.line, note.message));
    Ok((metadata, not_kept.collect()))
}

/// A reading of which all is kept.
fn whole(record: Record) -> Reading {
    Reading { record, notes: Vec::new() }
}

/// Reads a table (`.csv`) that describes many objects, each by a row.
///
/// # Errors
/// It cannot be read as such.
pub fn read_descriptions(name: &str, bytes: &[u8]) -> Result<Vec<NewDescription>, EngineError> {
    let table = strongroom_metadata::read_table(bytes, &Limits::default()).map_err(|error| {
        EngineError::Usage(format!("the table {name} cannot be used: {error}"))
            .next("give a table with a column \"object\" and a column for each field, such as \"title\"")
    })?;
    let is_empty = table.rows.is_empty();
    let rows = table.rows.into_iter().filter_map(|row| {
        let metadata = as_json(&row.record)?;
        Some(NewDescription { object: row.object, metadata })
    });
    let described: Vec<NewDescription> = rows.collect();
    if described.is_empty() {
        let text =
            if is_empty { "has no rows" } else { "says nothing of any object: an empty cell leaves a field as it is" };
        return Err(EngineError::Usage(format!("the table {name} {text}")).next("give each object a value in its row"));
    }
    Ok(described)
}

/// A record as a description keeps it; nothing where it says nothing.
pub(crate) fn as_json(record: &Record) -> Option<serde_json::Value> {
    if record.is_empty() {
        return None;
    }
    serde_json::from_str(&strongroom_metadata::write_json(record)).ok()
}

/// Reads what describes the object of a deposit: what the depositor gives, then the files of the package in the order of their
/// precedence.
///
/// # Errors
/// Two of them name different ARKs.
pub(crate) fn read(
    context: &StageContext<'_>,
    given: &DepositOptions,
    problems: &mut Vec<ItemProblem>,
) -> Result<Found, StageError> {
    let form = form_record(&given.description).map_err(|error| StageError::fatal(error.chain()))?;
    let dublin_core = file(context, DUBLIN_CORE, strongroom_metadata::read_dublin_core, problems)?;
    let datacite = file(context, DATACITE, strongroom_metadata::read_datacite, problems)?;
    let erc = file(context, ERC, strongroom_metadata::read_erc, problems)?;
    let mut record = form.clone();
    // Where the depositor says who, what and when in Dublin Core, ERC says the same.
    for (field, values) in form.implied_erc().fields() {
        if form.values(field).is_empty() {
            for value in values {
                drop(record.add(field, value));
            }
        }
    }
    let merged = merge(&Sources {
        given: Some(&record),
        primary: given.ark.as_deref(),
        local_ids: &[],
        // They were told apart when the deposit was asked for.
        exact_local_ids: &given.local_ids,
        dublin_core: dublin_core.as_ref(),
        datacite: datacite.as_ref(),
        erc: erc.as_ref(),
        // An identifier of Dublin Core is often that of something else, such as the publication that several objects are of.
        suppress_dublin_core_local_ids: true,
    });
    let ids = Identifiers::parse_exact(merged.primary.as_deref(), &merged.local_ids);
    let ids = ids.map_err(|error| invalid(problems, ERC, error.chain()))?;
    if let (Some(given), Some(found)) = (&given.ark, &ids.ark)
        && given != found
    {
        return Err(invalid(
            problems,
            ERC,
            format!("it says that the object is {found}, and the deposit that it is {given}"),
        ));
    }
    let shown = |field| merged.record.first(field).map(|value| value.chars().take(LONGEST_SHOWN).collect::<String>());
    Ok(Found {
        title: shown(Field::What),
        description: shown(Field::Element(Element::Description)),
        creator: shown(Field::Who),
        date: shown(Field::When),
        metadata: as_json(&merged.record),
        local_ids: ids.local_ids,
        ark: ids.ark,
    })
}

fn invalid(problems: &[ItemProblem], path: &str, message: String) -> StageError {
    let note = format!("the package is not valid: {message}");
    let mut problems = problems.to_vec();
    problems.push(problem("error", "deposit.identifiers_contradict", Some(path), message));
    StageError::Invalid { note, problems }
}

type Reader = fn(&[u8], &Limits) -> Result<Reading, strongroom_metadata::MetadataError>;

/// A file of the package that describes its object, where there is one.
fn file(
    context: &StageContext<'_>,
    path: &str,
    read: Reader,
    problems: &mut Vec<ItemProblem>,
) -> Result<Option<Record>, StageError> {
    let Some(file) = staged(context, path)? else { return Ok(None) };
    let limits = Limits::default();
    let text = read_text(context, &file, limits.bytes as u64)?;
    match read(text.as_bytes(), &limits) {
        Ok(reading) => {
            for note in reading.notes {
                let mut warning = problem("warning", "metadata.not_kept", Some(path), note.message);
                warning.line = Some(note.line);
                problems.push(warning);
            }
            Ok(Some(reading.record))
        }
        Err(error) => {
            problems.push(problem("error", "metadata.unreadable", Some(path), error.to_string()));
            Ok(None)
        }
    }
}

/// What an object is described as from a deposit on: what the deposit does not say stays as it is. An object that nothing is said of is
/// called as its package.
pub(crate) fn completed(
    kind: DepositKind,
    said: &Description,
    known: Option<&Object>,
    package: &str,
) -> Result<Description, StageError> {
    let before = known.filter(|object| object.head > 0).map(|object| object.description.clone()).unwrap_or_default();
    match kind {
        DepositKind::Bag => return Ok(said.clone()),
        DepositKind::Metadata => return edited(said, before),
        _ => {}
    }
    let mut description = said.clone();
    description.title = description.title.or(before.title).or_else(|| Some(package.to_owned()));
    description.description = description.description.or(before.description);
    description.creator = description.creator.or(before.creator);
    description.date = description.date.or(before.date);
    description.metadata = description.metadata.or(before.metadata);
    description.access = description.access.or(before.access).or_else(|| Some("institution".to_owned()));
    for id in before.local_ids {
        if !description.local_ids.contains(&id) {
            description.local_ids.push(id);
        }
    }
    Ok(description)
}

/// A description of which some fields are given anew; the others stay, and so does all else that is known of the object.
fn edited(said: &Description, mut before: Description) -> Result<Description, StageError> {
    let unusable = |error: EngineError| StageError::fatal(error.chain());
    let mut record = description_record(&before).map_err(unusable)?;
    let new = description_record(said).map_err(unusable)?;
    for (field, values) in new.fields() {
        record.clear(field);
        for value in values {
            record.add(field, value).map_err(|error| StageError::fatal(error.to_string()))?;
        }
    }
    let shown = |field| record.first(field).map(|value| value.chars().take(LONGEST_SHOWN).collect::<String>());
    before.title = shown(Field::What).or(before.title);
    before.creator = shown(Field::Who).or(before.creator);
    before.date = shown(Field::When).or(before.date);
    before.description = shown(Field::Element(Element::Description)).or(before.description);
    before.access = said.access.clone().or(before.access);
    before.metadata = as_json(&record);
    // What described one version's package is not of this one, which has none.
    before.part = None;
    Ok(before)
}

/// What an object is described as, as a record.
///
/// # Errors
/// It cannot be used.
pub(crate) fn description_record(said: &Description) -> Result<Record, EngineError> {
    given_record(&GivenDescription {
        title: said.title.clone(),
        creator: said.creator.clone(),
        date: said.date.clone(),
        access: None,
        metadata: said.metadata.clone(),
    })
}

/// Who, what and when of the object from the new version on.
pub(crate) fn erc(
    context: &StageContext<'_>,
    findings: &Findings,
    known: Option<&Object>,
) -> Result<Vec<(String, String)>, StageError> {
    let kind = DepositOptions::of(context.item)?.kind();
    let said = completed(kind, &findings.description, known, &context.item.name)?;
    let record = description_record(&said).map_err(|error| StageError::fatal(error.chain()))?;
    Ok(erc_lines(&record))
}

/// Stages the files that describe the object from the new version on: the ERC, and Dublin Core where there is any. A bag that comes
/// with no description has none.
pub(crate) fn stage(
    context: &StageContext<'_>,
    findings: &Findings,
    known: Option<&Object>,
    ark: Option<&str>,
) -> Result<Vec<InterimFile>, StageError> {
    let options = DepositOptions::of(context.item)?;
    let said = &completed(options.kind(), &findings.description, known, &context.item.name)?;
    let is_bag = options.kind() == DepositKind::Bag;
    if is_bag && options.description == GivenDescription::default() {
        return Ok(Vec::new());
    }
    let mut record = description_record(said).map_err(|error| StageError::fatal(error.chain()))?;
    record.clear(Field::Where);
    let ark = ark.map(str::to_owned);
    for id in ark.iter().chain(said.local_ids.iter().filter(|id| !is_ark(id))) {
        record.add(Field::Where, id).map_err(|error| StageError::fatal(error.to_string()))?;
    }
    let mut files = vec![put(context, "erc.txt", "text/plain", &strongroom_metadata::write_erc(&record))?];
    let dublin_core = record.dublin_core();
    if !dublin_core.is_empty() {
        files.push(put(context, "dc.xml", "application/xml", &strongroom_metadata::write_dublin_core(&dublin_core))?);
    }
    Ok(files)
}

/// Puts a file of metadata into staging.
fn put(context: &StageContext<'_>, name: &str, mime: &str, text: &str) -> Result<InterimFile, StageError> {
    let item = context.item.id;
    let place = context.registry().read(|tx| interim::staging_place(tx, item))?;
    let lost = || StageError::StagingLost("nothing in staging is reserved for the deposit".into());
    let key = format!("{}/metadata-{name}", staging_prefix(item, place).ok_or_else(lost)?);
    let bytes = text.as_bytes();
    let options =
        PutOptions { size: Some(bytes.len() as u64), durability: Durability::OnSync, ..PutOptions::default() };
    let mut body = bytes;
    context.staging().put(&Key::new(key.as_str())?, &mut body, &options)?;
    let (size, digests) = strongroom_digest::hash_reader(bytes, &strongroom_digest::Algorithm::RECORDED)
        .map_err(|error| StageError::Transient(error.to_string()))?;
    Ok(InterimFile {
        path: metadata_row(name),
        size,
        digests: recorded(&digests)?,
        modified: None,
        staging_key: key,
        staging_offset: 0,
        format: Format { mime: Some(mime.into()), ..Format::default() },
        decision: None,
        file: None,
        content: None,
    })
}
