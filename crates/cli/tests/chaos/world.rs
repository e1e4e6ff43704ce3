//! Where a run takes place: a data directory, its stores, the program's processes, and the log of all that was done.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use strongroom_database::testing::Scratch;
use strongroom_ezid_double::{EzidDouble, PASSWORD, USER};
use strongroom_s3_double::{ACCESS_KEY, BUCKET, Double, SECRET_KEY};

use crate::hook::{Hook, SECRET};
use crate::options::{Database, Stores};
use crate::plan::LEASE;
use crate::web::Web;

/// Longer than any command of a person takes while nothing is wrong.
const PATIENCE: Duration = Duration::from_mins(2);
/// How root runs the program: bound by permissions, and ended with the run, however that ends.
const BOUND: [&str; 2] = ["--pdeathsig=KILL", "--bounding-set=-dac_override,-dac_read_search"];
/// The institution that `init` makes.
pub(crate) const INSTITUTION: &str = "example.edu";
/// The admins of the institution: one requests deletions, the other one approves them.
pub(crate) const ADMINS: [&str; 2] = ["ann@example.edu", "bob@example.edu"];
/// The collection that deposits are made in.
pub(crate) const COLLECTION: &str = "default";
/// Every store that `init` makes.
const STORES: [&str; 6] = ["receiving", "staging", "primary", "secondary", "restoration", "quarantine"];

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    /// The answer as JSON Lines.
    pub(crate) fn json(&self) -> Result<Vec<Value>> {
        self.stdout.lines().map(|line| serde_json::from_str(line).with_context(|| format!("{line:?}"))).collect()
    }

    /// The same of a command that must have ended with 0.
    pub(crate) fn succeeded(self) -> Result<Self> {
        if self.code == Some(0) { Ok(self) } else { bail!("{self:?}") }
    }
}

