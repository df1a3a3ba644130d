//! Who may wait to change something: nobody has all the places, and who only looks has places of their own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use archi3d_core::ops::tokens::Token;

use crate::routes::Route;

/// So many requests that change something may wait; more are turned away.
const WRITES: usize = 512;

/// Of these so many may be of one token.
const SHARE: usize = 128;

/// So many plans may wait.
const PLANS: usize = 32;

/// How many wait, by whom.
#[derive(Default)]
pub(crate) struct Turns(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    plans: usize,
    writes: HashMap<String, usize>,
}

/// A place among those that wait, until it goes out of scope.
pub(crate) struct Turn {
    all: Arc<Mutex<Waiting>>,
    /// Whose; nothing if nothing is changed.
    whose: Option<String>,
}

impl Turns {
    /// Takes a place for a request, if it needs one; or says why there is none.
    pub(crate) fn take(
        &self,
        route: &Route,
        who: Option<&Token>,
    ) -> Result<Option<Turn>, &'static str> {
        if route.role.is_none() {
            return Ok(None);
        }
        let whose = who.map_or_else(String::new, |token| token.id.clone());
        let whose = (!route.only_looks()).then_some(whose);
        let mut waiting = held(&self.0);
        match &whose {
            None if waiting.plans >= PLANS => return Err("too many plans wait"),
            None => waiting.plans += 1,
            Some(whose) => {
                if waiting.writes.values().sum::<usize>() >= WRITES {
                    return Err("too many requests wait");
                }
                let own = waiting.writes.entry(whose.clone()).or_default();
                if *own >= SHARE {
                    return Err("too many requests of this token wait");
                }
                *own += 1;
            }
        }
        Ok(Some(Turn {
            all: Arc::clone(&self.0),
            whose,
        }))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut waiting = held(&self.all);
        let Some(whose) = &self.whose else {
            waiting.plans -= 1;
            return;
        };
        if let Some(own) = waiting.writes.get_mut(whose) {
            *own -= 1;
            if *own == 0 {
                waiting.writes.remove(whose);
            }
        }
    }
}

fn held(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

    use archi3d_core::ops::tokens::{Role, TokenRequest, mint};

    use super::*;
    use crate::routes::{Found, find};

    fn route(path: &str) -> &'static Route {
        match find(&Method::POST, path) {
            Found::Route(route, _) => route,
            _ => panic!("{path}"),
        }
    }

    fn token(name: &str) -> Token {
        let request = TokenRequest {
            name: name.to_owned(),
            role: Role::Submit,
            daily_cap_usd: None,
        };
        mint(request, crate::now()).kept
    }

    #[test]
    fn a_token_has_its_share_of_the_places_and_plans_take_none_of_them() {
        let turns = Turns::default();
        let (one, other) = (token("one"), token("other"));
        let (runs, plans) = (route("/api/v1/runs"), route("/api/v1/plans"));
        let many = |route, token: &Token, most| -> Vec<_> {
            let taken = (0..most).map(|_| turns.take(route, Some(token)));
            taken.collect::<Result<_, _>>().expect("places")
        };
        let held = many(runs, &one, SHARE);
        assert!(turns.take(runs, Some(&one)).is_err());
        let _planned = many(plans, &one, PLANS);
        assert!(turns.take(plans, Some(&other)).is_err());
        let _others = many(runs, &other, SHARE);
        drop(held);
        assert!(turns.take(runs, Some(&one)).is_ok());
    }
}
