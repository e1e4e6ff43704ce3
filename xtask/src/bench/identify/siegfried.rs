//! siegfried, built from its Go module. The module brings its signatures and the skeleton files of PRONOM along.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::place;

const MODULE: &str = "github.com/richardlehane/siegfried";
/// The version whose signatures are those that we ship.
const VERSION: &str = "v1.11.8";

/// The program, and the folder of its module.
#[derive(Debug)]
pub(crate) struct Siegfried {
    program: PathBuf,
    module: PathBuf,
}

impl Siegfried {
    /// Builds it below `target/peers`; needs Go, and the module proxy the first time.
    pub(crate) fn built() -> Result<Self> {
        let folder = Self::folder();
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        // A module of our own that asks for it: `go install` would ask for the newest compiler, too.
        let manifest = folder.join("go.mod");
        fs::write(&manifest, format!("module bench\n\ngo 1.26\n\nrequire {MODULE} {VERSION}\n"))
            .with_context(|| format!("cannot write {}", manifest.display()))?;
        let program = folder.join("sf");
        let mut build = Command::new("go");
        build.args(["build", "-mod=mod", "-o"]).arg(&program).arg(format!("{MODULE}/cmd/sf")).current_dir(&folder);
        place::succeed(&mut build)?;
        match Self::found() {
            Some(siegfried) => Ok(siegfried),
            None => bail!("go does not say where the module is whose program is {}", program.display()),
        }
    }

    /// The program, where it has been built.
    pub(crate) fn found() -> Option<Self> {
        let folder = Self::folder();
        let program = folder.join("sf");
        if !program.is_file() {
            return None;
        }
        let mut list = Command::new("go");
        list.args(["list", "-mod=mod", "-m", "-f", "{{.Dir}}", MODULE]).current_dir(&folder);
        let siegfried = Self { program, module: PathBuf::from(place::output_of(&mut list)?) };
        siegfried.home().is_dir().then_some(siegfried)
    }

    /// Whether there is a Go to build it.
    pub(crate) fn can_be_built() -> bool {
        place::output_of(Command::new("go").arg("version")).is_some()
    }

    fn folder() -> PathBuf {
        place::target().join("peers/siegfried")
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
