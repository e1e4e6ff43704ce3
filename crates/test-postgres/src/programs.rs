//! Where the programs of a PostgreSQL server are on this machine.

use std::path::{Path, PathBuf};

/// The variable that names a server for tests, by its URL.
pub const SERVER: &str = "STRONGROOM_TEST_POSTGRES";
/// The variable that names the folder of `postgres` and `initdb`, for tests that need a server to themselves.
pub const PROGRAMS: &str = "STRONGROOM_TEST_POSTGRES_PROGRAMS";

/// The oldest server that is tested with.
const OLDEST: u32 = 15;

/// The folder that holds `postgres` and `initdb`: that of [`PROGRAMS`], or of the search path, or where Debian and its kin
/// keep them, the newest first.
pub fn programs() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(PROGRAMS) {
        return Some(PathBuf::from(named)).filter(|folder| are_in(folder));
    }
    let searched = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&searched).find(|folder| are_in(folder));
    on_path.or_else(|| newest_below(Path::new("/usr/lib/postgresql")))
}

/// Whether both programs are in a folder.
fn are_in(folder: &Path) -> bool {
    ["postgres", "initdb"].iter().all(|program| folder.join(program).is_file())
}

fn newest_below(folder: &Path) -> Option<PathBuf> {
    let versions = std::fs::read_dir(folder).ok()?.flatten().filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let programs = entry.path().join("bin");
        (version >= OLDEST && are_in(&programs)).then_some((version, programs))
    });
    versions.max().map(|(_, programs)| programs)
}
