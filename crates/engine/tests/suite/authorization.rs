//! Who may do what: every function of the application layer, asked for by every role, for an own and for a foreign institution.
//! A function that is not in the list fails the test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use strongroom_credentials::{SealingKey, Token, TokenKind};
use strongroom_engine::EngineError;
use strongroom_engine::app::authorization::{PERMISSIONS, Permission, Role};
use strongroom_engine::app::installation::SETTINGS_FILE;
use strongroom_engine::app::items::Ask;
use strongroom_engine::app::{self, Caller, Installation, OpContext};
use strongroom_engine::fixity::FixityRequest;
use strongroom_engine::identification::ReidentifyRequest;
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::journal::JournalEntry;
use strongroom_engine::receiving as uploads;
use strongroom_engine::restoration::{RestoreFileRequest, RestoreRequest, request_file, request_object};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::settings::Loaded;
use strongroom_engine::work_on;
use strongroom_queue::{NewTask, TaskId, TaskState, tasks};
use strongroom_records::Takes;
use strongroom_registry::activities::{self, Input, NewActivity};
use strongroom_registry::items::{self, ItemFilter};
use strongroom_registry::journal::Actor;
use strongroom_registry::problems::{self, NewProblem, ProblemFilter};
use strongroom_registry::restorations::RestorationResult;
use strongroom_registry::spot_tests::{self, Candidate, Ended, NewSpotTest};
use strongroom_registry::tenants::{self, CollectionRules};
use strongroom_registry::tool_findings::{Examined, NewToolFinding};
use strongroom_registry::{
    ActivityId, ActorKind, BatchId, CollectionId, DeletionRequestId, FindingId, InstitutionId, ItemId, LegalHoldId,
    ProblemId, RegistryError, Scope, SpotTestId, SweepPhase, Time, ToolFindingId, UploadId, UserId, api_keys,
    approval_tokens, deletion_requests, deletion_targets, documents, duplication_policies, holds, journal, legal_holds,
    objects, pipelines, provenance, second_factors, sweeps, tool_findings, users,
};

use crate::fixture::{INSTITUTION, TestHome, home_with};

/// Another institution of the same home, which keeps nothing.
const OTHER: &str = "other.edu";
const COLLECTION: &str = "papers";
/// The actor, a user of [`INSTITUTION`].
const ANN: &str = "ann@example.edu";
/// The collection of the object that is kept.
const KEPT: &str = "kept";

/// What the functions are asked about: it all belongs to [`INSTITUTION`], or to the installation.
struct World {
    home: TestHome,
    own: InstitutionId,
    other: InstitutionId,
    /// One that is queued, one that is cancelled and one that failed.
    activity: ActivityId,
    ended_activity: ActivityId,
    failed_activity: ActivityId,
    /// What a tool has found in the file of `letters`.
    tool_finding: ToolFindingId,
    document: String,
    item: ItemId,
    batch: BatchId,
    /// One that has ended, with a report.
    reported: BatchId,
    /// One that failed.
    failed: BatchId,
    upload: UploadId,
    /// Two whose results wait to be looked at, and one that failed.
    problem: ProblemId,
    other_problem: ProblemId,
    /// The identifier of a sweep.
    sweep: String,
    spot_test: SpotTestId,
    other_spot_test: SpotTestId,
    failed_spot_test: SpotTestId,
    file: String,
    task: TaskId,
    bag: PathBuf,
    /// A key of the actor.
    key: String,
    /// Users who are admins of the institution.
    requester: UserId,
    approver: UserId,
    /// Requests that wait for approval.
    requests: [DeletionRequestId; 4],
    /// What approves the first one.
    approval: Token,
    /// On the object `letters`.
    legal_hold: LegalHoldId,
}

/// Whose the actor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The whole installation's.
    All,
    /// The institution's to which everything belongs that is asked about.
    Own,
    /// Another one's.
    Foreign,
}

/// What an answer shows of the institution that is asked about.
type Answer = Result<Shown, EngineError>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Something,
    Nothing,
}

/// A function, the line of the table that it goes by, and a call of it.
struct Case {
    function: &'static str,
    permission: &'static str,
    call: fn(&OpContext, &World) -> Answer,
}

fn something<T>(result: Result<T, EngineError>) -> Answer {
    result.map(|_| Shown::Something)
}

/// A deposit that failed: an update of an object that there is not.
fn failed(home: &TestHome, name: &str) -> BatchId {
    let request = DepositRequest {
        sources: vec![PackageSource::LocalPath(home.bag(name, &[("a.txt", b"one")]))],
        update: true,
        ..DepositRequest::of_system(INSTITUTION)
    };
    let made = deposit(home, &request).expect("deposits");
    work_on(&home.home, &made.items, &Shutdown::new()).expect("works");
    made.batch
}

/// The object that is kept.
fn letters() -> String {
    format!("{INSTITUTION}/letters")
}

/// The installation that the world is, for a call of the same actor.
fn installation(call: &OpContext, world: &World) -> Installation {
    let loaded = Loaded { settings: world.home.settings.clone(), entries: Vec::new(), old_names: Vec::new() };
    Installation::new(world.home.path(), &world.home.path().join(SETTINGS_FILE), loaded, call.caller().clone())
}

/// A pipeline of one step, which finds its records.
const PIPELINE: &str = "[[steps]]\nname = \"scan\"\nagent = \"tool\"\noptions = { tool = \"clamdscan\" }\n";

/// A call of the same actor as a user, at the console.
fn of_user(call: &OpContext, world: &World, user: UserId) -> OpContext {
    let actor = call.actor().clone().at_console("tester");
    OpContext::new(world.home.home.clone(), Caller { user: Some(user), actor, ..call.caller().clone() })
}

/// The object of which files are to be deleted.
fn spare() -> String {
    format!("{INSTITUTION}/spare")
}

/// What an activity has made.
const ENTITY: &str = "urn:example:entity";

/// The pipeline that there is.
fn scans() -> app::pipelines::Which {
    app::pipelines::Which { name: "scans".to_owned(), institution: None }
}

/// A wish to stop that is there before work begins.
fn stopped() -> Shutdown {
    let shutdown = Shutdown::new();
    shutdown.request();
    shutdown
}

fn some<T>(found: &[T]) -> Shown {
    if found.is_empty() { Shown::Nothing } else { Shown::Something }
}

macro_rules! cases {
    ($($function:literal $permission:literal $call:expr;)*) => {
        &[$(Case { function: $function, permission: $permission, call: $call }),*]
    };
}

