//! Users sign in, prove a second factor and use keys: what is proved once is used once, wrong and unknown are answered alike, and no secret
//! is where it does not belong.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use strongroom_credentials::{AccountName, Token, TotpSecret};
use strongroom_engine::EngineError;
use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::second_factors::{self, Confirmed};
use strongroom_engine::app::sessions::{self, Missing, Proved, Resumed, Started};
use strongroom_engine::app::users::{self, Changes, NewUser};
use strongroom_engine::app::views::{FactorState, KeyView, UserView};
use strongroom_engine::app::{self, Caller, KeyScope, OpContext, Password, UserRole, institutions, keys};
use strongroom_engine::retention::sweep;
use strongroom_engine::runtime::Shutdown;
use strongroom_registry::{GrantAct, RegistryError, Scope, Time, journal};

use crate::fixture::{Engine, INSTITUTION, TestHome, home, home_on, on_both_databases};

const ANN: &str = "ann@test.edu";
const FIRST: &str = "seven teapots beside the harbour";
const SECOND: &str = "a lantern under eleven umbrellas";
/// Long enough beside a second factor only.
const SHORT: &str = "kq7 vellum zo";
const HOUR: Duration = Duration::from_hours(1);

on_both_databases! {
    wrong_unknown_and_deactivated_are_answered_alike
    a_code_is_used_once_and_so_is_a_backup_code
    a_token_to_choose_a_password_is_used_once
    no_code_is_spent_for_a_session_that_was_replaced
    who_made_or_raised_a_user_is_known
}

/// A call of the system, as a server makes it.
fn server(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), Caller::system())
}

fn console(home: &TestHome) -> OpContext {
    OpContext::new(home.home.clone(), Caller::at_console("tester"))
}

fn secret(text: &str) -> Password {
    app::password(text).expect("a password")
}

fn add(home: &TestHome, email: &str, role: UserRole, password: Option<&str>) -> UserView {
    let institution = (role != UserRole::SystemAdmin).then(|| INSTITUTION.to_owned());
    let new = NewUser { email: email.to_owned(), role, institution, password: password.map(secret) };
    users::add(&console(home), new).expect("is added")
}

fn ann(home: &TestHome) -> UserView {
    add(home, ANN, UserRole::InstitutionAdmin, Some(FIRST))
}

fn start(home: &TestHome, password: &str) -> Proved<Started> {
    sessions::start(&server(home), ANN, &secret(password), None).expect("answers")
}

fn right<T>(proved: Proved<T>) -> T {
    match proved {
        Proved::Right(proved) => proved,
        Proved::Wrong => panic!("it is wrong"),
        Proved::Wait(wait) => panic!("it has to wait for {wait}"),
    }
}

fn resume(home: &TestHome, token: &Token) -> Option<Resumed> {
    sessions::resume(&server(home), token.reveal()).expect("answers")
}

fn now(home: &TestHome) -> Time {
    home.registry.read(|tx| Ok::<_, RegistryError>(tx.now()?)).expect("the time")
}

/// The code of a secret at the time of the home (RFC 6238).
fn code(home: &TestHome, secret: &TotpSecret) -> String {
    let key = data_encoding::BASE32_NOPAD.decode(secret.reveal().to_uppercase().as_bytes()).expect("base32");
    let step = now(home).timestamp().as_second() / 30;
    let mut hmac = Hmac::<Sha1>::new_from_slice(&key).expect("a key");
    hmac.update(&step.to_be_bytes());
    let digest = hmac.finalize().into_bytes();
    let offset = usize::from(digest[19] & 0xf);
    let four = u32::from_be_bytes(digest[offset..offset + 4].try_into().expect("four bytes")) & 0x7fff_ffff;
    format!("{:06}", four % 1_000_000)
}

/// Sets up a second factor in a session.
fn set_up(home: &TestHome, token: &Token) -> (TotpSecret, Confirmed) {
    let factor = second_factors::begin(&server(home), token.reveal()).expect("begins");
    let code = code(home, &factor.secret);
    let confirmed = second_factors::confirm(&server(home), token.reveal(), &code, None).expect("answers");
    (factor.secret, right(confirmed))
}

