//! Duplication policies: a version that was set applies at once, two people do not lose what the other has changed, and what deletes takes two.

use std::collections::BTreeMap;
use std::sync::Barrier;

use strongroom_engine::EngineError;
use strongroom_engine::app::duplication_policies::{self as policies, ImportOptions, NewVersion, SourceFile};
use strongroom_engine::app::users::{self, NewUser};
use strongroom_engine::app::views::{PolicyOutcome, SetPolicyView};
use strongroom_engine::app::{OpContext, UserRole};
use strongroom_engine::duplication::current;
use strongroom_registry::duplication_policies::{self as rows, NewPolicy};
use strongroom_registry::journal::{self, Actor, LineFilter};
use strongroom_registry::{InstitutionId, Scope, tenants};

use crate::deletions::{ANN, BOB, add_admins, as_user, console};
use crate::fixture::{Engine, INSTITUTION, TestHome, home_on, on_both_databases};

const OTHER: &str = "other.edu";
const ROOT: &str = "root@example.net";
const SECOND_ROOT: &str = "second@example.net";
const REASON: &str = "a second copy of everything";
const COPIES: &str = "default = [{ source = \"disk\", destination = \"cloud\" }]\n";
const DELETES: &str = "default = [{ source = \"disk\", destination = \"cloud\", delete = true }]\n";

on_both_databases! {
    a_version_applies_as_soon_as_it_is_set
    a_policy_that_cannot_be_read_disables_no_other_one
    a_policy_with_problems_changes_nothing_and_each_problem_is_told
    of_two_who_set_a_policy_at_once_one_is_told_of_the_other
    what_deletes_is_approved_by_another_user
    the_journal_has_each_act
    accounts_of_duracloud_are_imported_one_by_one
    what_a_space_has_is_shown_with_the_reason
    a_cycle_with_another_institution_is_said_to_system_admins_alone
    the_command_that_approves_a_version_is_named_until_it_is_approved
    an_institution_without_a_policy_is_not_said_to_lack_a_version
}

/// A home with plain stores, a second institution, the admins Ann and Bob, and two system admins.
fn world(engine: Engine) -> Option<TestHome> {
    let plain = |name: &str| format!("[plain_stores.{name}]\npath = \"plain/{name}\"\n");
    let home = home_on(engine, &["disk", "cloud", "tape"].map(plain).concat())?;
    home.registry
        .write(|tx| tenants::add_institution(tx, InstitutionId::new(), OTHER, "Other University"))
        .expect("adds an institution");
    add_admins(&home);
    for email in [ROOT, SECOND_ROOT] {
        let new = NewUser { email: email.to_owned(), role: UserRole::SystemAdmin, institution: None, password: None };
        users::add(&console(&home), new).expect("is added");
    }
    Some(home)
}

fn id_of(home: &TestHome, institution: &str) -> InstitutionId {
    home.registry.read(|tx| tenants::institution(tx, Scope::System, institution)).expect("reads").expect("is there").id
}

fn set(call: &OpContext, institution: &str, file: &str, if_version: Option<u64>) -> Result<SetPolicyView, EngineError> {
    let (institution, file) = (Some(institution.to_owned()), file.as_bytes().to_vec());
    policies::set(call, &NewVersion { institution, file, reason: REASON.to_owned(), if_version })
}

fn is_set(call: &OpContext, file: &str, if_version: Option<u64>) -> u64 {
    let view = set(call, INSTITUTION, file, if_version).expect("is set");
    assert_eq!(view.outcome, PolicyOutcome::Set, "{:?}", view.problems);
    view.version.expect("a version")
}

/// The rules of a space as a worker has them.
fn rules(home: &TestHome, institution: &str, space: &str) -> Vec<String> {
    let current = current(home, id_of(home, institution)).expect("reads").expect("is there");
    current.lookup().rules_for(space).rules().iter().map(ToString::to_string).collect()
}

fn has(error: &EngineError, part: &str) {
    let next = if let EngineError::Advised(advised) = error { advised.next.as_str() } else { "" };
    let text = format!("{} next: {next}", error.chain());
    assert!(text.contains(part), "{text}");
}