const CASES: &[Case] = cases! {
    "activities::agents" "activities.agents" |call, _| app::activities::agents(call).map(|found| some(&found));
    "activities::run" "activities.run" |call, world| {
        let request = app::activities::Request {
            agent: "copy".to_owned(),
            input: Some(world.activity),
            ..app::activities::Request::default()
        };
        something(app::activities::run(call, &request))
    };
    "activities::list" "activities.list" |call, _| {
        app::activities::list(call, &app::activities::Filter::default(), None).map(|page| some(&page.items))
    };
    "activities::named" "activities.show" |call, world| {
        something(app::activities::named(call, &world.activity.to_string()))
    };
    "activities::show" "activities.show" |call, world| something(app::activities::show(call, world.activity));
    "activities::records" "activities.show" |call, world| {
        something(app::activities::records(call, world.activity, None, None))
    };
    "activities::pause" "activities.pause" |call, world| something(app::activities::pause(call, world.activity));
    "activities::resume" "activities.resume" |call, world| something(app::activities::resume(call, world.activity));
    "activities::work" "activities.work" |call, world| {
        something(app::activities::work(call, &[world.activity], &stopped()))
    };
    "activities::cancel" "activities.cancel" |call, world| something(app::activities::cancel(call, world.activity));
    "activities::findings" "activities.findings" |call, _| {
        app::activities::findings(call, &app::activities::FindingFilter::default(), None).map(|page| some(&page.items))
    };
    "activities::finding_named" "activities.findings" |call, world| {
        something(app::activities::finding_named(call, &world.tool_finding.to_string()))
    };
    "activities::dismiss" "activities.dismiss" |call, world| {
        something(app::activities::dismiss(call, world.tool_finding, "a test file"))
    };
    "activities::rerun" "activities.rerun" |call, world| {
        something(app::activities::rerun(call, world.ended_activity, true))
    };
    "activities::retry_failed" "activities.retry" |call, world| {
        something(app::activities::retry_failed(call, world.failed_activity))
    };
    "activities::restart" "activities.restart" |call, world| {
        something(app::activities::restart(call, world.failed_activity))
    };
    "pipelines::set" "pipelines.set" |call, _| {
        let which = app::pipelines::Which { name: "new".to_owned(), institution: Some(INSTITUTION.to_owned()) };
        something(app::pipelines::set(call, &which, PIPELINE.as_bytes()))
    };
    "pipelines::list" "pipelines.list" |call, _| {
        app::pipelines::list(call, None, None).map(|page| some(&page.items))
    };
    "pipelines::show" "pipelines.show" |call, _| something(app::pipelines::show(call, &scans()));
    "pipelines::run" "pipelines.run" |call, _| something(app::pipelines::run(call, &scans(), false));
    "pipelines::remove" "pipelines.remove" |call, _| something(app::pipelines::remove(call, &scans()));
    "provenance::of_activity" "provenance.export" |call, world| {
        something(app::provenance::of_activity(call, world.activity, &mut Vec::new()))
    };
    "provenance::of_entity" "provenance.export" |call, _| {
        something(app::provenance::of_entity(call, ENTITY, Some(INSTITUTION), &mut Vec::new()))
    };
    "duplication::allow_deletions" "duplication.allow_deletions" |call, world| {
        something(app::duplication::allow_deletions(call, &world.sweep))
    };
    "duplication::start" "duplication.start" |call, _| {
        something(app::duplication::start(call, Some(INSTITUTION), false))
    };
    "duplication::wait" "duplication.start" |call, world| {
        something(app::duplication::wait(call, &world.sweep, &stopped()))
    };
    "duplication::list" "duplication.runs" |call, _| something(app::duplication::list(call, Some(INSTITUTION), None));
    "duplication::show" "duplication.runs" |call, world| something(app::duplication::show(call, &world.sweep));
    "duplication::parts" "duplication.runs" |call, world| {
        something(app::duplication::parts(call, &world.sweep, None))
    };
    "duplication::held" "duplication.runs" |call, world| {
        something(app::duplication::held(call, &world.sweep, None))
    };
    "duplication::problems" "duplication.problems" |call, _| {
        something(app::duplication::problems(call, Some(INSTITUTION), None))
    };
    "duplication::history" "duplication.history" |call, _| {
        something(app::duplication::history(call, "disk/maps/1.txt", Some(INSTITUTION), None))
    };
    "duplication::check_events" "duplication.record_events" |call, _| {
        something(app::duplication::check_events(call, &[]))
    };
    "duplication::record_events" "duplication.record_events" |call, _| {
        something(app::duplication::record_events(call, &[]))
    };
    "duplication_policies::check" "duplication_policies.check" |call, _| {
        something(app::duplication_policies::check(call, Some(INSTITUTION), b"default = \"none\""))
    };
    "duplication_policies::show" "duplication_policies.show" |call, _| {
        something(app::duplication_policies::show(call, Some(INSTITUTION), None))
    };
    "duplication_policies::preview" "duplication_policies.preview" |call, _| {
        let mut take = |_| Ok(());
        something(app::duplication_policies::preview(call, Some(INSTITUTION), None, &Shutdown::new(), &mut take))
    };
    "duplication_policies::show_space" "duplication_policies.show" |call, _| {
        something(app::duplication_policies::show_space(call, Some(INSTITUTION), None, "maps"))
    };
    "duplication_policies::document" "duplication_policies.show" |call, _| {
        something(app::duplication_policies::document(call, Some(INSTITUTION), None))
    };
    "duplication_policies::history" "duplication_policies.history" |call, _| {
        something(app::duplication_policies::history(call, Some(INSTITUTION), None))
    };
    "duplication_policies::approve" "duplication_policies.approve" |call, world| {
        let call = of_user(call, world, world.approver);
        something(app::duplication_policies::approve(&call, Some(INSTITUTION), 1))
    };
    "duplication_policies::set" "duplication_policies.set" |call, _| {
        let new = app::duplication_policies::NewVersion {
            institution: Some(INSTITUTION.to_owned()),
            file: b"default = \"none\"".to_vec(),
            reason: "a test".to_owned(),
            if_version: Some(1),
        };
        something(app::duplication_policies::set(call, &new))
    };
    "duplication_policies::import" "duplication_policies.import" |call, _| {
        let options = app::duplication_policies::ImportOptions::default();
        something(app::duplication_policies::import(call, &[], &options, &BTreeMap::new(), ("a test", false)))
    };
    "documents::show" "documents.show" |call, world| {
        something(app::documents::show(call, &world.document, Some(INSTITUTION)))
    };
    "audit::list" "audit.list" |call, _| something(app::audit::list(call, Some(INSTITUTION)));
    "audit::check" "audit.check" |call, _| something(app::audit::check(call, &[], &Shutdown::new()));
    "audit::export" "audit.export" |call, world| {
        let folder = world.home.path().join("audit");
        let wanted =
            app::audit::Export { institution: Some(INSTITUTION.to_owned()), ..app::audit::Export::default() };
        something(app::audit::export(call, &folder, &wanted, &Shutdown::new()))
    };
    "manifests::check_output" "manifests.save" |call, world| {
        something(app::manifests::check_output(call, &world.home.path().join("manifest.tsv")))
    };
    "manifests::write" "manifests.read" |call, _| {
        let wanted =
            app::manifests::Wanted { institution: Some(INSTITUTION.to_owned()), ..app::manifests::Wanted::default() };
        something(app::manifests::write(call, &wanted, &mut Vec::new()))
    };
    "statistics::deposits" "statistics.report" |call, _| {
        let filter = app::statistics::Filter { institution: Some(INSTITUTION.to_owned()), ..app::statistics::Filter::default() };
        something(app::statistics::deposits(call, app::statistics::By::Day, &filter))
    };
    "statistics::storage" "statistics.report" |call, _| {
        let filter = app::statistics::Filter { institution: Some(INSTITUTION.to_owned()), ..app::statistics::Filter::default() };
        something(app::statistics::storage(call, app::statistics::StorageBy::Store, &filter))
    };
    "statistics::formats" "statistics.report" |call, _| {
        let filter = app::statistics::Filter { institution: Some(INSTITUTION.to_owned()), ..app::statistics::Filter::default() };
        something(app::statistics::formats(call, app::statistics::FormatsBy::Puid, &filter))
    };
    "statistics::fixity" "statistics.report" |call, _| {
        let filter = app::statistics::Filter { institution: Some(INSTITUTION.to_owned()), ..app::statistics::Filter::default() };
        something(app::statistics::fixity(call, app::statistics::By::Store, &filter))
    };
    "statistics::cost" "statistics.report" |call, _| {
        let filter = app::statistics::Filter { institution: Some(INSTITUTION.to_owned()), ..app::statistics::Filter::default() };
        something(app::statistics::cost(call, app::statistics::CostBy::Store, &filter))
    };
    "statistics::recompute" "statistics.recompute" |call, _| something(app::statistics::recompute(call, &Shutdown::new()));
    "background::list" "background.list" |call, _| something(app::background::list(call));
    "background::run" "background.run" |call, _| {
        something(app::background::run(call, "retention", &Shutdown::new()))
    };
    "batches::list" "batches.list" |call, _| {
        app::batches::list(call, &app::batches::Filter::default(), None).map(|page| some(&page.items))
    };
    "batches::named" "batches.show" |call, world| something(app::batches::named(call, &world.batch.to_string()));
    "batches::restoration_amount" "batches.show" |call, world| {
        something(app::batches::restoration_amount(call, world.batch))
    };
    "batches::requeue_with_new_rules" "batches.steer" |call, world| {
        something(app::batches::requeue_with_new_rules(call, world.failed, None))
    };
    "reports::list" "batches.show" |call, world| something(app::reports::list(call, world.reported, None));
    "reports::make" "batches.report" |call, world| something(app::reports::make(call, world.batch));
    "reports::rows" "batches.show" |call, world| {
        something(app::reports::rows(call, (world.reported, 1), app::reports::RowFilter::default(), None))
    };
    "reports::show" "batches.show" |call, world| something(app::reports::show(call, world.reported, Some(1)));
    "reports::write" "batches.show" |call, world| {
        something(app::reports::write(call, (world.reported, 1), app::reports::ReportForm::Csv, &mut Vec::new()))
    };
    "batches::show" "batches.show" |call, world| something(app::batches::show(call, world.batch));
    "batches::steer" "batches.steer" |call, world| something(app::batches::steer(call, world.batch, Ask::Hold, None));
    "batches::set_addresses" "batches.steer" |call, world| {
        something(app::batches::set_addresses(call, world.batch, &["ann@example.edu".to_owned()]))
    };
    "batches::told" "batches.show" |call, world| something(app::batches::told(call, world.batch));
    "batches::untold_by_deletion" "batches.show" |call, world| {
        something(app::batches::untold_by_deletion(call, world.batch))
    };
    "batches::work" "items.work" |call, world| something(app::batches::work(call, world.batch, &stopped()));
    "collections::list" "collections.list" |call, _| app::collections::list(call, None, true).map(|found| some(&found));
    "collections::rules" "collections.show" |call, _| {
        something(app::collections::rules(call, (INSTITUTION, COLLECTION), None))
    };
    "collections::show" "collections.show" |call, _| something(app::collections::show(call, INSTITUTION, COLLECTION));
    "collections::add" "collections.add" |call, _| {
        something(app::collections::add(call, INSTITUTION, "maps", app::collections::Rules::default()))
    };
    "collections::set" "collections.set" |call, _| {
        something(app::collections::set(call, INSTITUTION, COLLECTION, app::collections::Rules::default()))
    };
    "collections::use_again" "collections.set" |call, _| {
        something(app::collections::use_again(call, INSTITUTION, COLLECTION))
    };
    "collections::release" "collections.steer" |call, _| {
        something(app::collections::release(call, INSTITUTION, COLLECTION))
    };
    "collections::hold" "collections.steer" |call, _| {
        something(app::collections::hold(call, INSTITUTION, COLLECTION, None))
    };
    "collections::open_work" "collections.show" |call, _| {
        something(app::collections::open_work(call, INSTITUTION, COLLECTION))
    };
    "collections::remove" "collections.remove" |call, _| {
        something(app::collections::remove(call, INSTITUTION, COLLECTION, true))
    };
    "deletions::of_object" "deletions.request" |call, world| {
        let call = of_user(call, world, world.requester);
        something(app::deletions::of_object(&call, &spare(), &["data/4.txt".to_owned()], "a test"))
    };
    "deletions::of_list" "deletions.request" |call, world| {
        let (call, line) = (of_user(call, world, world.requester), format!("{}\tdata/5.txt", spare()));
        something(app::deletions::of_list(&call, &mut [Ok(line)].into_iter(), "a test"))
    };
    "deletions::approve_by_token" "deletions.approve" |call, world| {
        let call = of_user(call, world, world.approver);
        something(app::deletions::approve_by_token(&call, world.approval.reveal(), None))
    };
    "deletions::approve" "deletions.approve" |call, world| {
        something(app::deletions::approve(&of_user(call, world, world.approver), world.requests[1], None))
    };
    "deletions::deny" "deletions.deny" |call, world| {
        something(app::deletions::deny(call, world.requests[2], "a test"))
    };
    "deletions::cancel" "deletions.cancel" |call, world| {
        something(app::deletions::cancel(call, world.requests[3], "a test"))
    };
    "deletions::list" "deletions.list" |call, _| {
        app::deletions::list(call, &app::deletions::Filter::default(), None).map(|page| some(&page.items))
    };
    "deletions::unfinished" "deletions.list" |call, _| {
        app::deletions::unfinished(call, None).map(|page| some(&page.items))
    };
    "deletions::named" "deletions.show" |call, world| {
        something(app::deletions::named(call, &world.requests[0].to_string()))
    };
    "deletions::show" "deletions.show" |call, world| something(app::deletions::show(call, world.requests[0]));
    "deletions::targets" "deletions.show" |call, world| {
        something(app::deletions::targets(call, world.requests[0], None))
    };
    "disposals::due" "collections.due" |call, _| {
        something(app::disposals::due(call, (INSTITUTION, COLLECTION), None, None))
    };
    "legal_holds::add" "legal_holds.add" |call, _| {
        let subject = app::legal_holds::Subject::Object { object: letters(), paths: Vec::new() };
        something(app::legal_holds::add(call, &subject, "audit"))
    };
    "legal_holds::list" "legal_holds.list" |call, _| {
        app::legal_holds::list(call, &app::legal_holds::Filter::default(), None).map(|page| some(&page.items))
    };
    "legal_holds::release" "legal_holds.release" |call, world| {
        something(app::legal_holds::release(call, &world.legal_hold.to_string(), "settled"))
    };
    "deposits::submit" "deposits.submit" |call, _| {
        // A path of the server is for those who run the installation.
        let sources = vec![PackageSource::parse("https://example.org/diaries.tar").expect("a URL")];
        let institution = Some(INSTITUTION.to_owned());
        something(app::deposits::submit(call, app::deposits::Request { institution, sources, ..Default::default() }))
    };
    "deposits::show" "items.show" |call, world| something(app::deposits::show(call, world.item));
    "deposits::show_all" "items.show" |call, world| something(app::deposits::show_all(call, &[world.item]));
    "events::list" "events.list" |call, _| {
        app::events::list(call, &letters(), &app::events::Filter::default(), None).map(|page| some(&page.items))
    };
    "files::list" "files.list" |call, _| {
        let filter = app::files::Filter::default();
        app::files::list(call, &letters(), &filter, None).map(|page| some(&page.items))
    };
    "files::named" "files.list" |call, world| something(app::files::named(call, &world.file));
    "fixity::enqueue" "fixity.enqueue" |call, _| something(app::fixity::enqueue(call, &FixityRequest::default()));
    "fixity::named" "fixity.problems" |call, _| match app::fixity::named(call, &FindingId::new().to_string()) {
        Err(error) if is_not_found(&error) => Ok(Shown::Nothing),
        answer => something(answer),
    };
    "fixity::problems" "fixity.problems" |call, _| {
        app::fixity::problems(call, &app::fixity::Filter::default(), None).map(|page| some(&page.items))
    };
    "fixity::repair" "fixity.repair" |call, _| something(app::fixity::repair(call, FindingId::new()));
    "fixity::report" "fixity.report" |call, _| app::fixity::report(call, None).map(|found| some(&found));
    "fixity::run" "fixity.run" |call, _| something(app::fixity::run(call, &FixityRequest::default(), &mut |_| {}));
    "fixity::unrepaired" "fixity.problems" |call, _| {
        app::fixity::unrepaired(call, None).map(|page| some(&page.items))
    };
    "formats::behind" "signatures.behind" |call, _| {
        something(app::formats::behind(call, &ReidentifyRequest::default()))
    };
    "formats::choose" "signatures.choose" |call, _| something(app::formats::choose(call, "none"));
    "formats::enqueue" "signatures.reidentify" |call, _| {
        something(app::formats::enqueue(call, &ReidentifyRequest::default()))
    };
    "formats::install" "signatures.install" |call, _| something(app::formats::install(call, Vec::new(), false));
    "formats::reidentify" "signatures.reidentify" |call, _| {
        something(app::formats::reidentify(call, &ReidentifyRequest::default(), &mut |_| {}))
    };
    "installation::init" "installation.init" |call, world| {
        something(app::installation::init(&call.caller().clone().into(), &world.home.path().join("another"), &app::installation::NewInstallation::default()))
    };
    "institutions::list" "institutions.list" |call, _| {
        let page = app::institutions::list(call, None)?;
        Ok(some(&page.items.iter().filter(|found| found.institution == INSTITUTION).collect::<Vec<_>>()))
    };
    "institutions::show" "institutions.show" |call, _| something(app::institutions::show(call, INSTITUTION));
    "institutions::add" "institutions.add" |call, _| something(app::institutions::add(call, "new.edu", None));
    "institutions::set" "institutions.set" |call, _| {
        let name = Some("another name".to_owned());
        something(app::institutions::set(call, INSTITUTION, app::institutions::Changes { name, ..Default::default() }))
    };
    "counts::list" "items.list" |call, _| {
        let page = app::counts::list(call, app::counts::By::Collection, None, None)?;
        Ok(some(&page.items.iter().filter(|counted| counted.institution == INSTITUTION).collect::<Vec<_>>()))
    };
    "failures::groups" "items.list" |call, _| {
        app::failures::groups(call, &app::failures::Filter::default()).map(|_| Shown::Nothing)
    };
    "failures::requeue" "items.steer" |call, _| {
        let filter = app::failures::Filter { institution: Some(INSTITUTION.to_owned()), ..Default::default() };
        something(app::failures::requeue(call, &filter, None))
    };
    "items::move_to" "items.steer" |call, world| something(app::items::move_to(call, &[world.item], 7));
    "items::stages" "items.list" |call, _| app::items::stages(call).map(|_| Shown::Nothing);
    "items::actions" "items.list" |call, _| app::items::actions(call).map(|_| Shown::Nothing);
    "items::list" "items.list" |call, _| {
        app::items::list(call, &app::items::Filter::default(), None).map(|page| some(&page.items))
    };
    "items::show" "items.show" |call, world| something(app::items::show(call, world.item));
    "items::named" "items.show" |call, world| something(app::items::named(call, &world.item.to_string()));
    "items::standing" "items.show" |call, world| something(app::items::standing(call, &[world.item]));
    "items::obstacle" "items.show" |call, world| something(app::items::obstacle(call, world.item));
    "items::history" "items.history" |call, world| something(app::items::history(call, world.item));
    "items::untold_by_deletion" "items.show" |call, world| {
        something(app::items::untold_by_deletion(call, &[world.item]))
    };
    "interim::show" "items.show" |call, world| something(app::interim::show(call, world.item));
    "interim::files" "items.show" |call, world| something(app::interim::files(call, world.item, None));
    "items::steer" "items.steer" |call, world| something(app::items::steer(call, &[world.item], Ask::Hold, None));
    "items::bytes_read" "items.work" |call, _| something(app::items::bytes_read(call));
    "items::work" "items.work" |call, _| something(app::items::work(call, &[], &Shutdown::new()));
    "journal::list" "journal.list" |call, _| {
        let page = app::journal::list(call, &app::journal::Filter::default(), None)?;
        let of_ours = page.items.iter().filter(|line| line.institution.as_deref() == Some(INSTITUTION));
        Ok(some(&of_ours.collect::<Vec<_>>()))
    };
    "keys::list" "keys.list" |call, _| {
        app::keys::list(call, &app::keys::Filter::default(), None).map(|page| some(&page.items))
    };
    "keys::show" "keys.list" |call, world| something(app::keys::show(call, &world.key));
    "keys::add" "keys.add" |call, _| {
        let scopes = vec![app::KeyScope::Read];
        something(app::keys::add(call, app::keys::Request { user: ANN.to_owned(), scopes, expires_at: None }))
    };
    "keys::authenticate" "keys.use" |call, _| something(app::keys::authenticate(call, "no key"));
    "keys::revoke" "keys.revoke" |call, world| something(app::keys::revoke(call, &world.key));
    "notifications::test" "notifications.test" |call, _| {
        let receiver = app::notifications::Receiver::Mail("someone@example.edu".to_owned());
        something(app::notifications::test(call, &receiver, Some(INSTITUTION)))
    };
    "objects::describe" "objects.describe" |call, _| {
        let metadata = serde_json::json!({ "title": "Letters" });
        something(app::objects::describe(call, &[app::objects::NewDescription { object: letters(), metadata }]))
    };
    "objects::list" "objects.list" |call, _| {
        app::objects::list(call, &app::objects::Filter::default(), None).map(|page| some(&page.items))
    };
    "objects::premis" "objects.premis" |call, _| something(app::objects::premis(call, &letters(), &mut Vec::new()));
    "objects::search" "objects.search" |call, _| {
        app::objects::search(call, &app::objects::Search::default(), None).map(|page| some(&page.items))
    };
    "objects::show" "objects.show" |call, _| something(app::objects::show(call, &letters()));
    "outbox::list" "outbox.list" |call, _| app::outbox::list(call, None).map(|page| some(&page.items));
    "outbox::waiting" "outbox.list" |call, _| app::outbox::waiting(call, None).map(|page| some(&page.items));
    "outbox::named" "outbox.list" |call, _| something(app::outbox::named(call, &FindingId::new().0.to_string()));
    "outbox::undeliverable_of_batch" "outbox.list" |call, world| app::outbox::undeliverable_of_batch(call, world.batch, None).map(|page| some(&page.items));
    "outbox::send" "outbox.send" |call, _| something(app::outbox::send(call, FindingId::new().0));
    "outbox::send_all" "outbox.send" |call, _| something(app::outbox::send_all(call, &[FindingId::new().0]));
    "outbox::send_of_batch" "outbox.send" |call, world| something(app::outbox::send_of_batch(call, world.batch, &mut |_| Ok::<_, EngineError>(())));
    "outbox::remove" "outbox.remove" |call, _| something(app::outbox::remove(call, FindingId::new().0, None));
    "problems::compare" "problems.compare" |call, _| something(app::problems::compare(call));
    "problems::list" "problems.list" |call, _| {
        app::problems::list(call, &app::problems::Filter::default(), None).map(|page| some(&page.items))
    };
    "problems::named" "problems.list" |call, world| {
        something(app::problems::named(call, &world.problem.to_string()))
    };
    "problems::show" "problems.list" |call, world| something(app::problems::show(call, world.problem));
    "problems::assign" "problems.assign" |call, world| {
        let ticket = app::problems::Assignee::Ticket("T-1".to_owned());
        something(app::problems::assign(call, world.problem, &ticket, None))
    };
    "problems::waive" "problems.waive" |call, world| {
        something(app::problems::waive(call, world.other_problem, "a test", None))
    };
    "problems::resolve" "problems.resolve" |call, world| something(app::problems::resolve(call, world.problem));
    "spot_tests::list" "spot_tests.list" |call, _| {
        app::spot_tests::list(call, &app::spot_tests::Filter::default(), None).map(|page| some(&page.items))
    };
    "spot_tests::named" "spot_tests.list" |call, world| {
        something(app::spot_tests::named(call, &world.spot_test.to_string()))
    };
    "spot_tests::confirm" "spot_tests.confirm" |call, world| {
        something(app::spot_tests::confirm(call, world.spot_test, None))
    };
    "spot_tests::reject" "spot_tests.reject" |call, world| {
        something(app::spot_tests::reject(call, world.other_spot_test, "not right"))
    };
    "spot_tests::close" "spot_tests.close" |call, world| {
        something(app::spot_tests::close(call, world.failed_spot_test, "settled"))
    };
    "profiles::list" "profiles.list" |call, _| app::profiles::list(call).map(|found| some(&found));
    "profiles::show" "profiles.show" |call, _| something(app::profiles::show(call, "btr-1.0", None));
    "profiles::document" "profiles.show" |call, _| something(app::profiles::document(call, "btr-1.0", None));
    "profiles::add" "profiles.add" |call, _| {
        let bytes = include_bytes!("../../../bagit/src/profile/btr-1.0.json").to_vec();
        let document = app::profiles::Document { name: Some("maps".to_owned()), file: None, bytes };
        something(app::profiles::add(call, document))
    };
    "profiles::remove" "profiles.remove" |call, _| something(app::profiles::remove(call, "aptrust-2.2", None));
    "queues::list" "queues.list" |call, _| something(app::queues::list(call));
    "queues::tasks" "queues.tasks" |call, _| something(app::queues::tasks(call, None, None, None));
    "queues::pause" "queues.pause" |call, _| something(app::queues::pause(call, "fixity.check"));
    "queues::resume" "queues.resume" |call, _| something(app::queues::resume(call, "fixity.check"));
    "queues::pause_all" "queues.pause" |call, _| something(app::queues::pause_all(call));
    "queues::resume_all" "queues.resume" |call, _| something(app::queues::resume_all(call));
    "queues::retry" "queues.retry" |call, _| something(app::queues::retry(call, "fixity.check", None));
    "queues::delete" "queues.delete" |call, world| something(app::queues::delete(call, world.task));
    "queues::empty" "queues.empty" |call, _| something(app::queues::empty(call, "fixity.check"));
    "rebuild::adopt" "registry.adopt" |call, world| {
        something(app::rebuild::adopt(&installation(call, world), None, &mut |_| {}))
    };
    "rebuild::compare" "registry.compare" |call, world| {
        something(app::rebuild::compare(&installation(call, world), None, &mut |_| {}))
    };
    "rebuild::run" "registry.rebuild" |call, world| {
        something(app::rebuild::run(&installation(call, world), None, &mut |_| {}))
    };
    "receiving::list" "receiving.list" |call, _| {
        app::receiving::list(call, None, true, None).map(|page| some(&page.items))
    };
    "receiving::named" "receiving.show" |call, world| something(app::receiving::named(call, &world.upload.to_string()));
    "receiving::show" "receiving.show" |call, world| something(app::receiving::show(call, world.upload));
    "receiving::forget" "receiving.forget" |call, world| something(app::receiving::forget(call, world.upload));
    "registry::backup" "registry.backup" |call, world| {
        something(app::registry::backup(&installation(call, world), &world.home.path().join("backups")))
    };
    "registry::fill_from" "registry.migrate" |call, world| {
        let backup = world.home.path().join("backups");
        something(app::registry::fill_from(&installation(call, world), &backup, &mut |_| {}))
    };
    "registry::move_to" "registry.migrate" |call, world| {
        something(app::registry::move_to(&installation(call, world), "registry.db", &mut |_| {}))
    };
    "registry::upgrade" "registry.migrate" |call, world| {
        something(app::registry::upgrade(&installation(call, world)))
    };
    "restorations::of_object" "restorations.request" |call, _| {
        let request = app::restorations::ObjectRequest { object: letters(), ..Default::default() };
        something(app::restorations::of_object(call, request))
    };
    "restorations::of_file" "restorations.request" |call, world| {
        something(app::restorations::of_file(call, &world.file, app::restorations::RestorationTarget::RestorationStore))
    };
    "restorations::of_paths" "restorations.request" |call, _| {
        let (object, paths) = (letters(), vec!["data".to_owned()]);
        something(app::restorations::of_paths(call, app::restorations::PathsRequest { object, paths, ..Default::default() }))
    };
    "restorations::of_collection" "restorations.request" |call, _| {
        let target = app::restorations::RestorationTarget::RestorationStore;
        something(app::restorations::of_collection(call, INSTITUTION, KEPT, target))
    };
    "restorations::of_list" "restorations.request" |call, _| {
        let target = app::restorations::RestorationTarget::RestorationStore;
        something(app::restorations::of_list(call, &mut [Ok(letters())].into_iter(), target))
    };
    "second_factors::begin" "second_factors.set" |call, _| something(app::second_factors::begin(call, "no session"));
    "second_factors::confirm" "second_factors.set" |call, _| {
        something(app::second_factors::confirm(call, "no session", "123456", None))
    };
    "second_factors::renew_backup_codes" "second_factors.set" |call, _| {
        something(app::second_factors::renew_backup_codes(call, "no session"))
    };
    "second_factors::reset" "second_factors.reset" |call, _| something(app::second_factors::reset(call, ANN));
    "sessions::start" "sessions.start" |call, _| {
        something(app::sessions::start(call, ANN, &app::password("wrong").expect("a password"), None))
    };
    "sessions::confirm" "sessions.use" |call, _| something(app::sessions::confirm(call, "no session", "123456", None));
    "sessions::resume" "sessions.use" |call, _| something(app::sessions::resume(call, "no session"));
    "sessions::end" "sessions.use" |call, _| something(app::sessions::end(call, "no session"));
    "users::list" "users.list" |call, _| {
        app::users::list(call, &app::users::Filter::default(), None).map(|page| some(&page.items))
    };
    "users::show" "users.show" |call, _| something(app::users::show(call, ANN));
    "users::add" "users.add" |call, _| {
        let (email, role) = ("bob@test.edu".to_owned(), app::UserRole::InstitutionUser);
        let institution = Some(INSTITUTION.to_owned());
        something(app::users::add(call, app::users::NewUser { email, role, institution, password: None }))
    };
    "users::set" "users.set" |call, _| {
        let role = Some(app::UserRole::InstitutionUser);
        something(app::users::set(call, ANN, app::users::Changes { role, ..app::users::Changes::default() }))
    };
    "users::set_password" "users.set_password" |call, _| {
        something(app::users::set_password(call, ANN, app::password("short").expect("a password")))
    };
    "users::invite" "users.invite" |call, _| something(app::users::invite(call, ANN));
    "users::make_token" "users.make_token" |call, _| something(app::users::make_token(call, ANN));
    "users::choose_password" "users.choose_password" |call, _| {
        something(app::users::choose_password(call, "no token", app::password("short").expect("a password")))
    };
    "users::deactivate" "users.deactivate" |call, _| something(app::users::deactivate(call, ANN));
    "users::activate" "users.deactivate" |call, _| something(app::users::activate(call, ANN));
    "settings::check" "settings.check" |call, world| something(app::settings::check(&installation(call, world)));
    "settings::show" "settings.show" |call, world| something(app::settings::show(&installation(call, world)));
    "levels::core_trust_seal" "status.levels" |call, world| something(app::levels::core_trust_seal(&installation(call, world), false));
    "levels::ndsa" "status.levels" |call, world| something(app::levels::ndsa(&installation(call, world), false));
    "status::show" "status.show" |call, world| something(app::status::show(&installation(call, world)));
    "spaces::items" "spaces.list" |call, _| {
        something(app::spaces::items(call, "partner/maps", None, None, &mut |_| Ok(())))
    };
    "spaces::list" "spaces.list" |call, _| something(app::spaces::list(call, None, None, &mut |_| Ok(())));
    "spaces::show" "spaces.show" |call, _| something(app::spaces::show(call, "partner/maps"));
    "stores::amount_lacking" "stores.list" |call, _| something(app::stores::amount_lacking(call, "secondary"));
    "stores::backfill" "stores.backfill" |call, _| {
        something(app::stores::backfill(call, &app::stores::BackfillRequest::new("secondary"), &mut |_| {}))
    };
    "stores::check" "stores.check" |call, world| something(app::stores::check(&installation(call, world), &[]));
    "stores::create" "stores.create" |call, world| {
        something(app::stores::create(&installation(call, world), &["secondary".to_owned()]))
    };
    "stores::enqueue_backfill" "stores.backfill" |call, _| something(app::stores::enqueue_backfill(call, "secondary"));
    "stores::list" "stores.list" |call, world| something(app::stores::list(&installation(call, world)));
    "stores::reconcile" "stores.reconcile" |call, _| {
        something(app::stores::reconcile(call, "secondary", &mut |_| Ok(())))
    };
    "stores::replace" "stores.replace" |call, _| something(app::stores::replace(call, "secondary"));
    "stores::retire" "stores.retire" |call, _| {
        something(app::stores::retire(call, "secondary", true, &mut |_| Ok::<_, EngineError>(())))
    };
    "stores::to_reconcile" "stores.reconcile" |call, _| something(app::stores::to_reconcile(call, &[]));
    "stores::use_again" "stores.use" |call, _| something(app::stores::use_again(call, "secondary"));
    "versions::list" "versions.list" |call, _| app::versions::list(call, &letters()).map(|found| some(&found));
    "workers::run" "workers.run" |call, _| {
        something(app::workers::run(call, &app::workers::Request::default(), &stopped()))
    };
    "workers::run_due_schedules" "background.run" |call, _| {
        something(app::workers::run_due_schedules(call, &stopped()))
    };
    "workers::run_schedules" "background.run" |call, _| something(app::workers::run_schedules(call, &stopped()));
    "workers::schedules" "background.list" |call, _| something(app::workers::schedules(call));
    "workers::serve" "workers.run" |call, _| {
        something(app::workers::serve(call, &app::workers::Request::default(), &stopped()))
    };
};

