//! The dashboard, built from `web/` and part of the program.

use axum::body::Bytes;

use crate::call::{Answer, Call, Reply};
use crate::problem::{NOT_FOUND, Problem};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The files of the dashboard.
const FILES: &[(&str, &str, &str)] = &[
    (
        "board.js",
        SCRIPT,
        include_str!("../../../assets/web/board.js"),
    ),
    (
        "board.css",
        STYLE,
        include_str!("../../../assets/web/board.css"),
    ),
    (
        "viewer.js",
        SCRIPT,
        include_str!("../../../assets/web/viewer.js"),
    ),
    (
        "draco.js",
        SCRIPT,
        include_str!("../../../assets/web/draco.js"),
    ),
    (
        "LICENSES.txt",
        "text/plain; charset=utf-8",
        include_str!("../../../assets/web/LICENSES.txt"),
    ),
];

pub(crate) fn index(_: &Call) -> Answer {
    Ok(page(
        "text/html; charset=utf-8",
        include_str!("../../../assets/web/board.html"),
    ))
}

pub(crate) fn file(call: &Call) -> Answer {
    let name = &call.path["page"];
    let found = FILES.iter().find(|(known, ..)| known == name);
    let (_, media_type, text) =
        found.ok_or_else(|| Problem::new(NOT_FOUND, "there is no such path"))?;
    Ok(page(media_type, text))
}

fn page(media_type: &'static str, text: &'static str) -> Reply {
    Reply::Bytes {
        status: 200,
        media_type,
        body: Bytes::from_static(text.as_bytes()),
        headers: Vec::new(),
    }
}
