//! `cargo xtask chaos`: many runs of the test `chaos` of `crates/cli`, on the real program. It starts PostgreSQL by itself
//! where the registry is to lie there.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::place;
use crate::services::Services;

/// Each option with the variable by which the test takes it.
const OPTIONS: [(&str, &str); 6] = [
    ("--runs", "STRONGROOM_CHAOS_RUNS"),
    ("--seed", "STRONGROOM_CHAOS_SEED"),
    ("--database", "STRONGROOM_CHAOS_DATABASE"),
    ("--stores", "STRONGROOM_CHAOS_STORES"),
    ("--seconds", "STRONGROOM_CHAOS_SECONDS"),
    ("--chain", "STRONGROOM_CHAOS_CHAIN"),
];
/// Runs where nothing else is asked for.
const RUNS: &str = "10";
/// The one test that makes the runs that are asked for.
const TEST: &str = "every_promise_holds_after_the_runs_of_chaos_that_were_asked_for";

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let mut test = place::cargo();
    // As `xtask test` builds it, so that nothing is built twice.
    test.args(["test", "--workspace", "--features", "strongroom/failpoints", "--test", "chaos"]);
    test.args(["--", "--exact", TEST, "--nocapture"]);
    test.env("STRONGROOM_CHAOS_RUNS", RUNS).env("STRONGROOM_CHAOS_SEED", first_seed()?);
    let mut on_postgres = false;
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        let known = OPTIONS.iter().find(|(name, _)| name == option);
        let Some((name, variable)) = known else {
            let names: Vec<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
            bail!("chaos takes {}, found {option:?}", names.join(", "));
        };
        let value = rest.next().with_context(|| format!("{name} takes a value"))?;
        on_postgres |= *name == "--database" && value == "postgres";
        test.env(variable, value);
    }
    let services = if on_postgres { Services::postgres()? } else { Services::default() };
    services.tell(&mut test);
    let status = test.status().with_context(|| format!("cannot run {test:?}"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A seed that no earlier run is likely to have had.
fn first_seed() -> Result<String> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).context("the clock is before 1970")?;
    Ok(now.as_secs().to_string())
}
