//! A folder with a script, a file that it is run for, and a runner.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use strongroom_tool::{Launcher, Run, Runner, Subject, Tool, ToolError};
use tempfile::TempDir;

/// How long a condition may take to come true.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Place {
    folder: TempDir,
    runner: Runner,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("scratch")).unwrap();
        fs::write(folder.path().join("file"), "content\n").unwrap();
        let runner = Runner::new(launcher(), folder.path().join("scratch"));
        Self { folder, runner }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// A tool that is a shell script; `more` is TOML that comes after its program.
    pub(crate) fn shell(&self, script: &str, more: &str) -> Tool {
        let path = self.write("script.sh", script);
        tool("/bin/sh", &path, more)
    }

    /// A tool that is a Python script.
    pub(crate) fn python(&self, script: &str, more: &str) -> Tool {
        let path = self.write("script.py", script);
        tool(python(), &path, more)
    }

    pub(crate) fn run(&self, tool: Tool) -> Run {
        self.run_for(tool, &Subject::of(self.path("file"))).unwrap()
    }

    pub(crate) fn run_for(&self, tool: Tool, subject: &Subject) -> Result<Run, ToolError> {
        let result = self.runner.run(&tool.prepare().unwrap(), subject, &|| Ok(()));
        assert_eq!(self.working_folders(), 0);
        result
    }

    pub(crate) fn runner(&self) -> &Runner {
        &self.runner
    }

    /// How many working folders there are.
    pub(crate) fn working_folders(&self) -> usize {
        fs::read_dir(self.path("scratch")).unwrap().count()
    }
}

pub(crate) fn launcher() -> Launcher {
    Launcher { program: env!("CARGO_BIN_EXE_strongroom-tool-launcher").into(), arguments: Vec::new() }
}

fn tool(program: &str, script: &Path, more: &str) -> Tool {
    let head = format!(
        "name = \"script\"\nprogram = {program:?}\narguments = [{:?}, \"{{file}}\"]\n",
        script.display().to_string()
    );
    toml::from_str(&format!("{head}{more}")).unwrap()
}

/// Python itself, and not what chooses among several of them by the environment.
fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let said = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    })
}

/// Waits until it is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The ids that a script has written to a file, one a line.
pub(crate) fn ids(path: &Path) -> Vec<u32> {
    fs::read_to_string(path).unwrap_or_default().lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Whether a process runs; one that has ended and that nobody has asked how does not.
pub(crate) fn lives(id: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    text.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The variable by which the packages of Debian are found, unpacked into one folder.
const DEBIAN: &str = "STRONGROOM_PEERS_DEBIAN";

/// The folder with the packages of Debian; none, with a line that says so, where there is none.
pub(crate) fn debian(what: &str) -> Option<PathBuf> {
    let found = std::env::var_os(DEBIAN).map(PathBuf::from);
    if found.is_none() {
        println!("SKIPPED: {what}: no unpacked packages of Debian ({DEBIAN} is not set)");
    }
    found
}

/// The folders of libraries in it.
pub(crate) fn libraries(root: &Path) -> String {
    let folder = root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    folder.display().to_string()
}

/// A tool whose program is in it.
pub(crate) fn with_libraries(mut tool: Tool, root: &Path) -> Tool {
    tool.environment.insert("LD_LIBRARY_PATH".to_owned(), libraries(root));
    tool.program = root.join("usr/bin").join(&tool.program).display().to_string();
    tool
}