fn a_version_applies_as_soon_as_it_is_set(engine: Engine) {
    let Some(home) = world(engine) else { return };
    let call = console(&home);
    assert!(current(&home, id_of(&home, INSTITUTION)).expect("reads").is_none());
    has(&policies::show(&call, Some(INSTITUTION), None).expect_err("there is none"), "has no duplication policy");
    assert_eq!(is_set(&call, COPIES, None), 1);
    assert_eq!(rules(&home, INSTITUTION, "maps"), ["disk -> cloud"]);
    let document = policies::document(&call, Some(INSTITUTION), None).expect("shows").document;
    assert!(document.starts_with("based_on = 1\n"), "{document}");
    // A document that is shown, changed and set again says which version it replaces.
    assert_eq!(is_set(&call, &document.replace("cloud", "tape"), None), 2);
    assert_eq!(rules(&home, INSTITUTION, "maps"), ["disk -> tape"]);
    // Another process has read nothing before.
    let history = policies::history(&call, Some(INSTITUTION), None).expect("lists");
    let told: Vec<(u64, bool, &[String])> =
        history.items.iter().map(|one| (one.version, one.applies, one.changes.as_slice())).collect();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0], (1, false, ["there are default rules: disk -> cloud".to_owned()].as_slice()));
    assert!(told[1].1 && told[1].2.len() == 2, "{told:?}");
    // The same again changes nothing.
    let view = set(&call, INSTITUTION, &document.replace("cloud", "tape"), Some(2)).expect("is the same");
    assert_eq!((view.outcome, view.version), (PolicyOutcome::Unchanged, Some(2)));
}

fn a_policy_that_cannot_be_read_disables_no_other_one(engine: Engine) {
    let Some(home) = world(engine) else { return };
    let call = console(&home);
    is_set(&call, COPIES, None);
    let new = NewPolicy {
        institution: id_of(&home, OTHER),
        based_on: None,
        document: "{\"default\":[]}".to_owned(),
        deletes: false,
        reason: "written by a later program".to_owned(),
        actor: Actor::system(),
        user: None,
    };
    home.registry.write(move |tx| rows::set(tx, &new)).expect("is written");
    let broken = current(&home, id_of(&home, OTHER)).expect_err("cannot be read");
    has(&broken, "version 1 of the duplication policy cannot be used");
    has(&broken, "line 1 column");
    assert_eq!(rules(&home, INSTITUTION, "maps"), ["disk -> cloud"]);
    // It is replaced like every other one.
    let view = set(&call, OTHER, COPIES, Some(1)).expect("is set");
    assert_eq!((view.outcome, view.version), (PolicyOutcome::Set, Some(2)));
    assert_eq!(rules(&home, OTHER, "maps"), ["disk -> cloud"]);
    let history = policies::history(&call, Some(OTHER), None).expect("lists");
    assert!(history.items.iter().all(|one| one.changes[0].starts_with("not known")), "{history:?}");
}

fn a_policy_with_problems_changes_nothing_and_each_problem_is_told(engine: Engine) {
    let Some(home) = world(engine) else { return };
    let call = console(&home);
    let text = "defaults = 1\nignore = [\"a/b\"]\ndefault = [{ source = \"disk\", destination = \"primary\" }, \
                { source = \"disk\", destination = \"nowhere\" }]\n";
    let told = |view: &SetPolicyView| view.problems.iter().map(|one| one.code).collect::<Vec<_>>();
    let expected = ["unknown_key", "cannot_match", "not_plain", "unknown_store"];
    let checked = policies::check(&call, Some(INSTITUTION), text.as_bytes()).expect("is checked");
    assert_eq!((checked.outcome, told(&checked)), (PolicyOutcome::Refused, expected.to_vec()));
    let refused = set(&call, INSTITUTION, text, None).expect("is answered");
    assert_eq!((refused.outcome, told(&refused)), (PolicyOutcome::Refused, expected.to_vec()));
    assert!(current(&home, id_of(&home, INSTITUTION)).expect("reads").is_none());
    let checked = policies::check(&call, Some(INSTITUTION), COPIES.as_bytes()).expect("is checked");
    assert_eq!((checked.outcome, checked.version), (PolicyOutcome::Valid, None));
    assert!(current(&home, id_of(&home, INSTITUTION)).expect("reads").is_none());
    let (institution, file) = (Some(INSTITUTION.to_owned()), COPIES.as_bytes().to_vec());
    let unexplained = NewVersion { institution, file, reason: "  ".to_owned(), if_version: None };
    has(&policies::set(&call, &unexplained).expect_err("has no reason"), "the reason is empty");
    is_set(&call, COPIES, None);
    let checked = policies::check(&call, Some(INSTITUTION), COPIES.as_bytes()).expect("is checked");
    assert_eq!((checked.outcome, checked.version), (PolicyOutcome::Unchanged, Some(1)));
}

