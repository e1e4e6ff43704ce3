//! The program of a Redis server: found on the machine, or unpacked below `target/peers` from Debian's packages. Nothing is installed.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::place;

/// Debian's packages of it: the program, and the libraries that it is linked with.
const PACKAGES: [&str; 7] =
    ["redis-server", "redis-tools", "liblzf1", "libjemalloc2", "libatomic1", "libhiredis0.14", "liblua5.1-0"];

/// The program; unpacked first where it is missing. It is a script there that names the folder of the libraries.
pub(super) fn program() -> Result<PathBuf> {
    if place::output_of(Command::new("redis-server").arg("--version")).is_some() {
        return Ok("redis-server".into());
    }
    let folder = place::target().join("peers/redis");
    let script = folder.join("redis-server");
    if script.is_file() {
        return Ok(script);
    }
    eprintln!("unpacking redis-server");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    place::succeed(Command::new("apt-get").current_dir(&folder).args(["-qq", "download"]).args(PACKAGES))?;
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry.context("cannot read the folder of Redis")?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            place::succeed(Command::new("dpkg").arg("-x").arg(&path).arg(folder.join("unpacked")))?;
        }
    }
    let unpacked = folder.join("unpacked/usr");
    let libraries = format!("{}/lib/{}-linux-gnu", unpacked.display(), std::env::consts::ARCH);
    let text =
        format!("#!/bin/sh\nLD_LIBRARY_PATH='{libraries}' exec '{}/bin/redis-server' \"$@\"\n", unpacked.display());
    fs::write(&script, text).with_context(|| format!("cannot write {}", script.display()))?;
    place::succeed(Command::new("chmod").arg("+x").arg(&script))?;
    Ok(script)
}
