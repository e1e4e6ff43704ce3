//! validate: the bag against every rule, from what the one pass has seen. Every problem at once; a bag that is not valid
//! ends here, and stays where it is. Tag files are read from staging and compared with their digests.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strongroom_bagit::{
    CheckOptions, Problem, Profile, ProfileChoice, ProfileReason, Report, Scan, Severity, Verdict, check,
};
use strongroom_digest::Algorithm;
use strongroom_registry::interim;
use strongroom_registry::items::ItemProblem;
use strongroom_registry::tenants::{self, Collection, CollectionRules};
use strongroom_registry::{Description, Layout, Part, RegistryError, parts, work};

use super::fetch::WARNINGS;
use super::{fetch_list, package};
use crate::ingest::deposit::DepositOptions;
use crate::ingest::kind::DepositKind;
use crate::ingest::lease::{expect, fact};
use crate::ingest::paging::first_page;
use crate::ingest::rules as rules_of;
use crate::ingest::staged_bag::StagedBag;
use crate::ingest::workflow::FETCH;
use crate::profiles::{self, RecordedProfiles};
use crate::workflow::{Outcome, StageContext, StageError};

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
    let item = context.item;
    let (facts, rules, part, first) = context.registry().read(|tx| {
        let rules = tenants::collection_of(tx, item)?;
        let part = parts::of_item(tx, item.id)?;
        Ok::<_, RegistryError>((interim::facts(tx, item.id)?, rules, part, first_page(tx, item.id)?))
    })?;
    let scan: Scan = expect(&facts, "fetched")?;
    // Where the size was not known before.
    if let Some(text) = rules.as_ref().and_then(|of| rules_of::too_large(of, scan.bytes)) {
        return Err(StageError::fatal(text));
    }
    let warnings: Vec<ItemProblem> = fact(&facts, WARNINGS)?.unwrap_or_default();
    let given = DepositOptions::of(item)?;
    if given.kind() != DepositKind::Bag {
        return package::validate(context, &scan, &given, first);
    }
    let evidence = StagedBag::whole(context, first);
    let profiles = Arc::new(RecordedProfiles::of(context.registry()));
    let options = options(context, rules, &profiles)?;
    let checked = check(&evidence, &scan, &options);
    // What staging lost since `fetch` is no fault of the bag.
    evidence.settle()?;
    context.task.check()?;
    let report = checked?;
    let mut problems: Vec<ItemProblem> = report.problems.iter().map(item_problem).collect();
    problems.extend(warnings);
    if !matches!(report.verdict, Verdict::Valid | Verdict::ValidWithWarnings) {
        if report.lacks_fetched_files() && fetch_list::is_left(context)? {
            let note = "the files of fetch.txt are wanted now".to_owned();
            return Ok(Outcome::RestartFrom { stage: FETCH, note });
        }
        let note = summary(&report) + &fetch_list::advice(context, &report);
        return Err(StageError::Invalid { note, problems });
    }
    let note = summary(&report);
    let description = description(context, &report, (&scan, part), &profiles)?;
    let facts = [
        ("deleted".to_owned(), serde_json::to_string(&given.delete)?),
        ("ark".to_owned(), serde_json::to_string(&given.ark)?),
        ("findings".to_owned(), serde_json::to_string(&findings(&report, description, given.placement))?),
    ];
    context.with_end(move |tx, claim| work::note_findings(tx, claim, &problems, &facts).map(|()| Vec::new()));
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
    let what = if report.verdict == Verdict::NotABag { "package" } else { "bag" };
    if report.problems.is_empty() {
        return format!("the {what} is {verdict} ({profile})");
    }
    let worst = report.problems.iter().min_by_key(|problem| problem.severity);
    let first = worst.map(|problem| item_problem(problem).in_note());
    let (errors, warnings) = (report.errors, report.warnings);
    format!("the {what} is {verdict} ({profile}; errors: {errors}, warnings: {warnings}){}", first.unwrap_or_default())
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
    let version = report.profile_version.map(|version| format!(" version {version}")).unwrap_or_default();
    format!("profile {profile}{version}, {reason}")
}

