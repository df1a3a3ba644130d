//! Messages to people outside, which wait until they arrived. What every implementation promises: a message is kept once,
//! whoever puts it in, and handed to one sender at a time.

use std::time::Duration;

use crate::store::StoreError;

/// A message on its way to one that hears of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is about; the same event is told once.
    pub event: String,
    /// Who hears of it.
    pub target: String,
    /// Its text.
    pub body: String,
    /// How often it was tried, this time included.
    pub tries: u32,
}

impl Message {
    /// Returns what is put in once everything is that was so before `hearing` began.
    pub(super) fn begun(hearing: &Hearing) -> Self {
        Self {
            event: format!("{BEGUN}{}", hearing.kind),
            target: hearing.target.clone(),
            body: String::new(),
            tries: 0,
        }
    }

    /// Tells whether it is of a kind that somebody hears of, and for them.
    pub(super) fn is_for(&self, hearing: &Hearing) -> bool {
        let kind = self.event.split(':').next();
        kind == Some(hearing.kind.as_str()) && self.target == hearing.target
    }
}

/// Marks what somebody hears of, before its kind.
pub(super) const BEGUN: &str = "begun:";

/// A kind of event that somebody hears of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hearing {
    /// What kind.
    pub kind: String,
    /// Who hears of it.
    pub target: String,
}

impl Hearing {
    /// Reads a mark.
    pub(super) fn read(event: &str, target: &str) -> Option<Self> {
        let kind = event.strip_prefix(BEGUN)?.to_owned();
        let target = target.to_owned();
        Some(Self { kind, target })
    }
}

/// Where messages wait.
pub trait Outbox {
    /// Returns who hears of what.
    fn hearing(&mut self) -> Result<Vec<Hearing>, StoreError>;

    /// From now on these hear of events, and no others. Of what is so already, which is never sent, only what those hear
    /// of is put in who did not hear of it before: where somebody was first, what happened since then is to be told.
    fn hear(&mut self, wanted: &[Hearing], past: &[Message]) -> Result<(), StoreError>;

    /// Returns those of these events that nobody has put in for nobody: that were not looked at.
    fn unknown(&mut self, events: &[String]) -> Result<Vec<String>, StoreError>;

    /// Puts messages in that are not there. Those for nobody are never sent.
    fn add(&mut self, messages: &[Message]) -> Result<(), StoreError>;

    /// Takes messages that are due; nobody else does for so long.
    fn take_due(&mut self, most: usize, held: Duration) -> Result<Vec<Message>, StoreError>;

    /// Ends a message, because it arrived or is given up for this reason, or lets it wait for its next try.
    fn settle(
        &mut self,
        message: &Message,
        why: Option<&str>,
        pause: Option<Duration>,
    ) -> Result<(), StoreError>;
}