/// Two admins of the institution, requests of the first to delete files, and a token with which the second approves the first request.
fn requests(home: &TestHome, own: InstitutionId) -> (UserId, UserId, [DeletionRequestId; 4], Token) {
    let names: Vec<String> = (0..6).map(|number| format!("{number}.txt")).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), name.as_bytes())).collect();
    let object = home.ingest("spare", &files);
    let (requester, approver) = (UserId::new(), UserId::new());
    let requests = [(); 4].map(|()| DeletionRequestId::new());
    let token = Token::generate(TokenKind::DeletionApproval).expect("a token");
    let (token_id, digest) = (token.id(), token.digest());
    home.registry
        .write(move |tx| {
            let role = app::UserRole::InstitutionAdmin;
            for (id, email) in [(requester, "carl@example.edu"), (approver, "dora@example.edu")] {
                users::add(tx, &users::NewUser { id, email: email.to_owned(), role, institution: Some(own) })?;
            }
            let expires_at = tx.now()?.plus(3_600_000_000);
            for (number, id) in requests.into_iter().enumerate() {
                let path = format!("deposit/data/{number}.txt");
                let file = deletion_targets::file_at(tx, object.id, &path)?.expect("a file");
                deletion_targets::begin_draft(tx, id)?;
                let target = deletion_targets::NewTarget { object: object.id, file: Some((file, path)) };
                deletion_targets::put(tx, id, &[target])?;
                let actor = Actor::new(ActorKind::User, "carl@example.edu");
                let by = deletion_requests::Doer { actor, user: Some(requester), account: None };
                let (name, reason) = (object.identifier.clone(), "a test".to_owned());
                let new = deletion_requests::NewRequest { id, institution: own, name, reason, by, expires_at };
                deletion_requests::create(tx, &new, requester)?;
            }
            let (id, digest) = (token_id.clone(), digest.clone());
            let new = approval_tokens::NewToken { id, digest, request: requests[0], user: approver, expires_at };
            approval_tokens::put(tx, &new)
        })
        .expect("makes requests");
    (requester, approver, requests, token)
}

