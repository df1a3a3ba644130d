//! How many jobs the machine lets one worker run at once.
//!
//! A worker that runs out of open files half way would lose what its jobs made,
//! so it takes fewer jobs from the start. Nothing here looks at memory or cores.

use crate::platform;

/// What a worker has open whatever its jobs do: streams, tables, locks, journal, log.
const OPEN_FILES_OF_WORKER: u64 = 20;
/// What a service has open whatever it is asked: streams, logs, the store, what is read for requests.
const OPEN_FILES_OF_SERVICE: u64 = 128;
/// What one job may have open at once: its lease, a lock, its output, the pipes of a program.
const OPEN_FILES_OF_JOB: u64 = 6;

/// Returns how many jobs may run at once, at most `asked`, and says so if it is fewer.
pub(super) fn jobs_at_once(asked: usize, warn: impl FnOnce(String)) -> usize {
    let Some(limit) = platform::raise_open_file_limit() else {
        return asked;
    };
    let room = room(limit);
    if asked > room {
        warn(format!(
            "only {limit} files may be open at once, so {room} of the {asked} jobs asked for run \
             at a time; raise the limit with `ulimit -n`"
        ));
    }
    asked.min(room)
}

/// Lets this process open as many files as the machine allows; returns how many connections leave room for the rest, at most
/// `asked`.
pub fn connections(asked: usize) -> usize {
    let limit = platform::raise_open_file_limit();
    limit.map_or(asked, |limit| asked.min(room_for_connections(limit)))
}

fn room_for_connections(limit: u64) -> usize {
    // Beside its connection a request may have a few files open.
    let connections = limit.saturating_sub(OPEN_FILES_OF_SERVICE) / 2;
    usize::try_from(connections).unwrap_or(usize::MAX).max(8)
}

fn room(limit: u64) -> usize {
    let jobs = limit.saturating_sub(OPEN_FILES_OF_WORKER) / OPEN_FILES_OF_JOB;
    usize::try_from(jobs).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_open_files_mean_fewer_jobs_but_never_none() {
        assert_eq!(room(0), 1);
        assert_eq!(room(32), 2);
        assert_eq!(room(1024), 167);
        assert_eq!(room_for_connections(64), 8);
        assert_eq!(room_for_connections(1024), 448);
    }

    #[test]
    fn what_fits_is_given_without_a_word() {
        let asked = jobs_at_once(1, |warning| panic!("{warning}"));
        assert_eq!(asked, 1);
    }
}
