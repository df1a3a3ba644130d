//! `judge import` and `judge rank`: votes kept once, and what they come to.

use std::fmt::Write as _;

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
    let text = format!(
        "{VOTES}v1,t,ana,rk,x,rk,y,101,clay,left,a,1,1\nv2,t,ana,rk,x,rk,y,101,clay,left,maybe,1,1\n"
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
                    "v{round}-{a}-{b},2026-01-01,ana,rk,{one},rk,{other},{item},clay,left,{answer},9,{first}/{second}"
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