impl World {
    fn new() -> Self {
        let home = home_with("[mail]\nhost = \"localhost\"\nport = 1\nfrom = \"strongroom@test.edu\"\n");
        let other = InstitutionId::new();
        home.registry
            .write(|tx| {
                let own = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
                let rules = CollectionRules { name: KEPT.to_owned(), ..CollectionRules::default() };
                tenants::add_collection(tx, CollectionId::new(), own, KEPT, (&rules, "test"))
            })
            .expect("adds");
        let letters = DepositRequest {
            collection: Some(KEPT.into()),
            sources: vec![PackageSource::LocalPath(home.bag("letters", &[("a.txt", b"one")]))],
            ..DepositRequest::of_system(INSTITUTION)
        };
        let letters = deposit(&home, &letters).expect("deposits");
        work_on(&home.home, &letters.items, &Shutdown::new()).expect("works");
        let object = home.object("letters");
        let (failed, _) = (failed(&home, "lost"), failed(&home, "missing"));
        let (own, task) = home
            .registry
            .write(move |tx| {
                tenants::add_institution(tx, other, OTHER, OTHER)?;
                let own = tenants::institution(tx, Scope::System, INSTITUTION)?.expect("the institution").id;
                let rules = CollectionRules { name: COLLECTION.to_owned(), ..CollectionRules::default() };
                let collection = CollectionId::new();
                tenants::add_collection(tx, collection, own, COLLECTION, (&rules, "test"))?;
                holds::place(tx, holds::On::Collection(collection), own, "tester".into())?;
                tasks::enqueue(tx, &[NewTask::new("fixity.check", "a key", "")])?;
                let task = tasks::list(tx, "fixity.check", TaskState::Ready, None, 1)?.tasks[0].task;
                Ok::<_, RegistryError>((own, task))
            })
            .expect("writes");
        let bag = home.bag("diaries", &[("b.txt", b"two")]);
        let request = DepositRequest {
            collection: Some(COLLECTION.into()),
            sources: vec![PackageSource::LocalPath(bag.clone())],
            ..DepositRequest::of_system(INSTITUTION)
        };
        let made = deposit(&home, &request).expect("deposits");
        let place = home.path().join("stores/receiving").join(INSTITUTION);
        std::fs::create_dir_all(&place).expect("makes a folder");
        std::fs::write(place.join("notes.txt"), "no bag").expect("writes");
        uploads::watch(&home, &Shutdown::new()).expect("looks");
        let upload = uploads::list(&home, Scope::System, true, None, 10).expect("lists")[0].upload;
        let files = home.registry.read(|tx| objects::files(tx, object.id, 1, "deposit/data/", "", 1)).expect("files");
        let [activity, ended_activity, failed_activity] = [(); 3].map(|()| ActivityId::new());
        home.registry
            .write(move |tx| {
                for id in [activity, ended_activity, failed_activity] {
                    activities::create(
                        tx,
                        &NewActivity {
                            id,
                            agent: "copy".to_owned(),
                            options: serde_json::json!({}),
                            institution: Some(own),
                            actor: Actor::system(),
                            input: Input::Source,
                            watermark: None,
                            only_changed: false,
                            step_of: None,
                        },
                    )?;
                }
                let step = pipelines::Step {
                    name: "scan".to_owned(),
                    agent: "tool".to_owned(),
                    options: serde_json::json!({ "tool": "clamdscan" }),
                    takes: Takes::Records,
                };
                let by = provenance::By { activity, run: 1, institution: Some(own) };
                provenance::record(tx, by, &[provenance::Made { record: "a record", entity: ENTITY }])?;
                pipelines::set(tx, Some(own), "scans", &[step], &Actor::system())?;
                activities::cancel(tx, Scope::System, ended_activity)?;
                activities::fail(tx, failed_activity, "no way")
            })
            .expect("makes activities");
        let document = documents::Document::new(Some(own), ("a source", "a record"), "text/plain", b"text".to_vec());
        let document_name = documents::entity(document.id);
        home.registry.write(move |tx| documents::put(tx, std::slice::from_ref(&document))).expect("keeps a document");
        let found = &files[0];
        let new = NewToolFinding {
            institution: own,
            examined: Examined::File { object: object.id, file: found.id, content: found.content },
            tool: "scanner".to_owned(),
            detail: "a virus".to_owned(),
            activity: None,
            found_at: Time(0),
        };
        let tool_finding = new.examined.finding_id(&new.tool);
        home.registry.write(move |tx| tool_findings::open(tx, &new)).expect("opens a finding");
        let (legal_hold, held) = (LegalHoldId::new(), legal_holds::On::Object(object.id));
        home.registry
            .write(move |tx| {
                let (actor, reason) = (&Actor::system(), "a case");
                legal_holds::place(
                    tx,
                    &legal_holds::NewLegalHold { id: legal_hold, on: held, institution: own, reason, actor },
                )
            })
            .expect("places a hold");
        let key = Token::generate(TokenKind::ApiKey).expect("a key");
        let (key_id, key_digest, ann) = (key.id(), key.digest(), UserId::new());
        home.registry
            .write(move |tx| {
                let role = app::UserRole::InstitutionAdmin;
                users::add(tx, &users::NewUser { id: ann, email: ANN.to_owned(), role, institution: Some(own) })?;
                let sealed = second_factors::SealedFactor::from([1].as_slice());
                second_factors::begin(tx, ann, &sealed, SealingKey::generate().expect("a key").id())?;
                let (id, digest, actor) = (key_id.clone(), key_digest.clone(), &Actor::system());
                let scopes = &[app::KeyScope::Read];
                api_keys::add(tx, &api_keys::NewKey { id, digest, user: ann, actor, scopes, expires_at: None })
            })
            .expect("adds a user");
        let (requester, approver, requests, approval) = requests(&home, own);
        let policy = duplication_policies::NewPolicy {
            institution: own,
            based_on: None,
            document: "{}".to_owned(),
            deletes: true,
            reason: "a test".to_owned(),
            actor: Actor::system(),
            user: Some(requester),
        };
        home.registry.write(move |tx| duplication_policies::set(tx, &policy)).expect("sets a policy");
        let sweep = sweeps::NewSweep {
            institution: own,
            policy_version: 1,
            is_whole: false,
            started_by: None,
            pairs: vec![("disk".to_owned(), "cloud".to_owned())],
        };
        // One in which deletions wait for a person.
        let sweep = home
            .registry
            .write(move |tx| {
                let begun = sweeps::begin(tx, &sweep)?.expect("a sweep");
                let part = sweeps::take(tx, "a test", 1)?.expect("a part");
                let mut held = part.to(SweepPhase::Held);
                held.held = 1;
                sweeps::advance(tx, &held, sweeps::Next::Leave(0))?;
                Ok::<_, RegistryError>(begun.id)
            })
            .expect("begins a sweep");
        let [spot_test, other_spot_test, failed_spot_test] = [(); 3].map(|()| SpotTestId::new());
        let identifier = object.identifier.clone();
        home.registry
            .write(move |tx| {
                for id in [spot_test, other_spot_test, failed_spot_test] {
                    let (head, bytes, state) = (object.head, object.bytes, object.state);
                    let candidate = Candidate { object: object.id, identifier: identifier.clone(), head, bytes, state };
                    spot_tests::insert(tx, &NewSpotTest { id, institution: own, candidate, item: ItemId::new() })?;
                    let result = RestorationResult { place: "a place".to_owned(), size: 1, sha256: String::new() };
                    let ended = if id == failed_spot_test {
                        Ended::Failed("no way".to_owned())
                    } else {
                        Ended::Restored(result)
                    };
                    let begun = spot_tests::find(tx, Scope::System, id)?;
                    spot_tests::end(tx, &begun, &ended)?;
                }
                Ok::<_, RegistryError>(())
            })
            .expect("makes spot tests");
        let [problem, other_problem] = ["one", "other"].map(|name| {
            let new = NewProblem {
                key: format!("test:{name}"),
                kind: "test.case".to_owned(),
                fault: String::new(),
                institution: Some(own),
                subject: name.to_owned(),
                store: None,
                object: None,
                finding: None,
                detail: "a test".to_owned(),
            };
            home.registry
                .write(move |tx| {
                    problems::open(tx, &new)?;
                    let known = problems::list(tx, Scope::System, ProblemFilter::default(), None, 10)?;
                    let opened = known.into_iter().find(|known| known.key == new.key);
                    Ok::<_, RegistryError>(opened.expect("the problem").id)
                })
                .expect("opens a problem")
        });
        Self {
            problem,
            other_problem,
            sweep: sweep.to_string(),
            spot_test,
            other_spot_test,
            failed_spot_test,
            key: key.id().to_string(),
            requester,
            approver,
            requests,
            approval,
            legal_hold,
            activity,
            ended_activity,
            failed_activity,
            tool_finding,
            document: document_name,
            own,
            other,
            item: made.items[0],
            batch: made.batch,
            reported: letters.batch,
            failed,
            upload,
            file: files[0].id.to_string(),
            task,
            bag,
            home,
        }
    }

