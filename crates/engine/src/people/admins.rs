//! Mails to all who answer for an institution, when one more does: an admin cannot make a second user, and approve with it what two people have
//! to, without the others knowing.

use strongroom_registry::journal::Actor;
use strongroom_registry::users::{self, User};
use strongroom_registry::{GrantAct, InstitutionId, RegistryError, Transaction, UserRole};
use uuid::Uuid;

use crate::notifications::Mail;
use crate::settings::MailSettings;

/// Recipients of one mail, and users read at once.
const PAGE: usize = 100;

/// Inserts the mails that say that `user` is an admin now, for every admin of the institution, of the installation, and those that the settings name.
/// `before` is the user as it was. Nothing where it was an admin of the same institution already.
pub(crate) fn tell(
    tx: &mut dyn Transaction,
    settings: &MailSettings,
    (before, user): (Option<&User>, &User),
    (act, actor): (GrantAct, &Actor),
) -> Result<(), RegistryError> {
    let is_admin =
        |user: &User| user.is_active && matches!(user.role, UserRole::InstitutionAdmin | UserRole::SystemAdmin);
    let was = before
        .is_some_and(|before| is_admin(before) && (before.role, before.institution) == (user.role, user.institution));
    if was || !is_admin(user) {
        return Ok(());
    }
    // A message belongs to an institution; what concerns the installation is put with the first.
    let Some(about) = of_outbox(tx, user.institution)? else { return Ok(()) };
    let place = user.institution_identifier.as_deref().unwrap_or("the whole installation");
    let how = match act {
        GrantAct::Added => "was added as",
        GrantAct::Changed => "is now",
        GrantAct::Activated => "was activated again as",
    };
    let text = format!(
        "{email} {how} {role} of {place}, by {actor}.\n\n\
         An admin can approve what another admin asks for, such as a deletion. If this was not agreed, deactivate the user (strongroom user deactivate {email}) and tell those who run the installation.\n",
        email = user.email,
        role = user.role,
    );
    let html: String = text
        .split("\n\n")
        .map(|part| format!("<p>{}</p>\n", part.trim_end().replace('&', "&amp;").replace('<', "&lt;")))
        .collect();
    let mut after = String::new();
    let mut more: Vec<String> = settings.admins.clone();
    loop {
        let page = users::admins(tx, user.institution, &after, PAGE)?;
        let is_last = page.len() < PAGE;
        if let Some(last) = page.last() {
            after.clone_from(&last.account);
        }
        // Each alone sees its own address.
        let bcc: Vec<String> = page.into_iter().map(|admin| admin.email).chain(more.drain(..)).collect();
        let subject = format!("Strongroom: {} is an admin of {place}", user.email);
        let mail = Mail { bcc, subject, text: text.clone(), html: html.clone(), ..Mail::default() };
        if let Some(prepared) = mail.prepare(settings, format!("admin {} {}", user.id, Uuid::now_v7())) {
            prepared.insert(tx, about, None)?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// The institution with whose messages one about a user is put: its own, or the first; none where there is none.
pub(crate) fn of_outbox(
    tx: &mut dyn Transaction,
    institution: Option<InstitutionId>,
) -> Result<Option<InstitutionId>, RegistryError> {
    if institution.is_some() {
        return Ok(institution);
    }
    let first = strongroom_registry::tenants::institutions(tx, strongroom_registry::Scope::System, "", 1)?;
    Ok(first.into_iter().next().map(|institution| institution.id))
}
