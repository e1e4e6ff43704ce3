//! Deletions by two users: what one begins from, and who agrees on it.

use std::sync::Arc;

use strongroom_credentials::AccountName;
use strongroom_engine::app::authorization::Role;
use strongroom_engine::app::users::{self, NewUser};
use strongroom_engine::app::views::DeletionView;
use strongroom_engine::app::{Caller, OpContext, UserRole, deletions};
use strongroom_engine::{EngineError, Home};
use strongroom_registry::items::{self, Item, ItemFilter};
use strongroom_registry::journal::Actor;
use strongroom_registry::{ActorKind, ItemId, Scope, users as rows};

use crate::house::{House, OBJECT, Subject};
use crate::installation::INSTITUTION;
use crate::workers::{is_done, work_until};

const USERS: [&str; 2] = ["ann@test.edu", "bob@test.edu"];
/// What makes the work item of each object of a request.
const EXPANSION: &str = "delete_batch";

/// Adds the two users.
pub(crate) fn add_users(house: &House) {
    let console = OpContext::new(house.engine(None, house.clock()), Caller::at_console("tester"));
    for email in USERS {
        let (role, institution) = (UserRole::InstitutionAdmin, Some(INSTITUTION.to_owned()));
        users::add(&console, NewUser { email: email.to_owned(), role, institution, password: None }).expect("is added");
    }
}

fn as_user(home: &Arc<Home>, email: &str) -> OpContext {
    let account = AccountName::new(email);
    let user = home.registry.read(|tx| rows::find(tx, Scope::System, &account)).expect("the user");
    let actor = Actor::new(ActorKind::User, email).at_console("tester");
    let caller = Caller::with_role(actor, user.scope(), Role::from(user.role));
    OpContext::new(home.clone(), Caller { user: Some(user.id), ..caller })
}

/// What one user requests and the other approves: paths of the package; none: the object.
///
/// # Errors
/// Something stands against it.
pub(crate) fn agree(house: &House, paths: &[&str]) -> Result<DeletionView, EngineError> {
    let home = house.engine(None, house.clock());
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let [ann, bob] = USERS.map(|user| as_user(&home, user));
    let request = deletions::of_object(&ann, OBJECT, &paths, "deposited by mistake")?;
    deletions::approve(&bob, request.request, None)
}

/// Works until an agreed deletion has its work item.
pub(crate) fn expand(house: &House, request: &DeletionView) -> ItemId {
    let home = house.engine(None, house.clock());
    let of_request = |home: &Home| -> Vec<Item> {
        let filter = ItemFilter { batch: request.batch, ..ItemFilter::default() };
        home.registry.read(|tx| items::list(tx, Scope::System, &filter, None, 10)).expect("lists")
    };
    let expansion = of_request(&home).into_iter().find(|item| item.action.as_str() == EXPANSION).expect("is there");
    let expansion = Subject::from(expansion.id);
    work_until(house, &home, |topic| topic == "deletion.expand", || is_done(&home, &expansion)).expect("works");
    of_request(&home).into_iter().find(|item| item.action.as_str() != EXPANSION).expect("a work item").id
}
