//! Who is better, from votes on pairs: Bradley-Terry by maximum likelihood, with
//! intervals from resampled votes, and how far judges agree. Pure and deterministic.

use std::collections::{BTreeMap, BTreeSet};

/// How a vote on a pair went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The first one is better.
    First,
    /// The second one is better.
    Second,
    /// They are equally good.
    Tie,
}

/// One vote between two contestants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    /// The first contestant, by its number.
    pub first: usize,
    /// The second one.
    pub second: usize,
    /// What was said.
    pub answer: Answer,
    /// What both of them show; votes on one item are not independent.
    pub item: String,
    /// Who said it.
    pub judge: String,
}

/// How one contestant stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Its strength as Elo-like points; all of a group average 1500.
    pub points: f64,
    /// Where the middle 95 % of the resampled strengths lie, if they could be told.
    pub interval: Option<(f64, f64)>,
    /// How often it came out best in a resampled set, if that could be told; who share
    /// the first place share the count.
    pub best: Option<f64>,
    /// How many votes it had.
    pub votes: usize,
}

/// Points per unit of log-strength, as in chess.
const SCALE: f64 = 400.0 / std::f64::consts::LN_10;
const MEAN: f64 = 1500.0;

/// How often votes are resampled.
pub const DRAWS: usize = 1000;

/// The fit has converged when nothing moves by more than this.
const PRECISION: f64 = 1e-12;
const MOST_ROUNDS: usize = 100_000;

/// Strengths that differ by less are the same.
const SAME: f64 = 1e-9;

/// Groups contestants that votes connect in both directions: only within such a group
/// does a maximum exist. The largest comes first, each in order.
pub fn groups(contestants: usize, votes: &[Vote]) -> Vec<Vec<usize>> {
    let wins = wins_of(contestants, votes.iter().map(|vote| (vote, 1.0)));
    let mut left: BTreeSet<usize> = (0..contestants).collect();
    let mut found = Vec::new();
    while let Some(first) = left.first().copied() {
        let (beaten, beats) = (reach(&wins, first, false), reach(&wins, first, true));
        let both = |member: &usize| beaten[*member] && beats[*member];
        let group: Vec<usize> = left.iter().copied().filter(both).collect();
        left.retain(|member| !group.contains(member));
        found.push(group);
    }
    found.sort_by_key(|group| std::cmp::Reverse(group.len()));
    found
}

/// Counts wins of each over each, ties half, each vote by its weight.
fn wins_of<'a>(contestants: usize, votes: impl Iterator<Item = (&'a Vote, f64)>) -> Vec<Vec<f64>> {
    let mut wins = vec![vec![0.0; contestants]; contestants];
    for (vote, weight) in votes {
        let (first, second) = match vote.answer {
            Answer::First => (weight, 0.0),
            Answer::Second => (0.0, weight),
            Answer::Tie => (weight / 2.0, weight / 2.0),
        };
        wins[vote.first][vote.second] += first;
        wins[vote.second][vote.first] += second;
    }
    wins
}

/// Fits log-strengths that average 0, by the minorisation-maximisation of Hunter (2004).
/// Returns nothing if no maximum exists.
pub fn fit(wins: &[Vec<f64>]) -> Option<Vec<f64>> {
    let count = wins.len();
    let won: Vec<f64> = wins.iter().map(|row| row.iter().sum()).collect();
    let lost = |at: usize| -> f64 { wins.iter().map(|row| row[at]).sum() };
    if (0..count).any(|at| won[at] <= 0.0 || lost(at) <= 0.0) {
        return None;
    }
    let mut strength = vec![1.0_f64; count];
    for _ in 0..MOST_ROUNDS {
        let mut next = vec![0.0; count];
        for (at, slot) in next.iter_mut().enumerate() {
            let met: f64 = (0..count)
                .filter(|other| *other != at)
                .map(|other| (wins[at][other] + wins[other][at]) / (strength[at] + strength[other]))
                .sum();
            *slot = won[at] / met;
        }
        let mean = next.iter().map(|value| value.ln()).sum::<f64>() / count as f64;
        let moved = next
            .iter_mut()
            .zip(&strength)
            .map(|(new, old)| {
                *new /= mean.exp();
                (*new / old).ln().abs()
            })
            .fold(0.0, f64::max);
        strength = next;
        if moved < PRECISION {
            break;
        }
    }
    let logs: Vec<f64> = strength.iter().map(|value| value.ln()).collect();
    logs.iter().all(|value| value.is_finite()).then_some(logs)
}

