//! `judge import` and `judge rank`: votes kept once, and what they come to.

use std::fmt::Write as _;

use crate::support::binary::Output;
use crate::support::{Invocation, TestWorkspace, python_with_scores};

const ALGOS: &str = "adapters:
  cheap: {kind: mock, unit_price_usd: 0.10}
  dear: {kind: mock, unit_price_usd: 0.40}
";

const VOTES: &str =
    "vote_id,at,judge,run_id_a,job_a,run_id_b,job_b,item,mode,side_of_a,answer,ms,seed\n";
const ACCEPTS: &str = "accept_id,at,judge,run_id,job_id,item,accepted,reason\n";

/// Two runs of four products, one for each algo.
fn judged() -> TestWorkspace {
    let place = TestWorkspace::empty();
    for product in 1..5 {
        place.write(
            &format!("dataset/10{product}/images/a.jpg"),
            b"\xff\xd8\xff\xd9",
        );
    }
    place.write("config/adapters.yaml", ALGOS.as_bytes());
    let _ = place.archi3d(&["catalog", "build"]).run().expect_code(0);
    let _ = place
        .archi3d(&["batch", "create", "--run-id", "rk", "--algos", "cheap,dear"])
        .run()
        .expect_code(0);
    let _ = place
        .archi3d(&["run", "worker", "--run-id", "rk", "--yes"])
        .run()
        .expect_code(0);
    place
}

/// Returns the jobs of an algo, in the order of their products.
fn jobs(place: &TestWorkspace, algo: &str) -> Vec<(String, String)> {
    let registry = place.registry();
    let mut jobs: Vec<(String, String)> = registry
        .rows
        .iter()
        .filter(|row| &row["algo"] == algo)
        .map(|row| (row["product_id"].to_owned(), row["job_id"].to_owned()))
        .collect();
    jobs.sort();
    jobs
}

/// Three of four judges' votes prefer the dear one; of both, some are accepted.
fn write_files(place: &TestWorkspace) {
    let (cheap, dear) = (jobs(place, "cheap"), jobs(place, "dear"));
    let (mut votes, mut accepts) = (VOTES.to_owned(), ACCEPTS.to_owned());
    for (at, ((item, a), (_, b))) in cheap.iter().zip(&dear).enumerate() {
        let answer = if at == 0 { "a" } else { "b" };
        let _ = writeln!(
            votes,
            "v{at},2026-01-01,ana,rk,{a},rk,{b},{item},clay,left,{answer},900,1"
        );
        let verdict = if at < 2 { "yes" } else { "no" };
        let _ = writeln!(accepts, "c{at},2026-01-01,ana,rk,{a},{item},{verdict},");
        let _ = writeln!(accepts, "d{at},2026-01-01,ana,rk,{b},{item},yes,");
    }
    place.write("votes.csv", votes.as_bytes());
    place.write("accepts.csv", accepts.as_bytes());
}

#[test]
fn a_file_that_is_imported_twice_counts_once() {
    let place = judged();
    write_files(&place);
    let files = [place.path("votes.csv"), place.path("accepts.csv")];
    let import = || {
        place
            .archi3d(&["judge", "import"])
            .arg(&files[0])
            .arg(&files[1])
            .run()
            .expect_code(0)
    };
    let _ = import().expect_stdout("4 votes and 8 verdicts added, 0 known already");
    let table = place.bytes("tables/votes.csv");
    let _ = import().expect_stdout("0 votes and 0 verdicts added, 12 known already");
    assert_eq!(place.bytes("tables/votes.csv"), table);
}

