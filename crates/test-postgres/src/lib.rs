//! A PostgreSQL server of one's own, for tests: made in a temporary folder, on a free port of the loopback interface, with
//! a password nobody else knows. It is stopped when its handle goes, and by the kernel where the program that started it
//! is killed. PostgreSQL refuses to run as root, so root starts it as another user.

mod programs;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Error, Result};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub use programs::{PROGRAMS, SERVER, programs};

/// How long a server may take to start or stop.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often it is asked whether it has.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// The users whom root may start a server as: that of the package, or the one that owns nothing.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// What a server for tests needs not do, and what it has to bear. Nothing survives a power failure; everything survives the
/// end of the server's processes.
const SETTINGS: [&str; 6] = [
    "fsync=off",
    "full_page_writes=off",
    "max_connections=300",
    "listen_addresses=127.0.0.1",
    "timezone=UTC",
    "log_min_messages=fatal",
];

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// In order: open transactions are undone, what was committed is written.
    Fast,
    /// At once, as in a crash: what was committed is recovered at the next start.
    Immediate,
}

/// A running or stopped server with its folder.
pub struct Server {
    programs: PathBuf,
    folder: TempDir,
    user: Option<&'static str>,
    password: String,
    port: u16,
    process: Option<Child>,
}

impl Server {
    /// Makes and starts a server with the programs in a folder; see [`programs`].
    pub fn start(programs: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("strongroom-postgres-").tempdir()?;
        let mut server = Self {
            programs: programs.to_owned(),
            folder,
            user: unprivileged_user()?,
            password: format!("{:016x}{:016x}", random(), random()),
            port: free_port()?,
            process: None,
        };
        server.make()?;
        server.begin()?;
        Ok(server)
    }

    /// The URL of its database `postgres`, for its superuser.
    pub fn url(&self) -> String {
        format!("postgres://postgres:{}@127.0.0.1:{}/postgres", self.password, self.port)
    }

    /// The folder that holds its files; certificates may be put there before it begins anew.
    pub fn folder(&self) -> PathBuf {
        self.folder.path().join("server")
    }

    /// Starts it again after [`Self::stop`], with what it kept, at the same address.
    pub fn begin(&mut self) -> Result<()> {
        self.begin_with(&[])
    }

    /// As [`Self::begin`], with settings of the form `name=value`.
    pub fn begin_with(&mut self, settings: &[String]) -> Result<()> {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).arg("-p").arg(self.port.to_string());
        command.arg("-k").arg(self.folder());
        for setting in SETTINGS.iter().copied().chain(settings.iter().map(String::as_str)) {
            command.arg("-c").arg(setting);
        }
        let log = std::fs::File::create(self.folder.path().join("log"))?;
        command.stdout(log.try_clone()?).stderr(log);
        self.process = Some(command.spawn()?);
        self.wait_until_ready()
    }

    /// Stops it; it can be begun again.
    pub fn stop(&mut self, how: Stop) -> Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        // The first line of the file is the process id of the server itself, whatever started it.
        let file = std::fs::read_to_string(self.data().join("postmaster.pid"))?;
        let id = file.lines().next().unwrap_or_default().to_owned();
        let signal = match how {
            Stop::Fast => "-INT",
            Stop::Immediate => "-QUIT",
        };
        let told = Command::new("kill").args([signal, &id]).status()?;
        if !told.success() {
            return Err(Error::other(format!("process {id} could not be told to stop")));
        }
        let deadline = Instant::now() + PATIENCE;
        while process.try_wait()?.is_none() {
            if Instant::now() > deadline {
                process.kill()?;
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// A program of the server, to be run by the user that may.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = match self.user {
            // Without a user to become it still ends with whoever started it, where the system can tell.
            None if !has_setpriv() => Command::new(&program),
            None => {
                let mut command = Command::new("setpriv");
                command.arg("--pdeathsig=INT").arg(&program);
                command
            }
            Some(user) => {
                let mut command = Command::new("setpriv");
                let group = if user == "nobody" { "nogroup" } else { user };
                command.arg(format!("--reuid={user}")).arg(format!("--regid={group}"));
                command.args(["--clear-groups", "--pdeathsig=INT"]).arg(&program);
                command
            }
        };
        command.env("LC_ALL", "C").env_remove("PGDATA").stdin(Stdio::null()).current_dir("/");
        command
    }

    /// Makes the files of a new server.
    fn make(&self) -> Result<()> {
        std::fs::set_permissions(self.folder.path(), std::fs::Permissions::from_mode(0o711))?;
        let folder = self.folder();
        std::fs::create_dir(&folder)?;
        let password = folder.join("password");
        std::fs::write(&password, &self.password)?;
        std::fs::set_permissions(&password, std::fs::Permissions::from_mode(0o600))?;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))?;
        if let Some(user) = self.user {
            let (owner, group) = ids(user)?;
            for path in [&folder, &password] {
                chown(path, Some(owner), Some(group))?;
            }
        }
        let mut command = self.command("initdb");
        command.arg("-D").arg(self.data()).args(["--username=postgres", "--auth=scram-sha-256", "--no-sync"]);
        command.args(["--encoding=UTF8", "--no-locale"]).arg(format!("--pwfile={}", password.display()));
        let made = command.output()?;
        if made.status.success() {
            return Ok(());
        }
        Err(Error::other(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr).trim())))
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // The eighth line tells how far it is, as its own `pg_ctl` reads it.
            let file = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
            if file.lines().nth(7).is_some_and(|line| line.trim() == "ready") {
                return Ok(());
            }
            let ended = match &mut self.process {
                Some(process) => process.try_wait()?.is_some(),
                None => true,
            };
            if ended || Instant::now() > deadline {
                let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                return Err(Error::other(format!("the server did not start: {}", log.trim())));
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.stop(Stop::Immediate).is_err()
            && let Some(process) = &mut self.process
        {
            // Nobody is left to tell; the folder goes in any case.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Whom to start a server as: nobody else, unless this is root.
fn unprivileged_user() -> Result<Option<&'static str>> {
    if answer(Command::new("id").arg("-u"))? != "0" {
        return Ok(None);
    }
    let known = USERS.iter().find(|user| answer(Command::new("id").args(["-u", user])).is_ok());
    known.map(|user| Some(*user)).ok_or_else(|| Error::other("there is no user that root could start PostgreSQL as"))
}

fn has_setpriv() -> bool {
    answer(Command::new("setpriv").arg("--version")).is_ok()
}

fn ids(user: &str) -> Result<(u32, u32)> {
    let number = |option| {
        let text = answer(Command::new("id").args([option, user]))?;
        text.parse().map_err(|_| Error::other(format!("{text:?} is no id of {user}")))
    };
    Ok((number("-u")?, number("-g")?))
}

/// What a command prints, where it succeeds.
fn answer(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::null()).output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(Error::other(format!("{command:?} failed")))
    }
}

/// A port that nobody listened on a moment ago.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