fn confirm(home: &TestHome, token: &Token, code: &str) -> Proved<Token> {
    sessions::confirm(&server(home), token.reveal(), code, None).expect("answers")
}

fn next_step(home: &TestHome) {
    home.clock.advance(Duration::from_secs(30));
}

fn wrong_unknown_and_deactivated_are_answered_alike(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    ann(&home);
    let address: Option<IpAddr> = Some("192.0.2.7".parse().expect("an address"));
    let try_as = |email: &str, password: &str| {
        sessions::start(&server(&home), email, &secret(password), address).expect("answers")
    };
    let started = right(try_as(" ANN@Test.edu", FIRST));
    assert_eq!(started.missing, Missing::Nothing);
    let resumed = resume(&home, &started.token).expect("goes on");
    assert_eq!((resumed.caller.actor.name.as_str(), resumed.caller.roles), (ANN, vec![Role::InstitutionAdmin]));
    assert!(matches!(resumed.caller.scope, Scope::Institution(_)));
    assert!(users::show(&console(&home), ANN).expect("is there").signed_in_at.is_some());
    assert!(matches!(try_as(ANN, SECOND), Proved::Wrong) && matches!(try_as("eve@test.edu", FIRST), Proved::Wrong));
    users::deactivate(&console(&home), ANN).expect("is deactivated");
    assert!(matches!(try_as(ANN, FIRST), Proved::Wrong));
    // Accounts that there are and that there are not have to wait alike.
    for (email, tried) in [(ANN, 2), ("eve@test.edu", 1)] {
        for attempt in tried..5 {
            assert!(matches!(try_as(email, FIRST), Proved::Wrong), "{email} {attempt}");
        }
        assert!(matches!(try_as(email, FIRST), Proved::Wait(wait) if wait.as_secs() <= 30), "{email}");
    }
    users::activate(&console(&home), ANN).expect("is activated");
    assert!(matches!(try_as(ANN, FIRST), Proved::Wait(_)), "also with the right password");
    home.clock.advance(Duration::from_secs(30));
    assert!(matches!(try_as(ANN, FIRST), Proved::Right(_)));
}

fn a_code_is_used_once_and_so_is_a_backup_code(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    ann(&home);
    let (factor, confirmed) = set_up(&home, &right(start(&home, FIRST)).token);
    assert_eq!(users::show(&console(&home), ANN).expect("is there").second_factor, FactorState::Confirmed);
    let code_of_set_up = code(&home, &factor);

    let started = [(); 2].map(|()| right(start(&home, FIRST)));
    assert!(started.iter().all(|started| started.missing == Missing::Code));
    let resumed = resume(&home, &started[0].token).expect("goes on");
    assert!(resumed.caller.roles.is_empty() && resumed.missing == Missing::Code);
    assert!(matches!(confirm(&home, &started[0].token, &code_of_set_up), Proved::Wrong), "it was used");
    next_step(&home);
    let same = code(&home, &factor);
    let both: Vec<Proved<Token>> = std::thread::scope(|scope| {
        let both = started.each_ref().map(|started| scope.spawn(|| confirm(&home, &started.token, &same)));
        both.into_iter().map(|one| one.join().expect("ends")).collect()
    });
    let right_ones: Vec<&Token> =
        both.iter().filter_map(|one| if let Proved::Right(token) = one { Some(token) } else { None }).collect();
    assert_eq!(right_ones.len(), 1, "of two at once one: {both:?}");
    assert_eq!(resume(&home, right_ones[0]).expect("goes on").missing, Missing::Nothing);

    let backup = confirmed.backup_codes[0].reveal();
    let token = right(start(&home, FIRST)).token;
    assert!(resume(&home, &right(confirm(&home, &token, &backup))).is_some());
    assert!(resume(&home, &token).is_none(), "the token before has no more rights than before");
    let token = right(start(&home, FIRST)).token;
    assert!(matches!(confirm(&home, &token, &backup), Proved::Wrong), "it was used");
    assert!(matches!(confirm(&home, &token, "no code"), Proved::Wrong));
    // A clock that is turned back makes no code usable again; a backup code is left.
    home.clock.set_back(Duration::from_mins(1));
    assert!(matches!(confirm(&home, &token, &code(&home, &factor)), Proved::Wrong));
    let complete = right(confirm(&home, &token, &confirmed.backup_codes[1].reveal()));
    let renewed = second_factors::renew_backup_codes(&server(&home), complete.reveal()).expect("renews");
    let token = right(start(&home, FIRST)).token;
    assert!(matches!(confirm(&home, &token, &confirmed.backup_codes[2].reveal()), Proved::Wrong));
    assert!(matches!(confirm(&home, &token, &renewed[2].reveal()), Proved::Right(_)));
}