    fn call(&self, role: Role, whose: Whose) -> OpContext {
        let scope = match whose {
            Whose::All => Scope::System,
            Whose::Own => Scope::Institution(self.own),
            Whose::Foreign => Scope::Institution(self.other),
        };
        let actor = Actor::new(ActorKind::User, ANN);
        OpContext::new(self.home.home.clone(), Caller::with_role(actor, scope, role))
    }

    /// What the journal tells of the acts of the actor that [`Self::call`] has.
    fn told(&self) -> Vec<(String, String)> {
        let filter = journal::LineFilter { actor: Some(ANN.to_owned()), ..journal::LineFilter::default() };
        let lines =
            self.home.registry.read(|tx| journal::list(tx, Scope::System, &filter, None, 1_000)).expect("lists");
        lines.into_iter().map(|line| (line.act, line.outcome.to_string())).collect()
    }
}

fn permission(name: &str) -> &'static Permission {
    PERMISSIONS.iter().copied().find(|permission| permission.name() == name).expect("a line of the table")
}

fn is_refusal(error: &EngineError) -> bool {
    match error {
        EngineError::NotAllowed { .. } => true,
        EngineError::Advised(advised) => is_refusal(&advised.error),
        _ => false,
    }
}

fn is_not_found(error: &EngineError) -> bool {
    match error {
        EngineError::NotFound { .. }
        | EngineError::Absent(_)
        | EngineError::Registry(RegistryError::NotFound { .. }) => true,
        EngineError::Advised(advised) => is_not_found(&advised.error),
        _ => false,
    }
}

