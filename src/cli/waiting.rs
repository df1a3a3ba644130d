//! What a person hears while another program holds the registry's lock.

use std::time::Duration;

use crate::cli::ui::Ui;

/// After how long a busy lock is told,
const TELL_AFTER: Duration = Duration::from_secs(1);

/// and how often it is told again.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// Returns what tells of the wait and never gives up.
pub(super) fn for_registry(ui: &Ui) -> impl FnMut(Duration) -> bool {
    let mut due = TELL_AFTER;
    move |waited| {
        if waited >= due {
            due = waited + TELL_EVERY;
            ui.say(&format!(
                "waiting for tables/generations.lock, which another program holds ({} s so far)",
                waited.as_secs()
            ));
        }
        true
    }
}
