//! Places for jobs that the pools of one process share, where it serves several runs at once. The most urgent run that
//! wants one gets it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which run goes first: the lower.
pub type Rank = (i64, i64);

/// So many jobs run at once, of whichever run.
#[derive(Debug)]
pub struct Places {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    /// The runs that had more to do than there were places.
    wanting: BTreeSet<Rank>,
}

/// One run's way to the places.
#[derive(Debug)]
pub struct Share {
    places: Arc<Places>,
    rank: Rank,
}

/// A place for one job; given back when it goes out of scope.
#[derive(Debug)]
pub(super) struct Place(Arc<Places>);

impl Places {
    /// Makes so many places.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            state: Mutex::default(),
        })
    }

    /// Returns one run's way to them.
    pub fn share(self: &Arc<Self>, rank: Rank) -> Share {
        Share {
            places: Arc::clone(self),
            rank,
        }
    }

    /// Tells whether a run of this rank would get a place now.
    pub fn has_room_for(&self, rank: Rank) -> bool {
        let state = self.state();
        state.taken < self.most
            && state
                .wanting
                .iter()
                .next()
                .is_none_or(|first| *first >= rank)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// Takes at most so many places; none while a more urgent run wants them.
    pub(super) fn take(&self, most: usize) -> Vec<Place> {
        let mut state = self.places.state();
        state.wanting.insert(self.rank);
        if state.wanting.first() != Some(&self.rank) {
            return Vec::new();
        }
        let most = most.min(self.places.most.saturating_sub(state.taken));
        state.taken += most;
        (0..most).map(|_| Place(Arc::clone(&self.places))).collect()
    }

    /// Notes that the run has nothing for the places that it got.
    pub(super) fn is_content(&self) {
        self.places.state().wanting.remove(&self.rank);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.is_content();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.state().taken -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_run_that_wants_a_place_gets_it() {
        let places = Places::new(3);
        let (urgent, usual) = (places.share((-5, 2)), places.share((0, 1)));
        let first = usual.take(2);
        assert_eq!(first.len(), 2);
        assert!(places.has_room_for((0, 1)) && places.has_room_for((-5, 2)));
        let all = urgent.take(3);
        assert_eq!(all.len(), 1, "only what is free");
        drop(first);
        // It wants more, so nobody else gets what was freed.
        assert!(usual.take(1).is_empty() && !places.has_room_for((0, 1)));
        let more = urgent.take(2);
        assert_eq!(more.len(), 2);
        drop((all, more));
        urgent.is_content();
        assert_eq!(usual.take(9).len(), 3);
        drop(urgent);
        assert!(places.has_room_for((0, 1)));
    }
}
