//! Registries, manifests and ids that are not what they should be.

use std::fmt::Write as _;
use std::fs;

use super::Outcome::{Refused, SomeFail, Works};
use super::{Case, JOBS, MANIFEST, TABLE, assert_borne, case, edit, edit_bytes, set_cell};

fn utf16(text: &[u8], order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text).into_owned();
    text.encode_utf16().flat_map(order).collect()
}

fn rename(ws: &crate::support::TestWorkspace, id: &str) {
    for table in [TABLE, MANIFEST] {
        edit(ws, table, |text| text.replace(JOBS[0], id));
    }
}

const REGISTRY: &[Case] = &[
    case("no byte order mark", Works(3), |ws| {
        edit_bytes(ws, TABLE, |bytes| bytes[3..].to_vec());
    }),
    case(
        "two byte order marks",
        Refused(&["generations.csv"]),
        |ws| {
            edit_bytes(ws, TABLE, |bytes| [&bytes[..3], &bytes[..]].concat());
        },
    ),
    case(
        "UTF-16, little end first",
        Refused(&["generations.csv", "UTF-16"]),
        |ws| {
            edit_bytes(ws, TABLE, |bytes| utf16(&bytes, u16::to_le_bytes));
        },
    ),
    case(
        "UTF-16, big end first",
        Refused(&["generations.csv", "UTF-16"]),
        |ws| {
            edit_bytes(ws, TABLE, |bytes| utf16(&bytes, u16::to_be_bytes));
        },
    ),
    case("rows end on CRLF", Works(3), |ws| {
        edit(ws, TABLE, |text| text.replace('\n', "\r\n"));
    }),
    case("rows end now on LF and now on CRLF", Works(3), |ws| {
        edit(ws, TABLE, |text| text.replacen('\n', "\r\n", 2));
    }),
    case(
        "rows end on CR alone",
        Refused(&["generations.csv"]),
        |ws| {
            edit(ws, TABLE, |text| text.replace('\n', "\r"));
        },
    ),
    case("no line end at all", Works(3), |ws| {
        edit(ws, TABLE, |text| text.trim_end().to_owned());
    }),
    case("blank lines between rows", Works(3), |ws| {
        edit(ws, TABLE, |text| text.replace('\n', "\n\n"));
    }),
    case("a NUL byte in a cell of others", Works(3), |ws| {
        set_cell(ws, "a\0b");
    }),
    case("a terminal's escape in a cell of others", Works(3), |ws| {
        set_cell(ws, "\u{1b}[2J\u{202e}x");
    }),
    case("a quote inside a plain cell", Works(3), |ws| {
        set_cell(ws, "a\"b");
    }),
    case(
        "doubled quotes, commas and line ends in a quoted cell",
        Works(3),
        |ws| {
            set_cell(ws, "\"a \"\"b\"\", c\r\nd\"");
        },
    ),
    case("text after a closing quote", Works(3), |ws| {
        set_cell(ws, "\"a\"b");
    }),
    case(
        "a quote that never ends",
        Refused(&["generations.csv", "line"]),
        |ws| {
            set_cell(ws, "\"a");
        },
    ),
    case("a cell of 10 MB", Works(3), |ws| {
        set_cell(ws, &"x".repeat(10 << 20));
    }),
    case("5,000 columns", Works(3), |ws| {
        edit(ws, TABLE, |text| {
            let (head, rows) = text.split_once('\n').expect("lines");
            let names = (0..5000).fold(String::new(), |mut names, n| {
                let _ = write!(names, ",extra_{n}");
                names
            });
            let rows = rows.replace('\n', &format!("{}\n", ",".repeat(5000)));
            format!("{head}{names}\n{rows}")
        });
    }),
    case("a row that is too short", Works(3), |ws| {
        edit(ws, TABLE, |text| {
            text.replacen(",2025-01-01T09:00:00.000001+00:00,\n", "\n", 1)
        });
    }),
    case("a row that is too long", Works(3), |ws| {
        edit(ws, TABLE, |text| {
            text.replacen("+00:00,\n", "+00:00,,more,and more\n", 1)
        });
    }),
    case(
        "a column of others twice",
        Refused(&["generations.csv", "description"]),
        |ws| {
            edit(ws, TABLE, |text| text.replacen(",notes", ",description", 1));
        },
    ),
    case(
        "the status column twice",
        Refused(&["generations.csv", "status"]),
        |ws| {
            edit(ws, TABLE, |text| text.replacen(",notes", ",status", 1));
        },
    ),
    case("a job's row twice", Works(3), |ws| {
        edit(ws, TABLE, |text| {
            let again = text
                .lines()
                .find(|line| line.contains(JOBS[0]))
                .map(str::to_owned);
            format!("{text}{}\n", again.expect("there"))
        });
    }),
    case(
        "no status column",
        Refused(&["generations.csv", "status"]),
        |ws| {
            edit(ws, TABLE, |text| text.replacen(",status,", ",state,", 1));
        },
    ),
    case(
        "no run_id column",
        Refused(&["generations.csv", "run_id"]),
        |ws| {
            edit(ws, TABLE, |text| text.replacen(",run_id,", ",run,", 1));
        },
    ),
    case("no image columns", Works(3), |ws| {
        edit(ws, TABLE, |text| text.replace("used_image_", "seen_image_"));
    }),
    case("nothing at all", Refused(&["generations.csv"]), |ws| {
        ws.write(TABLE, b"");
    }),
    case(
        "a byte order mark alone",
        Refused(&["generations.csv"]),
        |ws| {
            ws.write(TABLE, b"\xef\xbb\xbf");
        },
    ),
    case(
        "a header alone",
        Refused(&["generations.csv", "rk"]),
        |ws| {
            edit(ws, TABLE, |text| {
                text.lines()
                    .next()
                    .map(|head| format!("{head}\n"))
                    .expect("one")
            });
        },
    ),
    case(
        "a picture where the table should be",
        Refused(&["generations.csv"]),
        |ws| {
            ws.write(
                TABLE,
                b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0",
            );
        },
    ),
    case(
        "a zipped spreadsheet where the table should be",
        Refused(&["generations.csv"]),
        |ws| {
            ws.write(
                TABLE,
                b"PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0[Content_Types].xml",
            );
        },
    ),
    case("a status word in capitals", Works(2), |ws| {
        edit(ws, TABLE, |text| {
            text.replacen(",enqueued,", ",ENQUEUED,", 1)
        });
    }),
    case("a status word between blanks", Works(3), |ws| {
        edit(ws, TABLE, |text| {
            text.replacen(",enqueued,", ", enqueued ,", 1)
        });
    }),
    case("a status that is a formula", Works(2), |ws| {
        edit(ws, TABLE, |text| text.replacen(",enqueued,", ",=1+1,", 1));
    }),
    case("a running row without any marker", Works(2), |ws| {
        edit(ws, TABLE, |text| {
            text.replacen(",enqueued,", ",running,", 1)
        });
    }),
    case("an algorithm that is a path", SomeFail(2), |ws| {
        for table in [TABLE, MANIFEST] {
            edit(ws, table, |text| text.replacen(",mock,", ",../mock,", 1));
        }
    }),
];