/// Ranks contestants that votes connect; the order is that of `contestants`.
pub fn rank(contestants: usize, votes: &[Vote], seed: u64) -> Option<Vec<Standing>> {
    let whole = fit(&wins_of(contestants, votes.iter().map(|vote| (vote, 1.0))))?;
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); contestants];
    let mut best = vec![0.0; contestants];
    let mut valid = 0usize;
    let mut chance = Chance(seed);
    for _ in 0..DRAWS {
        let items = chance.weights(votes.iter().map(|vote| vote.item.as_str()));
        let judges = chance.weights(votes.iter().map(|vote| vote.judge.as_str()));
        let weighted = votes.iter().map(|vote| {
            let weight = items[vote.item.as_str()] * judges[vote.judge.as_str()];
            (vote, weight)
        });
        let wins = wins_of(contestants, weighted);
        if !is_connected(&wins) {
            continue;
        }
        let Some(strengths) = fit(&wins) else {
            continue;
        };
        valid += 1;
        for (list, strength) in drawn.iter_mut().zip(&strengths) {
            list.push(*strength);
        }
        let top = strengths.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let first: Vec<usize> = (0..contestants)
            .filter(|at| top - strengths[*at] < SAME)
            .collect();
        for at in &first {
            best[*at] += 1.0 / first.len() as f64;
        }
    }
    // Too few sets that tell are no interval, and name nobody the best.
    let is_told = valid >= DRAWS / 2;
    let points = |strength: f64| MEAN + SCALE * strength;
    Some(
        (0..contestants)
            .map(|at| {
                drawn[at].sort_by(f64::total_cmp);
                Standing {
                    points: points(whole[at]),
                    interval: is_told.then(|| {
                        let quantile = |share: f64| points(quantile(&drawn[at], share));
                        (quantile(0.025), quantile(0.975))
                    }),
                    best: is_told.then(|| best[at] / valid as f64),
                    votes: votes
                        .iter()
                        .filter(|vote| vote.first == at || vote.second == at)
                        .count(),
                }
            })
            .collect(),
    )
}

/// Tells whom one can get to from contestant `from`, from winner to loser (`forward`) or back.
fn reach(wins: &[Vec<f64>], from: usize, forward: bool) -> Vec<bool> {
    let mut seen = vec![false; wins.len()];
    let mut open = vec![from];
    seen[from] = true;
    while let Some(at) = open.pop() {
        for (other, seen) in seen.iter_mut().enumerate() {
            let won = if forward {
                wins[at][other]
            } else {
                wins[other][at]
            };
            if won > 0.0 && !*seen {
                *seen = true;
                open.push(other);
            }
        }
    }
    seen
}

fn is_connected(wins: &[Vec<f64>]) -> bool {
    let all = |forward: bool| reach(wins, 0, forward).into_iter().all(|seen| seen);
    !wins.is_empty() && all(true) && all(false)
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let at = share * (sorted.len().saturating_sub(1)) as f64;
    let low = at.floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a position in the list"
    )]
    let place = low as usize;
    let first = sorted[place];
    let second = sorted[(place + 1).min(sorted.len() - 1)];
    first + (second - first) * (at - low)
}

/// Krippendorff's alpha for words: 1 means that judges agree wherever several spoke, 0
/// that they agree as chance would have it. Nothing where nobody spoke twice.
pub fn agreement<'a>(said: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<f64> {
    let mut units: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    for (unit, word) in said {
        *units.entry(unit).or_default().entry(word).or_default() += 1.0;
    }
    let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
    let (mut apart, mut values) = (0.0, 0.0);
    for words in units.values() {
        let count: f64 = words.values().sum();
        if count < 2.0 {
            continue;
        }
        let same: f64 = words.values().map(|times| times * (times - 1.0)).sum();
        apart += (count * (count - 1.0) - same) / (count - 1.0);
        values += count;
        for (word, times) in words {
            *totals.entry(word).or_default() += times;
        }
    }
    let same: f64 = totals.values().map(|times| times * (times - 1.0)).sum();
    let expected = values * (values - 1.0) - same;
    if values == 0.0 {
        return None;
    }
    if expected == 0.0 {
        return Some(1.0);
    }
    Some(1.0 - (values - 1.0) * apart / expected)
}