fn a_token_to_choose_a_password_is_used_once(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    add(&home, ANN, UserRole::Auditor, None);
    assert!(matches!(start(&home, FIRST), Proved::Wrong), "there is no password");
    let invited = users::make_token(&server(&home), ANN).expect("is invited");
    let token = invited.token.reveal();
    let choose = |password| users::choose_password(&server(&home), token, secret(password));
    assert!(choose("short").is_err(), "the token stays valid");
    let chosen: Vec<bool> = std::thread::scope(|scope| {
        let both = [FIRST, SECOND].map(|password| scope.spawn(move || choose(password).expect("answers")));
        both.into_iter().map(|one| one.join().expect("ends")).collect()
    });
    assert_eq!(chosen.iter().filter(|is_done| **is_done).count(), 1, "{chosen:?}");
    let password = if chosen[0] { FIRST } else { SECOND };
    let session = right(start(&home, password)).token;
    assert!(!choose(FIRST).expect("answers"), "it was used");

    let reset = |home: &TestHome| users::make_token(&server(home), ANN).expect("is reset").token;
    let late = reset(&home);
    home.clock.advance(HOUR);
    assert!(!users::choose_password(&server(&home), late.reveal(), secret(FIRST)).expect("answers"), "it has expired");
    let (older, newest) = (reset(&home), reset(&home));
    assert!(!users::choose_password(&server(&home), older.reveal(), secret(FIRST)).expect("answers"));
    assert!(users::choose_password(&server(&home), newest.reveal(), secret(FIRST)).expect("answers"));
    assert!(resume(&home, &session).is_none(), "sessions ended");
    let of_deactivated = reset(&home);
    users::deactivate(&console(&home), ANN).expect("is deactivated");
    assert!(!users::choose_password(&server(&home), of_deactivated.reveal(), secret(FIRST)).expect("answers"));
    users::make_token(&server(&home), ANN).expect_err("a deactivated user");
    assert!(!users::choose_password(&server(&home), "strongroom_reset_no", secret(FIRST)).expect("answers"));
}

#[test]
fn where_an_institution_requires_a_second_factor_a_session_begins_with_setting_one_up() {
    let home = home();
    ann(&home);
    let required = institutions::Changes { second_factor_required: Some(true), ..institutions::Changes::default() };
    institutions::set(&console(&home), INSTITUTION, required).expect("is set");
    let started = right(start(&home, FIRST));
    assert_eq!(started.missing, Missing::Factor);
    assert!(resume(&home, &started.token).expect("goes on").caller.roles.is_empty());
    assert!(sessions::confirm(&server(&home), started.token.reveal(), "123456", None).is_err());
    let wrong = second_factors::confirm(&server(&home), started.token.reveal(), "123456", None);
    assert!(wrong.is_err(), "none was begun");
    let (_, confirmed) = set_up(&home, &started.token);
    let resumed = resume(&home, &confirmed.token).expect("goes on");
    assert_eq!((resumed.missing, resumed.caller.roles), (Missing::Nothing, vec![Role::InstitutionAdmin]));
    assert!(resume(&home, &started.token).is_none());
    second_factors::begin(&server(&home), confirmed.token.reveal()).expect_err("there is one");

    // Beside it a password may be shorter, which needs a factor also where the institution asks for none.
    users::set_password(&console(&home), ANN, secret(SHORT)).expect("is set");
    let optional = institutions::Changes { second_factor_required: Some(false), ..institutions::Changes::default() };
    institutions::set(&console(&home), INSTITUTION, optional).expect("is set");
    second_factors::reset(&console(&home), ANN).expect("is reset");
    assert_eq!(right(start(&home, SHORT)).missing, Missing::Factor);
    users::set_password(&console(&home), ANN, secret(SHORT)).expect_err("too short without one");
}

