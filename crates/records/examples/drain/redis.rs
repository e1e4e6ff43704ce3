//! The same through lists of Redis, one by one: `LPUSH` into todo, `RPOPLPUSH` into what a worker is processing, `LREM` there and
//! `LPUSH` into processed. It keeps no states, attempts, errors or times, and nothing that was not written to its disk.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Failure, WORKERS, id, report};

/// A server that runs until this goes.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It is gone already, or ends by this.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Measures the server of this program, with files in `folder`: without a log of what it does, as it comes, and with one that is synced
/// every second.
pub(crate) fn measure(program: &str, folder: &Path, records: u64) -> Result<(), Failure> {
    for log in ["no", "yes"] {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut command = Command::new(program);
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", log]);
        command.args(["--dir", &folder.display().to_string()]).stdout(Stdio::null());
        let _server = Server(command.spawn()?);
        let name = if log == "yes" { "Redis with its log" } else { "Redis in memory" };
        for workers in WORKERS {
            populate(port, records, name)?;
            drain(port, (workers, records), name)?;
            let mut connection = Connection::open(port)?;
            let used = connection.info("used_memory_human")?;
            println!("| {name}: memory of the server {used} | | | | | | |");
            connection.ask(&["FLUSHALL"])?;
        }
    }
    Ok(())
}

fn populate(port: u16, records: u64, name: &str) -> Result<(), Failure> {
    let (mut connection, began) = (Connection::open(port)?, Instant::now());
    for number in 0..records {
        connection.ask(&["LPUSH", "todo", &id(number)])?;
    }
    report(&format!("{name}, populate | 1 | record | 1"), records, began.elapsed());
    Ok(())
}

fn drain(port: u16, (workers, records): (usize, u64), name: &str) -> Result<(), Failure> {
    let began = Instant::now();
    let work = move |number: usize| -> Result<u64, Failure> {
        let (mut connection, own, mut done) = (Connection::open(port)?, format!("processing:{number}"), 0);
        while let Some(id) = connection.ask(&["RPOPLPUSH", "todo", &own])? {
            connection.ask(&["LREM", &own, "1", &id])?;
            connection.ask(&["LPUSH", "processed", &id])?;
            done += 1;
        }
        Ok(done)
    };
    let threads: Vec<_> = (0..workers).map(|number| std::thread::spawn(move || work(number))).collect();
    let mut done = 0;
    for thread in threads {
        done += thread.join().map_err(|_| "a thread panicked")??;
    }
    if done != records {
        return Err(format!("{done} of {records} were processed").into());
    }
    report(&format!("{name} | 1 | record | {workers}"), done, began.elapsed());
    Ok(())
}

/// A connection that speaks RESP, version 2.
struct Connection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    command: Vec<u8>,
}

impl Connection {
    /// Connects once the server answers.
    fn open(port: u16) -> Result<Self, Failure> {
        let deadline = Instant::now() + Duration::from_secs(30);
        let stream = loop {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() > deadline => return Err(error.into()),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        stream.set_nodelay(true)?;
        Ok(Self { reader: BufReader::new(stream.try_clone()?), writer: stream, command: Vec::new() })
    }

    /// Sends a command; its answer, where it is a text, or the number it is.
    fn ask(&mut self, words: &[&str]) -> Result<Option<String>, Failure> {
        self.command.clear();
        write!(self.command, "*{}\r\n", words.len())?;
        for word in words {
            write!(self.command, "${}\r\n{word}\r\n", word.len())?;
        }
        self.writer.write_all(&self.command)?;
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let line = line.trim_end();
        let Some(length) = line.strip_prefix('$') else {
            return if line.starts_with('-') { Err(line.to_owned().into()) } else { Ok(Some(line.to_owned())) };
        };
        let Ok(length) = length.parse::<usize>() else { return Ok(None) };
        let mut text = vec![0; length + 2];
        self.reader.read_exact(&mut text)?;
        text.truncate(length);
        Ok(Some(String::from_utf8(text)?))
    }

    fn info(&mut self, name: &str) -> Result<String, Failure> {
        let text = self.ask(&["INFO", "memory"])?.unwrap_or_default();
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        Ok(found.unwrap_or("unknown").to_owned())
    }
}