#[test]
fn votes_rank_and_verdicts_price_an_accepted_model() {
    let place = judged();
    write_files(&place);
    for file in ["votes.csv", "accepts.csv"] {
        let _ = place
            .archi3d(&["judge", "import"])
            .arg(place.path(file))
            .run()
            .expect_code(0);
    }
    let ranked = place
        .archi3d(&["judge", "rank", "--json"])
        .run()
        .expect_code(0)
        .json();
    let [dear, cheap] = [&ranked["algos"][0], &ranked["algos"][1]];
    assert_eq!(dear["algo"], "dear", "{ranked}");
    let apart =
        dear["points"].as_f64().expect("points") - cheap["points"].as_f64().expect("points");
    assert!((apart - 400.0 * 3.0_f64.log10()).abs() < 1e-6, "{apart}");
    // Four of four at $0.40 each, and two of four at $0.10 each.
    let price = |one: &serde_json::Value| one["per_accepted_usd"].as_f64().expect("a price");
    assert!(
        (price(dear) - 0.40).abs() < 1e-9 && (price(cheap) - 0.20).abs() < 1e-9,
        "{ranked}"
    );
    let other = place
        .archi3d(&["judge", "rank", "--mode", "textured", "--json"])
        .run();
    assert_eq!(other.expect_code(0).json()["votes"], 0);
    let _ = place
        .archi3d(&["report", "build", "rk"])
        .run()
        .expect_code(0);
    let data = String::from_utf8(place.bytes("reports/rk/data.js")).expect("text");
    assert_eq!(data.matches("\"accepted\":true").count(), 6);
}

#[test]
fn rows_that_say_nothing_usable_are_named_and_the_others_taken() {
    let place = judged();
    let (x, y) = (&jobs(&place, "cheap")[0].1, &jobs(&place, "dear")[0].1);
    let text = format!(
        "{VOTES}v1,t,ana,rk,{x},rk,{y},101,clay,left,a,1,1\nv2,t,ana,rk,{x},rk,{y},101,clay,left,maybe,1,1\n"
    );
    place.write("votes.csv", text.as_bytes());
    let _ = place
        .archi3d(&["judge", "import"])
        .arg(place.path("votes.csv"))
        .run()
        .expect_code(1)
        .expect_stdout("1 vote and 0 verdicts added")
        .expect_stderr("line 3: it says \"maybe\"");
    place.write("other.csv", b"a,b\n1,2\n");
    let _ = place
        .archi3d(&["judge", "import"])
        .arg(place.path("other.csv"))
        .run()
        .expect_code(2)
        .expect_stderr("neither votes nor verdicts");
}

/// Imports rows of votes or verdicts.
fn import(place: &TestWorkspace, head: &str, rows: &[String]) -> Output {
    let text = format!("{head}{}\n", rows.join("\n"));
    place.write("rows.csv", text.as_bytes());
    let call = place.archi3d(&["judge", "import"]);
    call.arg(place.path("rows.csv")).run()
}

#[test]
fn each_judge_counts_once_per_model_with_the_latest_word_and_a_tie_accepts_nothing() {
    let place = judged();
    let cheap = jobs(&place, "cheap");
    let verdict = |id: usize, day: u32, judge: &str, model: usize, said: &str| {
        let (item, job) = &cheap[model];
        format!("c{id},2026-01-0{day}T00:00:00.000Z,{judge},rk,{job},{item},{said},")
    };
    let rows = [
        // Ana says yes three times, Bo and Cy once no: most judges reject it.
        verdict(1, 1, "ana", 0, "yes"),
        verdict(2, 2, "ana", 0, "yes"),
        verdict(3, 3, "ana", 0, "yes"),
        verdict(4, 1, "bo", 0, "no"),
        verdict(5, 1, "cy", 0, "no"),
        // Two say two things: no acceptance.
        verdict(6, 1, "ana", 1, "yes"),
        verdict(7, 1, "bo", 1, "no"),
        // The latest by its time, wherever it stands in the file.
        verdict(8, 3, "ana", 2, "yes"),
        verdict(9, 1, "ana", 2, "no"),
    ];
    let _ = import(&place, ACCEPTS, &rows).expect_code(0);
    let ranked = place.archi3d(&["judge", "rank", "--json"]).run();
    let ranked = ranked.expect_code(0).json();
    let cheap = &ranked["algos"][0];
    assert_eq!(
        (&cheap["judged"], &cheap["accepted"]),
        (&3.into(), &1.into())
    );
    let build = place.archi3d(&["report", "build", "rk"]).run();
    let _ = build.expect_code(0);
    let data = String::from_utf8(place.bytes("reports/rk/data.js")).expect("text");
    // The page gets one row for each judge and model.
    assert_eq!(data.matches("\"accepted\":").count(), 6);
}