#[test]
fn a_session_lasts_as_one_without_rights_when_a_second_factor_becomes_required() {
    let home = home();
    ann(&home);
    let token = right(start(&home, FIRST)).token;
    assert_eq!(resume(&home, &token).expect("goes on").missing, Missing::Nothing);
    let required = institutions::Changes { second_factor_required: Some(true), ..institutions::Changes::default() };
    institutions::set(&console(&home), INSTITUTION, required).expect("is set");
    let resumed = resume(&home, &token).expect("goes on");
    assert_eq!((resumed.missing, resumed.caller.roles), (Missing::Factor, Vec::new()));
    let (_, confirmed) = set_up(&home, &token);
    let resumed = resume(&home, &confirmed.token).expect("goes on");
    assert_eq!((resumed.missing, resumed.caller.roles), (Missing::Nothing, vec![Role::InstitutionAdmin]));
}

fn no_code_is_spent_for_a_session_that_was_replaced(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    ann(&home);
    let (_, confirmed) = set_up(&home, &right(start(&home, FIRST)).token);
    // Two requests with one backup code each, for one session: one completes it, and the code of the other is left.
    let token = right(start(&home, FIRST)).token;
    let codes = [1, 2].map(|at| confirmed.backup_codes[at].reveal().to_string());
    let done: Vec<bool> = std::thread::scope(|scope| {
        let both = codes.each_ref().map(|code| {
            let (home, token) = (&home, &token);
            scope.spawn(move || {
                sessions::confirm(&server(home), token.reveal(), code, None)
                    .is_ok_and(|proved| matches!(proved, Proved::Right(_)))
            })
        });
        both.into_iter().map(|one| one.join().expect("ends")).collect()
    });
    assert_eq!(done.iter().filter(|is_done| **is_done).count(), 1, "{done:?}");
    let left = if done[0] { &codes[1] } else { &codes[0] };
    let token = right(start(&home, FIRST)).token;
    assert!(matches!(confirm(&home, &token, left), Proved::Right(_)), "it was not spent");
}

fn who_made_or_raised_a_user_is_known(engine: Engine) {
    let Some(home) = home_on(engine, "") else { return };
    ann(&home);
    let caller = resume(&home, &right(start(&home, FIRST)).token).expect("goes on").caller;
    let of_ann = OpContext::new(home.home.clone(), caller);
    let ann = of_ann.user().expect("a user");
    let new = NewUser {
        email: "bob@test.edu".to_owned(),
        role: UserRole::InstitutionUser,
        institution: Some(INSTITUTION.to_owned()),
        password: None,
    };
    users::add(&of_ann, new).expect("is added");
    let changes = Changes { role: Some(UserRole::InstitutionAdmin), ..Changes::default() };
    users::set(&of_ann, "bob@test.edu", changes).expect("is raised");
    let again = Changes { role: Some(UserRole::InstitutionAdmin), ..Changes::default() };
    users::set(&console(&home), "bob@test.edu", again).expect("changes nothing");
    users::deactivate(&console(&home), "bob@test.edu").expect("is deactivated");
    users::activate(&console(&home), "bob@test.edu").expect("is activated");
    let grants = |since: Time| {
        let found = home.registry.read(|tx| {
            let bob = strongroom_registry::users::find(tx, Scope::System, &AccountName::new("bob@test.edu"))?;
            strongroom_registry::users::grants_since(tx, bob.id, since)
        });
        found.expect("reads")
    };
    let known: Vec<_> = grants(Time(0)).into_iter().map(|grant| (grant.act, grant.role, grant.by_user)).collect();
    let admin = UserRole::InstitutionAdmin;
    assert_eq!(
        known,
        [
            (GrantAct::Added, UserRole::InstitutionUser, Some(ann)),
            (GrantAct::Changed, admin, Some(ann)),
            (GrantAct::Activated, admin, None)
        ]
    );
    assert!(grants(now(&home).plus(1)).is_empty());
}