/// How the bag is checked: as `bag validate` does it, but for what the collection and the settings choose, and with the
/// profiles of the registry.
pub(super) fn options(
    context: &StageContext<'_>,
    rules: Option<Collection>,
    profiles: &Arc<RecordedProfiles>,
) -> Result<CheckOptions, StageError> {
    let settings = &context.home.settings.ingest;
    let profile = match rules {
        Some(Collection {
            identifier, rules: CollectionRules { profile: Some(profile), profile_version, .. }, ..
        }) => {
            let institution = &context.item.institution_identifier;
            let batch = context.item.batch.map(|batch| batch.to_string()).unwrap_or_default();
            let way_out = format!(
                "strongroom collection set {identifier} --institution {institution} --profile NAME, and \
                 strongroom batches requeue {batch} --new-rules"
            );
            let asked = format!("the profile that the collection {identifier} asks for");
            ProfileChoice::Given(named(context, &profile, profile_version, &asked, &way_out)?)
        }
        _ => ProfileChoice::Declared,
    };
    let default = Some(settings.default_profile.as_str()).filter(|name| !name.is_empty());
    let default_profile = match default {
        Some(name) => {
            let asked = "the profile that the setting ingest.default_profile asks for";
            Some(named(context, name, None, asked, "set it to one that \"strongroom profile list\" shows")?)
        }
        None => None,
    };
    Ok(CheckOptions {
        profile,
        known: Some(profiles.clone()),
        default_profile,
        unknown_profile_is_warning: settings.unknown_profile == "warn",
        institution: Some(context.item.institution_identifier.clone()),
        wrong_name_is_warning: true,
        ..CheckOptions::default()
    })
}

/// A profile that something asks for by its name. Where it cannot be used a person has to choose another one.
fn named(
    context: &StageContext<'_>,
    name: &str,
    version: Option<u64>,
    asked: &str,
    way_out: &str,
) -> Result<Box<Profile>, StageError> {
    match profiles::chosen(context.registry(), name, version) {
        Ok(profile) => Ok(Box::new(profile)),
        Err(error @ (RegistryError::NotFound { .. } | RegistryError::State { .. })) => {
            let id = context.item.id;
            Err(StageError::fatal(format!(
                "{asked} cannot be used: {error}; next: {way_out}, then: strongroom items requeue {id}"
            )))
        }
        Err(error) => Err(error.into()),
    }
}

/// What the object is from this deposit on.
fn description(
    context: &StageContext<'_>,
    report: &Report,
    (scan, part): (&Scan, Option<Part>),
    profiles: &RecordedProfiles,
) -> Result<Description, StageError> {
    let options: DepositOptions = serde_json::from_str(&context.item.options)?;
    let info = |label: &str| trimmed(report, "bag-info.txt", label);
    let apt = |label: &str| trimmed(report, "aptrust-info.txt", label);
    let name = context.item.object_identifier.split_once('/').map_or("", |(_, name)| name).to_owned();
    let deposit_ids = options.local_ids;
    let mut local_ids = deposit_ids.clone();
    local_ids.extend(info("Internal-Sender-Identifier"));
    local_ids.sort();
    local_ids.dedup();
    let checked_against = match (&report.profile, report.profile_version) {
        (Some(profile), Some(version)) => Some(profiles.version(profile, version)?),
        _ => None,
    };
    let given = options.description;
    Ok(Description {
        title: given
            .title
            .or_else(|| apt("Title"))
            .or_else(|| info("Internal-Identifier"))
            .or_else(|| info("External-Identifier"))
            .or(Some(name)),
        description: apt("Description")
            .or_else(|| info("Internal-Sender-Description"))
            .or_else(|| info("External-Description")),
        access: Some(
            given
                .access
                .or_else(|| apt("Access"))
                .map_or_else(|| "institution".to_owned(), |access| access.to_lowercase()),
        ),
        placement: None,
        placement_requested: None,
        profile: report.profile.clone(),
        profile_version: checked_against.as_ref().map(|found| found.version),
        profile_sha512: checked_against.map(|found| found.sha512.to_hex()),
        source_organization: info("Source-Organization"),
        bag_group_identifier: info("Bag-Group-Identifier"),
        internal_sender_identifier: info("Internal-Sender-Identifier"),
        internal_sender_description: info("Internal-Sender-Description"),
        base_directory: scan.base_directory.clone(),
        part,
        local_ids,
        deposit_ids,
        creator: given.creator,
        date: given.date,
        layout: Layout::Bag,
        metadata: given.metadata,
    })
}

fn findings(report: &Report, description: Description, placement: Option<String>) -> Findings {
    let tag = |file: &str, label: &str| trimmed(report, file, label);
    let storage_option = tag("aptrust-info.txt", "Storage-Option")
        .map(|option| (option, false))
        .or_else(|| tag("bag-info.txt", "APTrust-Storage-Option").map(|option| (option, true)))
        .or_else(|| placement.map(|placement| (placement, false)));
    Findings { description, storage_option, manifests: report.manifests.clone() }
}

/// The first value of a tag that is not empty.
fn trimmed(report: &Report, file: &str, label: &str) -> Option<String> {
    report.tag(file, label).map(str::trim).find(|value| !value.is_empty()).map(str::to_owned)
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
