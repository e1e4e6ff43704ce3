//! The files that the `fetch.txt` of a bag names (RFC 8493 section 2.2.3): they are downloaded into staging, beside those that came in
//! the bag, where the settings want that and nothing else is wrong with the bag.

use std::cell::RefCell;
use std::sync::Arc;

use strongroom_bagit::{BagError, FetchEntry, Report, Scan, check_with_entries};
use strongroom_registry::items::ItemProblem;
use strongroom_registry::tenants;
use strongroom_registry::{RegistryError, counted};

use super::fetch::{WARNINGS, note_more};
use super::listed::{Listed, stage_listed};
use super::validate::{item_problem, options};
use crate::ingest::intake::download_failure;
use crate::ingest::manifest::FileRow;
use crate::ingest::paging::first_page;
use crate::ingest::planned::{PlannedList, PlannedWriter, unplanned};
use crate::ingest::staged_bag::StagedBag;
use crate::ingest::staging::Staging;
use crate::profiles::RecordedProfiles;
use crate::workflow::{StageContext, StageError, local_topic};

/// The file of a bag that names others.
pub(super) const NAME: &str = "fetch.txt";
/// What stands before the line of a file in its key in staging. Another attempt distinguishes it by this from files of the bag.
const FETCHED: &str = "fetched";
/// The fact that the bag was read to its end while the settings did not want its files fetched.
const LEFT: &str = "fetch_list_left";
/// Files that cannot be fetched of which it is told why.
const MOST_PROBLEMS: usize = 1_000;

/// Whether a key in staging is that of a file that was fetched for a bag.
pub(in crate::ingest) fn is_fetched(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or_default();
    name.split_once('-').is_some_and(|(_, name)| name.strip_prefix(FETCHED).is_some_and(|line| line.starts_with('-')))
}

/// Whether the settings want files fetched of a bag that was read while they did not.
pub(super) fn is_left(context: &StageContext<'_>) -> Result<bool, StageError> {
    Ok(context.home.settings.ingest.fetch_txt && context.fact::<bool>(LEFT)? == Some(true))
}

/// Whether a bag that was read to its end is to be read again for its files elsewhere: some of them may not have come then, or since.
pub(super) fn is_read_again(context: &StageContext<'_>) -> Result<bool, StageError> {
    Ok(context.home.settings.ingest.fetch_txt && context.fact::<bool>(LEFT)?.is_some())
}

/// Whether the bag was read to its end, and what it lacks is downloaded: servers state how much that is.
pub(super) fn has_begun(context: &StageContext<'_>) -> Result<bool, StageError> {
    Ok(context.fact::<bool>(LEFT)? == Some(false))
}

/// What a person can do about files that are missing in a bag and that its `fetch.txt` names.
pub(super) fn advice(context: &StageContext<'_>, report: &Report) -> String {
    if !report.lacks_fetched_files() {
        return String::new();
    }
    if context.home.settings.ingest.fetch_txt {
        return "; no file of fetch.txt is downloaded until nothing else is wrong with the bag".to_owned();
    }
    let id = context.item.id;
    format!(
        "; files of fetch.txt are not downloaded; next: set ingest.fetch_txt = true, and their hosts in ingest.url_hosts, then: strongroom items \
         requeue {id}"
    )
}

/// How far the files of a list came.
pub(super) enum Completed {
    /// Nothing is left to download.
    Whole,
    /// There is no room for more than so many bytes right now.
    NoRoom(u64),
    /// Files are to be downloaded, which the item does in the topic of items that read from servers.
    Elsewhere,
}

/// Downloads what the bag lacks, and records it in the scan; in the topic of items that read from servers.
pub(super) fn complete(
    context: &StageContext<'_>,
    staging: &RefCell<Staging<'_, '_>>,
    scan: &mut Scan,
) -> Result<Completed, StageError> {
    if !context.home.settings.ingest.fetch_txt {
        context.set_fact(LEFT, &true)?;
        return Ok(Completed::Whole);
    }
    context.set_fact(LEFT, &false)?;
    staging.borrow_mut().flush()?;
    let Some(mut plan) = Plan::of(context, scan)? else { return Ok(Completed::Whole) };
    plan.check_urls(context)?;
    staging.borrow().check_fits(plan.bytes)?;
    if local_topic(&context.item.topic).is_none() {
        return Ok(Completed::Elsewhere);
    }
    let mut rows = plan.list.rows()?;
    let listed = match stage_listed(context, staging, &mut || rows.next_row(), FETCHED)? {
        Listed::Staged(listed) => listed,
        Listed::NoRoom(bytes) => return Ok(Completed::NoRoom(bytes)),
    };
    refuse(listed.failures.into_iter().map(|(row, why)| (row, why.message)).collect(), listed.more_failures)?;
    scan.files = scan.files.saturating_add(listed.files);
    scan.bytes = scan.bytes.saturating_add(listed.bytes);
    scan.has_payload_directory = true;
    if !plan.warnings.is_empty() {
        context.set_fact(WARNINGS, &plan.warnings)?;
    }
    Ok(Completed::Whole)
}