fn check(role: Role, whose: Whose) {
    let world = World::new();
    let call = world.call(role, whose);
    for case in CASES {
        let permission = permission(case.permission);
        let may = permission.admits(&[role]) && (whose == Whose::All || !permission.is_of_installation());
        let known = world.told();
        let before = known.len();
        let answer = (case.call)(&call, &world);
        let what = format!("{} by {} of {whose:?}: {answer:?}", case.function, role.as_str());
        assert_eq!(answer.as_ref().is_err_and(is_refusal), !may, "{what}");
        let told = world.told();
        if !may {
            // Of an installation that is not there yet there is no journal.
            let is_new = !known.contains(&(permission.name().to_owned(), "refused".to_owned()));
            let refused = usize::from(permission.writes() && is_new && case.function != "installation::init");
            assert_eq!(told.len() - before, refused, "{what}");
            assert!(told.iter().skip(before).all(|(_, outcome)| outcome == "refused"), "{what}: {told:?}");
        } else if whose == Whose::Foreign && permission.is_of_institutions() {
            let is_hidden = match &answer {
                Ok(shown) => *shown == Shown::Nothing,
                Err(error) => is_not_found(error),
            };
            assert!(is_hidden, "{what}");
            assert_eq!(told.len(), before, "{what}: {told:?}");
        } else if !permission.is_of_installation() {
            assert!(answer.is_ok(), "{what}");
            let is_told = told.iter().skip(before).any(|(_, outcome)| outcome == "done");
            assert_eq!(is_told, permission.writes(), "{what}: {told:?}");
        }
    }
}