const IDS: &[Case] = &[
    case("an id that is a path", Works(2), |ws| {
        rename(ws, "../../etc/passwd");
    }),
    case("an id that is an absolute path", Works(2), |ws| {
        rename(ws, "/etc/passwd");
    }),
    case("an id that is a device", Works(2), |ws| {
        rename(ws, "NUL.txt");
    }),
    case("an id that is an option", Works(2), |ws| rename(ws, "-rf")),
    case("an id that is two dots", Works(2), |ws| rename(ws, "..")),
    case("an empty id", Works(2), |ws| rename(ws, "")),
    case("an id of 300 letters", Works(2), |ws| {
        rename(ws, &"x".repeat(300));
    }),
    case("an id with a terminal's escape", Works(2), |ws| {
        rename(ws, "\u{1b}[31mred");
    }),
    case("an id that turns text around", Works(2), |ws| {
        rename(ws, "a\u{202e}b");
    }),
    case("an id with a NUL byte", Works(2), |ws| rename(ws, "a\0b")),
    case("an id that is a formula", Works(3), |ws| {
        rename(ws, "=cmd()");
    }),
    case("run ids of others that are paths", Works(2), |ws| {
        edit(ws, TABLE, |text| text.replacen(",rk,", ",../../rk,", 1));
    }),
];

