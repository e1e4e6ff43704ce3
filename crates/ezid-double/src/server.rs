//! The server: a thread that accepts connections, and one for each connection.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::faults::Fault;
use crate::http::Message;
use crate::identifiers::Identifier;
use crate::service::{Account, Request, Service};
use crate::{PASSWORD, SHOULDER, USER};

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct EzidDouble {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    service: Mutex<Service>,
    connections: Mutex<Connections>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct Connections {
    has_ended: bool,
    /// The connections that may be open, so that the end of the server ends them.
    open: BTreeMap<u64, TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl EzidDouble {
    /// Starts a server on a free port of the loopback interface.
    ///
    /// # Errors
    /// Where the port cannot be opened.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let acceptor = thread::Builder::new().name("ezid-double".into()).spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        })?;
        let double = Self { address, shared, acceptor: Some(acceptor) };
        double.add_account(USER, PASSWORD, &[SHOULDER]);
        Ok(double)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL of its API, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds an account that may create identifiers which begin with these shoulders, such as `ark:/13030/m5`, or replaces it.
    pub fn add_account(&self, user: &str, password: &str, shoulders: &[&str]) {
        let shoulders = shoulders.iter().map(|&shoulder| shoulder.to_owned()).collect();
        self.service().accounts.insert(user.to_owned(), Account { password: password.to_owned(), shoulders });
    }

    /// Plans a fault for so many requests: the next ones for which none is planned.
    pub fn plan(&self, fault: &Fault, times: usize) {
        self.service().faults.extend(std::iter::repeat_n(fault, times).cloned());
    }

    /// Forgets the faults that are still planned.
    pub fn clear_faults(&self) {
        self.service().faults.clear();
    }

    /// The identifiers that it has, by their normal form such as `ark:/99999/fk4x`.
    pub fn identifiers(&self) -> BTreeMap<String, Identifier> {
        self.service().identifiers.clone()
    }

    /// The requests that it got, in their order.
    pub fn requests(&self) -> Vec<Request> {
        self.service().requests.clone()
    }

    fn service(&self) -> MutexGuard<'_, Service> {
        self.shared.service()
    }
}

impl Drop for EzidDouble {
    fn drop(&mut self) {
        let mut connections = self.shared.connections();
        connections.has_ended = true;
        for connection in connections.open.values() {
            // It may be closed already.
            let _ = connection.shutdown(Shutdown::Both);
        }
        drop(connections);
        self.shared.ended.notify_all();
        // A connection that ends the wait of the acceptor.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        let threads = std::mem::take(&mut self.shared.connections().threads);
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn service(&self) -> MutexGuard<'_, Service> {
        self.service.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, time: Duration) {
        let connections = self.connections();
        drop(self.ended.wait_timeout_while(connections, time, |connections| !connections.has_ended));
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, connection) in (0..).zip(listener.incoming()) {
        let mut connections = shared.connections();
        if connections.has_ended {
            return;
        }
        let Ok(connection) = connection else { continue };
        let Ok(copy) = connection.try_clone() else { continue };
        connections.open.insert(number, copy);
        connections.threads.retain(|thread| !thread.is_finished());
        let served = Arc::clone(shared);
        let thread = thread::Builder::new().name("ezid-double connection".into()).spawn(move || {
            // A client that went away is its own business.
            let _ = serve(&connection, &served);
            served.connections().open.remove(&number);
            let _ = connection.shutdown(Shutdown::Both);
        });
        connections.threads.extend(thread);
    }
}

fn serve(mut connection: &TcpStream, shared: &Shared) -> io::Result<()> {
    let Some(message) = Message::read(&mut BufReader::new(connection))? else { return Ok(()) };
    let (answer, fault) = shared.service().answer(&message);
    match fault {
        Some(Fault::LoseReply | Fault::LoseRequest) => return Ok(()),
        Some(Fault::Slow(time)) => shared.wait(time),
        _ => {}
    }
    answer.write(&mut connection, fault == Some(Fault::CutReply))
}