#[test]
fn a_vote_that_is_given_again_counts_once_and_one_judge_does_not_agree_with_herself() {
    let place = judged();
    let (cheap, dear) = (jobs(&place, "cheap"), jobs(&place, "dear"));
    let vote = |id: usize, day: u32, judge: &str, at: usize, swapped: bool, said: &str| {
        let (item, a, b) = (&cheap[at].0, &cheap[at].1, &dear[at].1);
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        format!("v{id},2026-01-0{day}T00:00:00Z,{judge},rk,{a},rk,{b},{item},clay,left,{said},9,1")
    };
    let rows = [
        vote(1, 1, "ana", 0, false, "a"),
        vote(2, 3, "ana", 0, true, "a"),
        vote(3, 2, "ana", 0, false, "a"),
        vote(4, 1, "ana", 1, false, "a"),
    ];
    let _ = import(&place, VOTES, &rows).expect_code(0);
    let rank = || {
        let call = place.archi3d(&["judge", "rank", "--json"]).run();
        call.expect_code(0).json()
    };
    let ranked = rank();
    assert_eq!(ranked["votes"], 2, "{ranked}");
    assert_eq!(ranked["agreement"], serde_json::Value::Null);
    // One win each way, from two items: nobody is best, and that is said.
    assert_eq!(ranked["algos"][0]["points"], ranked["algos"][1]["points"]);
    let told = place.archi3d(&["judge", "rank"]).run().expect_code(0);
    let _ = told.expect_stderr("cannot be told apart yet");
    // Another judge says the same in the other order.
    let rows = [
        vote(5, 1, "bo", 0, false, "b"),
        vote(6, 1, "bo", 1, true, "b"),
    ];
    let _ = import(&place, VOTES, &rows).expect_code(0);
    let ranked = rank();
    assert_eq!(
        (&ranked["votes"], &ranked["agreement"]),
        (&4.into(), &1.0.into())
    );
}

#[test]
fn what_is_taken_back_counts_no_more_in_whatever_order_files_are_merged() {
    let (vote, back) = ("v1,2026-01-01,ana", "v2,2026-01-01,ana");
    for merged in [[vote, back], [back, vote]] {
        let place = judged();
        let (cheap, dear) = (jobs(&place, "cheap"), jobs(&place, "dear"));
        let ((item, a), (_, b)) = (&cheap[0], &dear[0]);
        for words in merged {
            let (said, verdict) = if words == back {
                ("withdrawn", "withdrawn")
            } else {
                ("a", "yes")
            };
            let row = format!("{words},rk,{a},rk,{b},{item},textured,left,{said},9,1");
            let _ = import(&place, VOTES, &[row]).expect_code(0);
            let row = format!("{words},rk,{a},{item},{verdict},");
            let _ = import(&place, ACCEPTS, &[row]).expect_code(0);
        }
        let rank = place.archi3d(&["judge", "rank", "--json"]).run().json();
        assert_eq!(
            (&rank["votes"], &rank["algos"]),
            (&0.into(), &serde_json::json!([]))
        );
        // Said once more, it counts again.
        let again = format!("v3,2026-01-02,ana,rk,{a},{item},no,");
        let _ = import(&place, ACCEPTS, &[again]).expect_code(0);
        let rank = place.archi3d(&["judge", "rank", "--json"]).run().json();
        assert_eq!(rank["algos"][0]["judged"], 1, "{rank}");
    }
}