#[test]
fn every_role_may_what_the_table_says_for_the_whole_installation() {
    for role in Role::ALL {
        check(role, Whose::All);
    }
}

#[test]
fn every_role_sees_and_changes_what_is_of_its_own_institution() {
    for role in Role::ALL {
        check(role, Whose::Own);
    }
}

#[test]
fn no_role_sees_or_changes_anything_of_a_foreign_institution() {
    for role in Role::ALL {
        check(role, Whose::Foreign);
    }
}

#[test]
fn an_actor_without_a_role_may_nothing() {
    let world = World::new();
    let actor = Actor::new(ActorKind::User, ANN);
    let call = OpContext::new(
        world.home.home.clone(),
        Caller { roles: Vec::new(), ..Caller::with_role(actor, Scope::System, Role::Auditor) },
    );
    for case in CASES {
        assert!((case.call)(&call, &world).as_ref().is_err_and(is_refusal), "{}", case.function);
    }
}

#[test]
fn a_key_may_what_its_scopes_and_its_user_may() {
    for scope in app::KeyScope::ALL {
        let world = World::new();
        let caller =
            Caller { key_scopes: Some(vec![*scope]), ..world.call(Role::SystemAdmin, Whose::All).caller().clone() };
        let call = OpContext::new(world.home.home.clone(), caller);
        for case in CASES {
            let permission = permission(case.permission);
            let needed = permission.key_scope();
            let has_scope = needed == Some(*scope) || needed == Some(app::KeyScope::Read);
            let may = permission.admits(&[Role::SystemAdmin]) && has_scope;
            let answer = (case.call)(&call, &world);
            assert_eq!(answer.as_ref().is_err_and(is_refusal), !may, "{} with {scope}: {answer:?}", case.function);
        }
    }
}