/// Fails where files cannot be had: these, and so many more.
fn refuse(failures: Vec<(FileRow, String)>, more: u64) -> Result<(), StageError> {
    let Some((_, first)) = failures.first() else { return Ok(()) };
    let files = counted(failures.len() as u64 + more, "file", "files");
    let note = format!("{files} of fetch.txt cannot be fetched; first: {first}");
    let failed = failures.into_iter().map(|(row, reason)| item_problem(&entry_of(row).failure(reason)));
    let mut problems: Vec<ItemProblem> = failed.collect();
    note_more(&mut problems, more);
    Err(StageError::Fatal { note, problems })
}

fn entry_of(row: FileRow) -> FetchEntry {
    let FileRow { line, url, path, size, digests, .. } = row;
    FetchEntry { path, line, url, length: size, digests, is_present: false }
}

/// What is to be downloaded for a bag.
struct Plan {
    list: PlannedList,
    /// Bytes of all files, as far as they are stated.
    bytes: u64,
    warnings: Vec<ItemProblem>,
}

impl Plan {
    /// Checks the bag as it was sent; nothing where it is complete, or where more is wrong with it than that files are missing.
    fn of(context: &StageContext<'_>, scan: &Scan) -> Result<Option<Self>, StageError> {
        let (rules, first) = context.registry().read(|tx| {
            let rules = tenants::collection_of(tx, context.item)?;
            Ok::<_, RegistryError>((rules, first_page(tx, context.item.id)?))
        })?;
        let evidence = StagedBag::as_sent(context, first);
        let profiles = Arc::new(RecordedProfiles::of(context.registry()));
        let options = options(context, rules, &profiles)?;
        // The files that are fetched make it.
        let scan = Scan { has_payload_directory: true, ..scan.clone() };
        let mut out = PlannedWriter::new().map_err(|error| unplanned(&error))?;
        let (mut bytes, mut present, mut first_present) = (0_u64, 0_u64, None);
        let checked = check_with_entries(&evidence, &scan, &options, &mut |entry| {
            if entry.is_present {
                present += 1;
                first_present.get_or_insert(entry);
                return Ok(());
            }
            bytes = bytes.saturating_add(entry.length.unwrap_or(0));
            let FetchEntry { path, line, url, length: size, digests, .. } = entry;
            out.push(FileRow { line, url, path, size, digests, modified: None }).map_err(BagError::Spill)
        });
        evidence.settle()?;
        context.task.check()?;
        if !checked?.lacks_only_fetched_files() {
            return Ok(None);
        }
        let warnings = first_present.map(|entry| item_problem(&entry.presence(present - 1))).into_iter().collect();
        let list = out.end().map_err(|error| unplanned(&error))?;
        Ok(Some(Self { list, bytes, warnings }))
    }

    /// Refuses every URL that the settings do not allow, before anything is asked for.
    fn check_urls(&mut self, context: &StageContext<'_>) -> Result<(), StageError> {
        let client = context.home.downloads()?;
        let (mut refused, mut more) = (Vec::new(), 0);
        let mut rows = self.list.rows()?;
        while let Some(row) = rows.next_row()? {
            match client.check(&row.url) {
                Ok(()) => {}
                Err(_) if refused.len() >= MOST_PROBLEMS => more += 1,
                Err(error) => refused.push((row, download_failure(error, None).to_string())),
            }
        }
        refuse(refused, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_fetched_files_are_distinguished_from_those_of_the_bag() {
        for key in ["item/place/pack-fetched-1", "item/place/file-fetched-12"] {
            assert!(is_fetched(key), "{key}");
        }
        for key in ["item/place/pack-1", "item/place/file-row-1", "fetched-1/place/file-2", "item/place/fetched-1"] {
            assert!(!is_fetched(key), "{key}");
        }
    }
}