/// How far the ranks of two samples are apart, in standard deviations of their sum (Mann and Whitney): what is the same is beyond 4 once in
/// 16 000 times.
fn rank_distance(one: &[Duration], other: &[Duration]) -> f64 {
    let of =
        |durations: &[Duration], is_first: bool| durations.iter().map(|taken| (*taken, is_first)).collect::<Vec<_>>();
    let mut all = [of(one, true), of(other, false)].concat();
    all.sort_unstable();
    let ranks: f64 = (1_u32..).zip(&all).filter(|(_, (_, is_first))| *is_first).map(|(rank, _)| f64::from(rank)).sum();
    let count = |of: &[Duration]| f64::from(u32::try_from(of.len()).expect("few"));
    let (first, second) = (count(one), count(other));
    let expected = first * (first + second + 1.0) / 2.0;
    let deviation = (first * second * (first + second + 1.0) / 12.0).sqrt();
    (ranks - expected).abs() / deviation
}

#[test]
fn the_time_of_a_sign_in_does_not_tell_whether_there_is_the_account() {
    const ROUNDS: usize = 60;
    const BEYOND_CHANCE: f64 = 4.5;
    let home = home();
    ann(&home);
    let time = |email: &str| {
        let password = secret(SECOND);
        let begin = std::time::Instant::now();
        let answer = sessions::start(&server(&home), email, &password, None).expect("answers");
        let taken = begin.elapsed();
        assert!(matches!(answer, Proved::Wrong));
        taken
    };
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        if round % 4 == 0 {
            // The waits begin anew; after 100 attempts the account would be disabled, which is another test.
            home.clock.advance(25 * HOUR);
        }
        // Each is first as often as the other, so that what slows the machine meets both.
        if round % 2 == 0 {
            known.push(time(ANN));
            unknown.push(time("eve@test.edu"));
        } else {
            unknown.push(time("eve@test.edu"));
            known.push(time(ANN));
        }
    }
    let distance = rank_distance(&known, &unknown);
    assert!(distance < BEYOND_CHANCE, "{distance}: {known:?} {unknown:?}");
    // The same samples with a difference that was put in: a hash more for one of both.
    let mut sorted = known.clone();
    sorted.sort_unstable();
    let hash = sorted[ROUNDS / 2];
    let slower: Vec<Duration> = unknown.iter().map(|taken| *taken + hash).collect();
    let distance = rank_distance(&known, &slower);
    assert!(distance > BEYOND_CHANCE, "the test finds no difference: {distance}");
}

#[test]
fn lines_about_users_and_keys_say_what_changed() {
    let home = home();
    ann(&home);
    key(&home, &[KeyScope::Read, KeyScope::Deposit], None);
    let changes =
        Changes { role: Some(UserRole::InstitutionUser), password: Some(secret(SECOND)), ..Changes::default() };
    users::set(&console(&home), ANN, changes).expect("is set in one transaction");
    let refused = Changes { role: Some(UserRole::Auditor), reset_second_factor: true, ..Changes::default() };
    users::set(&console(&home), ANN, refused).expect_err("there is no second factor");
    assert_eq!(users::show(&console(&home), ANN).expect("is there").role, UserRole::InstitutionUser, "nothing changed");
    users::deactivate(&console(&home), ANN).expect("is deactivated");
    let lines = home.registry.read(|tx| journal::list(tx, Scope::System, &journal::LineFilter::default(), None, 99));
    let told: Vec<(String, String)> =
        lines.expect("lists").into_iter().filter_map(|line| Some((line.act, line.detail?))).collect();
    let has = |act: &str, text: &str| told.iter().any(|(of, detail)| of == act && detail.contains(text));
    assert!(has("users.add", "institution_admin of test.edu, with a password"), "{told:?}");
    assert!(has("keys.add", "scopes read, deposit; never expires"), "{told:?}");
    assert!(has("users.set", "institution_admin of test.edu becomes institution_user of test.edu"), "{told:?}");
    assert!(has("users.set_password", "sessions and tokens ended"), "{told:?}");
    assert!(has("users.deactivate", "1 keys revoked"), "{told:?}");
}

