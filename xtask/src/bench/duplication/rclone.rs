//! rclone, built from its Go module with the backends and the command that are compared.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::go::{GoProgram, GoSource};

const RCLONE: GoProgram = GoProgram {
    name: "rclone",
    folder: "rclone",
    module: "github.com/rclone/rclone",
    version: "v1.76.0",
    // The program with all of its backends needs some hundred further modules.
    source: GoSource::Main(MAIN),
};
const MAIN: &str = r#"package main

import (
	_ "github.com/rclone/rclone/backend/local"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/copy"
)

func main() { cmd.Main() }
"#;

pub(super) struct Rclone(PathBuf);

impl Rclone {
    pub(super) fn built() -> Result<Self> {
        RCLONE.built().map(Self)
    }

    /// Copies with its own defaults, and without settings of the person who measures.
    pub(super) fn copy(&self, source: &Path, destination: &Path) -> Command {
        let mut copy = Command::new(&self.0);
        copy.args(["--config", "", "copy", "--checksum"]).arg(source).arg(destination);
        copy
    }
}
