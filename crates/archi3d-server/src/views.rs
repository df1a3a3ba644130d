//! How runs stand, kept for a moment: many who ask at once get what one of them read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::header;
use serde_json::Value;

use archi3d_core::domain::id::RunId;
use archi3d_core::ops::OpsContext;
use archi3d_core::ops::status::files_version;

use crate::call::{Answer, Reply};
use crate::canonical;
use crate::problem::Problem;

/// Ages and the like are never older than this.
const FRESH: Duration = Duration::from_secs(1);

/// So many runs are kept.
const MOST: usize = 1000;

/// What moves although nothing happens: no part of what names a version.
const MOVING: [&str; 3] = ["at", "pace", "time_left_s"];
const MOVING_OF_JOBS: [&str; 2] = ["age_s", "last_beat_age_s"];

/// What was read of runs.
#[derive(Default)]
pub(crate) struct Views(Mutex<HashMap<RunId, Arc<Mutex<Option<View>>>>>);

struct View {
    read: Instant,
    /// The versions of the files that it was read from.
    version: Vec<Option<archi3d_core::ops::status::FileVersion>>,
    shown: Shown,
}

/// A body and the name of its version.
#[derive(Clone)]
struct Shown {
    body: Bytes,
    tag: String,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Views {
    /// Answers with how a run stands; `read` finds out. On files it is read again when one of them has changed or a second
    /// has passed; what a fleet tells is read each time.
    pub(crate) fn answer(
        &self,
        context: &OpsContext,
        run: &RunId,
        read: impl FnOnce() -> Result<Value, Problem>,
    ) -> Answer {
        let Some(version) = files_version(context, run) else {
            return Ok(Shown::of(read()?).reply());
        };
        let place = {
            let mut runs = locked(&self.0);
            if runs.len() >= MOST {
                runs.clear();
            }
            Arc::clone(runs.entry(run.clone()).or_default())
        };
        // Who comes while another reads waits for what is read.
        let mut view = locked(&place);
        if let Some(view) = &*view
            && view.read.elapsed() < FRESH
            && view.version == version
        {
            return Ok(view.shown.clone().reply());
        }
        // Taken before it is read: what changes meanwhile makes it old.
        let (began, version) = (Instant::now(), files_version(context, run));
        let shown = Shown::of(read()?);
        *view = version.map(|version| View {
            read: began,
            version,
            shown: shown.clone(),
        });
        Ok(shown.reply())
    }
}

impl Shown {
    fn of(body: Value) -> Self {
        let text = Bytes::from(body.to_string());
        let mut body = body;
        let forget = |of: &mut Value, names: &[&str]| {
            if let Some(object) = of.as_object_mut() {
                object.retain(|name, _| !names.contains(&name.as_str()));
            }
        };
        forget(&mut body, &MOVING);
        for job in body["running"].as_array_mut().into_iter().flatten() {
            forget(job, &MOVING_OF_JOBS);
        }
        // Weak: two answers of one version differ in what moves.
        let tag = format!("W/\"{}\"", canonical::hex(body.to_string().as_bytes()));
        Self { body: text, tag }
    }

    fn reply(self) -> Reply {
        Reply::Bytes {
            status: 200,
            media_type: "application/json",
            body: self.body,
            headers: vec![(header::ETAG, self.tag)],
        }
    }
}
