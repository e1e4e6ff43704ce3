//! `objects`: what is kept, with its files, versions and events.

use clap::{Args, Subcommand};
use serde::Serialize;
use strongroom_engine::status::health_of;
use strongroom_registry::events::{self, EventCursor};
use strongroom_registry::objects::{self, DEPOSIT, Object};
use strongroom_registry::{
    CopyState, EventId, FileId, Health, ItemId, ObjectId, ObjectState, Part, Parts, Registry, RegistryError, Scope,
    Transaction, VersionState, parts, versions,
};

use super::PAGE;
use super::institution::scope;
use super::items::word;
use crate::context::Context;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::{beginning_of, end_of, report};

/// Characters of the columns of paths, and of names and warnings of formats, at most.
const PATH: usize = 38;
const FORMAT: usize = 22;

/// Show what is kept
#[derive(Debug, Subcommand)]
pub(crate) enum Objects {
    /// List objects, oldest first
    List {
        /// Only those of this institution
        #[arg(long, value_name = "DOMAIN")]
        institution: Option<String>,
        /// Only this state: active or deleted
        #[arg(long)]
        state: Option<String>,
    },
    /// Show one
    Show(Which),
    /// List its files, with formats and copies; with --json also digests, and where and when each copy was checked
    Files {
        #[command(flatten)]
        which: Which,
        /// The version [default: the newest]
        #[arg(long, value_name = "N")]
        version: Option<u64>,
        /// Only files below this folder
        #[arg(long, value_name = "FOLDER")]
        below: Option<String>,
    },
    /// List its PREMIS events
    Events {
        #[command(flatten)]
        which: Which,
        /// Only those of this file
        #[arg(long, value_name = "ID")]
        file: Option<String>,
    },
    /// List its versions
    Versions(Which),
    /// Print it as a PREMIS 3 document, with its files, events and agents
    Premis(Which),
}

/// Names an object.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its identifier, or INSTITUTION/NAME
    object: String,
}

report! {
    /// An object.
    ObjectReport {
        object: ObjectId,
        identifier: String,
        ark: Option<String>,
        local_ids: Vec<String>,
        title: Option<String>,
        description: Option<String>,
        access: Option<String>,
        state: ObjectState,
        health: Option<Health>,
        completeness: &'static str,
        parts: Option<u64>,
        missing_parts: Vec<u64>,
        institution: String,
        collection: Option<String>,
        placement: Option<String>,
        profile: Option<String>,
        source_organization: Option<String>,
        versions: u64,
        head: u64,
        files: u64,
        bytes: u64,
        created_at: String,
        updated_at: String,
    }
}

/// The digests of a file, in lower-case hex.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DigestsReport {
    md5: String,
    sha1: String,
    sha256: String,
    sha512: String,
}

/// One copy of a file's content.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct CopyReport {
    store: String,
    key: String,
    state: CopyState,
    stored_at: String,
    verified_at: Option<String>,
    last_fixity_at: Option<String>,
}

report! {
    /// A file.
    FileReport {
        file: FileId,
        path: String,
        size: u64,
        digests: DigestsReport,
        puid: Option<String>,
        mime: Option<String>,
        format_method: Option<String>,
        format_name: Option<String>,
        format_version: Option<String>,
        format_basis: Option<String>,
        format_signatures: Option<String>,
        format_warning: Option<String>,
        format_others: Option<String>,
        state: ObjectState,
        copies: Vec<CopyReport>,
    }
}

report! {
    /// An event.
    EventReport {
        event: EventId,
        r#type: String,
        time: String,
        outcome: String,
        detail: Option<String>,
        outcome_detail: Option<String>,
        object: Option<ObjectId>,
        file: Option<FileId>,
        agent: String,
    }
}

report! {
    /// A version.
    VersionReport {
        version: u64,
        state: VersionState,
        message: String,
        user: String,
        item: Option<ItemId>,
        part: Option<u64>,
        parts: Option<u64>,
        inventory_sha512: Option<String>,
        files: u64,
        bytes: u64,
        created_at: String,
        published_at: Option<String>,
    }
}

impl ObjectReport {
    /// An object, with what came in where it comes in parts.
    fn new(object: Object, parts: Option<&Parts>, health: Option<Health>) -> Self {
        let is_complete = parts.is_none_or(Parts::is_complete);
        Self {
            completeness: if is_complete { "complete" } else { "incomplete" },
            parts: parts.map(Parts::total),
            missing_parts: parts.map(Parts::missing).unwrap_or_default(),
            object: object.id,
            identifier: object.identifier,
            ark: object.ark,
            local_ids: object.description.local_ids,
            title: object.description.title,
            description: object.description.description,
            access: object.description.access,
            state: object.state,
            health,
            institution: object.institution_identifier,
            collection: object.collection_identifier,
            placement: object.description.placement,
            profile: object.description.profile,
            source_organization: object.description.source_organization,
            // Versions are numbered without gaps, and the head is the newest.
            versions: object.head,
            head: object.head,
            files: object.files,
            bytes: object.bytes,
            created_at: object.created_at.to_string(),
            updated_at: object.updated_at.to_string(),
        }
    }
}