const MANIFESTS: &[Case] = &[
    case("no manifest", Refused(&["manifest"]), |ws| {
        fs::remove_file(ws.path(MANIFEST)).expect("there");
    }),
    case("an empty manifest", Refused(&["manifest.csv"]), |ws| {
        ws.write(MANIFEST, b"");
    }),
    case(
        "a manifest in UTF-16",
        Refused(&["manifest.csv", "UTF-16"]),
        |ws| {
            edit_bytes(ws, MANIFEST, |bytes| utf16(&bytes, u16::to_le_bytes));
        },
    ),
    case(
        "a manifest with a quote that never ends",
        Refused(&["manifest.csv", "line"]),
        |ws| {
            edit(ws, MANIFEST, |text| {
                text.replacen("Product", "\"Product", 1)
            });
        },
    ),
    case(
        "a manifest that is a table of something else",
        Refused(&["manifest.csv"]),
        |ws| {
            ws.write(MANIFEST, b"a,b\n1,2\n");
        },
    ),
    case(
        "a manifest that names jobs the registry lacks",
        Works(3),
        |ws| {
            edit(ws, MANIFEST, |text| {
                let line = text
                    .lines()
                    .last()
                    .expect("one")
                    .replace(JOBS[2], "job-four");
                format!("{text}{line}\n")
            });
        },
    ),
    case(
        "a manifest that lacks jobs of the registry",
        Works(2),
        |ws| {
            edit(ws, MANIFEST, |text| {
                text.lines()
                    .filter(|line| !line.contains(JOBS[1]))
                    .fold(String::new(), |kept, line| kept + line + "\n")
            });
        },
    ),
    case("a manifest that names a job twice", Works(3), |ws| {
        edit(ws, MANIFEST, |text| {
            let line = text.lines().last().expect("one").to_owned();
            format!("{text}{line}\n")
        });
    }),
    case("a number of images that is none", Works(3), |ws| {
        edit(ws, MANIFEST, |text| {
            text.replacen(",mock,2,", ",mock,many,", 1)
        });
    }),
    case("a picture outside the workspace", SomeFail(2), |ws| {
        edit(ws, MANIFEST, |text| {
            text.replacen("dataset/100001/images/p_A.jpg", "../../etc/passwd", 1)
        });
    }),
    case(
        "a picture beside the workspace, by its full path",
        SomeFail(2),
        |ws| {
            let beside = ws.path("../beside.jpg").display().to_string();
            edit(ws, MANIFEST, |text| {
                text.replacen("dataset/100001/images/p_A.jpg", &beside, 1)
            });
        },
    ),
    case("a picture that is not there", SomeFail(2), |ws| {
        fs::remove_file(ws.path("dataset/100002/images/p_B.jpg")).expect("there");
    }),
    case("an item table that is none", Works(3), |ws| {
        ws.write("tables/items.csv", b"\0\0\0");
    }),
    case(
        "an item table with a quote that never ends",
        Works(3),
        |ws| {
            ws.write("tables/items.csv", b"product_id,variant\n\"1,x\n");
        },
    ),
];

#[test]
fn registries_of_every_kind_are_borne() {
    assert_borne(REGISTRY);
}

#[test]
fn ids_of_every_kind_are_borne() {
    assert_borne(IDS);
}

#[test]
fn manifests_of_every_kind_are_borne() {
    assert_borne(MANIFESTS);
}
