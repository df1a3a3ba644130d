//! Configuration that nobody can mean, and clocks that nobody can believe.

use std::fmt::Write as _;

use super::Outcome::{Refused, Works};
use super::{Case, TABLE, assert_borne, case, edit};
use crate::support::TestWorkspace;

const ADAPTERS: &str = "config/adapters.yaml";
const GLOBAL: &str = "config/global.yaml";

fn entry(ws: &TestWorkspace, line: &str) {
    let text =
        format!("adapters:\n  mock:\n    kind: mock\n    count_file: count.txt\n    {line}\n");
    ws.write(ADAPTERS, text.as_bytes());
}

/// Adds the columns that a worker writes, with these values in the first row.
fn with_worker_cells(ws: &TestWorkspace, start: &str, price: &str) {
    edit(ws, TABLE, |text| {
        let mut lines = text.lines();
        let head = lines.next().expect("a header");
        let rows = lines.enumerate().map(|(n, line)| match n {
            0 => format!("{line},{start},{price}\n"),
            _ => format!("{line},,\n"),
        });
        format!(
            "{head},generation_start,unit_price_usd\n{}",
            rows.collect::<String>()
        )
    });
}

const CONFIGURATION: &[Case] = &[
    case("a bomb of anchors", Refused(&["adapters.yaml"]), |ws| {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for n in 1..10 {
            let list = format!("*a{}, ", n - 1).repeat(9);
            let _ = writeln!(text, "a{n}: &a{n} [{}]", list.trim_end_matches(", "));
        }
        ws.write(ADAPTERS, text.as_bytes());
    }),
    case(
        "an anchor that holds itself",
        Refused(&["adapters.yaml"]),
        |ws| {
            ws.write(ADAPTERS, b"adapters: &a\n  mock: *a\n");
        },
    ),
    case("an alias of nothing", Refused(&["adapters.yaml"]), |ws| {
        entry(ws, "seed: *nothing");
    }),
    case(
        "a price that is no number",
        Refused(&["adapters.yaml", "5"]),
        |ws| {
            entry(ws, "unit_price_usd: .nan");
        },
    ),
    case(
        "a price without end",
        Refused(&["adapters.yaml", "5"]),
        |ws| {
            entry(ws, "unit_price_usd: .inf");
        },
    ),
    case(
        "a price below nothing",
        Refused(&["adapters.yaml", "5"]),
        |ws| {
            entry(ws, "unit_price_usd: -0.4");
        },
    ),
    case("a price in words", Refused(&["adapters.yaml", "5"]), |ws| {
        entry(ws, "unit_price_usd: forty cents");
    }),
    case(
        "an option that does not exist",
        Refused(&["adapters.yaml", "5", "sed"]),
        |ws| {
            entry(ws, "sed: 3");
        },
    ),
    case("one key twice", Refused(&["adapters.yaml", "kind"]), |ws| {
        entry(ws, "kind: relief");
    }),
    case("tabs for blanks", Refused(&["adapters.yaml"]), |ws| {
        ws.write(ADAPTERS, b"adapters:\n\tmock:\n\t\tkind: mock\n");
    }),
    case(
        "a list where a map should be",
        Refused(&["adapters.yaml"]),
        |ws| {
            ws.write(ADAPTERS, b"adapters: [mock]\n");
        },
    ),
    case(
        "configuration that is no text",
        Refused(&["adapters.yaml"]),
        |ws| {
            ws.write(ADAPTERS, b"\xff\xfe\0\0");
        },
    ),
    case(
        "configuration 20,000 levels deep",
        Refused(&["adapters.yaml"]),
        |ws| {
            ws.write(ADAPTERS, "[".repeat(20_000).as_bytes());
        },
    ),
    case(
        "two documents in one file",
        Refused(&["adapters.yaml"]),
        |ws| {
            ws.write(ADAPTERS, b"adapters: {}\n---\nadapters: {}\n");
        },
    ),
    case(
        "settings that are a list",
        Refused(&["global.yaml"]),
        |ws| ws.write(GLOBAL, b"- 1\n"),
    ),
    case(
        "a setting with a terminal's escape",
        Refused(&["global.yaml"]),
        |ws| {
            ws.write(GLOBAL, b"\"\\e[2J\": 1\n");
        },
    ),
    case("variables that are none", Works(3), |ws| {
        ws.write(".env", b"\xff\xfe=\n=x\nA\n");
    }),
];

const CLOCKS: &[Case] = &[
    case("a start before there were computers", Works(3), |ws| {
        with_worker_cells(ws, "0001-01-01T00:00:00+00:00", "");
    }),
    case("a start at the end of time", Works(3), |ws| {
        with_worker_cells(ws, "9999-12-31T23:59:59.999999+00:00", "");
    }),
    case("a start that is no time", Works(3), |ws| {
        with_worker_cells(ws, "yesterday", "");
    }),
    case("a price in the table that is no number", Works(3), |ws| {
        with_worker_cells(ws, "", "NaN");
    }),
    case("a price in the table below nothing", Works(3), |ws| {
        with_worker_cells(ws, "", "-1e999");
    }),
    case("a job made at the end of time", Works(3), |ws| {
        edit(ws, TABLE, |text| {
            text.replace("2025-01-01T09", "9999-12-31T23")
        });
    }),
];

#[test]
fn configuration_of_every_kind_is_borne() {
    assert_borne(CONFIGURATION);
}

#[test]
fn clocks_and_prices_of_every_kind_are_borne() {
    assert_borne(CLOCKS);
}
