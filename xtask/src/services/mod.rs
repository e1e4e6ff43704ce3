//! Servers that tests talk to. They are started in temporary folders before the tests and stopped behind them, however the
//! tests end.

mod minio;
mod postgres;
mod redis;

use std::process::Command;

use anyhow::Result;
use strongroom_test_postgres::{PROGRAMS, SERVER, Server};

use self::minio::Minio;

/// The program of a Redis server, for a benchmark; unpacked first where it is missing.
pub(crate) fn redis() -> Result<std::path::PathBuf> {
    redis::program()
}

/// How much is done to have a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// What is missing is installed.
    Installed,
    /// What is there is used.
    Found,
    /// None is started.
    None,
}

/// The servers that run.
#[derive(Default)]
pub(crate) struct Services {
    postgres: Option<Server>,
    programs: Option<std::path::PathBuf>,
    minio: Option<Minio>,
}

impl Services {
    /// Starts the servers. One that the environment names already is used as it is.
    pub(crate) fn start(wish: Wish) -> Result<Self> {
        if wish == Wish::None {
            println!("PostgreSQL and MinIO are not started, as wished");
            return Ok(Self::default());
        }
        let programs = postgres::programs(wish == Wish::Installed)?;
        let mut services = Self { programs, ..Self::default() };
        if std::env::var_os(SERVER).is_none() {
            services.postgres = services.programs.as_deref().map(postgres::start).transpose()?;
            if services.postgres.is_none() {
                println!("PostgreSQL is not on this machine and is not started");
            }
        }
        if std::env::var_os(minio::SERVER).is_none() {
            services.minio = minio::program(wish == Wish::Installed)?.as_deref().map(minio::start).transpose()?;
            if services.minio.is_none() {
                println!("MinIO was not built on this machine and is not started");
            }
        }
        Ok(services)
    }

    /// Starts PostgreSQL alone, where the environment names no server; installed first where it is missing.
    pub(crate) fn postgres() -> Result<Self> {
        let programs = postgres::programs(true)?;
        let mut services = Self { programs, ..Self::default() };
        if std::env::var_os(SERVER).is_none() {
            services.postgres = services.programs.as_deref().map(postgres::start).transpose()?;
        }
        Ok(services)
    }

    /// Sets for a command where the servers are.
    pub(crate) fn tell(&self, command: &mut Command) {
        if let Some(server) = &self.postgres {
            command.env(SERVER, server.url());
        }
        if let Some(programs) = &self.programs {
            command.env(PROGRAMS, programs);
        }
        if let Some(minio) = &self.minio {
            command.env(minio::SERVER, minio.settings());
        }
    }
}

/// The folder of PostgreSQL's programs, where they are on the machine.
pub(crate) fn postgres_programs() -> Result<Option<std::path::PathBuf>> {
    postgres::programs(false)
}

/// Each server's name, and whether its program is there; what is missing is installed where that is wished.
pub(crate) fn set_up(install: bool) -> Result<[(&'static str, bool); 2]> {
    let postgres = postgres::programs(install)?;
    let minio = minio::program(install)?;
    Ok([("postgresql", postgres.is_some()), ("minio", minio.is_some())])
}
