//! What judging came to, as programs read it.

use serde::Serialize;

use crate::domain::money::Usd;
use crate::ops::judge::{Ranked, Ranking};

/// What judging came to.
#[derive(Debug, Serialize)]
pub struct RankingView<'a> {
    algos: Vec<RankedView<'a>>,
    mode: &'a str,
    votes: usize,
    both_unusable: usize,
    left_out: usize,
    agreement: Option<f64>,
    unconnected: &'a [String],
}

/// How one algorithm stands.
#[derive(Debug, Serialize)]
struct RankedView<'a> {
    algo: &'a str,
    points: Option<f64>,
    interval: Option<(f64, f64)>,
    best: Option<f64>,
    votes: Option<usize>,
    judged: usize,
    accepted: usize,
    spent_usd: Usd,
    per_accepted_usd: Option<f64>,
}

impl<'a> RankingView<'a> {
    /// Returns a ranking as programs read it.
    pub fn of(ranking: &'a Ranking) -> Self {
        let pairs = &ranking.pairs;
        Self {
            algos: ranking.algos.iter().map(RankedView::of).collect(),
            mode: &pairs.mode,
            votes: pairs.votes,
            both_unusable: pairs.both_unusable,
            left_out: pairs.left_out,
            agreement: pairs.agreement,
            unconnected: &pairs.unconnected,
        }
    }
}

impl<'a> RankedView<'a> {
    fn of(one: &'a Ranked) -> Self {
        let standing = one.standing;
        Self {
            algo: &one.algo,
            points: standing.map(|standing| standing.points),
            interval: standing.and_then(|standing| standing.interval),
            best: standing.and_then(|standing| standing.best),
            votes: standing.map(|standing| standing.votes),
            judged: one.judged,
            accepted: one.accepted,
            spent_usd: one.spent,
            per_accepted_usd: one.per_accepted_usd(),
        }
    }
}
