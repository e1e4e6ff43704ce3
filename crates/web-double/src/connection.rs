//! One connection: requests are read and answered until it ends.

use std::io::{self, BufReader, Read, Write};

use crate::answer::{Answer, Framing, answer};
use crate::behaviour::Behaviour;
use crate::request::Request;
use crate::state::Shared;

/// Bytes of a body that are sent at a time.
const PIECE: usize = 16 << 10;

/// Serves a connection until it ends, or an answer wants it closed.
pub(crate) fn serve<S: Read + Write>(mut stream: BufReader<S>, shared: &Shared) {
    while let Ok(Some(request)) = Request::read(&mut stream) {
        let is_silent = shared.change(|state| {
            state.requests.push(request.clone());
            state.behaviours.get(&request.path).is_some_and(|all| all.contains(&Behaviour::Silent))
        });
        if is_silent && !wait_for_release(shared, &request.path) {
            return;
        }
        let Some(answered) = shared.change(|state| answer(state, &request)) else { return };
        let is_closing = request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        match send(stream.get_mut(), &answered, &request, shared) {
            Ok(true) if !is_closing => {}
            _ => return,
        }
    }
}

/// Sends an answer; says whether the connection can be used again.
fn send(stream: &mut impl Write, answer: &Answer, request: &Request, shared: &Shared) -> io::Result<bool> {
    let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.extend([*name, ": ", value, "\r\n"]);
    }
    let is_head = request.method == "HEAD";
    let framing = match answer.framing {
        Framing::Length => format!("content-length: {}\r\n", answer.body.len()),
        Framing::StatedLength(length) => format!("content-length: {length}\r\n"),
        Framing::Chunks if is_head => String::new(),
        Framing::Chunks => "transfer-encoding: chunked\r\n".to_owned(),
        Framing::Close => "connection: close\r\n".to_owned(),
    };
    head.extend([framing.as_str(), "\r\n"]);
    stream.write_all(head.as_bytes())?;
    stream.flush()?;
    if is_head {
        return Ok(true);
    }
    let is_whole = send_body(stream, answer, &request.path, shared)?;
    Ok(is_whole && matches!(answer.framing, Framing::Length | Framing::Chunks))
}

/// Sends a body; says whether it is whole.
fn send_body(stream: &mut impl Write, answer: &Answer, path: &str, shared: &Shared) -> io::Result<bool> {
    let cut = answer.cut.and_then(|cut| usize::try_from(cut).ok()).filter(|cut| *cut < answer.body.len());
    let bytes = answer.body.get(..cut.unwrap_or(answer.body.len())).unwrap_or_default();
    let size = if answer.is_slow { 1 } else { PIECE };
    let mut counted = Some(OpenBody::begin(shared, path));
    let mut pieces = bytes.chunks(size).peekable();
    while let Some(piece) = pieces.next() {
        if answer.is_slow && !wait_for_release(shared, path) {
            return Ok(false);
        }
        // A client that has the last byte may ask for the next file before this thread continues.
        if pieces.peek().is_none() && !answer.is_endless {
            counted.take();
        }
        send_piece(stream, piece, answer.framing)?;
    }
    while answer.is_endless && !shared.lock().is_stopped {
        send_piece(stream, &[0; PIECE], answer.framing)?;
    }
    if cut.is_some() || answer.is_endless {
        return Ok(false);
    }
    if answer.framing == Framing::Chunks {
        stream.write_all(b"0\r\n\r\n")?;
        stream.flush()?;
    }
    Ok(true)
}

fn send_piece(stream: &mut impl Write, piece: &[u8], framing: Framing) -> io::Result<()> {
    if framing == Framing::Chunks {
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
        stream.write_all(piece)?;
        stream.write_all(b"\r\n")?;
    } else {
        stream.write_all(piece)?;
    }
    stream.flush()
}

fn wait_for_release(shared: &Shared, path: &str) -> bool {
    shared.wait_until(|state| match state.released.get_mut(path) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    })
}

/// Counts a body for as long as it is sent.
struct OpenBody<'s> {
    shared: &'s Shared,
    path: String,
}

impl<'s> OpenBody<'s> {
    fn begin(shared: &'s Shared, path: &str) -> Self {
        shared.change(|state| {
            *state.open_bodies.entry(path.to_owned()).or_default() += 1;
            state.most_open_bodies = state.most_open_bodies.max(state.open_bodies.values().sum());
        });
        Self { shared, path: path.to_owned() }
    }
}

impl Drop for OpenBody<'_> {
    fn drop(&mut self) {
        self.shared.change(|state| {
            if let Some(count) = state.open_bodies.get_mut(&self.path) {
                *count = count.saturating_sub(1);
            }
        });
    }
}
