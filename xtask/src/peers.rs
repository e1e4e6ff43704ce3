//! Programs of other people that tests take as witnesses: aiosmtpd (a mail server), bagit-python, ocfl-py, lxml, pygfried (siegfried as a
//! library), pyoai (a provider of OAI-PMH), rdflib (JSON-LD) and sickle (a harvester) in a Python environment of their own, rocfl, and siegfried itself where
//! Go can build it; and the tools that files are looked at with (`tools.rs`). Everything lies below `target/peers` and is kept between runs.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::bench::Siegfried;
use crate::{place, tools};

/// The Python packages, pinned.
const PACKAGES: [&str; 8] = [
    "aiosmtpd==1.4.6",
    "bagit==1.9.0",
    "lxml==6.1.3",
    "ocfl-py==2.1.0",
    "pygfried==2.2.0",
    "pyoai==2.5.0",
    "rdflib==7.6.0",
    "sickle==0.7.0",
];
/// The version of rocfl, without its S3 part: tests use folders only.
const ROCFL: &str = "1.7.0";

/// Names of the variables by which tests find the peers.
const PYTHON_VARIABLE: &str = "STRONGROOM_PEERS_PYTHON";
const ROCFL_VARIABLE: &str = "STRONGROOM_PEERS_ROCFL";
const SIEGFRIED_VARIABLE: &str = "STRONGROOM_PEERS_SIEGFRIED";
/// By which siegfried itself finds its signatures.
const SIEGFRIED_HOME_VARIABLE: &str = "SIEGFRIED_HOME";

/// Where the peers are.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    python: Option<PathBuf>,
    rocfl: Option<PathBuf>,
    siegfried: Option<Siegfried>,
    debian: Option<PathBuf>,
    java: Option<PathBuf>,
}

impl Peers {
    /// Sets for a command where the peers are, and of those that are absent that they are.
    pub(crate) fn tell(&self, command: &mut Command) {
        for (variable, path) in [
            (PYTHON_VARIABLE, &self.python),
            (ROCFL_VARIABLE, &self.rocfl),
            (tools::DEBIAN_VARIABLE, &self.debian),
            (tools::JAVA_VARIABLE, &self.java),
        ] {
            match path {
                Some(path) => command.env(variable, path),
                None => command.env_remove(variable),
            };
        }
        match &self.siegfried {
            Some(siegfried) => {
                command.env(SIEGFRIED_VARIABLE, siegfried.program()).env(SIEGFRIED_HOME_VARIABLE, siegfried.home())
            }
            None => command.env_remove(SIEGFRIED_VARIABLE),
        };
    }

    /// The Python that has the packages.
    pub(crate) fn python(&self) -> Option<&Path> {
        self.python.as_deref()
    }

    /// Whether nothing is missing.
    pub(crate) fn are_complete(&self) -> bool {
        self.python.is_some()
            && self.rocfl.is_some()
            && (self.siegfried.is_some() || !Siegfried::can_be_built())
            && (self.debian.is_some() || !tools::debian_can_be_installed())
            && (self.java.is_some() || !tools::java_can_be_installed())
    }

    /// What is installed already.
    pub(crate) fn found() -> Self {
        let python = venv().join("bin/python");
        let rocfl = folder().join("bin/rocfl");
        let is_current = fs::read_to_string(stamp()).is_ok_and(|text| text == PACKAGES.join("\n"));
        let version = place::output_of(Command::new(&rocfl).arg("--version"));
        Self {
            python: (is_current && python.exists()).then_some(python),
            rocfl: (version == Some(format!("rocfl {ROCFL}"))).then_some(rocfl),
            siegfried: Siegfried::found(),
            debian: tools::found_debian(),
            java: tools::found_java(),
        }
    }

    /// Installs what is missing.
    pub(crate) fn installed() -> Result<Self> {
        fs::create_dir_all(folder()).with_context(|| format!("cannot make {}", folder().display()))?;
        let found = Self::found();
        if found.python.is_none() {
            install_python()?;
        }
        if found.rocfl.is_none() {
            install_rocfl()?;
        }
        if found.siegfried.is_none() && Siegfried::can_be_built() {
            Siegfried::built()?;
        }
        if found.debian.is_none() && tools::debian_can_be_installed() {
            tools::install_debian()?;
        }
        if found.java.is_none() && tools::java_can_be_installed() {
            tools::install_java()?;
        }
        let peers = Self::found();
        if !peers.are_complete() {
            bail!("the peers were installed into {} and do not answer", folder().display());
        }
        Ok(peers)
    }

    /// Installs what is missing, after asking where a person is at the terminal; the answer may be no.
    pub(crate) fn installed_if_wanted() -> Result<Self> {
        let found = Self::found();
        let is_person = std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !place::is_ci();
        if found.are_complete() || !is_person || is_wanted()? { Self::installed() } else { Ok(found) }
    }
}

/// `cargo xtask peers`
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    if let Some(argument) = arguments.first() {
        bail!("peers takes no arguments, found {argument:?}");
    }
    let peers = Peers::installed()?;
    let siegfried = peers.siegfried.map(|siegfried| siegfried.program().to_owned());
    for path in [peers.python, peers.rocfl, siegfried, peers.debian, peers.java].into_iter().flatten() {
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn folder() -> PathBuf {
    place::target().join("peers")
}

fn venv() -> PathBuf {
    folder().join("venv")
}

/// Written last, so that an interrupted installation starts over.
fn stamp() -> PathBuf {
    venv().join("strongroom-packages.txt")
}

fn is_wanted() -> Result<bool> {
    eprint!(
        "Some tests compare with other programs ({}, rocfl {ROCFL}, siegfried where Go can build it, and where Debian\n\
         and Maven are there ClamAV, MediaInfo, JHOVE and veraPDF).\n\
         Install them into {}? It takes about three minutes, once. [Y/n] ",
        PACKAGES.join(", "),
        folder().display()
    );
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(!answer.trim().to_ascii_lowercase().starts_with('n'))
}

fn install_python() -> Result<()> {
    eprintln!("installing {} into {}", PACKAGES.join(", "), venv().display());
    make_venv()?;
    let mut pip = Command::new(venv().join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES);
    place::succeed(&mut pip)?;
    fs::write(stamp(), PACKAGES.join("\n")).with_context(|| format!("cannot write {}", stamp().display()))
}

fn make_venv() -> Result<()> {
    let make = || place::succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv()));
    let Err(error) = make() else { return Ok(()) };
    // Debian keeps the venv module's pip apart, and often leaves it out.
    let is_root = place::output_of(Command::new("id").arg("-u")).as_deref() == Some("0");
    if !is_root || place::output_of(Command::new("apt-get").arg("--version")).is_none() {
        return Err(error).context("python 3 with its venv module is needed (Debian: apt-get install python3-venv)");
    }
    eprintln!("installing python3-venv");
    let _ = place::succeed(Command::new("apt-get").args(["-qq", "update"]));
    place::succeed(Command::new("apt-get").args(["-qq", "install", "--yes", "python3-venv"]))?;
    make()
}

fn install_rocfl() -> Result<()> {
    eprintln!("building rocfl {ROCFL} into {}", folder().display());
    let build = folder().join("build");
    let mut install = place::cargo();
    install
        .args(["install", "rocfl", "--version", ROCFL, "--locked", "--no-default-features", "--force", "--root"])
        .arg(folder())
        .arg("--target-dir")
        .arg(&build)
        // A witness need not be fast; its build should be.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0");
    place::succeed(&mut install)?;
    fs::remove_dir_all(&build).with_context(|| format!("cannot remove {}", build.display()))
}
