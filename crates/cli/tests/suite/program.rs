//! The real program, run in a folder of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder in which the program runs; a home in it is `home`.
pub(crate) struct Place {
    folder: TempDir,
    /// Who acts, by `--as`; the account of the process where absent.
    actor: Option<&'static str>,
}

/// What the program answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    /// A folder with nothing in it.
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), actor: None }
    }

    /// A folder with a new home in it, where every command is run with `--as`.
    pub(crate) fn with_home_of(actor: &'static str) -> Self {
        let mut place = Self::with_home_and_admin(actor);
        place.actor = Some(actor);
        place
    }

    /// A folder with a new home in it, which has a system admin.
    pub(crate) fn with_home_and_admin(email: &str) -> Self {
        let place = Self::with_home();
        place.run(["user", "add", email, "--role", "system_admin"]).succeeds();
        place
    }

    /// A folder with a new home in it.
    pub(crate) fn with_home() -> Self {
        let place = Self::empty();
        place.run(["init", "home"]).succeeds();
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program, with the home and no settings from outside.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("STRONGROOM_")) {
            command.env_remove(name);
        }
        command.env("STRONGROOM_HOME", "home").current_dir(self.folder.path()).stdin(Stdio::null());
        if let Some(actor) = self.actor {
            command.args(["--as", actor]);
        }
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Answer {
        Answer::of(self.command().args(arguments))
    }

    /// The program as somebody whom permissions bind: root without the powers to overrule them.
    pub(crate) fn run_bound_by_permissions(&self, arguments: &[&str]) -> Answer {
        let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        if !is_root {
            return self.run(arguments);
        }
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set=-dac_override,-dac_read_search", env!("CARGO_BIN_EXE_strongroom")]);
        for (name, value) in self.command().get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        Answer::of(command.args(arguments))
    }

    /// Runs the program with these bytes on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Answer {
        let mut command = self.command();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Answer::from(child.wait_with_output().unwrap())
    }

    pub(crate) fn run_with<S: AsRef<OsStr>>(
        &self,
        environment: &[(&str, &str)],
        arguments: impl IntoIterator<Item = S>,
    ) -> Answer {
        Answer::of(self.command().envs(environment.iter().copied()).args(arguments))
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Makes a bag that keeps APTrust's profile, `<name>.tar`, of a payload of one file.
    pub(crate) fn bag(&self, name: &str, payload: &str) {
        self.write(&format!("{name}-payload/greeting.txt"), payload);
        self.write("aptrust-info.txt", "Title: A greeting\nAccess: Institution\nStorage-Option: Standard\n");
        self.run([
            "bag",
            "create",
            &format!("{name}-payload"),
            &format!("{name}.tar"),
            "--algorithm",
            "md5",
            "--tag-file",
            "aptrust-info.txt=aptrust-info.txt",
            "--tag",
            "Source-Organization=Example University",
        ])
        .succeeds();
    }

    /// Every file below a folder with its bytes, but for the registry, which opening it may touch.
    pub(crate) fn files(&self, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.path(name), &mut found);
        found.retain(|path, _| !path.file_name().unwrap().to_string_lossy().starts_with("registry."));
        found
    }
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            collect(&path, found);
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Answer {
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::from(command.output().unwrap())
    }

    /// Exit code 0.
    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// An error with this exit code whose text has all of `words`, and nothing on standard output.
    #[track_caller]
    pub(crate) fn fails(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "an error has no answer");
        assert!(self.stderr.contains("error: ") || self.stderr.contains("{\"error\":"), "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in {self:?}");
        }
        self
    }

    /// The answer as JSON Lines.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"))).collect()
    }

    /// The answer as one JSON object.
    #[track_caller]
    pub(crate) fn object(&self) -> Value {
        let mut lines = self.json();
        assert_eq!(lines.len(), 1, "{self:?}");
        lines.remove(0)
    }
}

/// The keys of a JSON object must be exactly these.
#[track_caller]
pub(crate) fn assert_keys(value: &Value, keys: &[&str]) {
    let mut wanted: Vec<&str> = keys.to_vec();
    wanted.sort_unstable();
    let mut found: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, wanted);
}
