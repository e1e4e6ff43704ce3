//! PostgreSQL: found on the machine, or installed by the system's package manager, or, for those who may not, unpacked
//! below `target/peers` from the binaries that are published for Java programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use strongroom_test_postgres::Server;

use crate::place;

/// The published binaries: group, name (with the processor's word) and version.
const GROUP: &str = "io.zonky.test.postgres";
const NAME: &str = "embedded-postgres-binaries-linux";
const VERSION: &str = "15.17.0";
/// The plugin of Maven that fetches one file.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy";

/// The folder of the server's programs; installed first where they are missing and `install` says so.
pub(super) fn programs(install: bool) -> Result<Option<PathBuf>> {
    if let Some(found) = found() {
        return Ok(Some(found));
    }
    if !install {
        return Ok(None);
    }
    let is_root = place::output_of(Command::new("id").arg("-u")).as_deref() == Some("0");
    if is_root && place::output_of(Command::new("apt-get").arg("--version")).is_some() {
        eprintln!("installing postgresql");
        let _ = place::succeed(Command::new("apt-get").args(["-qq", "update"]));
        place::succeed(Command::new("apt-get").args([
            "-qq",
            "install",
            "--yes",
            "--no-install-recommends",
            "postgresql",
        ]))?;
    } else {
        unpack()?;
    }
    found().map(Some).context("PostgreSQL was installed and its programs are not found")
}

/// Starts a server for tests.
pub(super) fn start(programs: &Path) -> Result<Server> {
    let server = Server::start(programs).with_context(|| format!("cannot start {}", programs.display()))?;
    println!("PostgreSQL of {} runs for the tests", programs.display());
    Ok(server)
}

fn found() -> Option<PathBuf> {
    let unpacked = unpacked().join("bin");
    strongroom_test_postgres::programs().or_else(|| unpacked.join("initdb").is_file().then_some(unpacked))
}

fn unpacked() -> PathBuf {
    place::target().join("peers/postgresql")
}

/// Fetches the published binaries with Maven and unpacks them.
fn unpack() -> Result<()> {
    let processor = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64v8",
        other => bail!("PostgreSQL 15 or later is needed; there are no published binaries for {other}"),
    };
    if place::output_of(Command::new("mvn").arg("--version")).is_none() {
        bail!("PostgreSQL 15 or later is needed (Debian: apt-get install postgresql), or Maven to fetch it");
    }
    eprintln!("fetching PostgreSQL {VERSION} into {}", unpacked().display());
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let artifact = format!("{GROUP}:{NAME}-{processor}:{VERSION}");
    place::succeed(
        Command::new("mvn")
            .args(["--quiet", "--batch-mode", COPY, &format!("-Dartifact={artifact}")])
            .arg(format!("-DoutputDirectory={}", folder.path().display())),
    )?;
    // A jar is a ZIP archive; in it lies an archive of tar and xz.
    let jar = only_file(folder.path(), "jar")?;
    place::succeed(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&jar).arg(folder.path()))?;
    let archive = only_file(folder.path(), "txz")?;
    let target = unpacked();
    fs::create_dir_all(&target).with_context(|| format!("cannot make {}", target.display()))?;
    place::succeed(Command::new("tar").arg("-xJf").arg(&archive).arg("-C").arg(&target))
}

fn only_file(folder: &Path, extension: &str) -> Result<PathBuf> {
    let listed = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = listed.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .find(|path| path.extension().is_some_and(|found| found == extension))
        .with_context(|| format!("what was fetched holds no .{extension}"))
}
