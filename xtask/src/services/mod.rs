//! Servers that tests talk to. They are started in temporary folders before the tests and stopped behind them, however the
//! tests end.

mod postgres;

use std::process::Command;

use anyhow::Result;
use strongroom_test_postgres::{PROGRAMS, SERVER, Server};

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
}

impl Services {
    /// Starts the servers. One that the environment names already is used as it is.
    pub(crate) fn start(wish: Wish) -> Result<Self> {
        if wish == Wish::None {
            println!("PostgreSQL is not started, as wished");
            return Ok(Self::default());
        }
        let programs = postgres::programs(wish == Wish::Installed)?;
        if std::env::var_os(SERVER).is_some() {
            return Ok(Self { postgres: None, programs });
        }
        let postgres = programs.as_deref().map(postgres::start).transpose()?;
        if postgres.is_none() {
            println!("PostgreSQL is not on this machine and is not started");
        }
        Ok(Self { postgres, programs })
    }

    /// Tells a command where the servers are.
    pub(crate) fn tell(&self, command: &mut Command) {
        if let Some(server) = &self.postgres {
            command.env(SERVER, server.url());
        }
        if let Some(programs) = &self.programs {
            command.env(PROGRAMS, programs);
        }
    }
}

/// Whether the servers' programs are there; what is missing is installed where that is wished.
pub(crate) fn set_up(install: bool) -> Result<bool> {
    Ok(postgres::programs(install)?.is_some())
}
