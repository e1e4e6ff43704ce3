//! The programs that the tests run: clamd with one signature, scripts, and what is needed to find and to feed them.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use strongroom_registry::objects::{self, File, Object};
use tempfile::TempDir;

use super::{home_for, set_launcher};
use crate::fixture::{Engine, TestHome};

/// The test file of EICAR, in two parts, so that no scanner takes this file for it.
const EICAR: [&str; 2] = [r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"];
/// Its signature by MD5 and size; see "File hash signatures" of the manual of ClamAV.
const SIGNATURE: &str = "44d88612fea8a8f36de82e1278abb02f:68:Eicar-Test-Signature\n";
/// The variable by which the packages of Debian are found, unpacked into one folder.
const DEBIAN: &str = "STRONGROOM_PEERS_DEBIAN";
/// How long a condition may take to come true.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) fn eicar() -> String {
    EICAR.concat()
}

/// The folder with the packages of Debian; none, with a line that says so, where there is none.
pub(super) fn debian(what: &str) -> Option<PathBuf> {
    let found = std::env::var_os(DEBIAN).map(PathBuf::from);
    if found.is_none() {
        println!("SKIPPED: {what}: no unpacked packages of Debian ({DEBIAN} is not set)");
    }
    found
}

/// The folders of libraries in it.
pub(super) fn libraries(root: &Path) -> String {
    root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH)).display().to_string()
}

/// A WAVE file of one second of silence: 8,000 samples of 16 bits, mono.
pub(super) fn wave() -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(b"RIFF");
    bytes.extend((36 + 16_000_u32).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    bytes.extend(8_000_u32.to_le_bytes());
    bytes.extend(16_000_u32.to_le_bytes());
    bytes.extend(b"\x02\0\x10\0data");
    bytes.extend(16_000_u32.to_le_bytes());
    bytes.extend(vec![0; 16_000]);
    bytes
}

/// The name and the configuration of a tool that is a line of shell, which gets the file as `$1`; `more` is TOML that comes last.
pub(super) fn script(name: &str, line: &str, more: &str) -> (String, String) {
    let head =
        format!("name = {name:?}\nprogram = \"/bin/sh\"\narguments = [\"-c\", {line:?}, \"sh\", \"{{file}}\"]\n");
    (name.to_owned(), head + more)
}

pub(super) fn home_with_tools(engine: Engine, tools: &[(String, String)]) -> Option<TestHome> {
    home_with_tools_and(engine, tools, "")
}

/// A home with tools that have these configurations; `more` are further settings of each.
pub(super) fn home_with_tools_and(engine: Engine, tools: &[(String, String)], more: &str) -> Option<TestHome> {
    let of_tool = |(name, _): &(String, String)| format!("[tools.{name}]\nconfiguration = \"{name}.toml\"\n{more}");
    let settings = tools.iter().map(of_tool).collect::<Vec<_>>().concat();
    let made = home_for(engine, &settings)?;
    for (name, text) in tools {
        fs::write(made.path().join(format!("{name}.toml")), text).expect("writes");
    }
    set_launcher(&made);
    Some(made)
}

pub(super) fn file_of(home: &TestHome, object: &Object, path: &str) -> File {
    let found = home.registry.read(|tx| objects::file_at(tx, object.id, object.head, path)).expect("reads");
    found.expect("the file")
}

/// No copy of a file, and no working folder of a tool, is left in the home.
pub(super) fn assert_no_scratch(home: &TestHome) {
    let mut left = Vec::new();
    for process in fs::read_dir(home.path().join("tools")).expect("the folder of tools") {
        let path = process.expect("an entry").path();
        if path.is_dir() {
            left.extend(fs::read_dir(path).expect("lists").map(|entry| entry.expect("an entry").path()));
        }
    }
    assert_eq!(left, Vec::<PathBuf>::new());
}

/// Waits until it is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// clamd of Debian with one signature.
pub(super) struct Clamd {
    folder: TempDir,
    root: PathBuf,
    process: Child,
}

impl Clamd {
    pub(super) fn start() -> Option<Self> {
        let root = debian("a scan by ClamAV")?;
        let folder = TempDir::new().expect("a folder");
        fs::create_dir(folder.path().join("database")).expect("a folder");
        fs::write(folder.path().join("database/eicar.hdb"), SIGNATURE).expect("writes");
        let here = |name: &str| folder.path().join(name).display().to_string();
        let (database, socket, temporary) = (here("database"), here("clamd.sock"), here(""));
        let text = format!(
            "Foreground yes\nDatabaseDirectory {database}\nLocalSocket {socket}\nTemporaryDirectory {temporary}\nSelfCheck 0\n\
             MaxThreads 2\nConcurrentDatabaseReload no\n"
        );
        fs::write(folder.path().join("clamd.conf"), text).expect("writes");
        let process = spawn(folder.path(), &root);
        Some(Self { folder, root, process })
    }

    /// The settings by which a home uses it.
    pub(super) fn settings(&self) -> String {
        let program = self.root.join("usr/bin/clamdscan");
        format!(
            "[tools.clamdscan]\nprogram = {:?}\narguments = [\"--config-file={}\"]\nenvironment = [\"LD_LIBRARY_PATH={}\"]\n",
            program.display().to_string(),
            self.folder.path().join("clamd.conf").display(),
            libraries(&self.root)
        )
    }

    pub(super) fn stop(&mut self) {
        self.process.kill().expect("kills");
        self.process.wait().expect("waits");
    }

    pub(super) fn restart(&mut self) {
        let _ = fs::remove_file(self.folder.path().join("clamd.sock"));
        self.process = spawn(self.folder.path(), &self.root);
    }
}

fn spawn(folder: &Path, root: &Path) -> Child {
    let log = fs::File::create(folder.join("log")).expect("a log");
    let mut process = Command::new(root.join("usr/sbin/clamd"))
        .arg("-c")
        .arg(folder.join("clamd.conf"))
        .env("LD_LIBRARY_PATH", libraries(root))
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log)
        .spawn()
        .expect("starts clamd");
    wait_until("clamd listens", || {
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert_eq!(process.try_wait().expect("asks"), None, "{log}");
        UnixStream::connect(folder.join("clamd.sock")).is_ok()
    });
    process
}

impl Drop for Clamd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
