//! validate: the bag against every rule, from what the one pass has seen. Every problem at once; a bag that is not valid
//! ends here, and stays where it is. Tag files are read from staging and compared with their digests.

use std::io::Read;

use serde::{Deserialize, Serialize};
use strongroom_bagit::{
    BagError, CheckOptions, Evidence, FileFact, FileFacts, Problem, Profile, ProfileChoice, ProfileReason, Report,
    Scan, Severity, Verdict, check,
};
use strongroom_digest::Algorithm;
use strongroom_registry::Description;
use strongroom_registry::interim::{self, InterimFile};
use strongroom_registry::items::ItemProblem;
use strongroom_registry::work;

use super::fetch::digest_of;
use crate::ingest::deposit::DepositOptions;
use crate::ingest::paging::files_by_page;
use crate::ingest::staged::Readings;
use crate::workflow::{Outcome, StageContext, StageError};

/// Most characters of a problem's message in the note of an item.
const MOST_CHARACTERS: usize = 500;

/// What the bag says of itself, for the stages after this one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Findings {
    pub(crate) description: Description,
    /// The storage option as the depositor wrote it, and whether an unknown one may be replaced by the default.
    pub(crate) storage_option: Option<(String, bool)>,
    /// Algorithms of the payload manifests that every payload file was compared with.
    pub(crate) manifests: Vec<Algorithm>,
}

pub(crate) fn run(context: &StageContext<'_>) -> Result<Outcome, StageError> {
    let scan: Scan = context.expect("fetched")?;
    let evidence = StagedBag { context, readings: Readings::default() };
    let options = options(context)?;
    let checked = check(&evidence, &scan, &options);
    // What staging lost since `fetch` is no fault of the bag.
    evidence.readings.settle(context)?;
    context.task.check()?;
    let report = checked?;
    let problems: Vec<ItemProblem> = report.problems.iter().map(item_problem).collect();
    if !matches!(report.verdict, Verdict::Valid | Verdict::ValidWithWarnings) {
        return Err(StageError::Invalid { note: summary(&report), problems });
    }
    let note = summary(&report);
    context.write(move |tx, claim| work::note_problems(tx, claim, &problems))?;
    context.set_fact("findings", &findings(context, &report, &scan)?)?;
    Ok(Outcome::Done { note })
}

fn summary(report: &Report) -> String {
    let verdict = match report.verdict {
        Verdict::Valid => "valid",
        Verdict::ValidWithWarnings => "valid, with warnings",
        Verdict::Incomplete => "incomplete",
        Verdict::Invalid => "invalid",
        Verdict::NotABag => "not a bag",
        Verdict::Unsupported => "of a kind that is not supported",
    };
    let profile = profile_applied(report);
    if report.problems.is_empty() {
        return format!("the bag is {verdict} ({profile})");
    }
    let worst = report.problems.iter().min_by_key(|problem| problem.severity);
    let first = worst.map(|problem| {
        let message: String = problem.message.chars().take(MOST_CHARACTERS).collect();
        format!("; first: {} {message}", problem.code)
    });
    let (errors, warnings) = (report.errors, report.warnings);
    format!("the bag is {verdict} ({profile}; errors: {errors}, warnings: {warnings}){}", first.unwrap_or_default())
}

/// Which profile the bag was checked against, and why.
fn profile_applied(report: &Report) -> String {
    let Some(profile) = &report.profile else { return "no profile applies".to_owned() };
    let reason = match report.profile_reason {
        Some(ProfileReason::Given) => "chosen by the collection",
        Some(ProfileReason::Declared) => "declared by the bag",
        Some(ProfileReason::Default) => "chosen by the setting ingest.default_profile",
        Some(ProfileReason::AptrustInfo) | None => "the default of bags with an aptrust-info.txt",
    };
    format!("profile {profile}, {reason}")
}

