//! A session with the server for threads that wait: `tokio-postgres` driven by the calling thread. Requests of one call go out together, in
//! the order in which they are asked, so that several cost one exchange (PostgreSQL documentation, section 55.2.4, "Pipelining").

use std::future::{Future, poll_fn};
use std::io::{self, BufRead, Read, Write};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{SinkExt, Stream, StreamExt};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Config, CopyInSink, CopyOutStream, Error, SimpleQueryMessage, Socket, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::DatabaseError;
use crate::error::CONNECT;

use super::failure::{Act, explain};

/// How many bytes for a table are gathered before they are sent.
const COPIED_AT_ONCE: usize = 64 * 1024;

/// What the server sends by itself, for as long as the session lives.
type Messages = Pin<Box<dyn Stream<Item = Result<AsyncMessage, Error>> + Send>>;

/// How long a session that ends may take to tell the server so.
const GOODBYE: Duration = Duration::from_secs(1);

/// An open session.
pub(super) struct Client {
    // Dropped first: the session ends behind the last request.
    requests: tokio_postgres::Client,
    session: Session,
}

/// What sends and receives for a session.
struct Session {
    runtime: Runtime,
    messages: Messages,
    /// How many notifications came that nobody has waited for yet.
    notifications: usize,
}

impl Client {
    /// Opens a session.
    pub(super) fn open(config: &Config, shown: &str, connector: &MakeRustlsConnect) -> Result<Self, DatabaseError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| DatabaseError::Unavailable { act: CONNECT.into(), detail: format!("{shown}: {error}") })?;
        let connected = runtime.block_on(config.connect(connector.clone()));
        let (requests, connection) = connected.map_err(|error| explain(shown, Act::Other(CONNECT), &error))?;
        let session = Session { runtime, messages: Box::pin(messages(connection)), notifications: 0 };
        Ok(Self { requests, session })
    }

    /// Whether the session has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.requests.is_closed()
    }

    /// Runs requests to their end.
    pub(super) fn run<T>(
        &mut self,
        ask: impl AsyncFnOnce(&tokio_postgres::Client) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Self { requests, session } = self;
        session.drive(ask(requests))
    }

    /// As [`Self::run`], for what goes on with an answer that has begun.
    pub(super) fn go_on<T>(&mut self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        self.session.drive(work)
    }

    /// Runs SQL as it is, and drops its answers.
    pub(super) fn batch_execute(&mut self, sql: &str) -> Result<(), Error> {
        self.run(async |requests| requests.batch_execute(sql).await)
    }

    /// Runs SQL as it is; its answers as texts.
    pub(super) fn simple_query(&mut self, sql: &str) -> Result<Vec<SimpleQueryMessage>, Error> {
        self.run(async |requests| requests.simple_query(sql).await)
    }

    /// Has the server take a statement in.
    pub(super) fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.run(async |requests| requests.prepare(sql).await)
    }

    /// Waits for a notification for some time; whether one came.
    pub(super) fn wait_for_notification(&mut self, longest: Duration) -> Result<bool, Error> {
        self.session.wait_for_notification(longest)
    }

    /// Begins `COPY ... FROM STDIN`.
    pub(super) fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, Error> {
        let sink = self.run(async |requests| requests.copy_in::<_, Bytes>(sql).await)?;
        Ok(CopyIn { client: self, sink: Box::pin(sink), gathered: BytesMut::new() })
    }

    /// Begins `COPY ... TO STDOUT`.
    pub(super) fn copy_out(&mut self, sql: &str) -> Result<CopyOut<'_>, Error> {
        let stream = self.run(async |requests| requests.copy_out(sql).await)?;
        Ok(CopyOut { client: self, stream: Box::pin(stream), present: Bytes::new() })
    }
}

impl Session {
    /// Runs requests to their end, while the session sends and receives.
    fn drive<T>(&mut self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let Self { runtime, messages, notifications } = self;
        let mut work = pin!(work);
        runtime.block_on(poll_fn(|cx| {
            // First the requests, so that there is something to send, and again behind what was received.
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(done);
            }
            if let Poll::Ready(Err(error)) = receive(messages, notifications, cx) {
                return Poll::Ready(Err(error));
            }
            work.as_mut().poll(cx)
        }))
    }

    fn wait_for_notification(&mut self, longest: Duration) -> Result<bool, Error> {
        let Self { runtime, messages, notifications } = self;
        let mut received = poll_fn(|cx| match receive(messages, notifications, cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ if std::mem::take(notifications) > 0 => Poll::Ready(Ok(true)),
            ended => ended.map_ok(|()| false),
        });
        runtime.block_on(async { timeout(longest, &mut received).await.unwrap_or(Ok(false)) })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Self { runtime, messages, notifications } = self;
        let _ = runtime.block_on(async { timeout(GOODBYE, poll_fn(|cx| receive(messages, notifications, cx))).await });
    }
}

/// Takes in what the server has sent; ready at the end of the session.
fn receive(messages: &mut Messages, notifications: &mut usize, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
    loop {
        match messages.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(AsyncMessage::Notification(_)))) => *notifications += 1,
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
            Poll::Ready(None) => return Poll::Ready(Ok(())),
            Poll::Pending => return Poll::Pending,
        }
    }
}

fn messages<T>(
    mut connection: tokio_postgres::Connection<Socket, T>,
) -> impl Stream<Item = Result<AsyncMessage, Error>> + Send
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    futures_util::stream::poll_fn(move |cx| connection.poll_message(cx))
}

/// Rows for a table. What was written is kept only where it is [`finish`](Self::finish)ed.
pub(crate) struct CopyIn<'c> {
    client: &'c mut Client,
    sink: Pin<Box<CopyInSink<Bytes>>>,
    gathered: BytesMut,
}

impl CopyIn<'_> {
    /// Ends it; how many rows the table took.
    pub(crate) fn finish(mut self) -> Result<u64, Error> {
        self.send()?;
        let Self { client, sink, .. } = &mut self;
        client.go_on(sink.as_mut().finish())
    }

    fn send(&mut self) -> Result<(), Error> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let bytes = self.gathered.split().freeze();
        self.client.go_on(self.sink.send(bytes))
    }
}

impl Write for CopyIn<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gathered.len() >= COPIED_AT_ONCE {
            self.flush()?;
        }
        self.gathered.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send().map_err(io::Error::other)
    }
}

/// Rows of a table.
pub(crate) struct CopyOut<'c> {
    client: &'c mut Client,
    stream: Pin<Box<CopyOutStream>>,
    present: Bytes,
}

impl Read for CopyOut<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let found = self.fill_buf()?;
        let length = found.len().min(buffer.len());
        buffer[..length].copy_from_slice(&found[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for CopyOut<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while !self.present.has_remaining() {
            let Self { client, stream, .. } = self;
            match client.go_on(async { stream.next().await.transpose() }).map_err(io::Error::other)? {
                Some(next) => self.present = next,
                None => break,
            }
        }
        Ok(&self.present)
    }

    fn consume(&mut self, length: usize) {
        self.present.advance(length);
    }
}
