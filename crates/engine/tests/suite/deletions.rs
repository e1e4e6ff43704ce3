//! Requests for deletion: one user asks and another one approves, never one person alone, also where several act at the same time, time runs out
//! or the clock is turned.

use std::time::Duration;

use strongroom_credentials::{AccountName, Token, TokenKind};
use strongroom_engine::EngineError;
use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::deletions::{self, Filter};
use strongroom_engine::app::items::Ask;
use strongroom_engine::app::users::{self, Changes, NewUser};
use strongroom_engine::app::views::{DeletionTargetView, DeletionView};
use strongroom_engine::app::{Caller, OpContext, UserRole, items as item_acts};
use strongroom_engine::background::{TASKS, run_now};
use strongroom_engine::findings::Counting;
use strongroom_engine::ingest::{DepositRequest, PackageSource, deposit};
use strongroom_engine::runtime::Shutdown;
use strongroom_engine::status;
use strongroom_engine::survey::Survey;
use strongroom_registry::approval_tokens::{self, NewToken};
use strongroom_registry::begun_deletions::{self, Beginning};
use strongroom_registry::deletion_requests;
use strongroom_registry::deletion_targets;
use strongroom_registry::deletions::Deletion;
use strongroom_registry::items::{self, Item, ItemFilter};
use strongroom_registry::journal::{self, Actor, LineFilter};
use strongroom_registry::legal_holds::{self, NewLegalHold, On};
use strongroom_registry::tenants;
use strongroom_registry::{
    ActorKind, DeletionId, DeletionRequestId, DeletionRequestState, DeletionState as RowState, InstitutionId, ItemId,
    ItemStatus, LegalHoldId, RegistryError, Scope, UserId, WaitKey, objects, outbox, users as rows,
};

use crate::fixture::{Engine, INSTITUTION, TestHome, home_on, on_both_databases};

pub(crate) const ANN: &str = "ann@test.edu";
pub(crate) const BOB: &str = "bob@test.edu";
const CARL: &str = "carl@test.edu";
const ROOT: &str = "root@example.net";
const DAY: Duration = Duration::from_hours(24);
const REASON: &str = "deposited twice";

on_both_databases! {
    another_admin_approves_and_never_the_requester
    a_system_admin_approves_where_no_other_admin_can
    a_system_admin_requests_and_an_admin_of_the_institution_approves
    users_whom_the_requester_has_made_do_not_approve
    of_two_approvals_at_once_one_is_done
    of_an_approval_and_a_cancellation_at_once_both_leave_one_outcome
    of_two_requests_for_the_same_object_at_once_one_is_made
    a_request_that_was_not_approved_in_time_stays_expired
    a_token_is_for_one_user_and_one_time
    nothing_is_made_where_anything_is_wrong
    each_object_gets_a_work_item_behind_older_deposits_and_before_later_ones
    a_cancelled_request_cancels_what_has_not_begun
    what_failed_is_done_again_only_for_a_request_that_is_approved
    what_failed_is_done_again_only_while_both_users_may_and_for_a_month
    each_admin_is_told_of_each_act_once
}

pub(crate) fn console(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), Caller::at_console("tester"))
}

fn id_of(home: &TestHome, email: &str) -> UserId {
    let account = AccountName::new(email);
    home.registry.read(|tx| rows::find(tx, Scope::System, &account)).expect("the user").id
}

/// A call of a user, at the console.
pub(crate) fn as_user(home: &TestHome, email: &str) -> OpContext {
    let call = signed_in(home, email);
    let actor = call.actor().clone().at_console("tester");
    OpContext::new(home.home.clone(), Caller { actor, ..call.caller().clone() })
}

/// A call of a user who has signed in at a server.
fn signed_in(home: &TestHome, email: &str) -> OpContext {
    let account = AccountName::new(email);
    let user = home.registry.read(|tx| rows::find(tx, Scope::System, &account)).expect("the user");
    let caller = Caller::with_role(Actor::new(ActorKind::User, email), user.scope(), Role::from(user.role));
    OpContext::new(home.home.clone(), Caller { user: Some(user.id), ..caller })
}

fn add_by(call: &OpContext, email: &str, role: UserRole) {
    let institution = (role != UserRole::SystemAdmin).then(|| INSTITUTION.to_owned());
    users::add(call, NewUser { email: email.to_owned(), role, institution, password: None }).expect("is added");
}