fn of_two_who_set_a_policy_at_once_one_is_told_of_the_other(engine: Engine) {
    let Some(home) = world(engine) else { return };
    is_set(&console(&home), COPIES, None);
    let barrier = Barrier::new(2);
    let outcomes: Vec<Result<SetPolicyView, EngineError>> = std::thread::scope(|scope| {
        let threads = [(ROOT, "tape"), (SECOND_ROOT, "none")].map(|(email, what)| {
            let (call, barrier) = (as_user(&home, email), &barrier);
            let file = if what == "none" { "default = \"none\"".to_owned() } else { COPIES.replace("cloud", what) };
            scope.spawn(move || {
                barrier.wait();
                set(&call, INSTITUTION, &file, Some(1))
            })
        });
        threads.map(|thread| thread.join().expect("ends")).into()
    });
    let (done, told): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert!(done.len() == 1 && told.len() == 1);
    for error in told.into_iter().filter_map(Result::err) {
        has(&error, "has version 2 of its duplication policy, set by ");
        has(&error, "this one was made from version 1");
        has(&error, "--if-version 2");
    }
    let unsaid = set(&console(&home), INSTITUTION, COPIES, None).expect_err("does not say");
    has(&unsaid, "does not say from which version it was made");
    has(
        &set(&console(&home), OTHER, COPIES, Some(1)).expect_err("there is none"),
        "other.edu has no duplication policy",
    );
}

fn what_deletes_is_approved_by_another_user(engine: Engine) {
    let Some(home) = world(engine) else { return };
    let deletes =
        || current(&home, id_of(&home, INSTITUTION)).expect("reads").is_some_and(|current| current.may_delete);
    let approve = |email: &str, version| policies::approve(&as_user(&home, email), Some(INSTITUTION), version);
    has(&set(&console(&home), INSTITUTION, DELETES, None).expect_err("is no user"), "the actor is no user");
    assert_eq!(is_set(&as_user(&home, ROOT), DELETES, None), 1);
    assert!(!deletes());
    // Its rules copy meanwhile.
    assert_eq!(rules(&home, INSTITUTION, "maps"), ["disk -> cloud, with deletions"]);
    has(&approve(ROOT, 1).expect_err("is the same"), "by the same user");
    has(&approve(SECOND_ROOT, 1).expect_err("answers for nothing"), "an admin of the institution has to approve it");
    has(&policies::approve(&console(&home), Some(INSTITUTION), 1).expect_err("is no user"), "the actor is no user");
    has(&approve(ANN, 2).expect_err("there is none"), "no version of the duplication policy");
    assert!(!deletes());
    let approved = approve(ANN, 1).expect("is approved");
    assert!(approved.may_delete && approved.approved_by.is_some_and(|by| by.starts_with(ANN)));
    assert!(deletes());
    has(&approve(BOB, 1).expect_err("is approved"), "approved by ann@test.edu");
    // A further version has to be approved again, also where it differs elsewhere.
    assert_eq!(is_set(&as_user(&home, ROOT), &format!("ignore = [\"x-*\"]\n{DELETES}"), Some(1)), 2);
    assert!(!deletes());
    has(&approve(BOB, 1).expect_err("is replaced"), "replaced by version 2");
    approve(BOB, 2).expect("is approved");
    assert!(deletes());
    assert_eq!(is_set(&console(&home), COPIES, Some(2)), 3);
    has(&approve(BOB, 3).expect_err("deletes nothing"), "needs no approval");
}

fn the_journal_has_each_act(engine: Engine) {
    let Some(home) = world(engine) else { return };
    is_set(&as_user(&home, ROOT), DELETES, None);
    set(&as_user(&home, ROOT), INSTITUTION, DELETES, Some(1)).expect("is the same");
    policies::approve(&as_user(&home, ANN), Some(INSTITUTION), 1).expect("is approved");
    set(&as_user(&home, ANN), INSTITUTION, COPIES, Some(1)).expect_err("may not");
    let filter = LineFilter { act: Some("duplication_policies".to_owned()), ..LineFilter::default() };
    let lines = home.registry.read(|tx| journal::list(tx, Scope::System, &filter, None, 100)).expect("lists");
    let told: Vec<(&str, &str, String)> =
        lines.iter().map(|line| (line.act.as_str(), line.target.as_str(), line.outcome.to_string())).collect();
    assert_eq!(
        told,
        [
            ("duplication_policies.set", "duplication policy version 1", "done".to_owned()),
            ("duplication_policies.approve", "duplication policy version 1", "done".to_owned()),
            ("duplication_policies.set", "", "refused".to_owned()),
        ]
    );
    assert!(lines.iter().all(|line| line.institution_identifier.as_deref() == Some(INSTITUTION)));
}

