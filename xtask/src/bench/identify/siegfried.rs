//! siegfried, built from its Go module. The module brings its signatures and the skeleton files of PRONOM along.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::go::{self, GoProgram, GoSource};

const SIEGFRIED: GoProgram = GoProgram {
    name: "sf",
    folder: "siegfried",
    module: "github.com/richardlehane/siegfried",
    // The version whose signatures are those that we ship.
    version: "v1.11.8",
    source: GoSource::Package("cmd/sf"),
};

/// The program, and the folder of its module.
#[derive(Debug)]
pub(crate) struct Siegfried {
    program: PathBuf,
    module: PathBuf,
}

impl Siegfried {
    /// Builds it below `target/peers`; needs Go, and the module proxy the first time.
    pub(crate) fn built() -> Result<Self> {
        let program = SIEGFRIED.built()?;
        match Self::found() {
            Some(siegfried) => Ok(siegfried),
            None => bail!("go does not say where the module is whose program is {}", program.display()),
        }
    }

    /// The program, where it has been built.
    pub(crate) fn found() -> Option<Self> {
        let siegfried = Self { program: SIEGFRIED.found()?, module: SIEGFRIED.module_folder()? };
        siegfried.home().is_dir().then_some(siegfried)
    }

    /// Whether there is a Go to build it.
    pub(crate) fn can_be_built() -> bool {
        go::is_installed()
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Identifies a file, or a folder with all that is below it, eight at a time.
    pub(super) fn command(&self, path: &Path) -> Command {
        let mut command = Command::new(&self.program);
        // Without the log of what it could not read.
        command.arg("-home").arg(self.home()).args(["-multi", "8", "-log", "stdout", "-csv"]).arg(path);
        command
    }

    /// The skeleton files that its tests use.
    pub(super) fn skeletons(&self) -> PathBuf {
        self.module.join("cmd/sf/testdata/skeleton-suite")
    }

    /// Where its signatures are.
    pub(crate) fn home(&self) -> PathBuf {
        self.module.join("cmd/roy/data")
    }
}
