//! Whether the workspace and the store of fleets can be worked with right now.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::ops::OpsContext;
use crate::platform;
use crate::workspace::durable;
use crate::workspace::lock::FileLock;

/// Less room than this on the disk is trouble.
const LEAST_ROOM: u64 = 256 << 20;

/// The name of the channel beside the store that only wakes workers: without it they look by themselves.
const WAKE: &str = "wake";

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// Whether it is as it should be.
    pub ok: bool,
    /// How long looking took.
    pub ms: u64,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Check {
    /// Tells whether nothing works without it.
    pub fn is_needed(&self) -> bool {
        self.name != WAKE
    }
}

/// Tells whether the store of fleets answers; nothing where none is named.
pub fn store_answers(context: &OpsContext) -> Option<bool> {
    #[cfg(feature = "postgres")]
    {
        let fleet = context.fleet().transpose()?;
        let asked = fleet.and_then(|fleet| Ok(fleet.runs()?.now()?));
        Some(asked.is_ok())
    }
    #[cfg(not(feature = "postgres"))]
    {
        let _ = context;
        None
    }
}

/// Looks at everything that work depends on.
pub fn checks(context: &OpsContext) -> Vec<Check> {
    let workspace = &context.workspace;
    let mut checks = vec![
        check("workspace", || {
            super::names::readable(context).map_err(|error| error.to_string())
        }),
        check("writable", || {
            let path = workspace.tables().join("ready");
            std::fs::create_dir_all(workspace.tables()).map_err(|error| error.to_string())?;
            let temporary = durable::temporary_path(&path, &std::process::id().to_string());
            std::fs::File::create(&temporary).map_err(|error| error.to_string())?;
            std::fs::remove_file(&temporary).map_err(|error| error.to_string())
        }),
        check("locks", || {
            // A file of its own: those that are at work may hold theirs for long.
            let path = workspace.tables().join("ready.lock");
            let held = FileLock::acquire_within(&path, Duration::from_secs(2));
            match held {
                Ok(Some(_)) => Ok(()),
                Ok(None) => Err("a lock could not be had for two seconds".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        }),
        check("disk", || {
            let space = platform::place::space(workspace.root());
            let free = space.map_err(|error| error.to_string())?.free_bytes;
            if free < LEAST_ROOM {
                return Err(format!("{} MB are free", free >> 20));
            }
            Ok(())
        }),
    ];
    #[cfg(feature = "postgres")]
    match context.fleet() {
        Ok(None) => {}
        Ok(Some(fleet)) => {
            checks.push(check("store", || {
                fleet.check().map_err(|error| error.to_string())
            }));
            let mut is_named = true;
            let wake = check(WAKE, || {
                let heard = fleet.reach_wake();
                is_named = heard.as_ref().map_or(true, Option::is_some);
                heard.map(drop).map_err(|error| error.to_string())
            });
            checks.extend(is_named.then_some(wake));
        }
        Err(error) => checks.push(check("store", || Err(error.to_string()))),
    }
    checks.sort_by_key(|check| check.ok);
    checks
}

/// Returns how much room the disk of the workspace has.
pub fn free_bytes(context: &OpsContext) -> Option<u64> {
    let space = platform::place::space(context.workspace.root()).ok()?;
    Some(space.free_bytes)
}

fn check(name: &'static str, look: impl FnOnce() -> Result<(), String>) -> Check {
    let began = Instant::now();
    let seen = look();
    Check {
        name,
        ok: seen.is_ok(),
        ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        detail: seen.err(),
    }
}