fn accounts_of_duracloud_are_imported_one_by_one(engine: Engine) {
    let Some(home) = world(engine) else { return };
    let file = |name: &str, text: &str| SourceFile { name: name.to_owned(), content: Ok(text.as_bytes().to_vec()) };
    let policy = r#"{"defaultPolicies": [{"srcStoreId": "0", "destStoreId": "1"}]}"#;
    let files = [
        file("duplication-accounts.json", r#"["test", "other.edu", "broken", "unknown", "managed"]"#),
        file("test-duplication-policy.json", policy),
        file("other.edu-duplication-policy.json", policy),
        file("broken-duplication-policy.json", "{"),
        file("unknown-duplication-policy.json", policy),
        file("managed-duplication-policy.json", &policy.replace("\"1\"", "\"9\"")),
    ];
    let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
    };
    let options = ImportOptions { stores: pairs(&[("0", "disk"), ("1", "cloud"), ("9", "primary")]), delete: false };
    let institutions = pairs(&[("test", INSTITUTION), ("managed", OTHER), ("nothing", OTHER)]);
    let import = |is_trial, options: &ImportOptions| {
        policies::import(&console(&home), &files, options, &institutions, (REASON, is_trial)).expect("is imported")
    };
    let outcomes = |view: &strongroom_engine::app::views::ImportedPoliciesView| -> Vec<(String, PolicyOutcome)> {
        view.accounts.iter().map(|one| (one.account.clone(), one.outcome)).collect()
    };
    let expected = |outcome| {
        let of = |account: &str, outcome| (account.to_owned(), outcome);
        let refused = PolicyOutcome::Refused;
        vec![
            of("broken", refused),
            of("managed", refused),
            of("other.edu", outcome),
            of("test", outcome),
            of("unknown", refused),
        ]
    };
    assert_eq!(outcomes(&import(true, &options)), expected(PolicyOutcome::Valid));
    assert!(current(&home, id_of(&home, INSTITUTION)).expect("reads").is_none());
    let view = import(false, &options);
    assert_eq!(outcomes(&view), expected(PolicyOutcome::Set));
    let problems = |account: &str| {
        let found = view.accounts.iter().find(|one| one.account == account).expect("is told");
        found.problems.join("; ")
    };
    assert!(problems("broken").contains("line 1 column 1"), "{}", problems("broken"));
    assert!(problems("managed").contains("the destination primary is no plain store"), "{}", problems("managed"));
    assert!(problems("unknown").contains("--account ACCOUNT=DOMAIN"), "{}", problems("unknown"));
    assert!(view.notes.iter().any(|note| note.contains("no account nothing")));
    assert_eq!(rules(&home, INSTITUTION, "maps"), ["disk -> cloud"]);
    assert_eq!(rules(&home, INSTITUTION, "x-snapshot-metadata"), [""; 0]);
    // Again changes nothing, and an import replaces no policy that people have changed.
    assert_eq!(outcomes(&import(false, &options)), expected(PolicyOutcome::Unchanged));
    is_set(&console(&home), COPIES, Some(1));
    let again = import(false, &options);
    let refused = again.accounts.iter().find(|one| one.account == "test").expect("is told");
    assert!(refused.problems[0].contains("has version 2 of a duplication policy already"), "{refused:?}");
    let deleting = ImportOptions { delete: true, ..options };
    let error = policies::import(&console(&home), &files, &deleting, &institutions, (REASON, false));
    has(&error.expect_err("is no user"), "the actor is no user");
}

