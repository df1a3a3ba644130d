//! How the state of a run looks on a page of any size.

use std::fmt::Write as _;
use std::time::Duration;

use crate::cli::table::{Fitted, Page, cut, dollars, short_duration};
use archi3d_core::domain::job::Status;
use archi3d_core::domain::text::{counted, one_line};
use archi3d_core::ops::view::status::{Liveness, RunStatus, RunningJobView};

/// Lists of this length are shown whole whatever the page.
const FEW: usize = 3;

/// How many groups of failures are shown without being asked for all.
const MOST_GROUPS: usize = 10;

/// Returns how a run stands, cut to the page.
pub fn render(status: &RunStatus, page: Page) -> String {
    let mut sections = vec![head(status, page)];
    sections.push(algos(status, page));
    sections.push(running(status, page));
    sections.push(failures(status, page));
    sections.push(closed(status, page));
    sections.retain(|section| !section.is_empty());
    if let Some(height) = page.height {
        shorten(&mut sections, height);
    }
    let lines = sections.join(&String::new());
    let lines: Vec<String> = lines.iter().map(|line| page.cut(line)).collect();
    lines.join("\n")
}

/// Breaks a line of parts at commas and semicolons so that it fits the page.
fn broken(line: String, page: Page) -> Vec<String> {
    if line.chars().count() <= page.width {
        return vec![line];
    }
    let mut lines = vec![String::new()];
    for part in line.split_inclusive([',', ';']) {
        let last = lines.last_mut().expect("there is always one");
        let fits = last.chars().count() + part.chars().count() <= page.width;
        if fits || last.is_empty() {
            last.push_str(part);
        } else {
            lines.push(format!("    {}", part.trim_start()));
        }
    }
    lines
}

/// Cuts the longest lists until all fits, and at last whatever stands lowest.
fn shorten(sections: &mut Vec<Vec<String>>, height: usize) {
    let needed = |sections: &[Vec<String>]| {
        sections.iter().map(Vec::len).sum::<usize>() + sections.len().saturating_sub(1)
    };
    // The last line of the screen stays free for the cursor.
    while needed(sections) > height.saturating_sub(1) {
        let lists = sections.iter_mut().skip(1);
        let Some(longest) = lists
            .filter(|list| list.len() > FEW + 1)
            .max_by_key(|list| list.len())
        else {
            break;
        };
        let last = longest.pop().unwrap_or_default();
        let already = last
            .strip_prefix("  … ")
            .and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
        if already.is_some() {
            longest.pop();
        }
        longest.push(format!("  … {} more", already.map_or(1, |n| n + 1)));
    }
    // A screen that scrolls would lose the head, which is what is looked at most.
    while needed(sections) > height.saturating_sub(1) {
        let Some(lowest) = sections.last_mut() else {
            break;
        };
        lowest.pop();
        // The heading of a list says nothing without the list.
        if lowest.len() <= 1 {
            sections.pop();
        }
    }
}

fn head(status: &RunStatus, page: Page) -> Vec<String> {
    let over = [Status::Failed, Status::Cancelled];
    let over: usize = over.into_iter().map(|s| status.count(s)).sum();
    let ended = status.made + over;
    let mut lines = vec![format!(
        "run {}: {} of {} ended",
        status.run_id,
        ended,
        counted(status.total, "job")
    )];
    let mut words: Vec<String> = counts(status, |s| status.count(s), status.rehearsed)
        .into_iter()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    for (count, what) in [
        (status.unknown_status, "with an unknown status"),
        (status.without_row, "without a row"),
    ] {
        if count > 0 {
            words.push(format!("{count} {what}"));
        }
    }
    lines.push(format!(
        "  {}{}",
        bar(ended, status.total, page.width),
        words.join(", ")
    ));
    lines.extend(pace(status, page));
    lines.extend(money(status));
    lines
        .into_iter()
        .flat_map(|line| broken(line, page))
        .collect()
}

/// Returns how many jobs are in each state of the run. What was only rehearsed is
/// never counted as made.
fn counts(
    status: &RunStatus,
    count: impl Fn(Status) -> usize,
    rehearsed: usize,
) -> Vec<(&'static str, usize)> {
    let mut counts = Vec::new();
    for state in Status::ALL {
        let here = status.count(state) > 0;
        match state {
            Status::Completed if status.rehearsed > 0 => {
                let made = count(state).saturating_sub(rehearsed);
                counts.push(("made", made));
                counts.push(("rehearsed", rehearsed));
            }
            _ if here => counts.push((state.word(), count(state))),
            _ => {}
        }
    }
    counts
}

