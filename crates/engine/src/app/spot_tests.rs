//! Spot tests of restoration: what was restored, and what people say of it.

use strongroom_registry::events;
use strongroom_registry::spot_tests::{self, Verdict};
use strongroom_registry::{RegistryError, SpotTestId, SpotTestState};

use super::authorization::{Permission, SPOT_TESTS_CLOSE, SPOT_TESTS_CONFIRM, SPOT_TESTS_LIST, SPOT_TESTS_REJECT};
use super::views::SpotTestView;
use super::{OpContext, PAGE, Page};
use crate::EngineError;
use crate::journal::Target;
use crate::restoration::event_of_decision;

/// Longer reasons are refused, in characters.
const LONGEST_REASON: usize = 1_000;

/// Which tests are listed.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only those of this institution.
    pub institution: Option<String>,
    /// Only those in this state.
    pub state: Option<SpotTestState>,
}

/// Tests in order of their identifiers, after `after`.
pub fn list(
    context: &OpContext,
    filter: &Filter,
    after: Option<SpotTestId>,
) -> Result<Page<SpotTestView, SpotTestId>, EngineError> {
    let authorized = context.authorize(&SPOT_TESTS_LIST)?;
    let scope = authorized.scope_of(filter.institution.as_deref())?;
    let found = authorized.read(|tx| spot_tests::list(tx, scope, filter.state, after, PAGE))?;
    let next = found.last().map(|test| test.id);
    Ok(Page { items: found.into_iter().map(SpotTestView::from).collect(), next })
}

/// The test that a text names: its identifier, or a part of it that no other test has.
pub fn named(context: &OpContext, text: &str) -> Result<SpotTestId, EngineError> {
    context.authorize(&SPOT_TESTS_LIST)?.named(text)
}

/// Notes that a person has looked at what a test restored, and that it is right.
///
/// # Errors
/// There is no such test, or nothing was restored that waits to be looked at.
pub fn confirm(context: &OpContext, test: SpotTestId, note: Option<&str>) -> Result<SpotTestView, EngineError> {
    decide(context, &SPOT_TESTS_CONFIRM, test, Verdict::Confirmed, note)
}

/// Notes that a person has looked at what a test restored, and why it is not right. The test has failed then.
///
/// # Errors
/// As [`confirm`].
pub fn reject(context: &OpContext, test: SpotTestId, reason: &str) -> Result<SpotTestView, EngineError> {
    decide(context, &SPOT_TESTS_REJECT, test, Verdict::Rejected, Some(reason))
}

/// Closes a test that failed, with what was found about it.
///
/// # Errors
/// There is no such test, or it has not failed.
pub fn close(context: &OpContext, test: SpotTestId, reason: &str) -> Result<SpotTestView, EngineError> {
    decide(context, &SPOT_TESTS_CLOSE, test, Verdict::Closed, Some(reason))
}

fn decide(
    context: &OpContext,
    permission: &'static Permission,
    test: SpotTestId,
    verdict: Verdict,
    reason: Option<&str>,
) -> Result<SpotTestView, EngineError> {
    let authorized = context.authorize(permission)?;
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty()).map(str::to_owned);
    if verdict != Verdict::Confirmed && reason.is_none() {
        return Err(
            EngineError::Usage("the reason is empty".to_owned()).next("say what is not right, or what was found")
        );
    }
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
        return Err(EngineError::Usage(format!("the reason has more than {LONGEST_REASON} characters"))
            .next("write a shorter one"));
    }
    let (scope, by) = (authorized.scope(), authorized.entry());
    let decided = authorized.home().registry.write(move |tx| {
        let known = spot_tests::find(tx, scope, test)?;
        let decided = spot_tests::decide(tx, &known, verdict, reason.as_deref(), &by.actor.name)?;
        // The journal knows the actor from here on, whom the event names.
        let target = Target::of(known.institution, format!("{}, spot test {test}", known.object_identifier));
        by.done(tx, &target.about(known.object_identifier.clone()))?;
        if verdict != Verdict::Closed {
            let event = event_of_decision(&decided, tx.now()?).on_behalf_of(Some(&by.actor));
            events::append(tx, &[event])?;
        }
        Ok::<_, RegistryError>(decided)
    })?;
    Ok(SpotTestView::from(decided))
}
