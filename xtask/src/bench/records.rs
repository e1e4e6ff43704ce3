//! `bench records`: record lists on SQLite and PostgreSQL, populated and drained by an agent that does nothing, beside lists of Redis
//! that are moved one by one, in the same run.

use anyhow::Result;

use super::Options;
use crate::{place, services};

pub(super) fn run(options: &Options) -> Result<()> {
    let redis = services::redis()?;
    for database in [&[][..], &["--postgres"]] {
        let mut example = place::cargo();
        example
            .args(["run", "--quiet", "--release", "-p", "strongroom-records", "--example", "drain", "--"])
            .args(database);
        if options.is_small {
            example.args(["--records", "20000", "--seconds", "5"]);
        }
        if !database.is_empty() {
            example.arg("--redis").arg(&redis);
        }
        place::succeed(&mut example)?;
    }
    Ok(())
}
