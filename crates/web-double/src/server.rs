//! The server: its files, its threads and its end.

use std::fmt;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::answer::Reply;
use crate::behaviour::Behaviour;
use crate::certificates::{Certificate, issue};
use crate::connection;
use crate::request::Request;
use crate::state::{Handler, Shared};

/// A server on a loopback port, which ends when it is dropped.
pub struct WebDouble {
    address: SocketAddr,
    shared: Arc<Shared>,
    root_certificate: Option<String>,
    thread: Option<JoinHandle<()>>,
}

impl WebDouble {
    /// Starts a server of HTTP.
    ///
    /// # Panics
    /// No port of the loopback address can be listened on.
    #[must_use]
    pub fn start() -> Self {
        Self::listen(None)
    }

    /// Starts a server of HTTPS with a certificate. Its URLs have the host `localhost`.
    ///
    /// # Panics
    /// As [`WebDouble::start`], or no certificate can be made.
    #[must_use]
    pub fn start_tls(certificate: Certificate) -> Self {
        Self::listen(Some(issue(certificate).expect("a certificate is made")))
    }

    fn listen(tls: Option<(Arc<ServerConfig>, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared::default());
        let (config, root_certificate) = tls.unzip();
        let accepting = shared.clone();
        let thread = thread::spawn(move || accept(&listener, config.as_ref(), &accepting));
        Self { address, shared, root_certificate, thread: Some(thread) }
    }

    /// Puts bytes at a path, in the place of what is there.
    pub fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        self.shared.change(|state| state.files.insert(path.to_owned(), bytes.as_ref().to_vec()));
    }

    /// Answers requests for a path by a function of the request. Behaviours of the path apply to what it answers.
    pub fn answer(&self, path: &str, answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) {
        self.shared.change(|state| state.handlers.insert(path.to_owned(), Handler(Arc::new(answer))));
    }

    /// Serves the files below a folder of the disk at paths that begin with `prefix`.
    pub fn folder(&self, prefix: &str, folder: &Path) {
        self.shared.change(|state| state.folders.push((prefix.to_owned(), folder.to_owned())));
    }

    /// Adds a way in which answers for a path differ.
    pub fn on(&self, path: &str, behaviour: Behaviour) {
        self.shared.change(|state| state.behaviours.entry(path.to_owned()).or_default().push(behaviour));
    }

    /// Answers for a path as HTTP says again.
    pub fn mend(&self, path: &str) {
        self.shared.change(|state| state.behaviours.remove(path));
    }

    /// Lets slow bodies of a path send so many more bytes.
    pub fn release(&self, path: &str, bytes: u64) {
        self.shared.change(|state| *state.released.entry(path.to_owned()).or_default() += bytes);
    }

    /// Waits until so many bodies of paths that begin with `prefix` are being sent.
    pub fn wait_for_open_bodies(&self, prefix: &str, count: usize) {
        self.shared.wait_until(|state| {
            let open = state.open_bodies.iter().filter(|(path, _)| path.starts_with(prefix));
            open.map(|(_, count)| count).sum::<usize>() >= count
        });
    }

    /// Most bodies that were sent at a time.
    pub fn most_open_bodies(&self) -> usize {
        self.shared.lock().most_open_bodies
    }

    /// The requests, in the order in which they came.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// The requests for a path.
    pub fn requests_of(&self, path: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.path == path).collect()
    }

    /// Host and port.
    pub fn authority(&self) -> String {
        match self.root_certificate {
            Some(_) => format!("localhost:{}", self.address.port()),
            None => self.address.to_string(),
        }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.root_certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.authority())
    }

    /// The authority that issued the certificate of the server, as PEM; none without TLS.
    pub fn root_certificate(&self) -> Option<&str> {
        self.root_certificate.as_deref()
    }
}

impl Drop for WebDouble {
    fn drop(&mut self) {
        self.shared.change(|state| state.is_stopped = true);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for WebDouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebDouble").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A connection with or without TLS.
trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

fn accept(listener: &TcpListener, config: Option<&Arc<ServerConfig>>, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.lock().is_stopped {
            return;
        }
        let Ok(stream) = stream else { continue };
        let _ = stream.set_nodelay(true);
        let shared = shared.clone();
        let stream: Box<dyn Stream> = match config {
            None => Box::new(stream),
            Some(config) => match ServerConnection::new(config.clone()) {
                Ok(connection) => Box::new(StreamOwned::new(connection, stream)),
                Err(_) => continue,
            },
        };
        // A connection ends with its client, or at its next byte after the end of the server.
        thread::spawn(move || connection::serve(BufReader::new(stream), &shared));
    }
}
