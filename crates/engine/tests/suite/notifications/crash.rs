//! A process that is killed after the receiver has the message and before the outbox knows: the next one sends it again under the same
//! identifier. The process that is killed is this test binary once more, running [`killed`] on the home that the test made.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use strongroom_engine::settings::Settings;
use strongroom_web_double::WebDouble;

use super::mail_server::MailServer;
use super::*;

const HOME: &str = "STRONGROOM_CRASH_HOME";
const SIGKILL: i32 = 9;

#[test]
#[ignore = "is run by the other tests of this module, in a process of its own"]
fn killed() {
    let Ok(folder) = std::env::var(HOME) else { return };
    let folder = Path::new(&folder);
    let settings = std::fs::read_to_string(folder.join("strongroom.toml")).expect("reads");
    let home = Home::open(folder, Settings::from_toml(&settings).expect("settings")).expect("opens");
    strongroom_engine::arm_crash_points();
    run(&home);
}

fn kill_at(home: &TestHome, point: &str) {
    let status = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "notifications::crash::killed", "--ignored"])
        .env(HOME, home.path())
        .env("FAILPOINTS", format!("{point}=1*return"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("runs");
    assert_eq!(status.signal(), Some(SIGKILL), "{point}: {status:?}");
}

#[test]
fn a_mail_whose_process_is_killed_is_sent_again_under_the_same_identifier() {
    let Some(mut server) = MailServer::start(&json!({})) else { return };
    let home = home_with(&server.settings(""));
    let mail = Mail { to: vec!["a@example.edu".into()], subject: "Once".into(), ..Mail::default() };
    put(&home, mail.prepare(&home.settings.mail, "first").expect("a mail"));
    kill_at(&home, "outbox.mail.sent");
    assert_eq!(run(&home), delivered(1));
    let identifier = |taken: serde_json::Value| {
        let data = taken["data"].as_str().expect("a text").to_owned();
        data.lines().find(|line| line.starts_with("Message-ID: ")).expect("an identifier").to_owned()
    };
    assert_eq!(identifier(server.next()), identifier(server.next()));
    assert!(server.rest().is_empty());
}

#[test]
fn a_callback_whose_process_is_killed_is_posted_again_under_the_same_key() {
    let web = WebDouble::start();
    web.put("/hook", b"thanks");
    let home = home_with(&format!(
        "[callbacks]\nhosts = [\"{}\"]\nsecret = \"{SECRET}\"\nschemes = [\"http\"]\nallow_private_addresses = true\n",
        web.authority()
    ));
    let callback = Callback { url: web.url("/hook"), collection: None, event: "test".into(), body: json!({}) };
    put(&home, callback.prepare("first"));
    kill_at(&home, "outbox.callback.sent");
    assert_eq!(run(&home), delivered(1));
    let keys: Vec<Option<String>> =
        web.requests().iter().map(|request| request.header("idempotency-key").map(str::to_owned)).collect();
    assert!(keys.len() == 2 && keys[0].is_some() && keys[0] == keys[1], "{keys:?}");
}