fn add(home: &TestHome, email: &str, role: UserRole) {
    add_by(&console(home), email, role);
}

/// A home with an object `letters`, and the admins Ann and Bob.
pub(crate) fn world(engine: Engine, settings: &str) -> Option<TestHome> {
    let home = home_on(engine, settings)?;
    home.ingest("letters", &[("a.txt", b"one"), ("b.txt", b"two")]);
    add_admins(&home);
    Some(home)
}

/// Adds the admins Ann and Bob.
pub(crate) fn add_admins(home: &TestHome) {
    for email in [ANN, BOB] {
        add(home, email, UserRole::InstitutionAdmin);
    }
}

fn letters() -> String {
    format!("{INSTITUTION}/letters")
}

fn request(home: &TestHome, email: &str) -> DeletionView {
    deletions::of_object(&as_user(home, email), &letters(), &[], REASON).expect("is requested")
}

fn approve(home: &TestHome, email: &str, id: DeletionRequestId) -> Result<DeletionView, EngineError> {
    deletions::approve(&as_user(home, email), id, None)
}

fn state(home: &TestHome, id: DeletionRequestId) -> DeletionRequestState {
    deletions::show(&console(home), id).expect("shows").state
}

/// The words of a refusal that scripts see as exit code 4.
fn refusal<T: std::fmt::Debug>(outcome: Result<T, EngineError>) -> String {
    let error = outcome.expect_err("is refused");
    let cause = if let EngineError::Advised(advised) = &error { &advised.error } else { &error };
    assert!(matches!(cause, EngineError::NotAllowed { .. } | EngineError::Refused(_)), "{error:?}");
    error.chain()
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{text}");
}

fn keep(home: &TestHome) {
    let task = TASKS.iter().find(|task| task.name == "deletions").expect("the task");
    run_now(home, task, &Shutdown::new()).expect("runs");
}

/// Works on the first stage of a request alone; its work items are then there.
fn expand(home: &TestHome, request: &DeletionView) -> Vec<Item> {
    let batch = request.batch.expect("a batch");
    let wanted = usize::try_from(request.objects).expect("fits");
    let found = || {
        let filter = ItemFilter { batch: Some(batch), ..ItemFilter::default() };
        let mut found = home.registry.read(|tx| items::list(tx, Scope::System, &filter, None, 1_000)).expect("lists");
        found.retain(|item| item.action.as_str() != "delete_batch");
        found
    };
    let list = |status: ItemStatus| {
        let filter = ItemFilter { batch: Some(batch), status: Some(status), ..ItemFilter::default() };
        home.registry.read(|tx| items::list(tx, Scope::System, &filter, None, 1_000)).expect("lists")
    };
    let is_made = || list(ItemStatus::Succeeded).iter().any(|item| item.action.as_str() == "delete_batch");
    let runtime = strongroom_engine::build_runtime(&home.home, Some(&["deletion.expand".to_owned()]));
    runtime.expect("a runtime").build().run_until(&Shutdown::new(), &is_made);
    let found = found();
    assert_eq!(found.len(), wanted);
    found
}

fn steer(home: &TestHome, item: &Item, ask: Ask) -> Result<(), EngineError> {
    item_acts::steer(&console(home), &[item.id], ask, None).map(drop)
}