fn what_a_space_has_is_shown_with_the_reason(engine: Engine) {
    let Some(home) = world(engine) else { return };
    let call = console(&home);
    let text = format!(
        "ignore = [\"x-*\"]\n{COPIES}\n[[spaces]]\nspace = \"maps-*\"\nrules = \"none\"\n[[spaces]]\nspace = \"maps-2*\"\n\
         rules = [{{ source = \"disk\", destination = \"tape\" }}]\n"
    );
    is_set(&call, &text, None);
    is_set(&call, "default = \"none\"", Some(1));
    let space = |version, space: &str| {
        let view = policies::show_space(&call, Some(INSTITUTION), version, space).expect("shows");
        let rules: Vec<String> = view.rules.iter().map(ToString::to_string).collect();
        (view.why, rules.join(", "), view.less_specific.join(", "))
    };
    let expected = |why: &str, rules: &str, others: &str| (why.to_owned(), rules.to_owned(), others.to_owned());
    assert_eq!(space(Some(1), "maps-2024"), expected("by the entry maps-2*", "disk -> tape", "maps-*"));
    assert_eq!(space(Some(1), "maps-1924"), expected("\"none\" by the entry maps-*", "", ""));
    assert_eq!(space(Some(1), "letters"), expected("by default", "disk -> cloud", ""));
    assert_eq!(space(Some(1), "x-admin"), expected("ignored by x-*", "", ""));
    assert_eq!(space(None, "letters"), expected("\"none\" by default", "", ""));
    let view = policies::show(&call, Some(INSTITUTION), Some(1)).expect("shows");
    assert_eq!((view.spaces.len(), view.version.applies, view.ignore), (2, false, vec!["x-*".to_owned()]));
    has(&policies::show(&call, Some(INSTITUTION), Some(9)).expect_err("there is none"), "duplicate policy history");
}

fn a_cycle_with_another_institution_is_said_to_system_admins_alone(engine: Engine) {
    let Some(home) = world(engine) else { return };
    let back = "default = [{ source = \"cloud\", destination = \"disk\" }]\n";
    set(&console(&home), OTHER, back, None).expect("is set");
    let told = |view: &SetPolicyView| -> Vec<String> {
        let of = view.problems.iter().filter(|one| one.code == "shared_cycle");
        of.map(|one| format!("{}; {}", one.problem, one.next)).collect()
    };
    let by_root = policies::check(&as_user(&home, ROOT), Some(INSTITUTION), COPIES.as_bytes()).expect("is checked");
    assert_eq!((by_root.outcome, told(&by_root).len()), (PolicyOutcome::Valid, 1), "{by_root:?}");
    let notice = &told(&by_root)[0];
    assert!(notice.contains("cloud -> disk -> cloud") && notice.contains("--institution other.edu"), "{notice}");
    let by_ann = policies::check(&as_user(&home, ANN), Some(INSTITUTION), COPIES.as_bytes()).expect("is checked");
    assert_eq!(told(&by_ann), [""; 0]);
    assert!(!format!("{by_ann:?}").contains(OTHER));
    // It is a notice: the policy is set.
    let set = set(&as_user(&home, ROOT), INSTITUTION, COPIES, None).expect("is set");
    assert_eq!((set.outcome, told(&set).len()), (PolicyOutcome::Set, 1));
}

fn the_command_that_approves_a_version_is_named_until_it_is_approved(engine: Engine) {
    let Some(home) = world(engine) else { return };
    let command =
        |version| format!("strongroom --as EMAIL duplicate policy approve {version} --institution {INSTITUTION}");
    let told = |view: &SetPolicyView| {
        view.problems.iter().find(|one| one.code == "needs_approval").map(|one| one.next.clone()).unwrap_or_default()
    };
    let check = || policies::check(&as_user(&home, ROOT), Some(INSTITUTION), DELETES.as_bytes()).expect("is checked");
    assert!(told(&check()).contains(&command(1)), "{}", told(&check()));
    let view = set(&as_user(&home, ROOT), INSTITUTION, DELETES, None).expect("is set");
    assert!(told(&view).contains(&command(1)), "{}", told(&view));
    assert!(told(&check()).contains(&command(1)), "it is the same version");
    policies::approve(&as_user(&home, ANN), Some(INSTITUTION), 1).expect("is approved");
    assert_eq!(told(&check()), "");
    let shown = policies::show(&as_user(&home, ROOT), Some(INSTITUTION), None).expect("shows");
    assert!(shown.problems.iter().all(|one| one.code != "needs_approval"), "{:?}", shown.problems);
}

fn an_institution_without_a_policy_is_not_said_to_lack_a_version(engine: Engine) {
    let Some(home) = world(engine) else { return };
    let error = policies::approve(&as_user(&home, ANN), Some(INSTITUTION), 1).expect_err("there is none");
    has(&error, "test.edu has no duplication policy");
    has(&error, "duplicate policy set FILE --reason TEXT --institution test.edu");
    let error = policies::show(&console(&home), Some(INSTITUTION), Some(1)).expect_err("there is none");
    has(&error, "test.edu has no duplication policy");
}
