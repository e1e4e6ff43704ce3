//! What a run of chaos is asked for, by variables of the environment: `cargo xtask chaos` sets them.

use std::env;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};

/// The registry's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

/// Where bytes are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stores {
    /// Every store is a folder.
    Folders,
    /// Every store is in object storage.
    S3,
    /// One preservation store is in object storage, everything else a folder.
    Both,
}

impl fmt::Display for Database {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        })
    }
}

impl FromStr for Database {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "sqlite" => Ok(Self::Sqlite),
            "postgres" => Ok(Self::Postgres),
            other => bail!("the database is sqlite or postgres, not {other:?}"),
        }
    }
}

impl fmt::Display for Stores {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Folders => "folders",
            Self::S3 => "s3",
            Self::Both => "both",
        })
    }
}

impl FromStr for Stores {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "folders" => Ok(Self::Folders),
            "s3" => Ok(Self::S3),
            "both" => Ok(Self::Both),
            other => bail!("the stores are folders, s3 or both, not {other:?}"),
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) runs: u64,
    /// Of the first run; the next one has the next number.
    pub(crate) seed: u64,
    pub(crate) database: Database,
    /// None: one after the other.
    pub(crate) stores: Option<Stores>,
    /// How long acts go on in each run.
    pub(crate) seconds: u64,
    /// Chains of activities over so many records, instead of deposits.
    pub(crate) chain: Option<u64>,
}

impl Options {
    /// None where the environment asks for no runs.
    pub(crate) fn from_environment() -> Result<Option<Self>> {
        let Some(runs) = variable("STRONGROOM_CHAOS_RUNS")? else { return Ok(None) };
        let chain = variable("STRONGROOM_CHAOS_CHAIN")?;
        let seconds = if chain.is_some() { 60 } else { 15 };
        Ok(Some(Self {
            runs,
            seed: variable("STRONGROOM_CHAOS_SEED")?.unwrap_or(1),
            database: variable("STRONGROOM_CHAOS_DATABASE")?.unwrap_or(Database::Sqlite),
            stores: variable("STRONGROOM_CHAOS_STORES")?,
            seconds: variable("STRONGROOM_CHAOS_SECONDS")?.unwrap_or(seconds),
            chain,
        }))
    }

    /// The stores of the run with this seed.
    pub(crate) fn stores_of(&self, seed: u64) -> Stores {
        self.stores.unwrap_or(match seed % 3 {
            0 => Stores::Both,
            1 => Stores::Folders,
            _ => Stores::S3,
        })
    }
}

fn variable<T: FromStr<Err: fmt::Display>>(name: &str) -> Result<Option<T>> {
    let Some(text) = env::var_os(name) else { return Ok(None) };
    let text = text.to_str().with_context(|| format!("{name} is not UTF-8"))?;
    match text.parse() {
        Ok(value) => Ok(Some(value)),
        Err(error) => bail!("{name} is {text:?}: {error}"),
    }
}