/// Returns a bar that leaves room for words, or none where there is no room.
fn bar(ended: usize, total: usize, width: usize) -> String {
    let length: usize = match width {
        0..60 => return String::new(),
        60..100 => 16,
        _ => 32,
    };
    let full = ended * length / total.max(1);
    let mut bar: String = "=".repeat(full);
    if full < length {
        bar.push('>');
    }
    let percent = ended * 100 / total.max(1);
    format!("[{bar:<length$}] {percent} %  ")
}

fn pace(status: &RunStatus, page: Page) -> Option<String> {
    if !status.is_worked_on() {
        let waiting = status.count(Status::Enqueued) + status.count(Status::Running);
        let words = if status.worker_lives {
            "  a worker is running and waits for its turn"
        } else {
            "  no worker is running"
        };
        return (waiting > 0).then(|| words.to_owned());
    }
    let pace = status.pace.map_or_else(
        || "  pace not known yet".to_owned(),
        |pace| {
            let per_hour = if pace.per_hour < 10.0 {
                format!("{:.1}", pace.per_hour)
            } else {
                format!("{:.0}", pace.per_hour)
            };
            format!("  {per_hour} jobs/h, {:.1} at once", pace.parallel)
        },
    );
    let left = match status.time_left {
        Some(left) => {
            let end = status.at.plus(left);
            let (at, zone) = (page.zone.short(end), page.zone.name(end));
            format!("{} left (until {at} {zone})", short_duration(left))
        }
        None => "time left not known yet".to_owned(),
    };
    Some(format!("{pace}; {left}"))
}

fn money(status: &RunStatus) -> Vec<String> {
    let (money, rest) = (&status.money.of_run, &status.money);
    let mut lines = Vec::new();
    let known = [
        money.spent_usd,
        money.reserved_usd,
        rest.to_finish_usd.dollars(),
    ];
    if known.iter().any(|usd| *usd != 0.0) || rest.unpriced > 0 {
        let mut line = format!(
            "  {} spent, {} reserved, {} to finish",
            dollars(known[0]),
            dollars(known[1]),
            dollars(known[2])
        );
        if rest.unpriced > 0 {
            let jobs = counted(rest.unpriced, "job");
            let _ = write!(line, ", {jobs} of unknown price");
        }
        lines.push(line);
    }
    lines.extend(money.limits.iter().map(|limit| {
        format!(
            "  limit of the {}: {}, {} left",
            limit.of,
            dollars(limit.cap_usd),
            dollars(limit.left_usd.dollars())
        )
    }));
    lines
}

fn algos(status: &RunStatus, page: Page) -> Vec<String> {
    let narrow = page.width < 60;
    // A narrow page has room for the beginnings of the words.
    let letters = if narrow { 4 } else { usize::MAX };
    let used = counts(status, |s| status.count(s), status.rehearsed);
    let used = used.into_iter().map(|(word, _)| word);
    let mut header = vec!["algo".to_owned()];
    header.extend(used.map(|word| word.chars().take(letters).collect::<String>()));
    if !narrow {
        header.extend(["median".to_owned(), "each".to_owned()]);
    }
    let columns = header.len();
    let mut table = Fitted::new(header.iter().map(String::as_str));
    table = table.indent(2).cut(&[0]).right(1..columns);
    for algo in &status.algos {
        let mut row = vec![one_line(&algo.algo)];
        let counted = counts(status, |s| algo.counts[s as usize], algo.rehearsed);
        row.extend(counted.into_iter().map(|(_, count)| count.to_string()));
        if !narrow {
            row.push(seconds(algo.median_s));
            row.push(algo.unit_usd.map_or_else(|| "unknown".into(), dollars));
        }
        table.row(row);
    }
    table.lines(page)
}

fn seconds(seconds: Option<f64>) -> String {
    let time = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
    time.map(short_duration).unwrap_or_default()
}