fn another_admin_approves_and_never_the_requester(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    has(&refusal(deletions::of_object(&console(&home), &letters(), &[], REASON)), "no user of the registry");
    let made = request(&home, ANN);
    assert_eq!(
        (made.state, made.requested_by.as_str(), made.reason.as_str()),
        (DeletionRequestState::Requested, ANN, REASON)
    );
    let object = home.object("letters");
    assert_eq!((made.requested_account.as_deref(), made.objects), (Some("tester"), 1));
    assert_eq!((made.files, made.bytes), (object.files, Some(object.bytes)));
    let survey = Survey::of(home.path(), &home.settings, Some(&home.registry), Counting::Bounded).expect("looks");
    let found = status::collect(home.path(), &home.settings, &home.registry, &survey);
    assert_eq!(found.expect("collects").requested_deletions, 1);
    has(&refusal(approve(&home, ANN, made.request)), "requested by the same user");
    has(&refusal(deletions::approve(&console(&home), made.request, None)), "no user of the registry");
    has(&refusal(deletions::approve(&signed_in(&home, BOB), made.request, None)), "token");
    // Not a user of another role, of another institution, or one that was deactivated.
    add(&home, CARL, UserRole::InstitutionUser);
    has(&refusal(approve(&home, CARL, made.request)), "does not include it");
    let other = InstitutionId::new();
    home.registry.write(move |tx| tenants::add_institution(tx, other, "other.edu", "Other")).expect("adds");
    let new = NewUser {
        email: "eve@other.edu".to_owned(),
        role: UserRole::InstitutionAdmin,
        institution: Some("other.edu".to_owned()),
        password: None,
    };
    users::add(&console(&home), new).expect("is added");
    let foreign = approve(&home, "eve@other.edu", made.request).expect_err("is not seen");
    assert!(matches!(foreign, EngineError::Registry(RegistryError::NotFound { .. })), "{foreign:?}");
    let bob = as_user(&home, BOB);
    users::deactivate(&console(&home), BOB).expect("is deactivated");
    has(&refusal(deletions::approve(&bob, made.request, None)), "deactivated");
    users::activate(&console(&home), BOB).expect("is activated");
    // The requester has to be one who may request, still.
    users::set(&console(&home), ANN, Changes { role: Some(UserRole::Auditor), ..Changes::default() }).expect("is set");
    has(&refusal(approve(&home, BOB, made.request)), "auditor");
    let role = Some(UserRole::InstitutionAdmin);
    users::set(&console(&home), ANN, Changes { role, ..Changes::default() }).expect("is set");
    let approved = deletions::approve(&as_user(&home, BOB), made.request, Some("agreed")).expect("is approved");
    assert_eq!((approved.state, approved.approved_by.as_deref()), (DeletionRequestState::Approved, Some(BOB)));
    assert_eq!((approved.note.as_deref(), approved.approved_account.as_deref()), (Some("agreed"), Some("tester")));
    let lines = home.registry.read(|tx| journal::list(tx, Scope::System, &LineFilter::default(), None, 1_000));
    let of_acts: Vec<(String, Option<String>)> = lines
        .expect("lists")
        .into_iter()
        .filter(|line| line.act.starts_with("deletions.") && line.outcome.as_str() == "done")
        .map(|line| (line.act, line.detail))
        .collect();
    let wanted = [("deletions.request", REASON), ("deletions.approve", "agreed")];
    assert_eq!(of_acts, wanted.map(|(act, detail)| (act.to_owned(), Some(detail.to_owned()))));
    has(&refusal(approve(&home, BOB, made.request)), &format!("was approved by {BOB}"));
    has(&refusal(deletions::deny(&as_user(&home, BOB), made.request, "no")), "was approved by");
}

fn a_system_admin_approves_where_no_other_admin_can(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    add(&home, ROOT, UserRole::SystemAdmin);
    let made = request(&home, ANN);
    has(&refusal(approve(&home, ROOT, made.request)), "the institution has another admin");
    users::deactivate(&console(&home), BOB).expect("is deactivated");
    let approved = approve(&home, ROOT, made.request).expect("is approved");
    assert_eq!(approved.approved_by.as_deref(), Some(ROOT));
}

fn a_system_admin_requests_and_an_admin_of_the_institution_approves(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    add(&home, ROOT, UserRole::SystemAdmin);
    add(&home, "second@example.net", UserRole::SystemAdmin);
    let made = request(&home, ROOT);
    has(&refusal(approve(&home, "second@example.net", made.request)), "an admin of the institution has to approve it");
    assert_eq!(approve(&home, ANN, made.request).expect("is approved").state, DeletionRequestState::Approved);
}

