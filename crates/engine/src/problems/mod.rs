//! Problems as records: what is wrong in the installation, since when, who works on it, and what has shown that it is not there any more.
//!
//! A finding of a fixity check opens its problem in its own transaction, and its repair resolves it (`findings` of `crates/registry`). Other
//! conditions (`conditions.rs`) are compared with the records by the background task `problems`, and before records are listed. A problem is
//! resolved only by what was seen, never because a person says so.

mod conditions;
mod kinds;

use strongroom_registry::problems::{self, Change, NewProblem, Problem, SYSTEM};
use strongroom_registry::{ProblemId, RegistryError, Scope, Time, Transaction, backfill, fixity, tenants};

pub(crate) use self::kinds::Kind;
use crate::{EngineError, Home};

/// Records that one transaction reads or writes.
const PAGE: usize = 500;
/// The fact that says when the conditions were compared last.
const COMPARED_AT: &str = "problems.compared_at";

/// What a comparison changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    /// Problems that were opened, or opened again.
    pub(crate) opened: u64,
    /// Problems that were resolved.
    pub(crate) resolved: u64,
}

/// Compares the records with what is wrong now.
pub(crate) fn compare(home: &Home) -> Result<Compared, EngineError> {
    home.require_writable()?;
    let found = conditions::collect(home)?;
    let mut compared = Compared::default();
    compare_findings(home, &mut compared)?;
    compared.opened += open_conditions(home, found.standing.clone())?;
    compared.resolved += resolve_conditions(home, &found)?;
    compared.opened += end_waivers(home)?;
    home.registry.write(|tx| {
        let now = tx.now()?;
        tenants::set_fact(tx, COMPARED_AT, &now.to_string())
    })?;
    Ok(compared)
}

/// When the records were compared last; none where they never were.
pub(crate) fn compared_at(tx: &mut dyn Transaction) -> Result<Option<String>, RegistryError> {
    tenants::fact(tx, COMPARED_AT)
}

/// The findings of older programs get their problems, and problems whose findings were solved in another way are resolved.
fn compare_findings(home: &Home, compared: &mut Compared) -> Result<(), EngineError> {
    let mut after = None;
    loop {
        let opened = home.registry.write(move |tx| {
            let page = problems::findings_without(tx, after, PAGE)?;
            problems::open_for_findings(tx, &page)?;
            Ok::<_, RegistryError>((page.len() as u64, page.last().map(|finding| finding.id)))
        })?;
        compared.opened += opened.0;
        after = opened.1;
        if after.is_none() {
            break;
        }
    }
    let mut after = None;
    loop {
        let resolved = home.registry.write(move |tx| {
            let page = problems::without_finding(tx, after, PAGE)?;
            let mut resolved = 0;
            for known in &page {
                let evidence = evidence_of(tx, known)?;
                resolved += u64::from(resolve(tx, known, &evidence)?);
            }
            Ok::<_, RegistryError>((resolved, page.last().map(|known| known.id)))
        })?;
        compared.resolved += resolved.0;
        after = resolved.1;
        if after.is_none() {
            return Ok(());
        }
    }
}

/// What has shown that the problem of a finding is not there any more.
fn evidence_of(tx: &mut dyn Transaction, known: &Problem) -> Result<String, RegistryError> {
    if let Some(store) = &known.store
        && let Some(since) = backfill::retired_at(tx, store)?
    {
        return Ok(format!("store {store} is out of use since {since}"));
    }
    let finding = known.finding.map(|id| fixity::finding(tx, Scope::System, id)).transpose()?;
    Ok(match finding.flatten() {
        Some(finding) => finding.detail,
        None => "the registry has no such finding any more".to_owned(),
    })
}

fn resolve(tx: &mut dyn Transaction, known: &Problem, evidence: &str) -> Result<bool, RegistryError> {
    problems::change(tx, known, &Change::Resolved(evidence.to_owned()), SYSTEM, evidence)
}

/// Opens what is wrong now; how many of them were not unresolved before.
fn open_conditions(home: &Home, standing: Vec<NewProblem>) -> Result<u64, EngineError> {
    Ok(home.registry.write(move |tx| {
        let mut opened = 0;
        for new in &standing {
            opened += u64::from(problems::open(tx, new)?);
        }
        Ok::<_, RegistryError>(opened)
    })?)
}

/// Resolves what is not wrong any more. What could not be seen stays as it is.
fn resolve_conditions(home: &Home, found: &conditions::Conditions) -> Result<u64, EngineError> {
    let (mut after, mut resolved): (Option<ProblemId>, u64) = (None, 0);
    loop {
        let page = home.registry.read(|tx| problems::conditions(tx, after, PAGE))?;
        let Some(last) = page.last() else { return Ok(resolved) };
        after = Some(last.id);
        let gone: Vec<Problem> = page.into_iter().filter(|known| found.is_gone(known)).collect();
        resolved += home.registry.write(move |tx| {
            let mut changed = 0;
            for known in &gone {
                changed +=
                    u64::from(resolve(tx, known, "a comparison with the installation did not find it any more")?);
            }
            Ok::<_, RegistryError>(changed)
        })?;
    }
}

/// Opens the waived problems whose time has ended.
fn end_waivers(home: &Home) -> Result<u64, EngineError> {
    Ok(home.registry.write(|tx| {
        let ended = problems::ended_waivers(tx, PAGE)?;
        let mut opened = 0;
        for known in &ended {
            let until = known.waived_until.unwrap_or(Time(0));
            let remark = format!("it was waived until {until}");
            opened += u64::from(problems::change(tx, known, &Change::Opened, SYSTEM, &remark)?);
        }
        Ok::<_, RegistryError>(opened)
    })?)
}