fn running(status: &RunStatus, page: Page) -> Vec<String> {
    if status.running.is_empty() {
        return Vec::new();
    }
    let wide = page.width >= 100;
    let mut header = vec!["running", "algo", "for", "progress"];
    if wide {
        header.extend(["worker", "last beat", "holder"]);
    }
    header.push("job");
    let flexible: &[usize] = if wide { &[0, 1, 4] } else { &[0, 1] };
    let mut table = Fitted::new(header).indent(2).cut(flexible);
    // What needs a look comes first.
    let mut jobs: Vec<&RunningJobView> = status.running.iter().collect();
    jobs.sort_by_key(|job| (remark(job).is_empty(), std::cmp::Reverse(job.age)));
    for job in jobs {
        let mut row = vec![
            job.name.item(),
            one_line(&job.name.algo),
            age(job.age),
            progress(job, wide),
        ];
        if wide {
            row.push(one_line(&job.worker));
            row.push(match job.last_beat_age {
                Some(_) => format!("{} ago", age(job.last_beat_age)),
                None => "?".to_owned(),
            });
            row.push(job.verdict.word().to_owned());
        }
        row.push(job.job_id.to_string());
        table.row(row);
    }
    table.lines(page)
}

/// Returns what is remarkable about a job, in a word.
fn remark(job: &RunningJobView) -> &'static str {
    match job {
        job if job.verdict == Liveness::Dead => "dead",
        job if job.cancel_asked => "stopping",
        job if job.stalled => "stalled",
        job if job.slow => "slow",
        _ => "",
    }
}

fn progress(job: &RunningJobView, wide: bool) -> String {
    let mut words = Vec::new();
    if !remark(job).is_empty() {
        words.push(remark(job).to_owned());
    }
    if let Some(progress) = &job.progress {
        words.push(format!("{:.0} %", progress.fraction * 100.0));
        if let Some(message) = progress.message.as_deref().filter(|_| wide) {
            words.push(cut(&one_line(message), 30));
        }
    }
    if words.is_empty() {
        return "-".to_owned();
    }
    words.join(" ")
}

fn failures(status: &RunStatus, page: Page) -> Vec<String> {
    if status.failures.is_empty() {
        return Vec::new();
    }
    if page.verbose {
        let mut table = Fitted::new(["failed", "algo", "reason", "job"]);
        table = table.indent(2).cut(&[0, 1, 2]);
        for job in &status.failures {
            table.row([
                job.name.item(),
                one_line(&job.name.algo),
                one_line(&job.message),
                job.job_id.to_string(),
            ]);
        }
        return table.lines(page);
    }
    let mut table = Fitted::new(["failed", "newest", "algo", "reason", "job"]);
    table = table.indent(2).cut(&[1, 2, 3]);
    let groups = &status.failure_groups;
    for group in groups.iter().take(MOST_GROUPS) {
        table.row([
            format!("{} ×", group.count),
            group.name.item(),
            one_line(&group.name.algo),
            one_line(&group.message),
            group.job_id.to_string(),
        ]);
    }
    let mut lines = table.lines(page);
    if groups.len() > MOST_GROUPS {
        let more = groups.len() - MOST_GROUPS;
        lines.push(format!("  … {more} more reasons (-v shows every job)"));
    }
    lines
}

fn closed(status: &RunStatus, page: Page) -> Vec<String> {
    let closed = status.closed.iter().map(|closure| {
        let until = closure.until.map_or_else(
            || format!("`archi3d adapters resume {}`", closure.provider),
            |until| format!("{} {}", page.zone.minute(until), page.zone.name(until)),
        );
        format!(
            "  provider {} is closed until {until}: {}",
            closure.provider,
            one_line(&closure.reason)
        )
    });
    let paused = status.paused.iter().map(|pause| {
        format!(
            "  algo {} is paused: {}; a new worker tries it again",
            pause.provider,
            one_line(&pause.reason)
        )
    });
    closed.chain(paused).collect()
}

