//! Connections: taken up to a number, given up where the head of a request does not come, let go when the service stops.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep};

use crate::{App, dispatch};

/// So many connections are open at once if the machine allows it, those of event streams among them; more wait to be taken.
pub(crate) const MOST: usize = 1024;

/// The head of a request comes within this time, also the next one of a connection that is kept open.
const HEAD: Duration = Duration::from_secs(10);

/// Who takes nothing of an answer for so long is cut off.
const STALL: Duration = Duration::from_secs(30);

/// After trouble with taking connections, such as too many open files.
const REST: Duration = Duration::from_millis(100);

/// Serves until the service is asked to stop, and then until open requests are answered, but no longer than that.
pub(crate) async fn serve(listener: TcpListener, app: &Arc<App>, last_words: Duration) {
    let most = app.connections;
    let places = Arc::new(Semaphore::new(most));
    let mut stop = app.stop.clone();
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let asked = async {
            let _ = stop.wait_for(|asked| *asked).await;
        };
        tokio::select! {
            () = asked => break,
            (place, accepted) = next => match (place, accepted) {
                (Ok(place), Ok((stream, _))) => {
                    tokio::spawn(attend(Arc::clone(app), stream, place));
                }
                // Nothing is wrong with the service itself: others are tried.
                _ => tokio::time::sleep(REST).await,
            },
        }
    }
    drop(listener);
    let all = u32::try_from(most).unwrap_or(u32::MAX);
    // Who is not done by then is cut off.
    let _ = tokio::time::timeout(last_words, places.acquire_many(all)).await;
}

/// Answers the requests of one connection.
async fn attend(app: Arc<App>, stream: TcpStream, _place: OwnedSemaphorePermit) {
    let mut stop = app.stop.clone();
    // Small answers are not held back to be sent together.
    let _ = stream.set_nodelay(true);
    let answers = service_fn(move |request: hyper::Request<Incoming>| {
        let app = Arc::clone(&app);
        async move { Ok::<_, Infallible>(dispatch::answer(app, request.map(Body::new)).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(TimedStream::new(stream)), answers);
    let mut connection = std::pin::pin!(connection);
    let asked = async {
        let _ = stop.wait_for(|asked| *asked).await;
    };
    tokio::select! {
        _ = connection.as_mut() => return,
        () = asked => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// A connection whose other side must take what it is sent.
struct TimedStream {
    stream: TcpStream,
    /// Until then it has to; nothing while nothing waits.
    until: Option<Pin<Box<Sleep>>>,
}

impl TimedStream {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            until: None,
        }
    }

    /// Passes on what became of writing, and gives up on who takes nothing.
    fn unless_stalled<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.until = None;
            return written;
        }
        let until = self
            .until
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + STALL)));
        match until.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_stalled(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.unless_stalled(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.unless_stalled(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(context);
        self.unless_stalled(context, ended)
    }
}