fn users_whom_the_requester_has_made_do_not_approve(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    home.ingest("letters", &[("a.txt", b"one")]);
    add(&home, ANN, UserRole::InstitutionAdmin);
    add(&home, ROOT, UserRole::SystemAdmin);
    add(&home, CARL, UserRole::InstitutionUser);
    add_by(&as_user(&home, ANN), BOB, UserRole::InstitutionAdmin);
    let role = Some(UserRole::InstitutionAdmin);
    users::set(&as_user(&home, ANN), CARL, Changes { role, ..Changes::default() }).expect("is raised");
    // Nor the other way round, and not of two whom one admin has made.
    let made = request(&home, BOB);
    has(&refusal(approve(&home, ANN, made.request)), "one made the other");
    has(&refusal(approve(&home, CARL, made.request)), "an admin made both");
    deletions::cancel(&as_user(&home, BOB), made.request, "again").expect("is cancelled");
    let made = request(&home, ANN);
    has(&refusal(approve(&home, BOB, made.request)), "one made the other");
    has(&refusal(approve(&home, CARL, made.request)), "changed what the other may do");
    // Who asked is the same person to them, so no other admin can.
    assert_eq!(approve(&home, ROOT, made.request).expect("is approved").state, DeletionRequestState::Approved);
    deletions::cancel(&as_user(&home, ANN), made.request, "again").expect("is cancelled");
    home.clock.advance(31 * DAY);
    let made = request(&home, ANN);
    assert_eq!(approve(&home, BOB, made.request).expect("is approved").state, DeletionRequestState::Approved);
    deletions::cancel(&as_user(&home, ANN), made.request, "again").expect("is cancelled");
    // Also after the request.
    let made = request(&home, ANN);
    users::deactivate(&as_user(&home, ANN), BOB).expect("is deactivated");
    users::activate(&as_user(&home, ANN), BOB).expect("is activated");
    has(&refusal(approve(&home, BOB, made.request)), "one made the other");
}

