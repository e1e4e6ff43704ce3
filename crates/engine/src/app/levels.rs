//! Whether this installation meets the NDSA Levels of Digital Preservation, row by row, and what it shows for CoreTrustSeal.

use super::authorization::STATUS_LEVELS;
use super::installation::Installation;
use super::status::answering_soon;
use super::views::{LevelRowView, SealRowView};
use crate::EngineError;
use crate::findings::Counting;
pub use crate::levels::Verdict;
use crate::levels::{Facts, Source, ndsa, seal};
use crate::survey::Survey;

/// Every requirement of the NDSA Levels, in the order of the matrix. Objects and files are examined up to a bound; `is_whole`: all of them.
pub fn ndsa(installation: &Installation, is_whole: bool) -> Result<Vec<LevelRowView>, EngineError> {
    let facts = facts(installation, is_whole)?;
    Ok(ndsa::ROWS.iter().map(|row| view(row, &facts)).collect())
}

/// The requirements of CoreTrustSeal to which software can contribute evidence, in their order.
pub fn core_trust_seal(installation: &Installation, is_whole: bool) -> Result<Vec<SealRowView>, EngineError> {
    let facts = facts(installation, is_whole)?;
    Ok(seal::REQUIREMENTS.iter().map(|requirement| of_seal(requirement, &facts)).collect())
}

fn facts(installation: &Installation, is_whole: bool) -> Result<Facts, EngineError> {
    let authorized = installation.authorize(&STATUS_LEVELS)?;
    authorized.require_registry()?;
    let absent = || EngineError::NotFound {
        what: "registry",
        name: authorized.directory().display().to_string(),
        hint: String::new(),
    };
    let registry = authorized.registry()?.ok_or_else(absent)?;
    let settings = answering_soon(authorized.settings());
    let counting = if is_whole { Counting::Whole } else { Counting::Bounded };
    let survey = Survey::of(authorized.directory(), &settings, Some(&registry), counting)?;
    Facts::gather(&Source {
        directory: authorized.directory(),
        settings_file: authorized.settings_file(),
        settings: authorized.settings(),
        registry: &registry,
        survey: &survey,
        is_whole,
    })
}

fn view(row: &ndsa::Row, facts: &Facts) -> LevelRowView {
    let answer = (row.evidence)(facts);
    LevelRowView {
        area: row.area.as_str().to_owned(),
        level: row.level,
        row: row.name.to_owned(),
        asks: row.asks.to_owned(),
        verdict: answer.verdict,
        evidence: answer.evidence,
        command: row.command.to_owned(),
    }
}

fn of_seal(requirement: &seal::Requirement, facts: &Facts) -> SealRowView {
    let rows = requirement.rows.iter().filter_map(|name| ndsa::row(name));
    let (mut verdict, mut evidence, mut commands) = (Verdict::Met, Vec::new(), Vec::new());
    for row in rows {
        let answer = (row.evidence)(facts);
        verdict = verdict.max(answer.verdict);
        if !commands.contains(&row.command.to_owned()) {
            commands.push(row.command.to_owned());
        }
        evidence.push((answer.verdict, format!("{}: {}", row.name, answer.evidence)));
    }
    // Where something is not met or unknown, that is what is to be read.
    let worst = evidence.into_iter().filter(|(of_row, _)| *of_row == verdict).map(|(_, text)| text);
    SealRowView {
        requirement: requirement.number.to_owned(),
        name: requirement.name.to_owned(),
        asks: requirement.asks.to_owned(),
        verdict,
        evidence: worst.collect::<Vec<_>>().join("; "),
        commands,
    }
}