#[test]
fn no_key_changes_users_or_keys_or_deletes() {
    for permission in PERMISSIONS.iter().filter(|permission| permission.writes()) {
        let is_of_people = ["users.", "keys.", "sessions.", "second_factors.", "deletions."]
            .iter()
            .any(|of| permission.name().starts_with(of));
        let lets_copies_be_deleted =
            ["duplication_policies.approve", "duplication.allow_deletions", "duplication.record_events"]
                .contains(&permission.name());
        assert_eq!(permission.key_scope().is_none(), is_of_people || lets_copies_be_deleted, "{}", permission.name());
    }
}

/// Every public function of the files of `app/` that takes a call.
fn functions_of(folder: &Path) -> BTreeSet<String> {
    let mut functions = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("lists") {
        let path = entry.expect("an entry").path();
        let (Some(module), Some("rs")) = (
            path.file_stem().and_then(|stem| stem.to_str()),
            path.extension().and_then(|extension| extension.to_str()),
        ) else {
            continue;
        };
        let text = std::fs::read_to_string(&path).expect("reads");
        for part in text.split("\npub fn ").skip(1) {
            let name: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if module != "mod" {
                functions.insert(format!("{module}::{name}"));
            }
        }
    }
    functions
}

#[test]
fn every_function_of_the_application_layer_is_in_the_list() {
    let listed: BTreeSet<String> = CASES.iter().map(|case| case.function.to_owned()).collect();
    assert_eq!(functions_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/app")), listed);
}

#[test]
fn every_line_of_the_table_is_asked_for() {
    let asked: BTreeSet<&str> = CASES.iter().map(|case| case.permission).collect();
    let lines: BTreeSet<&str> = PERMISSIONS.iter().map(|permission| permission.name()).collect();
    assert_eq!(asked, lines);
}

#[test]
fn a_line_of_the_journal_is_neither_changed_nor_removed() {
    let home = home_with("");
    let entry = JournalEntry::of_system("tests.act");
    home.registry
        .write(move |tx| entry.done(tx, &strongroom_engine::journal::Target::of_system("it")))
        .expect("appends");
    for change in ["-- name: change\nUPDATE journal SET target = 'that'", "-- name: change\nDELETE FROM journal"] {
        let statements = strongroom_registry::statements().with(change);
        let database: Box<dyn strongroom_database::Database> = Box::new(home.database(statements));
        let changed = database.write(|tx| tx.execute(strongroom_database::Statement("change"), &[]));
        assert!(changed.is_err(), "{change}");
    }
}

#[test]
fn an_act_is_done_in_the_journal_only_where_it_was_done() {
    let world = World::new();
    let call = world.call(Role::SystemAdmin, Whose::All);
    let stop = stopped();
    let request = FixityRequest { stop, all: true, ..FixityRequest::default() };
    app::fixity::run(&call, &request, &mut |_| {}).expect("ends");
    app::queues::retry(&call, "fixity.check", Some(world.task)).expect_err("it is not dead");
    let told = world.told();
    assert_eq!(
        told,
        [("fixity.run", "begun"), ("fixity.run", "failed")].map(|(act, outcome)| (act.to_owned(), outcome.to_owned()))
    );
}

#[test]
fn a_restoration_into_a_folder_of_the_server_is_requeued_only_by_those_who_run_the_installation() {
    let world = World::new();
    let folder = tempfile::tempdir().expect("a folder");
    let console = world.call(Role::SystemAdmin, Whose::All);
    let target = app::restorations::RestorationTarget::Folder(folder.path().to_owned());
    let request = app::restorations::ObjectRequest { object: letters(), target, ..Default::default() };
    let made = app::restorations::of_object(&console, request).expect("is made").item;
    app::items::steer(&console, &[made], Ask::Cancel, None).expect("is cancelled");
    let own = world.call(Role::InstitutionAdmin, Whose::Own);
    let refused = app::items::steer(&own, &[made], Ask::Requeue(None), None).expect_err("a folder of the server");
    assert!(refused.to_string().contains("a folder of the server"), "{refused}");
    app::items::steer(&console, &[made], Ask::Requeue(None), None).expect("is requeued");

    let target = app::restorations::RestorationTarget::Folder(folder.path().to_owned());
    let mut names = [Ok(letters())].into_iter();
    let of_list = app::restorations::of_list(&console, &mut names, target).expect("is made");
    let refused =
        app::batches::steer(&own, of_list.batch, Ask::Requeue(None), None).expect_err("a folder of the server");
    assert!(refused.to_string().contains("a folder of the server"), "{refused}");
}

#[test]
fn a_refusal_that_repeats_does_not_fill_the_journal() {
    let world = World::new();
    let call = world.call(Role::Auditor, Whose::All);
    for _ in 0..3 {
        app::queues::pause(&call, "fixity.check").expect_err("refused");
        app::queues::empty(&call, "fixity.check").expect_err("refused");
    }
    let refused = |act: &str| (act.to_owned(), "refused".to_owned());
    assert_eq!(world.told(), [refused("queues.pause"), refused("queues.empty")]);
}

#[test]
fn a_path_of_the_server_is_deposited_only_by_those_who_run_the_installation() {
    let world = World::new();
    let request = || app::deposits::Request {
        institution: Some(INSTITUTION.to_owned()),
        sources: vec![PackageSource::LocalPath(world.bag.clone())],
        ..Default::default()
    };
    let of_institution = world.call(Role::InstitutionAdmin, Whose::Own);
    let refused = app::deposits::submit(&of_institution, request()).expect_err("a path");
    assert!(refused.to_string().contains("is a path of the server"), "{refused}");
    assert!(world.told().is_empty());
    app::deposits::submit(&world.call(Role::SystemAdmin, Whose::All), request()).expect("submits");
}

#[test]
fn a_folder_of_the_server_is_restored_into_only_by_those_who_run_the_installation() {
    let world = World::new();
    let folder = world.home.path().join("restored");
    let target = || app::restorations::RestorationTarget::Folder(folder.clone());
    let request = || app::restorations::ObjectRequest { object: letters(), target: target(), ..Default::default() };
    let of_institution = world.call(Role::InstitutionAdmin, Whose::Own);
    let refused = [
        app::restorations::of_object(&of_institution, request()).expect_err("a folder"),
        app::restorations::of_file(&of_institution, &world.file, target()).expect_err("a folder"),
    ];
    for error in refused {
        assert!(error.to_string().contains("is a path of the server"), "{error}");
    }
    assert!(world.told().is_empty());
    let of_installation = world.call(Role::SystemAdmin, Whose::All);
    app::restorations::of_object(&of_installation, request()).expect("asks");
    app::restorations::of_file(&of_installation, &world.file, target()).expect("asks");
}

#[test]
fn a_request_finds_nothing_outside_of_its_scope() {
    let world = World::new();
    world.home.clock.advance(std::time::Duration::from_secs(1));
    let before = world.home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?)).expect("the time");
    let scope = Scope::Institution(world.other);
    let object = RestoreRequest { scope, ..RestoreRequest::of_system(letters()) };
    let file = RestoreFileRequest { scope, ..RestoreFileRequest::of_system(world.file.clone()) };
    let source = PackageSource::parse("https://example.org/diaries.tar").expect("a URL");
    let package = DepositRequest { scope, sources: vec![source], ..DepositRequest::of_system(INSTITUTION) };
    let errors = [
        request_object(&world.home, &object).expect_err("is of another institution"),
        request_file(&world.home, &file).expect_err("is of another institution"),
        deposit(&world.home, &package).expect_err("is another institution"),
    ];
    for error in errors {
        assert!(is_not_found(&error), "{error}");
    }
    let made = ItemFilter { since: Some(before), ..ItemFilter::default() };
    let made = world.home.registry.read(|tx| items::list(tx, Scope::System, &made, None, 10)).expect("lists");
    assert!(made.is_empty(), "{made:?}");
}