/// What a run's place is made of.
#[derive(Debug, Clone)]
pub(crate) struct Equipment {
    /// No other run that is made at the same time has this name.
    pub(crate) name: String,
    pub(crate) database: Database,
    pub(crate) stores: Stores,
    pub(crate) max_attempts: u64,
    /// Whether objects get ARKs, registered with EZID.
    pub(crate) has_arks: bool,
    /// Settings beside those of every run, as variables.
    pub(crate) settings: Vec<(&'static str, String)>,
}

/// A run's place.
pub(crate) struct World {
    pub(crate) folder: PathBuf,
    pub(crate) database: Option<Scratch>,
    /// Object storage by the name of the store that lies in it.
    pub(crate) doubles: BTreeMap<String, Double>,
    pub(crate) web: Web,
    /// Where the ends of batches and items are told.
    pub(crate) hook: Hook,
    /// Where objects get ARKs.
    pub(crate) ezid: Option<EzidDouble>,
    max_attempts: u64,
    settings: Vec<(&'static str, String)>,
    began: Instant,
    log: File,
}

/// The folder of a run and its log file, below the build's folder.
pub(crate) fn place(name: &str) -> (PathBuf, PathBuf) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap_or(Path::new("target")).join("chaos");
    (target.join(name), target.join(format!("{name}.log")))
}

impl World {
    /// Makes a new data directory with its stores. None, and a line that says so, where there is no PostgreSQL.
    pub(crate) fn new(equipment: &Equipment) -> Result<Option<Self>> {
        let database = match equipment.database {
            Database::Sqlite => None,
            Database::Postgres => match Scratch::new() {
                Some(scratch) => Some(scratch),
                None => return Ok(None),
            },
        };
        let (folder, log) = place(&equipment.name);
        if folder.exists() {
            unlock(&folder)?;
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let log = File::create(&log).with_context(|| format!("cannot make {}", log.display()))?;
        let mut world = Self {
            folder,
            database,
            doubles: BTreeMap::new(),
            web: Web::start(),
            hook: Hook::start(),
            ezid: equipment.has_arks.then(EzidDouble::start).transpose()?,
            max_attempts: equipment.max_attempts,
            settings: equipment.settings.clone(),
            began: Instant::now(),
            log,
        };
        world.make(equipment.stores)?;
        Ok(Some(world))
    }

    fn make(&mut self, stores: Stores) -> Result<()> {
        let mut init = vec!["init".to_owned(), "home".to_owned()];
        if let Some(scratch) = &self.database {
            init.extend(["--registry".to_owned(), scratch.url()]);
        }
        self.run(&init)?.succeeded()?;
        let in_s3: &[&str] = match stores {
            Stores::Folders => &[],
            Stores::S3 => &STORES,
            Stores::Both => &["secondary"],
        };
        let file = self.path("home/strongroom.toml");
        let mut settings = fs::read_to_string(&file)?;
        for store in in_s3 {
            let double = Double::start()?;
            let was = format!("[stores.{store}]\nkind = \"folder\"\npath = \"stores/{store}\"\n");
            if !settings.contains(&was) {
                bail!("{was:?} is not in the settings that init has written");
            }
            let now = format!(
                "[stores.{store}]\nkind = \"s3\"\nbucket = \"{BUCKET}\"\nendpoint = \"{}\"\nregion = \"us-east-1\"\n\
                 path_style = true\naccess_key = \"{ACCESS_KEY}\"\nsecret_key = \"{SECRET_KEY}\"\nattempts = 2\n\
                 first_wait = \"50ms\"\nconnect_timeout = \"2s\"\nanswer_timeout = \"4s\"\nstall_timeout = \"2s\"\n",
                double.endpoint()
            );
            settings = settings.replace(&was, &now);
            self.doubles.insert((*store).to_owned(), double);
        }
        fs::write(&file, settings)?;
        if !in_s3.is_empty() {
            self.run(["store", "create"].iter().chain(in_s3))?.succeeded()?;
        }
        let set = ["collection", "set", COLLECTION, "--institution", INSTITUTION, "--callback-url"];
        self.run(set.iter().copied().chain([self.hook.url().as_str()]))?.succeeded()?;
        for admin in ADMINS {
            // Neither makes the other, who would not count as another one.
            let add = ["user", "add", admin, "--role", "institution_admin", "--institution", INSTITUTION];
            self.run(add)?.succeeded()?;
        }
        Ok(())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a line to the log, with the time since the beginning.
    pub(crate) fn log(&mut self, line: impl fmt::Display) {
        let at = self.began.elapsed().as_millis();
        // A log that cannot be written is no finding about the program.
        let _ = writeln!(self.log, "{:>4}.{:03}  {line}", at / 1_000, at % 1_000);
    }

    /// The program, with the data directory and no settings from outside, bound by permissions even where root runs it.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let program = env!("CARGO_BIN_EXE_strongroom");
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(BOUND).arg(program);
            command
        } else {
            Command::new(program)
        };
        self.furnish(&mut command);
        command.args(arguments);
        command
    }

    /// The same with a limit to the files it may write, in blocks of 512 bytes: writing more fails, as on a full disk.
    pub(crate) fn command_that_fills(&self, blocks: u64, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", &blocks.to_string()]);
        if is_root() {
            command.arg("setpriv").args(BOUND);
        }
        command.arg(env!("CARGO_BIN_EXE_strongroom")).args(arguments);
        self.furnish(&mut command);
        command
    }

    fn furnish(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("STRONGROOM_")) {
            command.env_remove(name);
        }
        command
            .env_remove("FAILPOINTS")
            .env("STRONGROOM_HOME", "home")
            .env("STRONGROOM_WORKERS__DEFAULT__LEASE", format!("{LEASE}s"))
            .env("STRONGROOM_WORKERS__DEFAULT__SHUTDOWN_TIMEOUT", "3s")
            .env("STRONGROOM_WORKERS__DEFAULT__MAX_ATTEMPTS", self.max_attempts.to_string())
            .env("STRONGROOM_RECEIVING__SCAN_INTERVAL", "1s")
            .env("STRONGROOM_RECEIVING__QUIET_PERIOD", "1s")
            .env("STRONGROOM_INGEST__URL_HOSTS", self.web.hosts())
            .env("STRONGROOM_INGEST__ALLOW_PRIVATE_ADDRESSES", "true")
            .env("STRONGROOM_CALLBACKS__HOSTS", self.hook.host())
            .env("STRONGROOM_CALLBACKS__SCHEMES", "http")
            .env("STRONGROOM_CALLBACKS__ALLOW_PRIVATE_ADDRESSES", "true")
            .env("STRONGROOM_CALLBACKS__SECRET", SECRET)
            .env("STRONGROOM_CALLBACKS__TIMEOUT", "2s")
            // Chains are published all the time, also into stores that fail.
            .env("STRONGROOM_AUDIT__PUBLISH_INTERVAL", "1s")
            .envs(self.of_arks())
            .envs(self.settings.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(Stdio::null());
    }

