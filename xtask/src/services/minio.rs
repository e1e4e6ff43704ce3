//! `MinIO`: built from the Go module proxy into `target/peers`, and started on four folders as if they were four drives, so
//! that it spreads and encodes what it is given as it would on many machines.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::{go, place};

/// The module, and the version of it that is built. There is no newer release with binaries that may be fetched.
const MODULE: &str = "github.com/minio/minio";
const VERSION: &str = "v0.0.0-20260212201848-7aac2a2c5b7c";

/// The variable by which tests find an S3 server: the settings of a store, as JSON.
pub(super) const SERVER: &str = "STRONGROOM_TEST_S3";
const BUCKET: &str = "strongroom";
const ACCESS_KEY: &str = "strongroom-test";
const SECRET_KEY: &str = "strongroom-secret";
const DRIVES: usize = 4;
/// It answers within half a second on an idle machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server that runs. It stops when dropped, and what it holds is removed.
pub(super) struct Minio {
    server: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Minio {
    /// The environment of the tests.
    pub(super) fn settings(&self) -> String {
        let address = self.address;
        format!(
            r#"{{"endpoint": "http://{address}", "bucket": "{BUCKET}", "access_key": "{ACCESS_KEY}", "secret_key": "{SECRET_KEY}"}}"#
        )
    }

    fn answers(&self) -> bool {
        let ask = || -> std::io::Result<bool> {
            let mut connection = TcpStream::connect_timeout(&self.address, Duration::from_secs(1))?;
            connection.set_read_timeout(Some(Duration::from_secs(5)))?;
            connection.write_all(b"GET /minio/health/cluster HTTP/1.0\r\n\r\n")?;
            let mut answer = [0; 12];
            connection.read_exact(&mut answer)?;
            Ok(answer.ends_with(b" 200"))
        };
        ask().unwrap_or(false)
    }
}

impl Drop for Minio {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The program; built first where it is missing and `install` says so.
pub(super) fn program(install: bool) -> Result<Option<PathBuf>> {
    if let Some(found) = found() {
        return Ok(Some(found));
    }
    if !install {
        return Ok(None);
    }
    if !go::is_installed() {
        bail!("Go is needed to build MinIO, the S3 server that tests talk to (Debian: apt-get install golang)");
    }
    eprintln!("building MinIO {VERSION} into {}", folder().display());
    fs::create_dir_all(folder()).with_context(|| format!("cannot make {}", folder().display()))?;
    place::succeed(
        Command::new("go")
            .args(["install", "-ldflags=-s -w", &format!("{MODULE}@{VERSION}")])
            .env("GOBIN", folder())
            .env("CGO_ENABLED", "0"),
    )?;
    fs::write(stamp(), VERSION).with_context(|| format!("cannot write {}", stamp().display()))?;
    found().map(Some).context("MinIO was built and is not found")
}

/// Starts a server with an empty bucket.
pub(super) fn start(program: &Path) -> Result<Minio> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let drives: Vec<PathBuf> = (1..=DRIVES).map(|drive| folder.path().join(drive.to_string())).collect();
    for drive in &drives {
        // A bucket is a folder on each drive.
        let bucket = drive.join(BUCKET);
        fs::create_dir_all(&bucket).with_context(|| format!("cannot make {}", bucket.display()))?;
    }
    let address = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    let address = address.context("no free port")?;
    let mut server = Command::new(program);
    server.args(["server", "--quiet", "--address", &address.to_string()]).args(&drives);
    server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for (variable, value) in [
        ("MINIO_ROOT_USER", ACCESS_KEY),
        ("MINIO_ROOT_PASSWORD", SECRET_KEY),
        ("MINIO_BROWSER", "off"),
        ("MINIO_UPDATE", "off"),
        // Else it refuses drives that share the disk of the system.
        ("MINIO_CI_CD", "1"),
    ] {
        server.env(variable, value);
    }
    let server = server.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let mut minio = Minio { server, address, _folder: folder };
    let begun = Instant::now();
    while !minio.answers() {
        if let Some(status) = minio.server.try_wait().context("cannot wait for MinIO")? {
            bail!("MinIO ended with {status} instead of answering at {address}");
        }
        if begun.elapsed() > PATIENCE {
            bail!("MinIO does not answer at {address}");
        }
        thread::sleep(Duration::from_millis(50));
    }
    println!("MinIO {VERSION} runs for the tests");
    Ok(minio)
}

fn folder() -> PathBuf {
    place::target().join("peers/minio")
}

/// Written last, so that an interrupted build starts over. The program itself does not know its version.
fn stamp() -> PathBuf {
    folder().join("version.txt")
}

fn found() -> Option<PathBuf> {
    let program = folder().join("minio");
    let is_current = fs::read_to_string(stamp()).is_ok_and(|version| version == VERSION);
    (is_current && program.is_file()).then_some(program)
}