#[test]
fn a_session_ends_with_what_it_was_started_by() {
    let home = home();
    ann(&home);
    let session = || right(start(&home, FIRST)).token;
    let ends = |act: &dyn Fn()| {
        let token = session();
        assert!(resume(&home, &token).is_some());
        act();
        assert!(resume(&home, &token).is_none());
    };
    ends(&|| drop(users::set_password(&console(&home), ANN, secret(FIRST)).expect("is set")));
    ends(&|| {
        let changes = Changes { role: Some(UserRole::InstitutionUser), institution: None, ..Changes::default() };
        users::set(&console(&home), ANN, changes).expect("is set");
    });
    ends(&|| {
        users::deactivate(&console(&home), ANN).expect("is deactivated");
        users::activate(&console(&home), ANN).expect("is activated");
    });
    ends(&|| home.clock.advance(HOUR));
    let token = session();
    sessions::end(&server(&home), token.reveal()).expect("signs out");
    assert!(resume(&home, &token).is_none());
    sessions::end(&server(&home), token.reveal()).expect("has ended");
    assert!(sessions::resume(&server(&home), "strongroom_session_no").expect("answers").is_none());
    let left = session();
    home.clock.advance(13 * HOUR);
    assert_eq!(sweep(&home, &Shutdown::new()).expect("sweeps").credentials, 1);
    assert!(resume(&home, &left).is_none());
}

#[test]
fn the_token_of_a_session_is_replaced_and_the_one_before_is_accepted_for_a_minute() {
    let home = home();
    ann(&home);
    let first = right(start(&home, FIRST)).token;
    home.clock.advance(Duration::from_mins(15));
    let second = resume(&home, &first).expect("goes on").token.expect("is replaced");
    assert!(resume(&home, &first).expect("is on its way").token.is_none());
    assert!(resume(&home, &second).expect("goes on").token.is_none());
    home.clock.advance(Duration::from_secs(61));
    assert!(resume(&home, &first).is_none() && resume(&home, &second).is_some());
}

fn key(home: &TestHome, scopes: &[KeyScope], expires_at: Option<Time>) -> (KeyView, String) {
    let request = keys::Request { user: ANN.to_owned(), scopes: scopes.to_vec(), expires_at };
    let added = keys::add(&console(home), request).expect("is made");
    (added.key, added.token.reveal().to_owned())
}

fn by_key(home: &TestHome, token: &str) -> Option<OpContext> {
    let caller = keys::authenticate(&server(home), token).expect("answers")?;
    Some(OpContext::new(home.home.clone(), caller))
}

#[test]
fn a_key_acts_for_its_user_within_its_scopes_until_it_ends() {
    let home = home();
    ann(&home);
    let later = now(&home).plus(i64::try_from(HOUR.as_micros()).expect("fits"));
    let (late, late_token) = key(&home, &[KeyScope::Read], Some(later));
    let (read, token) = key(&home, &[KeyScope::Read], None);
    let call = by_key(&home, &token).expect("is valid");
    assert_eq!((call.actor().name.as_str(), call.actor().key.as_deref()), (ANN, Some(read.key.as_str())));
    users::list(&call, &users::Filter::default(), None).expect("reads");
    let refused = users::deactivate(&call, ANN).expect_err("no key does it").to_string();
    assert!(refused.contains("it is not done with a key"), "{refused}");
    let request = keys::Request { user: ANN.to_owned(), scopes: vec![KeyScope::Manage], expires_at: None };
    keys::add(&call, request).expect_err("no key makes a key");
    let refused = app::collections::hold(&call, INSTITUTION, "default", None).expect_err("it reads").to_string();
    assert!(refused.contains("the key does not have the scope manage"), "{refused}");

    let listed = keys::list(&console(&home), &keys::Filter::default(), None).expect("lists").items;
    let of = |key: &str| listed.iter().find(|one| one.key == key).expect("is listed");
    assert!(of(&read.key).last_used_at.is_some() && of(&late.key).last_used_at.is_none());
    home.clock.advance(HOUR);
    assert!(by_key(&home, &late_token).is_none() && by_key(&home, &token).is_some());
    // It acts with the rights that its user has now.
    let changes = Changes { role: Some(UserRole::InstitutionUser), institution: None, ..Changes::default() };
    users::set(&console(&home), ANN, changes).expect("is set");
    users::list(&by_key(&home, &token).expect("is valid"), &users::Filter::default(), None).expect_err("no admin");
    keys::revoke(&console(&home), &read.key[..8]).expect("is revoked");
    let refused = keys::revoke(&console(&home), &token).expect_err("it was").to_string();
    assert!(refused.contains(&read.key) && !refused.contains(&token), "{refused}");
    assert!(by_key(&home, &token).is_none());
    let (_, token) = key(&home, &[KeyScope::Read], None);
    assert!(by_key(&home, &token[..token.len() - 1]).is_none() && by_key(&home, "").is_none());
    users::deactivate(&console(&home), ANN).expect("is deactivated");
    assert!(by_key(&home, &token).is_none());
    users::activate(&console(&home), ANN).expect("is activated");
    assert!(by_key(&home, &token).is_none(), "it stays revoked");
}

