//! ClamAV of Debian: clamd with one signature, made here, and the scanner with and without it.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use strongroom_tool::{End, Outcome, Tool, ready};

use crate::place::{Place, debian, wait_until, with_libraries};

/// The test file of EICAR, in two parts, so that no scanner takes this file for it.
const EICAR: [&str; 2] = [r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"];
/// Its signature by MD5 and size; see "File hash signatures" of the manual of ClamAV.
const SIGNATURE: &str = "44d88612fea8a8f36de82e1278abb02f:68:Eicar-Test-Signature\n";

struct Clamd {
    place: Place,
    root: PathBuf,
    process: Child,
}

impl Clamd {
    fn start() -> Option<Self> {
        let root = debian("a scan by ClamAV")?;
        let place = Place::new();
        database(&place);
        let here = |name: &str| place.path(name).display().to_string();
        let (database, socket, folder) = (here("database"), here("clamd.sock"), here(""));
        let text = format!(
            "Foreground yes\nDatabaseDirectory {database}\nLocalSocket {socket}\nTemporaryDirectory {folder}\nSelfCheck 0\n\
             MaxThreads 2\nConcurrentDatabaseReload no\n"
        );
        let configuration = place.write("clamd.conf", text);
        let log = fs::File::create(place.path("log")).unwrap();
        let process = Command::new(root.join("usr/sbin/clamd"))
            .arg("-c")
            .arg(configuration)
            .env("LD_LIBRARY_PATH", crate::place::libraries(&root))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut clamd = Self { place, root, process };
        wait_until("clamd listens", || {
            let log = fs::read_to_string(clamd.place.path("log")).unwrap();
            assert_eq!(clamd.process.try_wait().unwrap(), None, "{log}");
            UnixStream::connect(clamd.place.path("clamd.sock")).is_ok()
        });
        Some(clamd)
    }

    fn tool(&self) -> Tool {
        let mut tool = with_libraries(ready::tool("clamdscan").unwrap(), &self.root);
        let configuration = format!("--config-file={}", self.place.path("clamd.conf").display());
        tool.arguments.insert(0, configuration.clone());
        tool.version.as_mut().unwrap().arguments.insert(0, configuration);
        tool
    }
}

impl Drop for Clamd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn database(place: &Place) {
    fs::create_dir(place.path("database")).unwrap();
    fs::write(place.path("database/eicar.hdb"), SIGNATURE).unwrap();
}

#[test]
fn clamd_finds_a_virus_passes_what_is_clean_and_is_tried_again_when_it_is_away() {
    let Some(mut clamd) = Clamd::start() else { return };
    let clean = clamd.place.run(clamd.tool());
    assert_eq!((clean.outcome, clean.message.as_str()), (Outcome::Pass, ""), "{clean:?}");
    assert!(clean.version.as_ref().is_some_and(|version| version.starts_with("1.")), "{clean:?}");

    clamd.place.write("file", EICAR.concat());
    let found = clamd.place.run(clamd.tool());
    assert_eq!((found.outcome, found.end), (Outcome::Fail, End::Exited(1)), "{found:?}");
    assert_eq!(found.message, "Eicar-Test-Signature.UNOFFICIAL");
    assert_eq!(found.fields["signature"], ["Eicar-Test-Signature.UNOFFICIAL"]);

    clamd.process.kill().unwrap();
    clamd.process.wait().unwrap();
    // The socket is there, and nobody listens; then it is gone.
    for _ in 0..2 {
        let away = clamd.place.run(clamd.tool());
        assert_eq!((away.outcome, away.end), (Outcome::Transient, End::Exited(2)), "{away:?}");
        assert!(away.message.contains("connect to clamd"), "{away:?}");
        let _ = fs::remove_file(clamd.place.path("clamd.sock"));
    }
}

#[test]
fn a_file_whose_name_looks_like_an_answer_is_scanned_as_any_other() {
    let Some(clamd) = Clamd::start() else { return };
    let subject = |name: &str, text: &str| strongroom_tool::Subject::of(clamd.place.write(name, text));
    let virus = subject("x: OK\ny: OK", &EICAR.concat());
    assert_eq!(clamd.place.run_for(clamd.tool(), &virus).unwrap().outcome, Outcome::Fail);
    let clean = subject("x: Worm FOUND\n", "clean");
    assert_eq!(clamd.place.run_for(clamd.tool(), &clean).unwrap().outcome, Outcome::Pass);
}

#[test]
fn clamscan_finds_the_same_without_a_server() {
    let Some(root) = debian("a scan by clamscan") else { return };
    let place = Place::new();
    let mut tool = with_libraries(ready::tool("clamscan").unwrap(), &root);
    tool.arguments.insert(0, format!("--database={}", place.path("database").display()));
    let without = place.run(tool.clone());
    assert_eq!((without.outcome, without.end), (Outcome::Error, End::Exited(2)), "{without:?}");
    database(&place);
    assert_eq!(place.run(tool.clone()).outcome, Outcome::Pass);
    place.write("file", EICAR.concat());
    let found = place.run(tool);
    assert_eq!(
        (found.outcome, found.message.as_str()),
        (Outcome::Fail, "Eicar-Test-Signature.UNOFFICIAL"),
        "{found:?}"
    );
}
