//! Messages that wait in `tables/notices.jsonl`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::time::{Clock, Timestamp};
use crate::store::error::{IoContext as _, StoreError};
use crate::store::outbox::{Hearing, Message, Outbox};
use crate::workspace::notes::Notes;
use crate::workspace::paths::Workspace;

/// How long another program may hold the file.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// Returns who hears of what; a mark that was tried once is over.
fn hearing(known: &Known) -> Vec<Hearing> {
    let marks = known.values().filter(|line| line.tries == 0);
    marks
        .filter_map(|line| Hearing::read(&line.event, &line.target))
        .collect()
}

/// The file.
pub(super) struct FileBox {
    clock: Arc<dyn Clock>,
    path: PathBuf,
}

type Known = BTreeMap<(String, String), Line>;

impl FileBox {
    pub(super) fn new(workspace: &Workspace, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            path: workspace.tables().join("notices.jsonl"),
        }
    }

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

impl Outbox for FileBox {
    fn hearing(&mut self) -> Result<Vec<Hearing>, StoreError> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        Ok(hearing(&self.open()?.1))
    }

    fn hear(&mut self, wanted: &[Hearing], past: &[Message]) -> Result<(), StoreError> {
        let (mut notes, known) = self.open()?;
        let before = hearing(&known);
        let new: Vec<&Hearing> = wanted.iter().filter(|one| !before.contains(one)).collect();
        let is_new = |one: &&Message| {
            let nobody = one.target.is_empty();
            (nobody || new.iter().any(|hearing| one.is_for(hearing)))
                && !known.contains_key(&(one.event.clone(), one.target.clone()))
        };
        for message in past.iter().filter(is_new) {
            self.note(&mut notes, message, None, None)?;
        }
        // Last: whoever is killed before it has not begun.
        for hearing in new {
            self.note(&mut notes, &Message::begun(hearing), None, None)?;
        }
        for over in before.iter().filter(|one| !wanted.contains(one)) {
            let mark = Message {
                tries: 1,
                ..Message::begun(over)
            };
            self.note(&mut notes, &mark, None, None)?;
        }
        Ok(())
    }

    fn unknown(&mut self, events: &[String]) -> Result<Vec<String>, StoreError> {
        if events.is_empty() {
            return Ok(Vec::new());
        }
        let known = self.open()?.1;
        let mut unknown = events.to_vec();
        unknown.retain(|event| !known.contains_key(&(event.clone(), String::new())));
        Ok(unknown)
    }

    fn add(&mut self, messages: &[Message]) -> Result<(), StoreError> {
        let (mut notes, known) = self.open()?;
        let now = self.clock.now();
        for message in messages {
            let name = (message.event.clone(), message.target.clone());
            if !known.contains_key(&name) {
                let nobody = name.1.is_empty();
                let line = Line {
                    event: name.0,
                    target: name.1,
                    body: (!nobody).then(|| message.body.clone()),
                    tries: 0,
                    next: (!nobody).then_some(now),
                    error: None,
                };
                self.write(&mut notes, &line)?;
            }
        }
        Ok(())
    }

    fn take_due(&mut self, most: usize, held: Duration) -> Result<Vec<Message>, StoreError> {
        let (mut notes, known) = self.open()?;
        let now = self.clock.now();
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
        &mut self,
        message: &Message,
        why: Option<&str>,
        pause: Option<Duration>,
    ) -> Result<(), StoreError> {
        let (mut notes, _) = self.open()?;
        let next = pause.map(|pause| self.clock.now().plus(pause));
        self.note(&mut notes, message, next, why)
    }
}
