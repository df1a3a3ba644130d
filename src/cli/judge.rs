//! `archi3d judge`: votes and verdicts of people, and what they come to.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::Global;
use crate::cli::error::{CliError, Exit};
use crate::cli::run_arg::RunArg;
use crate::cli::table::{Fitted, Page, dollars};
use crate::cli::ui::Ui;
use archi3d_core::domain::rank::wilson;
use archi3d_core::domain::text::counted;
use archi3d_core::ops::judge::{Imported, RankRequest, Ranked, Ranking, import, ranking};
use archi3d_core::ops::view::judge::RankingView;

/// The commands about judging.
#[derive(Debug, Subcommand)]
pub enum JudgeCommand {
    /// Merge votes and verdicts that the Judge page of a report saved
    Import(ImportArgs),
    /// Rank algorithms by the votes, with acceptance and the price of an accepted model
    Rank(RankArgs),
}

/// The options of `judge import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d judge import ~/Downloads/votes-ana-2026-11-17.csv ~/Downloads/accepts-ana-2026-11-17.csv

Every vote has an id: importing a file twice changes nothing. Of what one judge says of the same
model, or of the same pair drawn alike, the latest counts; one that says `withdrawn` takes back
what was said before. Rows on jobs that this workspace does not have are skipped.")]
pub struct ImportArgs {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// The options of `judge rank`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  archi3d judge rank
  archi3d judge rank r1 --mode clay --category Chairs

Points are Bradley-Terry strengths on the scale of chess (400 points are odds of 10 to 1), ties
count half, 1500 is the average. Intervals hold 95 % of 1000 sets of votes that were drawn again
by item and judge; algorithms whose intervals overlap are not told apart.")]
pub struct RankArgs {
    #[command(flatten)]
    run: RunArg,
    /// Only votes on models drawn so: textured or clay [default: textured]
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,
    /// Only items of this category
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
}

/// Merges files, or shows the ranking.
pub fn run(command: &JudgeCommand, global: &Global, ui: &Ui) -> Result<Exit, CliError> {
    let context = global.context()?;
    match command {
        JudgeCommand::Import(args) => {
            let imported = import(&context, &args.files)?;
            show_import(&imported, ui)
        }
        JudgeCommand::Rank(args) => {
            let request = RankRequest {
                run: args.run.given()?,
                mode: args.mode.clone(),
                category: args.category.clone(),
            };
            show_ranking(&ranking(&context, &request)?, ui)
        }
    }
}

fn show_import(imported: &Imported, ui: &Ui) -> Result<Exit, CliError> {
    for refused in &imported.refused {
        ui.warn(&format!("skipped: {refused}"));
    }
    if ui.is_json() {
        ui.answer(&imported)?;
    } else {
        let strange = match imported.unknown_jobs {
            0 => String::new(),
            count => format!(", {count} of unknown jobs, skipped"),
        };
        ui.data(&format!(
            "{} and {} added, {} known already{strange}",
            counted(imported.votes, "vote"),
            counted(imported.accepts, "verdict"),
            imported.known
        ))?;
    }
    let is_nothing_taken = imported.votes + imported.accepts + imported.known == 0;
    let is_strange = imported.unknown_jobs > 0 && is_nothing_taken;
    Ok(if imported.refused.is_empty() && !is_strange {
        Exit::Done
    } else {
        Exit::JobsFailed
    })
}

fn show_ranking(ranking: &Ranking, ui: &Ui) -> Result<Exit, CliError> {
    if ui.is_json() {
        ui.answer(&RankingView::of(ranking))?;
        return Ok(Exit::Done);
    }
    if ranking.algos.is_empty() {
        ui.data("no votes and no verdicts yet")?;
        ui.hint("`archi3d report build` makes a page to judge on; `archi3d judge import` takes its files");
        return Ok(Exit::Done);
    }
    let mut table = Fitted::new([
        "algo",
        "points",
        "95 % interval",
        "best",
        "accepted",
        "per accepted",
    ]);
    for one in &ranking.algos {
        table.row(cells(one));
    }
    for line in table.lines(Page::of_list()) {
        ui.data(&line)?;
    }
    let agreement = ranking.pairs.agreement.map_or_else(String::new, |alpha| {
        format!("; judges agree with alpha {alpha:.2}")
    });
    let pairs = &ranking.pairs;
    if pairs.votes > 0 {
        let votes = counted(pairs.votes, "vote");
        ui.data(&format!("{votes} on {} models{agreement}", pairs.mode))?;
    }
    for (mode, votes) in &ranking.other_modes {
        ui.hint(&format!(
            "{} on {mode} models count apart: `--mode {mode}` ranks them",
            counted(*votes, "vote")
        ));
    }
    for (first, second) in ranking.algos.iter().zip(ranking.algos.iter().skip(1)) {
        if overlap(first, second) {
            ui.say(&format!(
                "{} and {} cannot be told apart yet",
                first.algo, second.algo
            ));
        }
    }
    let untold: Vec<&str> = ranking
        .algos
        .iter()
        .filter(|one| {
            one.standing
                .is_some_and(|standing| standing.interval.is_none())
        })
        .map(|one| one.algo.as_str())
        .collect();
    if !untold.is_empty() {
        ui.say(&format!(
            "too few votes to rank {}: they cannot be told apart yet",
            untold.join(", ")
        ));
    }
    if !ranking.pairs.unconnected.is_empty() {
        ui.warn(&format!(
            "not ranked, because no votes connect them with the others in both directions: {}",
            ranking.pairs.unconnected.join(", ")
        ));
    }
    Ok(Exit::Done)
}

fn overlap(first: &Ranked, second: &Ranked) -> bool {
    let interval = |one: &Ranked| one.standing.and_then(|standing| standing.interval);
    match (interval(first), interval(second)) {
        (Some((low, _)), Some((_, high))) => low <= high,
        _ => false,
    }
}

fn cells(one: &Ranked) -> Vec<String> {
    let standing = one.standing;
    let interval = standing.and_then(|standing| standing.interval);
    let (low, high) = wilson(one.accepted, one.judged);
    vec![
        one.algo.clone(),
        standing.map_or_else(|| "-".into(), |standing| format!("{:.0}", standing.points)),
        interval.map_or_else(
            || "-".into(),
            |(low, high)| format!("{low:.0} to {high:.0}"),
        ),
        standing
            .and_then(|standing| standing.best)
            .map_or_else(|| "-".into(), |best| format!("{:.0} %", best * 100.0)),
        if one.judged == 0 {
            "-".into()
        } else {
            let share = format!("{:.0} to {:.0} %", low * 100.0, high * 100.0);
            format!("{} of {} ({share})", one.accepted, one.judged)
        },
        one.per_accepted_usd().map_or_else(|| "-".into(), dollars),
    ]
}