#[test]
fn each_way_of_drawing_is_ranked_apart_and_the_page_shows_what_the_command_says() {
    let place = judged();
    write_files(&place);
    let (cheap, dear) = (jobs(&place, "cheap"), jobs(&place, "dear"));
    let pairs = cheap.iter().zip(&dear).enumerate();
    let rows: Vec<String> = pairs
        .map(|(at, ((item, a), (_, b)))| {
            let said = if at == 3 { "b" } else { "a" };
            format!("t{at},2026-01-01,bo,rk,{a},rk,{b},{item},textured,left,{said},9,1")
        })
        .collect();
    let _ = import(&place, VOTES, &rows).expect_code(0);
    let import = place.archi3d(&["judge", "import"]);
    let _ = import.arg(place.path("votes.csv")).run().expect_code(0);
    let _ = place.archi3d(&["report", "build", "rk"]).run();
    let data = String::from_utf8(place.bytes("reports/rk/data.js")).expect("text");
    let data = data.trim_start_matches("window.archi3dData=");
    let data: serde_json::Value = serde_json::from_str(data.trim_end_matches(";\n")).expect("JSON");
    for (at, (mode, best)) in [("textured", "cheap"), ("clay", "dear")].iter().enumerate() {
        let rank = place.archi3d(&["judge", "rank", "rk", "--mode", mode, "--json"]);
        let rank = rank.run().json();
        let page = &data["rankings"][at];
        assert_eq!(
            (&page["mode"], &rank["mode"]),
            (&(*mode).into(), &(*mode).into())
        );
        assert_eq!((&page["votes"], &rank["votes"]), (&4.into(), &4.into()));
        assert_eq!(page["algos"][0]["algo"], *best);
        for one in 0..2 {
            for field in ["algo", "points", "interval", "best"] {
                assert_eq!(
                    page["algos"][one][field], rank["algos"][one][field],
                    "{field}"
                );
            }
        }
    }
    let usual = place.archi3d(&["judge", "rank", "rk"]).run();
    let _ = usual
        .expect_stdout("4 votes on textured models")
        .expect_stderr("4 votes on clay models count apart");
}

#[test]
fn few_votes_name_nobody_the_best() {
    let place = judged();
    let (cheap, dear) = (jobs(&place, "cheap"), jobs(&place, "dear"));
    let vote = |at: usize, judge: &str, said: &str| {
        let (item, a, b) = (&cheap[at].0, &cheap[at].1, &dear[at].1);
        format!("v{at},2026-01-01,{judge},rk,{a},rk,{b},{item},clay,left,{said},9,1")
    };
    let _ = import(&place, VOTES, &[vote(0, "ana", "a"), vote(1, "bo", "b")]).expect_code(0);
    let told = place.archi3d(&["judge", "rank"]).run().expect_code(0);
    let _ = told.expect_stderr("too few votes to rank cheap, dear");
    let ranked = place.archi3d(&["judge", "rank", "--json"]).run().json();
    let nothing = serde_json::Value::Null;
    for one in ranked["algos"].as_array().expect("a list") {
        assert_eq!((&one["best"], &one["interval"]), (&nothing, &nothing));
    }
}

#[test]
fn rows_of_unknown_jobs_and_conflicting_rows_change_nothing_and_are_told() {
    let place = judged();
    let (item, job) = &jobs(&place, "cheap")[0];
    let row = |id: &str, job: &str, said: &str| format!("{id},t,ana,rk,{job},{item},{said},");
    let strange = [row("s1", "0123456789ab", "yes"), row("s2", "x", "no")];
    let _ = import(&place, ACCEPTS, &strange)
        .expect_code(1)
        .expect_stdout("0 verdicts added, 0 known already, 2 of unknown jobs, skipped");
    let mut rows = strange.to_vec();
    rows.push(row("s3", job, "yes"));
    let _ = import(&place, ACCEPTS, &rows)
        .expect_code(0)
        .expect_stdout("1 verdict added, 0 known already, 2 of unknown jobs, skipped");
    let table = place.bytes("tables/accepts.csv");
    let _ = import(&place, ACCEPTS, &[row("s3", job, "no")])
        .expect_code(1)
        .expect_stderr("line 2: accept_id s3 is known with another answer, which is kept");
    assert_eq!(place.bytes("tables/accepts.csv"), table);
    place.write("rows.csv", b"\xef\xbb\xbf\n");
    let call = place.archi3d(&["judge", "import"]);
    let told = call.arg(place.path("rows.csv")).run();
    let _ = told.expect_code(2).expect_stderr("rows.csv: it is empty");
    for (words, said) in [
        (&["nope"][..], "run nope does not exist"),
        (&["--category", "Charis"], "there is no category \"Charis\""),
        (&["--mode", "caly"], "known: clay, textured"),
    ] {
        let call = place.archi3d(&[&["judge", "rank"], words].concat());
        let _ = call.run().expect_code(2).expect_stderr(said);
    }
}