fn age(age: Option<Duration>) -> String {
    age.map_or_else(|| "?".to_owned(), short_duration)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::cli::local_time::Zone;
    use archi3d_core::domain::forecast::Pace;
    use archi3d_core::domain::id::{JobId, RunId};
    use archi3d_core::domain::money::Usd;
    use archi3d_core::domain::time::Timestamp;
    use archi3d_core::ops::find::JobName;
    use archi3d_core::ops::money::Money;
    use archi3d_core::ops::view::status::{
        AlgoStatus, FailedJobView, FailureGroup, MoneyToFinish, Progress,
    };

    /// A run in the middle of its work.
    pub(crate) fn sample() -> RunStatus {
        let failed = JobId::parse("41ee2eedbabf").expect("valid");
        let message = "GPU\u{1b}[2J out of memory".to_owned();
        RunStatus {
            run_id: RunId::parse("r1").expect("valid"),
            at: Timestamp::parse("2026-01-01T10:00:00Z").expect("valid"),
            counts: [3, 1, 0, 1, 0],
            total: 5,
            unknown_status: 0,
            without_row: 0,
            worker_lives: true,
            behind: Duration::ZERO,
            created: None,
            rehearsed: 0,
            made: 0,
            algos: vec![AlgoStatus {
                algo: "trellis_single".into(),
                counts: [3, 1, 0, 1, 0],
                rehearsed: 0,
                median_s: Some(80.0),
                cost_usd: Usd::ZERO,
                unit_usd: None,
            }],
            pace: Some(Pace {
                per_hour: 40.0,
                parallel: 1.0,
                window_s: 900.0,
            }),
            time_left: Some(Duration::from_secs(750)),
            money: MoneyToFinish {
                of_run: Money {
                    spent_usd: 0.3,
                    reserved_usd: 0.3,
                    limits: vec![],
                },
                to_finish_usd: Usd::ZERO,
                unpriced: 4,
                not_registered_usd: Usd::ZERO,
            },
            running: vec![RunningJobView {
                job_id: JobId::parse("d610ebfd455b").expect("valid"),
                name: JobName {
                    algo: "trellis_single".into(),
                    ..JobName::default()
                },
                attempt: 2,
                worker: "box-12-ab".into(),
                host: None,
                age: Some(Duration::from_secs(192)),
                last_beat_age: Some(Duration::from_millis(4200)),
                verdict: Liveness::Alive,
                progress: Some(Progress {
                    fraction: 0.42,
                    message: Some("texturing".into()),
                }),
                slow: true,
                stalled: false,
                cancel_asked: false,
            }],
            closed: vec![],
            paused: vec![],
            failures: vec![FailedJobView {
                job_id: failed.clone(),
                name: JobName::default(),
                message: message.clone(),
            }],
            failure_groups: vec![FailureGroup {
                count: 1,
                message,
                job_id: failed,
                name: JobName::default(),
                last: None,
                algos: vec!["trellis_single".into()],
            }],
            warnings: vec![],
        }
    }

    fn page(width: usize, height: Option<usize>) -> Page {
        Page {
            width,
            height,
            verbose: false,
            zone: Zone::Utc,
        }
    }

    #[test]
    fn people_see_counts_pace_money_running_jobs_and_failures() {
        insta::assert_snapshot!(render(&sample(), page(120, None)), @r"
        run r1: 1 of 5 jobs ended
          [======>                         ] 20 %  3 enqueued, 1 running, 1 failed
          40 jobs/h, 1.0 at once; 12 min 30 s left (until 01-01 10:12 UTC)
          $0.30 spent, $0.30 reserved, $0.00 to finish, 4 jobs of unknown price

          algo            enqueued  running  failed      median     each
          trellis_single         3        1       1  1 min 20 s  unknown

          running  algo            for         progress             worker     last beat  holder  job
                   trellis_single  3 min 12 s  slow 42 % texturing  box-12-ab  4.2 s ago  alive   d610ebfd455b

          failed  newest  algo  reason                 job
          1 ×                   GPU [2J out of memory  41ee2eedbabf
        ");
    }

    #[test]
    fn a_narrow_page_loses_columns_and_no_line_is_longer_than_it() {
        for width in [40, 80] {
            let text = render(&sample(), page(width, None));
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest <= Some(width), "{text}");
            assert!(text.contains("4 jobs of unknown price"), "{text}");
            assert!(width < 80 || text.contains("d610ebfd455b"), "{text}");
        }
    }

    #[test]
    fn a_low_page_keeps_the_head_and_says_how_much_is_missing() {
        let mut status = sample();
        status.running = vec![status.running[0].clone(); 50];
        let text = render(&status, page(80, Some(24)));
        assert!(text.lines().count() < 24, "{text}");
        assert!(text.contains(" more"), "{text}");
        assert!(text.starts_with("run r1"), "{text}");
        assert!(text.contains("out of memory"), "{text}");
    }

    #[test]
    fn the_lowest_page_still_starts_with_the_head() {
        let text = render(&sample(), page(80, Some(12)));
        assert!(text.lines().count() < 12, "{text}");
        assert!(text.contains("jobs of unknown price"), "{text}");
        assert!(text.starts_with("run r1"), "{text}");
    }

    #[test]
    fn cancelled_jobs_have_ended() {
        let mut status = sample();
        status.counts = [0, 0, 0, 0, 5];
        let text = render(&status, page(80, None));
        assert!(text.starts_with("run r1: 5 of 5 jobs ended"), "{text}");
    }
}
