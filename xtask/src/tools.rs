//! Tools that files are looked at with, for the tests of `crates/tool`: ClamAV and MediaInfo from packages of Debian, unpacked without
//! being installed, so that no service starts and root is not needed; JHOVE and veraPDF with their classes, by Maven.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::peers::folder;
use crate::place;

/// Names of the variables by which tests find them.
pub(crate) const DEBIAN_VARIABLE: &str = "STRONGROOM_PEERS_DEBIAN";
pub(crate) const JAVA_VARIABLE: &str = "STRONGROOM_PEERS_JAVA";

/// The packages of Debian; what they depend on comes with them. Their versions are those of the system.
const PACKAGES: [&str; 4] = ["clamav", "clamav-daemon", "clamdscan", "mediainfo"];
/// What they depend on and must not be there: it fetches signatures.
const LEFT_OUT: &str = "clamav-freshclam";
/// The programs of the packages that tests run.
const PROGRAMS: [&str; 4] = ["usr/sbin/clamd", "usr/bin/clamdscan", "usr/bin/clamscan", "usr/bin/mediainfo"];

/// The Java programs: the name of the folder, and its artifacts as group, name and version.
const ARTIFACTS: [(&str, &[[&str; 3]]); 2] = [
    (
        "jhove",
        &[
            ["org.openpreservation.jhove", "jhove-apps", "1.28.0"],
            ["org.openpreservation.jhove.modules", "pdf-hul", "1.12.4"],
        ],
    ),
    ("verapdf", &[["org.verapdf.apps", "greenfield-apps", "1.28.2"]]),
];
/// The goal of Maven that copies artifacts with what they depend on.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy-dependencies";

/// The folder in which the packages are: the root of the system, where they are installed.
pub(crate) fn found_debian() -> Option<PathBuf> {
    let has_programs = |root: &PathBuf| PROGRAMS.iter().all(|program| root.join(program).is_file());
    [PathBuf::from("/"), debian()].into_iter().find(has_programs)
}

pub(crate) fn debian_can_be_installed() -> bool {
    ["apt-get", "dpkg"].iter().all(|tool| place::output_of(Command::new(tool).arg("--version")).is_some())
}

pub(crate) fn install_debian() -> Result<()> {
    eprintln!("unpacking {} of Debian into {}", PACKAGES.join(", "), debian().display());
    let mut listed = listed();
    if listed.is_none() && place::output_of(Command::new("id").arg("-u")).as_deref() == Some("0") {
        // The lists of packages may be absent or old.
        place::succeed(Command::new("apt-get").args(["-qq", "update"]))?;
        listed = self::listed();
    }
    let listed = listed.with_context(|| format!("apt-get does not know {} (apt-get update)", PACKAGES.join(", ")))?;
    let archives = tempfile::tempdir().context("cannot make a temporary folder")?;
    let download = || {
        let mut download = Command::new("apt-get");
        place::succeed(download.args(["-qq", "download"]).args(&listed).current_dir(archives.path()))
    };
    if download().is_err() {
        place::succeed(Command::new("apt-get").args(["-qq", "update"]))?;
        download()?;
    }
    // Renamed when it is complete, so that an interrupted installation starts over.
    let partial = folder().join("debian.partial");
    renew(&partial)?;
    for entry in fs::read_dir(archives.path())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            place::succeed(Command::new("dpkg").arg("-x").arg(path).arg(&partial))?;
        }
    }
    put(&partial, &debian())
}

/// The packages that would be installed with those that are wanted.
fn listed() -> Option<Vec<String>> {
    let mut simulated = Command::new("apt-get");
    simulated.args(["install", "--simulate", "--no-install-recommends"]).args(PACKAGES);
    let text = place::output_of(&mut simulated)?;
    let names = text.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
    Some(names.filter(|name| *name != LEFT_OUT).map(str::to_owned).collect())
}

/// The folder with a folder of classes for each Java program.
pub(crate) fn found_java() -> Option<PathBuf> {
    let is_current = fs::read_to_string(java().join(STAMP)).is_ok_and(|text| text == stamp());
    is_current.then(java)
}

pub(crate) fn java_can_be_installed() -> bool {
    [("java", "-version"), ("mvn", "--version")]
        .iter()
        .all(|(tool, argument)| place::output_of(Command::new(tool).arg(argument)).is_some())
}

pub(crate) fn install_java() -> Result<()> {
    eprintln!("fetching JHOVE and veraPDF into {}", java().display());
    let partial = folder().join("java.partial");
    renew(&partial)?;
    for (name, artifacts) in ARTIFACTS {
        let project = tempfile::tempdir().context("cannot make a temporary folder")?;
        fs::write(project.path().join("pom.xml"), pom(artifacts)).context("cannot write pom.xml")?;
        place::succeed(
            Command::new("mvn")
                .args(["--quiet", "--batch-mode", COPY, "-DincludeScope=runtime"])
                .arg(format!("-DoutputDirectory={}", partial.join(name).display()))
                .current_dir(project.path()),
        )?;
        if !partial.join(name).is_dir() {
            bail!("Maven copied nothing for {name}");
        }
    }
    fs::write(partial.join(STAMP), stamp()).context("cannot write which classes there are")?;
    put(&partial, &java())
}

/// A project that depends on the artifacts.
fn pom(artifacts: &[[&str; 3]]) -> String {
    let dependencies: Vec<String> = artifacts
        .iter()
        .map(|[group, name, version]| {
            format!(
                "<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
            )
        })
        .collect();
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion><groupId>strongroom</groupId>\
         <artifactId>peers</artifactId><version>1</version><dependencies>{}</dependencies></project>\n",
        dependencies.concat()
    )
}

const STAMP: &str = "artifacts.txt";

fn stamp() -> String {
    format!("{ARTIFACTS:?}\n")
}

fn debian() -> PathBuf {
    folder().join("debian")
}

fn java() -> PathBuf {
    folder().join("java")
}

/// Makes an empty folder.
fn renew(path: &Path) -> Result<()> {
    if path.exists() {
        fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

/// Puts a folder in its place.
fn put(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("cannot remove {}", to.display()))?;
    }
    fs::rename(from, to).with_context(|| format!("cannot rename {} to {}", from.display(), to.display()))
}