/// Fits the same votes: each counts twice, so that a tie is one win each way.
const CHOIX: &str = "
import csv, json, sys
import choix
names = sys.argv[2].split(',')
pairs = []
for row in csv.DictReader(open(sys.argv[1])):
    a, b = names.index(row['seed'].split('/')[0]), names.index(row['seed'].split('/')[1])
    won = {'a': [(a, b)] * 2, 'b': [(b, a)] * 2, 'tie': [(a, b), (b, a)]}
    pairs += won[row['answer']]
found = choix.ilsr_pairwise(len(names), pairs, alpha=0, max_iter=1000, tol=1e-13)
print(json.dumps(list(found - found.mean())))
";

#[test]
fn choix_ranks_the_same_votes_alike() {
    const NAMES: [&str; 5] = ["ash", "birch", "cedar", "elm", "fir"];
    let Some(python) = python_with_scores() else {
        return;
    };
    let place = TestWorkspace::empty();
    let mut adapters = "adapters:\n".to_owned();
    for name in NAMES {
        let _ = writeln!(adapters, "  {name}: {{kind: mock}}");
    }
    place.write("config/adapters.yaml", adapters.as_bytes());
    for product in 0..4 {
        let picture = format!("dataset/20{product}/images/a.jpg");
        place.write(&picture, b"\xff\xd8\xff\xd9");
    }
    let algos = NAMES.join(",");
    for words in [
        &["catalog", "build"][..],
        &["batch", "create", "--run-id", "rk", "--algos", &algos],
        &["run", "worker", "rk", "-j", "4"],
    ] {
        let _ = place.archi3d(words).run().expect_code(0);
    }
    let models: Vec<_> = NAMES.iter().map(|name| jobs(&place, name)).collect();
    let mut votes = VOTES.to_owned();
    let mut number = 7_u32;
    for round in 0..6 {
        for (a, first) in NAMES.iter().enumerate() {
            for (b, second) in NAMES.iter().enumerate().skip(a + 1) {
                number = number.wrapping_mul(1_103_515_245).wrapping_add(12_345);
                // The later one is better more often than not.
                let answer = match number >> 16 & 7 {
                    0..=1 => "a",
                    2 => "tie",
                    _ => "b",
                };
                let (item, one) = &models[a][round % 4];
                let other = &models[b][round % 4].1;
                let _ = writeln!(
                    votes,
                    "v{round}-{a}-{b},2026-01-01,ana{round},rk,{one},rk,{other},{item},clay,left,{answer},9,{first}/{second}"
                );
            }
        }
    }
    place.write("votes.csv", votes.as_bytes());
    let import = place.archi3d(&["judge", "import"]);
    let _ = import.arg(place.path("votes.csv")).run().expect_code(0);
    let ranked = place.archi3d(&["judge", "rank", "--json"]).run();
    let ranked = ranked.expect_code(0).json();
    let theirs = Invocation::program(&python, ["-c", CHOIX])
        .arg(place.path("votes.csv"))
        .arg(&algos)
        .run()
        .expect_code(0)
        .json();
    for (at, name) in NAMES.iter().enumerate() {
        let list = ranked["algos"].as_array().expect("a list");
        let ours = list.iter().find(|one| one["algo"] == *name);
        let ours = ours.and_then(|one| one["points"].as_f64()).expect("ranked");
        let theirs = theirs[at].as_f64().expect("a strength");
        let theirs = 1500.0 + 400.0 / std::f64::consts::LN_10 * theirs;
        assert!((ours - theirs).abs() < 1e-6, "{name}: {ours} and {theirs}");
    }
}