/// Wilson's 95 % interval of a share.
pub fn wilson(hits: usize, of: usize) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    if of == 0 {
        return (0.0, 1.0);
    }
    let (hits, of) = (hits as f64, of as f64);
    let share = hits / of;
    let denominator = 1.0 + Z * Z / of;
    let middle = (share + Z * Z / (2.0 * of)) / denominator;
    let half = Z / denominator * (share * (1.0 - share) / of + Z * Z / (4.0 * of * of)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// Random numbers that only depend on their seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws as many names as there are, with replacement, and counts them.
    fn weights<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, f64> {
        let names: BTreeSet<&str> = names.collect();
        let list: Vec<&str> = names.iter().copied().collect();
        let mut weights: BTreeMap<&str, f64> = names.into_iter().map(|name| (name, 0.0)).collect();
        for _ in 0..list.len() {
            let place = self.next() % list.len() as u64;
            let place = usize::try_from(place).unwrap_or_default();
            *weights.entry(list[place]).or_default() += 1.0;
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote(first: usize, second: usize, answer: Answer, item: &str, judge: &str) -> Vote {
        Vote {
            first,
            second,
            answer,
            item: item.to_owned(),
            judge: judge.to_owned(),
        }
    }

    #[test]
    fn two_contestants_get_the_odds_of_their_votes() {
        // Three wins of four: odds of 3, so 400 * log10(3) points apart.
        let votes: Vec<Vote> = (0..4)
            .map(|n| {
                let answer = if n < 3 { Answer::First } else { Answer::Second };
                vote(0, 1, answer, &n.to_string(), "j")
            })
            .collect();
        let ranked = rank(2, &votes, 1).expect("ranked");
        let apart = ranked[0].points - ranked[1].points;
        assert!((apart - 400.0 * 3.0_f64.log10()).abs() < 1e-6, "{apart}");
        assert!((ranked[0].points + ranked[1].points - 3000.0).abs() < 1e-6);
    }

    #[test]
    fn ties_count_half_and_the_same_seed_gives_the_same_intervals() {
        let mut votes = Vec::new();
        for item in 0..30 {
            let name = item.to_string();
            votes.push(vote(0, 1, Answer::Tie, &name, "a"));
            votes.push(vote(
                1,
                2,
                if item % 3 == 0 {
                    Answer::Second
                } else {
                    Answer::First
                },
                &name,
                "b",
            ));
            votes.push(vote(
                2,
                0,
                if item % 4 == 0 {
                    Answer::First
                } else {
                    Answer::Second
                },
                &name,
                "a",
            ));
        }
        let ranked = rank(3, &votes, 7).expect("ranked");
        assert!(
            (ranked[0].points - ranked[1].points).abs() < 60.0,
            "{ranked:?}"
        );
        assert!(ranked[2].points < ranked[0].points);
        let (low, high) = ranked[0].interval.expect("an interval");
        assert!(low < ranked[0].points && ranked[0].points < high);
        assert_eq!(rank(3, &votes, 7), Some(ranked));
    }

    #[test]
    fn who_only_ties_shares_the_first_place_and_few_votes_name_nobody_the_best() {
        let tie = |item: usize| vote(0, 1, Answer::Tie, &item.to_string(), "j");
        let ranked = rank(2, &(0..9).map(tie).collect::<Vec<_>>(), 1).expect("ranked");
        assert_eq!([ranked[0].best, ranked[1].best], [Some(0.5); 2]);
        let few = [
            vote(0, 1, Answer::First, "x", "j"),
            vote(1, 0, Answer::First, "y", "j"),
            vote(1, 2, Answer::First, "x", "j"),
            vote(2, 1, Answer::First, "z", "j"),
        ];
        let ranked = rank(3, &few, 1).expect("ranked");
        let untold = |one: &Standing| one.interval.is_none() && one.best.is_none();
        assert!(ranked.iter().all(untold), "{ranked:?}");
    }

    #[test]
    fn who_was_never_beaten_or_never_met_is_in_a_group_of_its_own() {
        let votes = [
            vote(0, 1, Answer::First, "x", "j"),
            vote(1, 2, Answer::Tie, "x", "j"),
        ];
        assert_eq!(groups(4, &votes), [vec![1, 2], vec![0], vec![3]]);
        assert_eq!(rank(3, &votes, 1), None);
    }

    #[test]
    fn agreement_is_one_for_one_voice_and_none_where_nobody_spoke_twice() {
        let same = [("u", "a"), ("u", "a"), ("v", "b"), ("v", "b")];
        assert_eq!(agreement(same), Some(1.0));
        assert_eq!(agreement([("u", "a"), ("v", "b")]), None);
        let apart = [("u", "a"), ("u", "b"), ("v", "a"), ("v", "b")];
        assert!(agreement(apart).expect("told") < 0.0);
    }
}
