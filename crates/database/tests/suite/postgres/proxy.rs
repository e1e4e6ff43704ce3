//! A way to the server that breaks at a commit: before the commit has passed, or before its answer has come back.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Where the way breaks, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Break {
    /// The commit never reaches the server, which does not learn that the client is gone either.
    BeforeCommit,
    /// The server commits, and nobody hears of it.
    AfterCommit,
}

pub(super) struct Proxy {
    port: u16,
    breaks: Arc<AtomicU8>,
}

impl Proxy {
    /// A way to the server on this port.
    pub(super) fn to(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("listens");
        let port = listener.local_addr().expect("has a port").port();
        let breaks = Arc::new(AtomicU8::new(0));
        let shared = breaks.clone();
        // Ends with the test program.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let (back, breaks) = (client.try_clone().expect("clones"), shared.clone());
                let from_server = server.try_clone().expect("clones");
                let muted = Arc::new(AtomicU8::new(0));
                let mute = muted.clone();
                std::thread::spawn(move || forward_to_server(client, server, &breaks, &mute));
                std::thread::spawn(move || forward_to_client(from_server, back, &muted));
            }
        });
        Self { port, breaks }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Breaks at the next commit.
    pub(super) fn break_next(&self, at: Break) {
        self.breaks.store(if at == Break::BeforeCommit { 1 } else { 2 }, Ordering::SeqCst);
    }
}

fn forward_to_server(mut client: TcpStream, mut server: TcpStream, breaks: &AtomicU8, mute: &AtomicU8) {
    let mut buffer = [0; 16_384];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let bytes = &buffer[..length];
        if bytes.windows(7).any(|window| window == b"COMMIT\0") {
            match breaks.swap(0, Ordering::SeqCst) {
                1 => {
                    let _ = client.shutdown(Shutdown::Both);
                    // The server's side stays open: as where a network is cut.
                    std::mem::forget(server);
                    return;
                }
                2 => {
                    mute.store(1, Ordering::SeqCst);
                    let _ = server.write_all(bytes);
                    return;
                }
                _ => {}
            }
        }
        if server.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

fn forward_to_client(mut server: TcpStream, mut client: TcpStream, muted: &AtomicU8) {
    let mut buffer = [0; 16_384];
    while let Ok(length @ 1..) = server.read(&mut buffer) {
        if muted.load(Ordering::SeqCst) == 1 {
            // The answer has come, so it is kept; the client learns that the connection is gone.
            break;
        }
        if client.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
}
