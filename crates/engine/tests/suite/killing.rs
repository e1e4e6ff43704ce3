//! Processes that are killed: this test binary once more, running one ignored test on the home of the test that starts it.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use strongroom_engine::Home;
use strongroom_engine::settings::Settings;

const HOME: &str = "STRONGROOM_CRASH_HOME";
const SIGKILL: i32 = 9;

/// The home on which this process is to work until it is killed, with its crash points armed; none where no test started it for that.
pub(crate) fn home_of_this_process() -> Option<Home> {
    let folder = std::env::var(HOME).ok()?;
    let folder = Path::new(&folder);
    let settings = std::fs::read_to_string(folder.join("strongroom.toml")).expect("reads");
    let home = Home::open(folder, Settings::from_toml(&settings).expect("settings")).expect("opens");
    strongroom_engine::arm_crash_points();
    Some(home)
}

/// Runs an ignored test, named with its modules, in a process of its own until it is killed at a crash point. `more` are further variables
/// of its environment.
pub(crate) fn kill_at(home: &Path, test: &str, point: &str, more: &[(&str, &str)]) {
    let status = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", test, "--ignored"])
        .env(HOME, home)
        .env("FAILPOINTS", format!("{point}=1*return"))
        .envs(more.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("runs");
    assert_eq!(status.signal(), Some(SIGKILL), "{point}: {status:?}");
}