/// Each says one thing of the user, and both hold afterwards.
#[test]
fn of_two_who_change_a_user_at_once_each_is_heard() {
    let home = home();
    ann(&home);
    let other = "other.example.edu";
    institutions::add(&console(&home), other, None).expect("is added");
    for number in 0..20 {
        let (role, institution) = if number % 2 == 0 {
            (UserRole::InstitutionUser, other)
        } else {
            (UserRole::InstitutionAdmin, INSTITUTION)
        };
        let set = |changes: Changes| users::set(&console(&home), ANN, changes).expect("is set");
        std::thread::scope(|scope| {
            scope.spawn(|| set(Changes { role: Some(role), institution: None, ..Changes::default() }));
            scope
                .spawn(|| set(Changes { role: None, institution: Some(institution.to_owned()), ..Changes::default() }));
        });
        let found = users::show(&console(&home), ANN).expect("is there");
        assert_eq!((found.role, found.institution.as_deref()), (role, Some(institution)));
    }
}

#[test]
fn an_institution_admin_manages_users_and_becomes_none_of_them() {
    let home = home();
    ann(&home);
    add(&home, "bob@test.edu", UserRole::InstitutionAdmin, Some(SECOND));
    add(&home, "root@example.net", UserRole::SystemAdmin, None);
    let caller = resume(&home, &right(start(&home, FIRST)).token).expect("goes on").caller;
    let own = OpContext::new(home.home.clone(), caller);
    let new = |role, institution: Option<&str>, password: Option<&str>| {
        let (email, institution) = (format!("new-{role}@test.edu"), institution.map(str::to_owned));
        users::add(&own, NewUser { email, role, institution, password: password.map(secret) })
    };
    let added = new(UserRole::Auditor, None, None).expect("is of the own institution");
    assert_eq!(added.institution.as_deref(), Some(INSTITUTION));
    let set = |email: &str, role, institution: Option<&str>| {
        users::set(
            &own,
            email,
            Changes { role: Some(role), institution: institution.map(str::to_owned), ..Changes::default() },
        )
    };
    set("bob@test.edu", UserRole::InstitutionUser, None).expect("is set");
    let key_for = |user: &str| {
        keys::add(&own, keys::Request { user: user.to_owned(), scopes: vec![KeyScope::Read], expires_at: None })
    };
    key_for(ANN).expect("is the own");
    let refused = [
        new(UserRole::SystemAdmin, None, None).expect_err("of the installation"),
        new(UserRole::InstitutionUser, None, Some(SECOND)).expect_err("with a password"),
        set(ANN, UserRole::SystemAdmin, None).expect_err("of the installation"),
        set("new-auditor@test.edu", UserRole::Auditor, Some("")).expect_err("of the installation"),
        users::set_password(&own, "bob@test.edu", secret(FIRST)).expect_err("a password"),
        users::make_token(&own, "bob@test.edu").expect_err("a token"),
        key_for("bob@test.edu").expect_err("a key"),
    ];
    for error in refused {
        assert!(matches!(error, EngineError::NotAllowed { .. }), "{error}");
    }
    for missing in [
        users::show(&own, "root@example.net").expect_err("is of the installation"),
        users::deactivate(&own, "root@example.net").expect_err("is of the installation"),
        new(UserRole::InstitutionUser, Some("other.edu"), None).expect_err("is another institution"),
    ] {
        assert!(matches!(missing, EngineError::Registry(RegistryError::NotFound { .. })), "{missing}");
    }
}

