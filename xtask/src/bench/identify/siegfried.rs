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
pub(super) struct Siegfried {
    program: PathBuf,
    module: PathBuf,
}

impl Siegfried {
    /// Builds it below `target/peers`; needs Go, and the module proxy the first time.
    pub(super) fn built() -> Result<Self> {
        let folder = place::target().join("peers/siegfried");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        // A module of our own that asks for it: `go install` would ask for the newest compiler, too.
        let manifest = folder.join("go.mod");
        fs::write(&manifest, format!("module bench\n\ngo 1.26\n\nrequire {MODULE} {VERSION}\n"))
            .with_context(|| format!("cannot write {}", manifest.display()))?;
        let program = folder.join("sf");
        let mut build = Command::new("go");
        build.args(["build", "-mod=mod", "-o"]).arg(&program).arg(format!("{MODULE}/cmd/sf")).current_dir(&folder);
        place::succeed(&mut build)?;
        let mut list = Command::new("go");
        list.args(["list", "-mod=mod", "-m", "-f", "{{.Dir}}", MODULE]).current_dir(&folder);
        let module = PathBuf::from(place::output_of(&mut list).context("go does not say where the module is")?);
        let siegfried = Self { program, module };
        if !siegfried.home().is_dir() {
            bail!("{} is not there", siegfried.home().display());
        }
        Ok(siegfried)
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

    fn home(&self) -> PathBuf {
        self.module.join("cmd/roy/data")
    }
}