    /// The settings of ARKs.
    fn of_arks(&self) -> Vec<(&'static str, String)> {
        let Some(ezid) = &self.ezid else { return Vec::new() };
        vec![
            ("STRONGROOM_IDENTIFIERS__MINTER", "ezid".to_owned()),
            ("STRONGROOM_IDENTIFIERS__NAAN", "99999".to_owned()),
            ("STRONGROOM_IDENTIFIERS__SHOULDER", "fk4".to_owned()),
            ("STRONGROOM_IDENTIFIERS__EZID_URL", ezid.url()),
            ("STRONGROOM_IDENTIFIERS__EZID_USER", USER.to_owned()),
            ("STRONGROOM_IDENTIFIERS__EZID_PASSWORD", PASSWORD.to_owned()),
        ]
    }

    /// Runs a command to its end.
    pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Result<Answer> {
        let mut command = self.command(arguments);
        let mut running = Running::start(&mut command, &self.path("answer"))?;
        let begun = Instant::now();
        while !running.has_ended()? {
            if begun.elapsed() > PATIENCE {
                let threads = running.threads();
                running.kill()?;
                bail!("{command:?} did not end in {PATIENCE:?}; its threads: {threads:?}");
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
        running.answer()
    }

    /// A file that a process appends its standard error to.
    pub(crate) fn log_file(&self, name: &str) -> Result<File> {
        Ok(OpenOptions::new().create(true).append(true).open(self.path(name))?)
    }

    /// Copies what lies in a store out into a folder, where it does not lie in one already; the folder.
    pub(crate) fn as_folder(&self, store: &str, into: &str) -> Result<PathBuf> {
        let Some(double) = self.doubles.get(store) else { return Ok(self.path("home/stores").join(store)) };
        let folder = self.path(into).join(store);
        fs::create_dir_all(&folder)?;
        for key in double.keys() {
            let Some(stored) = double.stored(&key) else { continue };
            let path = folder.join(&key);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, stored.bytes())?;
        }
        Ok(folder)
    }

    /// Keeps what else would be gone with this process: object storage and the rows of PostgreSQL.
    pub(crate) fn keep(&self) -> Result<()> {
        for store in self.doubles.keys() {
            self.as_folder(store, "object-storage")?;
        }
        if self.database.is_some() {
            self.run(["backup", "registry-backup"])?;
        }
        Ok(())
    }

    /// Removes the data directory; the log stays.
    pub(crate) fn remove(&self) -> Result<()> {
        unlock(&self.folder)?;
        fs::remove_dir_all(&self.folder).with_context(|| format!("cannot remove {}", self.folder.display()))
    }
}

/// A process whose answer goes to files.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Running {
    pub(crate) fn start(command: &mut Command, answer: &Path) -> Result<Self> {
        let (stdout, stderr) = (answer.with_extension("out"), answer.with_extension("err"));
        command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
        let child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        Ok(Self { child, stdout, stderr })
    }

    pub(crate) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// The name of each thread and what it asks of the kernel, where the system tells.
    fn threads(&self) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let tell = |path: PathBuf| {
            let read = |what: &str| fs::read_to_string(path.join(what)).unwrap_or_default().trim().to_owned();
            format!("{} {} {}", read("comm"), read("wchan"), read("syscall"))
        };
        tasks.into_iter().flatten().flatten().map(|task| tell(task.path())).collect()
    }

    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    pub(crate) fn answer(mut self) -> Result<Answer> {
        let code = self.child.wait()?.code();
        let read = |path: &Path| -> Result<String> { Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned()) };
        Ok(Answer { code, stdout: read(&self.stdout)?, stderr: read(&self.stderr)? })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Restores the permissions of folders that a run has removed.
fn unlock(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::symlink_metadata(folder)?.permissions().mode();
    if mode & 0o700 != 0o700 {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode | 0o700))?;
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            unlock(&entry.path())?;
        }
    }
    Ok(())
}