#[test]
fn a_lost_key_of_second_factors_is_told_and_another_is_made_when_they_are_reset() {
    let home = home();
    ann(&home);
    let (factor, _) = set_up(&home, &right(start(&home, FIRST)).token);
    let file = home.path().join("second-factors.key");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).expect("is there").permissions());
    assert_eq!(mode & 0o777, 0o600);
    let kept = std::fs::read(&file).expect("reads");
    std::fs::remove_file(&file).expect("is lost");
    next_step(&home);
    let token = right(start(&home, FIRST)).token;
    let sign_in = || sessions::confirm(&server(&home), token.reveal(), &code(&home, &factor), None);
    let told = |error: EngineError| {
        let EngineError::Advised(advised) = error else { panic!("{error}") };
        assert!(advised.next.contains("--reset-second-factor"), "{}", advised.next);
    };
    told(sign_in().expect_err("the key is missing"));
    add(&home, "bob@test.edu", UserRole::InstitutionUser, Some(SECOND));
    let of_bob = right(sessions::start(&server(&home), "bob@test.edu", &secret(SECOND), None).expect("answers")).token;
    told(second_factors::begin(&server(&home), of_bob.reveal()).expect_err("another key is not made"));
    assert!(!file.exists());
    std::fs::write(&file, &kept).expect("is restored");
    assert!(matches!(sign_in().expect("answers"), Proved::Right(_)));

    std::fs::remove_file(&file).expect("is lost");
    second_factors::reset(&console(&home), ANN).expect("is reset");
    set_up(&home, &of_bob);
    assert_ne!(std::fs::read(&file).expect("is made"), kept);
    std::fs::write(&file, &kept).expect("is the wrong one");
    let token = right(start(&home, FIRST)).token;
    told(second_factors::begin(&server(&home), token.reveal()).expect_err("another key"));
}

#[test]
fn no_secret_is_in_the_registry_the_journal_or_what_is_shown_of_errors() {
    let home = home();
    ann(&home);
    let started = right(start(&home, FIRST));
    let (factor, confirmed) = set_up(&home, &started.token);
    let (_, token) = key(&home, &[KeyScope::Read], None);
    let reset = users::make_token(&server(&home), ANN).expect("a token");
    let mut shown = format!("{started:?} {confirmed:?} {factor:?} {reset:?} {:?}", start(&home, FIRST));
    let wrong = app::password("a\u{0}b").expect_err("a control character");
    let short = users::set_password(&console(&home), ANN, secret(SHORT)).map(|user| format!("{user:?}"));
    let _ = write!(shown, "{wrong:?} {short:?} {:?}", users::set_password(&console(&home), ANN, secret("abcdefg")));
    let lines = home.registry.read(|tx| journal::list(tx, Scope::System, &journal::LineFilter::default(), None, 99));
    let _ = write!(shown, "{:?}", lines.expect("lists"));
    let acts = ["users.add", "second_factors.set", "keys.add", "users.make_token", "users.set_password"];
    assert!(acts.iter().all(|act| shown.contains(act)), "{shown}");

    let mut kept = Vec::new();
    for file in ["registry.db", "registry.db-wal"] {
        kept.extend(std::fs::read(home.path().join(file)).unwrap_or_default());
    }
    assert!(kept.windows(ANN.len()).any(|part| part == ANN.as_bytes()), "the registry is read");
    let of_key = &std::fs::read_to_string(home.path().join("second-factors.key")).expect("reads")[19..60];
    let base32 = factor.reveal();
    let raw = data_encoding::BASE32_NOPAD.decode(base32.to_uppercase().as_bytes()).expect("base32");
    let backup = confirmed.backup_codes[0].reveal();
    let secrets = [FIRST, SHORT, &token[32..], &started.token.reveal()[36..], &reset.token.reveal()[34..], of_key];
    for secret in secrets.into_iter().chain([base32.as_str(), backup.as_str()]) {
        assert!(!shown.contains(secret), "{secret} is shown");
        assert!(!kept.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret} is in the registry");
    }
    assert!(!kept.windows(raw.len()).any(|part| part == raw), "the secret of the second factor is in the registry");
}
