//! aiosmtpd as a process of the test.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

const PYTHON: &str = "STRONGROOM_PEERS_PYTHON";

/// A mail server that ends with its value.
pub(crate) struct MailServer {
    process: Child,
    _input: ChildStdin,
    output: BufReader<ChildStdout>,
    port: u64,
}

impl MailServer {
    /// Starts a server by a plan; none, with a line that says so, where there is no aiosmtpd.
    pub(crate) fn start(plan: &Value) -> Option<Self> {
        let Some(python) = std::env::var_os(PYTHON) else {
            println!("SKIPPED: mails to a mail server: no python with aiosmtpd ({PYTHON} is not set)");
            return None;
        };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/notifications/mail_server.py");
        let mut process = Command::new(python)
            .args(["-W", "ignore", script, &plan.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let input = process.stdin.take().expect("an input");
        let output = BufReader::new(process.stdout.take().expect("an output"));
        let mut server = Self { process, _input: input, output, port: 0 };
        server.port = server.next().as_u64().expect("a port");
        Some(server)
    }

    /// Settings with which mails are sent to it, unencrypted unless `more` says something else.
    pub(crate) fn settings(&self, more: &str) -> String {
        let tls = if more.contains("tls =") { "" } else { "tls = \"none\"\n" };
        format!(
            "[mail]\nhost = \"localhost\"\nport = {}\nfrom = \"Strongroom <strongroom@example.edu>\"\n{tls}{more}\n",
            self.port
        )
    }

    /// What it took next: waits for a mail.
    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("reads");
        serde_json::from_str(&line).expect("what the server took")
    }

    /// Ends it; what it took and was not asked for.
    pub(crate) fn rest(mut self) -> Vec<Value> {
        self.process.kill().expect("ends");
        let mut lines = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut lines).expect("reads");
        lines.lines().map(|line| serde_json::from_str(line).expect("a mail")).collect()
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
