//! The program at a terminal: what it draws on standard error, and what it asks.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

use regex::Regex;
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::program::Place;

/// A run of the program whose standard error is a terminal; standard output is a pipe.
pub(crate) struct AtTerminal {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: JoinHandle<String>,
    drawn: JoinHandle<Vec<u8>>,
}

/// What a run has left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    /// Every state of every line, in the order in which they were drawn.
    pub(crate) frames: Vec<String>,
    /// What stands on the terminal in the end.
    pub(crate) screen: String,
}

impl Place {
    /// Starts the program with a terminal of so many columns; nothing comes on standard input, which stays open.
    pub(crate) fn start_at_terminal(&self, columns: u16, arguments: &[&str]) -> AtTerminal {
        let (terminal, stderr) = open_terminal(columns);
        let mut command = self.command_at_terminal();
        let mut child =
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        // The end of the terminal that the program has is its own alone, so that it ends with it.
        drop(command);
        let mut stdout = child.stdout.take().unwrap();
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        let drawn = thread::spawn(move || read_all(File::from(terminal)));
        let stdin = child.stdin.take();
        AtTerminal { child, stdin, stdout, drawn }
    }

    /// Runs the program with a terminal as standard input, standard output and standard error, where this is typed. What the
    /// terminal shows in the end, with what was typed, and the exit code.
    pub(crate) fn run_by_typing(&self, columns: u16, arguments: &[&str], typed: &str) -> (Option<i32>, String) {
        let (terminal, end) = open_terminal(columns);
        // The terminal keeps the lines until they are read.
        File::from(terminal.try_clone().unwrap()).write_all(typed.as_bytes()).unwrap();
        let mut command = self.command_at_terminal();
        command.stdin(end.try_clone().unwrap()).stdout(end.try_clone().unwrap()).stderr(end);
        let mut child = command.args(arguments).spawn().unwrap();
        drop(command);
        let drawn = thread::spawn(move || read_all(File::from(terminal)));
        let code = child.wait().unwrap().code();
        let (_, screen) = follow(&String::from_utf8(drawn.join().unwrap()).unwrap());
        (code, screen)
    }

    /// The program with a terminal that says what it is, whatever the environment of the test has.
    fn command_at_terminal(&self) -> Command {
        let mut command = self.command();
        command.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("COLUMNS");
        command
    }

    /// Runs the program with a terminal of so many columns.
    pub(crate) fn run_at_terminal(&self, columns: u16, arguments: &[&str]) -> Ended {
        let mut started = self.start_at_terminal(columns, arguments);
        started.stdin = None;
        started.wait()
    }
}

/// A new terminal of so many columns: the end that a person has, and the end that programs have.
fn open_terminal(columns: u16) -> (OwnedFd, OwnedFd) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let name = std::ffi::OsStr::from_bytes(name.as_bytes());
    let flags = OFlags::NOCTTY.bits().cast_signed();
    let end = OpenOptions::new().read(true).write(true).custom_flags(flags).open(name).unwrap();
    (terminal, end.into())
}

/// Reads until the last program has closed the terminal, which Linux tells by an error.
fn read_all(mut terminal: File) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = terminal.read(&mut buffer) {
        all.extend_from_slice(&buffer[..length]);
    }
    all
}

impl AtTerminal {
    /// Ctrl-C, once the program listens for it.
    pub(crate) fn interrupt(&self) {
        while !catches_interrupts(self.child.id()) {
            thread::yield_now();
        }
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    pub(crate) fn wait(mut self) -> Ended {
        let code = self.child.wait().unwrap().code();
        drop(self.stdin);
        let drawn = String::from_utf8(self.drawn.join().unwrap()).unwrap();
        let (frames, screen) = follow(&drawn);
        Ended { code, stdout: self.stdout.join().unwrap(), frames, screen }
    }
}

/// Whether a process has a handler of SIGINT, by what Linux tells of it.
fn catches_interrupts(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
}

impl Ended {
    /// What was drawn of a bar or of a sign of life, without it.
    pub(crate) fn lines(&self) -> Vec<&str> {
        let drawn = Regex::new(r"^[█░⠀-⣿ ]+ (\d.*)$").unwrap();
        self.frames.iter().filter_map(|frame| Some(drawn.captures(frame)?.get(1)?.as_str())).collect()
    }
}

/// Does what a terminal does with what is drawn on one line at a time: the states of the lines, and what is left of them.
fn follow(drawn: &str) -> (Vec<String>, String) {
    let control = Regex::new("\u{1b}\\[[0-9;?]*[A-Za-z]|\r|\n").unwrap();
    let (mut frames, mut screen, mut line) = (Vec::new(), Vec::<String>::new(), String::new());
    let (mut last, mut is_at_start) = (0, false);
    let write = |line: &mut String, text: &str, is_at_start: &mut bool| {
        if !text.is_empty() {
            // It is written over what stands there; where it is shorter, indicatif clears the line first.
            if std::mem::take(is_at_start) {
                line.clear();
            }
            line.push_str(text);
        }
    };
    for found in control.find_iter(drawn) {
        write(&mut line, &drawn[last..found.start()], &mut is_at_start);
        last = found.end();
        match found.as_str() {
            "\n" => {
                is_at_start = false;
                screen.push(std::mem::take(&mut line));
            }
            "\u{1b}[2K" | "\u{1b}[K" => line.clear(),
            "\u{1b}[1A" => line = screen.pop().unwrap_or_default(),
            "\r" => {
                is_at_start = true;
                if !line.is_empty() {
                    frames.push(line.clone());
                }
            }
            _ => {}
        }
    }
    write(&mut line, &drawn[last..], &mut is_at_start);
    screen.push(line);
    (frames, screen.join("\n"))
}