/// How the bag is checked: as `bag validate` does it, but for what the collection and the settings choose.
fn options(context: &StageContext<'_>) -> Result<CheckOptions, StageError> {
    let named = |name: &str| {
        let profile = Profile::builtin(name).map(Box::new);
        profile.ok_or_else(|| StageError::fatal(format!("there is no profile {name:?}; see `bag validate --help`")))
    };
    let settings = &context.home.settings.ingest;
    let of_collection = context.collection_rules()?.and_then(|collection| collection.profile);
    let default = Some(settings.default_profile.as_str()).filter(|name| !name.is_empty());
    Ok(CheckOptions {
        profile: match of_collection {
            Some(name) => ProfileChoice::Given(named(&name)?),
            None => ProfileChoice::Declared,
        },
        default_profile: default.map(named).transpose()?,
        unknown_profile_is_warning: settings.unknown_profile == "warn",
        institution: Some(context.item.institution_identifier.clone()),
        wrong_name_is_warning: true,
        ..CheckOptions::default()
    })
}

fn findings(context: &StageContext<'_>, report: &Report, scan: &Scan) -> Result<Findings, StageError> {
    let options: DepositOptions = serde_json::from_str(&context.item.options)?;
    let tag = |file: &str, label: &str| {
        report.tag(file, label).map(str::trim).find(|value| !value.is_empty()).map(str::to_owned)
    };
    let info = |label: &str| tag("bag-info.txt", label);
    let apt = |label: &str| tag("aptrust-info.txt", label);
    let name = context.item.object_identifier.split_once('/').map_or("", |(_, name)| name).to_owned();
    let mut local_ids = options.local_ids;
    local_ids.extend(info("Internal-Sender-Identifier"));
    local_ids.sort();
    local_ids.dedup();
    let description = Description {
        title: apt("Title")
            .or_else(|| info("Internal-Identifier"))
            .or_else(|| info("External-Identifier"))
            .or(Some(name)),
        description: apt("Description")
            .or_else(|| info("Internal-Sender-Description"))
            .or_else(|| info("External-Description")),
        access: Some(apt("Access").map_or_else(|| "institution".to_owned(), |access| access.to_lowercase())),
        placement: None,
        profile: report.profile.clone(),
        source_organization: info("Source-Organization"),
        bag_group_identifier: info("Bag-Group-Identifier"),
        internal_sender_identifier: info("Internal-Sender-Identifier"),
        internal_sender_description: info("Internal-Sender-Description"),
        base_directory: scan.base_directory.clone(),
        part: context.part()?,
        local_ids,
    };
    let storage_option = apt("Storage-Option")
        .map(|option| (option, false))
        .or_else(|| info("APTrust-Storage-Option").map(|option| (option, true)));
    Ok(Findings { description, storage_option, manifests: report.manifests.clone() })
}

/// A problem of a bag as a work item keeps it.
pub(crate) fn item_problem(problem: &Problem) -> ItemProblem {
    ItemProblem {
        severity: match problem.severity {
            Severity::Error => "error".into(),
            Severity::Warning => "warning".into(),
        },
        code: problem.code.clone(),
        file: problem.file.clone(),
        path: problem.path.clone(),
        line: problem.line,
        message: problem.message.clone(),
    }
}

/// A staged bag as evidence: facts from the interim rows, bytes from staging.
struct StagedBag<'a, 'c> {
    context: &'a StageContext<'c>,
    readings: Readings,
}

impl Evidence for StagedBag<'_, '_> {
    fn files(&self) -> Result<FileFacts<'_>, BagError> {
        Ok(Box::new(files_by_page(self.context).flat_map(|page| match page {
            Ok(rows) => rows.into_iter().map(|row| Ok(fact(row))).collect(),
            Err(error) => vec![Err(BagError::Evidence(error.to_string().into()))],
        })))
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + Send + '_>, BagError> {
        let found = self.context.registry().read(|tx| interim::file(tx, self.context.item.id, path));
        let file = found
            .map_err(|error| BagError::Evidence(error.into()))?
            .ok_or_else(|| BagError::Evidence(format!("{path} was not staged").into()))?;
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
