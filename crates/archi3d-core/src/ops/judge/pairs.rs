//! Votes on pairs of models that were drawn in one way, and whom they rank.

use std::collections::{BTreeSet, HashMap};

use crate::domain::rank::{self, Answer, Standing, Vote};
use crate::ops::judge::{Kind, unit};

/// What the votes on models drawn in one way came to.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    /// How they were drawn.
    pub mode: String,
    /// The algorithms that votes are about, by name.
    pub algos: Vec<String>,
    /// How those stand that votes connect with each other.
    pub standings: HashMap<String, Standing>,
    /// Votes that count.
    pub votes: usize,
    /// Votes that say both are unusable; they rank nobody.
    pub both_unusable: usize,
    /// Votes on models that nobody knows, or that compare an algorithm with itself.
    pub left_out: usize,
    /// How far judges agree on the pairs that several of them saw.
    pub agreement: Option<f64>,
    /// Algorithms that no votes connect with the others in both directions.
    pub unconnected: Vec<String>,
}

impl Pairs {
    /// Counts the votes on models drawn as `mode` says; `algo_of` knows whose they are.
    pub(super) fn of(
        votes: &[Vec<String>],
        mode: &str,
        algo_of: &dyn Fn(&str, &str) -> Option<String>,
    ) -> Self {
        let mut pairs = Self {
            mode: mode.to_owned(),
            ..Self::default()
        };
        let mut cast: Vec<([String; 2], Answer, &[String])> = Vec::new();
        let mut spoken: Vec<(String, &str)> = Vec::new();
        for vote in votes.iter().filter(|vote| vote[8] == mode) {
            let whose = algo_of(&vote[3], &vote[4]).zip(algo_of(&vote[5], &vote[6]));
            let Some((a, b)) = whose else {
                pairs.left_out += 1;
                continue;
            };
            // Whichever of the two stood first, the same words mean the same.
            let in_order = (&a, &vote[4]) <= (&b, &vote[6]);
            let (word, answer) = match vote[10].as_str() {
                "a" if in_order => ("first", Some(Answer::First)),
                "a" => ("second", Some(Answer::First)),
                "b" if in_order => ("second", Some(Answer::Second)),
                "b" => ("first", Some(Answer::Second)),
                "tie" => ("tie", Some(Answer::Tie)),
                word => (word, None),
            };
            spoken.push((unit(vote, Kind::Votes), word));
            match answer {
                None => pairs.both_unusable += 1,
                Some(_) if a == b => pairs.left_out += 1,
                Some(answer) => cast.push(([a, b], answer, vote)),
            }
        }
        pairs.votes = cast.len();
        pairs.agreement = rank::agreement(spoken.iter().map(|(unit, word)| (unit.as_str(), *word)));
        let algos: BTreeSet<&String> = cast.iter().flat_map(|(algos, ..)| algos).collect();
        pairs.algos = algos.into_iter().cloned().collect();
        let place = |algo: &String| pairs.algos.binary_search(algo).unwrap_or_default();
        let votes: Vec<Vote> = cast
            .iter()
            .map(|([first, second], answer, vote)| Vote {
                first: place(first),
                second: place(second),
                answer: *answer,
                item: vote[7].clone(),
                judge: vote[2].clone(),
            })
            .collect();
        pairs.rank(votes);
        pairs
    }

    /// Ranks the largest group that votes connect; names the others.
    fn rank(&mut self, votes: Vec<Vote>) {
        let groups = rank::groups(self.algos.len(), &votes);
        let Some(group) = groups.first().filter(|group| group.len() > 1) else {
            self.unconnected.clone_from(&self.algos);
            return;
        };
        let others = groups[1..].iter().flatten();
        self.unconnected = others.map(|one| self.algos[*one].clone()).collect();
        let inside = |at: usize| group.iter().position(|member| *member == at);
        let votes = votes.into_iter().filter_map(|vote| {
            Some(Vote {
                first: inside(vote.first)?,
                second: inside(vote.second)?,
                ..vote
            })
        });
        let votes: Vec<Vote> = votes.collect();
        let ranked = rank::rank(group.len(), &votes, 0).unwrap_or_default();
        let names = group.iter().map(|one| self.algos[*one].clone());
        self.standings = names.zip(ranked).collect();
    }
}