fn of_two_approvals_at_once_one_is_done(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    add(&home, CARL, UserRole::InstitutionAdmin);
    let made = request(&home, ANN);
    let outcomes: Vec<Result<DeletionView, EngineError>> = std::thread::scope(|scope| {
        let both = [BOB, CARL].map(|email| {
            let call = as_user(&home, email);
            scope.spawn(move || deletions::approve(&call, made.request, None))
        });
        both.into_iter().map(|one| one.join().expect("ends")).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    let shown = deletions::show(&console(&home), made.request).expect("shows");
    let by = shown.approved_by.clone().expect("is approved");
    let failed = outcomes.into_iter().find(Result::is_err).expect("one failed");
    has(&refusal(failed), &format!("was approved by {by}"));
    assert_eq!(expand(&home, &shown).len(), 1, "one batch, one work item");
}

fn of_an_approval_and_a_cancellation_at_once_both_leave_one_outcome(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    for _ in 0..5 {
        let made = request(&home, ANN);
        let (approver, requester) = (as_user(&home, BOB), as_user(&home, ANN));
        let (approved, cancelled) = std::thread::scope(|scope| {
            let approved = scope.spawn(|| deletions::approve(&approver, made.request, None));
            let cancelled = scope.spawn(|| deletions::cancel(&requester, made.request, "mistake"));
            (approved.join().expect("ends"), cancelled.join().expect("ends"))
        });
        cancelled.expect("is cancelled before or after the approval");
        assert_eq!(state(&home, made.request), DeletionRequestState::Cancelled);
        match approved {
            Err(error) => has(&refusal::<()>(Err(error)), "was cancelled by"),
            // What was approved first has no work item that goes on.
            Ok(view) => {
                let filter = ItemFilter { batch: view.batch, ..ItemFilter::default() };
                let items = home.registry.read(|tx| items::list(tx, Scope::System, &filter, None, 10)).expect("lists");
                assert!(items.iter().all(|item| item.status == ItemStatus::Cancelled), "{items:?}");
            }
        }
    }
}

fn of_two_requests_for_the_same_object_at_once_one_is_made(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    let outcomes: Vec<Result<DeletionView, EngineError>> = std::thread::scope(|scope| {
        let both = [ANN, BOB].map(|email| {
            let call = as_user(&home, email);
            scope.spawn(move || deletions::of_object(&call, &letters(), &[], REASON))
        });
        both.into_iter().map(|one| one.join().expect("ends")).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    let failed = outcomes.into_iter().find(Result::is_err).expect("one failed");
    has(&refusal(failed), "another open request names");
}

fn a_request_that_was_not_approved_in_time_stays_expired(engine: Engine) {
    let Some(home) = world(engine, "[deletion]\nrequest_lifetime = \"3d\"\n") else { return };
    let made = request(&home, ANN);
    home.clock.advance(3 * DAY);
    assert_eq!(state(&home, made.request), DeletionRequestState::Expired, "also before that is recorded");
    has(&refusal(approve(&home, BOB, made.request)), "has expired");
    home.clock.set_back(2 * DAY);
    assert_eq!(state(&home, made.request), DeletionRequestState::Expired);
    has(&refusal(approve(&home, BOB, made.request)), "has expired");
    has(&refusal(deletions::cancel(&as_user(&home, ANN), made.request, "mistake")), "has expired");
    // The background task records it as well; what has expired keeps no other request from being made.
    let second = request(&home, ANN);
    home.clock.advance(3 * DAY);
    keep(&home);
    home.clock.set_back(2 * DAY);
    has(&refusal(approve(&home, BOB, second.request)), "has expired");
    let third = request(&home, ANN);
    assert_eq!(approve(&home, BOB, third.request).expect("is approved").state, DeletionRequestState::Approved);
}

/// A token by which a user may approve a request.
fn token(home: &TestHome, email: &str, request: DeletionRequestId) -> Token {
    let token = Token::generate(TokenKind::DeletionApproval).expect("a token");
    let (id, digest, user) = (token.id(), token.digest(), id_of(home, email));
    home.registry
        .write(move |tx| {
            let expires_at = deletion_requests::find(tx, Scope::System, request)?.expires_at;
            let (id, digest) = (id.clone(), digest.clone());
            approval_tokens::put(tx, &NewToken { id, digest, request, user, expires_at })
        })
        .expect("is stored");
    token
}

fn a_token_is_for_one_user_and_one_time(engine: Engine) {
    let Some(home) = world(engine, "[deletion]\nconsole_approval = false\n") else { return };
    add(&home, CARL, UserRole::InstitutionAdmin);
    let by = |email: &str, token: &Token| deletions::approve_by_token(&signed_in(&home, email), token.reveal(), None);
    let made = request(&home, ANN);
    has(&refusal(approve(&home, BOB, made.request)), "console_approval");
    let (bobs, carls, anns) =
        (token(&home, BOB, made.request), token(&home, CARL, made.request), token(&home, ANN, made.request));
    has(&refusal(by(CARL, &bobs)), "approves nothing");
    has(&refusal(by(ANN, &anns)), "requested by the same user");
    let unknown = Token::generate(TokenKind::DeletionApproval).expect("a token");
    has(&refusal(by(BOB, &unknown)), "approves nothing");
    let other_kind = Token::generate(TokenKind::Session).expect("a token");
    has(&refusal(by(BOB, &other_kind)), "approves nothing");
    // One that was deactivated.
    let bob = signed_in(&home, BOB);
    users::deactivate(&console(&home), BOB).expect("is deactivated");
    has(&refusal(deletions::approve_by_token(&bob, bobs.reveal(), None)), "deactivated");
    users::activate(&console(&home), BOB).expect("is activated");
    // One of two at once.
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let both = [&bobs, &bobs].map(|token| scope.spawn(|| by(BOB, token)));
        both.into_iter().map(|one| one.join().expect("ends")).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    has(&refusal(by(BOB, &bobs)), "approves nothing");
    has(&refusal(by(CARL, &carls)), "approves nothing");
    // It ends with its request, and a clock that is turned back revives none.
    deletions::cancel(&as_user(&home, ANN), made.request, "again").expect("is cancelled");
    let second = request(&home, ANN);
    let late = token(&home, BOB, second.request);
    home.clock.advance(7 * DAY);
    has(&refusal(by(BOB, &late)), "approves nothing");
    keep(&home);
    home.clock.set_back(6 * DAY);
    has(&refusal(by(BOB, &late)), "approves nothing");
}

fn nothing_is_made_where_anything_is_wrong(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    home.ingest("maps", &[("a.txt", b"map")]);
    let ann = as_user(&home, ANN);
    let of = |lines: &[&str]| deletions::of_list(&ann, &mut lines.iter().map(|line| Ok((*line).to_owned())), REASON);
    let wrong =
        of(&["test.edu/letters", "test.edu/none", "test.edu/maps\tdata/none.txt"]).expect_err("is wrong").chain();
    has(&wrong, "test.edu/none");
    has(&wrong, "data/none.txt");
    assert!(of(&["# nothing", ""]).expect_err("is empty").chain().contains("no object is named"));
    assert!(deletions::of_object(&ann, &letters(), &[], " ").expect_err("no reason").chain().contains("reason"));
    let long = "x".repeat(2_001);
    assert!(deletions::of_object(&ann, &letters(), &[], &long).is_err());
    // Tag files of the deposit can be deleted, what the program wrote itself cannot.
    assert!(deletions::of_object(&ann, &letters(), &["submission/v1/manifest-md5.txt".to_owned()], REASON).is_err());
    let now_open =
        of(&["# a comment", "test.edu/maps", "test.edu/letters\tdata/a.txt", "test.edu/letters\tdata/a.txt"]);
    let now_open = now_open.expect("is requested");
    let whole = home.object("maps");
    assert_eq!((now_open.objects, now_open.files), (2, whole.files + 1));
    assert!(now_open.bytes > Some(whole.bytes), "and the bytes of the other file");
    let targets = deletions::targets(&ann, now_open.request, None).expect("lists").items;
    let mut paths: Vec<(String, Option<String>)> =
        targets.into_iter().map(|DeletionTargetView { object, path, .. }| (object, path)).collect();
    paths.sort();
    assert_eq!(paths, [(letters(), Some("data/a.txt".to_owned())), ("test.edu/maps".to_owned(), None)]);
    // Another file of the object may be named by another request, and the object as a whole may not.
    has(&refusal(of(&["test.edu/letters"])), &now_open.request.to_string());
    has(&refusal(of(&["test.edu/maps\tdata/a.txt"])), &now_open.request.to_string());
    let other = of(&["test.edu/letters\tdata/b.txt"]).expect("is requested");
    deletions::deny(&as_user(&home, BOB), other.request, "no").expect("is denied");
    // What stands against it, when it is asked for and when it is approved.
    let object = home.object("letters");
    let hold = LegalHoldId::new();
    home.registry
        .write(move |tx| {
            let actor = &Actor::new(ActorKind::User, BOB);
            let (on, institution) = (On::Object(object.id), object.institution);
            legal_holds::place(tx, &NewLegalHold { id: hold, on, institution, reason: "a case", actor })
        })
        .expect("is placed");
    has(&refusal(of(&["test.edu/letters\tdata/b.txt"])), &format!("legal hold {hold}"));
    has(&refusal(approve(&home, BOB, now_open.request)), &format!("legal hold {hold}"));
    assert_eq!(state(&home, now_open.request), DeletionRequestState::Requested);
    let listed = deletions::list(&ann, &Filter::default(), None).expect("lists").items;
    assert_eq!(listed.len(), 2, "nothing else was made: {listed:?}");
    let of_maps = Filter { object: Some("test.edu/maps".to_owned()), ..Filter::default() };
    assert_eq!(deletions::list(&ann, &of_maps, None).expect("lists").items.len(), 1);
    let denied = Filter { state: Some(DeletionRequestState::Denied), ..Filter::default() };
    assert_eq!(deletions::list(&ann, &denied, None).expect("lists").items[0].request, other.request);
}

fn each_object_gets_a_work_item_behind_older_deposits_and_before_later_ones(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    home.ingest("maps", &[("a.txt", b"map"), ("b.txt", b"other")]);
    let lines = ["test.edu/letters", "test.edu/maps\tdata/a.txt", "test.edu/maps\tdata/b.txt"];
    let made = deletions::of_list(&as_user(&home, ANN), &mut lines.iter().map(|line| Ok((*line).to_owned())), REASON);
    let made = made.expect("is requested");
    // A deposit that comes before the approval stands against it; one that comes later waits.
    let again = |name: &str| {
        let source = PackageSource::LocalPath(home.bag(name, &[("c.txt", b"three")]));
        let request = DepositRequest { sources: vec![source], ..DepositRequest::of_system(INSTITUTION) };
        deposit(&home, &request).expect("deposits").items[0]
    };
    let older = again("letters");
    has(&refusal(approve(&home, BOB, made.request)), &older.to_string());
    item_acts::steer(&console(&home), &[older], Ask::Cancel, None).expect("is cancelled");
    let approved = approve(&home, BOB, made.request).expect("is approved");
    let between = again("letters");
    let items = expand(&home, &approved);
    let of = |name: &str| items.iter().find(|item| item.object_identifier == name).expect("an item").clone();
    let (whole, files) = (of("test.edu/letters"), of("test.edu/maps"));
    assert_eq!((whole.action.as_str(), files.action.as_str()), ("delete_object", "delete_files"));
    let later = again("maps");
    let older_of = |id| {
        home.registry
            .read(|tx| {
                let item = items::find(tx, Scope::System, id)?;
                items::older_open(tx, &item)
            })
            .expect("looks")
    };
    assert_eq!((older_of(later), older_of(whole.id)), (Some(files.id), Some(between)));
    assert_eq!(later_waits_by(&home, later), later_waits_by(&home, files.id), "the end of one wakes the other");
    let (request, named) = home
        .registry
        .read(|tx| {
            let request = deletion_requests::of_item(tx, &files)?.expect("is of a request");
            let named = deletion_targets::files(tx, request.id, files.object.expect("an object"), None, 10)?;
            Ok::<_, RegistryError>((request, named))
        })
        .expect("reads");
    assert_eq!((request.requested.name.as_str(), request.reason.as_str()), (ANN, REASON));
    assert_eq!(request.approved.map(|act| act.name).as_deref(), Some(BOB));
    let mut paths: Vec<String> = named.into_iter().map(|(_, path)| path).collect();
    paths.sort();
    assert_eq!(paths, ["deposit/data/a.txt", "deposit/data/b.txt"]);
    let shown = deletions::show(&console(&home), made.request).expect("shows");
    assert_eq!((shown.open, shown.deleted), (Some(2), Some(0)));
}

fn later_waits_by(home: &TestHome, id: ItemId) -> Option<WaitKey> {
    home.registry.read(|tx| items::find(tx, Scope::System, id)).expect("the item").wait_key
}

/// Whether a work item of a request begins to delete, of which it then records that.
fn begins(home: &TestHome, request: DeletionRequestId, item: ItemId) -> bool {
    let begun = home.registry.write(move |tx| {
        if !deletion_requests::keep_approved(tx, request)? {
            return Ok(false);
        }
        let found = items::find(tx, Scope::System, item)?;
        let object = objects::get(tx, Scope::System, found.object.expect("an object"))?.expect("is there");
        let deletion = Deletion {
            id: DeletionId::new(),
            item: Some(item),
            institution: object.institution,
            object: object.id,
            generation: object.generation,
            files: None,
            state: RowState::Begun,
            name: "deletion.json".to_owned(),
            tombstone: "{}".to_owned(),
            begun_at: tx.now()?,
            settled_at: None,
            completed_at: None,
        };
        let beginning = begun_deletions::begin(tx, Scope::System, (&deletion, &[]), None)?;
        Ok::<_, RegistryError>(beginning == Beginning::Begun)
    });
    begun.expect("asks")
}

fn a_cancelled_request_cancels_what_has_not_begun(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    home.ingest("maps", &[("a.txt", b"map")]);
    let lines = || ["test.edu/letters", "test.edu/maps"].into_iter().map(|line| Ok(line.to_owned()));
    let ask = || deletions::of_list(&as_user(&home, ANN), &mut lines(), REASON).expect("is requested");
    let made = ask();
    let approved = approve(&home, BOB, made.request).expect("is approved");
    let items = expand(&home, &approved);
    let begun = items[0].id;
    let (of, id) = (made.request, begun);
    assert!(begins(&home, of, id));
    let cancelled = deletions::cancel(&as_user(&home, ANN), made.request, "mistake").expect("is cancelled");
    assert_eq!(
        (cancelled.state, cancelled.begun, cancelled.cancelled),
        (DeletionRequestState::Cancelled, Some(1), Some(1))
    );
    has(&refusal(deletions::cancel(&as_user(&home, ANN), made.request, "again")), "was cancelled by");
    // What was cancelled is not requeued.
    let refused = steer(&home, &items[1], Ask::Requeue(None)).expect_err("is refused").chain();
    has(&refused, "cancelled");
    let (of, id) = (made.request, items[1].id);
    assert!(!begins(&home, of, id), "none begins any more");
    // Where all have begun, nothing is left to cancel.
    home.ingest("plans", &[("a.txt", b"plan")]);
    let made = deletions::of_object(&as_user(&home, ANN), "test.edu/plans", &[], REASON).expect("is requested");
    let approved = approve(&home, BOB, made.request).expect("is approved");
    let (of, id) = (made.request, expand(&home, &approved)[0].id);
    assert!(begins(&home, of, id));
    has(&refusal(deletions::cancel(&as_user(&home, ANN), made.request, "mistake")), "cannot be cancelled");
    assert_eq!(state(&home, made.request), DeletionRequestState::Approved);
}

fn what_failed_is_done_again_only_for_a_request_that_is_approved(engine: Engine) {
    let Some(home) = world(engine, "") else { return };
    let made = request(&home, ANN);
    let approved = approve(&home, BOB, made.request).expect("is approved");
    let item = expand(&home, &approved).remove(0);
    steer(&home, &item, Ask::Fail).expect("fails");
    assert_eq!(state(&home, made.request), DeletionRequestState::Failed, "with the end of its batch");
    steer(&home, &item, Ask::Requeue(None)).expect("is requeued");
    assert_eq!(state(&home, made.request), DeletionRequestState::Approved);
    steer(&home, &item, Ask::Cancel).expect("is cancelled");
    assert_eq!(state(&home, made.request), DeletionRequestState::Cancelled, "its one work item was");
    let refused = steer(&home, &item, Ask::Requeue(None)).expect_err("is refused").chain();
    has(&refused, "request for deletion");
    assert_eq!(state(&home, made.request), DeletionRequestState::Cancelled);
    // The object is free for another request.
    assert_eq!(request(&home, ANN).state, DeletionRequestState::Requested);
}

fn what_failed_is_done_again_only_while_both_users_may_and_for_a_month(engine: Engine) {
    for user in [Some(ANN), Some(BOB), None] {
        let Some(home) = world(engine, "") else { return };
        let made = request(&home, ANN);
        let approved = approve(&home, BOB, made.request).expect("is approved");
        let item = expand(&home, &approved).remove(0);
        steer(&home, &item, Ask::Fail).expect("fails");
        home.clock.advance(Duration::from_hours(29 * 24));
        steer(&home, &item, Ask::Requeue(None)).expect("is requeued");
        steer(&home, &item, Ask::Fail).expect("fails");
        match user {
            Some(user) => _ = users::deactivate(&console(&home), user).expect("is deactivated"),
            None => home.clock.advance(Duration::from_hours(2 * 24)),
        }
        let refused = steer(&home, &item, Ask::Requeue(None)).expect_err("is refused").chain();
        has(&refused, user.unwrap_or("30 days ago"));
        has(&refused, "request the deletion again");
        assert_eq!(state(&home, made.request), DeletionRequestState::Failed);
    }
}

fn each_admin_is_told_of_each_act_once(engine: Engine) {
    let mail = "[mail]\nhost = \"localhost\"\nport = 1\ntls = \"none\"\nfrom = \"strongroom@example.edu\"\n";
    let Some(home) = world(engine, mail) else { return };
    let made = request(&home, ANN);
    let approved = approve(&home, BOB, made.request).expect("is approved");
    let item = expand(&home, &approved).remove(0);
    steer(&home, &item, Ask::Fail).expect("fails");
    keep(&home);
    keep(&home);
    steer(&home, &item, Ask::Requeue(None)).expect("is requeued");
    steer(&home, &item, Ask::Fail).expect("fails");
    keep(&home);
    let second = deletions::of_object(&as_user(&home, BOB), &letters(), &[], REASON).expect("is requested");
    deletions::deny(&as_user(&home, ANN), second.request, "no").expect("is denied");
    let institution = home.registry.read(|tx| tenants::institution(tx, Scope::System, INSTITUTION));
    let institution = institution.expect("reads").expect("is there").id;
    let told = home.registry.read(|tx| outbox::undelivered(tx, outbox::MAIL, institution, 0, 100)).expect("lists");
    // Not those that tell of new admins.
    let told: Vec<outbox::Message> = told.into_iter().filter(|message| message.key.starts_with("deletion ")).collect();
    let mut keys: Vec<String> = told.iter().map(|message| message.key.clone()).collect();
    keys.sort();
    let (ann, bob) = (id_of(&home, ANN), id_of(&home, BOB));
    let mut wanted: Vec<String> = [ann, bob]
        .iter()
        .flat_map(|user| {
            let of = |id: DeletionRequestId, act: &str, ends: u64| format!("deletion {id} {act} {ends} {user}");
            [
                of(made.request, "requested", 0),
                of(made.request, "approved", 0),
                of(made.request, "failed", 1),
                of(made.request, "failed", 2),
                of(second.request, "requested", 0),
                of(second.request, "denied", 0),
            ]
        })
        .collect();
    wanted.sort();
    assert_eq!(keys, wanted);
    assert!(told.iter().all(|message| message.payload.contains(REASON)));
    // The token is made when the mail is sent, for who may approve.
    let has_token = |message: &&outbox::Message| message.payload.contains("{token}");
    let with: Vec<&str> = told.iter().filter(has_token).map(|message| message.key.as_str()).collect();
    assert_eq!(with.len(), 2, "{with:?}");
    assert!(with.iter().all(|key| key.contains("requested")), "{with:?}");
    let secret = TokenKind::DeletionApproval.prefix();
    assert!(told.iter().all(|message| !message.payload.contains(secret)));
}
