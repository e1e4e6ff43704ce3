//! Programs that are built of Go modules below `target/peers`, each in a module of its own that requires one version.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::place;

/// A version of a Go module, and the program that is built of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GoProgram {
    /// The name of the program.
    pub(crate) name: &'static str,
    /// Its folder below `target/peers`.
    pub(crate) folder: &'static str,
    pub(crate) module: &'static str,
    pub(crate) version: &'static str,
    /// The package below the module whose program is built; or the source of a program that uses the module.
    pub(crate) source: GoSource,
}

/// What is compiled.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GoSource {
    /// A package of the module, by its path in the module.
    Package(&'static str),
    /// The text of `main.go`.
    Main(&'static str),
}

impl GoProgram {
    /// Builds the program; needs Go, and the module proxy the first time. Go itself knows whether something is to be done.
    pub(crate) fn built(&self) -> Result<PathBuf> {
        let folder = self.folder();
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        // A module of our own that asks for it: `go install` would ask for the newest compiler, too.
        write("go.mod", &format!("module bench\n\ngo 1.26\n\nrequire {} {}\n", self.module, self.version))?;
        let package = match self.source {
            GoSource::Package(path) => format!("{}/{path}", self.module),
            GoSource::Main(text) => {
                write("main.go", text)?;
                ".".to_owned()
            }
        };
        let program = self.program();
        let mut build = Command::new("go");
        build.args(["build", "-mod=mod", "-o"]).arg(&program).arg(package).current_dir(&folder);
        place::succeed(&mut build)?;
        Ok(program)
    }

    /// The program, where it was built.
    pub(crate) fn found(&self) -> Option<PathBuf> {
        Some(self.program()).filter(|program| program.is_file())
    }

    /// The folder in which Go keeps the sources of the module.
    pub(crate) fn module_folder(&self) -> Option<PathBuf> {
        let mut list = Command::new("go");
        list.args(["list", "-mod=mod", "-m", "-f", "{{.Dir}}", self.module]).current_dir(self.folder());
        place::output_of(&mut list).map(PathBuf::from)
    }

    fn program(&self) -> PathBuf {
        self.folder().join(self.name)
    }

    fn folder(&self) -> PathBuf {
        place::target().join("peers").join(self.folder)
    }
}

/// Whether there is a Go to build programs.
pub(crate) fn is_installed() -> bool {
    place::output_of(Command::new("go").arg("version")).is_some()
}
