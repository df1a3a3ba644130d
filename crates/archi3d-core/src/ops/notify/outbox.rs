//! Where messages wait: a table of the fleet where one is named, else `tables/notices.jsonl`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Message;
use crate::domain::time::Timestamp;
#[cfg(feature = "postgres")]
use crate::ops::fleet::Desk;
use crate::ops::{OpsContext, OpsError};
use crate::store::error::{IoContext as _, StoreError};
#[cfg(feature = "postgres")]
use crate::store::postgres::notices;
use crate::workspace::notes::Notes;

/// How long another program may hold the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where messages wait.
pub(super) enum Outbox<'a> {
    Files(FileBox<'a>),
    #[cfg(feature = "postgres")]
    Fleet(Desk<'a>),
}

impl<'a> Outbox<'a> {
    pub(super) fn of(context: &'a OpsContext) -> Result<Self, OpsError> {
        #[cfg(feature = "postgres")]
        if let Some(desk) = context.desk()? {
            return Ok(Self::Fleet(desk));
        }
        Ok(Self::Files(FileBox {
            context,
            path: context.workspace.tables().join("notices.jsonl"),
        }))
    }

    /// Tells whether nothing was ever put in.
    pub(super) fn is_new(&mut self) -> Result<bool, OpsError> {
        match self {
            Self::Files(files) => Ok(!files.path.exists()),
            #[cfg(feature = "postgres")]
            Self::Fleet(desk) => desk.ask(notices::is_new),
        }
    }

    /// Puts messages in that are not there; those that are over are never sent.
    pub(super) fn add(&mut self, messages: &[Message], over: bool) -> Result<(), OpsError> {
        match self {
            Self::Files(files) => Ok(files.add(messages, over)?),
            #[cfg(feature = "postgres")]
            Self::Fleet(desk) => {
                let rows: Vec<_> = messages
                    .iter()
                    .map(|one| (one.event.as_str(), one.target.as_str(), one.body.as_str()))
                    .collect();
                desk.ask(|c| notices::add(c, &rows, over))
            }
        }
    }

    /// Takes messages that are due; nobody else does for so long.
    pub(super) fn take_due(
        &mut self,
        most: usize,
        held: Duration,
    ) -> Result<Vec<Message>, OpsError> {
        match self {
            Self::Files(files) => Ok(files.take_due(most, held)?),
            #[cfg(feature = "postgres")]
            Self::Fleet(desk) => {
                let due = desk.ask(|c| notices::take_due(c, most, held))?.into_iter();
                Ok(due
                    .map(|(event, target, body, tries)| Message {
                        event,
                        target,
                        body,
                        tries,
                    })
                    .collect())
            }
        }
    }

    /// Ends a message: it arrived, or is given up for this reason.
    pub(super) fn over(&mut self, message: &Message, why: Option<&str>) -> Result<(), OpsError> {
        self.settle(message, why, None)
    }

    /// Lets a message wait for its next try.
    pub(super) fn again(
        &mut self,
        message: &Message,
        why: &str,
        pause: Duration,
    ) -> Result<(), OpsError> {
        self.settle(message, Some(why), Some(pause))
    }

    fn settle(
        &mut self,
        message: &Message,
        why: Option<&str>,
        pause: Option<Duration>,
    ) -> Result<(), OpsError> {
        match self {
            Self::Files(files) => Ok(files.settle(message, why, pause)?),
            #[cfg(feature = "postgres")]
            Self::Fleet(desk) => {
                let name = (message.event.as_str(), message.target.as_str());
                desk.ask(|c| notices::settle(c, name, why, pause))
            }
        }
    }
}

/// One line of the file: how a message stands from then on.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Line {
    event: String,
    target: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    #[serde(default)]
    tries: u32,
    /// Not before; nothing means never again.
    next: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The file.
pub(super) struct FileBox<'a> {
    context: &'a OpsContext,
    path: PathBuf,
}

type Known = BTreeMap<(String, String), Line>;

impl FileBox<'_> {
    fn open(&self) -> Result<(Notes, Known), StoreError> {
        let taken = Notes::take(&self.path, PATIENCE).context("lock", &self.path)?;
        let busy = || std::io::Error::from(std::io::ErrorKind::TimedOut);
        let (notes, text) = taken.ok_or_else(busy).context("lock", &self.path)?;
        let mut known = Known::new();
        let lines = text.split(|byte| *byte == b'\n');
        for mut line in lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok()) {
            let name = (line.event.clone(), line.target.clone());
            if line.body.is_none() {
                line.body = known.remove(&name).and_then(|before| before.body);
            }
            known.insert(name, line);
        }
        Ok((notes, known))
    }

    fn write(&self, notes: &mut Notes, line: &Line) -> Result<(), StoreError> {
        let text = serde_json::to_vec(line).expect("plain data can always be written");
        notes.add(text).context("write", &self.path)
    }

    fn add(&self, messages: &[Message], over: bool) -> Result<(), StoreError> {
        let (mut notes, known) = self.open()?;
        let now = self.context.clock.now();
        for message in messages {
            let name = (message.event.clone(), message.target.clone());
            if !known.contains_key(&name) {
                let line = Line {
                    event: name.0,
                    target: name.1,
                    body: (!over).then(|| message.body.clone()),
                    tries: 0,
                    next: (!over).then_some(now),
                    error: None,
                };
                self.write(&mut notes, &line)?;
            }
        }
        Ok(())
    }

    fn take_due(&self, most: usize, held: Duration) -> Result<Vec<Message>, StoreError> {
        let (mut notes, known) = self.open()?;
        let now = self.context.clock.now();
        let due = known.into_values();
        let due = due.filter(|line| line.next.is_some_and(|next| next <= now));
        let mut taken = Vec::new();
        for line in due.take(most) {
            let message = Message {
                event: line.event,
                target: line.target,
                body: line.body.unwrap_or_default(),
                tries: line.tries + 1,
            };
            self.note(&mut notes, &message, Some(now.plus(held)), None)?;
            taken.push(message);
        }
        Ok(taken)
    }

    fn settle(
        &self,
        message: &Message,
        why: Option<&str>,
        pause: Option<Duration>,
    ) -> Result<(), StoreError> {
        let (mut notes, _) = self.open()?;
        let next = pause.map(|pause| self.context.clock.now().plus(pause));
        self.note(&mut notes, message, next, why)
    }

    fn note(
        &self,
        notes: &mut Notes,
        message: &Message,
        next: Option<Timestamp>,
        why: Option<&str>,
    ) -> Result<(), StoreError> {
        let line = Line {
            event: message.event.clone(),
            target: message.target.clone(),
            body: None,
            tries: message.tries,
            next,
            error: why.map(str::to_owned),
        };
        self.write(notes, &line)
    }
}
