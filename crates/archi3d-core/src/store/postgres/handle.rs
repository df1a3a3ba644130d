//! What a worker's store gives to the other parts of its worker.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::earlier::PgReuse;
use super::link::Link;
use super::reuse;
use super::spool::Spool;
use super::worker::PgStore;
use crate::domain::lease::Rhythm;
use crate::store::Artifacts;
use crate::store::reuse::ReuseIndex;

impl PgStore {
    /// Returns the connection that the worker's parts share.
    pub fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Returns how often its worker is to beat.
    pub fn rhythm(&self) -> Rhythm {
        let usual = self.link.lease / 6;
        Rhythm {
            heartbeat: self.ahead.map_or(usual, |ahead| usual.min(ahead / 3)),
            stale: self.link.lease,
        }
    }

    /// Returns where earlier results of the whole fleet are found.
    pub fn reuse(&self) -> Arc<dyn ReuseIndex> {
        let (link, patience) = (Arc::clone(&self.link), self.patience());
        let ask = move |key: &[u8], version: Option<&str>, but: &[Uuid]| {
            Ok(link.ask(patience, |c| reuse::find(c, key, version, but))?)
        };
        let own = Arc::clone(&self.link);
        Arc::new(PgReuse::new(
            Box::new(ask),
            Some(own),
            self.workspace.clone(),
            Some(Arc::clone(&self.artifacts)),
        ))
    }

    /// Returns where its pictures and results lie.
    pub fn artifacts(&self) -> Arc<dyn Artifacts> {
        Arc::clone(&self.artifacts)
    }

    /// How long a question waits for a server that is away before the answer is spooled.
    pub(super) fn patience(&self) -> Duration {
        (self.link.lease / 4).min(Duration::from_secs(10))
    }

    pub(super) fn spool(&self) -> &Spool {
        self.link.spool()
    }
}