impl FileReport {
    /// What a narrow table shows in place of whole fields.
    fn cells(&self) -> [(&'static str, String); 4] {
        let short = |text: &Option<String>, width| beginning_of(text.as_deref().unwrap_or_default(), width);
        [
            ("path", end_of(&self.path, PATH)),
            ("format_name", short(&self.format_name, FORMAT)),
            ("format_warning", short(&self.format_warning, FORMAT)),
            ("copies", summary(&self.copies)),
        ]
    }
}

/// How many copies are verified, attested and unverified, and where those lie that are damaged or missing.
fn summary(copies: &[CopyReport]) -> String {
    let count = |word: &str, is_counted: &dyn Fn(&CopyReport) -> bool| {
        let count = copies.iter().filter(|copy| copy.state == CopyState::Kept && is_counted(copy)).count();
        (count > 0).then(|| format!("{count} {word}"))
    };
    let stores = |state: CopyState| {
        let stores: Vec<&str> =
            copies.iter().filter(|copy| copy.state == state).map(|copy| copy.store.as_str()).collect();
        (!stores.is_empty()).then(|| format!("{state} in {}", stores.join(" ")))
    };
    let parts = [
        count("verified", &|copy| copy.last_fixity_at.is_some()),
        count("attested", &|copy| copy.last_fixity_at.is_none() && copy.verified_at.is_some()),
        count("unverified", &|copy| copy.last_fixity_at.is_none() && copy.verified_at.is_none()),
        stores(CopyState::Damaged),
        stores(CopyState::Missing),
    ];
    let said = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if said.is_empty() { "none".to_owned() } else { said }
}

pub(crate) fn run(command: Objects, context: &Context) -> Outcome {
    let settings = context.settings()?.settings;
    let (registry, refused) = context.registry_with_stores(&settings)?;
    let refused: Vec<String> = refused.into_iter().map(|state| state.store).collect();
    let health = |tx: &mut dyn Transaction, object: &Object| health_of(tx, &settings, &refused, object);
    match command {
        Objects::Premis(which) => premis(&which.object, context),
        Objects::List { institution, state } => {
            list(&registry, &health, institution.as_deref(), state.as_deref(), context)
        }
        Objects::Show(which) => {
            let object = find(&registry, &which.object)?;
            let (parts, health) = registry.read(|tx| {
                let parts = parts::at(tx, object.id, object.generation, object.head)?;
                Ok::<_, RegistryError>((parts, health(tx, &object)?))
            })?;
            context.output.show(&ObjectReport::new(object, parts.as_ref(), health))?;
            Ok(Exit::Done)
        }
        Objects::Files { which, version, below } => {
            files(&registry, &find(&registry, &which.object)?, version, below.as_deref(), context)
        }
        Objects::Events { which, file } => {
            let file = file.as_deref().map(|file| super::items::identifier(file, "file")).transpose()?;
            list_events(&registry, &find(&registry, &which.object)?, file, context)
        }
        Objects::Versions(which) => list_versions(&registry, &find(&registry, &which.object)?, context),
    }
}

/// Says the health of an object.
type HealthOf<'h> = dyn Fn(&mut dyn Transaction, &Object) -> Result<Option<Health>, RegistryError> + 'h;

fn premis(name: &str, context: &Context) -> Outcome {
    let home = context.open_home()?;
    let object = find(&home.registry, name)?;
    context.output.document(|out| strongroom_engine::export::premis(&home, &object, out))?;
    Ok(Exit::Done)
}

/// A logical path as it was in the package.
pub(crate) fn in_package(path: &str) -> String {
    path.strip_prefix(DEPOSIT).unwrap_or(path).to_owned()
}

/// An object that must exist.
pub(crate) fn find(registry: &Registry, name: &str) -> Result<Object, Failure> {
    Ok(registry.read(|tx| objects::find(tx, Scope::System, name))?)
}

fn list(
    registry: &Registry,
    health_of: &HealthOf<'_>,
    institution: Option<&str>,
    state: Option<&str>,
    context: &Context,
) -> Outcome {
    let state = state.map(|state| word(state, "state", &[ObjectState::Active, ObjectState::Deleted])).transpose()?;
    let scope = scope(registry, institution)?;
    let mut table = context.output.table(&[
        "object",
        "identifier",
        "title",
        "state",
        "health",
        "completeness",
        "versions",
        "files",
        "bytes",
        "missing_parts",
    ]);
    let mut after = None;
    loop {
        let page = registry.read(|tx| {
            let mut page = Vec::new();
            for object in objects::list(tx, scope, state, after, PAGE)? {
                let parts = parts::at(tx, object.id, object.generation, object.head)?;
                let health = health_of(tx, &object)?;
                page.push((object, parts, health));
            }
            Ok::<_, RegistryError>(page)
        })?;
        let Some(last) = page.last().map(|(object, ..)| object.id) else { break };
        after = Some(last);
        for (object, parts, health) in page {
            table.row(&ObjectReport::new(object, parts.as_ref(), health))?;
        }
    }
    table.end("there are no objects")?;
    Ok(Exit::Done)
}

fn files(
    registry: &Registry,
    object: &Object,
    version: Option<u64>,
    below: Option<&str>,
    context: &Context,
) -> Outcome {
    let version = version.unwrap_or(object.head);
    if version > object.head || (version == 0 && object.head > 0) {
        return Err(Failure::not_found("version", version).next(format!("versions are 1 to {}", object.head)));
    }
    let prefix = match below.map(|folder| folder.trim_matches('/')) {
        None | Some("") => DEPOSIT.to_owned(),
        Some(folder) => format!("{DEPOSIT}{folder}/"),
    };
    let mut table = context.output.table(&["path", "size", "puid", "format_name", "format_warning", "copies"]);
    let mut after = String::new();
    loop {
        let page = registry.read(|tx| {
            let mut page = Vec::new();
            for file in objects::files(tx, object.id, version, &prefix, &after, PAGE)? {
                let copies = objects::copies_in_use(tx, file.content)?;
                page.push((file, copies));
            }
            Ok::<_, RegistryError>(page)
        })?;
        let Some((last, _)) = page.last() else { break };
        after.clone_from(&last.path);
        for (file, copies) in page {
            let copies = copies
                .into_iter()
                .map(|copy| CopyReport {
                    store: copy.store,
                    key: copy.key,
                    state: copy.state,
                    stored_at: copy.stored_at.to_string(),
                    verified_at: copy.verified_at.map(|time| time.to_string()),
                    last_fixity_at: copy.last_fixity_at.map(|time| time.to_string()),
                })
                .collect();
            let report = FileReport {
                file: file.id,
                path: in_package(&file.path),
                size: file.size,
                digests: DigestsReport {
                    md5: file.digests.md5.to_hex(),
                    sha1: file.digests.sha1.to_hex(),
                    sha256: file.digests.sha256.to_hex(),
                    sha512: file.digests.sha512.to_hex(),
                },
                puid: file.format.puid,
                mime: file.format.mime,
                format_method: file.format.method,
                format_name: file.format.name,
                format_version: file.format.version,
                format_basis: file.format.basis,
                format_signatures: file.format.signatures,
                format_warning: file.format.warning,
                format_others: file.format.others,
                state: object.state,
                copies,
            };
            let cells = report.cells();
            table.row_with(&report, &cells)?;
        }
    }
    table.end("it has no such files")?;
    Ok(Exit::Done)
}

fn list_events(registry: &Registry, object: &Object, file: Option<FileId>, context: &Context) -> Outcome {
    let mut table = context.output.table(&["time", "type", "outcome", "detail", "outcome_detail"]);
    let mut cursor = EventCursor::START;
    loop {
        let (page, next) = registry.read(|tx| events::of_object(tx, Scope::System, object.id, file, cursor, PAGE))?;
        for event in page {
            table.row(&EventReport {
                event: event.id,
                r#type: event.kind,
                time: event.time.to_string(),
                outcome: event.outcome,
                detail: event.detail,
                outcome_detail: event.outcome_detail,
                object: event.object,
                file: event.file,
                agent: event.agent,
            })?;
        }
        match next {
            Some(next) => cursor = next,
            None => break,
        }
    }
    table.end("it has no events")?;
    Ok(Exit::Done)
}

fn list_versions(registry: &Registry, object: &Object, context: &Context) -> Outcome {
    let found = registry.read(|tx| versions::list(tx, object.id, object.generation, false))?;
    let mut table =
        context.output.table(&["version", "part", "parts", "files", "bytes", "message", "user", "published_at"]);
    for version in found {
        table.row(&VersionReport {
            version: version.number,
            state: version.state,
            message: version.message,
            user: version.user,
            item: version.item,
            part: version.description.part.map(Part::number),
            parts: version.description.part.map(Part::total),
            inventory_sha512: version.inventory.map(|digest| digest.to_hex()),
            files: version.files,
            bytes: version.bytes,
            created_at: version.created_at.to_string(),
            published_at: version.published_at.map(|time| time.to_string()),
        })?;
    }
    table.end("it has no versions")?;
    Ok(Exit::Done)
}
