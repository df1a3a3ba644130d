//! The client, blocking, with an end to every wait: a server that hangs without being dead answers nothing, and no setting
//! of its own helps against that.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use postgres::error::SqlState;
use postgres::tls::{MakeTlsConnect, TlsConnect};
use postgres::types::{ToSql, Type};
use postgres::{AsyncMessage, Config, Error, Row, Socket, Statement};
use tokio::runtime::{Builder, Runtime};

/// A call that failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server or the network said so.
    Said(Error),
    /// Nobody said anything for so long.
    Silence(Duration),
    /// The system did not let us ask.
    System(io::Error),
}

impl Trouble {
    /// Tells whether the server says that it only reads.
    pub(super) fn is_read_only(&self) -> bool {
        matches!(self, Self::Said(error) if error.code() == Some(&SqlState::READ_ONLY_SQL_TRANSACTION))
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Said(error)
    }
}

/// Messages that come by themselves.
trait Talk: Send {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>>;
}

impl<T> Talk for postgres::Connection<Socket, T>
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send,
{
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> {
        self.poll_message(context)
    }
}

/// One connection of the client.
pub(super) struct Client {
    runtime: Runtime,
    asking: postgres::Client,
    talk: Box<dyn Talk>,
    /// Channels of messages that nobody has asked for yet.
    heard: VecDeque<String>,
    limit: Option<Duration>,
    /// A call was given up: what its answer would be taken for nobody knows.
    given_up: bool,
}

impl Client {
    /// Connects; the whole of it takes no longer than `limit`.
    pub(super) fn connect<T>(config: &Config, tls: T, limit: Duration) -> Result<Self, Trouble>
    where
        T: MakeTlsConnect<Socket>,
        T::Stream: Send + 'static,
        T::TlsConnect: TlsConnect<Socket>,
    {
        let runtime = runtime()?;
        let (client, talk) = within(&runtime, Some(limit), async { config.connect(tls).await })?;
        Ok(Self {
            runtime,
            asking: client,
            talk: Box::new(talk),
            heard: VecDeque::new(),
            limit: None,
            given_up: false,
        })
    }

    /// From now on no call takes longer than this; nothing means that it may.
    pub(super) fn limit(&mut self, limit: Option<Duration>) {
        self.limit = limit;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.given_up || self.asking.is_closed()
    }

    /// From now on it counts as closed.
    pub(super) fn give_up(&mut self) {
        self.given_up = true;
    }

    pub(super) fn query(
        &mut self,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Trouble> {
        self.call(|client| client.query(statement, parameters))
    }

    pub(super) fn query_typed(
        &mut self,
        text: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Trouble> {
        self.call(|client| client.query_typed(text, parameters))
    }

    pub(super) fn prepare_typed(
        &mut self,
        text: &str,
        types: &[Type],
    ) -> Result<Statement, Trouble> {
        self.call(|client| client.prepare_typed(text, types))
    }

    pub(super) fn batch_execute(&mut self, text: &str) -> Result<(), Trouble> {
        self.call(|client| client.batch_execute(text))
    }

    /// Waits for a message, at most so long, and returns its channel.
    pub(super) fn hear(&mut self, limit: Duration) -> Result<Option<String>, Trouble> {
        if let Some(channel) = self.heard.pop_front() {
            return Ok(Some(channel));
        }
        let (talk, heard) = (&mut self.talk, &mut self.heard);
        let next = poll_fn(|context| match listen(talk.as_mut(), heard, context) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => Poll::Ready(Ok(heard.pop_front())),
            Poll::Pending => match heard.pop_front() {
                Some(channel) => Poll::Ready(Ok(Some(channel))),
                None => Poll::Pending,
            },
        });
        match within(&self.runtime, Some(limit), next) {
            Err(Trouble::Silence(_)) => Ok(None),
            heard => heard,
        }
    }

    fn call<'a, T, F>(
        &'a mut self,
        call: impl FnOnce(&'a postgres::Client) -> F,
    ) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let Self {
            runtime,
            asking,
            talk,
            heard,
            limit,
            given_up,
        } = self;
        let mut answer = pin!(call(asking));
        let both = poll_fn(|context| {
            if let Poll::Ready(Err(error)) = listen(talk.as_mut(), heard, context) {
                return Poll::Ready(Err(error));
            }
            Pin::as_mut(&mut answer).poll(context)
        });
        let told = within(runtime, *limit, both);
        *given_up |= matches!(told, Err(Trouble::Silence(_)));
        told
    }
}

/// Takes what the server says until it is silent or gone.
fn listen(
    talk: &mut dyn Talk,
    heard: &mut VecDeque<String>,
    context: &mut Context<'_>,
) -> Poll<Result<(), Error>> {
    loop {
        match talk.poll(context) {
            Poll::Ready(Some(Ok(AsyncMessage::Notification(message)))) => {
                heard.push_back(message.channel().to_owned());
            }
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
            Poll::Ready(None) => return Poll::Ready(Ok(())),
            Poll::Pending => return Poll::Pending,
        }
    }
}

fn within<T>(
    runtime: &Runtime,
    limit: Option<Duration>,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Trouble> {
    runtime.block_on(async {
        match limit {
            None => Ok(answer.await?),
            Some(limit) => match tokio::time::timeout(limit, answer).await {
                Ok(answer) => Ok(answer?),
                Err(_) => Err(Trouble::Silence(limit)),
            },
        }
    })
}

fn runtime() -> Result<Runtime, Trouble> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(Trouble::System)
}
